// Event lanes change what a packet's events cost, and nothing else (event_lanes.h).
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/packet_run.h"

namespace weft::net {
namespace {

using namespace weft::literals;
using testing::PacketRun;

struct Outcome {
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> ports;  // what each link counted
  std::vector<double> waits;
  std::uint64_t hops = 0;
  std::size_t pauses = 0;

  bool operator==(const Outcome&) const = default;
};

PacketSettings lossless_with_acks(Reliability reliability) {
  PacketSettings settings;
  settings.pfc.priorities = 0xFF;
  settings.pfc.xoff = Bytes{20'000};
  settings.pfc.xon = Bytes{17'000};
  settings.ecn.priorities = 1;
  settings.transport.acks = AckMode::kPackets;
  settings.transport.reliability = reliability;
  return settings;
}

// Four hosts on two leaves and two spines, one link of another rate and one of another length: ties, pauses and gaps.
Outcome outcome(const std::string& routing, Reliability reliability, bool lanes) {
  const std::vector<PacketRun::Cable> cables{{"h0", "s0"}, {"h1", "s0"}, {"h2", "s1"}, {"h3", "s1", 40_Gbps},
                                             {"s0", "s2"}, {"s0", "s3"}, {"s1", "s2"}, {"s1", "s3", 100_Gbps, 3_us}};
  PacketRun run{4, 4, cables, lossless_with_acks(reliability), routing};
  run.simulator().set_lanes(lanes);
  run.add("h0", "h2", 1_MiB);
  run.add("h1", "h2", 300_KiB);
  run.add("h3", "h0", 200_KiB);
  run.add("h2", "h3", Bytes{123'457});
  run.run();
  Outcome seen;
  for (std::size_t i = 0; i < run.flows(); ++i) seen.ends.push_back(run.flow(i).end.ps());
  for (std::size_t i = 0; i < run.topology().link_count(); ++i) {
    const PortCounters port = run.fabric().port(LinkId::from_index(i));
    for (const std::int64_t count : {port.bytes, port.packets, port.busy.ps(), port.peak_queue_bytes, port.peak_ingress_bytes,
                                     port.marks, port.paused.ps()})
      seen.ports.push_back(count);
    seen.waits.push_back(port.wait_ps);
    seen.waits.push_back(port.queue_byte_ps);
  }
  seen.hops = run.fabric().packet_hops();
  seen.pauses = run.fabric().pauses().size();
  return seen;
}

TEST(PacketLanesTest, ARunWithoutLanesIsTheSame) {
  for (const std::string routing : {"ecmp", "spray", "adaptive"}) {
    for (const Reliability reliability : {Reliability::kNone, Reliability::kGoBackN, Reliability::kSelectiveRepeat}) {
      const Outcome with = outcome(routing, reliability, true);
      EXPECT_GT(with.pauses, 0U) << routing;  // else the case is too easy
      EXPECT_EQ(with, outcome(routing, reliability, false)) << routing;
    }
  }
}

}  // namespace
}  // namespace weft::net
