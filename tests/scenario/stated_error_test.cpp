#include "sim/scenario/stated_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/scenario/four_gpus.h"

namespace weft::scenario {
namespace {

using test::cluster_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two DGX H100 whose network is `nic`; all-reduce of 8 is off by 4.2 %, of 16 by 2.6 % over RoCE and 7.1 % over TCPXO.
net::Cluster two_nodes(const std::string& nic, const std::string& parameters = "{}") {
  return cluster_of("{name: two, nodes: 2, node: {type: dgx_h100}, nic: {transport: " + nic +
                    "}, fabric: {type: fat_tree, leaf_ports: 32, link: {type: ethernet, rate: 400 Gb/s, latency: 150 ns}}, "
                    "profile: {kind: profile, name: stated, parameters: " +
                    parameters +
                    ", validation: ["
                    "{data: 'all_reduce of 8, table', points: 3, median_error: 4.2 %, max_error: 9 %}, "
                    "{data: 'all_gather of 2 and 4, log', points: 3, median_error: 1.5 %, max_error: 9 %}, "
                    "{data: 'all_reduce of 16 over RoCE, table', points: 3, median_error: 2.6 %, max_error: 9 %}, "
                    "{data: 'all_reduce of 16 over TCPXO, table', points: 3, median_error: 7.1 %, max_error: 9 %}, "
                    "{data: full.jsonl, points: 3, median_error: 30 %, max_error: 40 %}]}}");
}

TEST(StatedError, ReadsWhatAnEntryIsOf) {
  const auto tested = tested_on("all_reduce of 2 and 4 over RoCE, some, table");
  ASSERT_TRUE(tested);
  EXPECT_EQ(tested->operation, "all_reduce");
  EXPECT_THAT(tested->gpus, ElementsAre(2, 4));
  EXPECT_EQ(tested->network, "RoCE");
  EXPECT_THAT(tested_on("alltoall of 8")->network, IsEmpty());
  for (const char* text : {"full.jsonl", "a of b", "a of 2x", "a of 0", " of 2", ""}) EXPECT_FALSE(tested_on(text)) << text;
}

TEST(StatedError, IsThatOfTheNetworkAndTheGpus) {
  EXPECT_EQ(error_of_collective(two_nodes("roce"), {.operation = "all_reduce", .gpus = 16, .nodes = 2}),
            "median error of all_reduce 2.6 % over RoCE");
  EXPECT_EQ(error_of_collective(two_nodes("tcpxo"), {.operation = "all_reduce", .gpus = 16, .nodes = 2}),
            "median error of all_reduce 7.1 % over TCPXO");
  EXPECT_EQ(error_of_collective(two_nodes("roce"), {.operation = "all_reduce", .gpus = 8, .nodes = 1}),
            "median error of all_reduce 4.2 %");
  EXPECT_EQ(error_of_collective(two_nodes("roce"), {.operation = "all_gather", .gpus = 4, .nodes = 1}),
            "median error of all_gather 1.5 %");
}

TEST(StatedError, SaysWhereNothingWasTested) {
  const net::Cluster roce = two_nodes("roce");
  EXPECT_EQ(error_of_collective(roce, {.operation = "all_reduce", .gpus = 4, .nodes = 1}),
            "all_reduce not tested on 4 GPUs; median error 4.2 % on 8");
  EXPECT_EQ(error_of_collective(roce, {.operation = "all_gather", .gpus = 8, .nodes = 1}),
            "all_gather not tested on 8 GPUs; median error 1.5 % on 2 and 4");
  EXPECT_EQ(error_of_collective(roce, {.operation = "all_gather", .gpus = 16, .nodes = 2}), "all_gather not tested over RoCE");
  EXPECT_EQ(error_of_collective(two_nodes("efa"), {.operation = "all_reduce", .gpus = 16, .nodes = 2}),
            "all_reduce not tested over EFA");
  EXPECT_EQ(error_of_collective(roce, {.operation = "reduce", .gpus = 8, .nodes = 1}), "reduce not tested");
  EXPECT_EQ(error_of_collective(roce, {.operation = "all_reduce", .gpus = 8, .nodes = 1, .made_by = "NCCL_P2P_DISABLE=1"}),
            "all_reduce not tested with NCCL_P2P_DISABLE=1");
}

// A value of the statement's own file is what was tested; one that --set replaced is not.
TEST(StatedError, IsOfTheValuesThatWereTested) {
  net::Cluster changed = two_nodes("roce", "{collectives.ll.base_latency: {value: 6 us, source: assumed}}");
  const PredictedCollective predicted{.operation = "all_reduce", .gpus = 8, .nodes = 1};
  EXPECT_EQ(error_of_collective(changed, predicted), "median error of all_reduce 4.2 %");
  changed.resolved = changed.resolved.with_override("profile.parameters.collectives.ll.base_latency",
                                                    "{value: 5 us, source: assumed}", "--set");
  EXPECT_EQ(error_of_collective(changed, predicted), "all_reduce not tested with this collectives.ll.base_latency");
}

TEST(StatedError, OfCollectivesIsNoOthers) {
  EXPECT_EQ(error_of_others(two_nodes("roce")), "tested on collectives alone");
  EXPECT_EQ(error_of_others(cluster_of("{name: one, node: {type: dgx_h100}}")), "not validated");
  EXPECT_EQ(error_of_collective(cluster_of("{name: one, node: {type: dgx_h100}}"), {.operation = "all_reduce", .gpus = 8}),
            "not validated");
}

}  // namespace
}  // namespace weft::scenario
