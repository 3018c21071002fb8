// How long one microbatch keeps the compute stream of a rank, layer by layer, at the least: the program of one microbatch on
// one stage, taken through by its longest path.
//
// Kernels take what they take alone at the clock that is asked for, collectives what their group's take alone, and a kernel
// that starts when a collective certainly is under way on its GPU is slowed as the Replayer slows it. A collective certainly
// is if all it waits for has ended whenever that kernel can start, whatever happens elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/program.h"

namespace weft::plan {

// A step at full clock takes at most so much longer than the slowed one that is reported.
inline constexpr double kColdStep = 1.01;
// Slow-downs of the clock are tried in steps of a hundredth.
inline constexpr double kClockSteps = 100;

// Seconds of the compute stream.
struct Pass {
  double seconds = 0;  // kernels and what they wait for, but `entry`
  double entry = 0;    // wait of the first kernel for what the layer before has left under way
  double compute = 0;  // kernels alone
  double tensor = 0;   // that tensor cores at their peak rate would take
  // Parts of `compute`, and the experts' messages alone: seconds, and the fewest thread blocks of them.
  double attention = 0;
  double memory = 0;
  double experts = 0;
  int expert_ctas = 0;
};

struct PassPair {
  Pass forward;
  Pass backward;
};

struct StepPieces {
  std::vector<PassPair> layers;
  PassPair embedding;
  PassPair head;  // forward and backward in one: `backward`
};

class PassProfile {
 public:
  // A collective's time alone, and the thread blocks it holds.
  struct Cost {
    double seconds = 0;
    int ctas = 0;
  };
  // The compute stream's part of `program` (one rank, one microbatch, one stage, no gradients reduced).
  PassProfile(const work::RankProgram& program, std::int64_t layers, const std::function<Cost(const work::Operation&)>& cost_of,
              const work::ContentionCosts& contention);

  // Where tensor cores are so much slower than at full clock. `contends` false: nothing is slowed by collectives beside it.
  [[nodiscard]] StepPieces at(double slowdown, bool contends) const;

 private:
  struct Step {
    double seconds = 0;         // alone
    work::PowerLoad load = {};  // of kernels
    std::uint32_t piece = 0;    // into StepPieces, collectives none
    std::uint32_t number = 0;   // kernels: of the compute stream; collectives: that of the first kernel that starts after them
    std::uint32_t first_wait = 0;
    std::uint16_t waits = 0;
    std::uint16_t stream = 0;
    std::int16_t ctas = 0;
    work::Category category = work::Category::kOtherCompute;
    bool second_wave = false;
    bool beside_compute = false;  // collectives: begins as that kernel does
  };
  struct State;
  void read(const work::RankProgram& program, const std::function<Cost(const work::Operation&)>& cost_of);
  void find_starts(const work::RankProgram& program);
  void run_kernel(const Step& step, std::uint32_t index, double slowdown, bool contends, State& state) const;

  work::ContentionCosts contention_;
  std::int64_t layers_ = 0;
  std::size_t streams_ = 0;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> waits_;
};

}  // namespace weft::plan
