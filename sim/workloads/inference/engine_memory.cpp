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

// Bytes that a runtime takes of a GPU.
struct Runtime {
  double alone = 0;   // of an engine of one GPU
  double shared = 0;  // more, where GPUs of a stage work together
};

// Free memory when vLLM 0.19 starts on an H100 of 79.19 GiB: 78.68 GiB for one GPU, 77.66 for two and four
// (validate/serving/cache_published.json, llmd).
constexpr Runtime kStart{.alone = 0.55e9, .shared = 1.1e9};
// "non-torch forward increase memory" of the same logs: buffers of all-reduces, and what NCCL and libraries load later. Fitted:
// means over the half of the logs that cache.py --fit takes. The context itself is not counted, and so is in what utilization
// leaves.
constexpr Runtime kVllm{.alone = 0.29e9, .shared = 1.96e9};
// Workspaces of TensorRT-LLM beside context and communicators. Fitted: the mean over the same half.
constexpr double kTensorRtWorkspaces = 1.4e9;
// Bytes of a logit while vLLM samples: one of the model in bf16, and copies in fp32 (logits, probabilities, random numbers: 14
// in all). Fitted to the same half.
constexpr double kVllmLogit = 15;

Runtime runtime_of(CacheRule rule) {
  switch (rule) {
    case CacheRule::kOfTotal:
      return kVllm;
    case CacheRule::kOfStart:
      return kStart;
    case CacheRule::kOfRest:
      return {.alone = kStart.alone + kTensorRtWorkspaces, .shared = kStart.shared};
  }
  return {};
}

// Memory of one GPU, and what has room there before the cache. The cache gets `share` of the rest.
struct Budget {
  double have = 0;
  double before = 0;
  double share = 1;
  std::string parts;  // of `before`
  std::string text;   // of `have`

  [[nodiscard]] double room() const { return share * (have - before); }
  [[nodiscard]] double need(double cache) const { return before + cache / share; }
};

Budget budget_of(const InferenceSetup& setup, const EnginePlan& plan, double capacity) {
  const double share = setup.kv_cache.utilization;
  const double kept = weight_bytes_on_gpu(setup, plan) + state_bytes_on_gpu(setup, plan);
  const double activations = activation_reserve(setup, plan);
  const double runtime = runtime_bytes(setup, plan);
  const std::string percent = fmt::format("{:.0f} %", 100 * share);
  const std::string weights = fmt::format("weights {}", gigabytes(weight_bytes_on_gpu(setup, plan)));
  const std::string all = fmt::format("{}, activations {}, runtime {}", weights, gigabytes(activations), gigabytes(runtime));
  switch (setup.library.cache) {
    case CacheRule::kOfTotal:
      return {.have = share * capacity,
              .before = kept + activations + runtime,
              .parts = all,
              .text = fmt::format("{} of {}", percent, gigabytes(capacity))};
    case CacheRule::kOfStart:
      return {.have = share * (capacity - runtime),
              .before = kept,
              .parts = weights,
              .text = fmt::format("{} of {}, less {} of its runtime", percent, gigabytes(capacity), gigabytes(runtime))};
    case CacheRule::kOfRest:
      return {.have = capacity,
              .before = kept + activations + runtime,
              .share = share,
              .parts = all,
              .text = fmt::format("the cache gets {} of what is left", percent)};
  }
  return {};
}

bool holds(const InferenceSetup& setup, const EnginePlan& plan, double capacity, std::int64_t tokens) {
  const auto blocks = static_cast<double>(ceil_div(tokens, setup.kv_cache.block) * setup.kv_cache.block);
  return budget_of(setup, plan, capacity).room() >= blocks * kv_bytes_on_gpu(setup, plan);
}

// The least change that makes the engine fit: more tensor parallelism, more stages, narrower weights.
std::string remedies(const InferenceSetup& setup, const EnginePlan& plan, double capacity, const std::string& gpu,
                     std::int64_t tokens) {
  std::string text;
  const auto add = [&](const std::string& idea) { text += (text.empty() ? "" : ", or ") + idea; };
  for (EnginePlan wider = plan; wider.tensor < 64;) {
    wider.tensor *= 2;
    if (setup.model.heads % wider.tensor != 0) break;
    if (!holds(setup, wider, capacity, tokens)) continue;
    add(fmt::format("tensor: {}", wider.tensor));
    break;
  }
  for (EnginePlan deeper = plan; 2 * deeper.pipeline <= setup.model.layers && deeper.pipeline < 64;) {
    deeper.pipeline *= 2;
    if (!holds(setup, deeper, capacity, tokens)) continue;
    add(fmt::format("pipeline: {}", deeper.pipeline));
    break;
  }
  const GpuSpec* const of = find_gpu(gpu);
  const Precision four_bits = of != nullptr && has_no_units(*of, Precision::kFp4) ? Precision::kW4A16 : Precision::kFp4;
  for (const Precision precision : {Precision::kFp8, four_bits}) {
    if (bytes_per_element(precision) >= bytes_per_element(setup.precision.weights)) continue;
    InferenceSetup narrower = setup;
    narrower.precision.weights = precision;
    if (!holds(narrower, plan, capacity, tokens)) continue;
    add(fmt::format("precision: {{weights: {}}}", to_string(precision)));
    break;
  }
  return text.empty() ? "a GPU with more memory, or a model with fewer parameters" : text;
}

// Elements per token of the widest tensor between two kernels of a layer on one GPU, its routed experts aside.
std::int64_t widest_tensor(const LayerShape& shape, const EnginePlan& plan) {
  const Mixer& m = shape.mixer;
  const Recurrence& r = m.recurrence;
  const std::int64_t heads =
      m.heads * m.score_width() + 2 * std::max<std::int64_t>(1, m.kv_heads) * m.value_width() + m.gate_width;
  const std::int64_t widest = is_recurrent(m.kind) ? 2 * (r.keys() + r.values()) : m.kind == AttentionKind::kNone ? 0 : heads;
  return std::max(widest, shape.feed.matrices() * shape.feed.ffn) / plan.tensor;
}

// Elements per token of the rows of its routed experts on one GPU: what goes in and what comes out of their products.
std::int64_t rows_of_experts(const TransformerModel& model, const LayerShape& shape, const EnginePlan& plan) {
  const MixtureOfExperts& moe = shape.feed.moe;
  if (moe.experts == 0) return 0;
  const std::int64_t inner = model.hidden + shape.feed.matrices() * moe.expert_ffn / plan.expert_tensor();
  return moe.experts_per_token * plan.attention_data * inner / plan.expert;
}

// The same as vLLM keeps them: one workspace for the first and the last product, one for what is between them.
std::int64_t workspaces_of_experts(const TransformerModel& model, const LayerShape& shape, const EnginePlan& plan) {
  const MixtureOfExperts& moe = shape.feed.moe;
  if (moe.experts == 0) return 0;
  const std::int64_t inner = moe.expert_ffn / plan.expert_tensor();
  const std::int64_t elements = std::max(model.hidden, (shape.feed.matrices() - 1) * inner) + inner;
  return moe.experts_per_token * plan.attention_data * elements / plan.expert;
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
  std::int64_t rows = 0;
  std::int64_t workspaces = 0;
  for (const LayerShape& shape : distinct_shapes(model)) {
    widest = std::max(widest, widest_tensor(shape, plan));
    rows = std::max(rows, rows_of_experts(model, shape, plan));
    workspaces = std::max(workspaces, workspaces_of_experts(model, shape, plan));
  }
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<double>(tokens * elements) * bytes_per_element(setup.precision.activations);
  };
  if (setup.library.cache == CacheRule::kOfTotal) {
    const double logits = kVllmLogit * static_cast<double>(std::min(tokens, batch) * model.vocab);
    return bytes(workspaces) + std::max(bytes(2 * model.hidden + widest), bytes(model.hidden) + logits);
  }
  return bytes(2 * model.hidden + std::max(widest, rows)) + 4.0 * static_cast<double>(batch * model.vocab);
}

double runtime_bytes(const InferenceSetup& setup, const EnginePlan& plan) {
  if (setup.kv_cache.runtime) return static_cast<double>(setup.kv_cache.runtime->count());
  const Runtime runtime = runtime_of(setup.library.cache);
  return runtime.alone + (plan.stage_gpus() > 1 ? runtime.shared : 0.0);
}

EngineMemory engine_memory(const InferenceSetup& setup, const EnginePlan& plan, double capacity, const std::string& gpu,
                           std::int64_t tokens) {
  const Budget budget = budget_of(setup, plan, capacity);
  EngineMemory memory;
  memory.capacity = capacity;
  memory.weights = weight_bytes_on_gpu(setup, plan);
  memory.activations = activation_reserve(setup, plan);
  memory.runtime = runtime_bytes(setup, plan);
  memory.states = state_bytes_on_gpu(setup, plan);
  memory.usable = budget.before + budget.room();
  memory.block_bytes = kv_bytes_on_gpu(setup, plan) * static_cast<double>(setup.kv_cache.block);
  if (!holds(setup, plan, capacity, tokens)) {
    const double request = kv_bytes_on_gpu(setup, plan) * static_cast<double>(tokens);
    throw ConfigError(
        fmt::format("out of memory: an engine's GPU needs {} ({}, cache of one request of {} tokens {}), and {} has {} ({})\n"
                    "  note: what would fit: {}",
                    gigabytes(budget.need(request)), budget.parts, tokens, gigabytes(request), gpu, gigabytes(budget.have),
                    budget.text, remedies(setup, plan, capacity, gpu, tokens)));
  }
  const auto each = static_cast<std::int64_t>(budget.room() / memory.block_bytes);
  memory.blocks = each * plan.attention_data;
  memory.cache = static_cast<double>(each) * memory.block_bytes;
  return memory;
}

}  // namespace weft::work
