#include "sim/network/packet_level/input_queues.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/packet_run.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;

TEST(InputQueuesTest, ServesAPacketOfEachInputInTurn) {
  PacketStore packets;
  InputQueues queues;
  EXPECT_EQ(queues.head(), kNoPacket);
  std::vector<PacketId> ids;
  for (const std::uint32_t input : {2U, 2U, 2U, 0U, 1U, 1U}) {
    ids.push_back(packets.create());
    queues.push(packets, input, ids.back());
  }
  std::vector<PacketId> order;
  for (; queues.head() != kNoPacket; queues.pop(packets)) order.push_back(queues.head());
  EXPECT_EQ(order, (std::vector<PacketId>{ids[0], ids[3], ids[4], ids[1], ids[5], ids[2]}));
}

TEST(InputQueuesTest, AnInputThatComesBackIsTheLastToBeServed) {
  PacketStore packets;
  InputQueues queues;
  std::vector<PacketId> ids(4);
  for (PacketId& id : ids) id = packets.create();
  queues.push(packets, 0, ids[0]);
  queues.push(packets, 1, ids[1]);
  queues.push(packets, 1, ids[2]);
  queues.pop(packets);
  queues.push(packets, 0, ids[3]);
  std::vector<PacketId> order;
  for (; queues.head() != kNoPacket; queues.pop(packets)) order.push_back(queues.head());
  EXPECT_EQ(order, (std::vector<PacketId>{ids[1], ids[3], ids[2]}));
}

// Three inputs of one switch want the same 100 Gb/s: a third each, though the one of 400 Gb/s has four times the credits and
// two flows. First come, first served would share by what each input keeps waiting.
TEST(InputQueuesTest, InputsOfALinkWithCreditsGetEqualShares) {
  PacketSettings settings;
  settings.credits.enabled = true;
  PacketRun run{5, 2, {{"h0", "s0"}, {"h1", "s0"}, {"h2", "s1"}, {"h3", "s1"}, {"s1", "s0", 400_Gbps}, {"s0", "h4"}}, settings};
  for (const char* source : {"h0", "h1", "h2", "h3"}) run.add(source, "h4", 100_MB);
  const std::vector<double> rates = run.rates(Time{} + 1_ms, Time{} + 3_ms);
  EXPECT_NEAR(rates[0], 100.0 / 3, 0.1);
  EXPECT_NEAR(rates[1], 100.0 / 3, 0.1);
  EXPECT_NEAR(rates[2], 100.0 / 6, 0.1);
  EXPECT_NEAR(rates[3], 100.0 / 6, 0.1);
}

// All that three inputs keep waiting, but for the packet in transmission.
TEST(InputQueuesTest, WhatWaitsInFrontOfAFailedLinkIsLost) {
  PacketSettings settings;
  settings.credits.enabled = true;
  PacketRun run{4, 1, {{"h0", "s0"}, {"h1", "s0"}, {"h2", "s0"}, {"s0", "h3"}}, settings};
  for (const char* source : {"h0", "h1", "h2"}) run.add(source, "h3", 10_MB);
  run.run_until(Time{} + 100_us);
  const LinkId out = run.link("s0", "h3");
  const std::int64_t waiting = run.fabric().queued_bytes(out) / 1000 - 1;
  EXPECT_GT(waiting, 2);
  run.fabric().fail(ResourceId{out.value()});
  EXPECT_EQ(run.fabric().queued_bytes(out), 1000);
  EXPECT_GE(run.fabric().port(out).drops, waiting);
}

}  // namespace
}  // namespace weft::net
