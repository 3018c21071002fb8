#include "sim/workloads/parallel/plan_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::work::test {
namespace {

using namespace weft::literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Read>
auto read_section(const std::string& keys, Diagnostics& diagnostics, Read read) {
  ParamReader reader{ConfigNode::parse("{" + keys + "}", "plan.yaml", "parallelism"), diagnostics};
  return read(reader);
}

ParallelPlan plan_of(const std::string& keys) {
  Diagnostics diagnostics;
  const ParallelPlan plan = read_section(keys, diagnostics, read_plan);
  diagnostics.throw_if_any();
  return plan;
}

std::vector<std::string> plan_errors(const std::string& keys) {
  Diagnostics diagnostics;
  static_cast<void>(read_section(keys, diagnostics, read_plan));
  std::vector<std::string> messages;
  for (const Diagnostic& error : diagnostics.errors()) messages.push_back(error.message);
  return messages;
}

TEST(PlanReaderTest, AnEmptyPlanIsOneRank) {
  const ParallelPlan plan = plan_of("");
  EXPECT_EQ(plan.world(), 1);
  EXPECT_EQ(plan.data_parallelism, DataParallelism::kDdp);
  EXPECT_EQ(plan.schedule, "1f1b");
  EXPECT_EQ(plan.order, "tp-cp-ep-dp-pp");
}

TEST(PlanReaderTest, ReadsEveryKey) {
  const ParallelPlan plan = plan_of(
      "tensor: 2, pipeline: 3, data: 4, context: 5, expert: 6, expert_tensor: 1, data_parallelism: fsdp, zero: 3, fsdp_shard: "
      "10,"
      "reshard_after_forward: false, sequence_parallel: true, context_kind: ring, schedule: zb_h1, virtual_stages: 7,"
      "microbatch_group: 8, first_stage_layers: 9, last_stage_layers: 11, recompute: selective, overlap_grad_reduce: false,"
      "overlap_param_gather: false, overlap_p2p: false, overlap_tensor: true, overlap_expert: true, order: tp-cp-pp-ep-dp,"
      "rank_map: [3, 1, 2]");
  EXPECT_EQ(plan.world(), 120);
  EXPECT_EQ(plan.expert, 6);
  EXPECT_EQ(plan.expert_tensor_size(), 1);
  EXPECT_EQ(plan.expert_data(), 120 / (1 * 6 * 3));
  EXPECT_EQ(plan.data_parallelism, DataParallelism::kFsdp);
  EXPECT_EQ(plan.zero, 3);
  EXPECT_EQ(plan.fsdp_shard, 10);
  EXPECT_FALSE(plan.reshard_after_forward);
  EXPECT_TRUE(plan.sequence_parallel);
  EXPECT_EQ(plan.context_kind, ContextKind::kRing);
  EXPECT_EQ(plan.schedule, "zb_h1");
  EXPECT_EQ(plan.virtual_stages, 7);
  EXPECT_EQ(plan.microbatch_group, 8);
  EXPECT_EQ(plan.first_stage_layers, 9);
  EXPECT_EQ(plan.last_stage_layers, 11);
  EXPECT_EQ(plan.recompute, Recompute::kSelective);
  EXPECT_FALSE(plan.overlap_grad_reduce || plan.overlap_param_gather || plan.overlap_p2p);
  EXPECT_TRUE(plan.overlap_tensor && plan.overlap_expert);
  EXPECT_EQ(plan.order, "tp-cp-pp-ep-dp");
  EXPECT_THAT(plan.rank_map, ElementsAre(3, 1, 2));
  const ParallelPlan buckets = plan_of("bucket: 50 MiB, first_bucket: 2 MiB, recompute: full, context_kind: ulysses");
  EXPECT_EQ(buckets.bucket, 50_MiB);
  EXPECT_EQ(buckets.first_bucket, 2_MiB);
  EXPECT_EQ(buckets.recompute, Recompute::kFull);
  EXPECT_EQ(buckets.context_kind, ContextKind::kUlysses);
  EXPECT_EQ(plan_of("recompute: operators").recompute, Recompute::kOperators);
  EXPECT_EQ(plan_of("recompute: full, recompute_layers: 3").recompute_layers, 3);
  EXPECT_EQ(plan_of("recompute: full, recompute_layers: 3, recompute_method: uniform").recompute_method,
            RecomputeMethod::kUniform);
  EXPECT_TRUE(plan_of("recompute: as_needed").recompute_as_needed);
  EXPECT_EQ(plan_of("recompute: as_needed").recompute, Recompute::kFull);
  EXPECT_FALSE(plan_of("recompute: full").recompute_as_needed);
  EXPECT_EQ(plan_of("data_parallelism: deepspeed_2021").zero, 3);
  EXPECT_TRUE(plan_of("zero: 3").reshard_after_forward);
  EXPECT_FALSE(plan_of("zero: 3, pipeline: 2").reshard_after_forward);
  EXPECT_TRUE(plan_of("zero: 3, pipeline: 2, reshard_after_forward: true").reshard_after_forward);
}

TEST(PlanReaderTest, ZeroAndDataParallelismFollowFromEachOther) {
  EXPECT_EQ(plan_of("zero: 0").data_parallelism, DataParallelism::kDdp);
  EXPECT_EQ(plan_of("zero: 1").data_parallelism, DataParallelism::kDistributedOptimizer);
  EXPECT_EQ(plan_of("zero: 2").data_parallelism, DataParallelism::kDistributedOptimizer);
  EXPECT_EQ(plan_of("zero: 3").data_parallelism, DataParallelism::kFsdp);
  EXPECT_EQ(plan_of("data_parallelism: megatron").zero, 0);
  EXPECT_EQ(plan_of("data_parallelism: distributed_optimizer").zero, 1);
  EXPECT_EQ(plan_of("data_parallelism: distributed_optimizer, zero: 2").zero, 2);
  EXPECT_EQ(plan_of("data_parallelism: fsdp").zero, 3);
  EXPECT_THAT(plan_errors("zero: 3, data_parallelism: ddp"), ElementsAre("parallelism.zero: zero 3 is fsdp, not ddp"));
  EXPECT_THAT(plan_errors("zero: 1, data_parallelism: fsdp"),
              ElementsAre("parallelism.zero: zero 1 is distributed_optimizer, not fsdp"));
  EXPECT_THAT(plan_errors("zero: 0, data_parallelism: distributed_optimizer"),
              ElementsAre("parallelism.zero: zero 0 is ddp, not distributed_optimizer"));
}

TEST(PlanReaderTest, VirtualStagesAreInterleavedUnlessSaidOtherwise) {
  EXPECT_EQ(plan_of("pipeline: 4, virtual_stages: 2").schedule, "interleaved_1f1b");
  EXPECT_EQ(plan_of("pipeline: 4, virtual_stages: 2, schedule: dualpipe_v").schedule, "dualpipe_v");
}

TEST(PlanReaderTest, RefusesKeysOfAnotherKindOfDataParallelism) {
  EXPECT_THAT(plan_errors("fsdp_shard: 8"),
              ElementsAre("parallelism.fsdp_shard: belongs to fsdp, the plan's data_parallelism is ddp"));
  EXPECT_THAT(plan_errors("zero: 1, reshard_after_forward: true"),
              ElementsAre("parallelism.reshard_after_forward: belongs to fsdp, the plan's data_parallelism is "
                          "distributed_optimizer"));
  EXPECT_THAT(plan_errors("data_parallelism: megatron, bucket: 25 MiB"),
              ElementsAre("parallelism.bucket: belongs to ddp, the plan's data_parallelism is megatron"));
}

TEST(PlanReaderTest, RefusesWhatIsNoPlan) {
  EXPECT_THAT(plan_errors("tensr: 8"), ElementsAre("unknown key 'tensr' in parallelism"));
  EXPECT_THAT(plan_errors("tensor: 0"), ElementsAre(HasSubstr("parallelism.tensor")));
  EXPECT_THAT(plan_errors("zero: 4"), ElementsAre(HasSubstr("parallelism.zero")));
  EXPECT_THAT(plan_errors("schedule: 2f2b"), ElementsAre(HasSubstr("parallelism.schedule")));
  EXPECT_THAT(plan_errors("recompute: some"), ElementsAre(HasSubstr("parallelism.recompute")));
  EXPECT_THAT(plan_errors("recompute: selective, recompute_layers: 3"),
              ElementsAre("parallelism.recompute_layers: belongs to recompute: full"));
  EXPECT_THAT(plan_errors("recompute: as_needed, recompute_layers: 3"),
              ElementsAre("parallelism.recompute_layers: recompute: as_needed finds how many"));
  EXPECT_THAT(plan_errors("recompute: as_needed, recompute_method: block"),
              ElementsAre("parallelism.recompute_method: recompute: as_needed is the block method"));
  EXPECT_THAT(plan_errors("recompute: full, recompute_method: uniform"),
              ElementsAre("parallelism.recompute_method: belongs to recompute_layers"));
  EXPECT_THAT(plan_errors("rank_map: [0, -1]"), ElementsAre(HasSubstr("parallelism.rank_map[1]")));
  EXPECT_THAT(plan_errors("first_stage_layers: 0"), ElementsAre(HasSubstr("parallelism.first_stage_layers")));
  // 2^20 ranks are taken, twice as many are not.
  EXPECT_THAT(plan_errors("tensor: 1024, data: 1024"), IsEmpty());
  EXPECT_THAT(plan_errors("tensor: 1024, data: 1024, pipeline: 2"),
              ElementsAre("parallelism: tensor x pipeline x data x context is more than 1048576 ranks"));
}

TEST(BatchReaderTest, ReadsCountsOfSequencesAndTokens) {
  Diagnostics diagnostics;
  const Batch batch = read_section("global: 512, micro: 2, sequence: 4096", diagnostics, read_batch);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(batch.microbatches({.tensor = 2, .data = 8}), 32);
  EXPECT_EQ(batch.sequence, 4096);
  static_cast<void>(read_section("micro: 0", diagnostics, read_batch));
  EXPECT_EQ(diagnostics.errors().size(), 3U);  // and neither global nor sequence
}

TEST(PrecisionReaderTest, ReadsAPrecisionPerClassOfTensors) {
  Diagnostics diagnostics;
  const PrecisionPlan plan = read_section(
      "compute: fp8, activations: mxfp8, parameters: fp16, gradients: fp32, optimizer: bf16, master_parameters: false,"
      "dispatch: fp8, combine: fp32",
      diagnostics, read_precision);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(plan.compute, Precision::kFp8);
  EXPECT_EQ(plan.activations, Precision::kMxfp8);
  EXPECT_EQ(plan.parameters, Precision::kFp16);
  EXPECT_EQ(plan.gradients, Precision::kFp32);
  EXPECT_EQ(plan.optimizer, Precision::kBf16);
  EXPECT_FALSE(plan.master_parameters);
  EXPECT_EQ(plan.dispatch, Precision::kFp8);
  EXPECT_EQ(plan.combine, Precision::kFp32);
}

TEST(PrecisionReaderTest, AMasterCopyIsKeptOfWhatIsNotFp32Itself) {
  Diagnostics diagnostics;
  EXPECT_TRUE(read_section("", diagnostics, read_precision).master_parameters);
  EXPECT_FALSE(read_section("parameters: fp32", diagnostics, read_precision).master_parameters);
  static_cast<void>(read_section("parameters: tf32", diagnostics, read_precision));  // a mode of GEMMs, not a format in memory
  EXPECT_EQ(diagnostics.errors().size(), 1U);
}

}  // namespace
}  // namespace weft::work::test
