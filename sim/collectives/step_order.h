// Which steps of a run had to come before which: the order in which the verifier ran them is one of many, and only lane order,
// messages and progress waited for hold in all of them. Private to the verifier.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::coll {

// Steps are numbered in the order they ran.
using StepNumber = std::uint32_t;
inline constexpr StepNumber kNoStep = 0xFFFF'FFFF;

class StepOrder {
 public:
  // The step that runs now, `index` of its lane. Its number.
  StepNumber add(std::uint32_t lane, std::int64_t index);
  // The step added last could not have run before `cause`. kNoStep: nothing.
  void add_cause(StepNumber cause);

  [[nodiscard]] std::uint32_t lane(StepNumber step) const { return steps_[step].lane; }
  [[nodiscard]] std::int64_t index(StepNumber step) const { return steps_[step].index; }
  // Whether `a` comes before `b` in every order; a < b.
  [[nodiscard]] bool comes_before(StepNumber a, StepNumber b);

 private:
  struct Ran {
    std::uint32_t lane = 0;
    std::uint32_t causes_begin = 0;
    std::int64_t index = 0;
  };
  std::vector<Ran> steps_;
  std::vector<StepNumber> causes_;   // those of a step follow one another
  std::vector<std::uint64_t> seen_;  // by step: the last search that came by
  std::vector<StepNumber> open_;
  std::uint64_t searches_ = 0;
};

}  // namespace weft::coll
