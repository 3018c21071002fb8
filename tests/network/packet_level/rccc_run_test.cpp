// Credits of destinations on a network (RCCC): incasts fill the last link and no more, and no byte is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using testing::PacketShape;

constexpr Duration kPacketTime = 80_ns;            // 1000 B at 100 Gb/s
constexpr Duration kWay = 2_us + 2 * kPacketTime;  // of one packet over two cables and a switch that stores it
constexpr std::int64_t kPacket = 1000;

std::shared_ptr<const CongestionFactory> control_named(const std::string& name, const std::string& yaml) {
  Diagnostics diagnostics;
  ParamReader params{ConfigNode::parse(yaml, "test"), diagnostics};
  return congestion_controls().find(name)->make(params);
}

// A round trip is 4.17 us, a BDP 52.128 kB.
PacketSettings credit_settings(const std::string& yaml, Bytes queue_limit = 52_KB, const std::string& control = "rccc") {
  PacketSettings settings;
  settings.switches.queue_limit = queue_limit;
  settings.switches.trim_size = 64_B;
  settings.transport.uec = UecSettings{};
  settings.transport.acks = AckMode::kPackets;
  settings.transport.ack_size = 64_B;
  settings.transport.cnps = AckMode::kNone;
  settings.transport.timeout = 100_us;
  settings.transport.reliability = Reliability::kSelectiveRepeat;
  settings.transport.congestion = control_named(control, yaml);
  return settings;
}

// Senders h1 to hN of `bytes` each to h0.
struct CreditedIncast {
  CreditedIncast(int senders, Bytes bytes, const PacketSettings& settings)
      : shape{testing::star_shape(senders + 1, 100_Gbps, 1_us)}, run{senders + 1, 1, shape.cables, settings, "entropy"} {
    for (int h = 1; h <= senders; ++h) run.add("h" + std::to_string(h), "h0", bytes);
    run.run();
    run.fabric().check_conservation();
    for (std::size_t i = 0; i < run.flows(); ++i) {
      EXPECT_EQ(run.flow(i).delivered, 1) << i;
      EXPECT_EQ(run.delivered(i), bytes.count()) << i;
      again += run.fabric().flow(run.flow(i).footprint).retransmitted;
      last = std::max(last, run.flow(i).end - Time{});
    }
    queue = run.port("s0", "h0").peak_queue_bytes;
  }

  PacketShape shape;
  PacketRun run;
  std::int64_t again = 0;
  std::int64_t queue = 0;
  Duration last;
};

// Half a BDP is 26.06 packets, so 27 go before the first grant is there. The queue holds those of all: nothing is trimmed, the
// link is never idle, and no more waits than what was sent unasked.
TEST(RcccRunTest, AnIncastFillsTheLastLink) {
  const CreditedIncast incast{32, 100_KB, credit_settings("{optimistic_window: 0.5, credit_rate: 100 %}", 2_MB)};
  EXPECT_EQ(incast.again, 0);
  const Duration least = 32 * 100 * kPacketTime + kWay - kPacketTime;
  EXPECT_GE(incast.last, least);
  EXPECT_LE(incast.last, least + 4 * kPacketTime);
  EXPECT_LE(incast.queue, (32 * 27 + 4) * kPacket);
  EXPECT_GE(incast.queue, 31 * 27 * kPacket);
}

// Two packets each fill the link for 64 x 80 ns, longer than a round trip: from then on the queue is as short as a turn.
TEST(RcccRunTest, ASmallWindowKeepsTheQueueShort) {
  const CreditedIncast incast{32, 100_KB, credit_settings("{optimistic_window: 0.03, credit_rate: 100 %}", 2_MB)};
  EXPECT_EQ(incast.again, 0);
  const Duration least = 32 * 100 * kPacketTime + kWay - kPacketTime;
  EXPECT_GE(incast.last, least);
  EXPECT_LE(incast.last, least + 8 * kPacketTime);
  EXPECT_LE(incast.queue, 64 * kPacket);
}

// 32 x 27 packets come in 27 packet times. Headers of one byte take next to nothing of the link, so it carries a packet in each
// of the 26 times between the first and the last: these and the 52 of the queue are in, 786 are trimmed. Until the first
// granted packet comes, a round trip after the first of all, the queue drains, and none is trimmed any more.
TEST(RcccRunTest, OnlyOptimisticPacketsAreTrimmed) {
  PacketSettings settings = credit_settings("{optimistic_window: 0.5, credit_rate: 100 %}");
  settings.switches.trim_size = 1_B;
  const CreditedIncast incast{32, 100_KB, settings};
  EXPECT_NEAR(static_cast<double>(incast.again), 32 * 27 - 26 - 52, 1);
  EXPECT_EQ(incast.queue / kPacket, 52);
  const Duration least = 32 * 100 * kPacketTime + kWay - kPacketTime;
  EXPECT_GE(incast.last, least);
  EXPECT_LE(incast.last, least + 8 * kPacketTime);
}

// With its own values: 1.5 BDP, and 99 % of the link, on top of which each header of 64 B takes 5.12 ns.
TEST(RcccRunTest, TrimmingLosesNoByte) {
  const CreditedIncast incast{32, 300_KB, credit_settings("{}")};
  EXPECT_GT(incast.again, 32 * 30);
  const double least = 32 * 300 * kPacketTime.seconds();
  EXPECT_GE(incast.last.seconds(), least);
  EXPECT_LE(incast.last.seconds(), least / 0.99 + static_cast<double>(incast.again) * 5.12e-9 + kWay.seconds());
}

// One source goes at its link's rate, as under NSCC; at 99 % of it, once the window of 78 packets is spent.
TEST(RcccRunTest, OneSourceHasTheLink) {
  const Duration least = 1000 * kPacketTime + kWay - kPacketTime;
  for (const std::string control : {"nscc", "rccc"}) {
    const CreditedIncast one{1, 1_MB, credit_settings(control == "rccc" ? "{credit_rate: 100 %}" : "{}", 52_KB, control)};
    EXPECT_EQ(one.again, 0) << control;
    EXPECT_GE(one.last, least) << control;
    EXPECT_LE(one.last, least + 4 * kPacketTime) << control;
  }
  const CreditedIncast slower{1, 1_MB, credit_settings("{}")};
  EXPECT_NEAR(slower.last.seconds(), least.seconds() + (1000 - 52) * kPacketTime.seconds() * (1 / 0.99 - 1), 4 * 80e-9);
}

// Two destinations of one source: each grants it a whole link, and it has one.
TEST(RcccRunTest, DestinationsShareTheirSourcesLink) {
  PacketShape shape = testing::star_shape(3, 100_Gbps, 1_us);
  PacketRun run{3, 1, shape.cables, credit_settings("{}"), "entropy"};
  run.add("h0", "h1", 1_MB);
  run.add("h0", "h2", 1_MB);
  run.run();
  const Duration least = 2000 * kPacketTime + kWay - kPacketTime;
  for (std::size_t i : {0U, 1U}) {
    EXPECT_GE(run.taken(i), least - 60 * kPacketTime) << i;
    EXPECT_LE(run.taken(i), least + 4 * kPacketTime) << i;
  }
  EXPECT_GE(std::max(run.taken(0), run.taken(1)), least);
}

// Sources of one destination have equal shares of it.
TEST(RcccRunTest, SourcesTakeTurns) {
  for (const int n : {2, 8}) {
    PacketShape shape = testing::star_shape(n + 1, 100_Gbps, 1_us);
    PacketRun run{n + 1, 1, shape.cables, credit_settings("{}"), "entropy"};
    for (int h = 1; h <= n; ++h) run.add("h" + std::to_string(h), "h0", 100_MB);
    for (const double rate : run.rates(Time{} + 100_us, Time{} + 1100_us)) EXPECT_NEAR(rate, 99.0 / n, 1.0 / n) << n;
  }
}

// A message that begins when all is acknowledged has an optimistic window again; one that is posted while the last packet of
// the one before is on its way asks with a packet of its own.
TEST(RcccRunTest, LaterMessagesHaveCreditToo) {
  PacketShape shape = testing::star_shape(2, 100_Gbps, 1_us);
  PacketRun run{2, 1, shape.cables, credit_settings("{}"), "entropy"};
  run.add("h1", "h0", 200_KB);
  run.run_until(Time{} + 100_us);
  EXPECT_EQ(run.flow(0).delivered, 1);
  run.post(0, 50_KB);
  run.run_until(Time{} + 200_us);
  EXPECT_EQ(run.flow(0).delivered, 2);
  EXPECT_EQ(run.flow(0).end, Time{} + 100_us + 50 * kPacketTime + kWay - kPacketTime);
  run.post(0, 200_KB);
  run.run_until(Time{} + 200_us + 201 * kPacketTime);  // all has left
  run.post(0, 50_KB);
  run.run();
  EXPECT_EQ(run.flow(0).delivered, 4);
  EXPECT_EQ(run.delivered(0), 500'000);
}

// Without trimming what the queue does not hold is lost; timeouts and later packets tell.
TEST(RcccRunTest, DropsAreRepaired) {
  PacketSettings settings = credit_settings("{}");
  settings.switches.trim_size.reset();
  const CreditedIncast incast{32, 100_KB, settings};
  EXPECT_GT(incast.again, 0);
}

// Credits may be lost, as acknowledgements may: later ones say the same, and a source that waits for long asks again.
TEST(RcccRunTest, LostCreditsAreRepeated) {
  for (const double probability : {0.1, 0.9}) {
    PacketShape shape = testing::star_shape(9, 100_Gbps, 1_us);
    PacketRun run{9, 1, shape.cables, credit_settings("{optimistic_window: 0.1}"), "entropy"};
    run.fabric().add_drop_rule(
        {.of = DropKind::kAcks, .link = run.link("h0", "s0"), .probability = probability, .until = Time{} + 300_us});
    for (int h = 1; h <= 8; ++h) run.add("h" + std::to_string(h), "h0", 100_KB);
    run.run();
    for (std::size_t i = 0; i < run.flows(); ++i) EXPECT_EQ(run.delivered(i), 100'000) << i;
  }
}

}  // namespace
}  // namespace weft::net
