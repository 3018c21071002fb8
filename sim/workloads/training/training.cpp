#include "sim/workloads/training/training.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "sim/core/config/defaults.h"
#include "sim/core/error.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/rank_groups.h"
#include "sim/workloads/training/group_slots.h"
#include "sim/workloads/training/layer_operators.h"
#include "sim/workloads/training/stage_model.h"
#include "sim/workloads/training/stage_program.h"

namespace weft::work {
namespace {

std::unique_ptr<LayerOperators> make_operators(const TrainingSetup& setup) {
  const auto* framework = training_frameworks().find(setup.framework);
  if (framework == nullptr) throw ConfigError{training_frameworks().unknown(setup.framework)};
  return make_with_defaults(*framework);
}

std::unique_ptr<PipelineSchedule> make_schedule(const TrainingSetup& setup) {
  const ParallelPlan& plan = setup.plan;
  if (plan.pipeline == 1 && plan.virtual_stages == 1) return nullptr;
  if (pipeline_schedules().find(plan.schedule) == nullptr) throw ConfigError{pipeline_schedules().unknown(plan.schedule)};
  return make_pipeline_schedule(plan.schedule);
}

// The last position of the model is not on the first stage: in a V it is.
bool head_is_elsewhere(const TrainingSetup& setup, const PipelineSchedule* schedule) {
  if (schedule == nullptr) return false;
  const PipelineShape shape = pipeline_shape(setup.plan, setup.batch);
  return schedule->stage_at(shape, schedule->place(shape, 0, 0).positions - 1, 0) != 0;
}

// Hosts that the first expert group spans; the others lie alike, or rank 0's stands for them.
int expert_nodes(const ParallelPlan& plan, const net::Topology& topology) {
  if (plan.expert == 1) return 1;
  std::set<std::int32_t> hosts;
  for (const Rank rank : RankGrid{plan}.expert_group(0, std::array{Axis::kExpert})) {
    const auto index = static_cast<std::size_t>(plan.rank_map.empty() ? rank : plan.rank_map[static_cast<std::size_t>(rank)]);
    if (index < topology.endpoints().size()) hosts.insert(topology.host_of(topology.endpoints()[index]));
  }
  return static_cast<int>(hosts.size());
}

bool zero_is_3(const ParallelPlan& plan) {
  return plan.data_parallelism == DataParallelism::kFsdp || plan.data_parallelism == DataParallelism::kDeepSpeed2021;
}

}  // namespace

std::int64_t most_layers_of_a_chunk(const TrainingSetup& setup) {
  const auto schedule = make_schedule(setup);
  const PipelineShape shape = pipeline_shape(setup.plan, setup.batch);
  const std::vector<std::int64_t> layers = layers_by_position(setup.model, setup.plan, shape, schedule.get());
  return *std::max_element(layers.begin(), layers.end());
}

double recomputed_share(const TrainingSetup& setup) {
  if (setup.plan.recompute_layers == 0 || setup.plan.recompute_method == RecomputeMethod::kUniform) return 1;
  const auto schedule = make_schedule(setup);
  std::int64_t recomputed = 0;
  const PipelineShape shape = pipeline_shape(setup.plan, setup.batch);
  for (const std::int64_t layers : layers_by_position(setup.model, setup.plan, shape, schedule.get())) {
    recomputed += std::min(layers, setup.plan.recompute_layers);
  }
  return static_cast<double>(recomputed) / static_cast<double>(setup.model.layers);
}

double flops_saved_by_lora(const TrainingSetup& setup, double tokens) {
  if (setup.lora.rank == 0) return 0;
  TrainingSetup whole = setup;  // on one GPU
  whole.plan = {};
  double saved = head_forward_flops(setup.model, tokens);
  for (std::int64_t layer = 0; layer < setup.model.layers; ++layer) {
    const LayerFlops forward =
        layer_forward_flops(setup.model, layer, tokens, static_cast<double>(setup.batch.sequence), setup.convention);
    saved += forward.linear + forward.experts;
    for (const ParameterTensor& tensor : layer_tensors(whole, layer)) {
      saved -= 6 * tokens * static_cast<double>(tensor.trainable);
    }
  }
  return saved;
}

std::string training_refusal(const TrainingSetup& setup) {
  const ParallelPlan& plan = setup.plan;
  const Batch& batch = setup.batch;
  if (batch.micro <= 0 || batch.microbatches(plan) <= 0 || batch.global != batch.micro * plan.data * batch.microbatches(plan)) {
    return "the global batch of " + std::to_string(batch.global) + " sequences is not a whole number of microbatches of " +
           std::to_string(batch.micro) + " on each of " + std::to_string(plan.data) + " replicas";
  }
  if (const std::string kind = irregularity(setup.model); !kind.empty()) {
    return "training has no operators for " + kind + "; 'weft check' and serving read such a model";
  }
  if (batch.sequence % plan.context != 0) return "the sequence does not divide by the context-parallel ranks";
  if (setup.model.heads % plan.tensor != 0) return "the heads do not divide by the tensor-parallel ranks";
  if (setup.model.moe.experts % plan.expert != 0) return "the experts do not divide by the expert-parallel ranks";
  if (plan.fsdp_shard > 0 && (plan.data * plan.context) % plan.fsdp_shard != 0) {
    return "fsdp_shard does not divide the data-parallel ranks";
  }
  if (plan.data_parallelism == DataParallelism::kDeepSpeed2021 &&
      (setup.model.moe.experts > 0 || plan.pipeline > 1 || plan.tensor > 1)) {
    return "deepspeed_2021 shards dense models over all ranks: no experts, pipeline or tensor parallelism";
  }
  if (plan.data_parallelism == DataParallelism::kDeepSpeed2021 && (plan.recompute_layers > 0 || plan.recompute_as_needed)) {
    return "deepspeed_2021 gathers for the recomputation of every layer: no recompute_layers, nor recompute: as_needed";
  }
  if (plan.recompute_method == RecomputeMethod::kUniform &&
      (setup.framework != "megatron" || plan.data_parallelism == DataParallelism::kFsdp)) {
    return "recompute_method: uniform is Megatron's, and without fsdp, which gathers layer by layer";
  }
  if (setup.stage_times && zero_is_3(plan)) return "stage_times stand for layers, and fsdp gathers around each of them";
  if (setup.stage_times && plan.recompute != Recompute::kNone) return "stage_times hold their recomputation: no recompute";
  const auto schedule = make_schedule(setup);
  if (schedule != nullptr) {
    if (const std::string reason = schedule->refusal(pipeline_shape(plan, batch)); !reason.empty()) return reason;
    if (plan.overlap_expert && plan.expert > 1 && plan.data_parallelism == DataParallelism::kFsdp) {
      return "overlap_expert runs two passes at once, and fsdp gathers for one";
    }
    if (schedule->splits_backward() && plan.data_parallelism == DataParallelism::kFsdp) {
      return "fsdp gathers a unit once for its whole backward pass, and " + plan.schedule + " cuts that in two";
    }
  }
  return make_operators(setup)->refusal(setup);
}

Program training_program(const TrainingSetup& asked, const KernelTimes& times, const net::Topology& topology, bool fold) {
  if (const std::string reason = training_refusal(asked); !reason.empty()) throw ConfigError{reason};
  TrainingSetup setup = asked;
  setup.expert_nodes = expert_nodes(setup.plan, topology);
  const auto operators = make_operators(setup);
  const auto schedule = make_schedule(setup);
  const GroupSlots slots{setup.plan, setup.model.tied_embedding && head_is_elsewhere(setup, schedule.get())};
  Program program;
  for (int stage = 0; stage < setup.plan.pipeline; ++stage) {
    program.programs.push_back(StageProgram{setup, times, slots, *operators, schedule.get(), stage}.write());
  }
  fill_rank_tables(setup.plan, slots, topology.endpoints(), fold, program);
  return program;
}

}  // namespace weft::work
