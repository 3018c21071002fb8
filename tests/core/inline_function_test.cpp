#include "sim/core/inline_function.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "sim/core/error.h"
#include "tests/support/allocation_count.h"

namespace weft {
namespace {

using IntFunction = InlineFunction<int(int)>;
static_assert(!std::is_copy_constructible_v<IntFunction> && std::is_nothrow_move_constructible_v<IntFunction>);
static_assert(!std::is_constructible_v<IntFunction, int (*)(std::nullptr_t)>,
              "a callable of another signature does not convert");

int twice(int x) { return 2 * x; }

TEST(InlineFunctionTest, CallsLambdasAndFunctions) {
  int base = 40;
  IntFunction add = [&base](int x) { return base + x; };
  EXPECT_EQ(add(2), 42);
  base = 1;
  EXPECT_EQ(add(2), 3);
  add = twice;
  EXPECT_EQ(add(21), 42);
}

TEST(InlineFunctionTest, KeepsTheStateOfItsCallable) {
  InlineFunction<int()> count = [n = 0]() mutable { return ++n; };
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(count(), 2);
  auto moved = std::move(count);
  EXPECT_EQ(moved(), 3);
}

TEST(InlineFunctionTest, MayDropAResultAndPassReferences) {
  InlineFunction<void(int&)> increment = [](int& x) { return ++x; };
  int value = 1;
  increment(value);
  EXPECT_EQ(value, 2);
}

TEST(InlineFunctionTest, HoldsAndPassesMoveOnlyValues) {
  InlineFunction<int(std::unique_ptr<int>)> sum = [owned = std::make_unique<int>(40)](std::unique_ptr<int> x) {
    return *owned + *x;
  };
  EXPECT_EQ(sum(std::make_unique<int>(2)), 42);
}

TEST(InlineFunctionTest, DestroysItsCallableExactlyOnce) {
  const auto token = std::make_shared<int>(0);
  {
    InlineFunction<void()> a = [token] {};
    EXPECT_EQ(token.use_count(), 2);
    InlineFunction<void()> b = std::move(a);
    EXPECT_EQ(token.use_count(), 2);
    EXPECT_TRUE(b);
    b = [] {};
    EXPECT_EQ(token.use_count(), 1);
    b = [token] {};
    b.reset();
    EXPECT_EQ(token.use_count(), 1);
    a = [token] {};
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(InlineFunctionTest, RefusesToBeCalledEmpty) {
  IntFunction empty;
  EXPECT_FALSE(empty);
  EXPECT_THROW(empty(1), InternalError);
}

TEST(InlineFunctionTest, StoresUpToItsCapacityWithoutAllocating) {
  const test::AllocationCount allocations;
  const std::array<std::int64_t, 6> captured{1, 2, 3, 4, 5, 6};  // 48 bytes, the default capacity
  InlineFunction<std::int64_t()> function = [captured] { return captured[5]; };
  InlineFunction<std::int64_t()> moved = std::move(function);
  const std::int64_t last = moved();
  EXPECT_EQ(allocations.so_far(), 0);
  EXPECT_EQ(last, 6);
  static_assert(sizeof(InlineFunction<void(), 48>) == 48 + 2 * sizeof(void*));
}

}  // namespace
}  // namespace weft
