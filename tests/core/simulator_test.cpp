#include "sim/core/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/event_record.h"
#include "sim/core/random.h"
#include "tests/support/allocation_count.h"
#include "tests/support/temp_folder.h"

namespace weft {
namespace {

using namespace weft::literals;

// Notes the payload and time of its events, then does what the test asks.
class Recorder final : public EventTarget {
 public:
  explicit Recorder(Simulator& owner) : simulator{owner} {}
  void on_event(std::uint64_t payload) override {
    payloads.push_back(payload);
    times.push_back(simulator.now());
    if (then != nullptr) then(*this, payload);
  }

  std::vector<std::uint64_t> payloads;
  std::vector<Time> times;
  void (*then)(Recorder& self, std::uint64_t payload) = nullptr;
  Simulator& simulator;
};

using Payloads = std::vector<std::uint64_t>;

class SimulatorTest : public ::testing::Test {
 protected:
  Simulator simulator_;
  ComponentId first_ = simulator_.add_component("first");
  ComponentId second_ = simulator_.add_component("second");
  Recorder recorder_{simulator_};
};

TEST_F(SimulatorTest, RunsEventsByTimePhaseSourceAndSequence) {
  const Time t = Time{} + 10_ns;
  simulator_.schedule(t + 1_ps, Phase::kCompletion, first_, recorder_, 6);
  simulator_.schedule(t, Phase::kAction, second_, recorder_, 4);
  simulator_.schedule(t, Phase::kAction, first_, recorder_, 2);
  simulator_.schedule(t, Phase::kAction, first_, recorder_, 3);
  simulator_.schedule(t, Phase::kSolve, first_, recorder_, 5);
  simulator_.schedule(t, Phase::kDelivery, second_, recorder_, 1);
  simulator_.schedule(t, Phase::kCompletion, second_, recorder_, 0);
  EXPECT_EQ(simulator_.pending(), 7U);
  simulator_.run();
  EXPECT_EQ(recorder_.payloads, (Payloads{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(recorder_.times.back(), t + 1_ps);
  EXPECT_EQ(simulator_.now(), t + 1_ps);
  EXPECT_EQ(simulator_.events(), 7U);
  EXPECT_EQ(simulator_.pending(), 0U);
}

TEST_F(SimulatorTest, PhasesFollowTheirReasons) {
  EXPECT_LT(Phase::kCompletion, Phase::kDelivery);
  EXPECT_LT(Phase::kDelivery, Phase::kAction);
  EXPECT_LT(Phase::kAction, Phase::kSolve);
  EXPECT_LT(Phase::kSolve, Phase::kSample);
}

TEST_F(SimulatorTest, RunsAnEarlierPhaseOfTheSameInstantNext) {
  // While the action (0) runs, a delivery (1) is scheduled at the same instant: it precedes the pending action (2).
  recorder_.then = [](Recorder& self, std::uint64_t payload) {
    if (payload == 0) self.simulator.schedule(self.simulator.now(), Phase::kDelivery, ComponentId{1}, self, 1);
  };
  simulator_.schedule(Time{} + 1_ns, Phase::kAction, first_, recorder_, 0);
  simulator_.schedule(Time{} + 1_ns, Phase::kAction, first_, recorder_, 2);
  simulator_.run();
  EXPECT_EQ(recorder_.payloads, (Payloads{0, 1, 2}));
}

TEST_F(SimulatorTest, RefusesThePastByOnePicosecond) {
  simulator_.run_until(Time{} + 5_ns);
  EXPECT_THROW(simulator_.schedule(Time{} + 4'999_ps, Phase::kAction, first_, recorder_, 0), InternalError);
  simulator_.schedule(Time{} + 5_ns, Phase::kAction, first_, recorder_, 0);
  EXPECT_THROW(simulator_.run_until(Time{} + 4'999_ps), InternalError);
}

TEST_F(SimulatorTest, RefusesASourceItDoesNotKnow) {
  EXPECT_THROW(simulator_.schedule(Time{}, Phase::kAction, ComponentId{2}, recorder_, 0), InternalError);
  EXPECT_THROW(simulator_.schedule(Time{}, Phase::kAction, ComponentId{}, recorder_, 0), InternalError);
}

TEST_F(SimulatorTest, LeavingEndsARunAfterTheRunningEventAndKeepsTheRest) {
  recorder_.then = [](Recorder& self, std::uint64_t payload) {
    if (payload == 1) self.simulator.leave();
  };
  for (const std::uint64_t payload : Payloads{0, 1, 2})
    simulator_.schedule(Time{} + 1_ns, Phase::kAction, first_, recorder_, payload);
  simulator_.run_until(Time{} + 5_ns);
  EXPECT_EQ(recorder_.payloads, (Payloads{0, 1}));
  EXPECT_EQ(simulator_.now(), Time{} + 1_ns);
  EXPECT_FALSE(simulator_.stopped());
  simulator_.run_until(Time{} + 5_ns);
  EXPECT_EQ(recorder_.payloads, (Payloads{0, 1, 2}));
  EXPECT_EQ(simulator_.now(), Time{} + 5_ns);
}

TEST_F(SimulatorTest, RunUntilIncludesItsEndAndLeavesTheRest) {
  for (const std::uint64_t ns : {1U, 2U, 3U}) {
    simulator_.schedule(Time{} + Duration::from_ns(static_cast<std::int64_t>(ns)), Phase::kAction, first_, recorder_, ns);
  }
  simulator_.run_until(Time{} + 1'999_ps);
  EXPECT_EQ(recorder_.payloads, (Payloads{1}));
  EXPECT_EQ(simulator_.now(), Time{} + 1'999_ps);
  simulator_.run_until(Time{} + 2_ns);
  EXPECT_EQ(recorder_.payloads, (Payloads{1, 2}));
  // Between the end of one run and the next pending event there is room for more.
  simulator_.schedule(Time{} + 2_ns, Phase::kSample, second_, recorder_, 10);
  simulator_.schedule(Time{} + 2'500_ps, Phase::kSample, second_, recorder_, 11);
  simulator_.run();
  EXPECT_EQ(recorder_.payloads, (Payloads{1, 2, 10, 11, 3}));
}

TEST_F(SimulatorTest, AnEventMustNotRunTheSimulator) {
  recorder_.then = [](Recorder& self, std::uint64_t) { self.simulator.run(); };
  simulator_.schedule(Time{}, Phase::kAction, first_, recorder_, 0);
  EXPECT_THROW(simulator_.run(), InternalError);
}

TEST_F(SimulatorTest, StopsAtTheNextPoll) {
  // An endless clock that asks for a stop in event 5,000: polls come before the events 0, 4,096 and 8,192.
  recorder_.then = [](Recorder& self, std::uint64_t payload) {
    if (payload == 5'000) self.simulator.request_stop();
    self.simulator.schedule(self.simulator.now() + 1_ns, Phase::kAction, ComponentId{0}, self, payload + 1);
  };
  simulator_.schedule(Time{}, Phase::kAction, first_, recorder_, 0);
  EXPECT_FALSE(simulator_.stopped());
  simulator_.run();
  EXPECT_TRUE(simulator_.stopped());
  EXPECT_EQ(simulator_.events(), 2 * Simulator::kPollInterval);
  EXPECT_EQ(simulator_.pending(), 1U);
  simulator_.run_until(Time{} + 1_s);
  EXPECT_EQ(simulator_.events(), 2 * Simulator::kPollInterval) << "a stopped simulator stays stopped";
  EXPECT_EQ(simulator_.now(), Time{} + 8'191_ns);
}

TEST_F(SimulatorTest, CallsTheProgressHookEveryInterval) {
  std::vector<std::uint64_t> seen;
  simulator_.set_progress_hook(
      [](void* context, const Simulator& s) { static_cast<std::vector<std::uint64_t>*>(context)->push_back(s.events()); },
      &seen, 100);
  for (int i = 0; i < 350; ++i) simulator_.schedule(Time{} + Duration::from_ns(i), Phase::kAction, first_, recorder_, 0);
  simulator_.run();
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{100, 200, 300}));
}

TEST_F(SimulatorTest, NamesItsComponents) {
  EXPECT_EQ(first_, ComponentId{0});
  EXPECT_EQ(simulator_.component_name(second_), "second");
  EXPECT_THROW((void)simulator_.component_name(ComponentId{2}), InternalError);
}

// Twenty events from four sources, all at one instant, half of them deliveries and half actions; payload 0..9 and 10..19.
Payloads order_under_shuffle(std::uint64_t seed) {
  Simulator simulator;
  simulator.set_shuffle_ties(seed);
  Recorder recorder{simulator};
  std::vector<ComponentId> sources;
  for (int i = 0; i < 4; ++i) sources.push_back(simulator.add_component("source"));
  std::uint64_t payload = 0;
  for (const Phase phase : {Phase::kDelivery, Phase::kAction}) {
    for (int i = 0; i < 10; ++i) {
      simulator.schedule(Time{} + 1_ns, phase, sources[static_cast<std::size_t>(i / 3)], recorder, payload++);
    }
  }
  simulator.run();
  return recorder.payloads;
}

TEST(SimulatorShuffleTest, PermutesOnlyEventsOfEqualTimeAndPhase) {
  Payloads sorted(20);
  for (std::uint64_t i = 0; i < 20; ++i) sorted[i] = i;
  EXPECT_EQ(order_under_shuffle(0), sorted);

  const Payloads shuffled = order_under_shuffle(1);
  EXPECT_NE(shuffled, sorted);
  EXPECT_EQ(shuffled, order_under_shuffle(1));
  EXPECT_NE(shuffled, order_under_shuffle(2));
  EXPECT_TRUE(std::is_permutation(shuffled.begin(), shuffled.begin() + 10, sorted.begin()));
  EXPECT_TRUE(std::is_permutation(shuffled.begin() + 10, shuffled.end(), sorted.begin() + 10));
}

TEST(SimulatorShuffleTest, PutsEveryEventFirstAboutEquallyOften) {
  // 10 deliveries, 2,000 seeds: each is first 200 times, with a standard deviation of sqrt(2000 * 0.1 * 0.9) = 13.4.
  std::vector<int> first(10, 0);
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) ++first[order_under_shuffle(seed).front()];
  for (const int times : first) EXPECT_NEAR(times, 200, 5 * 13.4);
}

TEST(SimulatorShuffleTest, MustBeChosenBeforeAnythingIsScheduled) {
  Simulator simulator;
  Recorder recorder{simulator};
  simulator.schedule(Time{}, Phase::kAction, simulator.add_component("c"), recorder, 0);
  EXPECT_THROW(simulator.set_shuffle_ties(1), InternalError);
}

// A component that keeps one event pending, with delays from a fixed set.
class Ticker final : public EventTarget {
 public:
  Ticker(Simulator& simulator, std::uint64_t seed)
      : simulator_{simulator}, id_{simulator.add_component("ticker")}, random_{seed, "ticker"} {}
  void on_event(std::uint64_t payload) override {
    constexpr std::int64_t kDelaysPs[] = {0, 82'000, 500'000, 1'000'000, 55'000'000};
    const auto phase = static_cast<Phase>(random_.below(5));
    simulator_.schedule(simulator_.now() + Duration::from_ps(kDelaysPs[random_.below(5)]), phase, id_, *this, payload + 1);
  }

 private:
  Simulator& simulator_;
  ComponentId id_;
  RandomStream random_;
};

TEST(SimulatorAllocationTest, SteadyStateAllocatesNothing) {
  Simulator simulator;
  std::vector<std::unique_ptr<Ticker>> tickers;
  for (std::uint64_t i = 0; i < 500; ++i) tickers.push_back(std::make_unique<Ticker>(simulator, i));
  for (const auto& ticker : tickers) ticker->on_event(0);
  simulator.run_until(Time{} + 2_ms);
  const test::AllocationCount allocations;
  simulator.run_until(Time{} + 20_ms);
  EXPECT_EQ(allocations.so_far(), 0);
  EXPECT_GT(simulator.events(), 500'000U);
}

TEST_F(SimulatorTest, TheEndOfTheClockIsAnErrorOfTheUserAndThePastIsOurs) {
  const Time last = Simulator::kEnd;
  simulator_.schedule(last, Phase::kAction, first_, recorder_, 0);
  EXPECT_THROW(simulator_.schedule(Time::max(), Phase::kAction, first_, recorder_, 1), ClockError);
  EXPECT_THROW(simulator_.schedule(last + 1_ps, Phase::kAction, first_, recorder_, 1), ClockError);
  EXPECT_THROW(simulator_.schedule_regular(last + 1_ps, Phase::kAction, first_, recorder_, 1), ClockError);
  EXPECT_THROW(simulator_.schedule(Time{} - 1_ps, Phase::kAction, first_, recorder_, 1), InternalError);
  simulator_.run();
  EXPECT_EQ(recorder_.times, std::vector<Time>{last});
  // Beside the end, a delay that suits a lane ends there all the same.
  simulator_.schedule_regular(last + 1_ps, Phase::kAction, first_, recorder_, 1);
  EXPECT_THROW(simulator_.run(), ClockError);
  EXPECT_EQ(recorder_.times, std::vector<Time>{last});
}

TEST_F(SimulatorTest, TheEndOfTheClockIsToldAtTheLongestTimeGiven) {
  // Longer than any that other tests of this program read.
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() - 1;
  const auto note = [](std::int64_t ps, int line, const std::string& message) {
    Diagnostic where;
    where.where = {.file = "a.yaml", .line = line, .column = 9};
    where.message = message;
    note_time_given(ps, where);
  };
  note(kLongest, 3, "x.latency: 106 d");
  note(kLongest - 1, 4, "x.every: 105 d");
  EXPECT_TRUE(is_longest_time(kLongest + 1));
  EXPECT_FALSE(is_longest_time(kLongest));
  EXPECT_TRUE(
      std::string{ClockError{}.what()}.starts_with("a.yaml:3:9: error: x.latency: 106 d: simulated time would pass 106 days"));
}

TEST(SimulatorRecordTest, WritesPushesAndPops) {
  const weft::test::TempFolder folder;
  const std::string path = folder / "record.bin";
  {
    Simulator simulator;
    Recorder recorder{simulator};
    const ComponentId source = simulator.add_component("c");
    simulator.record_to(path);
    simulator.schedule(Time{} + 2_ns, Phase::kDelivery, source, recorder, 0);
    simulator.schedule(Time{} + 1_ns, Phase::kAction, source, recorder, 0);
    simulator.run();
  }
  const auto operations = read_event_record(path);
  ASSERT_EQ(operations.size(), 4U);
  EXPECT_EQ(operations[0].time, Time{} + 2_ns);
  EXPECT_EQ(operations[0].order, make_order(1, ComponentId{0}, 0));
  EXPECT_EQ(operations[1].time, Time{} + 1_ns);
  EXPECT_EQ(operations[1].order, make_order(2, ComponentId{0}, 1));
  EXPECT_FALSE(operations[2].is_push);
  EXPECT_FALSE(operations[3].is_push);
}

}  // namespace
}  // namespace weft
