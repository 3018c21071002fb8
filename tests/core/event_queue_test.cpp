#include "sim/core/event_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/event_lanes.h"
#include "sim/core/event_record.h"
#include "sim/core/random.h"
#include "tests/bench/binary_heap_queue.h"
#include "tests/core/event_order.h"
#include "tests/support/allocation_count.h"
#include "tests/support/temp_folder.h"

namespace weft {
namespace {

using namespace weft::literals;

Event event_at(std::int64_t ps, std::uint64_t order) { return Event{Time::from_ps(ps), order, nullptr, order}; }

template <class Q>
class EventQueueTest : public ::testing::Test {
 protected:
  // Drives the queue and an ordered multiset with the same random pushes and pops and compares every pop. `draw(random)` is how
  // far after the last pop a pushed event lies, in ps; the orders of a test are random but all different.
  template <class Draw>
  void expect_equal_to_multiset(std::uint64_t seed, int operations, std::size_t around, Draw draw) {
    RandomStream random{seed, "event_queue_test"};
    Q queue;
    std::multiset<Event, test::RunsBefore> expected;
    std::int64_t now = 0;
    for (int i = 0; i < operations; ++i) {
      const bool push = expected.empty() || random.below(2 * around) >= expected.size();
      if (push) {
        const std::uint64_t order = (random.bits() << 24) | static_cast<std::uint64_t>(i);
        const Event event = event_at(now + draw(random), order);
        queue.push(event);
        expected.insert(event);
      } else {
        ASSERT_NO_FATAL_FAILURE(test::pop_alike(queue, expected, now));
      }
      ASSERT_EQ(queue.size(), expected.size());
    }
    for (const Event& event : expected) ASSERT_EQ(queue.pop().order, event.order);
    EXPECT_TRUE(queue.empty());
  }
};

using Queues = ::testing::Types<BinaryHeapQueue, RadixQueue, BasicRadixQueue<1, 1>, BasicRadixQueue<4, 15>, EventQueue>;
TYPED_TEST_SUITE(EventQueueTest, Queues);

TYPED_TEST(EventQueueTest, PopsByTimeThenOrder) {
  TypeParam queue;
  for (const Event& event : {event_at(5, 1), event_at(3, 9), event_at(5, 0), event_at(3, 2), event_at(4, 7)}) queue.push(event);
  std::vector<std::pair<std::int64_t, std::uint64_t>> popped;
  while (!queue.empty()) {
    const Event event = queue.pop();
    popped.emplace_back(event.time.ps(), event.order);
  }
  const std::vector<std::pair<std::int64_t, std::uint64_t>> expected{{3, 2}, {3, 9}, {4, 7}, {5, 0}, {5, 1}};
  EXPECT_EQ(popped, expected);
}

TYPED_TEST(EventQueueTest, TakesAnEventOfTheCurrentTimeThatPrecedesThosePending) {
  TypeParam queue;
  for (const std::uint64_t order : {10U, 20U, 30U}) queue.push(event_at(100, order));
  EXPECT_EQ(queue.pop().order, 10U);
  queue.push(event_at(100, 25));
  queue.push(event_at(100, 5));
  queue.push(event_at(100, 40));
  for (const std::uint64_t order : {5U, 20U, 25U, 30U, 40U}) EXPECT_EQ(queue.pop().order, order);
}

TYPED_TEST(EventQueueTest, LookingAtTheNextTimeDoesNotForbidEarlierPushes) {
  TypeParam queue;
  queue.push(event_at(1'000'000, 1));
  EXPECT_EQ(queue.next_time(), Time::from_ps(1'000'000));
  queue.push(event_at(7, 2));
  EXPECT_EQ(queue.next_time(), Time::from_ps(7));
  EXPECT_EQ(queue.pop().order, 2U);
  EXPECT_EQ(queue.pop().order, 1U);
}

TYPED_TEST(EventQueueTest, HoldsTheFirstAndTheLastInstant) {
  TypeParam queue;
  queue.push(Event{Time::max(), 0, nullptr, 0});
  queue.push(event_at(0, 2));
  queue.push(event_at(0, 1));
  EXPECT_EQ(queue.pop().order, 1U);
  EXPECT_EQ(queue.pop().order, 2U);
  EXPECT_EQ(queue.pop().time, Time::max());
}

TYPED_TEST(EventQueueTest, EqualsMultisetOnManyTies) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    this->expect_equal_to_multiset(seed, 2'000, 50, [](RandomStream& r) { return r.between(0, 3); });
  }
}

TYPED_TEST(EventQueueTest, EqualsMultisetWherePushesAtTheCurrentTimeAreCommon) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    this->expect_equal_to_multiset(seed, 3'000, 200, [](RandomStream& r) { return r.chance(0.6) ? 0 : r.between(1, 100); });
  }
}

TYPED_TEST(EventQueueTest, EqualsMultisetOnNetworkLikeIncrements) {
  this->expect_equal_to_multiset(7, 60'000, 3'000, [](RandomStream& r) -> std::int64_t {
    constexpr std::int64_t kDelaysPs[] = {82'000, 500'000, 1'000'000, 55'000'000};
    return r.chance(0.02) ? kDelaysPs[3] : kDelaysPs[r.below(3)];
  });
}

TYPED_TEST(EventQueueTest, EqualsMultisetOverAllMagnitudesOfTime) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    this->expect_equal_to_multiset(seed, 3'000, 100, [](RandomStream& r) {
      return static_cast<std::int64_t>(r.bits() >> (12 + r.below(50)));  // up to 2^52: 3,000 pops stay within 63 bits
    });
  }
}

TYPED_TEST(EventQueueTest, SortsAMillionEventsOfOneInstant) {
  TypeParam queue;
  constexpr std::uint64_t kCount = 1'000'000;
  for (std::uint64_t i = 0; i < kCount; ++i) queue.push(event_at(42, (i * 7'919) % kCount));  // 7,919 is prime to kCount
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(queue.pop().order, i);
}

TYPED_TEST(EventQueueTest, AllocatesNothingInSteadyState) {
  TypeParam queue;
  RandomStream random{1, "hold"};
  std::uint64_t order = 0;
  const auto delay = [&] { return Duration::from_ps(random.between(0, 2'000'000)); };
  for (int i = 0; i < 5'000; ++i) queue.push(Event{Time{} + delay(), order++, nullptr, 0});
  const auto hold = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const Time now = queue.pop().time;
      queue.push(Event{now + delay(), order++, nullptr, 0});
    }
  };
  // The high-water mark: a radix queue's chunks are not all full, so a tenth more have been pending than will be.
  for (int i = 0; i < 500; ++i) queue.push(Event{Time{} + delay(), order++, nullptr, 0});
  hold(100'000);
  for (int i = 0; i < 500; ++i) queue.pop();
  const test::AllocationCount allocations;
  hold(1'000'000);
  EXPECT_EQ(allocations.so_far(), 0);
}

TEST(EventOrderTest, PutsPhaseBeforeSourceBeforeSequence) {
  const std::uint64_t most_sequence = (std::uint64_t{1} << kSequenceBits) - 1;
  const ComponentId last_source{(1U << kSourceBits) - 1};
  EXPECT_LT(make_order(0, last_source, most_sequence), make_order(1, ComponentId{0}, 0));
  EXPECT_LT(make_order(1, ComponentId{4}, most_sequence), make_order(1, ComponentId{5}, 0));
  EXPECT_LT(make_order(1, ComponentId{5}, 0), make_order(1, ComponentId{5}, 1));
}

TEST(EventOrderTest, RefusesPartsThatOverflow) {
  const std::uint64_t sequences = std::uint64_t{1} << kSequenceBits;
  EXPECT_EQ(make_order(15, ComponentId{(1U << kSourceBits) - 1}, sequences - 1), ~std::uint64_t{0});
  EXPECT_THROW(make_order(16, ComponentId{0}, 0), InternalError);
  EXPECT_THROW(make_order(0, ComponentId{1U << kSourceBits}, 0), InternalError);
  EXPECT_THROW(make_order(0, ComponentId{}, 0), InternalError);
  EXPECT_THROW(make_order(0, ComponentId{0}, sequences), InternalError);
}

class EventRecordTest : public ::testing::Test {
 protected:
  void write(const std::string& bytes) { static_cast<void>(folder_.write("record.bin", bytes)); }
  std::string read() const {
    std::ifstream file{path_, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  weft::test::TempFolder folder_;
  std::string path_ = folder_ / "record.bin";
};

TEST_F(EventRecordTest, ReadsWhatItWrote) {
  {
    EventRecorder recorder{path_};
    recorder.push(event_at(0x0102, ~std::uint64_t{0}));
    recorder.pop();
  }
  const std::string ff(8, '\xFF');
  EXPECT_EQ(read(), "WEFTEVQ1" + std::string("\x02\x01\0\0\0\0\0\0", 8) + ff + ff);
  const auto operations = read_event_record(path_);
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_TRUE(operations[0].is_push);
  EXPECT_EQ(operations[0].time, Time{} + 258_ps);
  EXPECT_EQ(operations[0].order, ~std::uint64_t{0});
  EXPECT_FALSE(operations[1].is_push);
}

TEST_F(EventRecordTest, RefusesWhatIsMissingForeignOrCutOff) {
  EXPECT_THROW((void)read_event_record(path_ + ".none"), ConfigError);
  EXPECT_THROW(EventRecorder{folder_ / "no/such/folder/file"}, ConfigError);
  write("WEFTEVQ2");
  EXPECT_THROW((void)read_event_record(path_), ConfigError);
  write("WEFTEVQ1" + std::string(12, '\0'));
  EXPECT_THROW((void)read_event_record(path_), ConfigError);
  write("WEFTEVQ1" + std::string(16, '\0'));
  EXPECT_EQ(read_event_record(path_).size(), 1U);
}

}  // namespace
}  // namespace weft
