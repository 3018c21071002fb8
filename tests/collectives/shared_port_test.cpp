#include "sim/collectives/shared_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weft::coll {
namespace {

constexpr Bandwidth gigabytes(std::int64_t rate) { return Bandwidth::from_bits_per_second(rate * 8'000'000'000); }

// Returns what each of `blocks` moves when all of them do.
double rate_beside(Bandwidth alone, Bandwidth port, int blocks) {
  constexpr Bytes kData{1'000'000};
  const double by_itself = static_cast<double>(kData.count()) / std::min(alone, port).bytes_per_ps();
  const double waiting = static_cast<double>(PortQueue{alone, {port}, blocks}.wait(kData, blocks - 1).ps());
  return 8e12 * static_cast<double>(kData.count()) / (by_itself + waiting);
}

// A block alone moves a piece in 10 ns, 5 of them at the port. By hand: q1 = 1/2, so the second of two waits 2.5 ns longer;
// q2 = 2 x 7.5 / 12.5 = 1.2, so the third of three waits 6 ns longer.
TEST(PortQueueTest, BlocksWaitForThoseBeforeThem) {
  const PortQueue queue{gigabytes(100), {gigabytes(200)}, 3};
  EXPECT_EQ(queue.wait(Bytes{1'000}, 0), Duration{});
  EXPECT_EQ(queue.wait(Bytes{1'000}, 1), Duration::from_ps(2'500));
  EXPECT_EQ(queue.wait(Bytes{1'000}, 2), Duration::from_ps(6'000));
  EXPECT_DOUBLE_EQ(rate_beside(gigabytes(100), gigabytes(200), 1), 800e9);
  EXPECT_DOUBLE_EQ(rate_beside(gigabytes(100), gigabytes(200), 2), 640e9);
  EXPECT_DOUBLE_EQ(rate_beside(gigabytes(100), gigabytes(200), 3), 500e9);
}

// The same pieces: one block has the port for 5 of 10 ns, two for 2 x 5 of 12.5, three for 3 x 5 of 16.
TEST(PortQueueTest, IsBusyWithAllThatSend) {
  const PortQueue queue{gigabytes(100), {gigabytes(200)}, 3};
  EXPECT_DOUBLE_EQ(queue.busy(0), 0.0);
  EXPECT_DOUBLE_EQ(queue.busy(0.5), 0.25);
  EXPECT_DOUBLE_EQ(queue.busy(1), 0.5);
  EXPECT_DOUBLE_EQ(queue.busy(2), 0.8);
  EXPECT_DOUBLE_EQ(queue.busy(3), 0.9375);
  EXPECT_DOUBLE_EQ(queue.busy(7), 0.9375);
  EXPECT_DOUBLE_EQ(PortQueue{}.busy(2), 0.0);
}

// A block alone moves a piece in 20 ns, 5 of them at its own port and 5 at its peer's, where others' come in too. By hand: at
// either q1 = 1/4, so the second of two waits 2 x 1.25 ns longer; q2 = 2 x 6.25 / (10 + 12.5) = 5/9, the third 2 x 2.78 ns.
TEST(PortQueueTest, BlocksWaitAtBothPortsWhereSeveralGpusStoreToOne) {
  const PortQueue queue{gigabytes(50), {gigabytes(200)}, 3};
  EXPECT_EQ(queue.wait(Bytes{1'000}, 0, 1.0), Duration{});
  EXPECT_EQ(queue.wait(Bytes{1'000}, 1, 1.0), Duration::from_ps(2'500));
  EXPECT_EQ(queue.wait(Bytes{1'000}, 2, 1.0), Duration::from_ps(5'556));
}

// Packets leave half of a port's rate: where others' stores come in, a piece takes 10 ns, and 5 remain elsewhere. By hand: q1 =
// 1/4 and 1/2, so the second of two waits 1.25 + 5 ns; q2 = 2 x 6.25 / 26.25 and 2 x 15 / 26.25, the third 2.381 + 11.429 ns.
// Three GPUs with a block each that store to one find a third of that: it sends nothing, and its whole rate is theirs.
TEST(PortQueueTest, StoresOfSeveralGpusComeInAtTheRateThatPacketsLeave) {
  const PortQueue queue{gigabytes(50), {.raw = gigabytes(200), .efficiency = 0.5}, 3};
  EXPECT_EQ(queue.wait(Bytes{1'000}, 1), Duration::from_ps(1'250));
  EXPECT_EQ(queue.wait(Bytes{1'000}, 1, 1.0), Duration::from_ps(6'250));
  EXPECT_EQ(queue.wait(Bytes{1'000}, 2, 1.0), Duration::from_ps(13'810));
  const double at_one = 5'000 * 10.0 / 17.0;
  EXPECT_EQ(queue.wait(Bytes{1'000}, 0, 3.0), Duration::from_ps(std::llround(at_one + (13'809.5 - at_one) / 3)));
}

// Three GPUs with a block each store to one: each waits there as one of three blocks does, and at its own port for nobody. At
// one port, by hand: q1 = 1/4, q2 = 2 x 6.25 / (15 + 6.25) = 10/17.
TEST(PortQueueTest, BlocksWaitAtABusierPeersPort) {
  const PortQueue queue{gigabytes(50), {gigabytes(200)}, 3};
  const double at_one = 5'000 * 10.0 / 17.0;
  const double at_both = 5'000 * 2 * 5.0 / 9.0;
  EXPECT_EQ(queue.wait(Bytes{1'000}, 0, 3.0), Duration::from_ps(std::llround(at_one + (at_both - at_one) / 3)));
}

// Ranks 1 and 2 store to rank 0, who stores to rank 1 alone.
TEST(PortLoadsTest, OnlyPortsThatSeveralStoreToHaveAQueue) {
  PortLoads loads{3};
  EXPECT_EQ(loads.most_inward(), 1.0);
  loads.add(1, 0, 0.5, true);
  loads.add(1, 0, 0.5, true);
  EXPECT_EQ(loads.inward(1, 0), 0.0);
  loads.add(2, 0, 0.5, true);
  loads.add(0, 1, 2.0, true);
  EXPECT_DOUBLE_EQ(loads.out(1), 1.0);
  EXPECT_DOUBLE_EQ(loads.inward(1, 0), 1.5);
  EXPECT_DOUBLE_EQ(loads.inward(2, 0), 3.0);
  EXPECT_EQ(loads.inward(0, 1), 0.0);
  EXPECT_DOUBLE_EQ(loads.most_inward(), 3.0);
}

TEST(PortLoadsTest, LinksBetweenTwoGpusHavePortsOfTheirOwn) {
  PortLoads loads{3};
  loads.add(1, 0, 1.0, false);
  loads.add(2, 0, 1.0, false);
  EXPECT_EQ(loads.out(1), 1.0);
  EXPECT_EQ(loads.inward(1, 0), 0.0);
}

TEST(PortQueueTest, HalfABlocksWarpsCountFromHalf) {
  const PortQueue queue{gigabytes(100), {gigabytes(200)}, 3};
  EXPECT_EQ(queue.wait(Bytes{1'000}, 0.4), Duration{});
  EXPECT_EQ(queue.wait(Bytes{1'000}, 0.5), queue.wait(Bytes{1'000}, 1));
}

TEST(PortQueueTest, ManyBlocksFillThePort) { EXPECT_NEAR(rate_beside(gigabytes(30), gigabytes(450), 1'000), 0.45 * 8e9, 1e6); }

TEST(PortQueueTest, BlocksThatDoNothingElseShareThePortEvenly) {
  EXPECT_NEAR(rate_beside(gigabytes(100), gigabytes(50), 4), 12.5 * 8e9, 1.0);
}

TEST(PortQueueTest, WithoutALimitNobodyWaits) {
  EXPECT_EQ(PortQueue(Bandwidth{}, {gigabytes(50)}, 8).wait(Bytes{1'000}, 7), Duration{});
  EXPECT_EQ(PortQueue(gigabytes(100), {}, 8).wait(Bytes{1'000}, 7), Duration{});
  EXPECT_EQ(PortQueue{}.wait(Bytes{1'000}, 7), Duration{});
}

}  // namespace
}  // namespace weft::coll
