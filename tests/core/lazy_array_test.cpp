#include "sim/core/lazy_array.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {
namespace {

struct alignas(64) Item {
  std::int64_t value = 7;
  std::int64_t other = 0;
};

// Pages of the array that have memory.
std::size_t resident(const LazyArray<Item>& array) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = array.size() * sizeof(Item);
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(mincore(const_cast<Item*>(array.data()), bytes, pages.data()), 0);
  std::size_t count = 0;
  for (const unsigned char one : pages) count += one & 1U;
  return count;
}

TEST(LazyArrayTest, TakesMemoryForWhatIsMade) {
  LazyArray<Item> array{1'000'000};
  EXPECT_EQ(resident(array), 0U);
  EXPECT_EQ(array.make(0).value, 7);
  array.make(999'999).other = 3;
  EXPECT_EQ(array[999'999].value, 7);
  EXPECT_EQ(array[999'999].other, 3);
  EXPECT_EQ(resident(array), 2U);
}

TEST(LazyArrayTest, IsZeroBefore) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{100'000}}) {
    const LazyArray<std::uint32_t> array{size};
    EXPECT_EQ(array.size(), size);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(array[i], 0U);
  }
  EXPECT_TRUE(LazyArray<int>{}.empty());
}

TEST(LazyArrayTest, Moves) {
  LazyArray<std::uint32_t> array{10};
  array[3] = 5;
  LazyArray<std::uint32_t> other{std::move(array)};
  EXPECT_EQ(other[3], 5U);
  array = LazyArray<std::uint32_t>{20};
  array = std::move(other);
  EXPECT_EQ(array.size(), 10U);
  EXPECT_EQ(array[3], 5U);
}

}  // namespace
}  // namespace weft
