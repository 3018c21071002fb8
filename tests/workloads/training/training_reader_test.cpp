#include "sim/workloads/training/training_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TrainingSetup read_node(const ConfigNode& node) {
  Diagnostics diagnostics;
  ParamReader reader{node, diagnostics};
  TrainingSetup setup = read_training(reader, 4);
  reader.finish();
  diagnostics.throw_if_any();
  return setup;
}

TrainingSetup read_step(const std::string& yaml) { return read_node(ConfigNode::parse(yaml, "step.yaml", "workload")); }

std::string refusal_of_step(const std::string& yaml) {
  try {
    static_cast<void>(read_step(yaml));
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return {};
}

constexpr const char* kModel =
    "model: {kind: model, name: tiny, layers: 4, hidden: 512, heads: 8, ffn: 1024, vocab: 1000}\n"
    "batch: {global: 8, sequence: 1024}\n";

// A scenario's workload is the step that the tests build by hand: the same operations, one by one.
void expect_same(const std::string& file, const TrainingSetup& expected) {
  const std::filesystem::path path = std::filesystem::path{WEFT_SOURCE_DIR} / "configs/validation/h200x4" / (file + ".yaml");
  const TrainingSetup setup = read_node(*ConfigNode::load_file(path).find("workload"));
  const Program program = program_of(setup), other = program_of(expected);
  ASSERT_EQ(program.programs.size(), other.programs.size());
  for (std::size_t stage = 0; stage < program.programs.size(); ++stage) {
    const RankProgram &a = program.programs[stage], &b = other.programs[stage];
    ASSERT_EQ(a.operations.size(), b.operations.size());
    EXPECT_EQ(a.resident.total(), b.resident.total());
    for (std::size_t i = 0; i < a.operations.size(); ++i) {
      ASSERT_EQ(a.operations[i].duration, b.operations[i].duration);
      ASSERT_EQ(a.operations[i].bytes, b.operations[i].bytes);
      ASSERT_EQ(a.operations[i].kind, b.operations[i].kind);
    }
  }
}

TEST(TrainingReaderTest, TakesTheAttentionOfTheFramework) {
  const auto attention = [](const std::string& more) {
    return read_step(kModel + ("parallelism: {data: 4}\n" + more)).attention;
  };
  EXPECT_EQ(attention("framework: pytorch_compile\n"), AttentionKernels::kFlash2);
  EXPECT_EQ(attention("framework: huggingface\n"), AttentionKernels::kCudnn);
  EXPECT_EQ(attention(""), AttentionKernels::kCudnn);
  EXPECT_EQ(attention("framework: pytorch_compile\nattention: cudnn\n"), AttentionKernels::kCudnn);
}

TEST(TrainingReaderTest, MomentumIsSgds) {
  EXPECT_EQ(read_step(kModel + std::string{"parallelism: {data: 4}\noptimizer: {type: sgd, momentum: true}\n"}).moments(), 1);
  EXPECT_THAT(refusal_of_step(kModel + std::string{"parallelism: {data: 4}\noptimizer: {momentum: true}\n"}),
              ::testing::HasSubstr("momentum"));
}

TEST(TrainingReaderTest, ReadsTheMeasuredStepsScenarios) {
  expect_same("single_h4096_l8_s2048", single());
  expect_same("ddp_h4096_l8_s2048", ddp());
  expect_same("fsdp_h4096_l16_s4096", fsdp());
  expect_same("tp4_h8192_l8_s4096", tp4());
  expect_same("tp2dp2_h4096_l8_s4096", tp2dp2());
  expect_same("pp4_h4096_l16_s2048_m8", pp4());
  expect_same("ep4_h4096_l4_s4096_e8k2", ep4());
}

TEST(TrainingReaderTest, MegatronAndItsOwnDataParallelismAreTheDefaults) {
  const TrainingSetup setup = read_step(kModel);
  EXPECT_EQ(setup.framework, "megatron");
  EXPECT_EQ(setup.plan.data_parallelism, DataParallelism::kMegatron);
  EXPECT_TRUE(setup.clip_grad_norm);
  EXPECT_TRUE(setup.fused_loss);
  EXPECT_FALSE(setup.cuda_graph);
  EXPECT_EQ(setup.convention, FlopConvention::kCausalAttention);
  EXPECT_EQ(read_step(std::string{kModel} + "parallelism: {data: 2, zero: 1}").plan.data_parallelism,
            DataParallelism::kDistributedOptimizer);
}

TEST(TrainingReaderTest, ReadsLoraAndExperts) {
  const TrainingSetup setup = read_step(std::string{kModel} + "lora: {rank: 16, targets: [qkv, fc1]}\nconvention: six_n\n");
  EXPECT_EQ(setup.lora.rank, 16);
  EXPECT_EQ(setup.lora.targets, (std::vector<std::string>{"qkv", "fc1"}));
  EXPECT_EQ(setup.convention, FlopConvention::kSixN);
}

TEST(TrainingReaderTest, RefusesWhatAFrameworkHasNoOperatorsFor) {
  const std::string eager = std::string{kModel} + "framework: pytorch_eager\n";
  EXPECT_THAT(refusal_of_step(eager + "parallelism: {tensor: 2, sequence_parallel: true}"),
              ::testing::HasSubstr("sequence parallelism"));
  EXPECT_THAT(refusal_of_step(eager + "parallelism: {context: 2}"), ::testing::HasSubstr("context parallelism"));
  EXPECT_THAT(refusal_of_step(eager + "parallelism: {data: 2, zero: 1}"), ::testing::HasSubstr("by ddp or fsdp"));
  EXPECT_THAT(refusal_of_step(eager + "precision: {compute: fp8}"), ::testing::HasSubstr("other precisions than 16 bit"));
  EXPECT_THAT(refusal_of_step(eager + "lora: {rank: 8, targets: [qkv]}"), ::testing::HasSubstr("adapters (LoRA)"));
  EXPECT_THAT(refusal_of_step(eager + "parallelism: {recompute: selective}"), ::testing::HasSubstr("selective recomputation"));
  EXPECT_THAT(refusal_of_step(std::string{kModel} + "parallelism: {pipeline: 2, schedule: zb_h1, zero: 3}"),
              ::testing::HasSubstr("cuts that in two"));
}

TEST(TrainingReaderTest, ReadsHowUnevenExpertsAreAndHowTokensTravel) {
  const std::string experts =
      "model: {kind: model, name: tiny, layers: 4, hidden: 512, heads: 8, vocab: 1000, moe: {experts: 8, "
      "experts_per_token: 2, expert_ffn: 512}}\nbatch: {global: 8, sequence: 1024}\n";
  const TrainingSetup setup = read_step(experts + "experts: {power_law: 1.01, dispatch: per_node}");
  EXPECT_DOUBLE_EQ(setup.expert_load.power_law, 1.01);
  EXPECT_EQ(setup.expert_load.dispatch, ExpertDispatch::kPerNode);
  EXPECT_EQ(read_step(experts).expert_load.dispatch, ExpertDispatch::kAsRouted);
  EXPECT_THAT(refusal_of_step(experts + "experts: {power_law: 1, imbalance: 1.2}"), ::testing::HasSubstr("stands beside"));
  EXPECT_THAT(refusal_of_step(experts + "experts: {power_law: 1, capacity_factor: 1.2}"),
              ::testing::HasSubstr("padded to its capacity"));
  const TrainingSetup drops = read_step(experts + "experts: {power_law: 1, capacity_factor: 1.2, pad_to_capacity: false}");
  EXPECT_FALSE(drops.expert_load.pads_to_capacity);
  EXPECT_THAT(refusal_of_step(experts + "experts: {power_law: 1, pad_to_capacity: false}"),
              ::testing::HasSubstr("belongs to capacity_factor"));
  EXPECT_FALSE(refusal_of_step(experts + "experts: {power_law: -1}").empty());
  EXPECT_DOUBLE_EQ(read_step(experts + "experts: {power_law: 1.5}").expert_load.power_law, 1.5);
  EXPECT_THAT(refusal_of_step(experts + "experts: {power_law: 1.51}"), ::testing::HasSubstr("loads even out again"));
  EXPECT_THAT(refusal_of_step(experts + "experts: {dispatch: per_rank}"), ::testing::HasSubstr("per_rank"));
}

constexpr const char* kTinyMixture =
    "model: {kind: model, name: tiny, layers: 4, hidden: 512, heads: 8, vocab: 1000, moe: {experts: 8, "
    "experts_per_token: 2, expert_ffn: 512}}\nbatch: {global: 8, sequence: 1024}\n";

// Four ranks with two experts each: a token chooses two, which may be one rank's, so that it has all, 4 times the mean.
TEST(TrainingReaderTest, RefusesImbalanceThatNoRoutingGives) {
  const std::string four = std::string{kTinyMixture} + "parallelism: {data: 4, expert: 4}\n";
  EXPECT_DOUBLE_EQ(read_step(four + "experts: {imbalance: 4}").expert_load.imbalance, 4);
  EXPECT_THAT(refusal_of_step(four + "experts: {imbalance: 4.1}"), ::testing::HasSubstr("expected at most 4, got 4.1"));
  const std::string two = std::string{kTinyMixture} + "parallelism: {data: 2, expert: 2}\n";
  EXPECT_DOUBLE_EQ(read_step(two + "experts: {imbalance: 2}").expert_load.imbalance, 2) << "all tokens go to one of two ranks";
  EXPECT_THAT(refusal_of_step(two + "experts: {imbalance: 2.1}"), ::testing::HasSubstr("experts.imbalance"));
  EXPECT_THAT(refusal_of_step(std::string{kTinyMixture} + "experts: {imbalance: 1.2}"), ::testing::HasSubstr("at most 1"));
}

TEST(TrainingReaderTest, ReadsWhichModulesAreGraphs) {
  const TrainingSetup setup = read_step(std::string{kTinyMixture} + "cuda_graph_modules: [router]");
  EXPECT_TRUE(setup.graphs.router);
  EXPECT_FALSE(setup.graphs.attention);
  EXPECT_TRUE(read_step(std::string{kModel} + "cuda_graph_modules: [attention]").graphs.attention);
  EXPECT_THAT(refusal_of_step(std::string{kTinyMixture} + "cuda_graph_modules: [mlp]"),
              ::testing::HasSubstr("unknown module 'mlp'"));
  EXPECT_THAT(refusal_of_step(std::string{kTinyMixture} + "cuda_graph: true\ncuda_graph_modules: [router]"),
              ::testing::HasSubstr("stands beside"));
  EXPECT_THAT(refusal_of_step(std::string{kModel} + "cuda_graph_modules: [router]"), ::testing::HasSubstr("has no experts"));
  EXPECT_THAT(refusal_of_step(std::string{kTinyMixture} + "framework: pytorch_compile\ncuda_graph_modules: [router]"),
              ::testing::HasSubstr("framework: megatron"));
}

TEST(TrainingReaderTest, ReadsStageTimes) {
  const std::string pipeline = std::string{kModel} + "parallelism: {pipeline: 2}\n";
  const TrainingSetup setup = read_step(pipeline + "stage_times: {forward: [11 ms, 12 ms], backward: [20 ms]}");
  ASSERT_TRUE(setup.stage_times);
  EXPECT_EQ(setup.stage_times->forward.at(1), Duration::from_us(12'000));
  EXPECT_TRUE(setup.stage_times->weight.empty());
  EXPECT_THAT(refusal_of_step(pipeline + "stage_times: {forward: [1 ms, 2 ms, 3 ms], backward: [1 ms]}"),
              ::testing::HasSubstr("one for each of 2 stages, got 3"));
  EXPECT_THAT(refusal_of_step(pipeline + "stage_times: {forward: [1 ms]}"),
              ::testing::HasSubstr("'backward' is needed: a time, or a list of one a stage"));
  EXPECT_THAT(refusal_of_step(pipeline + "stage_times: {forward: [], backward: 1 ms}"),
              ::testing::HasSubstr("'forward' is needed"));
  EXPECT_EQ(read_step(pipeline + "stage_times: {forward: 11 ms, backward: 20 ms}").stage_times->forward,
            std::vector{Duration::from_us(11'000)});
  EXPECT_THAT(refusal_of_step(pipeline + "stage_times: {forward: 11, backward: 20 ms}"), ::testing::HasSubstr("duration"));
}

TEST(TrainingReaderTest, ReadsWhatMegatronsLayersAreMadeOf) {
  EXPECT_EQ(read_step(kModel).transformer_impl, TransformerImpl::kTransformerEngine);
  EXPECT_EQ(read_step(std::string{kModel} + "flash_attention: false").transformer_impl, TransformerImpl::kLocal);
  const std::string local = std::string{kModel} + "transformer_impl: local\n";
  EXPECT_EQ(read_step(local).transformer_impl, TransformerImpl::kLocal);
  EXPECT_THAT(refusal_of_step(local + "framework: pytorch_compile"), ::testing::HasSubstr("is for framework: megatron"));
  EXPECT_THAT(refusal_of_step(local + "precision: {compute: fp8}"), ::testing::HasSubstr("fp8 needs transformer_impl"));
  EXPECT_THAT(refusal_of_step(local + "parallelism: {context: 2}"), ::testing::HasSubstr("context parallelism needs"));
  EXPECT_THAT(refusal_of_step(std::string{kModel} + "transformer_impl: transformer_engine\nflash_attention: false"),
              ::testing::HasSubstr("are those of 'local'"));
  EXPECT_THAT(refusal_of_step(std::string{kModel} + "transformer_impl: apex"), ::testing::HasSubstr("apex"));
}

TEST(TrainingReaderTest, RefusesKeysThatSayNothing) {
  EXPECT_THAT(refusal_of_step(std::string{kModel} + "experts: {imbalance: 1.5}"),
              ::testing::HasSubstr("the model has no experts"));
  EXPECT_THAT(refusal_of_step(std::string{kModel} + "lora: {rank: 8, targets: [query]}"),
              ::testing::HasSubstr("unknown matrix 'query'"));
  EXPECT_THAT(refusal_of_step(std::string{kModel} + "framework: eager"), ::testing::HasSubstr("framework"));
}

}  // namespace
}  // namespace weft::work::test
