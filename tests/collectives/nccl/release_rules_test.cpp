// Rules of NCCL by release. Expected values are the constants and formulas of the tagged sources (models/nccl §5.8).
#include "sim/collectives/nccl/release_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/collectives/nccl/channel_counts.h"
#include "sim/collectives/nccl/channel_split.h"
#include "sim/collectives/nccl/p2p_plan.h"
#include "sim/collectives/nccl/planner.h"
#include "sim/collectives/nccl/search.h"
#include "sim/collectives/nccl/search_speeds.h"
#include "sim/collectives/nccl/tuning.h"
#include "sim/collectives/nccl/tuning_tables.h"
#include "sim/collectives/nccl/version.h"
#include "sim/core/error.h"
#include "tests/collectives/nccl/golden_file.h"
#include "tests/collectives/nccl/machines.h"
#include "tests/collectives/nccl/setting_error.h"

namespace weft::coll::nccl {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

CommInfo machine_at(const std::string& name, NcclVersion version) {
  CommInfo comm = golden::read(name).comm;
  comm.version = version;
  return comm;
}

Cost cost_at(const std::string& name, NcclVersion version, Collective kind, Algo algo, Proto proto = Proto::kSimple) {
  return TuningModel(machine_at(name, version), {}).cost(kind, algo, proto);
}

TEST(ReleaseTest, TheLastPatchStandsForARelease) {
  EXPECT_EQ(parse_version("2.28"), release(28, 9));
  EXPECT_EQ(parse_version("2.26"), release(26, 6));
  EXPECT_EQ(parse_version("2.28.3"), release(28, 3));
  EXPECT_EQ(parse_version("2.30.4+cuda13.0"), release(30, 4));
  EXPECT_EQ(to_string(release(29, 2)), "2.29.2");
  EXPECT_EQ(stand_in_note("2.28"), "");
  EXPECT_EQ(stand_in_note("2.29.3"), "");
}

TEST(ReleaseTest, AReleaseWithoutRulesOfItsOwnIsSaid) {
  EXPECT_EQ(parse_version("2.31.0"), release(30, 7));
  EXPECT_EQ(stand_in_note("2.31.0"), "NCCL 2.31.0 has no rules of its own here: those of 2.30.7 are used");
  EXPECT_EQ(stand_in_note("2.28.5"), "NCCL 2.28.5 has no rules of its own here: those of 2.28.3 are used");
  EXPECT_EQ(stand_in_note("2.18.1"), "NCCL 2.18.1 has no rules of its own here: those of 2.18.3 are used");
}

// src/graph/tuning.cc: GB/s a channel on one, two and more nodes.
TEST(TuningTablesTest, EveryReleaseHasItsOwnBlackwell) {
  const auto at = [](int minor, int patch) { return tuning_tables(release(minor, patch)); };
  EXPECT_THAT(at(24, 3).ring_ll128[kBlackwell], ElementsAre(36.7, 36.7, 36.7));  // taken for Hopper
  EXPECT_THAT(at(25, 1).ring_ll128[kBlackwell], ElementsAre(73.4, 73.4, 73.4));
  EXPECT_THAT(at(28, 3).ring_ll128[kBlackwell], ElementsAre(73.4, 73.4, 73.4));
  EXPECT_THAT(at(28, 7).ring_ll128[kBlackwell], ElementsAre(73.4, 34.6, 73.4));
  EXPECT_THAT(at(29, 2).ring_ll128[kBlackwell], ElementsAre(34.5, 34.6, 34.5));
  EXPECT_THAT(at(29, 7).ring_ll128[kBlackwell], ElementsAre(40.0, 40.0, 40.0));
  EXPECT_THAT(at(27, 7).tree_ll128[kBlackwell], ElementsAre(73.4, 73.4, 58.0));
  EXPECT_THAT(at(28, 3).tree_ll128[kBlackwell], ElementsAre(55.6, 31.67, 20.0));
  EXPECT_THAT(at(26, 2).tree[kBlackwell], ElementsAre(77.4, 82.8, 72.0));
  EXPECT_THAT(at(28, 3).tree[kBlackwell], ElementsAre(70.0, 42.8, 24.0));
  EXPECT_THAT(at(24, 3).ll[kBlackwell], ElementsAre(141.0, 45.0, 35.0));
  EXPECT_THAT(at(25, 1).ll[kBlackwell], ElementsAre(282.0, 90.0, 70.0));
  EXPECT_THAT(at(28, 7).nvls_tree[kBlackwell], ElementsAre(0.0, 96.0, 43.1));
  EXPECT_THAT(at(28, 9).nvls_tree[kBlackwell], ElementsAre(0.0, 96.0, 43.8));
  EXPECT_THAT(at(30, 3).nvls_tree[kBlackwell], ElementsAre(0.0, 96.0, 80.0));
  EXPECT_FALSE(at(28, 9).nvls_tree_correction);
  EXPECT_TRUE(at(29, 2).nvls_tree_correction);
}

TEST(TuningTablesTest, LatenciesChangeFromReleaseToRelease) {
  const auto simple = [](int minor, int patch, std::size_t over, Algo algo) {
    return tuning_tables(release(minor, patch)).hw_latency[over][index_of(algo)][index_of(Proto::kSimple)];
  };
  EXPECT_FLOAT_EQ(simple(18, 3, kOverPci, Algo::kTree), 6.0F);
  EXPECT_FLOAT_EQ(simple(22, 3, kOverNet, Algo::kTree), 28.0F);
  EXPECT_FLOAT_EQ(simple(23, 4, kOverNet, Algo::kTree), 14.0F);
  EXPECT_FLOAT_EQ(simple(18, 6, kOverNet, Algo::kCollNetDirect), 10.7F);
  EXPECT_FLOAT_EQ(simple(20, 5, kOverNvlink, Algo::kNvls), 23.0F);
  EXPECT_FLOAT_EQ(simple(21, 5, kOverNvlink, Algo::kNvls), 25.0F);
  EXPECT_FLOAT_EQ(simple(28, 7, kOverNet, Algo::kNvlsTree), 14.0F);
  EXPECT_FLOAT_EQ(simple(28, 9, kOverNet, Algo::kNvlsTree), 20.9F);
  EXPECT_FLOAT_EQ(simple(27, 7, kOverNet, Algo::kPat), 0.0F);
  EXPECT_FLOAT_EQ(simple(28, 3, kOverNet, Algo::kPat), 14.0F);
}

// 2 x 8 H100: 8 heads of 40 GB/s within and 48 between the nodes.
TEST(TuningModelTest, NvlsTreeWasRatedInThreeWays) {
  const auto at = [](int minor, int patch) {
    return cost_at("h100-n2", release(minor, patch), Collective::kAllReduce, Algo::kNvlsTree);
  };
  EXPECT_NEAR(at(18, 3).bandwidth_GBps, 320 * .70 * 2 / 2, 1e-3);
  EXPECT_FLOAT_EQ(at(18, 3).latency_us, 23.0F + 2 * 19.0F);
  EXPECT_NEAR(at(19, 1).bandwidth_GBps, 320 * 5.0 / 6, 1e-3);
  EXPECT_FLOAT_EQ(at(19, 1).latency_us, 23.0F + 2 * 14.0F);
  EXPECT_NEAR(at(28, 3).bandwidth_GBps, 8 * 57.7 * 16 / 30, 1e-3);
  EXPECT_FLOAT_EQ(at(28, 3).latency_us, 25.0F + 2 * 14.0F);
  EXPECT_FLOAT_EQ(at(28, 9).latency_us, 25.0F + 2 * 20.9F);
}

// 8 H100: 8 heads of 40 GB/s, 60 between nodes.
TEST(TuningModelTest, GathersOnNvlsWereRatedInFourWays) {
  const auto at = [](int minor, int patch) {
    return cost_at("h100-n1", release(minor, patch), Collective::kAllGather, Algo::kNvls);
  };
  EXPECT_EQ(at(18, 3).disabled_because, "NCCL has no NVLS for all_gather");
  EXPECT_NEAR(at(22, 3).bandwidth_GBps, 320 * 5.0 / 6, 1e-3);
  EXPECT_NEAR(at(23, 4).bandwidth_GBps, 320, 1e-3);
  EXPECT_NEAR(at(27, 3).bandwidth_GBps, 8 * 40 * 7.0 / 8, 1e-3);
  EXPECT_NEAR(at(28, 3).bandwidth_GBps, 8 * 40 * 0.85 * 7 / 8 * 7 / 8, 1e-2);
}

TEST(TuningModelTest, PatLostATenthOfItsRateAfter223) {
  const auto rate = [](int minor, int patch) {
    return cost_at("one-n8", release(minor, patch), Collective::kAllGather, Algo::kPat).bandwidth_GBps;
  };
  EXPECT_NEAR(rate(23, 4) / rate(24, 3), 0.85 / 0.75, 1e-6);
}

TEST(TuningModelTest, Ll128IsForMoreGpusFromReleaseToRelease) {
  const auto has = [](int oldest, int newest, NcclVersion version) {
    CommInfo comm = machine_at("h100-n1", version);
    comm.min_sm = oldest;
    comm.max_sm = newest;
    return TuningModel(comm, {}).cost(Collective::kAllReduce, Algo::kRing, Proto::kLl128).enabled;
  };
  EXPECT_FALSE(has(89, 89, release(26, 6)));
  EXPECT_TRUE(has(89, 89, release(27, 3)));
  EXPECT_FALSE(has(100, 100, release(24, 3)));
  EXPECT_TRUE(has(100, 100, release(25, 1)));
  EXPECT_FALSE(has(103, 103, release(26, 6)));
  EXPECT_TRUE(has(103, 103, release(27, 3)));
  EXPECT_FALSE(has(90, 100, release(29, 7)));
  EXPECT_TRUE(has(90, 100, release(30, 3)));
}

// src/graph/tuning.cc and src/enqueue.cc: 2.18 never takes the ring from others than all-reduce; 2.19 to 2.23 fall back to it,
// of which 2.22 and 2.23 in the protocols allowed; then NCCL refuses.
TEST(TuningModelTest, AListThatLeavesNothingIsAnsweredByRelease) {
  const auto chosen = [](NcclVersion version, Collective kind, const Settings& settings) -> std::string {
    const CollectiveCall bytes{.element_size = 1, .numbers = Numbers::kInteger};
    try {
      const Selection found = TuningModel(machine_at("h100-n1", version), settings).select(kind, 1_GiB, 1, bytes);
      return std::string{to_string(found.algo)} + '/' + std::string{to_string(found.proto)};
    } catch (const ConfigError&) {
      return "refused";
    }
  };
  const Settings tree = given({{"ALGO", "Tree"}});
  for (const NcclVersion version : {release(18, 3), release(19, 4), release(23, 4)}) {
    EXPECT_EQ(chosen(version, Collective::kBroadcast, tree), "Ring/Simple") << to_string(version);
  }
  EXPECT_EQ(chosen(release(24, 3), Collective::kBroadcast, tree), "refused");
  const Settings nvls = given({{"ALGO", "NVLS"}});  // which has no sum of bytes
  EXPECT_EQ(chosen(release(18, 3), Collective::kAllReduce, nvls), "refused");
  EXPECT_EQ(chosen(release(23, 4), Collective::kAllReduce, nvls), "Ring/Simple");
  const Settings in_ll = given({{"ALGO", "Tree"}, {"PROTO", "LL"}});
  EXPECT_EQ(chosen(release(21, 5), Collective::kBroadcast, in_ll), "Ring/Simple");
  EXPECT_EQ(chosen(release(22, 3), Collective::kBroadcast, in_ll), "Ring/LL");
}

TEST(TuningModelTest, TwoGpusHaveNvlsSince2287) {
  EXPECT_EQ(cost_at("hgx-h200-2gpu-n1", release(28, 3), Collective::kAllReduce, Algo::kNvls).disabled_because,
            "at most two GPUs in the node");
  EXPECT_TRUE(cost_at("hgx-h200-2gpu-n1", release(28, 7), Collective::kAllReduce, Algo::kNvls).enabled);
}

// src/graph/search.cc.
TEST(SearchSpeedsTest, EveryReleaseTriesItsOwn) {
  const auto list = [](int sm, bool over_network, int minor, int patch) {
    const auto speeds = search_speeds(sm, over_network, release(minor, patch));
    return std::vector<float>(speeds.begin(), speeds.begin() + 4);
  };
  EXPECT_THAT(list(90, false, 18, 6), ElementsAre(60, 40, 30, 24));
  EXPECT_THAT(list(90, false, 19, 1), ElementsAre(60, 50, 40, 30));
  EXPECT_THAT(list(100, false, 24, 3), ElementsAre(60, 50, 40, 30));
  EXPECT_THAT(list(100, false, 25, 1), ElementsAre(90, 80, 70, 60));
  EXPECT_THAT(list(100, true, 25, 1), ElementsAre(48, 45, 42, 40));
  EXPECT_THAT(list(100, true, 27, 3), ElementsAre(47.9F, 45, 42, 40));
  EXPECT_THAT(list(100, true, 27, 7), ElementsAre(96, 48, 45.1F, 42));
  EXPECT_THAT(list(100, true, 29, 7), ElementsAre(96, 80, 48, 45.1F));
  EXPECT_THAT(list(100, true, 30, 3), ElementsAre(96, 86, 80, 48));
  EXPECT_EQ(search_speeds(90, false, release(20, 5)).size(), 10U);  // 11 GB/s came with 2.21
  EXPECT_EQ(search_speeds(90, false, release(21, 5)).size(), 11U);
  EXPECT_EQ(search_speeds(100, false, release(26, 6)).back(), 19);
  EXPECT_EQ(search_speeds(100, false, release(27, 3)).back(), 18);
}

TEST(ChannelCountsTest, NvlinksAndChannelsGrewWithBlackwell) {
  EXPECT_EQ(max_channels(release(24, 3)), 32);
  EXPECT_EQ(max_channels(release(25, 1)), 64);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(100, release(24, 3)), 20.6F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(100, release(25, 1)), 40.0F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(100, release(27, 5)), 40.1F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(90, release(20, 3)), 20.6F);
}

int channels_at(const std::string& name, NcclVersion version, const Settings& settings = {}) {
  CommInfo comm = machine_at(name, version);
  set_channels(comm, settings);
  set_nvls_channels(comm, settings, comm.ranks_per_node);
  extend_to_nvls(comm);
  return comm.channels;
}

// 8 rings of 48 GB/s are 16 channels, which Hopper doubled while MAXCHANNELS held them. From 2.22 to 2.27 collectives have as
// many as NVLS: 32 on sm100.
TEST(ChannelCountsTest, ChannelsOverNodesFollowTheRelease) {
  EXPECT_EQ(channels_at("h100-n2", release(19, 4)), 32);
  EXPECT_EQ(channels_at("h100-n2", release(20, 3)), 16);
  EXPECT_EQ(channels_at("b200-n2", release(25, 1)), 32);
  EXPECT_EQ(channels_at("b200-n2", release(27, 7)), 32);
  EXPECT_EQ(channels_at("b200-n2", release(28, 3)), 16);
  const Settings few = given({{"MAX_NCHANNELS", "4"}});
  EXPECT_EQ(channels_at("h100-n1", release(21, 5), few), 4);
  EXPECT_EQ(channels_at("h100-n1", release(27, 7), few), 16);
  EXPECT_EQ(channels_at("h100-n1", release(28, 3), few), 4);
}

TEST(ChannelCountsTest, NvlsChannelsOfBlackwellFollowTheRelease) {
  const auto nvls = [](const std::string& name, NcclVersion version, const Settings& settings = {}) {
    CommInfo comm = machine_at(name, version);
    set_nvls_channels(comm, settings, comm.ranks_per_node);
    return comm.nvls_channels;
  };
  EXPECT_EQ(nvls("b200-n1", release(25, 1)), 32);
  EXPECT_EQ(nvls("b200-n1", release(26, 6)), 32);
  EXPECT_EQ(nvls("b200-n1", release(27, 3)), 24);
  EXPECT_EQ(nvls("b200-n4", release(29, 7)), 32);
  EXPECT_EQ(nvls("b200-n4", release(30, 3)), 24);  // NICs of 50 GB/s
  EXPECT_EQ(nvls("h100-n1", release(25, 1)), 16);
  EXPECT_EQ(nvls("h100-n1", release(30, 7), given({{"MAX_CTAS", "8"}})), 8);
}

// Bytes of each channel of an all-reduce over four H200 with 24 channels.
std::vector<std::int64_t> split_at(NcclVersion version, const Settings& settings) {
  CommInfo comm = measured_node();
  comm.version = version;
  const CollectiveCall call{.kind = Collective::kAllReduce, .bytes = 1_MiB};
  std::vector<std::int64_t> bytes;
  for (const ChannelShare& share : plan(TuningModel(comm, settings), call).shares) bytes.push_back(share.bytes.count());
  return bytes;
}

std::vector<std::int64_t> parts(std::int64_t first, std::size_t times, std::int64_t each, std::int64_t last) {
  std::vector<std::int64_t> list{first};
  list.insert(list.end(), times, each);
  list.push_back(last);
  return list;
}

// src/enqueue.cc.
TEST(ChannelSplitTest, CellsGrewFromReleaseToRelease) {
  const Settings simple = given({{"ALGO", "Ring"}, {"PROTO", "Simple"}});
  // Evenly: 1 MiB / 24 = 43690.7, up to 16 B.
  EXPECT_EQ(split_at(release(21, 5), simple), parts(43696, 22, 43696, 43568));
  // 2 MiB of traffic / 24 = 87381: 2730 whole cells of 16 B on the first, 2731 on the others.
  EXPECT_EQ(split_at(release(22, 3), simple), parts(43680, 22, 43696, 43584));
  // Cells of 8 KiB: 87381 / 16384 is 5.3, so 6 of them.
  EXPECT_EQ(split_at(release(23, 4), simple), parts(49152, 20, 49152, 16384));
  // LL counts as Simple before 2.26, then four times: 8 MiB / 24 is 21.3 of 16384, so 22 cells of 2 KiB.
  const Settings ll = given({{"ALGO", "Ring"}, {"PROTO", "LL"}});
  EXPECT_EQ(split_at(release(25, 1), ll), parts(49152, 20, 49152, 16384));
  EXPECT_EQ(split_at(release(26, 2), ll), parts(45056, 22, 45056, 12288));
}

P2pTransfer transfer_at(NcclVersion version, Bytes bytes) {
  return p2p_transfer(machine_at("hgx-h200-4gpu-n1", version), bytes, {}, true);
}

// addP2pToPlan, src/enqueue.cc: 32 channels a peer.
TEST(P2pTransferTest, LlOfSendsFollowsTheRelease) {
  const auto is_ll = [](int minor, int patch, std::int64_t bytes) {
    return transfer_at(release(minor, patch), Bytes{bytes}).protocol == "LL";
  };
  for (const auto& [minor, patch] : {std::pair{18, 3}, {21, 5}, {29, 2}, {30, 7}}) {
    EXPECT_TRUE(is_ll(minor, patch, 16 << 10)) << minor;
    EXPECT_FALSE(is_ll(minor, patch, (16 << 10) + 1)) << minor;
  }
  for (const auto& [minor, patch] : {std::pair{22, 3}, {28, 9}}) {
    EXPECT_TRUE(is_ll(minor, patch, 512 << 10)) << minor;
    EXPECT_FALSE(is_ll(minor, patch, (512 << 10) + 1)) << minor;
  }
}

TEST(P2pOrderTest, GroupsOfEightCameWith2287) {
  EXPECT_EQ(p2p_group_limit({}, release(28, 3), true), 0);
  EXPECT_EQ(p2p_group_limit({}, release(28, 7), true), 8);
  EXPECT_EQ(p2p_group_limit({}, release(28, 7), false), 8);
  EXPECT_EQ(p2p_group_limit({}, release(28, 9), false), 0);
  EXPECT_EQ(p2p_group_limit(given({{"P2P_SCHEDULE_GROUP_SIZE", "4"}}), release(30, 7), true), 4);
}

// 0 1 3 6 2 7 5 4 of eight.
TEST(P2pOrderTest, PeersCameByTriangularNumbersFrom222To2283) {
  const std::vector<std::vector<Rank>> node{{0, 1, 2, 3, 4, 5, 6, 7}};
  const P2pOrder triangular{node, 8, true};
  EXPECT_EQ(triangular.round(0, 3), (P2pRound{.send_to = 6, .receive_from = 2, .base = 3}));
  EXPECT_EQ(triangular.round(1, 4), (P2pRound{.send_to = 3, .receive_from = 7, .base = 4}));
  EXPECT_FALSE(rule(kTriangularPeers, release(21, 5)));
  EXPECT_TRUE(rule(kTriangularPeers, release(28, 3)));
  EXPECT_FALSE(rule(kTriangularPeers, release(28, 7)));
}

TEST(P2pChannelTest, BitsOfThePartWereReversedFrom222To227) {
  EXPECT_EQ(p2p_channel(1, 1, 32, true), 16 + 1);
  EXPECT_EQ(p2p_channel(1, 1, 32, false), 1 + 16);
  EXPECT_EQ(p2p_channel(3, 1, 32, true), 24 + 1);
  EXPECT_EQ(p2p_channel(3, 1, 32, false), 3 + 16);
  for (const bool reverses : {false, true}) {
    for (int part = 0; part < 32; ++part) EXPECT_EQ(p2p_part(5, p2p_channel(5, part, 32, reverses), 32, reverses), part);
  }
}

}  // namespace
}  // namespace weft::coll::nccl
