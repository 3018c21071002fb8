#include "sim/measured/rank_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "tests/measured/measurement_support.h"

namespace weft::measured {
namespace {

using namespace weft::literals;
using test::four_gpus;
using test::log_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const net::Cluster& cluster, const Measurement& measurement) {
  std::vector<std::string> names;
  for (const DeviceId device : devices_of(cluster, measurement)) names.push_back(cluster.topology.name(device));
  return names;
}

std::string prediction_error_of(const net::Cluster& cluster, const Measurement& measurement) {
  try {
    static_cast<void>(predict(cluster, measurement, {}));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(DevicesOfTest, FindsRanksByTheirBusIds) {
  Measurement log = log_of("all_reduce", {8_B});
  std::swap(log.log.devices[0].bus_id, log.log.devices[3].bus_id);
  EXPECT_THAT(names_of(four_gpus(), log), ElementsAre("n0.gpu3", "n0.gpu1", "n0.gpu2", "n0.gpu0"));
}

TEST(DevicesOfTest, TakesTheFirstGpusWhereBusIdsDoNotMatch) {
  Measurement log = log_of("all_reduce", {8_B});
  log.log.devices.resize(2);
  log.log.ranks = 2;
  log.log.devices[1].bus_id = "0000:c1:00";  // one stranger is enough
  EXPECT_THAT(names_of(four_gpus(), log), ElementsAre("n0.gpu0", "n0.gpu1"));
}

TEST(DevicesOfTest, TakesTheFirstGpusWhereTheLogListsNone) {
  Measurement log = log_of("all_reduce", {8_B});
  log.log.devices.clear();
  log.log.ranks = 3;
  EXPECT_THAT(names_of(four_gpus(), log), ElementsAre("n0.gpu0", "n0.gpu1", "n0.gpu2"));
}

TEST(DevicesOfTest, GivesEachHostOfTheLogAHostOfTheCluster) {
  Measurement log = log_of("all_reduce", {8_B});
  log.log.nodes = 2;
  for (const std::size_t i : {0U, 2U}) log.log.devices[i].host = "first";
  for (const std::size_t i : {1U, 3U}) log.log.devices[i].host = "second";
  const net::Cluster two = four_gpus("", ", nodes: 2, fabric: {type: single_switch, link: {type: ethernet, rate: 10 Gb/s}}");
  EXPECT_THAT(names_of(two, log), ElementsAre("n0.gpu0", "n1.gpu1", "n0.gpu2", "n1.gpu3"));
  EXPECT_THAT(prediction_error_of(four_gpus(), log),
              HasSubstr("logs/all_reduce.txt: error: its 4 ranks on 2 nodes do not fit cluster 'four'"));
}

// A rack is one node of the cluster; its trays are hosts of the log, of four GPUs each.
TEST(DevicesOfTest, GivesEachHostOfTheLogATrayOfARack) {
  Measurement log = log_of("all_reduce", {8_B});
  log.log.nodes = 2;
  for (const std::size_t i : {0U, 2U}) log.log.devices[i].host = "first";
  for (const std::size_t i : {1U, 3U}) log.log.devices[i].host = "second";
  const net::Cluster rack = test::cluster_of(
      "{name: rack, profile: {kind: profile, name: test, parameters: {}}, "
      "node: {type: gb200_nvl72}}");
  EXPECT_THAT(names_of(rack, log), ElementsAre("n0.gpu0", "n0.gpu4", "n0.gpu1", "n0.gpu5"));
}

TEST(DevicesOfTest, RefusesMoreRanksThanTheClusterHas) {
  Measurement log = log_of("all_reduce", {8_B});
  log.log.ranks = 5;
  EXPECT_THAT(prediction_error_of(four_gpus(), log),
              HasSubstr("logs/all_reduce.txt: error: 5 ranks took part, but cluster 'four' has 4"));
}

}  // namespace
}  // namespace weft::measured
