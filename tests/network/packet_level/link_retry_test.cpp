// Link-level retry: a frame that a link loses comes a round trip of the link later, all behind it too, and nothing is sent
// again.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;

// 100 packets of 80 ns over two cables of 1 us: 10.08 us without losses. A retry takes 2 us and 80 ns.
constexpr Duration kUnretriedTime = 101 * 80_ns + 2_us;
constexpr Duration kRetryTime = 2_us + 80_ns;

struct RetriedRun {
  RetriedRun(const std::string& from, const std::string& to, std::vector<std::int64_t> packets) : RetriedRun() {
    run.fabric().add_drop_rule({.link = run.link(from, to), .packets = std::move(packets)});
    run.add("h0", "h1", 100_KB);
    run.run();
    EXPECT_EQ(run.delivered(0), 100'000);
    const FlowCounters counters = run.fabric().flow(run.flow(0).footprint);
    EXPECT_EQ(counters.retransmitted, 0);  // in order, or go-back-N would have asked
    EXPECT_EQ(counters.timeouts, 0);
  }
  static PacketSettings settings() {
    PacketSettings settings;
    settings.link_retry = true;
    settings.transport.acks = AckMode::kPackets;
    return settings;
  }
  PacketRun run;

 private:
  RetriedRun() : run{2, 1, testing::star_shape(2, 100_Gbps, 1_us).cables, settings()} {}
};

TEST(LinkRetryTest, AFrameComesARoundTripLater) {
  for (const bool first : {true, false}) {
    for (const std::int64_t packet : {0, 9, 99}) {
      const RetriedRun one{first ? "h0" : "s0", first ? "s0" : "h1", {packet}};
      EXPECT_EQ(one.run.taken(0), kUnretriedTime + kRetryTime) << first << packet;
    }
  }
}

// The second is lost when it comes again.
TEST(LinkRetryTest, EachLossCostsItsRoundTrip) {
  EXPECT_EQ((RetriedRun{"s0", "h1", {9, 10}}.run.taken(0)), kUnretriedTime + 2 * kRetryTime);
  EXPECT_EQ((RetriedRun{"s0", "h1", {9, 80}}.run.taken(0)), kUnretriedTime + 2 * kRetryTime);
}

// Without it the transport repairs.
TEST(LinkRetryTest, WithoutItTheTransportHears) {
  PacketSettings settings = RetriedRun::settings();
  settings.link_retry = false;
  PacketRun run{2, 1, testing::star_shape(2, 100_Gbps, 1_us).cables, settings};
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .packets = {9}});
  run.add("h0", "h1", 100_KB);
  run.run();
  EXPECT_GT(run.fabric().flow(run.flow(0).footprint).retransmitted, 0);
}

}  // namespace
}  // namespace weft::net
