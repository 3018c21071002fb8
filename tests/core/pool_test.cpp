#include "sim/core/pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "sim/core/error.h"
#include "tests/support/allocation_count.h"

namespace weft {
namespace {

struct Message {
  std::int64_t bytes = 0;
  int to = 0;
};
using MessageId = Id<Message>;

TEST(PoolTest, CreatesFindsAndDestroys) {
  Pool<Message> pool;
  const MessageId a = pool.create(100, 1);
  const MessageId b = pool.create(200, 2);
  EXPECT_NE(a, b);
  EXPECT_EQ(pool[a].bytes, 100);
  EXPECT_EQ(pool[b].to, 2);
  EXPECT_EQ(pool.size(), 2U);
  pool.destroy(a);
  EXPECT_FALSE(pool.contains(a));
  EXPECT_TRUE(pool.contains(b));
  EXPECT_EQ(pool.size(), 1U);
}

TEST(PoolTest, GivesIdsFromZeroUpAndReusesTheLatestFreed) {
  Pool<Message> pool;
  for (std::uint32_t i = 0; i < 5'000; ++i) ASSERT_EQ(pool.create(), MessageId{i});
  pool.destroy(MessageId{10});
  pool.destroy(MessageId{20});
  EXPECT_EQ(pool.create(), MessageId{20});
  EXPECT_EQ(pool.create(), MessageId{10});
  EXPECT_EQ(pool.create(), MessageId{5'000});
}

TEST(PoolTest, KeepsAddressesWhileItGrows) {
  Pool<Message> pool;
  std::vector<Message*> addresses;
  for (std::uint32_t i = 0; i < 10'000; ++i) addresses.push_back(&pool[pool.create(i, 0)]);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(&pool[MessageId{i}], addresses[i]);
    ASSERT_EQ(addresses[i]->bytes, i);
  }
}

TEST(PoolTest, AHandleOutlivedByItsObjectFindsNothing) {
  Pool<Message> pool;
  const MessageId id = pool.create(1, 1);
  const auto handle = pool.handle(id);
  EXPECT_EQ(pool.find(handle), &pool[id]);
  pool.destroy(id);
  EXPECT_EQ(pool.find(handle), nullptr);
  ASSERT_EQ(pool.create(2, 2), id);  // the slot again, another object
  EXPECT_EQ(pool.find(handle), nullptr);
  EXPECT_NE(pool.find(pool.handle(id)), nullptr);
}

TEST(PoolTest, RefusesToDestroyTwice) {
  Pool<Message> pool;
  const MessageId id = pool.create();
  pool.destroy(id);
  EXPECT_THROW(pool.destroy(id), InternalError);
  EXPECT_THROW(pool.destroy(MessageId{}), InternalError);
}

#ifndef NDEBUG
TEST(PoolTest, DebugBuildsRefuseADeadId) {
  Pool<Message> pool;
  const MessageId id = pool.create();
  pool.destroy(id);
  EXPECT_THROW((void)pool[id], InternalError);
}
#endif

TEST(PoolTest, DestroysWhatIsLeft) {
  const auto shared = std::make_shared<int>(1);
  {
    Pool<std::shared_ptr<int>> pool;
    for (int i = 0; i < 10; ++i) pool.create(shared);
    pool.destroy(Id<std::shared_ptr<int>>{3});
    EXPECT_EQ(shared.use_count(), 10);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

struct ThrowsOnOne {
  explicit ThrowsOnOne(int value) {
    if (value == 1) throw std::runtime_error{"one"};
  }
};

TEST(PoolTest, AThrowingConstructorLeavesThePoolAsItWas) {
  Pool<ThrowsOnOne> pool;
  EXPECT_THROW(pool.create(1), std::runtime_error);
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(pool.create(2), Id<ThrowsOnOne>{0});
}

TEST(PoolTest, VisitsLiveObjectsInOrderOfIds) {
  Pool<Message> pool;
  for (int i = 0; i < 6; ++i) pool.create(i, 0);
  pool.destroy(MessageId{4});
  pool.destroy(MessageId{1});
  std::vector<std::uint32_t> seen;
  pool.for_each([&](MessageId id, Message& message) {
    EXPECT_EQ(message.bytes, id.value());
    seen.push_back(id.value());
    if (id.value() == 2) pool.destroy(id);
  });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 2, 3, 5}));
  EXPECT_FALSE(pool.contains(MessageId{2}));
}

struct alignas(64) Line {
  std::byte bytes[64];
};

TEST(PoolTest, RespectsAlignment) {
  Pool<Line> pool;
  for (int i = 0; i < 1'000; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(&pool[pool.create()]);
    ASSERT_EQ(address % 64, 0U);
  }
}

TEST(PoolTest, AllocatesNothingBelowItsHighWaterMark) {
  Pool<Message> pool;
  std::vector<MessageId> live;
  live.reserve(3'000);
  const auto fill_and_empty = [&] {
    for (int i = 0; i < 3'000; ++i) live.push_back(pool.create(i, i));
    for (const MessageId id : live) pool.destroy(id);
    live.clear();
  };
  fill_and_empty();
  const test::AllocationCount allocations;
  for (int i = 0; i < 10; ++i) fill_and_empty();
  EXPECT_EQ(allocations.so_far(), 0);
}

}  // namespace
}  // namespace weft
