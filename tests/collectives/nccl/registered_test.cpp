// Which buffers NCCL takes as registered, and on how many channels it then runs: src/register/coll_reg.cc,
// src/transport/nvls.cc and src/enqueue.cc of its releases.
#include "sim/collectives/nccl/registered.h"

#include <gtest/gtest.h>

#include "sim/collectives/nccl/planner.h"
#include "tests/collectives/nccl/golden_file.h"
#include "tests/collectives/nccl/machines.h"

namespace weft::coll::nccl {
namespace {

using namespace literals;

constexpr UserBuffers kRegistered{.registered = true};

CommInfo golden_machine(const char* name, NcclVersion version = NcclVersion::k2_30) {
  CommInfo comm = golden::read(name).comm;
  comm.version = version;
  return comm;
}

RegisteredBuffers registered_of(const CommInfo& comm, Collective kind, Algo algo, Proto proto = Proto::kSimple,
                                int channels = 16, const UserBuffers& buffers = kRegistered, const Settings& settings = {}) {
  return registration(TuningModel{comm, settings}, {.kind = kind, .bytes = 1_MiB}, algo, proto, channels, buffers);
}

int nvls_channels(const CommInfo& comm, Collective kind) { return registered_of(comm, kind, Algo::kNvls).channels; }

// 8 heads: NCCL's own numbers. 4 heads: twice as many since 2.27, before as many.
TEST(RegisteredTest, NvlsTakesFewChannels) {
  EXPECT_EQ(nvls_channels(golden_machine("h100-n1"), Collective::kAllReduce), 4);
  EXPECT_EQ(nvls_channels(golden_machine("h100-n1"), Collective::kAllGather), 4);
  EXPECT_EQ(nvls_channels(golden_machine("h100-n1"), Collective::kReduceScatter), 5);
  EXPECT_EQ(nvls_channels(golden_machine("hgx-h200-4gpu-n1"), Collective::kAllReduce), 8);
  EXPECT_EQ(nvls_channels(golden_machine("hgx-h200-4gpu-n1"), Collective::kReduceScatter), 10);
  EXPECT_EQ(nvls_channels(golden_machine("hgx-h200-4gpu-n1", release(26, 2)), Collective::kAllReduce), 4);
  EXPECT_EQ(nvls_channels(golden_machine("b200-n1"), Collective::kAllReduce), 8);
  EXPECT_EQ(nvls_channels(golden_machine("b200-n1"), Collective::kReduceScatter), 6);
  EXPECT_EQ(nvls_channels(golden_machine("b200-n1"), Collective::kAllGather), 4);
  EXPECT_EQ(nvls_channels(golden_machine("b200-n1", release(26, 2)), Collective::kAllGather), 8);
  EXPECT_FALSE(registered_of(golden_machine("h100-n2"), Collective::kAllReduce, Algo::kNvls).in_switch) << "on one node alone";
}

TEST(RegisteredTest, NvlsChannelsStayWithinTheUsersThreadBlocks) {
  const CommInfo comm = golden_machine("h100-n1");
  EXPECT_EQ(registered_nvls_channels(TuningModel{comm, given({{"MIN_CTAS", "6"}})}, Collective::kAllReduce), 6);
  EXPECT_EQ(registered_nvls_channels(TuningModel{comm, given({{"MAX_CTAS", "2"}})}, Collective::kAllReduce), 2);
}

// Beyond 8 GPUs a domain is several hosts. A reduction that scales has no registered NVLS.
TEST(RegisteredTest, NvlsOfSeveralHostsAndOfScaledSumsIsAsWithout) {
  CommInfo rack = golden_machine("h100-n1");
  rack.ranks_per_node = 9;
  EXPECT_FALSE(registered_of(rack, Collective::kAllReduce, Algo::kNvls).any());
  const CommInfo node = golden_machine("h100-n1");
  const CollectiveCall scaled{.kind = Collective::kAllReduce, .bytes = 1_MiB, .reduction = Reduction::kScaledSum};
  EXPECT_FALSE(registration(TuningModel{node, {}}, scaled, Algo::kNvls, Proto::kSimple, 16, kRegistered).any());
}

TEST(RegisteredTest, RingsAndTreesInSimpleStoreIntoUsersBuffers) {
  const CommInfo comm = golden_machine("h100-n1");
  for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kBroadcast})
    EXPECT_TRUE(registered_of(comm, kind, Algo::kRing).of_peers);
  EXPECT_TRUE(registered_of(comm, Collective::kAllReduce, Algo::kTree).of_peers);
  for (const Collective kind : {Collective::kReduceScatter, Collective::kReduce})
    EXPECT_FALSE(registered_of(comm, kind, Algo::kRing).any());
  EXPECT_FALSE(registered_of(comm, Collective::kAllGather, Algo::kPat).any());
  for (const Proto proto : {Proto::kLl, Proto::kLl128})
    EXPECT_FALSE(registered_of(comm, Collective::kAllGather, Algo::kRing, proto).any());
  EXPECT_FALSE(registered_of(golden_machine("pcie4-n1"), Collective::kAllGather, Algo::kRing).any());
  EXPECT_FALSE(registered_of(golden_machine("h100-n1", release(22, 3)), Collective::kAllGather, Algo::kRing).any());
  EXPECT_TRUE(registered_of(golden_machine("h100-n1", release(23, 4)), Collective::kAllGather, Algo::kRing).of_peers);
}

TEST(RegisteredTest, SeventeenToTwentyFourChannelsOfANodeBecomeSixteen) {
  for (const auto& [channels, expected] : {std::pair{16, 0}, {17, 16}, {24, 16}, {25, 0}}) {
    EXPECT_EQ(registered_of(golden_machine("h100-n1"), Collective::kAllGather, Algo::kRing, Proto::kSimple, channels).channels,
              expected);
    EXPECT_EQ(registered_of(golden_machine("h100-n2"), Collective::kAllGather, Algo::kRing, Proto::kSimple, channels).channels,
              0);
  }
}

TEST(RegisteredTest, NodesOfOneRankGatherOnOneChannel) {
  const RegisteredBuffers gather = registered_of(golden_machine("one-n8"), Collective::kAllGather, Algo::kRing);
  EXPECT_TRUE(gather.of_network && !gather.of_peers);
  EXPECT_EQ(gather.channels, 1);
  EXPECT_EQ(registered_of(golden_machine("one-n8"), Collective::kAllReduce, Algo::kRing).channels, 0);
  EXPECT_FALSE(registered_of(golden_machine("one-n8", release(23, 4)), Collective::kAllGather, Algo::kRing).any());
  EXPECT_FALSE(registered_of(golden_machine("h100-n2"), Collective::kAllGather, Algo::kRing).of_network);
}

// In a graph NCCL_GRAPH_REGISTER does what NCCL_LOCAL_REGISTER does not.
TEST(RegisteredTest, VariablesTurnItOff) {
  const CommInfo comm = golden_machine("h100-n1");
  const auto any = [&](const UserBuffers& buffers, const Settings& settings) {
    return registered_of(comm, Collective::kAllReduce, Algo::kNvls, Proto::kSimple, 16, buffers, settings).any();
  };
  const UserBuffers captured{.registered = true, .in_graph = true};
  EXPECT_FALSE(any({}, {}));
  EXPECT_FALSE(any({.registered = false, .in_graph = true}, {}));
  EXPECT_FALSE(any(kRegistered, given({{"LOCAL_REGISTER", "0"}})));
  EXPECT_TRUE(any(captured, given({{"LOCAL_REGISTER", "0"}})));
  EXPECT_FALSE(any(captured, given({{"LOCAL_REGISTER", "0"}, {"GRAPH_REGISTER", "0"}})));
}

TEST(RegisteredTest, SendsOfGathersAreRegisteredInGraphsAloneSince229) {
  const auto of = [](NcclVersion version, Collective kind, bool in_graph, Proto proto = Proto::kSimple) {
    return send_registration(golden_machine("h100-n1", version), {}, kind, proto, {.registered = true, .in_graph = in_graph})
        .of_peers;
  };
  EXPECT_TRUE(of(NcclVersion::k2_30, Collective::kAllToAll, false));
  EXPECT_TRUE(of(NcclVersion::k2_30, Collective::kSendRecv, false));
  EXPECT_FALSE(of(NcclVersion::k2_30, Collective::kGather, false));
  EXPECT_TRUE(of(NcclVersion::k2_30, Collective::kScatter, true));
  EXPECT_TRUE(of(NcclVersion::k2_28, Collective::kGather, false));
  EXPECT_FALSE(of(NcclVersion::k2_30, Collective::kAllToAll, false, Proto::kLl));
  EXPECT_FALSE(of(release(22, 3), Collective::kAllToAll, false));
}

// The planner: NVLS on four channels in chunks of a slot (512 KiB), where the policy of few blocks has it.
TEST(RegisteredTest, ThePolicyOfFewBlocksGathersOnNvls) {
  const CommInfo comm = golden_machine("h100-n1");
  const auto planned = [&](const Settings& settings, const UserBuffers& buffers) {
    const TuningModel model{comm, settings};
    const CollectiveCall call{.kind = Collective::kAllGather, .bytes = 1_GiB};
    return plan(model, call, model.select(call.kind, call.bytes, 1, call), buffers);
  };
  const Choice choice = planned(given({{"CTA_POLICY", "EFFICIENCY"}}), kRegistered);
  EXPECT_EQ(choice.algorithm, "nvls");
  EXPECT_EQ(choice.channels, 4);
  EXPECT_EQ(choice.chunk, 512_KiB);
  EXPECT_TRUE(choice.registration.in_switch);
  EXPECT_EQ(planned(given({{"CTA_POLICY", "1"}}), {}).algorithm, "ring");
  EXPECT_EQ(planned(given({{"CTA_POLICY", "0"}}), kRegistered).algorithm, "ring");
  EXPECT_EQ(planned(given({{"CTA_POLICY", "1"}, {"PROTO", "Simple"}}), kRegistered).algorithm, "ring");
}

TEST(RegisteredTest, PoliciesHaveNumbersAndNames) {
  EXPECT_EQ(cta_policy({}), CtaPolicy::kDefault);
  EXPECT_EQ(cta_policy(given({{"CTA_POLICY", "1"}})), CtaPolicy::kEfficiency);
  EXPECT_EQ(cta_policy(given({{"CTA_POLICY", "Zero"}})), CtaPolicy::kZero);
  EXPECT_ANY_THROW(given({{"CTA_POLICY", "3"}}));
}

// NCCL 2.27 brings the policies, 2.28 the copy engines; each is for buffers of its kind.
TEST(RegisteredTest, APolicyWithoutItsBuffersOrReleaseIsIdle) {
  const auto idle = [](const char* policy, const char* version, bool registered, bool symmetric) {
    return !idle_policy(given({{"CTA_POLICY", policy}, {"version", version}}), registered, symmetric).empty();
  };
  EXPECT_TRUE(idle("1", "2.28.9", false, false));
  EXPECT_FALSE(idle("1", "2.28.9", true, false));
  EXPECT_TRUE(idle("1", "2.26.5", true, false));
  EXPECT_TRUE(idle("2", "2.28.9", true, false));
  EXPECT_FALSE(idle("2", "2.28.9", false, true));
  EXPECT_TRUE(idle("2", "2.27.7", false, true));
  EXPECT_FALSE(idle("0", "2.18.1", false, false));
}

}  // namespace
}  // namespace weft::coll::nccl
