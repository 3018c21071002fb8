// The known answers of models/network §7 that marks and congestion control give, through the whole of packet fidelity. Shorter
// runs than there, where the tolerance allows.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "sim/core/random.h"
#include "tests/network/congestion/congestion_support.h"
#include "tests/support/moments.h"
#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using weft::testing::at;

PacketSettings controlled(std::string_view name, const std::string& yaml = "{}") {
  PacketSettings settings;
  settings.transport.congestion = make_factory(name, yaml);
  settings.transport.acks = AckMode::kFree;
  settings.transport.cnps = AckMode::kFree;
  return settings;
}

// Marks as in the DCQCN paper: 5 KB, 200 KB, 1 %.
PacketSettings paper_dcqcn() {
  PacketSettings settings = controlled("dcqcn");
  settings.ecn.priorities = 0xFF;
  return settings;
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Jain's index: (sum x)^2 / (n sum x^2).
double fairness(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return sum(values) * sum(values) / (static_cast<double>(values.size()) * squares);
}

// So many hosts of a star and one more, to which all of them send.
class Incast {
 public:
  Incast(int sources, Bandwidth rate, const PacketSettings& settings, Duration latency = 1_us)
      : run_{sources + 1, 1, testing::star_shape(sources + 1, rate, latency).cables, settings} {
    for (int i = 0; i < sources; ++i) run_.add("h" + std::to_string(i), "h" + std::to_string(sources), 10_GB);
  }
  PacketRun& run() { return run_; }

 private:
  PacketRun run_;
};

// Mean bytes in front of a link between two calls.
class MeanQueue {
 public:
  MeanQueue(PacketRun& run, const std::string& from, const std::string& to) : run_{run}, from_{from}, to_{to} { restart(); }
  void restart() {
    since_ = run_.simulator().now();
    before_ = run_.port(from_, to_).queue_byte_ps;
  }
  [[nodiscard]] double bytes() const {
    return (run_.port(from_, to_).queue_byte_ps - before_) / static_cast<double>((run_.simulator().now() - since_).ps());
  }

 private:
  PacketRun& run_;
  std::string from_;
  std::string to_;
  Time since_;
  double before_ = 0;
};

// Load rho into a port whose packets take 80 ns: the mean wait is rho / (2 (1 - rho)) x 80 ns. 400,000 packets for the
// reference's 2e7; successive waits depend on each other over about 1 / (1 - rho)^2 packets, whence the tolerances.
TEST(CongestionKnownAnswersTest, K6MD1) {
  struct Case {
    double rho;
    double wait_ns;
    double tolerance;
  };
  for (const Case& each : {Case{0.5, 40, 0.02}, Case{0.8, 160, 0.04}, Case{0.9, 360, 0.10}}) {
    PacketRun run{2, 0, {{"h0", "h1", 100_Gbps, 1_us}}};
    FlowTransport transport;
    transport.open_loop = true;
    run.add("h0", "h1", 1_KB, 0, &transport);
    RandomStream gaps{3, "poisson"};
    double now_ps = 0;
    for (int i = 0; i < 400'000; ++i) {
      now_ps += gaps.exponential(80'000 / each.rho);
      run.run_until(Time::from_ps(static_cast<std::int64_t>(now_ps)));
      run.post(0, 1_KB);
    }
    run.run();
    const PortCounters port = run.port("h0", "h1");
    EXPECT_EQ(port.packets, 400'001);
    EXPECT_NEAR(port.wait_ps / static_cast<double>(port.packets) / 1e3, each.wait_ns, each.tolerance * each.wait_ns)
        << each.rho;
  }
}

// A queue held at so many packets of 500 bytes: one host sends at exactly the rate that the port serves, another puts a burst
// on top of it. Packets start to leave 10 ns before the next one comes, so each finds the same number.
std::pair<std::int64_t, std::int64_t> marks_and_packets(std::int64_t held, Duration length) {
  PacketSettings settings;
  settings.ecn.priorities = 0xFF;
  PacketRun run{
      3,        1,      {{"h0", "s0", 100_Gbps, 1_us}, {"h1", "s0", 100_Gbps, 1'010_ns}, {"s0", "h2", 100_Gbps, 1_us}},
      settings, "ecmp", 500_B};
  run.add("h0", "h2", Bytes{500 * held});
  run.add("h1", "h2", 1_GB);
  run.run_until(at(30_us + 1'040_ns + 5_ns));  // 5 ns after a packet has begun to leave
  EXPECT_EQ(run.fabric().queued_bytes(run.link("s0", "h2")), 500 * held);
  const PortCounters before = run.port("s0", "h2");
  run.run_until(run.simulator().now() + length);
  EXPECT_EQ(run.fabric().queued_bytes(run.link("s0", "h2")), 500 * held);
  const PortCounters after = run.port("s0", "h2");
  return {after.marks - before.marks, after.packets - before.packets};
}

TEST(CongestionKnownAnswersTest, K14MarkingProbability) {
  // q = 102.5 KB: p = 1 % x 97.5 / 195 = 0.5 %; of n packets n p +- 3 sqrt(n p (1-p)).
  const auto [marks, packets] = marks_and_packets(205, 16_ms);
  EXPECT_EQ(packets, 400'000);
  EXPECT_NEAR(static_cast<double>(marks), 2'000, 3 * std::sqrt(1'990));
  EXPECT_EQ(marks_and_packets(10, 1_ms).first, 0);  // 5 KB
  const auto [all, of] = marks_and_packets(402, 1_ms);
  EXPECT_EQ(all, of);  // 201 KB
}

TEST(CongestionKnownAnswersTest, K15DcqcnStepResponse) {
  PacketRun run{2, 1, testing::star_shape(2, 40_Gbps, 1_us).cables, controlled("dcqcn")};
  run.add("h0", "h1", 1_GB);
  const FootprintId flow = run.flow(0).footprint;
  run.fabric().inject_cnp(flow, Time{});
  const auto gbps = [&] { return static_cast<double>(run.fabric().flow(flow).rate.bits_per_second()) / 1e9; };
  double before = 20;
  Duration due;
  run.run_until(due + Time{});
  EXPECT_NEAR(gbps(), 20, 1e-6);
  for (const double expected : {30.0, 35.0, 37.5, 38.75, 39.375, 39.6875}) {
    due += 55_us;
    run.run_until(at(due - 1_ps));
    EXPECT_NEAR(gbps(), before, 1e-6);
    run.run_until(at(due));
    EXPECT_NEAR(gbps(), expected, 1e-6);
    before = expected;
  }
  run.run_until(at(550_us));
  EXPECT_NEAR(run.fabric().flow_state(flow, "alpha"), std::pow(255.0 / 256, 10), 1e-9);
}

// Packets leave at the rate limit: 20, 30 and 35 Gb/s in the three periods after the cut.
TEST(CongestionKnownAnswersTest, K15PacketsLeaveAtTheRate) {
  PacketRun run{2, 1, testing::star_shape(2, 40_Gbps, 1_us).cables, controlled("dcqcn")};
  run.add("h0", "h1", 1_GB);
  run.fabric().inject_cnp(run.flow(0).footprint, at(100_us));
  Time from = at(100_us + 2_us);
  for (const double expected : {20.0, 30.0, 35.0}) {
    EXPECT_NEAR(run.rates(from + 1_us, from + 55_us)[0], expected, 0.2);
    from += 55_us;
  }
}

// K16, the steady state of DCQCN, is a matter of chance and is tested over several seeds: tests/apps/known_answers_test.py.

struct HpccCase {
  int flows;
  Duration latency;
  double equal;   // shares within so much of the mean
  double queued;  // share of U that may be packets which wait by chance
};
void PrintTo(const HpccCase& c, std::ostream* out) { *out << c.flows << " flows"; }
class HpccTest : public ::testing::TestWithParam<HpccCase> {};

// U, which senders measure, settles at 0.95 + N x 0.0005; of it the link sends what is not queued. Two flows meet the fluid's
// answer. With twenty a window is a few packets, and a packet that waits by chance counts as u = 1 KB / (C T): 2 % on cables of
// 1 us, 0.4 % on 5 us. Rates wander by some per cent around their mean for as long as this test looks.
TEST_P(HpccTest, K17HpccFixedPoint) {
  const auto [n, latency, equal, queued] = GetParam();
  PacketSettings settings = controlled("hpcc", "{eta: 0.95, r_ai: 50 Mb/s, max_stage: 0}");
  settings.transport.telemetry = 42_B;
  Incast incast{n, 100_Gbps, settings, latency};
  PacketRun& run = incast.run();
  const double expected = 0.95 + n * 0.0005;
  run.run_until(at(4_ms));
  MeanQueue queue{run, "s0", "h" + std::to_string(n)};
  std::vector<std::int64_t> before;
  for (std::size_t i = 0; i < run.flows(); ++i) before.push_back(run.delivered(i));
  double measured = 0;
  constexpr int kSamples = 1000;
  for (int i = 1; i <= kSamples; ++i) {
    run.run_until(at(4_ms + i * 10_us));
    for (std::size_t f = 0; f < run.flows(); ++f) measured += run.fabric().flow_state(run.flow(f).footprint, "utilisation");
  }
  EXPECT_NEAR(measured / (kSamples * n), expected, 0.005 * expected);
  std::vector<double> gbps;
  for (std::size_t i = 0; i < run.flows(); ++i) gbps.push_back(static_cast<double>(run.delivered(i) - before[i]) * 8 / 10e6);
  EXPECT_LT(sum(gbps) / 100, expected + 0.005 * expected);
  EXPECT_GT(sum(gbps) / 100, expected - 0.005 * expected - queued);
  for (const double rate : gbps) EXPECT_NEAR(rate, sum(gbps) / n, equal * sum(gbps) / n);
  EXPECT_LT(queue.bytes(), 30e3);
}
INSTANTIATE_TEST_SUITE_P(Flows, HpccTest,
                         ::testing::Values(HpccCase{2, 1_us, 0.01, 0}, HpccCase{20, 1_us, 0.5, 0.02},
                                           HpccCase{20, 5_us, 0.1, 0.004}));

// K11's network with DCQCN on: by flow, 10 Gb/s each, where pauses alone give 20 and three times 6.67.
TEST(CongestionKnownAnswersTest, K11WithDcqcnIsFairByFlow) {
  std::vector<PacketRun::Cable> cables = {{"s0", "s1"}, {"h0", "s0"}, {"h1", "s0"}, {"h2", "s0"}, {"h3", "s1"}, {"h4", "s1"}};
  for (PacketRun::Cable& cable : cables) cable.rate = 40_Gbps, cable.latency = 500_ns;
  PacketSettings settings = paper_dcqcn();
  settings.pfc.priorities = 0xFF;
  PacketRun run{5, 2, cables, settings};
  for (int i = 0; i < 4; ++i) run.add("h" + std::to_string(i), "h4", 10_GB);
  for (const double rate : run.rates(at(50_ms), at(100_ms))) EXPECT_NEAR(rate, 10, 1.5);
}

// Delay-based controls: the link stays busy and neither flow starves. TIMELY's fixed points are many (models/network §3.3), so
// no more is asked of its shares; Swift's are equal.
TEST(CongestionKnownAnswersTest, TimelySharesALink) {
  Incast incast{2, 10_Gbps, controlled("timely", "{initial_rate: 2 Gb/s, segment: 16 kB}")};
  PacketRun& run = incast.run();
  const std::vector<double> gbps = run.rates(at(20_ms), at(60_ms));
  EXPECT_GT(sum(gbps), 9.0);
  for (const double rate : gbps) EXPECT_GT(rate, 2.0);
}

TEST(CongestionKnownAnswersTest, SwiftSharesALinkEvenly) {
  Incast incast{2, 100_Gbps, controlled("swift")};
  PacketRun& run = incast.run();
  run.run_until(at(2_ms));
  MeanQueue queue{run, "s0", "h2"};
  const std::vector<double> gbps = run.rates(at(2_ms), at(12_ms));
  EXPECT_GT(sum(gbps), 98.0);
  EXPECT_GT(fairness(gbps), 0.98);
  // The target delay: base 20 us, two hops of 20 / 6.55 us, and what the window's size adds, at most 5 x base.
  EXPECT_LT(queue.bytes(), 126e-6 * 100e9 / 8);
}

// Windows of 100 KB and 50 KB share a queue as they stand: each holds its bytes there or on the way.
TEST(CongestionKnownAnswersTest, StaticWindowsBoundTheQueueAndShareByTheirSizes) {
  PacketRun run{3, 1, testing::star_shape(3, 100_Gbps, 1_us).cables, controlled("window", "{size: 100 kB}")};
  FlowTransport half;
  half.override_congestion = true;
  half.congestion = make_factory("window", "{size: 50 kB}");
  run.add("h0", "h2", 10_GB);
  run.add("h1", "h2", 10_GB, 0, &half);
  const std::vector<double> gbps = run.rates(at(1_ms), at(5_ms));
  EXPECT_NEAR(gbps[0], 200.0 / 3, 1.5);
  EXPECT_NEAR(gbps[1], 100.0 / 3, 1.5);
  // 150 KB in all, of which 4 us x 100 Gb/s = 50 KB are on the way.
  EXPECT_LE(run.port("s0", "h2").peak_queue_bytes, 152'000);
  EXPECT_NEAR(static_cast<double>(run.fabric().queued_bytes(run.link("s0", "h2"))), 100e3, 4e3);
}

}  // namespace
}  // namespace weft::net
