// Checks model, plan and batch against each other; declared in plan_reader.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/plan_reader.h"
#include "sim/workloads/parallel/rank_groups.h"

namespace weft::work {
namespace {

class PlanCheck {
 public:
  PlanCheck(const ConfigNode& workload, const TransformerModel& model, const ParallelPlan& plan, const Batch& batch,
            Diagnostics& diagnostics)
      : workload_{workload}, model_{model}, plan_{plan}, batch_{batch}, diagnostics_{diagnostics} {}

  void tensor();
  void experts();
  void pipeline();
  void context();
  void data();
  void ranks(std::size_t endpoints);

 private:
  // At the value of a key of a section; where it is absent, at the section or the workload.
  [[nodiscard]] Diagnostic at(std::string_view section, std::string_view key, std::string_view message,
                              std::string note) const {
    const std::optional<ConfigNode> map = workload_.find(section);
    const std::string path = map ? map->child_path(key) : workload_.child_path(section) + "." + std::string{key};
    std::string text = path + ": " + std::string{message};
    if (!map) return workload_.key_diagnostic(std::move(text), std::move(note));
    const std::optional<ConfigNode> value = map->find(key);
    return value ? value->diagnostic(std::move(text), std::move(note)) : map->key_diagnostic(std::move(text), std::move(note));
  }
  void error(std::string_view key, std::string_view message, std::string note = {}) {
    diagnostics_.error(at("parallelism", key, message, std::move(note)));
  }
  void batch_error(std::string_view key, std::string_view message, std::string note = {}) {
    diagnostics_.error(at("batch", key, message, std::move(note)));
  }
  // An error at `key` unless `count` of `what` split evenly over `parts`: as the text says, "tensor 8".
  void divides(std::string_view key, std::int64_t count, std::string_view what, std::int64_t parts, std::string_view over) {
    if (count % parts != 0) error(key, fmt::format("{} {} do not divide evenly over {}", count, what, over));
  }
  [[nodiscard]] std::int64_t sequences_at_once() const { return batch_.micro * plan_.data; }

  void kv_heads();
  void layers(const PipelineSchedule& schedule, const PipelineShape& shape);
  void rank_map(std::size_t endpoints);

  const ConfigNode& workload_;
  const TransformerModel& model_;
  const ParallelPlan& plan_;
  const Batch& batch_;
  Diagnostics& diagnostics_;
};

void PlanCheck::tensor() {
  const int t = plan_.tensor;
  const std::string over = fmt::format("tensor {}", t);
  divides("tensor", model_.heads, "heads", t, over);
  const bool has_dense_layers = model_.moe.experts == 0 || model_.moe.dense_layers > 0;
  if (has_dense_layers) divides("tensor", model_.ffn, "columns of the MLP", t, over);
  const std::int64_t shared = model_.moe.shared_experts * model_.moe.expert_ffn;
  if (model_.moe.experts > 0) divides("tensor", shared, "columns of the shared experts", t, over);
  kv_heads();
  const std::int64_t local = batch_.sequence / plan_.context;
  if (plan_.sequence_parallel && local % t != 0) {
    error("sequence_parallel",
          fmt::format("{} tokens of a sequence per context rank do not divide evenly over tensor {}", local, t));
  }
  if (plan_.overlap_tensor && t > 1 && !plan_.sequence_parallel) {
    error("overlap_tensor", "overlaps the all-gathers and reduce-scatters of sequence_parallel, which is off");
  }
}

// Fewer than there are tensor ranks: each rank keeps a copy of one.
void PlanCheck::kv_heads() {
  const std::int64_t kv = model_.kv_heads;
  if (model_.attention != AttentionKind::kGrouped || kv == 0 || kv % plan_.tensor == 0) return;
  if (plan_.tensor % kv != 0) {
    error("tensor",
          fmt::format("{} key/value heads neither divide evenly over tensor {} nor repeat evenly in it", kv, plan_.tensor));
    return;
  }
  diagnostics_.warning(
      at("parallelism", "tensor",
         fmt::format("{} key/value heads on tensor {}: each is kept by {} ranks", kv, plan_.tensor, plan_.tensor / kv), {}));
}

void PlanCheck::experts() {
  const MixtureOfExperts& moe = model_.moe;
  if (moe.experts == 0) {
    const std::string why = fmt::format("'{}' has no experts", model_.name);
    if (plan_.expert > 1) error("expert", why);
    if (plan_.expert_tensor > 0 && plan_.expert_tensor != plan_.tensor) error("expert_tensor", why);
    return;
  }
  const int t_e = plan_.expert_tensor_size();
  divides("expert", moe.experts, "experts", plan_.expert, fmt::format("expert {}", plan_.expert));
  divides(plan_.expert_tensor > 0 ? "expert_tensor" : "tensor", moe.expert_ffn, "columns of an expert", t_e,
          fmt::format("expert_tensor {}", t_e));
}

void PlanCheck::pipeline() {
  if (pipeline_schedules().find(plan_.schedule) == nullptr) {
    error("schedule", pipeline_schedules().unknown(plan_.schedule), pipeline_schedules().note(plan_.schedule));
    return;
  }
  const std::unique_ptr<PipelineSchedule> schedule = make_pipeline_schedule(plan_.schedule);
  const PipelineShape shape = pipeline_shape(plan_, batch_);
  // A batch that does not divide has no number of microbatches, see data().
  const std::string why = batch_.global % sequences_at_once() == 0 ? schedule->refusal(shape) : std::string{};
  if (!why.empty()) {
    error("schedule", why);
    return;
  }
  layers(*schedule, shape);
}

// The stages that the plan gives a number of layers have that many, the others an even share, each chunk the same.
void PlanCheck::layers(const PipelineSchedule& schedule, const PipelineShape& shape) {
  const int p = plan_.pipeline;
  const int positions = schedule.place(shape, 0, 0).positions;
  const int chunks = positions / p;
  std::int64_t left = model_.layers;
  int stages = p;
  for (const auto& [key, count] :
       {std::pair{"first_stage_layers", plan_.first_stage_layers}, {"last_stage_layers", plan_.last_stage_layers}}) {
    if (count < 0) continue;
    if (p == 1) return error(key, "there is one stage only, and it holds all layers");
    if (schedule.stage_at(shape, positions - 1, 0) == 0)
      return error(key, fmt::format("the first stage of {} is also its last", plan_.schedule));
    // One chunk of either stage may hold the embedding, or the head, alone.
    if (count < chunks - 1) return error(key, fmt::format("{} layers are too few for the {} chunks of a stage", count, chunks));
    left -= count;
    --stages;
  }
  if (stages < p && (left < std::int64_t{stages} * chunks || (stages == 0 && left > 0))) {
    return error("pipeline",
                 fmt::format("first_stage_layers and last_stage_layers leave {} of {} layers for the other {} stages", left,
                             model_.layers, stages));
  }
  if (stages == 0) return;
  std::string over = stages == p ? fmt::format("pipeline {}", p) : fmt::format("the other {} stages", stages);
  if (chunks > 1) over += fmt::format(" x {} chunks", chunks);
  divides(chunks > 1 ? "virtual_stages" : "pipeline", left, "layers", static_cast<std::int64_t>(stages) * chunks, over);
}

void PlanCheck::context() {
  const int c = plan_.context;
  const std::int64_t s = batch_.sequence;
  if (model_.learned_positions > 0 && s > model_.learned_positions) {
    batch_error("sequence", fmt::format("{} tokens are more than the {} positions '{}' has learned", s,
                                        model_.learned_positions, model_.name));
  }
  if (c == 1) return;
  if (plan_.context_kind != ContextKind::kUlysses) {
    // Rank r holds chunks r and 2c - 1 - r, so that all have the same share of the causal mask (models/workloads §2.5).
    if (s % (2 * c) != 0)
      error("context", fmt::format("a sequence of {} does not divide evenly into 2 x context = {} chunks", s, 2 * c));
    return;
  }
  if (s % c != 0) error("context", fmt::format("a sequence of {} does not divide evenly over context {}", s, c));
  const std::int64_t heads = model_.heads / plan_.tensor;
  const std::int64_t kv = std::max<std::int64_t>(model_.kv_heads / plan_.tensor, 1);
  if (heads % c != 0 || (kv % c != 0 && c % kv != 0))
    error("context", fmt::format("ulysses gives each context rank whole heads; {} with {} key/value heads per tensor rank do "
                                 "not divide evenly over context {}",
                                 heads, kv, c));
}

void PlanCheck::data() {
  if (batch_.global % sequences_at_once() != 0) {
    batch_error("global", fmt::format("{} sequences do not divide evenly into micro {} x data {} = {}", batch_.global,
                                      batch_.micro, plan_.data, sequences_at_once()));
  }
  const int replicas = plan_.data * plan_.context;
  if (plan_.fsdp_shard > 0 && replicas % plan_.fsdp_shard != 0) {
    error("fsdp_shard",
          fmt::format("shards of {} ranks do not divide data {} x context {}", plan_.fsdp_shard, plan_.data, plan_.context));
  }
}

void PlanCheck::ranks(std::size_t endpoints) {
  const auto world = static_cast<std::size_t>(plan_.world());
  if (endpoints > 0 && world > endpoints) {
    const std::string message =
        fmt::format("needs {} GPUs (tensor {} x pipeline {} x data {} x context {}), the cluster has {}", world, plan_.tensor,
                    plan_.pipeline, plan_.data, plan_.context, endpoints);
    const std::optional<ConfigNode> map = workload_.find("parallelism");
    diagnostics_.error((map ? *map : workload_).key_diagnostic(workload_.child_path("parallelism") + ": " + message));
  }
  if (const std::string problem = grid_problem(plan_); !problem.empty()) {
    const std::int64_t shards = static_cast<std::int64_t>(plan_.expert_tensor_size()) * plan_.expert * plan_.pipeline;
    error(plan_.world() % shards == 0 ? "order" : "expert", problem);
  }
  rank_map(endpoints);
}

void PlanCheck::rank_map(std::size_t endpoints) {
  const std::vector<std::int32_t>& map = plan_.rank_map;
  if (map.empty()) return;
  if (map.size() != static_cast<std::size_t>(plan_.world()))
    return error("rank_map", fmt::format("names {} endpoints for {} ranks", map.size(), plan_.world()));
  std::vector<std::int32_t> sorted = map;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    error("rank_map", fmt::format("names endpoint {} twice", *twice));
  if (endpoints > 0 && static_cast<std::size_t>(sorted.back()) >= endpoints) {
    error("rank_map", fmt::format("names endpoint {}, the cluster has {} (0 to {})", sorted.back(), endpoints, endpoints - 1));
  }
}

}  // namespace

void check_plan(const ConfigNode& workload, const TransformerModel& model, const ParallelPlan& plan, const Batch& batch,
                std::size_t ranks, Diagnostics& diagnostics) {
  PlanCheck check{workload, model, plan, batch, diagnostics};
  check.ranks(ranks);
  check.tensor();
  check.context();
  check.experts();
  check.pipeline();
  check.data();
}

}  // namespace weft::work
