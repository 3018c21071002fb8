#include "sim/collectives/nccl/tuning.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sim/collectives/nccl/tuning_formulas.h"
#include "sim/core/error.h"
#include "tests/collectives/nccl/golden_file.h"
#include "tests/collectives/nccl/machines.h"
#include "tests/collectives/nccl/setting_error.h"

namespace weft::coll::nccl {
namespace {

using namespace literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

CommInfo machine(const std::string& name, NcclVersion version = NcclVersion::k2_28) {
  CommInfo comm = golden::read(name).comm;
  comm.version = version;
  return comm;
}

std::string error_of(const CommInfo& comm, const Settings& settings, Collective kind) {
  try {
    const Selection chosen = TuningModel{comm, settings}.select(kind, 1_MiB);
    return "no error: " + chosen.reason;
  } catch (const ConfigError& error) {
    return error.what();
  }
}

// A row of the table in a log: "AllReduce |  10.4/  43.6 | ...", three algorithms of three protocols each.
std::vector<std::string> table_row(const std::string& log, const std::string& after, const std::string& collective) {
  std::istringstream in{log.substr(log.find(after))};
  std::string line;
  while (std::getline(in, line)) {
    if (line.find(' ' + collective + " |") != std::string::npos) break;
  }
  std::vector<std::string> cells;
  std::istringstream fields{line.substr(line.find('|') + 1)};
  while (std::getline(fields, line, '|')) {
    std::erase(line, ' ');
    if (!line.empty()) cells.push_back(line);
  }
  return cells;
}

TEST(TuningModelTest, AgreesWithTheTableThatTheMeasuredNodePrinted) {
  const std::string log = net::read_text_file(std::string{WEFT_TEST_DATA} + "/h200x4/info_all_reduce_4gpu.txt");
  const TuningModel model{measured_node(), given({{"NVLS_ENABLE", "0"}})};
  constexpr std::pair<const char*, Collective> kRows[] = {{"Broadcast", Collective::kBroadcast},
                                                          {"Reduce", Collective::kReduce},
                                                          {"AllGather", Collective::kAllGather},
                                                          {"ReduceScatter", Collective::kReduceScatter},
                                                          {"AllReduce", Collective::kAllReduce}};
  for (const auto& [name, kind] : kRows) {
    const std::vector<std::string> cells = table_row(log, "  Algorithm   |                            Tree", name);
    ASSERT_EQ(cells.size(), 9U);
    for (std::size_t cell = 0; cell < 6; ++cell) {  // Tree, Ring; the others have no bandwidth
      const auto algo = cell < 3 ? Algo::kTree : Algo::kRing;
      const Cost& cost = model.cost(kind, algo, static_cast<Proto>(cell % 3));
      if (!cost.enabled) {
        EXPECT_EQ(cells[cell], "0.0/0.0") << name << ' ' << cell;
      } else {
        EXPECT_EQ(fmt::format("{:.1f}/{:.1f}", cost.latency_us, cost.bandwidth_GBps), cells[cell]) << name << ' ' << cell;
      }
    }
  }
  for (const Algo algo : {Algo::kCollNetDirect, Algo::kCollNetChain, Algo::kNvls, Algo::kNvlsTree, Algo::kPat}) {
    EXPECT_FALSE(model.cost(Collective::kAllReduce, algo, Proto::kSimple).enabled) << to_string(algo);
  }
}

TEST(TuningModelTest, OlderReleasesHaveTheirOwnCapsAndLatencies) {
  // models/nccl §5.8, 8 x H100, ring of 12 x 30 GB/s, all-reduce: LL at 360/4 under its cap of 87.7, times 8/14.
  const CommInfo h100_2_18 = machine("h100-n1", NcclVersion::k2_18);
  EXPECT_NEAR(TuningModel(h100_2_18, {}).cost(Collective::kAllReduce, Algo::kRing, Proto::kLl).bandwidth_GBps, 87.7 * 8 / 14,
              1e-4);
  // 2.21: half of 360 under the cap of 141.
  const CommInfo h100_2_21 = machine("h100-n1", NcclVersion::k2_21);
  EXPECT_NEAR(TuningModel(h100_2_21, {}).cost(Collective::kAllReduce, Algo::kRing, Proto::kLl).bandwidth_GBps, 141.0 * 8 / 14,
              1e-4);
  // Tree Simple: no base, 28 us a step up to 2.21, then 8.4 and 4.
  EXPECT_FLOAT_EQ(TuningModel(h100_2_21, {}).cost(Collective::kAllReduce, Algo::kTree, Proto::kSimple).latency_us,
                  2 * 7 * 28.0F);
  const CommInfo h100_2_23 = machine("h100-n1", NcclVersion::k2_23);
  EXPECT_FLOAT_EQ(TuningModel(h100_2_23, {}).cost(Collective::kAllReduce, Algo::kTree, Proto::kSimple).latency_us,
                  8.4F + 2 * 7 * 4.0F);
}

TEST(TuningModelTest, OldReleasesCountAStepBetweenNodesForEveryNode) {
  // 2 x 8 H100, LL, 30 steps: 4 between nodes at 2.7 us and 26 at the 1 us that posting takes; since 2.23 2 and 28.
  const auto latency = [](NcclVersion version) {
    return TuningModel(machine("h100-n2", version), {}).cost(Collective::kAllReduce, Algo::kRing, Proto::kLl).latency_us;
  };
  EXPECT_FLOAT_EQ(latency(NcclVersion::k2_21), 6.6F + 26 * 1.0F + 4 * 2.7F);
  EXPECT_FLOAT_EQ(latency(NcclVersion::k2_23), 6.6F + 28 * 1.0F + 2 * 2.7F);
}

TEST(TuningModelTest, NvlsBefore228IsFiveSixthsOfTheSpeed) {
  // models/nccl §5.8: 8 * 40 * 5/6 = 266.7 GB/s; ring LL 28.0 us against 28.9 at 1 MiB, 41.0 against 32.9 at 2 MiB.
  const TuningModel model{machine("h100-n1", NcclVersion::k2_27), {}};
  EXPECT_NEAR(model.cost(Collective::kAllReduce, Algo::kNvls, Proto::kSimple).bandwidth_GBps, 266.67, 0.01);
  EXPECT_NEAR(model.estimate_us(Collective::kAllReduce, Algo::kRing, Proto::kLl, 1_MiB).value(), 28.0, 0.05);
  EXPECT_NEAR(model.estimate_us(Collective::kAllReduce, Algo::kNvls, Proto::kSimple, 1_MiB).value(), 28.9, 0.05);
  EXPECT_NEAR(model.estimate_us(Collective::kAllReduce, Algo::kRing, Proto::kLl, 2_MiB).value(), 41.0, 0.05);
  EXPECT_NEAR(model.estimate_us(Collective::kAllReduce, Algo::kNvls, Proto::kSimple, 2_MiB).value(), 32.9, 0.05);
  EXPECT_EQ(model.select(Collective::kAllReduce, 1_MiB).algo, Algo::kRing);
  EXPECT_EQ(model.select(Collective::kAllReduce, 2_MiB).algo, Algo::kNvls);
}

TEST(TuningModelTest, AggregatedCallsPayTheLatencyOfRingsEachAndOfTreesOnceInEight) {
  const TuningModel model{measured_node(), {}};
  const auto extra = [&](Algo algo, int operations) {
    return model.estimate_us(Collective::kAllReduce, algo, Proto::kLl, 1_MiB, operations).value() -
           model.estimate_us(Collective::kAllReduce, algo, Proto::kLl, 1_MiB).value();
  };
  const float ring = model.cost(Collective::kAllReduce, Algo::kRing, Proto::kLl).latency_us;
  const float tree = model.cost(Collective::kAllReduce, Algo::kTree, Proto::kLl).latency_us;
  EXPECT_NEAR(extra(Algo::kRing, 8), 7 * ring, 1e-4);
  EXPECT_NEAR(extra(Algo::kTree, 8), 0, 1e-4);
  EXPECT_NEAR(extra(Algo::kTree, 9), tree, 1e-4);
}

TEST(TuningModelTest, AListAllowsOnlyWhatItNames) {
  const CommInfo comm = machine("h100-n1");
  EXPECT_EQ(TuningModel(comm, given({{"ALGO", "tree"}})).select(Collective::kAllReduce, 1_GiB).algo, Algo::kTree);
  EXPECT_EQ(TuningModel(comm, given({{"ALGO", "RING,tree"}})).select(Collective::kAllReduce, 1_GiB).algo, Algo::kRing);
  EXPECT_EQ(TuningModel(comm, given({{"ALGO", "^nvls"}})).select(Collective::kAllReduce, 1_GiB).algo, Algo::kRing);
  const Selection forced =
      TuningModel(comm, given({{"ALGO", "Ring"}, {"PROTO", "LL128"}})).select(Collective::kAllGather, 64_B);
  EXPECT_EQ(forced.proto, Proto::kLl128);
  EXPECT_EQ(forced.reason, "Ring/LL128, the only one left under NCCL_ALGO=Ring NCCL_PROTO=LL128");
}

TEST(TuningModelTest, AListWithCollectivesLeavesTheOthersAlone) {
  const TuningModel model{machine("h100-n1"), given({{"ALGO", "allreduce:tree;broadcast:ring"}, {"PROTO", "allgather:^LL"}})};
  EXPECT_EQ(model.select(Collective::kAllReduce, 1_GiB).algo, Algo::kTree);
  EXPECT_EQ(model.select(Collective::kReduceScatter, 64_B).algo, Algo::kRing);
  EXPECT_EQ(model.select(Collective::kReduceScatter, 64_B).proto, Proto::kLl);
  EXPECT_NE(model.select(Collective::kAllGather, 64_B).proto, Proto::kLl);
}

TEST(TuningModelTest, RefusesWhatNcclRefusesAndSaysWhy) {
  EXPECT_THAT(error_of(measured_node(), given({{"ALGO", "NVLS"}, {"NVLS_ENABLE", "0"}}), Collective::kAllReduce),
              HasSubstr("NCCL_ALGO=NVLS: NCCL refuses to run all_reduce here (NVLS/LL: NCCL_NVLS_ENABLE=0"));
  EXPECT_THAT(error_of(machine("a100-n1"), given({{"ALGO", "NVLS"}}), Collective::kAllReduce),
              HasSubstr("NVLS/Simple: no NVSwitch with multicast (or GPUs before sm90)"));
  EXPECT_THAT(error_of(machine("h100-n1"), given({{"ALGO", "NVLSTree"}}), Collective::kAllReduce),
              HasSubstr("NVLSTree/Simple: one node"));
  EXPECT_THAT(error_of(machine("h100-n1"), given({{"ALGO", "Tree"}}), Collective::kAllGather),
              HasSubstr("Tree/Simple: NCCL has no Tree for all_gather"));
  EXPECT_THAT(error_of(machine("h100-n1"), given({{"ALGO", "NVLS"}, {"PROTO", "LL"}}), Collective::kAllReduce),
              HasSubstr("NVLS/LL: NVLS runs in the Simple protocol only"));
  EXPECT_THAT(error_of(machine("h100-n2"), given({{"ALGO", "CollNetDirect"}}), Collective::kAllReduce), HasSubstr("no SHARP"));
  EXPECT_THAT(error_of(machine("h100-n2"), given({{"ALGO", "PAT"}}), Collective::kAllGather),
              HasSubstr("more than one GPU per node"));
}

TEST(TuningModelTest, ReleasesBefore223AnswerWithTheRing) {
  const TuningModel model{machine("h100-n1", NcclVersion::k2_21), given({{"ALGO", "Tree"}})};
  EXPECT_EQ(model.select(Collective::kAllGather, 1_MiB).algo, Algo::kRing);
  EXPECT_EQ(model.select(Collective::kAllReduce, 1_MiB).algo, Algo::kTree);
}

TEST(TuningModelTest, Ll128IsOffOnPcieUnlessTheUserNamesIt) {
  const CommInfo pcie = machine("pcie4-n1");
  EXPECT_EQ(TuningModel(pcie, {}).cost(Collective::kAllReduce, Algo::kRing, Proto::kLl128).disabled_because,
            "LL128: a PHB path between GPUs");
  EXPECT_EQ(TuningModel(pcie, given({{"PROTO", "LL128"}})).select(Collective::kAllReduce, 1_MiB).proto, Proto::kLl128);
}

TEST(TuningModelTest, ListsWhatIsOffAndWhy) {
  const TuningModel model{measured_node(), given({{"NVLS_ENABLE", "0"}})};
  EXPECT_THAT(model.disabled(Collective::kAllReduce), Contains("NVLS: NCCL_NVLS_ENABLE=0"));
  EXPECT_THAT(model.disabled(Collective::kAllReduce), Contains("CollNetChain: one node"));
  EXPECT_THAT(model.disabled(Collective::kBroadcast), Contains("Tree: NCCL has no Tree for broadcast"));
  EXPECT_THAT(model.table(), HasSubstr("all_reduce      Tree/LL 10.4 us/43.6 GB/s"));
}

// src/graph/tuning.cc of 2.28.9, 2.29.7 and 2.30.7: GB/s a channel on one, two and more nodes.
TEST(TuningTablesTest, BlackwellsCapsChangeFromReleaseToRelease) {
  const auto at = [](NcclVersion version) { return tuning_tables(version); };
  EXPECT_THAT(at(NcclVersion::k2_28).ring_ll128[kBlackwell], ElementsAre(73.4, 34.6, 73.4));
  EXPECT_THAT(at(NcclVersion::k2_29).ring_ll128[kBlackwell], ElementsAre(40.0, 40.0, 40.0));
  EXPECT_THAT(at(NcclVersion::k2_30).ring_ll128[kBlackwell], ElementsAre(40.0, 40.0, 40.0));
  EXPECT_THAT(at(NcclVersion::k2_28).nvls_tree[kBlackwell], ElementsAre(0.0, 96.0, 43.8));
  EXPECT_THAT(at(NcclVersion::k2_29).nvls_tree[kBlackwell], ElementsAre(0.0, 96.0, 43.8));
  EXPECT_THAT(at(NcclVersion::k2_30).nvls_tree[kBlackwell], ElementsAre(0.0, 96.0, 80.0));
  EXPECT_FALSE(at(NcclVersion::k2_28).nvls_tree_correction);
  EXPECT_TRUE(at(NcclVersion::k2_29).nvls_tree_correction);
}

TEST(TuningModelTest, PatFollowsItsSwitchAndItsRelease) {
  const CommInfo one = machine("one-n8");
  EXPECT_EQ(TuningModel(one, {}).select(Collective::kAllGather, 1_MiB).algo, Algo::kPat);
  EXPECT_EQ(TuningModel(one, given({{"PAT_ENABLE", "0"}})).select(Collective::kAllGather, 1_MiB).algo, Algo::kRing);
  EXPECT_EQ(TuningModel(machine("one-n8", NcclVersion::k2_21), {}).select(Collective::kAllGather, 1_MiB).algo, Algo::kRing);
  EXPECT_TRUE(TuningModel(machine("h100-n2"), given({{"PAT_ENABLE", "1"}}))
                  .cost(Collective::kAllGather, Algo::kPat, Proto::kSimple)
                  .enabled);
}

CollectiveCall elements(std::int64_t bytes, Numbers numbers, Reduction reduction = Reduction::kSum) {
  return {.element_size = bytes, .numbers = numbers, .reduction = reduction};
}

Algo chosen(const CommInfo& comm, Collective kind, const CollectiveCall& data, const Settings& settings = {}) {
  return TuningModel{comm, settings}.select(kind, 1_GiB, 1, data).algo;
}

// ncclNvlsSupported, src/include/device.h.
TEST(TuningModelTest, NvlsTakesOnlyWhatNvswitchesAddUp) {
  const auto on_nvls = [](const CollectiveCall& data) {
    const Algo one = chosen(machine("h100-n1"), Collective::kAllReduce, data);
    const Algo two = chosen(machine("h100-n2"), Collective::kAllReduce, data);
    EXPECT_EQ(one == Algo::kNvls, two == Algo::kNvlsTree);
    return one == Algo::kNvls;
  };
  for (const std::int64_t bytes : {4, 8}) {
    for (const Reduction order : {Reduction::kMin, Reduction::kMax}) {
      EXPECT_TRUE(on_nvls(elements(bytes, Numbers::kInteger, order)));
      EXPECT_FALSE(on_nvls(elements(bytes, Numbers::kFloat, order)));
      EXPECT_TRUE(on_nvls(elements(2, Numbers::kFloat, order)));
    }
    EXPECT_TRUE(on_nvls(elements(bytes, Numbers::kInteger)));
    EXPECT_TRUE(on_nvls(elements(bytes, Numbers::kFloat)));
  }
  EXPECT_TRUE(on_nvls(elements(2, Numbers::kFloat)));
  EXPECT_FALSE(on_nvls(elements(1, Numbers::kInteger)));
  EXPECT_FALSE(on_nvls(elements(1, Numbers::kFloat)));
  EXPECT_FALSE(on_nvls(elements(1, Numbers::kUsual)));
  for (const Reduction other : {Reduction::kProduct, Reduction::kAverage, Reduction::kScaledSum}) {
    EXPECT_FALSE(on_nvls(elements(4, Numbers::kFloat, other)));
    EXPECT_FALSE(on_nvls(elements(4, Numbers::kInteger, other)));
  }
}

// topoGetAlgoInfo, src/enqueue.cc: 2.24 and later refuse, 2.19 to 2.22 take the ring.
TEST(TuningModelTest, ForcedNvlsIsRefusedForWhatNvswitchesDoNotAddUp) {
  const Settings forced = given({{"ALGO", "NVLS"}});
  const CollectiveCall bytes = elements(1, Numbers::kInteger);
  EXPECT_EQ(chosen(machine("h100-n1"), Collective::kAllReduce, elements(2, Numbers::kFloat), forced), Algo::kNvls);
  try {
    const Algo algo = chosen(machine("h100-n1"), Collective::kAllReduce, bytes, forced);
    FAIL() << to_string(algo);
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("NCCL_ALGO=NVLS: NCCL refuses to run all_reduce here"));
    EXPECT_THAT(error.what(), HasSubstr("NVLS/Simple: NVSwitches have no sum of 8-bit integers"));
  }
  EXPECT_EQ(chosen(machine("h100-n1", NcclVersion::k2_21), Collective::kAllReduce, bytes, forced), Algo::kRing);
}

// NCCL makes bytes of an all-gather's elements before it asks (2.20 and 2.21), or asks for reductions only (2.19, from 2.22
// on).
TEST(TuningModelTest, AllGathersRunOnNvlsWhateverTheirElements) {
  const Settings forced = given({{"ALGO", "NVLS"}});
  const CollectiveCall bytes = elements(1, Numbers::kInteger);
  EXPECT_EQ(chosen(machine("h100-n1"), Collective::kAllGather, bytes, forced), Algo::kNvls);
  EXPECT_EQ(chosen(machine("h100-n1", NcclVersion::k2_19), Collective::kAllGather, bytes, forced), Algo::kNvls);
  EXPECT_EQ(chosen(machine("h100-n1", NcclVersion::k2_21), Collective::kAllGather, elements(4, Numbers::kFloat), forced),
            Algo::kRing);
}

// updateCollCostTable, src/enqueue.cc: rings of fp8 count 1024 times where more than eight ranks round.
TEST(TuningModelTest, RingsOfFloat8OverManyRanksAreTheLastChoice) {
  const CollectiveCall float8 = elements(1, Numbers::kFloat);
  EXPECT_EQ(chosen(machine("h100-n2"), Collective::kAllReduce, float8), Algo::kTree);
  EXPECT_EQ(chosen(machine("h100-n1"), Collective::kAllReduce, float8), Algo::kRing);
  const TuningModel model{machine("h100-n2"), {}};
  const Selection ring = model.select(Collective::kReduceScatter, 1_GiB, 1, float8);
  EXPECT_EQ(ring.algo, Algo::kRing);  // there is no other
  EXPECT_FLOAT_EQ(ring.estimate_us, 1024 * model.select(Collective::kReduceScatter, 1_GiB).estimate_us);
  EXPECT_FLOAT_EQ(model.select(Collective::kAllGather, 1_GiB, 1, float8).estimate_us,
                  model.select(Collective::kAllGather, 1_GiB).estimate_us);
}

TEST(TuningModelTest, PatDoesNotScaleWhatItScatters) {
  const auto algo = [](Reduction reduction) {
    return TuningModel{machine("one-n8"), {}}
        .select(Collective::kReduceScatter, 1_MiB, 1, elements(4, Numbers::kFloat, reduction))
        .algo;
  };
  EXPECT_EQ(algo(Reduction::kSum), Algo::kPat);
  EXPECT_EQ(algo(Reduction::kMax), Algo::kPat);
  EXPECT_EQ(algo(Reduction::kAverage), Algo::kRing);
  EXPECT_EQ(algo(Reduction::kScaledSum), Algo::kRing);
}

// ncclSharpReduceSupport: sums, least and largest of all types but fp8; averages are sums to the network.
TEST(TuningModelTest, CollNetTakesWhatSharpAddsUp) {
  const CommInfo comm = machine("h100-n2");
  const auto why = [&](Algo algo, const CollectiveCall& data, Collective kind = Collective::kAllReduce) {
    return why_not_for_data(comm, kind, algo, data);
  };
  for (const Algo algo : {Algo::kCollNetDirect, Algo::kCollNetChain}) {
    EXPECT_EQ(why(algo, elements(1, Numbers::kInteger)), "");
    EXPECT_EQ(why(algo, elements(4, Numbers::kFloat, Reduction::kMin)), "");
    EXPECT_EQ(why(algo, elements(4, Numbers::kFloat, Reduction::kAverage)), "");
    EXPECT_EQ(why(algo, elements(1, Numbers::kFloat)), "SHARP has no sum of 8-bit floats");
    EXPECT_EQ(why(algo, elements(4, Numbers::kFloat, Reduction::kProduct)), "SHARP has no prod of 32-bit floats");
  }
  EXPECT_EQ(why(Algo::kCollNetDirect, elements(1, Numbers::kFloat), Collective::kAllGather), "");
}

TEST(TuningModelTest, NetOverheadIsInNanoseconds) {
  // 2 x 8 H100, ring LL: 28 steps inside the nodes at the overhead, here 5 us instead of 1.
  const TuningModel model{machine("h100-n2"), given({{"NET_OVERHEAD", "5000"}})};
  EXPECT_FLOAT_EQ(model.cost(Collective::kAllReduce, Algo::kRing, Proto::kLl).latency_us, 6.6F + 28 * 5.0F + 2 * 2.7F);
}

TEST(TuningModelTest, OneRankHasNothingToChoose) {
  const TuningModel model{CommInfo{}, {}};
  EXPECT_EQ(model.select(Collective::kAllReduce, 1_MiB).reason, "one rank: a copy at most");
}

TEST(ChoiceListTest, RefusesUnknownWordsWithTheNearest) {
  EXPECT_THAT(setting_error("ALGO", "Rnig"), HasSubstr("NCCL_ALGO=Rnig: 'Rnig' is no algorithm"));
  EXPECT_THAT(setting_error("ALGO", "Rnig"), HasSubstr("did you mean 'Ring'?"));
  EXPECT_THAT(setting_error("PROTO", "LL,LL12"), HasSubstr("did you mean 'LL128'?"));
  EXPECT_THAT(setting_error("ALGO", "allreduc:ring"), HasSubstr("did you mean 'AllReduce'?"));
  EXPECT_THAT(setting_error("ALGO", "alltoall:ring"), HasSubstr("'alltoall' is no collective that NCCL tunes"));
  EXPECT_THAT(setting_error("ALGO", "^"), HasSubstr("is no algorithm"));
  EXPECT_EQ(setting_error("ALGO", "NVLS_TREE,collnetdirect"), "no error");
}

}  // namespace
}  // namespace weft::coll::nccl
