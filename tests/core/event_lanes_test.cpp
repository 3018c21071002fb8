#include "sim/core/event_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/core/random.h"
#include "sim/core/simulator.h"
#include "tests/core/event_order.h"
#include "tests/support/allocation_count.h"

namespace weft {
namespace {

using namespace weft::literals;

// Regular events of more delays than there are lanes, irregular ones, and ties between them.
TEST(EventLanesTest, PopsInTheOrderOfAnyOtherQueue) {
  constexpr std::array<std::int64_t, 12> kDelays{0, 1, 2, 3, 10, 10, 10, 20, 40, 100, 1'000, std::int64_t{1} << 40};
  RandomStream random{3, "event_lanes_test"};
  EventQueue queue;
  std::multiset<Event, test::RunsBefore> expected;
  std::int64_t now = 0;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 50'000; ++i) {
    if (expected.empty() || random.below(400) >= expected.size()) {
      const bool regular = random.below(3) > 0;
      const std::int64_t delay = regular ? kDelays[static_cast<std::size_t>(random.below(kDelays.size()))]
                                         : static_cast<std::int64_t>(random.below(50));
      const auto phase = static_cast<std::uint8_t>(random.below(2));
      const Event event{Time::from_ps(now + delay), make_order(phase, ComponentId{1}, sequence++), nullptr, sequence};
      regular ? queue.push_regular(event, static_cast<std::uint64_t>(delay)) : queue.push(event);
      expected.insert(event);
    } else {
      ASSERT_NO_FATAL_FAILURE(test::pop_alike(queue, expected, now));
    }
    ASSERT_EQ(queue.size(), expected.size());
    if (i % 1'000 != 0) continue;
    std::vector<Event> pending;
    queue.append_to(pending);
    std::ranges::sort(pending, runs_before);
    ASSERT_TRUE(std::ranges::equal(pending, expected, {}, &Event::payload, &Event::payload));
  }
}

// Two series whose times rise but for one in eight, beside regular events.
TEST(EventLanesTest, ASeriesMayFallBack) {
  RandomStream random{5, "event_lanes_test"};
  EventQueue queue;
  std::multiset<Event, test::RunsBefore> expected;
  std::array<std::int64_t, 2> latest{};
  std::int64_t now = 0;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 50'000; ++i) {
    if (expected.empty() || random.below(300) >= expected.size()) {
      const std::uint64_t kind = random.below(3);
      std::int64_t at = now + 10;
      if (kind < 2) {
        const auto forth = static_cast<std::int64_t>(random.below(20));
        at = std::max(now, latest[kind] + (random.below(8) == 0 ? -forth : forth));
        latest[kind] = at;
      }
      const Event event{Time::from_ps(at), make_order(1, ComponentId{1}, sequence++), nullptr, sequence};
      kind < 2 ? queue.push_in_series(event, kind) : queue.push_regular(event, 10);
      expected.insert(event);
    } else {
      ASSERT_NO_FATAL_FAILURE(test::pop_alike(queue, expected, now));
    }
    ASSERT_EQ(queue.size(), expected.size());
  }
}

TEST(EventLanesTest, SaysWhatFollowsInALane) {
  EventQueue queue;
  for (std::uint64_t i = 0; i < 4; ++i)
    queue.push_regular({Time::from_ps(5), make_order(0, ComponentId{0}, i), nullptr, 10 + i}, 5);
  queue.push({Time::from_ps(5), make_order(1, ComponentId{0}, 4), nullptr, 99});
  EXPECT_EQ(queue.ahead(1), nullptr);  // nothing has been popped
  EXPECT_EQ(queue.pop().payload, 10U);
  EXPECT_EQ(*queue.ahead(1), 11U);
  EXPECT_EQ(*queue.ahead(3), 13U);
  EXPECT_EQ(queue.ahead(4), nullptr);
  for (int i = 0; i < 4; ++i) queue.pop();
  EXPECT_EQ(queue.ahead(1), nullptr);  // the last one came from no lane
}

TEST(EventLanesTest, AllocatesNothingInTheSteadyState) {
  EventQueue queue;
  std::uint64_t sequence = 0;
  const auto churn = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const Event event = queue.pop();
      queue.push_regular({event.time + Duration::from_ps(700), make_order(0, ComponentId{0}, sequence++), nullptr, 0}, 700);
    }
  };
  for (std::int64_t i = 0; i < 500; ++i) queue.push({Time::from_ps(i), make_order(0, ComponentId{0}, sequence++), nullptr, 0});
  churn(2'000);
  const test::AllocationCount count;
  churn(10'000);
  EXPECT_EQ(count.so_far(), 0);
}

// Records what it is told and schedules more, some of it regularly.
class Echo final : public EventTarget {
 public:
  explicit Echo(Simulator& simulator) : simulator_{simulator}, component_{simulator.add_component("echo")} {}
  void on_event(std::uint64_t payload) override {
    seen_.push_back(payload);
    if (seen_.size() > 3'000) return;
    const Duration delay = payload % 3 == 0 ? 7_ns : 3_ns;
    simulator_.schedule_regular(simulator_.now() + delay, Phase::kDelivery, component_, *this, payload * 5 + 1);
    if (payload % 4 == 0) simulator_.schedule(simulator_.now() + 21_ns, Phase::kAction, component_, *this, payload + 3);
  }
  [[nodiscard]] const std::vector<std::uint64_t>& seen() const { return seen_; }

 private:
  Simulator& simulator_;
  ComponentId component_;
  std::vector<std::uint64_t> seen_;
};

TEST(EventLanesTest, ARunWithoutLanesIsTheSame) {
  const auto run = [](bool lanes) {
    Simulator simulator;
    simulator.set_lanes(lanes);
    Echo echo{simulator};
    for (std::uint64_t i = 0; i < 20; ++i) echo.on_event(i);
    simulator.run();
    return echo.seen();
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace weft
