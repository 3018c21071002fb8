#include "sim/core/units.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace weft {
namespace {

using namespace literals;

TEST(TransmissionTimeTest, RoundsUpToTheNextPicosecond) {
  // 1 B at 3 Gb/s: 8 b / 3e9 b/s = 2666.67 ps.
  EXPECT_EQ(transmission_time(1_B, 3_Gbps), 2'667_ps);
  EXPECT_EQ(transmission_time(3_B, 3_Gbps), 8'000_ps);
}

TEST(TransmissionTimeTest, DoesNotOverflowAboveOneMegabyte) {
  // 4 GiB at 400 Gb/s: 2^32 * 8 / 400e9 s = 85.89934592 ms.
  EXPECT_EQ(transmission_time(4_GiB, 400_Gbps), 85'899'345'920_ps);
}

TEST(UnitsTest, BitsAndBytesPerSecondDifferByEight) { EXPECT_EQ(50_GBps, 400_Gbps); }

TEST(UnitsTest, WhatLeavesTheRangeStaysAtItsEnd) {
  constexpr Duration kLong = Duration::from_ps(std::int64_t{1} << 62);
  EXPECT_EQ(kLong + kLong, Duration::max());
  EXPECT_EQ(kLong + (kLong - 1_ps), Duration::max());  // 2^63 - 1 exactly
  EXPECT_EQ(kLong + (kLong - 2_ps), Duration::max() - 1_ps);
  EXPECT_EQ(4 * kLong, Duration::max());
  EXPECT_EQ(Time{} + kLong + kLong + kLong, Time::max());
  EXPECT_EQ(Time::max() - Time{}, Duration::max());
  EXPECT_EQ(2 * Bytes{std::int64_t{1} << 62}, Bytes::max());
  EXPECT_EQ(Duration::from_us(std::int64_t{1} << 60), Duration::max());
  EXPECT_EQ(Bandwidth::from_bytes_per_second(std::int64_t{1} << 61).bits_per_second(),
            std::numeric_limits<std::int64_t>::max());
  // 2^62 bytes at 1 b/s.
  EXPECT_EQ(transmission_time(Bytes{std::int64_t{1} << 62}, Bandwidth::from_bits_per_second(1)), Duration::max());
}

TEST(UnitsTest, RealTimesGoToTheNearestPicosecondOrTheEndOfTheRange) {
  EXPECT_EQ(Duration::nearest_ps(2.5), 3_ps);
  EXPECT_EQ(Duration::whole_ps(2.9), 2_ps);
  EXPECT_EQ(Duration::nearest_ps(0x1p63), Duration::max());
  EXPECT_EQ(Duration::nearest_ps(0x1p62), Duration::from_ps(std::int64_t{1} << 62));
  EXPECT_EQ(Duration::whole_ps(1e300), Duration::max());
  EXPECT_EQ(Duration::nearest_ps(std::numeric_limits<double>::infinity()), Duration::max());
  EXPECT_EQ(Duration::nearest_ps(-1e300).ps(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Duration::nearest_ps(std::numeric_limits<double>::quiet_NaN()), Duration{});
}

template <class T>
concept Addable = requires(T a, T b) {
  a + b;
};
TEST(UnitsTest, TwoInstantsDoNotAdd) {
  static_assert(!Addable<Time>);
  static_assert(Addable<Duration>);
}

}  // namespace
}  // namespace weft
