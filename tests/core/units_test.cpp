#include "sim/core/units.h"

#include <gtest/gtest.h>

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
