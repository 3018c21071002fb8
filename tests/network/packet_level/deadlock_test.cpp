// Cyclic buffer dependency on a ring of five switches (models/network §2.7): host i sends over two trunks to host i + 2, so
// that what has come over one trunk waits for the next, all around.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/moments.h"
#include "tests/support/packet_run.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using weft::testing::at;

constexpr int kRing = 5;

std::vector<PacketRun::Cable> ring() {
  std::vector<PacketRun::Cable> cables;
  for (int i = 0; i < kRing; ++i) {
    cables.push_back({"s" + std::to_string(i), "s" + std::to_string((i + 1) % kRing), 100_Gbps, 500_ns});
    // Two hosts a switch: the second's flow goes the same way, so that trunks are wanted twice over.
    cables.push_back({"h" + std::to_string(i), "s" + std::to_string(i), 100_Gbps, 500_ns});
    cables.push_back({"h" + std::to_string(kRing + i), "s" + std::to_string(i), 100_Gbps, 500_ns});
  }
  return cables;
}

// Every host sends `bytes` to the first host `hops` switches further on.
void send_around(PacketRun& run, int hops, Bytes bytes) {
  for (int i = 0; i < 2 * kRing; ++i) run.add("h" + std::to_string(i), "h" + std::to_string((i + hops) % kRing), bytes);
}

PacketSettings pfc(Bytes xoff) {
  PacketSettings settings;
  settings.pfc.priorities = 0xFF;
  settings.pfc.xoff = xoff;
  settings.pfc.xon = xoff - 3_KB;
  return settings;
}

PacketSettings credits(std::int64_t blocks) {
  PacketSettings settings;
  settings.credits.enabled = true;
  settings.credits.credits = blocks;
  return settings;
}

std::vector<LinkId> trunks(const PacketRun& run) {
  std::vector<LinkId> links;
  for (int i = 0; i < kRing; ++i) links.push_back(run.link("s" + std::to_string(i), "s" + std::to_string((i + 1) % kRing)));
  return links;
}

// The five trunks and nothing else, each waiting for the one after it.
void expect_the_ring(PacketRun& run) {
  const std::optional<Deadlock> found = run.fabric().deadlock();
  ASSERT_TRUE(found.has_value());
  const std::vector<LinkId> ring = trunks(run);
  ASSERT_EQ(found->links.size(), ring.size());
  const auto first = std::ranges::find(ring, found->links[0]);
  ASSERT_NE(first, ring.end());
  const auto offset = static_cast<std::size_t>(first - ring.begin());
  for (std::size_t i = 0; i < ring.size(); ++i) EXPECT_EQ(found->links[i], ring[(offset + i) % ring.size()]) << i;
  EXPECT_THROW(run.fabric().check_conservation(), InternalError);
  EXPECT_FALSE(run.fabric().blocked().empty());
}

void expect_none(PacketRun& run) {
  EXPECT_FALSE(run.fabric().deadlock().has_value());
  run.fabric().check_conservation();
}

TEST(DeadlockTest, PausesAroundARingAreADeadlockAndNamed) {
  PacketRun run{2 * kRing, kRing, ring(), pfc(20_KB)};
  send_around(run, 2, 10_MB);
  run.run();  // ends: what waits for ever has no event
  expect_the_ring(run);
  EXPECT_LT(run.fabric().deadlock()->at, at(10_ms));
}

TEST(DeadlockTest, ItIsFoundWhileTheRunGoesOn) {
  PacketRun run{2 * kRing, kRing, ring(), pfc(20_KB)};
  send_around(run, 2, 10_MB);
  run.run_until(at(20_ms));
  ASSERT_TRUE(run.fabric().deadlock().has_value());
  EXPECT_LT(run.fabric().deadlock()->at, at(20_ms));
}

TEST(DeadlockTest, CreditsAroundARingAreADeadlockAndNamed) {
  PacketRun run{2 * kRing, kRing, ring(), credits(320)};
  send_around(run, 2, 10_MB);
  run.run();
  expect_the_ring(run);
}

TEST(DeadlockTest, BuffersThatHoldAllThereIsNeverWait) {
  PacketRun run{2 * kRing, kRing, ring(), pfc(10_MB)};
  send_around(run, 2, 1_MB);
  run.run();
  expect_none(run);
  EXPECT_TRUE(run.fabric().pauses().empty());
}

// Pauses there are, but what has come over a trunk leaves to a host.
TEST(DeadlockTest, TrafficOfOneHopPausesButNeverLocks) {
  PacketRun run{2 * kRing, kRing, ring(), pfc(20_KB)};
  send_around(run, 1, 5_MB);
  run.run();
  expect_none(run);
  EXPECT_FALSE(run.fabric().pauses().empty());
}

TEST(DeadlockTest, CreditsOfOneHopNeverLock) {
  PacketRun run{2 * kRing, kRing, ring(), credits(320)};
  send_around(run, 1, 5_MB);
  run.run();
  expect_none(run);
}

// One arc of the ring is not used two hops long: the chain of waits has an end.
TEST(DeadlockTest, ARingWithAGapDrains) {
  PacketRun run{2 * kRing, kRing, ring(), pfc(20_KB)};
  for (int i = 0; i < 2 * kRing; ++i) {
    const int hops = i % kRing == 0 ? 1 : 2;
    run.add("h" + std::to_string(i), "h" + std::to_string((i + hops) % kRing), 5_MB);
  }
  run.run();
  expect_none(run);
}

// Hosts get from their own switch and from one before, so that every trunk is paused most of the time; a few packets of two-hop
// flows stand in front of each, too few to hold the trunk they came over: each cycle of pauses dissolves.
TEST(DeadlockTest, ACycleOfPausesThatWillEndIsNoDeadlock) {
  PacketRun run{2 * kRing, kRing, ring(), pfc(20_KB)};
  for (int i = 0; i < kRing; ++i) {
    run.add("h" + std::to_string(i), "h" + std::to_string((i + 1) % kRing), 2_MB);
    run.add("h" + std::to_string(kRing + i), "h" + std::to_string(i), 2_MB);
    run.add("h" + std::to_string(kRing + i), "h" + std::to_string((i + 2) % kRing), 15_KB);
  }
  int all_paused = 0;
  for (int step = 1; step <= 400; ++step) {
    run.run_until(at(step * 100_ns));
    const auto paused = [&](LinkId link) {
      return std::ranges::count_if(run.fabric().pauses(), [&](const PauseRecord& pause) {
               return pause.link == link && pause.end == Time::max();
             }) > 0;
    };
    if (std::ranges::all_of(trunks(run), paused)) ++all_paused;
    ASSERT_FALSE(run.fabric().deadlock().has_value()) << step;
  }
  EXPECT_GT(all_paused, 0);
  run.run();
  expect_none(run);
}

// The same with credits: all trunks lack them at times, never for good.
TEST(DeadlockTest, CreditsThatWillComeBackAreNoDeadlock) {
  PacketRun run{2 * kRing, kRing, ring(), credits(640)};
  for (int i = 0; i < kRing; ++i) {
    run.add("h" + std::to_string(i), "h" + std::to_string((i + 1) % kRing), 2_MB);
    run.add("h" + std::to_string(kRing + i), "h" + std::to_string(i), 2_MB);
    run.add("h" + std::to_string(kRing + i), "h" + std::to_string((i + 2) % kRing), 15_KB);
  }
  for (int step = 1; step <= 400; ++step) {
    run.run_until(at(step * 100_ns));
    ASSERT_FALSE(run.fabric().deadlock().has_value()) << step;
  }
  run.run();
  expect_none(run);
}

TEST(DeadlockTest, AHostThatNeverTakesAnythingIsAStormAndNoDeadlock) {
  PacketRun run{2 * kRing, kRing, ring(), pfc(20_KB)};
  run.fabric().force_pause({.link = run.link("s2", "h2"), .priority = -1, .at = Time{}});
  run.add("h0", "h2", 10_MB);
  run.run();
  EXPECT_FALSE(run.fabric().deadlock().has_value());
  EXPECT_THROW(run.fabric().check_conservation(), InternalError);
}

}  // namespace
}  // namespace weft::net
