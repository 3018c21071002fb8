#include "sim/network/packet_level/credit_pacer.h"

#include <gtest/gtest.h>

namespace weft::net {
namespace {

using namespace literals;

// Each turn lasts as long as what it grants; who wants more goes to the end of the line.
TEST(CreditPacerTest, TakesTurns) {
  CreditPacer pacer;
  EXPECT_EQ(pacer.alarm(), std::nullopt);
  pacer.add(7);
  EXPECT_EQ(pacer.next(Time{} + 5_ns), 7U);
  pacer.spend(Time{} + 5_ns, 320_ns);
  EXPECT_EQ(pacer.alarm(), std::nullopt);  // nobody waits
  pacer.add(3);
  pacer.add(7);
  EXPECT_EQ(pacer.next(Time{} + 6_ns), std::nullopt);
  EXPECT_EQ(pacer.alarm(), Time{} + 325_ns);
  EXPECT_EQ(pacer.alarm(), std::nullopt);  // said already
  EXPECT_EQ(pacer.next(Time{} + 325_ns - 1_ps), std::nullopt);
  pacer.rang();
  EXPECT_EQ(pacer.next(Time{} + 325_ns), 3U);
  pacer.spend(Time{} + 325_ns, 80_ns);
  EXPECT_EQ(pacer.alarm(), Time{} + 405_ns);
  pacer.rang();
  EXPECT_EQ(pacer.next(Time{} + 405_ns), 7U);
}

// Time in which nobody wanted credit is not made up for.
TEST(CreditPacerTest, IdleTimeIsLost) {
  CreditPacer pacer;
  pacer.add(1);
  EXPECT_EQ(pacer.next(Time{}), 1U);
  pacer.spend(Time{}, 80_ns);
  pacer.add(1);
  EXPECT_EQ(pacer.next(Time{} + 1_us), 1U);
  pacer.spend(Time{} + 1_us, 80_ns);
  pacer.add(1);
  EXPECT_EQ(pacer.alarm(), Time{} + 1080_ns);
}

}  // namespace
}  // namespace weft::net
