// Counts calls of operator new in this test program, to show that a steady state allocates nothing.
//
//   const AllocationCount allocations;
//   simulator.run();
//   EXPECT_EQ(allocations.so_far(), 0);
#pragma once

#include <cstdint>

namespace weft::test {

// Since its construction, by any thread. allocation_count.cpp, which replaces the global operators, must be linked.
class AllocationCount {
 public:
  AllocationCount();
  [[nodiscard]] std::int64_t so_far() const;

 private:
  std::int64_t before_;
};

}  // namespace weft::test
