#include "sim/workloads/replay/group_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/collectives/builtin.h"
#include "sim/network/builtin.h"
#include "tests/network/cluster_support.h"
#include "tests/support/topologies.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

Profile defaults() {
  ParamGroups groups = net::network_param_groups();
  for (const ParamGroupBase* group : coll::collective_param_groups()) groups.push_back(group);
  return Profile::defaults(groups);
}

// Usage by name of the link.
std::map<std::string, double> named_loads(const net::Topology& topology, const net::Footprint& footprint) {
  std::map<std::string, double> named;
  for (const Usage& usage : footprint.usages) named[topology.name(LinkId{usage.resource.value()})] = usage.usage;
  return named;
}

// Hosts on one switch, 12.5 GB/s each, textbook collectives.
class GroupCostsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<DeviceId> hosts(const std::vector<std::size_t>& which) const {
    std::vector<DeviceId> devices;
    for (const std::size_t index : which) devices.push_back(topology_.endpoints()[index]);
    return devices;
  }
  [[nodiscard]] std::map<std::string, double> loads(const net::Footprint& footprint) const {
    return named_loads(topology_, footprint);
  }

  net::Topology topology_ = weft::testing::star(6, 100_Gbps, 0_us);
  Profile profile_ = defaults();
  GroupCosts costs_{topology_, "ecmp", 1, profile_, {}};
};

TEST_F(GroupCostsTest, ARingTakesItsTextbookTimeAndLoadsEveryLinkAlike) {
  const GroupCost& cost =
      costs_.collective(hosts({0, 1, 2, 3}), {.kind = coll::Collective::kAllReduce, .bytes = 100'000'000_B, .element_size = 4});
  EXPECT_EQ(cost.alone, 12_ms) << "2 (n-1)/n of 100 MB at 12.5 GB/s";
  const std::map<std::string, double> used = loads(cost.loads);
  EXPECT_EQ(used.size(), 8U) << "four links up and four down";
  for (const auto& [name, usage] : used) EXPECT_NEAR(usage, 1.5, 1e-6) << name;
}

// Data that come in are stored and read again, the input is read, and the output is written.
TEST_F(GroupCostsTest, AMemoryMovesWhatComesInTwiceAndInputAndOutput) {
  const auto memory_of = [&](coll::Collective kind) {
    return costs_.collective(hosts({0, 1, 2, 3}), {.kind = kind, .bytes = 4'000'000_B, .element_size = 4}).memory_bytes;
  };
  EXPECT_NEAR(memory_of(coll::Collective::kAllReduce), 2 * 6e6 + 4e6 + 4e6, 10) << "6 MB come in";
  EXPECT_NEAR(memory_of(coll::Collective::kAllGather), 2 * 3e6 + 1e6 + 4e6, 10);
  EXPECT_NEAR(memory_of(coll::Collective::kReduceScatter), 2 * 3e6 + 4e6 + 1e6, 10);
  EXPECT_NEAR(memory_of(coll::Collective::kAllToAll), 2 * 3e6 + 4e6 + 4e6, 10);
  EXPECT_NEAR(memory_of(coll::Collective::kBroadcast), 2 * 4e6 + 4e6, 10) << "of those that have no input";
  EXPECT_NEAR(costs_.message(hosts({0})[0], hosts({1})[0], 4'000'000_B).memory_bytes, 2 * 4e6 + 4e6 + 4e6, 10) << "both ways";
}

TEST_F(GroupCostsTest, EachCallIsRunOnceForAllGroupsThatLieAlike) {
  const coll::CollectiveCall call{.kind = coll::Collective::kAllReduce, .bytes = 12'500'000_B, .element_size = 4};
  const Duration alone = costs_.collective(hosts({0, 1}), call).alone;
  EXPECT_EQ(costs_.runs(), 1U);
  EXPECT_EQ(&costs_.collective(hosts({0, 1}), call), &costs_.collective(hosts({0, 1}), call));
  const GroupCost& other = costs_.collective(hosts({2, 5}), call);
  EXPECT_EQ(costs_.runs(), 1U);
  EXPECT_EQ(other.alone, alone);
  const std::map<std::string, double> used = loads(other.loads);
  EXPECT_EQ(used.size(), 4U);
  for (const auto& [name, usage] : used) EXPECT_NEAR(usage, 1.0, 1e-6) << name;
  EXPECT_TRUE(used.contains("h2->sw0") || used.begin()->first.find("h2") != std::string::npos) << used.begin()->first;
}

// A program of two groups of 64 hosts each, which make the same calls.
class CallsAheadTest : public ::testing::Test {
 protected:
  CallsAheadTest() {
    RankProgramBuilder builder;
    const std::uint8_t compute = builder.stream("compute");
    for (const Bytes bytes : kSizes) {
      builder.add({.bytes = bytes, .slot = 0, .stream = compute, .kind = OpKind::kCollective, .element_size = 4}, "reduce");
    }
    program_.programs.push_back(builder.take());
    program_.groups = {{.name = "dp 0", .ranks = {}}, {.name = "dp 1", .ranks = {}}};
    for (Rank rank = 0; rank < 128; ++rank) {
      const std::uint32_t group = rank % 2 == 0 ? 1 : 0;
      program_.groups[group].ranks.push_back(rank);
      program_.ranks.push_back({.program = 0, .groups = {group}, .peers = {}, .leader = rank});
      program_.devices.push_back(topology_.endpoints()[static_cast<std::size_t>(rank)]);
    }
  }
  [[nodiscard]] std::vector<DeviceId> devices(std::size_t group) const {
    std::vector<DeviceId> devices;
    for (const Rank rank : program_.groups[group].ranks) devices.push_back(program_.devices[static_cast<std::size_t>(rank)]);
    return devices;
  }

  static constexpr std::array kSizes{6'400'000_B, 64_B, 640'000_B};
  static coll::CollectiveCall call(Bytes bytes) {
    return {.kind = coll::Collective::kAllReduce, .bytes = bytes, .element_size = 4};
  }

  net::Topology topology_ = weft::testing::star(128, 100_Gbps, 0_us);
  Profile profile_ = defaults();
  Program program_;
};

TEST_F(CallsAheadTest, TheFirstOfThoseAlikeIsRunWhoeverAsksFirst) {
  GroupCosts costs{topology_, "ecmp", 1, profile_, {}};
  std::vector<std::size_t> heard;
  const RunAhead on{.threads = 2, .until = nullptr, .done = [&](std::size_t done, std::size_t of) {
                      EXPECT_EQ(of, kSizes.size());
                      heard.push_back(done);
                    }};
  costs.run_ahead(program_, on);
  EXPECT_EQ(heard, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(costs.runs(), kSizes.size());
  for (const Bytes bytes : kSizes) {
    EXPECT_EQ(costs.collective(devices(0), call(bytes)).alone, costs.collective(devices(1), call(bytes)).alone);
  }
  costs.run_ahead(program_, on);
  EXPECT_EQ(heard.size(), kSizes.size()) << "what was run is not run again";
  EXPECT_EQ(costs.runs(), kSizes.size());
}

TEST_F(CallsAheadTest, ThreadsChangeNothing) {
  GroupCosts one{topology_, "ecmp", 1, profile_, {}};
  GroupCosts three{topology_, "ecmp", 1, profile_, {}};
  one.run_ahead(program_, {.threads = 1, .until = nullptr, .done = {}});
  three.run_ahead(program_, {.threads = 3, .until = nullptr, .done = {}});
  for (const Bytes bytes : kSizes) {
    const GroupCost& a = one.collective(devices(1), call(bytes));
    const GroupCost& b = three.collective(devices(1), call(bytes));
    EXPECT_GT(a.alone, 0_us);
    EXPECT_EQ(a.alone, b.alone);
    EXPECT_EQ(a.choice, b.choice);
    EXPECT_EQ(a.loads.usages, b.loads.usages);
  }
}

TEST_F(CallsAheadTest, NothingBeginsOnceTheRunIsStopped) {
  GroupCosts costs{topology_, "ecmp", 1, profile_, {}};
  Simulator simulator;
  simulator.request_stop();
  costs.run_ahead(program_, {.threads = 2, .until = &simulator, .done = {}});
  EXPECT_EQ(costs.runs(), 0U);
}

TEST_F(GroupCostsTest, AMessageLoadsItsWayOnly) {
  const GroupCost& cost = costs_.message(topology_.endpoints()[1], topology_.endpoints()[4], 12'500'000_B);
  EXPECT_EQ(cost.alone, 1_ms);
  EXPECT_EQ(cost.loads.usages.size(), 2U);
}

// A rail of eight hosts is run for all, as a run of another says.
TEST(GroupCostsOnHostsTest, WhatAGroupOfSeveralAHostLoadsIsThereOnOtherHosts) {
  const net::Cluster cluster = net::test::shipped("dgx_h100_superpod");
  const net::Topology& topology = cluster.topology;
  const auto two_hosts = [&](std::size_t first) {
    std::vector<DeviceId> devices;
    for (std::size_t i = 0; i < 16; ++i)
      devices.push_back(topology.device_of(first + i / 8, static_cast<std::uint32_t>(i % 8)));
    return devices;
  };
  const Profile profile = defaults();
  for (const auto kind : {coll::Collective::kAllReduce, coll::Collective::kReduceScatter, coll::Collective::kAllToAll}) {
    const coll::CollectiveCall call{.kind = kind, .bytes = 64'000'000_B, .element_size = 4};
    GroupCosts costs{topology, "adaptive", 1, profile, {}};
    costs.collective(two_hosts(0), call);
    const std::map<std::string, double> moved = named_loads(topology, costs.collective(two_hosts(2), call).loads);
    EXPECT_EQ(costs.runs(), 1U);
    GroupCosts others{topology, "adaptive", 1, profile, {}};
    const std::map<std::string, double> run = named_loads(topology, others.collective(two_hosts(2), call).loads);
    ASSERT_EQ(moved.size(), run.size()) << to_string(kind);
    for (const auto& [link, usage] : run) EXPECT_NEAR(moved.at(link), usage, 1e-6 + 1e-3 * usage) << link;
  }
}

TEST(GroupCostsOnRailsTest, GroupsOfOneMemberAHostAreRunOnceForAllRails) {
  const net::Cluster cluster = net::test::shipped("dgx_h100_superpod");
  const net::Topology& topology = cluster.topology;
  const auto rail = [&](std::uint32_t gpu) {
    std::vector<DeviceId> devices;
    for (std::size_t host = 0; host < 8; ++host) devices.push_back(topology.device_of(host, gpu));
    return devices;
  };
  const coll::CollectiveCall call{.kind = coll::Collective::kAllReduce, .bytes = 12'500'000_B, .element_size = 4};
  const Profile profile = defaults();
  const GroupRunSettings settings;
  GroupCosts costs{topology, "adaptive", 1, profile, settings};
  costs.collective(rail(0), call);
  const GroupCost& taken_over = costs.collective(rail(5), call);
  EXPECT_EQ(costs.runs(), 1U);

  GroupCosts others{topology, "adaptive", 1, profile, settings};
  const GroupCost& made = others.collective(rail(5), call);
  EXPECT_EQ(others.runs(), 1U);
  EXPECT_EQ(taken_over.alone, made.alone);
  EXPECT_EQ(taken_over.choice, made.choice);
  ASSERT_EQ(taken_over.loads.usages.size(), made.loads.usages.size());
  for (std::size_t i = 0; i < made.loads.usages.size(); ++i) {
    EXPECT_EQ(taken_over.loads.usages[i].resource, made.loads.usages[i].resource);
    EXPECT_NEAR(taken_over.loads.usages[i].usage, made.loads.usages[i].usage, 1e-5) << "channels of unequal bytes";
  }

  // Two on one CPU lie otherwise than two on two.
  costs.collective({topology.device_of(0, 0), topology.device_of(0, 1)}, call);
  costs.collective({topology.device_of(1, 0), topology.device_of(1, 4)}, call);
  EXPECT_EQ(costs.runs(), 3U);
}

// GPUs of a rack are joined by NVSwitches that see them all alike. Two sit on each CPU.
TEST(GroupCostsInOneDomainTest, GroupsThatDifferOnlyInPlacesThatLookTheSameAreRunOnce) {
  net::Cluster cluster = net::test::shipped("gb200_nvl72");
  const net::Topology& topology = cluster.topology;
  const Profile profile = defaults();
  const auto places = [&](const std::vector<std::uint32_t>& locals) {
    std::vector<DeviceId> devices;
    for (const std::uint32_t local : locals) devices.push_back(topology.device_of(0, local));
    return devices;
  };
  GroupCosts costs{topology, "adaptive", 1, profile, {}};
  for (const coll::Collective kind : {coll::Collective::kAllGather, coll::Collective::kAllToAll}) {
    const coll::CollectiveCall call{.kind = kind, .bytes = 64'000'000_B, .element_size = 2};
    const std::size_t before = costs.runs();
    costs.collective(places({0, 1, 2, 3}), call);
    const GroupCost taken_over = costs.collective(places({68, 69, 70, 71}), call);
    EXPECT_EQ(costs.runs(), before + 1);
    // No two of these share a CPU.
    costs.collective(places({0, 8, 16, 24}), call);
    costs.collective(places({1, 9, 17, 25}), call);
    EXPECT_EQ(costs.runs(), before + 2);

    GroupCosts others{topology, "adaptive", 1, profile, {}};
    const GroupCost& made = others.collective(places({68, 69, 70, 71}), call);
    EXPECT_EQ(taken_over.alone, made.alone);
    EXPECT_EQ(taken_over.choice, made.choice);
    const std::map<std::string, double> moved = named_loads(topology, taken_over.loads);
    const std::map<std::string, double> run = named_loads(topology, made.loads);
    ASSERT_EQ(moved.size(), run.size());
    for (const auto& [link, usage] : run) EXPECT_NEAR(moved.at(link), usage, 1e-6 + 1e-3 * usage) << link;
  }
}

// Two GPUs share a CPU, and channels leave a rack by either's NIC.
TEST(GroupCostsInOneDomainTest, GroupsOverTwoRacksLoadTheNicsThatCorrespond) {
  const net::Cluster cluster = net::test::load(net::test::shipped_node("gb200_nvl72").with_override("nodes", "2", "test"));
  const net::Topology& topology = cluster.topology;
  const Profile profile = defaults();
  const auto every_eighth = [&](std::uint32_t first) {
    std::vector<DeviceId> devices;
    for (std::size_t host = 0; host < 2; ++host) {
      for (std::uint32_t gpu = first; gpu < 72; gpu += 8) devices.push_back(topology.device_of(host, gpu));
    }
    return devices;
  };
  const coll::CollectiveCall call{.kind = coll::Collective::kAllGather, .bytes = 180'000'000_B, .element_size = 2};
  GroupCosts costs{topology, "adaptive", 1, profile, {}};
  costs.collective(every_eighth(0), call);
  const GroupCost moved = costs.collective(every_eighth(5), call);
  GroupCosts others{topology, "adaptive", 1, profile, {}};
  const GroupCost& run = others.collective(every_eighth(5), call);
  EXPECT_EQ(costs.runs(), 1U);
  EXPECT_NEAR(moved.alone.seconds(), run.alone.seconds(), 1e-3 * run.alone.seconds());
  const std::map<std::string, double> moved_loads = named_loads(topology, moved.loads);
  const std::map<std::string, double> run_loads = named_loads(topology, run.loads);
  ASSERT_EQ(moved_loads.size(), run_loads.size());
  for (const auto& [link, usage] : run_loads) {
    ASSERT_TRUE(moved_loads.contains(link)) << link;
    EXPECT_NEAR(moved_loads.at(link), usage, 1e-6 + 0.01 * usage) << link;
  }
}

// The rings of both go round in each host and leave it by the NICs that are theirs.
TEST(GroupCostsOnRailsTest, GroupsOfSeveralAHostLoadTheNicsThatAreTheirs) {
  const net::Cluster cluster = net::test::shipped("dgx_h100_superpod");
  const net::Topology& topology = cluster.topology;
  const Profile profile = defaults();
  const auto pairs = [&](std::uint32_t first) {
    std::vector<DeviceId> devices;
    for (std::size_t host = 0; host < 4; ++host) {
      for (const std::uint32_t gpu : {first, first + 1}) devices.push_back(topology.device_of(host, gpu));
    }
    return devices;
  };
  const coll::CollectiveCall call{.kind = coll::Collective::kAllReduce, .bytes = 64'000'000_B, .element_size = 4};
  GroupCosts costs{topology, "adaptive", 1, profile, {}};
  costs.collective(pairs(0), call);
  const std::map<std::string, double> moved = named_loads(topology, costs.collective(pairs(4), call).loads);
  EXPECT_EQ(costs.runs(), 1U);
  GroupCosts others{topology, "adaptive", 1, profile, {}};
  const std::map<std::string, double> run = named_loads(topology, others.collective(pairs(4), call).loads);
  ASSERT_EQ(moved.size(), run.size());
  for (const auto& [link, usage] : run) EXPECT_NEAR(moved.at(link), usage, 1e-6 + 1e-3 * usage) << link;
}

// Run once more at 1/1.2 of full clock, for all groups that lie alike and all other clocks.
TEST(GroupCostsAtLowClocksTest, TimesBetweenTwoClocksAreOnALine) {
  const net::Cluster cluster = net::test::shipped("dgx_h100_superpod");
  const net::Topology& topology = cluster.topology;
  const auto pair = [&](std::size_t host) { return std::vector{topology.device_of(host, 0), topology.device_of(host, 1)}; };
  const coll::CollectiveCall call{.kind = coll::Collective::kAllReduce, .bytes = 1_MiB, .element_size = 4};
  const Profile profile = defaults();
  GroupCosts costs{topology, "adaptive", 1, profile, {.slowdown = 1.2}};
  const GroupCost& cost = costs.collective(pair(0), call);
  EXPECT_EQ(costs.stretch_at(cost, 1.0), 1.0);
  EXPECT_EQ(costs.runs(), 1U);
  const double slowed = costs.stretch_at(cost, 1.2);
  EXPECT_GT(slowed, 1.05) << "latencies are half cycles, rates all";
  EXPECT_LT(slowed, 1.2);
  EXPECT_NEAR(costs.stretch_at(costs.collective(pair(3), call), 1.1) - 1, (slowed - 1) / 2, 1e-12);
  EXPECT_EQ(costs.runs(), 2U);

  GroupRuns runs{topology, "adaptive", 1, profile, coll::Grain::kAuto, {}};
  EXPECT_NEAR(slowed, runs.run(pair(0), call, 1.2).device.us() / cost.alone.us(), 1e-9);
}

}  // namespace
}  // namespace weft::work::test
