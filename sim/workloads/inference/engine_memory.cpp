#include "sim/workloads/inference/engine_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"
#include "sim/workloads/inference/layer_kernels.h"
#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/model/memory.h"

namespace weft::work {
namespace {

std::string gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

// Elements of the mixers of a stage's layers, of the stage that has most.
template <class Elements>
double most_of_stages(const InferenceSetup& setup, const EnginePlan& plan, Elements elements) {
  std::int64_t most = 0;
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    const LayerRange range = stage_layers(setup.model.layers, plan.pipeline, stage);
    std::int64_t sum = 0;
    for (std::int64_t layer = range.first; layer < range.last; ++layer) sum += elements(layer_shape(setup.model, layer).mixer);
    most = std::max(most, sum);
  }
  return static_cast<double>(most);
}

// Returns what one GPU would have left for its cache.
double room(const InferenceSetup& setup, const EnginePlan& plan, double usable) {
  return usable - weight_bytes_on_gpu(setup, plan) - activation_reserve(setup, plan) - state_bytes_on_gpu(setup, plan);
}

bool holds(const InferenceSetup& setup, const EnginePlan& plan, double usable, std::int64_t tokens) {
  const auto blocks = static_cast<double>(ceil_div(tokens, setup.kv_cache.block) * setup.kv_cache.block);
  return room(setup, plan, usable) >= blocks * kv_bytes_on_gpu(setup, plan);
}

// The least change that makes the engine fit: more tensor parallelism, more stages, narrower weights.
std::string remedies(const InferenceSetup& setup, const EnginePlan& plan, double usable, const std::string& gpu,
                     std::int64_t tokens) {
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
  const GpuSpec* const of = find_gpu(gpu);
  const Precision four_bits = of != nullptr && has_no_units(*of, Precision::kFp4) ? Precision::kW4A16 : Precision::kFp4;
  for (const Precision precision : {Precision::kFp8, four_bits}) {
    if (bytes_per_element(precision) >= bytes_per_element(setup.precision.weights)) continue;
    InferenceSetup narrower = setup;
    narrower.precision.weights = precision;
    if (!holds(narrower, plan, usable, tokens)) continue;
    add(fmt::format("precision: {{weights: {}}}", to_string(precision)));
    break;
  }
  return text.empty() ? "a GPU with more memory, or a model with fewer parameters" : text;
}

// Elements per token of the widest tensor between two kernels of a layer on one GPU.
std::int64_t widest_tensor(const TransformerModel& model, const LayerShape& shape, const EnginePlan& plan) {
  const Mixer& m = shape.mixer;
  const Recurrence& r = m.recurrence;
  const std::int64_t heads =
      m.heads * m.score_width() + 2 * std::max<std::int64_t>(1, m.kv_heads) * m.value_width() + m.gate_width;
  std::int64_t widest = is_recurrent(m.kind) ? 2 * (r.keys() + r.values()) : m.kind == AttentionKind::kNone ? 0 : heads;
  widest = std::max(widest, shape.feed.matrices() * shape.feed.ffn) / plan.tensor;
  const MixtureOfExperts& moe = shape.feed.moe;
  if (moe.experts == 0) return widest;
  const std::int64_t inner = model.hidden + shape.feed.matrices() * moe.expert_ffn / plan.expert_tensor();
  return std::max(widest, moe.experts_per_token * plan.attention_data * inner / plan.expert);
}

}  // namespace

double kv_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan) {
  return most_of_stages(setup, plan, [&plan](const Mixer& mixer) { return local_cache_elements(mixer, plan.tensor); }) *
         bytes_per_element(setup.kv_cache.precision);
}

double state_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan) {
  const std::int64_t sequences = ceil_div(setup.scheduler.max_batch, plan.attention_data);
  return 4.0 * static_cast<double>(sequences) *
         most_of_stages(setup, plan, [&plan](const Mixer& mixer) { return ceil_div(mixer.state_elements(), plan.tensor); });
}

double weight_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan) {
  const ParallelPlan sharding = plan.model_plan();
  const double narrow = bytes_per_element(setup.precision.weights);
  // Checkpoints in FP8, FP4 and integers leave embedding and head in 16 bits, whatever the activations are.
  const double ends = std::max({narrow, bytes_per_element(Precision::kBf16), bytes_per_element(setup.precision.activations)});
  double most = 0;
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    const LayerRange range = stage_layers(setup.model.layers, plan.pipeline, stage);
    const auto held = [&](bool has_embedding, bool has_head) {
      return stage_parameters(setup.model, sharding, range.first, range.last, has_embedding, has_head).total();
    };
    const std::int64_t layers = held(false, false);
    const std::int64_t all = held(stage == 0, stage + 1 == plan.pipeline);
    most = std::max(most, static_cast<double>(layers) * narrow + static_cast<double>(all - layers) * ends);
  }
  return most;
}

double activation_reserve(const InferenceSetup& setup, const EnginePlan& plan) {
  if (setup.kv_cache.activations) return static_cast<double>(setup.kv_cache.activations->count());
  const TransformerModel& model = setup.model;
  const std::int64_t tokens = ceil_div(setup.scheduler.token_budget, plan.attention_data);
  const std::int64_t batch = ceil_div(setup.scheduler.max_batch, plan.attention_data);
  std::int64_t widest = 0;
  for (const LayerShape& shape : distinct_shapes(model)) widest = std::max(widest, widest_tensor(model, shape, plan));
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
  memory.states = state_bytes_on_gpu(setup, plan);
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
                    100 * setup.kv_cache.utilization, gigabytes(capacity), remedies(setup, plan, memory.usable, gpu, tokens)));
  }
  const auto each = static_cast<std::int64_t>(room(setup, plan, memory.usable) / memory.block_bytes);
  memory.blocks = each * plan.attention_data;
  memory.cache = static_cast<double>(each) * memory.block_bytes;
  return memory;
}

}  // namespace weft::work
