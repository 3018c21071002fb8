#include "sim/scenario/serving_step.h"

#include <fmt/format.h>

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

}  // namespace

ServingStepResult run_serving_step(const Scenario& scenario, const ServingStepSpec& spec) {
  const net::Cluster& cluster = scenario.cluster;
  const work::StepMix mix = mix_of(spec);
  work::InferenceSetup setup = *scenario.workload.inference;
  const bool is_apart = spec.is_decode && setup.decode.has_value();
  const work::EnginePlan plan = is_apart ? *setup.decode : setup.plan;
  if (spec.layers > 0) setup.model.layers = spec.layers;
  if (setup.model.layers < plan.pipeline)
    throw ConfigError(fmt::format("--layers: {} layers for {} stages", setup.model.layers, plan.pipeline));
  const work::GpuSpec& gpu = cluster_gpu(cluster.topology, "a serving step");
  const work::KernelTimes kernels{gpu, cluster.profile};
  const std::vector<DeviceId>& all = cluster.topology.endpoints();
  const auto first = all.begin() + (is_apart ? setup.plan.gpus() : 0);
  work::GroupCosts costs{cluster.topology,
                         cluster.routing,
                         scenario.simulation.seed,
                         cluster.profile,
                         {.grain = scenario.simulation.grain, .nccl = scenario.nccl, .library = setup.library.all_reduce}};
  work::StepTimes times{setup, plan, kernels, cluster.profile, costs, std::vector<DeviceId>(first, first + plan.engine_gpus())};
  ServingStepResult result;
  result.step = times.of(mix);
  result.kernels = times.kernels(mix);
  result.new_tokens = mix.tokens();
  result.weights = work::weight_bytes_on_gpu(setup, plan);
  result.cache = work::kv_bytes_on_gpu(setup, plan) *
                 static_cast<double>(spec.batch * spec.context + spec.answers * spec.answers_context) / plan.attention_data;
  result.capacity = gpu_memory(cluster.topology, gpu);
  result.gpus = plan.engine_gpus();
  Digest digest;
  for (const work::StepKernel& kernel : result.kernels) digest.add(kernel.total());
  digest.add(result.time());
  result.digest = digest.value();
  return result;
}

}  // namespace weft::scenario
