#include "sim/workloads/parallel/plan_reader.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/workloads/parallel/pipeline_schedule.h"

namespace weft::work {
namespace {

constexpr std::int64_t kMaxRanks = 1 << 20;

int count(ParamReader& reader, std::string_view key, int default_value) {
  return static_cast<int>(reader.optional<std::int64_t>(key, default_value, between(std::int64_t{1}, kMaxRanks)));
}

void read_sizes(ParamReader& reader, ParallelPlan& plan) {
  plan.tensor = count(reader, "tensor", 1);
  plan.pipeline = count(reader, "pipeline", 1);
  plan.data = count(reader, "data", 1);
  plan.context = count(reader, "context", 1);
  plan.expert = count(reader, "expert", 1);
  plan.expert_tensor = count(reader, "expert_tensor", 0);  // 0: as `tensor`
  std::int64_t ranks = 1;
  for (const int size : {plan.tensor, plan.pipeline, plan.data, plan.context}) {
    ranks *= size;
    if (ranks <= kMaxRanks) continue;
    reader.error_here(fmt::format("tensor x pipeline x data x context is more than {} ranks", kMaxRanks));
    plan.tensor = plan.pipeline = plan.data = plan.context = 1;  // nothing read after an error is used; products stay in range
    return;
  }
}

std::string_view name_of(DataParallelism kind) {
  switch (kind) {
    case DataParallelism::kNone:
      return "none";
    case DataParallelism::kDdp:
      return "ddp";
    case DataParallelism::kMegatron:
      return "megatron";
    case DataParallelism::kDistributedOptimizer:
      return "distributed_optimizer";
    case DataParallelism::kFsdp:
      return "fsdp";
    case DataParallelism::kDeepSpeed2021:
      return "deepspeed_2021";
  }
  return {};
}

DataParallelism of_zero(std::int64_t zero) {
  return zero == 0 ? DataParallelism::kDdp : zero == 3 ? DataParallelism::kFsdp : DataParallelism::kDistributedOptimizer;
}

int zero_of(DataParallelism kind) {
  if (kind == DataParallelism::kFsdp || kind == DataParallelism::kDeepSpeed2021) return 3;
  return kind == DataParallelism::kDistributedOptimizer ? 1 : 0;
}

// `zero` must shard what data_parallelism shards.
bool agree(DataParallelism kind, int zero) { return zero_of(kind) == zero || (zero == 2 && zero_of(kind) == 1); }

void read_data_parallelism(ParamReader& reader, ParallelPlan& plan) {
  const auto zero = reader.optional<std::int64_t>("zero", between(0, 3));
  const DataParallelism implied = of_zero(zero.value_or(0));
  plan.data_parallelism = reader.choice<DataParallelism>("data_parallelism",
                                                         {{"none", DataParallelism::kNone},
                                                          {"ddp", DataParallelism::kDdp},
                                                          {"megatron", DataParallelism::kMegatron},
                                                          {"distributed_optimizer", DataParallelism::kDistributedOptimizer},
                                                          {"fsdp", DataParallelism::kFsdp},
                                                          {"deepspeed_2021", DataParallelism::kDeepSpeed2021}},
                                                         implied);
  plan.zero = zero ? static_cast<int>(*zero) : zero_of(plan.data_parallelism);
  if (!agree(plan.data_parallelism, plan.zero)) {
    reader.error("zero",
                 fmt::format("zero {} is {}, not {}", plan.zero, name_of(of_zero(plan.zero)), name_of(plan.data_parallelism)),
                 "zero 0: ddp or megatron, 1 and 2: distributed_optimizer, 3: fsdp; give one of the two keys");
  }
  // In a pipeline PyTorch's trainers keep parameters gathered between microbatches, as Llama 3's did.
  plan.reshard_after_forward = reader.optional<bool>("reshard_after_forward", plan.pipeline == 1);
  plan.fsdp_shard = count(reader, "fsdp_shard", 0);
  plan.bucket = reader.optional<Bytes>("bucket", plan.bucket, positive);
  plan.first_bucket = reader.optional<Bytes>("first_bucket", plan.first_bucket, positive);
  const auto only_of = [&](std::string_view key, DataParallelism kind) {
    if (!reader.has(key) || plan.data_parallelism == kind) return;
    reader.error(
        key, fmt::format("belongs to {}, the plan's data_parallelism is {}", name_of(kind), name_of(plan.data_parallelism)));
  };
  only_of("reshard_after_forward", DataParallelism::kFsdp);
  only_of("fsdp_shard", DataParallelism::kFsdp);
  only_of("bucket", DataParallelism::kDdp);
  only_of("first_bucket", DataParallelism::kDdp);
}

void read_pipeline(ParamReader& reader, ParallelPlan& plan) {
  plan.virtual_stages = count(reader, "virtual_stages", 1);
  const std::span<const std::string> names = pipeline_schedules().names();
  plan.schedule =
      reader.choice("schedule", {names.begin(), names.end()}, plan.virtual_stages > 1 ? "interleaved_1f1b" : "1f1b");
  plan.microbatch_group = count(reader, "microbatch_group", 0);
  plan.first_stage_layers = reader.optional<std::int64_t>("first_stage_layers", -1, at_least(1));
  plan.last_stage_layers = reader.optional<std::int64_t>("last_stage_layers", -1, at_least(1));
}

struct RecomputeChoice {
  Recompute recompute = Recompute::kNone;
  bool as_needed = false;
  bool operator==(const RecomputeChoice&) const = default;
};

void read_recomputation(ParamReader& reader, ParallelPlan& plan) {
  const auto chosen = reader.choice<RecomputeChoice>("recompute",
                                                     {{"none", {Recompute::kNone}},
                                                      {"selective", {Recompute::kSelective}},
                                                      {"operators", {Recompute::kOperators}},
                                                      {"full", {Recompute::kFull}},
                                                      {"as_needed", {Recompute::kFull, true}}},
                                                     {});
  plan.recompute = chosen.recompute;
  plan.recompute_as_needed = chosen.as_needed;
  plan.recompute_layers = reader.optional<std::int64_t>("recompute_layers", 0, at_least(1));
  plan.recompute_method = reader.choice<RecomputeMethod>(
      "recompute_method", {{"block", RecomputeMethod::kBlock}, {"uniform", RecomputeMethod::kUniform}}, plan.recompute_method);
  if (chosen.as_needed) {
    if (plan.recompute_layers > 0) reader.error("recompute_layers", "recompute: as_needed finds how many");
    if (reader.has("recompute_method")) reader.error("recompute_method", "recompute: as_needed is the block method");
    return;
  }
  if (plan.recompute_layers > 0 && plan.recompute != Recompute::kFull) {
    reader.error("recompute_layers", "belongs to recompute: full");
  }
  if (reader.has("recompute_method") && plan.recompute_layers == 0) {
    reader.error("recompute_method", "belongs to recompute_layers");
  }
}

}  // namespace

Precision read_stored_precision(ParamReader& reader, std::string_view key, Precision default_value) {
  return reader.choice<Precision>(key,
                                  {{"fp32", Precision::kFp32},
                                   {"fp16", Precision::kFp16},
                                   {"bf16", Precision::kBf16},
                                   {"fp8", Precision::kFp8},
                                   {"mxfp8", Precision::kMxfp8},
                                   {"fp4", Precision::kFp4}},
                                  default_value);
}

ParallelPlan read_plan(ParamReader& parallelism) {
  ParallelPlan plan;
  read_sizes(parallelism, plan);
  read_data_parallelism(parallelism, plan);
  read_pipeline(parallelism, plan);
  plan.sequence_parallel = parallelism.optional<bool>("sequence_parallel", false);
  plan.context_kind = parallelism.choice<ContextKind>(
      "context_kind",
      {{"ring", ContextKind::kRing}, {"all_gather", ContextKind::kAllGather}, {"ulysses", ContextKind::kUlysses}},
      plan.context_kind);
  read_recomputation(parallelism, plan);
  plan.overlap_grad_reduce = parallelism.optional<bool>("overlap_grad_reduce", plan.overlap_grad_reduce);
  plan.overlap_param_gather = parallelism.optional<bool>("overlap_param_gather", plan.overlap_param_gather);
  plan.overlap_p2p = parallelism.optional<bool>("overlap_p2p", plan.overlap_p2p);
  plan.overlap_tensor = parallelism.optional<bool>("overlap_tensor", plan.overlap_tensor);
  plan.overlap_expert = parallelism.optional<bool>("overlap_expert", plan.overlap_expert);
  plan.order = parallelism.optional<std::string>("order", plan.order);
  for (const std::int64_t endpoint : parallelism.list<std::int64_t>("rank_map", between(std::int64_t{0}, kMaxRanks - 1))) {
    plan.rank_map.push_back(static_cast<std::int32_t>(endpoint));
  }
  parallelism.finish();
  return plan;
}

Batch read_batch(ParamReader& batch) {
  constexpr auto kCount = between(std::int64_t{1}, std::int64_t{1} << 30);
  Batch read;
  read.global = batch.required<std::int64_t>("global", kCount);
  read.micro = batch.optional<std::int64_t>("micro", 1, kCount);
  read.sequence = batch.required<std::int64_t>("sequence", kCount);
  batch.finish();
  return read;
}

PrecisionPlan read_precision(ParamReader& precision) {
  PrecisionPlan plan;
  plan.compute = precision.choice<Precision>("compute",
                                             {{"fp32", Precision::kFp32},
                                              {"tf32", Precision::kTf32},
                                              {"fp16", Precision::kFp16},
                                              {"bf16", Precision::kBf16},
                                              {"fp8", Precision::kFp8},
                                              {"mxfp8", Precision::kMxfp8},
                                              {"fp4", Precision::kFp4}},
                                             plan.compute);
  plan.activations = read_stored_precision(precision, "activations", plan.activations);
  plan.parameters = read_stored_precision(precision, "parameters", plan.parameters);
  plan.gradients = read_stored_precision(precision, "gradients", plan.gradients);
  plan.optimizer = read_stored_precision(precision, "optimizer", plan.optimizer);
  plan.master_parameters = precision.optional<bool>("master_parameters", plan.parameters != Precision::kFp32);
  plan.dispatch = read_stored_precision(precision, "dispatch", plan.dispatch);
  plan.combine = read_stored_precision(precision, "combine", plan.combine);
  precision.finish();
  return plan;
}

}  // namespace weft::work
