// A replay's options, observers and results.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/program.h"
#include "sim/workloads/replay/storage.h"

namespace weft::work {

// Random variation (models/workloads §7.2). Named streams: one per rank.
struct JitterModel {
  double kernel = 0;  // sigma of each kernel's duration, lognormal
  double rank = 0;    // sigma of a rank's speed for the whole run, normal
  // Ranks slower than the others by a factor.
  std::vector<std::pair<Rank, double>> stragglers = {};

  [[nodiscard]] bool is_none() const { return kernel == 0 && rank == 0 && stragglers.empty(); }
};

// How much slower tensor cores are than at full clock, on one rank.
struct RankClocks {
  double all = 1;                          // whatever it does
  std::vector<std::uint16_t> beyond = {};  // and beyond that, by operation, in kSteps-ths; empty: nothing
  double mean = 1;                         // of GEMMs and attention, over their time
  bool stretches_kernels = true;           // false: kernels' durations hold it, only collectives see it
  static constexpr double kSteps = 8192;

  [[nodiscard]] double at(OpIndex op) const { return beyond.empty() ? all : all * (1.0 + beyond[op] / kSteps); }
};

// A step's GPUs take power by these.
struct StepPower {
  GpuPower gpu;
  double hbm_bytes_per_second = 0;
  // GEMMs and attention without a load of their own, as recorded ones are, have the shares that large ones reach.
  double gemm_share = 0;
  double attention_share = 0;
};

struct ReplayOptions {
  int iterations = 1;
  bool skip = false;      // iterations that would repeat others to the picosecond are not run (steady_state.cpp)
  bool run_ahead = true;  // kernels that nobody sees end take no events of their own (run_ahead.cpp)
  Time start = {};        // no rank begins before
  std::uint64_t seed = 1;
  JitterModel jitter = {};
  ContentionCosts contention = {};
  double sm_memory_rate = 0;            // bytes a second that an SM gets of a memory that all of them fill; 0: not known
  std::vector<RankClocks> clocks = {};  // by leader, in rank order; empty: full clock
  Storage storage = {};
  // By RankProgram: how long no NVLink of its ranks has been in use when they begin; empty: not at all.
  std::vector<Duration> links_idle = {};
};

// Hears of every operation when it ends.
class ReplayObserver {
 public:
  // Before the first of them; the program outlives the run.
  virtual void on_program(const Program& program) = 0;
  struct Span {
    Rank rank = 0;
    int iteration = 0;  // of all, those that are skipped too
    OpIndex op = 0;
    Time start;  // it was its turn: a communication kernel is resident from then on
    Time ready;  // communication: all members were there. Else as start
    Time end;
  };
  virtual void on_operation(const Span& span) = 0;

 protected:
  ~ReplayObserver() = default;
};

// One rank's times in one iteration. A moment counts once, as the first of these that holds. It is compute where a compute
// kernel runs. It is exposed communication of the first category that moves data. It waits for the peer of a collective (skew)
// or of a message (bubble). It is exposed I/O where a stream waits for storage in the background. Else it is idle.
struct RankTimes {
  Duration compute;
  Duration tensor;         // with a GEMM or attention running
  Duration tensor_beside;  // of those, with communication moving data
  Duration skew;
  Duration bubble;
  Duration idle;                                // gaps, launches, host
  std::array<Duration, kCategories> busy{};     // sums of durations, from ready to end
  std::array<Duration, kCategories> exposed{};  // communication and I/O not hidden behind compute
};

struct RankResult {
  Rank rank = 0;
  std::vector<Time> iteration_ends;
  RankTimes last;  // of the last iteration
  std::int64_t peak_bytes = 0;
};

// A step of the critical path, latest first.
struct CriticalStep {
  Rank rank = 0;
  OpIndex op = 0;
  Time start;
  Time end;
};

struct ReplayResult {
  std::vector<RankResult> ranks;       // leaders only
  std::vector<Duration> iterations;    // each from the last rank's end to the last rank's end
  int skipped = 0;                     // of those: not run, but known to repeat others
  std::vector<CriticalStep> critical;  // of the last iteration
  std::uint64_t operations = 0;        // that were run
  std::uint64_t digest = 0;
};

}  // namespace weft::work
