#include "sim/core/timer.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/core/error.h"
#include "tests/support/allocation_count.h"

namespace weft {
namespace {

using namespace weft::literals;

class TimerTest : public ::testing::Test {
 protected:
  Simulator simulator_;
  ComponentId source_ = simulator_.add_component("timer");
  std::vector<Time> fired_;
  Timer timer_{simulator_, source_, Phase::kAction, [this] { fired_.push_back(simulator_.now()); }};

  static Time at(std::int64_t ns) { return Time{} + Duration::from_ns(ns); }
};

TEST_F(TimerTest, FiresOnceAtItsDeadline) {
  EXPECT_FALSE(timer_.armed());
  timer_.arm(at(10));
  EXPECT_TRUE(timer_.armed());
  EXPECT_EQ(timer_.deadline(), at(10));
  simulator_.run_until(at(10) - 1_ps);
  EXPECT_TRUE(fired_.empty());
  simulator_.run();
  EXPECT_EQ(fired_, std::vector<Time>{at(10)});
  EXPECT_FALSE(timer_.armed());
}

TEST_F(TimerTest, DoesNotFireWhenDisarmed) {
  timer_.arm(at(10));
  timer_.disarm();
  EXPECT_FALSE(timer_.armed());
  simulator_.run();
  EXPECT_TRUE(fired_.empty());
}

TEST_F(TimerTest, ReArmingLaterMovesTheDeadline) {
  timer_.arm(at(10));
  timer_.arm(at(20));
  simulator_.run();
  EXPECT_EQ(fired_, std::vector<Time>{at(20)});
}

TEST_F(TimerTest, ReArmingEarlierMovesTheDeadline) {
  timer_.arm(at(20));
  timer_.arm(at(10));
  simulator_.run();
  EXPECT_EQ(fired_, std::vector<Time>{at(10)});
}

TEST_F(TimerTest, AnOvertakenEventDoesNotFireALaterArming) {
  timer_.arm(at(20));  // its event stays in the queue
  timer_.arm(at(10));
  simulator_.run_until(at(15));
  timer_.arm(at(30));
  simulator_.run();
  EXPECT_EQ(fired_, (std::vector<Time>{at(10), at(30)}));
}

TEST_F(TimerTest, CanBeArmedAgainAfterDisarming) {
  timer_.arm(at(10));
  timer_.disarm();
  timer_.arm(at(10));
  simulator_.run();
  EXPECT_EQ(fired_, std::vector<Time>{at(10)});
}

TEST_F(TimerTest, MayBeArmedByItsOwnCallbackAlsoForTheSameInstant) {
  int left = 3;
  Timer* self = nullptr;
  Timer periodic{simulator_, source_, Phase::kAction, [&] {
                   fired_.push_back(simulator_.now());
                   if (--left > 0) self->arm(simulator_.now() + (left == 1 ? 0_ns : 5_ns));
                 }};
  self = &periodic;
  periodic.arm(at(5));
  simulator_.run();
  EXPECT_EQ(fired_, (std::vector<Time>{at(5), at(10), at(10)}));
}

TEST_F(TimerTest, RefusesADeadlineInThePast) {
  simulator_.run_until(at(10));
  EXPECT_THROW(timer_.arm(at(10) - 1_ps), InternalError);
  timer_.arm(at(10));
  simulator_.run();
  EXPECT_EQ(fired_, std::vector<Time>{at(10)});
}

TEST_F(TimerTest, PostponingAThousandTimesKeepsOneEventPending) {
  for (int i = 0; i < 1'000; ++i) timer_.arm(at(10 + i));
  EXPECT_EQ(simulator_.pending(), 1U);
  simulator_.run();
  EXPECT_EQ(fired_, std::vector<Time>{at(1'009)});
  EXPECT_EQ(simulator_.events(), 2U);  // one found the deadline moved and queued the other
}

TEST_F(TimerTest, ArmingAllocatesNothing) {
  timer_.arm(at(1));
  simulator_.run();
  fired_.reserve(2'000);
  const test::AllocationCount allocations;
  for (int i = 0; i < 1'000; ++i) {
    timer_.arm(simulator_.now() + 20_ns);
    timer_.arm(simulator_.now() + 10_ns);
    simulator_.run();
  }
  EXPECT_EQ(allocations.so_far(), 0);
  EXPECT_EQ(fired_.size(), 1'001U);
}

// A model that picks one of many random deadlines, compared with what the arming rule says: the last arming before it counts.
TEST_F(TimerTest, FiresAtTheLastDeadlineGivenWhateverTheHistory) {
  Time expected;
  for (int round = 0; round < 200; ++round) {
    const Time start = simulator_.now();
    fired_.clear();
    for (int i = 0; i < 5; ++i) {
      expected = start + Duration::from_ns(100 + (round * 37 + i * 61) % 89);
      timer_.arm(expected);
      if ((round + i) % 3 == 0) timer_.disarm();
      simulator_.run_until(simulator_.now() + 7_ns);
    }
    const bool armed = timer_.armed();
    simulator_.run_until(start + 300_ns);
    EXPECT_EQ(fired_, armed ? std::vector<Time>{expected} : std::vector<Time>{});
  }
}

}  // namespace
}  // namespace weft
