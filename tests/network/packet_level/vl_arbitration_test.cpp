// Shares of InfiniBand's VL arbitration by formula: a turn of w blocks sends ceil(w / b) packets of b blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/moments.h"
#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using weft::testing::at;

constexpr std::int64_t kBlocks = 33;  // of a packet

using Table = std::vector<LaneTables::Entry>;

LaneTables::Entry entry(int lane, std::int64_t blocks) { return {static_cast<std::uint8_t>(lane), 64 * blocks}; }

// Returns the shares of as many lanes, each fed by a host of its own, to one more host.
std::vector<double> lane_shares(Table high, Table low, int lanes, std::int64_t high_limit = 0) {
  PacketSettings settings;
  settings.switches.scheduling = Scheduling::kLanes;
  settings.switches.lanes = {std::move(high), std::move(low), high_limit};
  PacketRun run{lanes + 1, 1, testing::star_shape(lanes + 1, 100_Gbps, 1_us).cables, settings, "ecmp", Bytes{64 * kBlocks}};
  for (int lane = 0; lane < lanes; ++lane) run.add("h" + std::to_string(lane), "h" + std::to_string(lanes), 1_GB, lane);
  std::vector<double> shares = run.rates(at(100_us), at(2_ms));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  EXPECT_NEAR(sum, 100, 0.2);
  for (double& share : shares) share /= sum;
  return shares;
}

void expect_shares(const std::vector<double>& found, const std::vector<double>& packets) {
  const double sum = std::accumulate(packets.begin(), packets.end(), 0.0);
  for (std::size_t i = 0; i < packets.size(); ++i) EXPECT_NEAR(found[i], packets[i] / sum, 0.003) << i;
}

TEST(VlArbitrationTest, WeightsOfWholePacketsAreShares) {
  expect_shares(lane_shares({}, {entry(0, 33), entry(1, 66), entry(2, 165)}, 3), {1, 2, 5});
  expect_shares(lane_shares({entry(0, 33), entry(1, 66), entry(2, 165)}, {}, 3), {1, 2, 5});
}

TEST(VlArbitrationTest, ThePacketThatCrossesTheWeightStillGoes) {
  for (const std::int64_t weight : {32, 33, 34, 66, 67, 100}) {
    const double packets = std::ceil(static_cast<double>(weight) / kBlocks);
    expect_shares(lane_shares({}, {entry(0, weight), entry(1, 33)}, 2), {packets, 1});
  }
}

TEST(VlArbitrationTest, ALaneMayHaveSeveralTurnsAndNone) {
  expect_shares(lane_shares({}, {entry(0, 33), entry(1, 33), entry(0, 66)}, 2), {3, 1});
  expect_shares(lane_shares({}, {entry(0, 33), entry(1, 0)}, 2), {1, 0});
}

// The high table sends until its limit is reached or crossed, then the low one a packet.
TEST(VlArbitrationTest, TheLimitOfTheHighTable) {
  for (const std::int64_t limit : {0, 1, 2, 6}) {
    const double packets = std::max(1.0, std::ceil(static_cast<double>(limit * 4096) / (64 * kBlocks)));
    expect_shares(lane_shares({entry(0, 255)}, {entry(1, 255)}, 2, limit * 4096), {packets, 1});
  }
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  expect_shares(lane_shares({entry(0, 1)}, {entry(1, 255)}, 2, kUnlimited), {1, 0});
}

TEST(VlArbitrationTest, LanesInNoTableComeLast) {
  expect_shares(lane_shares({}, {entry(0, 33), entry(1, 33)}, 3), {1, 1, 0});
  expect_shares(lane_shares({}, {entry(7, 33)}, 2), {0, 1});
}

}  // namespace
}  // namespace weft::net
