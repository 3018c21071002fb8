#include "sim/workloads/flow_run.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

// On a star of 100 Gb/s links without latency.
class FlowRunTest : public ::testing::Test {
 protected:
  void run(const std::string& flows, std::optional<Duration> until = {}) {
    workload_ = read("{flows: [" + flows + "]}", topology_);
    run_.emplace(machine_, workload_, 1);
    run_->start();
    if (until) {
      machine_.simulator.run_until(Time{} + *until);
    } else {
      machine_.simulator.run();
      machine_.fabric.check_conservation();
    }
    run_->settle();
  }
  const FlowResult& flow(std::size_t id) { return run_->results()[id]; }

  net::Topology topology_ = weft::testing::star(4, 100_Gbps, 0_us);
  net::Machine machine_{topology_, "ecmp", 1};
  Workload workload_;
  std::optional<FlowRun> run_;
};

TEST_F(FlowRunTest, AGreedyFlowSendsUntilTheRunEnds) {
  run("{from: h0, to: h1, bytes: unlimited, start: 20 us}", 100_us);
  EXPECT_EQ(flow(0).bytes, 1_MB);  // 80 us at 100 Gb/s
  EXPECT_EQ(flow(0).end, Time::max());
}

TEST_F(FlowRunTest, AGreedyFlowThatStopsLeavesItsShareToOthers) {
  // Half a link each for 80 us, then the second flow has it alone: 500 kB by 80 us, the other 500 kB by 120 us.
  run("{from: h0, to: h2, bytes: unlimited, stop: 80 us}, {from: h1, to: h2, bytes: 1 MB}");
  EXPECT_EQ(flow(0).bytes, 500_KB);
  EXPECT_EQ(flow(0).end, Time{} + 80_us);
  EXPECT_EQ(flow(1).end, Time{} + 120_us);
}

TEST_F(FlowRunTest, TimedMessagesLeaveOnTheBeat) {
  run("{from: h0, to: h1, bytes: 1000 B, start: 1 us, every: 1 us, count: 5}");
  const MessageCounts& counts = *run_->messages(0);
  EXPECT_EQ(counts.posted, 5);
  EXPECT_EQ(counts.delivered, 5);
  EXPECT_EQ(counts.max_latency, 80_ns);
  EXPECT_EQ(flow(0).end, Time{} + 5_us + 80_ns);
  EXPECT_EQ(flow(0).bytes, 5_KB);
}

TEST_F(FlowRunTest, NothingIsPostedAtTheStopOrLater) {
  run("{from: h0, to: h1, bytes: 1000 B, every: 1 us, stop: 3 us}");  // at 0, 1 and 2 us
  EXPECT_EQ(run_->messages(0)->posted, 3);
  EXPECT_TRUE(flow(0).end < Time{} + 3_us);
}

TEST_F(FlowRunTest, PoissonArrivalsComeAtTheirRate) {
  // 50 % of 100 Gb/s in messages of 1000 B: one in 160 ns on average, 6250 in 1 ms; four standard deviations are 316.
  run("{from: h0, to: h1, arrivals: {load: 50 %, message: 1000 B}, stop: 1 ms}");
  EXPECT_NEAR(static_cast<double>(run_->messages(0)->posted), 6'250, 316);
  EXPECT_EQ(run_->messages(0)->posted, run_->messages(0)->delivered);
}

TEST_F(FlowRunTest, APacedFlowHoldsItsRateAtFlowFidelityToo) {
  run("{from: h0, to: h1, bytes: 1 MB, rate: 10 Gb/s}");
  EXPECT_EQ(flow(0).end, Time{} + 800_us);
}

}  // namespace
}  // namespace weft::work::test
