// InfiniBand's forward marks: which packets of a queue that is held at so many bytes, and where.
#include <gtest/gtest.h>

#include <utility>

#include "tests/network/congestion/congestion_support.h"
#include "tests/support/moments.h"
#include "tests/support/packet_run.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using weft::testing::at;

PacketSettings marking_forward(const FecnSettings& fecn) {
  PacketSettings settings;
  settings.ecn.priorities = 0xFF;
  settings.ecn.fecn = fecn;
  return settings;
}

// Marks and packets while 100 packets of 500 B are in front of a port: one host sends at the port's rate, another has put a
// burst on top.
std::pair<std::int64_t, std::int64_t> marks_at_100_packets(const FecnSettings& fecn) {
  PacketRun run{3,
                1,
                {{"h0", "s0", 100_Gbps, 1_us}, {"h1", "s0", 100_Gbps, 1'010_ns}, {"s0", "h2", 100_Gbps, 1_us}},
                marking_forward(fecn),
                "ecmp",
                500_B};
  run.add("h0", "h2", 50_KB);
  run.add("h1", "h2", 1_GB);
  run.run_until(at(20_us + 1'040_ns + 5_ns));
  EXPECT_EQ(run.fabric().queued_bytes(run.link("s0", "h2")), 50'000);
  const PortCounters before = run.port("s0", "h2");
  run.run_until(run.simulator().now() + 4_ms);
  const PortCounters after = run.port("s0", "h2");
  return {after.marks - before.marks, after.packets - before.packets};
}

TEST(FecnTest, EveryMarkingRatePlusFirstPacketAboveTheThreshold) {
  for (const std::int64_t rate : {0, 1, 9, 99}) {
    const auto [marks, packets] = marks_at_100_packets({.threshold = 49'999_B, .marking_rate = rate});
    EXPECT_EQ(packets, 100'000);
    EXPECT_NEAR(static_cast<double>(marks), 100'000.0 / static_cast<double>(rate + 1), 1) << rate;
  }
  EXPECT_EQ(marks_at_100_packets({.threshold = 50_KB}).first, 0);
}

TEST(FecnTest, SmallPacketsAreNotMarked) {
  EXPECT_EQ(marks_at_100_packets({.threshold = 10_KB, .packet_size = 501_B}).first, 0);
  EXPECT_EQ(marks_at_100_packets({.threshold = 10_KB, .packet_size = 500_B}).first, 100'000);
}

// Two hosts send to h2 by s0 and s1, whose cable has half of the credits for its full rate: s0's queue is a victim's. Only a
// Victim_Mask lets it mark.
TEST(FecnTest, VictimsMarkNothingUnlessTheyAreToldTo) {
  for (const bool victims : {false, true}) {
    PacketSettings settings = marking_forward({.threshold = 2_KB, .victims = victims});
    settings.credits.enabled = true;
    settings.credits.credits = 64;  // 4 packets of 16 blocks; 13 are on the way at full rate
    PacketRun run{3,
                  2,
                  {{"h0", "s0", 100_Gbps, 100_ns},
                   {"h1", "s0", 100_Gbps, 100_ns},
                   {"s0", "s1", 100_Gbps, 500_ns},
                   {"s1", "h2", 100_Gbps, 100_ns}},
                  settings};
    run.add("h0", "h2", 1_MB);
    run.add("h1", "h2", 1_MB);
    run.run_until(at(100_us));
    EXPECT_GT(run.fabric().queued_bytes(run.link("s0", "s1")), 2'000);
    EXPECT_EQ(run.port("s0", "s1").marks > 0, victims);
    EXPECT_EQ(run.port("s1", "h2").marks, 0);
  }
}

// By weight: 15 is a 16th, 1 is 15 16ths of what a cable's receiver holds of a lane, here 800 blocks of 64 B.
TEST(FecnTest, WeightsAreSharesOfTheBuffer) {
  for (const int weight : {1, 8, 15}) {
    const std::int64_t threshold = (16 - weight) * 800 * 64 / 16;
    PacketSettings settings = marking_forward({.weight = weight});
    settings.credits.enabled = true;
    settings.credits.credits = 800;
    PacketRun run{3, 1, {{"h0", "s0"}, {"h1", "s0"}, {"s0", "h2"}}, settings};
    run.add("h0", "h2", 200_KB);
    run.add("h1", "h2", 200_KB);
    // Every 80 ns a packet leaves and two arrive: the first one marked leaves threshold + 1000 B at most, and two join at once.
    while (run.port("s0", "h2").marks == 0 && run.simulator().now() < at(10_us)) run.run_until(run.simulator().now() + 1_ns);
    const std::int64_t queued = run.fabric().queued_bytes(run.link("s0", "h2"));
    EXPECT_GT(queued, threshold);
    EXPECT_LE(queued, threshold + 3'000);
  }
}

}  // namespace
}  // namespace weft::net
