#include "sim/workloads/inference/engine_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"
#include "sim/workloads/model/memory.h"

namespace weft::work {
namespace {

std::string gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

// What one GPU would have left for its cache.
double room(const InferenceSetup& setup, const EnginePlan& plan, double usable) {
  return usable - weight_bytes_on_gpu(setup, plan) - activation_reserve(setup, plan);
}

bool holds(const InferenceSetup& setup, const EnginePlan& plan, double usable, std::int64_t tokens) {
  const auto blocks = static_cast<double>(ceil_div(tokens, setup.kv_cache.block) * setup.kv_cache.block);
  return room(setup, plan, usable) >= blocks * kv_bytes_on_gpu(setup, plan);
}

// The least change that makes the engine fit: more tensor parallelism, more stages, narrower weights.
std::string remedies(const InferenceSetup& setup, const EnginePlan& plan, double usable, std::int64_t tokens) {
  std::string text;
  const auto add = [&](const std::string& idea) { text += (text.empty() ? "" : ", or ") + idea; };
  for (EnginePlan wider = plan; wider.tensor < 64;) {
    wider.tensor *= 2;
    if (setup.model.heads % wider.tensor != 0) break;
    if (!holds(setup, wider, usable, tokens)) continue;
    add(fmt::format("tensor: {}", wider.tensor));
    break;
  }
  for (EnginePlan deeper = plan; 2 * deeper.pipeline <= setup.model.layers && deeper.pipeline < 64;) {
    deeper.pipeline *= 2;
    if (!holds(setup, deeper, usable, tokens)) continue;
    add(fmt::format("pipeline: {}", deeper.pipeline));
    break;
  }
  for (const Precision precision : {Precision::kFp8, Precision::kFp4}) {
    if (bytes_per_element(precision) >= bytes_per_element(setup.precision.weights)) continue;
    InferenceSetup narrower = setup;
    narrower.precision.weights = precision;
    if (!holds(narrower, plan, usable, tokens)) continue;
    add(fmt::format("precision: {{weights: {}}}", to_string(precision)));
    break;
  }
  return text.empty() ? "a GPU with more memory, or a model with fewer parameters" : text;
}

}  // namespace

double kv_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan) {
  const TransformerModel& model = setup.model;
  const LayerRange first = stage_layers(model.layers, plan.pipeline, 0);
  const double whole = kv_bytes_per_token(model, setup.kv_cache.precision) * static_cast<double>(first.last - first.first) /
                       static_cast<double>(model.layers);
  if (model.attention == AttentionKind::kLatent) return whole;
  return whole * static_cast<double>(ceil_div(model.kv_heads, plan.tensor)) / static_cast<double>(model.kv_heads);
}

double weight_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan) {
  const ParallelPlan sharding = plan.model_plan();
  double most = 0;
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    const LayerRange range = stage_layers(setup.model.layers, plan.pipeline, stage);
    const StageParameters held =
        stage_parameters(setup.model, sharding, range.first, range.last, stage == 0, stage + 1 == plan.pipeline);
    most = std::max(most, static_cast<double>(held.total()));
  }
  return most * bytes_per_element(setup.precision.weights);
}

double activation_reserve(const InferenceSetup& setup, const EnginePlan& plan) {
  if (setup.kv_cache.activations) return static_cast<double>(setup.kv_cache.activations->count());
  const TransformerModel& model = setup.model;
  const std::int64_t tokens = ceil_div(setup.scheduler.token_budget, plan.attention_data);
  const std::int64_t batch = ceil_div(setup.scheduler.max_batch, plan.attention_data);
  std::int64_t widest = (model.heads * model.score_dim() + 2 * std::max<std::int64_t>(1, model.kv_heads) * model.value_dim());
  widest = std::max(widest, model.mlp_matrices() * model.ffn) / plan.tensor;
  if (model.moe.experts > 0) {
    const std::int64_t inner = model.hidden + model.mlp_matrices() * model.moe.expert_ffn / plan.expert_tensor();
    widest = std::max(widest, model.moe.experts_per_token * plan.attention_data * inner / plan.expert);
  }
  const auto elements = static_cast<double>(tokens * (2 * model.hidden + widest));
  return elements * bytes_per_element(setup.precision.activations) + 4.0 * static_cast<double>(batch * model.vocab);
}

EngineMemory engine_memory(const InferenceSetup& setup, const EnginePlan& plan, double capacity, const std::string& gpu,
                           std::int64_t tokens) {
  EngineMemory memory;
  memory.capacity = capacity;
  memory.usable = capacity * setup.kv_cache.utilization;
  memory.weights = weight_bytes_on_gpu(setup, plan);
  memory.activations = activation_reserve(setup, plan);
  memory.block_bytes = kv_bytes_on_gpu(setup, plan) * static_cast<double>(setup.kv_cache.block);
  if (!holds(setup, plan, memory.usable, tokens)) {
    throw ConfigError(
        fmt::format("out of memory: an engine's GPU needs {} (weights {}, activations {}, cache of one request of {} tokens "
                    "{}), and {} has {} "
                    "({:.0f} % of {})\n  note: what would fit: {}",
                    gigabytes(memory.usable - room(setup, plan, memory.usable) +
                              kv_bytes_on_gpu(setup, plan) * static_cast<double>(tokens)),
                    gigabytes(memory.weights), gigabytes(memory.activations), tokens,
                    gigabytes(kv_bytes_on_gpu(setup, plan) * static_cast<double>(tokens)), gpu, gigabytes(memory.usable),
                    100 * setup.kv_cache.utilization, gigabytes(capacity), remedies(setup, plan, memory.usable, tokens)));
  }
  const auto each = static_cast<std::int64_t>(room(setup, plan, memory.usable) / memory.block_bytes);
  memory.blocks = each * plan.attention_data;
  memory.cache = static_cast<double>(each) * memory.block_bytes;
  return memory;
}

}  // namespace weft::work
