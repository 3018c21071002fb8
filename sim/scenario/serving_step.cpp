#include "sim/scenario/serving_step.h"

#include <fmt/format.h>

#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/inference/engine_memory.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::scenario {
namespace {

work::StepMix mix_of(const ServingStepSpec& spec) {
  const std::int64_t tokens = spec.tokens > 0 ? spec.tokens : spec.is_decode ? 1 : spec.context;
  if (tokens > spec.context)
    throw ConfigError(
        fmt::format("--tokens: {} new tokens are more than the {} of --context, which counts them too", tokens, spec.context));
  const std::int64_t cached = spec.context - tokens;
  work::StepMix mix;
  if (spec.is_decode) {
    mix.decodes = spec.batch;
    mix.tokens_per_decode = tokens;
    mix.decode_context = spec.batch * cached;
    mix.samples = spec.batch * tokens;
  } else {
    mix.prefills.assign(static_cast<std::size_t>(spec.batch), {.tokens = tokens, .context = cached});
    mix.samples = spec.batch + spec.answers;
    mix.decodes = spec.answers;
    mix.decode_context = spec.answers * (spec.answers_context - 1);
  }
  return mix;
}

// The engine of a phase, on the cluster's GPUs. What it is made from must outlive it.
class StepEngine {
 public:
  StepEngine(const net::Cluster& cluster, const work::InferenceSetup& setup, const ServingStepSpec& spec, const StepRun& run)
      : setup_{with_layers(setup, spec)},
        is_apart_{spec.is_decode && setup_.decode.has_value()},
        plan_{is_apart_ ? *setup_.decode : setup_.plan},
        gpu_{cluster_gpu(cluster.topology, "a serving step")},
        kernels_{gpu_, cluster.profile},
        costs_{cluster.topology,
               cluster.routing,
               run.seed,
               cluster.profile,
               {.grain = run.grain, .nccl = run.nccl, .library = setup_.library.all_reduce}},
        times_{setup_, checked_plan(), kernels_, cluster.profile, costs_, devices(cluster)} {}

  [[nodiscard]] work::StepTimes& times() { return times_; }
  [[nodiscard]] const work::InferenceSetup& setup() const { return setup_; }
  [[nodiscard]] const work::EnginePlan& plan() const { return plan_; }
  [[nodiscard]] const work::GpuSpec& gpu() const { return gpu_; }

 private:
  static work::InferenceSetup with_layers(work::InferenceSetup setup, const ServingStepSpec& spec) {
    if (spec.layers > 0) setup.model.layers = spec.layers;
    return setup;
  }
  const work::EnginePlan& checked_plan() const {
    if (setup_.model.layers < plan_.pipeline)
      throw ConfigError(fmt::format("--layers: {} layers for {} stages", setup_.model.layers, plan_.pipeline));
    return plan_;
  }
  std::vector<DeviceId> devices(const net::Cluster& cluster) const {
    const auto first = cluster.topology.endpoints().begin() + (is_apart_ ? setup_.plan.gpus() : 0);
    return {first, first + plan_.engine_gpus()};
  }

  work::InferenceSetup setup_;
  bool is_apart_;
  work::EnginePlan plan_;
  const work::GpuSpec& gpu_;
  work::KernelTimes kernels_;
  work::GroupCosts costs_;
  work::StepTimes times_;
};

}  // namespace

ServingStepResult run_serving_step(const Scenario& scenario, const ServingStepSpec& spec) {
  const net::Cluster& cluster = scenario.cluster;
  const work::StepMix mix = mix_of(spec);
  StepEngine engine{cluster,
                    *scenario.workload.inference,
                    spec,
                    {.seed = scenario.simulation.seed, .grain = scenario.simulation.grain, .nccl = scenario.nccl}};
  const work::InferenceSetup& setup = engine.setup();
  const work::EnginePlan& plan = engine.plan();
  ServingStepResult result;
  result.step = engine.times().of(mix);
  result.kernels = engine.times().kernels(mix);
  result.new_tokens = mix.tokens();
  result.weights = work::weight_bytes_on_gpu(setup, plan);
  result.cache = work::kv_bytes_on_gpu(setup, plan) *
                 static_cast<double>(spec.batch * spec.context + spec.answers * spec.answers_context) / plan.attention_data;
  result.capacity = gpu_memory(cluster.topology, engine.gpu());
  result.gpus = plan.engine_gpus();
  Digest digest;
  for (const work::StepKernel& kernel : result.kernels) digest.add(kernel.total());
  digest.add(result.time());
  result.digest = digest.value();
  return result;
}

std::vector<Duration> repeat_serving_step(const net::Cluster& cluster, const work::InferenceSetup& setup,
                                          const ServingStepSpec& spec, int count, const StepRun& run) {
  const work::StepMix mix = mix_of(spec);
  StepEngine engine{cluster, setup, spec, run};
  std::vector<Duration> all;
  Time now;
  for (int i = 0; i < count; ++i) {
    all.push_back(engine.times().next(mix, now).latency());
    now += all.back();
  }
  return all;
}

}  // namespace weft::scenario
