#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/workloads/parallel/plan_reader.h"

namespace weft::work::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TransformerModel kDense{.name = "llama",
                              .layers = 126,
                              .hidden = 16384,
                              .heads = 128,
                              .kv_heads = 8,
                              .head_dim = 128,
                              .ffn = 53248,
                              .vocab = 128256};
const TransformerModel kMixture{.name = "mixtral",
                                .layers = 32,
                                .hidden = 4096,
                                .heads = 32,
                                .kv_heads = 8,
                                .head_dim = 128,
                                .ffn = 14336,
                                .vocab = 32000,
                                .moe = {.experts = 8, .experts_per_token = 2, .expert_ffn = 14336}};

struct Found {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

Found check(const TransformerModel& model, const std::string& parallelism, const std::string& batch, std::size_t ranks = 0) {
  Diagnostics diagnostics;
  const ConfigNode workload =
      ConfigNode::parse("parallelism: {" + parallelism + "}\nbatch: {" + batch + "}\n", "plan.yaml", "workload");
  ParamReader reader{workload, diagnostics};
  ParamReader plan_reader = reader.map("parallelism");
  const ParallelPlan plan = read_plan(plan_reader);
  ParamReader batch_reader = reader.map("batch");
  const Batch read = read_batch(batch_reader);
  reader.finish();
  diagnostics.throw_if_any();
  check_plan(workload, model, plan, read, ranks, diagnostics);
  Found found;
  for (const Diagnostic& error : diagnostics.errors()) found.errors.push_back(error.message);
  for (const Diagnostic& warning : diagnostics.warnings()) found.warnings.push_back(warning.message);
  return found;
}

constexpr const char* kBatch = "global: 512, sequence: 8192";

std::vector<std::string> dense(const std::string& parallelism, const std::string& batch = kBatch, std::size_t ranks = 0) {
  return check(kDense, parallelism, batch, ranks).errors;
}
std::vector<std::string> mixture(const std::string& parallelism, const std::string& batch = kBatch) {
  return check(kMixture, parallelism, batch).errors;
}

TEST(PlanCheckTest, TakesPublishedPlans) {
  // Llama 3 405B on 8,192 GPUs, one layer less on either end; MLPerf's on 512, 8 chunks; Mixtral; DeepSeek-V3 on 2,048.
  EXPECT_THAT(dense("tensor: 8, pipeline: 16, data: 64, first_stage_layers: 7, last_stage_layers: 7",
                    "global: 2048, sequence: 8192", 8192),
              IsEmpty());
  EXPECT_THAT(
      dense("tensor: 8, pipeline: 8, context: 2, data: 4, virtual_stages: 8, first_stage_layers: 15, last_stage_layers: 15,"
            "sequence_parallel: true, overlap_tensor: true, zero: 1, order: tp-cp-pp-ep-dp",
            "global: 1152, sequence: 8192", 512),
      IsEmpty());
  EXPECT_THAT(mixture("tensor: 2, pipeline: 4, data: 8, expert: 8, expert_tensor: 1, virtual_stages: 8, overlap_expert: true"),
              IsEmpty());
  const TransformerModel deepseek{
      .name = "deepseek",
      .layers = 61,
      .hidden = 7168,
      .heads = 128,
      .kv_heads = 128,
      .ffn = 18432,
      .attention = AttentionKind::kLatent,
      .moe = {.experts = 256, .experts_per_token = 8, .shared_experts = 1, .expert_ffn = 2048, .dense_layers = 3}};
  EXPECT_THAT(check(deepseek, "pipeline: 16, data: 128, expert: 64, schedule: dualpipe, zero: 1, first_stage_layers: 1",
                    "global: 15360, micro: 1, sequence: 4096", 2048)
                  .errors,
              IsEmpty());
}

TEST(PlanCheckTest, ErrorsStandWhereTheKeyStands) {
  Diagnostics diagnostics;
  const ConfigNode workload =
      ConfigNode::parse("parallelism:\n  tensor: 3\nbatch: {global: 1, sequence: 8}\n", "plan.yaml", "workload");
  check_plan(workload, kDense, {.tensor = 3, .overlap_tensor = true}, {.global = 1, .sequence = 8}, 2, diagnostics);
  ASSERT_EQ(diagnostics.errors().size(), 5U);
  EXPECT_EQ(diagnostics.errors()[0].message,
            "workload.parallelism: needs 3 GPUs (tensor 3 x pipeline 1 x data 1 x context 1), the cluster has 2");
  EXPECT_EQ(diagnostics.errors()[0].where.line, 1);
  EXPECT_EQ(diagnostics.errors()[1].message, "workload.parallelism.tensor: 128 heads do not divide evenly over tensor 3");
  EXPECT_EQ(diagnostics.errors()[1].where.line, 2);
  EXPECT_EQ(diagnostics.errors()[1].where.column, 11);
  EXPECT_EQ(diagnostics.errors()[4].where.line, 1);  // overlap_tensor is not written down
}

TEST(PlanCheckTest, TensorRanksShareHeadsAndColumns) {
  EXPECT_THAT(
      dense("tensor: 3"),
      ElementsAre(
          "workload.parallelism.tensor: 128 heads do not divide evenly over tensor 3",
          "workload.parallelism.tensor: 53248 columns of the MLP do not divide evenly over tensor 3",
          "workload.parallelism.tensor: 8 key/value heads neither divide evenly over tensor 3 nor repeat evenly in it"));
  EXPECT_THAT(dense("tensor: 8"), IsEmpty());
  TransformerModel narrow = kDense;
  narrow.ffn = 12;
  EXPECT_THAT(check(narrow, "tensor: 8", kBatch).errors,
              ElementsAre("workload.parallelism.tensor: 12 columns of the MLP do not divide evenly over tensor 8"));
}

TEST(PlanCheckTest, FewKeyValueHeadsAreRepeatedWithAWarning) {
  const Found found = check(kDense, "tensor: 16", kBatch);
  EXPECT_THAT(found.errors, IsEmpty());
  EXPECT_THAT(found.warnings,
              ElementsAre("workload.parallelism.tensor: 8 key/value heads on tensor 16: each is kept by 2 ranks"));
  EXPECT_THAT(check(kDense, "tensor: 8", kBatch).warnings, IsEmpty());
  TransformerModel six = kDense;
  six.kv_heads = 6;
  EXPECT_THAT(
      check(six, "tensor: 16", kBatch).errors,
      ElementsAre(
          "workload.parallelism.tensor: 6 key/value heads neither divide evenly over tensor 16 nor repeat evenly in it"));
}

TEST(PlanCheckTest, SequenceParallelRanksShareTokens) {
  EXPECT_THAT(
      dense("tensor: 8, sequence_parallel: true", "global: 1, sequence: 8188"),
      ElementsAre(
          "workload.parallelism.sequence_parallel: 8188 tokens of a sequence per context rank do not divide evenly over "
          "tensor 8"));
  EXPECT_THAT(dense("tensor: 8, overlap_tensor: true"),
              ElementsAre("workload.parallelism.overlap_tensor: overlaps the all-gathers and reduce-scatters of "
                          "sequence_parallel, which is off"));
}

TEST(PlanCheckTest, StagesShareLayers) {
  EXPECT_THAT(dense("pipeline: 16, data: 2"),
              ElementsAre("workload.parallelism.pipeline: 126 layers do not divide evenly over pipeline 16"));
  EXPECT_THAT(dense("pipeline: 8, virtual_stages: 4"),
              ElementsAre("workload.parallelism.virtual_stages: 126 layers do not divide evenly over pipeline 8 x 4 chunks"));
  EXPECT_THAT(dense("pipeline: 16, first_stage_layers: 7"),
              ElementsAre("workload.parallelism.pipeline: 119 layers do not divide evenly over the other 15 stages"));
  EXPECT_THAT(
      dense("pipeline: 8, virtual_stages: 8, first_stage_layers: 15, last_stage_layers: 14"),
      ElementsAre("workload.parallelism.virtual_stages: 97 layers do not divide evenly over the other 6 stages x 8 chunks"));
  EXPECT_THAT(dense("pipeline: 2, first_stage_layers: 60, last_stage_layers: 60"),
              ElementsAre("workload.parallelism.pipeline: first_stage_layers and last_stage_layers leave 6 of 126 layers for "
                          "the other 0 stages"));
  EXPECT_THAT(dense("pipeline: 3, first_stage_layers: 60, last_stage_layers: 66"),
              ElementsAre("workload.parallelism.pipeline: first_stage_layers and last_stage_layers leave 0 of 126 layers for "
                          "the other 1 stages"));
  EXPECT_THAT(dense("first_stage_layers: 126"),
              ElementsAre("workload.parallelism.first_stage_layers: there is one stage only, and it holds all layers"));
  // The last of 16 chunks of one layer holds the head alone.
  EXPECT_THAT(dense("pipeline: 8, virtual_stages: 16, last_stage_layers: 15, first_stage_layers: 15"), IsEmpty());
  EXPECT_THAT(dense("pipeline: 8, virtual_stages: 8, last_stage_layers: 6"),
              ElementsAre("workload.parallelism.last_stage_layers: 6 layers are too few for the 8 chunks of a stage"));
  EXPECT_THAT(dense("pipeline: 9, schedule: dualpipe_v, first_stage_layers: 14"),
              ElementsAre("workload.parallelism.first_stage_layers: the first stage of dualpipe_v is also its last"));
  EXPECT_THAT(dense("pipeline: 9, schedule: dualpipe_v"), IsEmpty());  // 18 positions of 7 layers
}

TEST(PlanCheckTest, SchedulesRefuseTheirShapes) {
  EXPECT_THAT(
      dense("pipeline: 3, schedule: dualpipe"),
      ElementsAre("workload.parallelism.schedule: dualpipe runs in both directions and needs an even number of stages, not 3"));
  EXPECT_THAT(dense("pipeline: 6, schedule: dualpipe, data: 64"),
              ElementsAre("workload.parallelism.schedule: dualpipe needs at least 12 microbatches on 6 stages, not 8"));
  EXPECT_THAT(
      dense("pipeline: 7, virtual_stages: 2"),
      ElementsAre("workload.parallelism.schedule: 512 microbatches in groups of 7 leave 1, fewer than the 7 pipeline stages"));
  EXPECT_THAT(dense("pipeline: 7, virtual_stages: 2, microbatch_group: 8"), IsEmpty());
  EXPECT_THAT(
      dense("pipeline: 7, virtual_stages: 2, schedule: zb_h1"),
      ElementsAre("workload.parallelism.schedule: zb_h1 has one chunk per rank; virtual_stages 2 needs interleaved_1f1b"));
  EXPECT_THAT(dense("virtual_stages: 2"),
              ElementsAre("workload.parallelism.schedule: interleaved_1f1b needs at least 2 pipeline stages"));
  EXPECT_THAT(
      mixture("pipeline: 2, data: 8, expert: 8, overlap_expert: true"),
      ElementsAre("workload.parallelism.schedule: 1f1b leaves no independent microbatch to run beside an expert all-to-all; "
                  "interleaved_1f1b and dualpipe do"));
}

TEST(PlanCheckTest, AnUnknownScheduleNamesThoseThereAre) {
  Diagnostics diagnostics;
  const ConfigNode workload = ConfigNode::parse("{}", "plan.yaml", "workload");
  check_plan(workload, kDense, {.schedule = "1f1c"}, {.global = 1, .sequence = 8}, 0, diagnostics);
  ASSERT_EQ(diagnostics.errors().size(), 1U);
  EXPECT_EQ(diagnostics.errors()[0].message, "workload.parallelism.schedule: unknown pipeline schedule '1f1c'");
  EXPECT_EQ(diagnostics.errors()[0].note,
            "did you mean '1f1b'? choices: 1f1b, dualpipe, dualpipe_v, gpipe, interleaved_1f1b, zb_h1, zb_h2, zb_v");
}

TEST(PlanCheckTest, BatchesDivideIntoMicrobatches) {
  EXPECT_THAT(dense("data: 8", "global: 20, micro: 2, sequence: 64"),
              ElementsAre("workload.batch.global: 20 sequences do not divide evenly into micro 2 x data 8 = 16"));
  EXPECT_THAT(dense("data: 8", "global: 8, micro: 2, sequence: 64"),
              ElementsAre("workload.batch.global: 8 sequences do not divide evenly into micro 2 x data 8 = 16"));
  EXPECT_THAT(dense("data: 8", "global: 16, micro: 2, sequence: 64"), IsEmpty());
}

TEST(PlanCheckTest, ContextRanksShareTheSequence) {
  EXPECT_THAT(
      dense("context: 4", "global: 1, sequence: 8188"),
      ElementsAre("workload.parallelism.context: a sequence of 8188 does not divide evenly into 2 x context = 8 chunks"));
  EXPECT_THAT(dense("context: 4, context_kind: ring", "global: 1, sequence: 8188").size(), 1U);
  EXPECT_THAT(dense("context: 4, context_kind: ulysses", "global: 1, sequence: 8188"), IsEmpty());
  EXPECT_THAT(dense("context: 4, context_kind: ulysses", "global: 1, sequence: 8190"),
              ElementsAre("workload.parallelism.context: a sequence of 8190 does not divide evenly over context 4"));
}

TEST(PlanCheckTest, UlyssesGivesAwayWholeHeads) {
  EXPECT_THAT(
      dense("tensor: 8, context: 32, context_kind: ulysses"),
      ElementsAre(
          "workload.parallelism.context: ulysses gives each context rank whole heads; 16 with 1 key/value heads per tensor "
          "rank do not divide evenly over context 32"));
  EXPECT_THAT(dense("tensor: 8, context: 16, context_kind: ulysses"), IsEmpty());
}

TEST(PlanCheckTest, LearnedPositionsEnd) {
  TransformerModel gpt = kDense;
  gpt.name = "gpt3";
  gpt.learned_positions = 2048;
  EXPECT_THAT(check(gpt, "", "global: 1, sequence: 2048").errors, IsEmpty());
  EXPECT_THAT(check(gpt, "", "global: 1, sequence: 2049").errors,
              ElementsAre("workload.batch.sequence: 2049 tokens are more than the 2048 positions 'gpt3' has learned"));
}

TEST(PlanCheckTest, ExpertRanksShareExpertsAndDivideAStage) {
  EXPECT_THAT(dense("data: 8, expert: 8"), ElementsAre("workload.parallelism.expert: 'llama' has no experts"));
  EXPECT_THAT(dense("tensor: 2, expert_tensor: 1"), ElementsAre("workload.parallelism.expert_tensor: 'llama' has no experts"));
  EXPECT_THAT(mixture("data: 16, expert: 16"),
              ElementsAre("workload.parallelism.expert: 8 experts do not divide evenly over expert 16"));
  EXPECT_THAT(
      mixture("tensor: 2, data: 4, expert: 8"),
      ElementsAre(
          "workload.parallelism.expert: expert groups need a multiple of expert tensor 2 x expert 8 x pipeline 1 = 16 ranks, "
          "the plan has 8"));
  EXPECT_THAT(mixture("tensor: 2, data: 4, expert: 8, expert_tensor: 1"), IsEmpty());
  TransformerModel fine = kMixture;
  fine.moe.expert_ffn = 1001;
  EXPECT_THAT(check(fine, "tensor: 2", kBatch).errors,
              ElementsAre("workload.parallelism.tensor: 1001 columns of an expert do not divide evenly over expert_tensor 2"));
}

TEST(PlanCheckTest, RanksFitTheCluster) {
  EXPECT_THAT(dense("tensor: 8, data: 64", kBatch, 512), IsEmpty());
  EXPECT_THAT(
      dense("tensor: 8, data: 64", kBatch, 511),
      ElementsAre("workload.parallelism: needs 512 GPUs (tensor 8 x pipeline 1 x data 64 x context 1), the cluster has 511"));
  EXPECT_THAT(dense("tensor: 8, data: 64", kBatch, 0), IsEmpty());
}

TEST(PlanCheckTest, OrdersNameEveryAxisOnce) {
  EXPECT_THAT(dense("tensor: 2, data: 2, order: tp-tp"), ElementsAre("workload.parallelism.order: names tp twice"));
  EXPECT_THAT(dense("tensor: 2, data: 2, order: tp-pp"),
              ElementsAre("workload.parallelism.order: leaves out dp, whose size is 2"));
}

TEST(PlanCheckTest, RankMapsNameEachRanksEndpoint) {
  EXPECT_THAT(dense("data: 2, rank_map: [1, 0]", kBatch, 2), IsEmpty());
  EXPECT_THAT(dense("data: 2, rank_map: [1]"), ElementsAre("workload.parallelism.rank_map: names 1 endpoints for 2 ranks"));
  EXPECT_THAT(dense("data: 2, rank_map: [1, 1]"), ElementsAre("workload.parallelism.rank_map: names endpoint 1 twice"));
  EXPECT_THAT(dense("data: 2, rank_map: [0, 4]", kBatch, 4),
              ElementsAre("workload.parallelism.rank_map: names endpoint 4, the cluster has 4 (0 to 3)"));
}

TEST(PlanCheckTest, ShardGroupsDivideReplicas) {
  EXPECT_THAT(dense("data: 4, context: 2, zero: 3, fsdp_shard: 8"), IsEmpty());
  EXPECT_THAT(dense("data: 4, context: 2, zero: 3, fsdp_shard: 3"),
              ElementsAre("workload.parallelism.fsdp_shard: shards of 3 ranks do not divide data 4 x context 2"));
}

}  // namespace
}  // namespace weft::work::test
