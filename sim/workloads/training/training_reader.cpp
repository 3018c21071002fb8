#include "sim/workloads/training/training_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/workloads/kernels/experts.h"
#include "sim/workloads/model/model_reader.h"
#include "sim/workloads/parallel/plan_reader.h"
#include "sim/workloads/training/layer_operators.h"
#include "sim/workloads/training/storage_reader.h"

namespace weft::work {
namespace {

void read_optimizer(ParamReader& workload, TrainingSetup& setup) {
  ParamReader optimizer = workload.map_or_empty("optimizer");
  setup.optimizer = optimizer.choice<OptimizerKind>(
      "type",
      {{"adam_fused", OptimizerKind::kAdamFused}, {"adam_foreach", OptimizerKind::kAdamForeach}, {"sgd", OptimizerKind::kSgd}},
      OptimizerKind::kAdamFused);
  setup.clip_grad_norm = optimizer.optional<bool>("clip_grad_norm", true);
  setup.momentum = optimizer.optional<bool>("momentum", false);
  if (setup.momentum && setup.optimizer != OptimizerKind::kSgd) {
    optimizer.error("momentum", "is SGD's", "adam_fused and adam_foreach have two moments");
  }
  optimizer.finish();
}

void read_experts(ParamReader& workload, TrainingSetup& setup) {
  std::optional<ParamReader> experts = workload.optional_map("experts");
  if (!experts) return;
  setup.expert_load.imbalance = experts->optional<double>("imbalance", 1.0, at_least(1.0));
  setup.expert_load.power_law = experts->optional<double>("power_law", 0.0, at_least(0.0));
  setup.expert_load.dispatch = experts->choice<ExpertDispatch>("dispatch",
                                                               {{"as_routed", ExpertDispatch::kAsRouted},
                                                                {"per_expert", ExpertDispatch::kPerExpert},
                                                                {"per_node", ExpertDispatch::kPerNode}},
                                                               ExpertDispatch::kAsRouted);
  setup.expert_load.capacity_factor = experts->optional<double>("capacity_factor", 0.0, at_least(0.0));
  setup.expert_load.pads_to_capacity = experts->optional<bool>("pad_to_capacity", true);
  const bool is_padded = setup.expert_load.capacity_factor > 0 && setup.expert_load.pads_to_capacity;
  for (const std::string_view key : {"imbalance", "power_law"}) {
    if (!is_padded || !experts->has(key)) continue;
    experts->error(key, "with a capacity factor every expert is padded to its capacity, whatever it is sent",
                   "pad_to_capacity: false drops what is above it, and pads nothing");
  }
  if (experts->has("pad_to_capacity") && setup.expert_load.capacity_factor <= 0) {
    experts->error("pad_to_capacity", "belongs to capacity_factor");
  }
  if (experts->has("imbalance") && experts->has("power_law")) {
    experts->error("power_law", "stands beside 'imbalance'", "the law says how much the busiest rank has");
  }
  if (setup.expert_load.power_law > kSteepestPowerLaw) {
    experts->error("power_law", std::string{kTooSteepPowerLaw}, "for a less even load give 'imbalance'");
  }
  const MixtureOfExperts& moe = setup.model.moe;
  if (moe.experts == 0) {
    experts->error_here("the model has no experts");
  } else if (const double most = most_imbalance(setup.plan.expert, moe.experts, moe.experts_per_token);
             setup.expert_load.imbalance > most) {
    experts->error("imbalance", fmt::format("expected at most {:g}, got {:g}", most, setup.expert_load.imbalance),
                   fmt::format("{} rank{} share {} experts, and a token chooses {}: its heaviest rank has no more",
                               setup.plan.expert, setup.plan.expert == 1 ? "" : "s", moe.experts, moe.experts_per_token));
  }
  experts->finish();
}

// A time for all stages, or a list of one for all or of one a stage.
std::vector<Duration> read_times(ParamReader& times, std::string_view key, int stages) {
  if (const std::optional<ConfigNode> node = times.node().find(key); node && node->is_scalar()) {
    return {times.required<Duration>(key)};
  }
  const std::vector<Duration> read = times.list<Duration>(key);
  if (read.size() > 1 && read.size() != static_cast<std::size_t>(stages)) {
    times.error(
        key, "expected one time, or one for each of " + std::to_string(stages) + " stages, got " + std::to_string(read.size()));
  }
  return read;
}

void read_stage_times(ParamReader& workload, TrainingSetup& setup) {
  std::optional<ParamReader> times = workload.optional_map("stage_times");
  if (!times) return;
  StageTimes read{.forward = read_times(*times, "forward", setup.plan.pipeline),
                  .backward = read_times(*times, "backward", setup.plan.pipeline),
                  .weight = read_times(*times, "weight", setup.plan.pipeline)};
  for (const std::string_view key : {"forward", "backward"}) {
    const std::optional<ConfigNode> node = times->node().find(key);
    if (!node || (node->is_list() && node->size() == 0)) {
      times->error_here("'" + std::string{key} + "' is needed: a time, or a list of one a stage");
    }
  }
  times->finish();
  setup.stage_times = std::move(read);
}

void read_lora(ParamReader& workload, TrainingSetup& setup) {
  static constexpr std::array<std::string_view, 4> kTargets = {"qkv", "proj", "fc1", "fc2"};
  std::optional<ParamReader> lora = workload.optional_map("lora");
  if (!lora) return;
  setup.lora.rank = lora->required<std::int64_t>("rank", between(1, 65'536));
  setup.lora.targets = lora->required_list<std::string>("targets");
  for (const std::string& target : setup.lora.targets) {
    if (std::find(kTargets.begin(), kTargets.end(), target) == kTargets.end()) {
      lora->error("targets", "unknown matrix '" + target + "'", "choices: fc1, fc2, proj, qkv");
    }
  }
  lora->finish();
}

void read_graphs(ParamReader& workload, TrainingSetup& setup) {
  setup.cuda_graph = workload.optional<bool>("cuda_graph", false);
  const std::vector<std::string> modules = workload.list<std::string>("cuda_graph_modules");
  for (const std::string& module : modules) {
    if (module != "attention" && module != "router") {
      workload.error("cuda_graph_modules", "unknown module '" + module + "'", "choices: attention, router");
    }
    (module == "attention" ? setup.graphs.attention : setup.graphs.router) = true;
  }
  if (modules.empty()) return;
  if (setup.cuda_graph) workload.error("cuda_graph_modules", "stands beside 'cuda_graph', which has all modules");
  if (setup.framework != "megatron") workload.error("cuda_graph_modules", "are those of framework: megatron");
  if (setup.graphs.router && setup.model.moe.experts == 0) {
    workload.error("cuda_graph_modules", "has 'router', and the model has no experts");
  }
}

void read_transformer_impl(ParamReader& workload, TrainingSetup& setup) {
  const bool is_given = workload.has("transformer_impl");
  setup.transformer_impl = workload.choice<TransformerImpl>(
      "transformer_impl", {{"transformer_engine", TransformerImpl::kTransformerEngine}, {"local", TransformerImpl::kLocal}},
      setup.flash_attention ? TransformerImpl::kTransformerEngine : TransformerImpl::kLocal);
  if (is_given && setup.framework != "megatron") {
    workload.error("transformer_impl", "is for framework: megatron, got " + setup.framework);
  } else if (setup.transformer_impl == TransformerImpl::kTransformerEngine && !setup.flash_attention) {
    workload.error("transformer_impl", "with flash_attention: false kernels are those of 'local'");
  }
}

// torchtitan named FlashAttention-2 first on Hopper, or left it to PyTorch, which took it up to its release 2.9 (pytorch issues
// 141133 and 142132; torchtitan pull request 1196). PyTorch 2.11 takes cuDNN's on Hopper
// (validate/measured/h100x2_hf_steps.json).
AttentionKernels usual_attention(const TrainingSetup& setup) {
  return setup.framework == "pytorch_compile" ? AttentionKernels::kFlash2 : AttentionKernels::kCudnn;
}

// Layers and microbatches are tags of 16 bits.
constexpr std::int64_t kMaxTag = std::numeric_limits<std::int16_t>::max();

}  // namespace

TrainingSetup read_training(ParamReader& workload, std::size_t ranks) {
  Diagnostics& diagnostics = workload.diagnostics();
  const std::size_t errors_before = diagnostics.errors().size();
  TrainingSetup setup;
  setup.model = read_model(workload.raw("model"), diagnostics);
  const std::span<const std::string> frameworks = training_frameworks().names();
  setup.framework = workload.choice("framework", {frameworks.begin(), frameworks.end()}, "megatron");
  ParamReader parallelism = workload.map_or_empty("parallelism");
  const bool says_data = parallelism.has("data_parallelism") || parallelism.has("zero");
  setup.plan = read_plan(parallelism);
  if (!says_data && setup.framework == "megatron") setup.plan.data_parallelism = DataParallelism::kMegatron;
  ParamReader batch = workload.map("batch");
  setup.batch = read_batch(batch);
  ParamReader precision = workload.map_or_empty("precision");
  setup.precision = read_precision(precision);
  read_optimizer(workload, setup);
  read_experts(workload, setup);
  read_stage_times(workload, setup);
  read_lora(workload, setup);
  read_storage(workload, setup);
  setup.convention = workload.choice<FlopConvention>("convention",
                                                     {{"causal", FlopConvention::kCausalAttention},
                                                      {"full", FlopConvention::kFullAttention},
                                                      {"six_n", FlopConvention::kSixN}},
                                                     FlopConvention::kCausalAttention);
  read_graphs(workload, setup);
  setup.fused_loss = workload.optional<bool>("fused_loss", !setup.framework.starts_with("huggingface"));
  setup.flash_attention = workload.optional<bool>("flash_attention", true);
  read_transformer_impl(workload, setup);
  setup.attention = workload.choice<AttentionKernels>(
      "attention", {{"cudnn", AttentionKernels::kCudnn}, {"flash2", AttentionKernels::kFlash2}}, usual_attention(setup));
  if (diagnostics.errors().size() != errors_before) return setup;
  check_plan(workload.node(), setup.model, setup.plan, setup.batch, ranks, diagnostics);
  if (diagnostics.errors().size() != errors_before) return setup;
  if (setup.batch.microbatches(setup.plan) > kMaxTag || setup.model.layers > kMaxTag) {
    workload.error_here("more than " + std::to_string(kMaxTag) + " layers or microbatches");
    return setup;
  }
  if (const std::string reason = training_refusal(setup); !reason.empty()) workload.error_here(reason);
  return setup;
}

}  // namespace weft::work
