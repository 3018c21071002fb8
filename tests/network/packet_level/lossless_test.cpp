// Lossless means lossless: random networks and random incasts, with pauses and enough headroom or with credits. Nothing is
// dropped, everything arrives, no memory holds more than it may, and at the end all is empty and nothing is paused.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "sim/core/random.h"
#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using testing::PacketShape;

constexpr int kScenarios = 200;

struct Message {
  int from = 0;
  int to = 0;
  Bytes bytes;
  int priority = 0;
};

struct LosslessCase {
  PacketShape shape;
  std::vector<Message> messages = {};
  std::string routing = {};
  Bytes packet = {};
  bool store_and_forward = true;
  Bytes xoff = {};
  Bytes pause_frame = {};
  Duration response = {};
  Scheduling scheduling = Scheduling::kStrict;
};

PacketShape random_shape(RandomStream& random) {
  constexpr Bandwidth kRates[] = {25_Gbps, 100_Gbps, 400_Gbps};
  const Bandwidth rate = kRates[random.below(3)];
  const Duration latency = Duration::from_ns(random.between(10, 2'000));
  switch (random.below(3)) {
    case 0:
      return testing::star_shape(static_cast<int>(random.between(2, 17)), rate, latency);
    case 1: {
      const Bandwidth uplink = random.below(2) == 0 ? rate : 4 * rate;
      return testing::leaf_spine_shape(static_cast<int>(random.between(2, 4)), static_cast<int>(random.between(2, 5)),
                                       static_cast<int>(random.between(1, 4)), rate, uplink, latency);
    }
    default:
      return testing::fat_tree_shape(4, rate, latency);
  }
}

// Up to three incasts, and some pairs, of random sizes and classes.
LosslessCase random_scenario(std::uint64_t seed) {
  RandomStream random{seed, "lossless"};
  LosslessCase scenario{.shape = random_shape(random)};
  constexpr const char* kRoutings[] = {"ecmp", "spray", "adaptive", "d_mod_k"};
  scenario.routing = kRoutings[random.below(4)];
  scenario.packet = Bytes{random.below(2) == 0 ? 1'000 : 4'096};
  scenario.store_and_forward = random.below(2) == 0;
  scenario.xoff = Bytes{random.between(8, 60) * 1'000};
  if (random.below(2) == 0) scenario.pause_frame = 84_B;
  if (random.below(2) == 0) scenario.response = Duration::from_ns(random.between(1, 500));
  scenario.scheduling = random.below(2) == 0 ? Scheduling::kStrict : Scheduling::kDwrr;
  const int hosts = scenario.shape.hosts;
  const auto other_than = [&](int host) {
    return (host + 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(hosts - 1)))) % hosts;
  };
  const auto add = [&](int from, int to, int priority) {
    scenario.messages.push_back({from, to, Bytes{random.between(0, 120'000)}, priority});
  };
  for (std::int64_t incast = random.between(1, 3); incast > 0; --incast) {
    const int sink = static_cast<int>(random.below(static_cast<std::uint64_t>(hosts)));
    const int priority = static_cast<int>(random.below(kPriorities));
    for (std::int64_t degree = random.between(1, 16); degree > 0; --degree) add(other_than(sink), sink, priority);
  }
  for (std::int64_t pairs = random.between(0, 8); pairs > 0; --pairs) {
    const int from = static_cast<int>(random.below(static_cast<std::uint64_t>(hosts)));
    add(from, other_than(from), static_cast<int>(random.below(kPriorities)));
  }
  return scenario;
}

constexpr Duration kForwarding = 300_ns;

// Counts what comes while a pause is on its way, and while the switch looks at what it has already taken in.
std::int64_t bytes_on_the_way(const LinkSpec& spec, Duration response) {
  const Duration delay = 2 * spec.latency + kForwarding + response;
  return static_cast<std::int64_t>(spec.rate.bytes_per_ps() * static_cast<double>(delay.ps())) + 1;
}

std::int64_t credit_blocks(const LosslessCase& scenario) { return (scenario.xoff.count() + 63) / 64; }

class ScenarioRun {
 public:
  ScenarioRun(const LosslessCase& scenario, const PacketSettings& settings)
      : scenario_{scenario},
        run_{scenario.shape.hosts,
             scenario.shape.switches,
             scenario.shape.cables,
             settings,
             scenario.routing,
             scenario.packet,
             testing::plain_switch("s", scenario.store_and_forward, 64_B, kForwarding)} {
    for (const Message& message : scenario.messages)
      run_.add("h" + std::to_string(message.from), "h" + std::to_string(message.to), message.bytes, message.priority);
    run_.run();
  }

  // All but what the peaks must stay below.
  void expect_all_there() {
    run_.fabric().check_conservation();
    std::int64_t posted = 0;
    std::int64_t accepted = 0;
    for (std::size_t i = 0; i < run_.flows(); ++i) {
      EXPECT_EQ(run_.flow(i).delivered, 1) << i;
      EXPECT_EQ(run_.flow(i).freed, 1) << i;
      posted += scenario_.messages[i].bytes.count();
      accepted += run_.delivered(i);
    }
    EXPECT_EQ(posted, accepted);  // packets here are bare
    std::int64_t to_hosts = 0;
    for (std::size_t i = 0; i < run_.topology().link_count(); ++i) {
      const LinkId link = LinkId::from_index(i);
      const PortCounters port = run_.fabric().port(link);
      EXPECT_EQ(port.drops, 0) << run_.topology().name(link);
      EXPECT_EQ(run_.fabric().queued_bytes(link), 0) << run_.topology().name(link);
      EXPECT_EQ(run_.fabric().ingress_bytes(link), 0) << run_.topology().name(link);
      if (run_.topology().host_of(run_.topology().link(link).to) >= 0) to_hosts += port.bytes;
    }
    EXPECT_EQ(to_hosts, posted);
    for (const PauseRecord& pause : run_.fabric().pauses()) EXPECT_NE(pause.end, Time::max());
    EXPECT_FALSE(run_.fabric().deadlock().has_value());
  }

  // `most` of a link's ingress, all classes together.
  template <typename Most>
  void expect_peaks(Most most) {
    for (std::size_t i = 0; i < run_.topology().link_count(); ++i) {
      const LinkId link = LinkId::from_index(i);
      EXPECT_LE(run_.fabric().port(link).peak_ingress_bytes, most(run_.topology().spec(link))) << run_.topology().name(link);
    }
  }

  [[nodiscard]] std::uint64_t digest() {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < run_.flows(); ++i) {
      hash ^= static_cast<std::uint64_t>(run_.taken(i).ps());
      hash = split_mix_64(hash);
    }
    return hash;
  }
  PacketRun& run() { return run_; }

 private:
  const LosslessCase& scenario_;
  PacketRun run_;
};

// Static thresholds with the headroom of models/network §2.5: 2 d C, the peer's response, the frame, and the switch's own
// latency; two packets (the one that crosses the threshold, the one that the peer has begun), and where the pause is a frame of
// its own the packet that it waits for.
PacketSettings paused(const LosslessCase& scenario) {
  PacketSettings settings;
  settings.switches.scheduling = scenario.scheduling;
  settings.switches.weights = {1, 2, 1, 4, 1, 1, 3, 1};
  settings.pfc.priorities = 0xFF;
  settings.pfc.xoff = scenario.xoff;
  settings.pfc.xon = Bytes{scenario.xoff.count() - 3'000};
  settings.pfc.compute_headroom = true;
  settings.pfc.frame = scenario.pause_frame;
  settings.pfc.response = scenario.response;
  return settings;
}

PacketSettings credited(const LosslessCase& scenario) {
  PacketSettings settings;
  settings.switches.scheduling = scenario.scheduling;
  settings.switches.weights = {1, 2, 1, 4, 1, 1, 3, 1};
  settings.credits.enabled = true;
  settings.credits.credits = credit_blocks(scenario);
  return settings;
}

int classes(const LosslessCase& scenario) {
  PriorityMask used = 0;
  for (const Message& message : scenario.messages) used |= priority_bit(message.priority);
  return std::popcount(used);
}

TEST(LosslessTest, PausesLoseNothingInRandomNetworks) {
  std::size_t pauses = 0;
  for (int seed = 0; seed < kScenarios; ++seed) {
    const LosslessCase scenario = random_scenario(static_cast<std::uint64_t>(seed));
    ScenarioRun run{scenario, paused(scenario)};
    SCOPED_TRACE(seed);
    run.expect_all_there();
    run.expect_peaks([&](const LinkSpec& spec) {
      const std::int64_t frame = scenario.pause_frame.count();
      const std::int64_t packets = frame > 0 ? 3 : 2;
      return classes(scenario) *
             (scenario.xoff.count() + bytes_on_the_way(spec, scenario.response) + frame + packets * scenario.packet.count());
    });
    pauses += run.run().fabric().pauses().size();
    if (HasFailure()) break;
  }
  EXPECT_GT(pauses, 1'000U);
}

TEST(LosslessTest, CreditsLoseNothingInRandomNetworks) {
  for (int seed = 0; seed < kScenarios; ++seed) {
    const LosslessCase scenario = random_scenario(static_cast<std::uint64_t>(seed));
    ScenarioRun run{scenario, credited(scenario)};
    SCOPED_TRACE(seed);
    run.expect_all_there();
    run.expect_peaks([&](const LinkSpec&) { return classes(scenario) * credit_blocks(scenario) * 64; });
    EXPECT_TRUE(run.run().fabric().pauses().empty());
    if (HasFailure()) break;
  }
}

// Thresholds that shrink as memory fills, out of a switch's memory that holds them and all headroom.
TEST(LosslessTest, DynamicThresholdsLoseNothing) {
  for (int seed = 0; seed < kScenarios; seed += 4) {
    const LosslessCase scenario = random_scenario(static_cast<std::uint64_t>(seed));
    PacketSettings settings = paused(scenario);
    settings.pfc.dynamic = true;
    settings.pfc.alpha = 0.0625;
    settings.pfc.hysteresis = 3_KB;
    settings.switches.buffer = 64_MB;
    ScenarioRun run{scenario, settings};
    SCOPED_TRACE(seed);
    run.expect_all_there();
    if (HasFailure()) break;
  }
}

TEST(LosslessTest, TheSameSeedGivesTheSameTimes) {
  for (int seed = 0; seed < kScenarios; seed += 10) {
    const LosslessCase scenario = random_scenario(static_cast<std::uint64_t>(seed));
    EXPECT_EQ((ScenarioRun{scenario, paused(scenario)}.digest()), (ScenarioRun{scenario, paused(scenario)}.digest())) << seed;
    EXPECT_EQ((ScenarioRun{scenario, credited(scenario)}.digest()), (ScenarioRun{scenario, credited(scenario)}.digest()))
        << seed;
  }
}

}  // namespace
}  // namespace weft::net
