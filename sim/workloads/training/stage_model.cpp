#include "sim/workloads/training/stage_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/error.h"
#include "sim/core/portable_math.h"
#include "sim/core/whole_numbers.h"
#include "sim/workloads/kernels/experts.h"
#include "sim/workloads/model/messages.h"
#include "sim/workloads/model/parameters.h"

namespace weft::work {
namespace {

std::vector<std::int64_t> layers_by_stage(const TransformerModel& model, const ParallelPlan& plan) {
  const auto p = static_cast<std::size_t>(plan.pipeline);
  std::vector<std::int64_t> layers(p, 0);
  std::int64_t left = model.layers;
  std::size_t free_stages = p;
  const auto fix = [&](std::size_t stage, std::int64_t count) {
    if (count < 0 || p == 1) return;
    layers[stage] = count;
    left -= count;
    --free_stages;
  };
  fix(0, plan.first_stage_layers);
  fix(p - 1, plan.last_stage_layers);
  if (left < 0 || (free_stages == 0 && left != 0)) throw ConfigError{"the stages' layers do not add up to the model's"};
  std::size_t seen = 0;
  for (std::size_t stage = 0; stage < p; ++stage) {
    const bool fixed =
        p > 1 && ((stage == 0 && plan.first_stage_layers >= 0) || (stage == p - 1 && plan.last_stage_layers >= 0));
    if (fixed) continue;
    const auto n = static_cast<std::int64_t>(free_stages);
    layers[stage] = left / n + (static_cast<std::int64_t>(seen++) < left % n ? 1 : 0);
  }
  return layers;
}

// Adapters of one matrix of in x out elements, sharded like it: A (r x in) and B (out x r), one of them sharded.
std::int64_t adapter(const TrainingSetup& setup, std::string_view target, std::int64_t in, std::int64_t out) {
  const auto& targets = setup.lora.targets;
  return std::find(targets.begin(), targets.end(), target) == targets.end() ? 0 : setup.lora.rank * (in + out);
}

// Returns how many of a token's copies are sent to some node and not made there.
double copies_that_travel(const TrainingSetup& setup) {
  const MixtureOfExperts& moe = setup.model.moe;
  const bool is_limited = moe.groups_per_token > 0;
  const ExpertDispatch dispatch = setup.expert_load.dispatch;
  const bool per_node = dispatch == ExpertDispatch::kPerNode || (dispatch == ExpertDispatch::kAsRouted && is_limited);
  if (!per_node || setup.expert_nodes <= 1) return 1;
  const std::int64_t visited =
      is_limited ? std::min<std::int64_t>(moe.groups_per_token, setup.expert_nodes) : setup.expert_nodes;
  const auto nodes = static_cast<double>(visited);
  const auto picks = static_cast<double>(moe.experts_per_token);
  return expected_nodes(nodes, picks) / picks;
}

// Returns the most loaded rank's tokens over the mean, of what capacity leaves.
double most_loaded(const TrainingSetup& setup, std::int64_t tokens) {
  const ExpertLoad& load = setup.expert_load;
  const MixtureOfExperts& moe = setup.model.moe;
  if (load.power_law <= 0) {
    // A search of plans tries groups of fewer ranks than the one that was given.
    const double imbalance = std::min(load.imbalance, most_imbalance(setup.plan.expert, moe.experts, moe.experts_per_token));
    return load.capacity_factor > 0 ? std::min(imbalance, load.capacity_factor) : imbalance;
  }
  const double mean = static_cast<double>(tokens * moe.experts_per_token);
  const double most = drawn_expert_load(setup, tokens).rows / mean;
  return load.capacity_factor > 0 ? most : std::max(1.0, most);
}

}  // namespace

std::vector<std::int64_t> layers_by_position(const TransformerModel& model, const ParallelPlan& plan,
                                             const PipelineShape& shape, const PipelineSchedule* schedule) {
  std::vector<std::int64_t> stages = layers_by_stage(model, plan);
  const int p = plan.pipeline;
  const int positions = schedule == nullptr ? 1 : schedule->place(shape, 0, 0).positions;
  if (positions == p) return stages;
  WEFT_CHECK(positions % p == 0);
  const int v = positions / p;
  const int head_stage = schedule->stage_at(shape, positions - 1, 0);
  std::vector<std::int64_t> layers(static_cast<std::size_t>(positions));
  for (int position = 0; position < positions; ++position) {
    const int stage = schedule->stage_at(shape, position, 0);
    const int chunk = position / p;
    const std::int64_t all = stages[static_cast<std::size_t>(stage)];
    const std::int64_t rest = all % v;
    const bool gets_one = stage == head_stage && stage != 0 ? chunk < rest : chunk >= v - rest;
    layers[static_cast<std::size_t>(position)] = all / v + (gets_one ? 1 : 0);
  }
  return layers;
}

StageModel stage_model(const TrainingSetup& setup, const PipelineSchedule* schedule, int stage) {
  const PipelineShape shape = pipeline_shape(setup.plan, setup.batch);
  const std::vector<std::int64_t> layers = layers_by_position(setup.model, setup.plan, shape, schedule);
  const int chunks = schedule == nullptr ? 1 : schedule->chunks(shape);
  StageModel result{.stage = stage, .chunks = {}};
  for (int c = 0; c < chunks; ++c) {
    const ChunkPlace place = schedule == nullptr ? ChunkPlace{} : schedule->place(shape, stage, c);
    StageChunk chunk{.position = place.position, .positions = place.positions};
    for (int i = 0; i < place.position; ++i) chunk.first += layers[static_cast<std::size_t>(i)];
    chunk.last = chunk.first + layers[static_cast<std::size_t>(place.position)];
    chunk.has_embedding = place.position == 0;
    chunk.has_head = place.position == place.positions - 1;
    result.chunks.push_back(chunk);
  }
  return result;
}

std::vector<ParameterTensor> layer_tensors(const TrainingSetup& setup, std::int64_t layer) {
  const TransformerModel& model = setup.model;
  const LayerParameters all = layer_parameters(model, layer);
  const std::int64_t t = setup.plan.tensor;
  const std::int64_t h = model.hidden;
  const bool lora = setup.lora.rank > 0;
  std::vector<ParameterTensor> tensors;
  const auto add = [&](TensorKind kind, std::int64_t held, std::int64_t adapters) {
    if (held > 0) tensors.push_back({.kind = kind, .layer = layer, .held = held, .trainable = lora ? adapters : held});
  };
  const std::int64_t matrices = model.gated_mlp ? 3 : 2;
  // Inner norms and norms of queries and keys are counted with the block norms; one that is shared counts whole with the first.
  const std::int64_t mlp_norm = model.parallel_block ? 0 : (model.norm == NormKind::kLayerNorm ? 2 * h : h);
  add(TensorKind::kAttentionNorm, all.norms - mlp_norm, 0);
  add(TensorKind::kMlpNorm, mlp_norm, 0);
  // Biases of column-parallel matrices are sharded with them. Where there are fewer key/value heads than ranks, each has one.
  const std::int64_t qkv_out = RankShapes{setup}.qkv_width;
  const std::int64_t qkv = model.attention == AttentionKind::kLatent ? all.qkv / t + all.latent : h * qkv_out;
  const std::int64_t qkv_bias = model.linear_bias || model.qkv_bias ? qkv_out : 0;
  const std::int64_t up_out = (matrices - 1) * model.ffn;
  const bool moe = model.is_moe_layer(layer);
  add(TensorKind::kQkv, qkv + qkv_bias, adapter(setup, "qkv", h, qkv_out));
  add(TensorKind::kProj, all.proj / t + (model.linear_bias ? h : 0), adapter(setup, "proj", all.proj / h / t, h));
  if (!moe) {
    const std::int64_t up = all.mlp / matrices * (matrices - 1);
    add(TensorKind::kUp, up / t + (model.linear_bias ? up_out / t : 0), adapter(setup, "fc1", h, up_out / t));
    add(TensorKind::kDown, (all.mlp - up) / t + (model.linear_bias ? h : 0), adapter(setup, "fc2", model.ffn / t, h));
    return tensors;
  }
  const std::int64_t shards = setup.plan.expert * setup.plan.expert_tensor_size();
  const std::int64_t shared_up = all.mlp / matrices * (matrices - 1);
  const std::int64_t expert_up = all.experts / matrices * (matrices - 1);
  add(TensorKind::kSharedUp, shared_up / t, 0);
  add(TensorKind::kSharedDown, (all.mlp - shared_up) / t, 0);
  add(TensorKind::kExpertUp, expert_up / shards, 0);
  add(TensorKind::kExpertDown, (all.experts - expert_up) / shards, 0);
  add(TensorKind::kRouter, all.router, 0);
  return tensors;
}

std::vector<std::vector<ParameterTensor>> stage_tensors(const TrainingSetup& setup, const StageModel& stage,
                                                        bool replicated_vocabulary) {
  const TransformerModel& model = setup.model;
  const std::int64_t t = replicated_vocabulary ? 1 : setup.plan.tensor;
  const std::int64_t vocab = replicated_vocabulary ? model.vocab : padded_vocab(model.vocab, setup.plan.tensor);
  const bool lora = setup.lora.rank > 0;
  std::vector<std::vector<ParameterTensor>> chunks;
  for (const StageChunk& chunk : stage.chunks) {
    std::vector<ParameterTensor>& tensors = chunks.emplace_back();
    const auto add = [&](TensorKind kind, std::int64_t held) {
      if (held > 0) tensors.push_back({.kind = kind, .layer = -1, .held = held, .trainable = lora ? 0 : held});
    };
    if (chunk.has_embedding) add(TensorKind::kEmbedding, (vocab + model.learned_positions) * model.hidden / t);
    for (std::int64_t layer = chunk.first; layer < chunk.last; ++layer) {
      for (const ParameterTensor& tensor : layer_tensors(setup, layer)) tensors.push_back(tensor);
    }
    if (!chunk.has_head) continue;
    add(TensorKind::kFinalNorm, final_norm_parameters(model));
    // A tied head is the embedding; where that lies on another stage, a copy.
    if (!model.tied_embedding || !stage.has_embedding()) add(TensorKind::kHead, vocab * model.hidden / t);
  }
  return chunks;
}

bool StageModel::has_embedding() const {
  return std::any_of(chunks.begin(), chunks.end(), [](const StageChunk& chunk) { return chunk.has_embedding; });
}
bool StageModel::has_head() const {
  return std::any_of(chunks.begin(), chunks.end(), [](const StageChunk& chunk) { return chunk.has_head; });
}

StageParameters count(const std::vector<ParameterTensor>& tensors, bool trainable) {
  StageParameters sum;
  for (const ParameterTensor& tensor : tensors) {
    (tensor.is_expert() ? sum.experts : sum.dense) += trainable ? tensor.trainable : tensor.held;
  }
  return sum;
}

RankShapes::RankShapes(const TrainingSetup& setup) {
  const TransformerModel& model = setup.model;
  const ParallelPlan& plan = setup.plan;
  sequences = setup.batch.micro;
  sequence = setup.batch.sequence / plan.context;
  tokens = sequences * sequence;
  norm_tokens = plan.sequence_parallel ? tokens / plan.tensor : tokens;
  hidden = model.hidden;
  heads = model.heads / plan.tensor;
  kv_heads = std::max<std::int64_t>(1, model.kv_heads / plan.tensor);
  attention_width = heads * model.value_dim();
  qkv_width = model.attention == AttentionKind::kLatent ? heads * (2 * model.score_dim() + model.value_dim())
                                                        : (heads + 2 * kv_heads) * model.head_dim;
  ffn = model.ffn / plan.tensor;
  vocab = padded_vocab(model.vocab, plan.tensor) / plan.tensor;
  width = bytes_per_element(setup.precision.activations);
}

double expected_nodes(double nodes, double picks) { return nodes * (1 - portable_pow(1 - 1 / nodes, picks)); }

ExpertVisits drawn_expert_load(const TrainingSetup& setup, std::int64_t tokens) {
  const MixtureOfExperts& moe = setup.model.moe;
  const ExpertLoad& load = setup.expert_load;
  const double capacity = load.capacity_factor > 0 ? load.capacity_factor : std::numeric_limits<double>::infinity();
  return heaviest_expert_load(static_cast<double>(tokens * setup.plan.expert), static_cast<double>(moe.experts_per_token),
                              moe.experts, setup.plan.expert, load.power_law, capacity);
}

ExpertShapes::ExpertShapes(const TrainingSetup& setup) {
  const MixtureOfExperts& moe = setup.model.moe;
  const ParallelPlan& plan = setup.plan;
  const RankShapes shapes{setup};
  if (moe.experts == 0) return;
  tokens = shapes.norm_tokens;
  local_experts = moe.experts / plan.expert;
  copies = tokens * moe.experts_per_token;
  const double load = most_loaded(setup, tokens);
  if (setup.expert_load.capacity_factor > 0 && setup.expert_load.pads_to_capacity) {
    // Padded to the capacity of every expert (models/workloads §2.7).
    const auto capacity = static_cast<std::int64_t>(
        std::ceil(setup.expert_load.capacity_factor * static_cast<double>(copies) / static_cast<double>(moe.experts)));
    sent = moe.experts * capacity;
  } else {
    sent = static_cast<std::int64_t>(std::llround(static_cast<double>(copies) * load));
  }
  // e ranks send 1/e of what they have each, and t_e ranks gather before they compute.
  per_expert = ceil_div(sent * plan.expert_tensor_size(), local_experts);
  ffn = moe.expert_ffn / plan.expert_tensor_size();
  shared_ffn = moe.shared_experts * moe.expert_ffn / plan.tensor;
  const auto wire = [&](Precision precision) {
    const double routed = static_cast<double>(sent) / static_cast<double>(moe.experts_per_token);
    const double bytes = expert_message_bytes(setup.model, routed, precision).total();
    return Bytes{static_cast<std::int64_t>(bytes * copies_that_travel(setup))};
  };
  dispatch = wire(setup.precision.dispatch);
  combine = wire(setup.precision.combine);
}

}  // namespace weft::work
