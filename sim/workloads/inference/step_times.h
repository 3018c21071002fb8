// How long an engine's step takes, by pipeline stage: kernels, messages between GPUs, launches (models/workloads §6, §4.3,
// §4.4).
//
//   StepTimes times{setup, plan, kernel_times, profile, costs, devices};
//   const StepTime step = times.of({.decodes = 32, .decode_context = 32 * 1024, .samples = 32});
//
// Cost: some tens of microseconds; what depends on the number of tokens alone is remembered.
//
// Model: the clock of `of` is what the limit of power leaves in steps like this one that follow one another; that of `next`
// is what the steps before it leave.
// Model: kernels and messages of a step follow one another; nothing overlaps. A step that runs as CUDA graphs has
// gpu.stream.graph_gap before each of them, in place of gpu.stream.gap and its launch. Else the host launches one kernel after
// another, and the step takes as long as the slower of host and GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/network/launch_timings.h"
#include "sim/workloads/inference/engine_memory.h"
#include "sim/workloads/inference/engine_messages.h"
#include "sim/workloads/inference/inference.h"
#include "sim/workloads/inference/layer_kernels.h"
#include "sim/workloads/inference/serving_costs.h"
#include "sim/workloads/inference/step_mix.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/kernels/recent_load.h"

namespace weft::work {

enum class StepPart : std::uint8_t { kGemm, kAttention, kMemory, kTensor, kExperts, kPipeline, kOverhead };
inline constexpr std::size_t kStepParts = 7;
// "gemm", "attention", "memory_bound", "tensor_parallel", "expert_parallel", "pipeline", "overhead".
[[nodiscard]] std::string_view to_string(StepPart part);
using StepParts = std::array<Duration, kStepParts>;

// A kernel or message of a step, and how often it runs.
struct StepKernel {
  std::string_view name;
  StepPart part = StepPart::kGemm;
  std::int64_t count = 0;
  Duration each;        // with the gap before it, at the step's clock
  double bytes = 0;     // of one: through HBM; of a message: the vector, or what a GPU sends
  double flops = 0;     // of one
  double measured = 0;  // share of measured products in its time (KernelTimes::measured_share)

  [[nodiscard]] Duration total() const { return count * each; }
};

struct StepTime {
  std::vector<Duration> stages;
  Duration hop;       // from a stage to the next one
  Duration before;    // on the host, and blocks that move to and from it
  StepParts parts{};  // of all stages, hops and what was before, summed

  // Returns the time of a step by itself.
  [[nodiscard]] Duration latency() const;
};

class StepTimes {
 public:
  // All but `profile` must outlive it. `devices`: of the engine.
  StepTimes(const InferenceSetup& setup, const EnginePlan& plan, const KernelTimes& kernels, const Profile& profile,
            GroupCosts& costs, std::vector<DeviceId> devices);

  [[nodiscard]] StepTime of(const StepMix& mix);
  // The step that an engine begins at `now`, after those it was asked for before. In the order of time.
  [[nodiscard]] StepTime next(const StepMix& mix, Time now);
  // All that `of` sums, in the order in which it first runs. Kernels of a name that take as long are one.
  [[nodiscard]] std::vector<StepKernel> kernels(const StepMix& mix);

 private:
  // Layers of one kind in a stage, and how many there are.
  struct LayerKind {
    std::int64_t layer = 0;
    std::int64_t count = 0;
    LayerShape shape = {};
  };
  // A class of kernels: how long they take at full clock, of that how long at HBM's peak rate, and their power times seconds.
  struct Busy {
    Duration alone;
    double memory_seconds = 0;
    PowerDraw draw = {};
    void add(const Busy& other, std::int64_t times);
  };
  static constexpr std::size_t kKernelParts = 3;  // GEMMs, attention, bound by memory
  // One stage in the making.
  struct Sum {
    bool is_graph = false;
    std::int64_t launches = 0;
    StepParts parts{};
    std::array<Busy, kKernelParts> busy{};    // the first parts
    std::vector<StepKernel>* list = nullptr;  // of all that is added, where somebody asks

    void add(StepPart part, const Busy& kernels, std::int64_t times) {
      busy[static_cast<std::size_t>(part)].add(kernels, times);
    }
    void add(StepPart part, Duration duration) { parts[static_cast<std::size_t>(part)] += duration; }
  };
  struct StageKey {
    int stage = 0;
    bool is_graph = false;
    std::int64_t samples = 0;
    GroupTokens tokens = {};
    friend auto operator<=>(const StageKey&, const StageKey&) = default;
  };

  [[nodiscard]] Duration alone(const Kernel& kernel, bool is_graph) const;
  [[nodiscard]] Busy time_of(const Kernel& kernel, bool is_graph) const;
  // Sums what depends on the tokens alone, not on what they meet: all but attention.
  [[nodiscard]] Sum beside_attention(const StageKey& key, std::vector<StepKernel>* list);
  // `recent`: what came before, where that sets the clock; null: steps like this one.
  void slow_down(Sum& sum, RecentLoad* recent, Time now) const;
  void add_kernels(Sum& sum, const std::vector<NamedKernel>& kernels, std::int64_t times) const;
  void add_messages(Sum& sum, int stage, const LayerKind& kind, const GroupTokens& tokens);
  void add_message(Sum& sum, std::string_view name, StepPart part, Duration duration, double bytes, std::int64_t times) const;
  void add_ends(Sum& sum, int stage, std::int64_t samples, const GroupTokens& tokens);
  Duration finish(Sum& sum, RecentLoad* recent, Time now) const;
  // `now`: of a step after others.
  StepTime step_of(const StepMix& mix, std::vector<StepKernel>* list, const Time* now);

  const InferenceSetup& setup_;
  EnginePlan plan_;
  const KernelTimes& kernels_;
  ServingCosts costs_;
  GpuPower power_;
  net::LaunchTimings launch_;
  Duration memory_fixed_;             // that KernelTimes gives a kernel bound by memory
  PagedAttentionCosts decode_costs_;  // without their fixed time
  double activation_;                 // bytes
  EngineMessages messages_;
  std::vector<std::vector<LayerKind>> stages_;
  std::vector<RecentLoad> recent_;  // by stage
  std::map<StageKey, Sum> known_;
};

}  // namespace weft::work
