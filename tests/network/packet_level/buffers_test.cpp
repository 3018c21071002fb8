// The packet memory of a switch as arithmetic (models/network §2.4, §2.5): what is admitted, when an ingress pauses and when it
// goes on.
#include "sim/network/packet_level/buffers.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr int kLossless = 3;
constexpr int kLossy = 0;

// A switch with three hosts; the links from the hosts are its ingresses.
class Memory {
 public:
  explicit Memory(const PacketSettings& settings, Duration latency = 500_ns, Bytes packet = 1000_B)
      : settings_{settings}, topology_{build(latency, packet)}, buffers_{topology_, settings_} {}

  [[nodiscard]] LinkId from(int host) const { return topology_.out_links(*topology_.find("h" + std::to_string(host)))[0]; }
  Buffers::Admission admit(int host, std::int64_t size, int priority = kLossless, std::int64_t queued = 0) {
    return buffers_.admit(from(host), priority, size, queued);
  }
  bool release(int host, std::int64_t size, int priority = kLossless) { return buffers_.release(from(host), priority, size); }
  // In packets of 1000; the last one's admission.
  Buffers::Admission fill(int host, std::int64_t bytes, int priority = kLossless) {
    Buffers::Admission last;
    for (; bytes > 0; bytes -= 1'000) last = admit(host, 1'000, priority);
    return last;
  }
  [[nodiscard]] const Buffers& buffers() const { return buffers_; }

 private:
  static Topology build(Duration latency, Bytes packet) {
    TopologyBuilder builder;
    testing::add_bare_hosts(builder, 3);
    const DeviceId hub = builder.add_switch(testing::plain_switch("s0", true));
    const std::uint32_t spec = builder.add_spec(testing::plain_link(100_Gbps, latency, packet));
    for (std::uint32_t i = 0; i < 3; ++i) builder.add_cable(builder.device_of(i, 0), hub, spec);
    return std::move(builder).freeze();
  }

  PacketSettings settings_;
  Topology topology_;
  Buffers buffers_;
};

PacketSettings pfc() {
  PacketSettings settings;
  settings.pfc.priorities = priority_bit(kLossless);
  settings.pfc.xoff = 100_KB;
  settings.pfc.xon = 97_KB;
  return settings;
}

PacketSettings dynamic_pfc(Bytes buffer, double alpha) {
  PacketSettings settings = pfc();
  settings.pfc.dynamic = true;
  settings.pfc.alpha = alpha;
  settings.switches.buffer = buffer;
  return settings;
}

TEST(BuffersTest, APauseIsSentWithThePacketThatCrossesTheThresholdAndOnce) {
  Memory memory{pfc()};
  EXPECT_FALSE(memory.fill(0, 100'000).pause);  // at the threshold, not over
  EXPECT_FALSE(memory.buffers().pauses(memory.from(0), kLossless));
  EXPECT_TRUE(memory.admit(0, 1).pause);
  EXPECT_TRUE(memory.buffers().pauses(memory.from(0), kLossless));
  EXPECT_FALSE(memory.admit(0, 1'000).pause);
  EXPECT_EQ(memory.buffers().ingress_bytes(memory.from(0)), 101'001);
}

TEST(BuffersTest, AnIngressIsResumedAtTheLowerThresholdAndOnce) {
  Memory memory{pfc()};
  memory.fill(0, 101'000);
  EXPECT_FALSE(memory.release(0, 1'000));
  EXPECT_FALSE(memory.release(0, 2'999));  // 97,001
  EXPECT_TRUE(memory.release(0, 1));       // 97,000
  EXPECT_FALSE(memory.buffers().pauses(memory.from(0), kLossless));
  EXPECT_FALSE(memory.release(0, 1'000));
  EXPECT_TRUE(memory.fill(0, 5'000).pause);  // and pauses again
}

TEST(BuffersTest, PortsAndPrioritiesAreCountedApart) {
  PacketSettings settings = pfc();
  settings.pfc.priorities = 0xFF;
  Memory memory{settings};
  memory.fill(0, 100'000, 1);
  memory.fill(0, 100'000, 2);
  memory.fill(1, 100'000, 1);
  EXPECT_FALSE(memory.buffers().pauses(memory.from(0), 1));
  EXPECT_TRUE(memory.admit(0, 1, 2).pause);
  EXPECT_FALSE(memory.buffers().pauses(memory.from(0), 1));
  EXPECT_FALSE(memory.buffers().pauses(memory.from(1), 1));
  EXPECT_EQ(memory.buffers().ingress_bytes(memory.from(0)), 200'001);
}

TEST(BuffersTest, HeadroomIsWhatMayComeAboveTheThreshold) {
  PacketSettings settings = pfc();
  settings.pfc.headroom = 5'000_B;
  Memory memory{settings};
  memory.fill(0, 105'000);
  EXPECT_EQ(memory.buffers().ingress_bytes(memory.from(0)), 105'000);
  EXPECT_FALSE(memory.admit(0, 1).accepted);
  EXPECT_EQ(memory.buffers().ingress_bytes(memory.from(0)), 105'000);
  memory.release(0, 1);
  EXPECT_TRUE(memory.admit(0, 1).accepted);
  EXPECT_EQ(memory.buffers().peak_ingress_bytes(memory.from(0)), 105'000);
}

// A packet too large for what is left above the threshold: it is lost, but what there is pauses, lest all others are lost too.
TEST(BuffersTest, ADropForWantOfHeadroomPauses) {
  for (const bool dynamic : {false, true}) {
    PacketSettings settings = dynamic ? dynamic_pfc(200'000_B, 1.0) : pfc();
    settings.pfc.headroom = 0_B;
    Memory memory{settings};
    memory.fill(0, 99'500);  // the threshold is 100 KB either way
    memory.release(0, 500);
    const Buffers::Admission refused = memory.admit(0, 4'000);
    EXPECT_FALSE(refused.accepted) << dynamic;
    EXPECT_TRUE(refused.pause) << dynamic;
    EXPECT_TRUE(memory.buffers().pauses(memory.from(0), kLossless)) << dynamic;
  }
}

// Nothing of an empty ingress can leave and resume it: it must not be paused, whatever is refused.
TEST(BuffersTest, AnEmptyIngressIsNeverPaused) {
  for (const bool dynamic : {false, true}) {
    PacketSettings settings = dynamic ? dynamic_pfc(100_KB, 0.005) : pfc();  // 500 B
    settings.pfc.xoff = 500_B;
    settings.pfc.headroom = 400_B;
    Memory memory{settings};
    const Buffers::Admission refused = memory.admit(0, 1'000);
    EXPECT_FALSE(refused.accepted) << dynamic;
    EXPECT_FALSE(refused.pause) << dynamic;
    EXPECT_FALSE(memory.buffers().pauses(memory.from(0), kLossless)) << dynamic;
  }
}

// alpha B / (1 + n alpha) for n ingresses that press at equal rates: B = 900 KB, alpha = 1/8: 100 KB alone, 90 KB for two.
TEST(BuffersTest, DynamicThresholdsShareWhatIsFree) {
  for (const int n : {1, 2}) {
    Memory memory{dynamic_pfc(900_KB, 0.125)};
    bool open = true;
    while (open) {
      for (int host = 0; host < n; ++host) {
        if (memory.buffers().pauses(memory.from(host), kLossless)) continue;
        memory.admit(host, 100);
      }
      open = false;
      for (int host = 0; host < n; ++host) open |= !memory.buffers().pauses(memory.from(host), kLossless);
    }
    for (int host = 0; host < n; ++host)
      EXPECT_NEAR(static_cast<double>(memory.buffers().ingress_bytes(memory.from(host))), n == 1 ? 100e3 : 90e3, 200) << n;
  }
}

TEST(BuffersTest, ADynamicThresholdFallsAsOthersFillTheMemory) {
  Memory memory{dynamic_pfc(800_KB, 0.5)};
  memory.fill(0, 200'000);  // threshold 0.5 (800 - 200) = 300 KB
  EXPECT_FALSE(memory.buffers().pauses(memory.from(0), kLossless));
  memory.fill(1, 199'000);                                           // 0.5 (800 - 399) = 200.5 KB
  EXPECT_FALSE(memory.admit(0, 100).pause);                          // 200.1 KB of 200.45
  EXPECT_TRUE(memory.admit(0, 300).pause);                           // 200.4 KB of 200.3
  EXPECT_FALSE(memory.buffers().pauses(memory.from(1), kLossless));  // has not sent since
}

// The reserve is an ingress's own: it takes none of the shared memory and never pauses.
TEST(BuffersTest, TheReserveComesBeforeSharedMemory) {
  PacketSettings settings = dynamic_pfc(100_KB, 0.01);
  settings.pfc.reserved = 4_KB;
  Memory memory{settings};
  EXPECT_FALSE(memory.fill(0, 4'000).pause);
  EXPECT_FALSE(memory.fill(1, 4'000).pause);
  EXPECT_FALSE(memory.admit(0, 980).pause);  // 980 of 0.01 (100,000 - 980) = 990
  EXPECT_TRUE(memory.admit(0, 20).pause);    // above: to the headroom
  EXPECT_FALSE(memory.admit(1, 970).pause);  // 970 of 0.01 (100,000 - 1,950) = 980.5
}

// Headroom is given back first, then shared memory; XON at usage + hysteresis <= threshold, with the headroom empty.
TEST(BuffersTest, ADynamicIngressResumesBelowItsThresholdByTheHysteresis) {
  PacketSettings settings = dynamic_pfc(900_KB, 0.125);
  settings.pfc.hysteresis = 3_KB;
  settings.pfc.headroom = 2_KB;
  Memory memory{settings};
  memory.fill(0, 99'000);
  EXPECT_TRUE(memory.fill(0, 1'000).pause);      // 100,000 = 0.125 (900,000 - 100,000)
  EXPECT_TRUE(memory.admit(0, 1'000).accepted);  // headroom
  EXPECT_TRUE(memory.admit(0, 1'000).accepted);
  EXPECT_FALSE(memory.admit(0, 1).accepted);
  EXPECT_FALSE(memory.release(0, 2'000));  // headroom empty, 100,000 shared
  EXPECT_FALSE(memory.release(0, 2'600));  // 97,400 + 3,000 > 0.125 x 802,600 = 100,325
  EXPECT_TRUE(memory.release(0, 70));      // 97,330 + 3,000 <= 0.125 x 802,670 = 100,333.75
}

TEST(BuffersTest, WhatLeavesAltogetherAlwaysResumes) {
  PacketSettings settings = dynamic_pfc(100_KB, 0.01);
  settings.pfc.hysteresis = 50_KB;  // more than any threshold
  Memory memory{settings};
  EXPECT_TRUE(memory.fill(0, 1'000).pause);
  EXPECT_TRUE(memory.release(0, 1'000));
}

// models/network §2.5's example: 100G, 100 m, MTU 4200, response 394 quanta = 25,216 B; and the packet that crosses the
// threshold, which the example leaves out.
TEST(BuffersTest, HeadroomOfTheReferencesExample) {
  PacketSettings settings = pfc();
  settings.pfc.compute_headroom = true;
  settings.pfc.frame = 84_B;
  settings.pfc.response = Duration::from_ps(25'216 * 80);
  Memory memory{settings, Duration::from_ps(505'050), 4'200_B};
  EXPECT_NEAR(static_cast<double>(memory.buffers().headroom(memory.from(0))), 46'326 + 4'200, 1);
}

TEST(BuffersTest, AllPortsShareTheCapacity) {
  PacketSettings settings = pfc();
  settings.switches.buffer = 150_KB;
  Memory memory{settings};
  memory.fill(0, 90'000);
  memory.fill(1, 60'000, kLossy);
  EXPECT_FALSE(memory.admit(2, 1).accepted);
  EXPECT_FALSE(memory.admit(2, 1, kLossy).accepted);
  memory.release(1, 1'000, kLossy);
  EXPECT_TRUE(memory.admit(2, 1'000, kLossy).accepted);
  EXPECT_FALSE(memory.admit(0, 1).accepted);
}

// A lossy queue holds at most alpha x what is free: alone, alpha B / (1 + alpha).
TEST(BuffersTest, ALossyQueueStopsAtItsShareOfWhatIsFree) {
  PacketSettings settings;
  settings.switches.buffer = 90_KB;
  settings.switches.egress_alpha = 8;
  Memory memory{settings};
  std::int64_t queued = 0;
  while (memory.admit(0, 100, kLossy, queued).accepted) queued += 100;
  EXPECT_NEAR(static_cast<double>(queued), 80'000, 800);
  EXPECT_TRUE(memory.admit(1, 100, kLossy, 0).accepted);  // of another queue
}

TEST(BuffersTest, AQueueLimitIsTheQueuesOwn) {
  PacketSettings settings;
  settings.switches.queue_limit = 10_KB;
  Memory memory{settings};
  EXPECT_TRUE(memory.admit(0, 1'000, kLossy, 9'000).accepted);
  EXPECT_FALSE(memory.admit(0, 1'000, kLossy, 9'001).accepted);
  EXPECT_EQ(memory.buffers().ingress_bytes(memory.from(0)), 1'000);
}

TEST(BuffersTest, PeaksStartAgainFromWhatThereIs) {
  Memory memory{pfc()};
  memory.fill(0, 50'000);
  memory.release(0, 30'000);
  EXPECT_EQ(memory.buffers().peak_ingress_bytes(memory.from(0)), 50'000);
}

}  // namespace
}  // namespace weft::net
