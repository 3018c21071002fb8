#include "sim/network/flow_level/flow_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/core/random.h"
#include "sim/network/builtin.h"
#include "sim/network/router.h"
#include "tests/support/fabric_run.h"
#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::FabricRun;

// models/network §7 K1: three links, two store-and-forward switches, packets of 1000 B: 800 us of bits, two packet times of
// fill, three latencies.
TEST(FlowFabricTest, K1SingleFlow) {
  TopologyBuilder builder;
  testing::add_bare_hosts(builder, 2);
  const std::uint32_t spec = builder.add_spec(testing::plain_link(100_Gbps, 1_us, 1000_B));
  const DeviceId s1 = builder.add_switch(testing::plain_switch("s1", true));
  const DeviceId s2 = builder.add_switch(testing::plain_switch("s2", true));
  builder.add_cable(builder.device_of(0, 0), s1, spec);
  builder.add_cable(s1, s2, spec);
  builder.add_cable(s2, builder.device_of(1, 0), spec);
  FabricRun run{std::move(builder).freeze()};
  run.post("h0", "h1", 10_MB);
  run.finish();
  EXPECT_EQ(run.delivered(0), Time{} + 803'160_ns);
}

// models/network §7 K2: one packet of 4178 B over five links of 400 Gb/s and 25 ns, four switches of 300 ns, header 64 B.
TEST(FlowFabricTest, K2StoreAndForwardVersusCutThrough) {
  for (const bool store_and_forward : {true, false}) {
    TopologyBuilder builder;
    testing::add_bare_hosts(builder, 2);
    const std::uint32_t spec = builder.add_spec(testing::plain_link(400_Gbps, 25_ns, 4178_B));
    std::vector<DeviceId> chain;
    for (int i = 0; i < 4; ++i) {
      chain.push_back(builder.add_switch(testing::plain_switch("s" + std::to_string(i), store_and_forward, 64_B, 300_ns)));
    }
    builder.add_cable(builder.device_of(0, 0), chain[0], spec);
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) builder.add_cable(chain[i], chain[i + 1], spec);
    builder.add_cable(chain[3], builder.device_of(1, 0), spec);
    FabricRun run{std::move(builder).freeze()};
    run.post("h0", "h1", 4178_B);
    run.finish();
    EXPECT_EQ(run.delivered(0), Time{} + (store_and_forward ? 1'742'800_ps : 1'413'680_ps));
  }
}

// models/network §7 K3: 1 MB and 2 MB into one 100 Gb/s output. Shared until 160 us, alone until 240 us, plus two latencies.
TEST(FlowFabricTest, K3TwoFlowsShareALink) {
  FabricRun run{testing::star(3, 100_Gbps, 1_us)};
  run.post("h0", "h2", 1_MB);
  run.post("h1", "h2", 2_MB);
  run.finish();
  EXPECT_EQ(run.delivered(0), Time{} + 162_us);
  EXPECT_EQ(run.delivered(1), Time{} + 242_us);
}

// models/network §7 K31: two jobs, each 100 ms of compute, then 1.25 GB over one 100 Gb/s link. In phase under fair sharing
// both iterations take 300 ms for ever; under strict priority job 1 takes 200 ms, job 2 300 ms once and 200 ms ever after.
TEST(FlowFabricTest, K31PeriodicJobsAndUnfairness) {
  for (const bool strict : {false, true}) {
    FabricRun run{testing::star(3, 100_Gbps, 0_ns)};
    std::map<int, std::vector<Time>> ends;
    for (int job = 0; job < 2; ++job) {
      run.repeat(job, 5, 100_ms, job == 0 ? "h0" : "h1", "h2", 1'250_MB, strict && job == 0 ? 1 : 0, ends[job]);
    }
    run.finish();
    for (int job = 0; job < 2; ++job) {
      Time begin{};
      for (std::size_t i = 0; i < 5; ++i) {
        const Duration expected = !strict ? 300_ms : (job == 1 && i == 0 ? 300_ms : 200_ms);
        EXPECT_EQ(ends[job][i] - begin, expected) << "strict " << strict << " job " << job << " iteration " << i;
        begin = ends[job][i];
      }
    }
  }
}

TEST(FlowFabricTest, ARateCapIsKept) {
  FabricRun run{testing::star(2, 100_Gbps, 0_ns)};
  run.post("h0", "h1", 1_MB, 10_Gbps);
  run.finish();
  EXPECT_EQ(run.delivered(0), Time{} + 800_us);
}

// 1 MB at 100 Gb/s: half of it in 40 us, of the rest half at 10 Gb/s in 200 us, the other half as before in 20 us. The second
// flow comes when the first has the link at a tenth: it takes the rest of it, 450 kB in 40 us less a tenth.
TEST(FlowFabricTest, ARateCapMayChangeOnTheWay) {
  FabricRun run{testing::star(3, 100_Gbps, 0_ns)};
  run.post("h0", "h2", 1_MB);
  run.post_at(Time{} + 50_us, "h1", "h2", 450'000_B);
  run.set_cap_at(Time{} + 40_us, 0, 10_Gbps);
  run.set_cap_at(Time{} + 240_us, 0, {});
  run.finish();
  EXPECT_EQ(run.delivered(0), Time{} + 260_us);
  EXPECT_EQ(run.delivered(1), Time{} + 90_us);
}

TEST(FlowFabricTest, AnEmptyMessageTakesItsLatency) {
  FabricRun run{testing::star(2, 100_Gbps, 1_us)};
  run.post("h0", "h1", 0_B);
  run.finish();
  EXPECT_EQ(run.delivered(0), Time{} + 2_us);
}

TEST(FlowFabricTest, ACompletionIsRoundedUpOnce) {
  // Three flows of 1 B share 100 Gb/s: 3 x 80 ps; 1/3 share has no finite binary fraction, and still all end at 240 ps.
  FabricRun run{testing::star(4, 100_Gbps, 0_ns)};
  for (const char* from : {"h0", "h1", "h2"}) run.post(from, "h3", 1_B);
  run.finish();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(run.delivered(i), Time{} + 240_ps);
}

TEST(FlowFabricTest, CountersHoldBytesAndBusyTime) {
  FabricRun run{testing::star(2, 100_Gbps, 1_us)};
  run.post("h0", "h1", 1_MB);
  run.finish();
  const Topology& t = run.topology();
  const LinkId up = t.uplinks(*t.find("h0"))[0];
  EXPECT_EQ(run.fabric().counters(ResourceId{up.value()}).bytes, 1e6);
  EXPECT_EQ(run.fabric().counters(ResourceId{up.value()}).busy, 80_us);
  EXPECT_EQ(run.fabric().counters(ResourceId{t.link(up).twin.value()}).bytes, 0);
}

TEST(FlowFabricTest, WhatWasCountedSinceAMarkIsCountedAgain) {
  FabricRun run{testing::star(2, 100_Gbps, 1_us)};
  run.post("h0", "h1", 1_MB);
  run.simulator().run();
  ASSERT_TRUE(run.fabric().is_idle());
  run.fabric().mark_counters();
  run.post_at(run.simulator().now(), "h0", "h1", 3_MB);
  run.simulator().run();
  run.fabric().repeat_counted(10);
  const Topology& t = run.topology();
  const ResourceCounters counters = run.fabric().counters(ResourceId{t.uplinks(*t.find("h0"))[0].value()});
  EXPECT_EQ(counters.bytes, 1e6 + 11 * 3e6);
  EXPECT_EQ(counters.busy, 80_us + 11 * 240_us);
  EXPECT_EQ(counters.transfers, 12U);
}

TEST(FlowFabricTest, AFailedLinkAbortsWhatIsOnItAndOthersTakeTheShare) {
  FabricRun run{testing::star(3, 100_Gbps, 0_ns)};
  run.post("h0", "h2", 1_MB);
  run.post("h1", "h2", 1_MB);
  run.run_until(Time{} + 80_us);  // both have moved 500 kB
  const Topology& t = run.topology();
  run.fabric().fail(ResourceId{t.uplinks(*t.find("h0"))[0].value()});
  run.finish();
  EXPECT_TRUE(run.aborted(0));
  EXPECT_EQ(run.delivered(1), Time{} + 120_us);  // 500 kB more at the full rate: 40 us
}

TEST(FlowFabricTest, ATransferPostedOverAFailedLinkIsAborted) {
  FabricRun run{testing::star(3, 100_Gbps, 0_ns)};
  run.post_at(Time{} + 10_us, "h0", "h2", 1_MB);
  run.post_at(Time{} + 10_us, "h1", "h2", 1_MB);
  const Topology& t = run.topology();
  run.fabric().fail(ResourceId{t.uplinks(*t.find("h0"))[0].value()});
  run.finish();
  EXPECT_TRUE(run.aborted(0));
  EXPECT_EQ(run.delivered(1), Time{} + 90_us);
}

TEST(FlowFabricTest, FlowsThatMeetNobodyAreNotSolved) {
  FabricRun run{testing::star(100, 100_Gbps, 0_ns)};
  for (int i = 0; i < 50; ++i) run.post("h" + std::to_string(2 * i), "h" + std::to_string(2 * i + 1), Bytes{1000 + i});
  run.finish();
  EXPECT_EQ(run.fabric().totals().solves, 0U);
  // 8 b / 100 Gb/s = 80 ps a byte.
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_EQ(run.delivered(i), Time{} + Duration::from_ps(80 * (1000 + static_cast<std::int64_t>(i))));
}

TEST(FlowFabricTest, DistantFlowsAreNotSolvedAgain) {
  // 50 pairs into one host each, that share nothing with other pairs: solved when they begin, and the longer one again when the
  // shorter one ends.
  FabricRun run{testing::star(150, 100_Gbps, 0_ns)};
  for (int i = 0; i < 50; ++i) {
    run.post("h" + std::to_string(3 * i), "h" + std::to_string(3 * i + 2), Bytes{1000 + i});
    run.post("h" + std::to_string(3 * i + 1), "h" + std::to_string(3 * i + 2), Bytes{2000});
  }
  run.finish();
  EXPECT_EQ(run.fabric().totals().solved_flows, 50U * (2 + 1));
}

TEST(FlowFabricTest, WhoComesLaterInTheSameInstantTakesItsShare) {
  // The first finds its way empty and begins at the full 100 Gb/s; the second halves that before any time has passed.
  FabricRun run{testing::star(3, 100_Gbps, 0_ns)};
  run.post("h0", "h2", 1_MB);
  run.post("h1", "h2", 1_MB);
  run.finish();
  EXPECT_EQ(run.delivered(0), Time{} + 160_us);
  EXPECT_EQ(run.delivered(1), Time{} + 160_us);
}

TEST(FlowFabricTest, RandomArrivalsConserveBytesAndEndNoEarlierThanTheirBounds) {
  FabricRun run{testing::star(8, 100_Gbps, 500_ns)};
  std::uint64_t state = 7;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  std::vector<Bytes> sizes;
  std::vector<Time> starts;
  std::map<std::string, std::int64_t> sent;
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t from = random(8);
    const std::uint64_t to = (from + 1 + random(7)) % 8;
    sizes.emplace_back(static_cast<std::int64_t>(1 + random(1'000'000)));
    starts.push_back(Time{} + Duration::from_ps(static_cast<std::int64_t>(random(200'000'000))));
    sent["h" + std::to_string(from)] += sizes.back().count();
    run.post_at(starts.back(), "h" + std::to_string(from), "h" + std::to_string(to), sizes.back());
  }
  run.finish();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_GE(run.delivered(i) - starts[i], transmission_time(sizes[i], 100_Gbps) + 1_us);
  }
  const Topology& t = run.topology();
  for (const auto& [name, bytes] : sent) {
    const ResourceCounters counters = run.fabric().counters(ResourceId{t.uplinks(*t.find(name))[0].value()});
    EXPECT_EQ(counters.bytes, static_cast<double>(bytes));
    EXPECT_GE(counters.busy, transmission_time(Bytes{bytes}, 100_Gbps) - 400_ps);
  }
}

// The same traffic on a bounded fabric and on one that solves all that hangs together each time.
struct BoundedAndWhole {
  explicit BoundedAndWhole(const std::function<Topology()>& make, std::string_view routing = "spray")
      : bounded{make(), routing}, whole{make(), routing} {
    whole.fabric().solve_whole_components();
  }
  void post_at(Time at, std::uint64_t from, std::uint64_t to, Bytes bytes, Bandwidth cap, int priority) {
    for (FabricRun* run : {&bounded, &whole}) {
      run->post_at(at, "h" + std::to_string(from), "h" + std::to_string(to), bytes, cap, priority);
    }
    ++posted;
  }
  void expect_same_times() {
    bounded.finish();
    whole.finish();
    for (std::size_t i = 0; i < posted; ++i) {
      EXPECT_LE(std::abs((bounded.delivered(i) - whole.delivered(i)).ps()), 1'000) << i;
    }
  }
  [[nodiscard]] double share_solved() {
    return static_cast<double>(bounded.fabric().totals().solved_flows) /
           static_cast<double>(whole.fabric().totals().solved_flows);
  }

  FabricRun bounded;
  FabricRun whole;
  std::size_t posted = 0;
};

// Whom nothing tight joins does not depend on each other: solving more than that together changes nothing but the rounding.
TEST(FlowFabricTest, BoundedSolvesGiveTheTimesOfWholeOnes) {
  constexpr std::array kCaps{Bandwidth{}, Bandwidth{}, 5_Gbps, 20_Gbps, 60_Gbps};
  BoundedAndWhole runs{[] { return testing::star(12, 100_Gbps, 500_ns); }};
  RandomStream random{7, "flow_fabric_test"};
  constexpr std::size_t kFlows = 600;
  for (std::size_t i = 0; i < kFlows; ++i) {
    const std::uint64_t from = random.below(12);
    const std::uint64_t to = (from + 1 + random.below(11)) % 12;
    const Bytes bytes{static_cast<std::int64_t>(1 + random.below(1'000'000))};
    const Time at = Time{} + Duration::from_ps(static_cast<std::int64_t>(random.below(400'000'000)));
    const Bandwidth cap = kCaps[random.below(kCaps.size())];
    const int priority = static_cast<int>(random.below(2));
    const Bandwidth later = kCaps[random.below(kCaps.size())];
    const Time change = at + Duration::from_ps(static_cast<std::int64_t>(1 + random.below(80'000'000)));
    runs.post_at(at, from, to, bytes, cap, priority);
    if (i % 3 != 0) continue;
    for (FabricRun* run : {&runs.bounded, &runs.whole}) run->set_cap_at(change, i, later);
  }
  runs.expect_same_times();
  EXPECT_LT(runs.share_solved(), 1.0);
}

// 64 hosts that each send messages to the hosts 1, 2, 4 ... further on, nearly as fast as their cables let them: these hang
// together over all hosts, but few of their rates change at a time.
TEST(FlowFabricTest, ChangesAreFollowedOnlyAsFarAsTheyReach) {
  BoundedAndWhole runs{[] { return testing::star(64, 100_Gbps, 500_ns); }};
  RandomStream random{11, "flow_fabric_test"};
  for (std::uint64_t i = 0; i < 1'280; ++i) {
    const Time at = Time{} + static_cast<std::int64_t>(i / 64) * 20_us +
                    Duration::from_ps(static_cast<std::int64_t>(random.below(10'000'000)));
    runs.post_at(at, i % 64, (i + (1U << (i / 64 % 6))) % 64, 230_KB, {}, 0);
  }
  runs.expect_same_times();
  EXPECT_LT(runs.share_solved(), 0.5);
}

// Where cables and spines are too narrow by far for random traffic, each change reaches everybody; trying to follow it costs
// little.
TEST(FlowFabricTest, ChangesThatReachAllAreSolvedAtOnce) {
  constexpr std::array kCaps{Bandwidth{}, Bandwidth{}, Bandwidth{}, 20_Gbps, 60_Gbps};
  BoundedAndWhole runs{[] { return testing::leaves_and_spines(4, 16, 2, 100_Gbps, 400_Gbps); }, "adaptive"};
  RandomStream random{12, "flow_fabric_test"};
  for (std::size_t i = 0; i < 1'000; ++i) {
    const std::uint64_t from = random.below(64);
    const Time at = Time{} + Duration::from_ps(static_cast<std::int64_t>(random.below(500'000'000)));
    const Bytes bytes{static_cast<std::int64_t>(1 + random.below(4'000'000))};
    runs.post_at(at, from, (from + 1 + random.below(63)) % 64, bytes, kCaps[random.below(kCaps.size())], 0);
  }
  runs.expect_same_times();
  EXPECT_LT(runs.share_solved(), 1.25);
}

}  // namespace
}  // namespace weft::net
