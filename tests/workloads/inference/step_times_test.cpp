#include "sim/workloads/inference/step_times.h"

#include <gtest/gtest.h>

#include "sim/network/cluster.h"
#include "tests/workloads/inference/inference_support.h"

namespace weft::work::test {
namespace {

class DgxH100Test : public ::testing::Test {
 protected:
  static net::Cluster load() {
    Diagnostics diagnostics;
    ParamGroups groups = net::network_param_groups();
    for (const ParamGroupBase* group : coll::collective_param_groups()) groups.push_back(group);
    for (const ParamGroupBase* group : kernel_param_groups()) groups.push_back(group);
    groups.push_back(&serving_costs);
    const std::filesystem::path file = std::filesystem::path{WEFT_SOURCE_DIR} / "configs" / "clusters" / "dgx_h100.yaml";
    net::Cluster cluster =
        net::load_cluster(ConfigNode::load_file(file, "cluster"), {.profile = {}, .groups = groups}, diagnostics);
    diagnostics.throw_if_any();
    return cluster;
  }
  StepTime step(const InferenceSetup& setup, const StepMix& mix) {
    const std::vector<DeviceId>& all = cluster_.topology.endpoints();
    const auto count = setup.plan.engine_gpus();
    StepTimes times{
        setup, setup.plan, kernels_, cluster_.profile, costs_, std::vector<DeviceId>(all.begin(), all.begin() + count)};
    return times.of(mix);
  }
  static double ms(const StepTime& step, StepPart part) { return step.parts[static_cast<std::size_t>(part)].us() / 1e3; }

  net::Cluster cluster_ = load();
  KernelTimes kernels_{gpu_spec("h100_sxm"), cluster_.profile};
  GroupCosts costs_{cluster_.topology, cluster_.routing, 1, cluster_.profile, {.library = "vllm"}};
};

// models/workloads §6: 70B bf16 on 8 x H100, batch 1: weights 138 GB / (8 x 3.35 TB/s x 0.8) = 6.4 ms; 161 all-reduces of 16
// KiB, each 5.31 us in vLLM 0.24's graphs (ai-dynamo/aiconfigurator @ 095f58a): 0.855 ms; 80 calls of attention of 10 us, whose
// fixed time public tables show (models/workloads §4.3): 0.8 ms; in each layer two norms of 1.5 + 1.15 us and three kernels of
// 1.4 us, all 0.8 us apart: 1.08 ms; and the sums of two products a layer whose k is split, of 1.7 us and a gap, as a profiler
// saw them (validate/serving/measured/h100_kernels_tp1.json): 0.4 ms.
TEST_F(DgxH100Test, ATokenOfSeventyBillionTakesItsWeightsAndItsAllReduces) {
  InferenceSetup setup = on_one_gpu("llama2_70b");
  setup.plan.tensor = 8;
  const StepTime one = step(setup, {.decodes = 1, .decode_context = 128, .samples = 1});
  EXPECT_NEAR(ms(one, StepPart::kGemm), 6.4, 0.15 * 6.4);
  EXPECT_NEAR(ms(one, StepPart::kTensor), 0.855, 0.15 * 0.855);
  EXPECT_NEAR(one.latency().us() / 1e3, 9.5, 0.15 * 9.5);
}

TEST_F(DgxH100Test, PrefillIsBoundByComputeAndDecodingByMemory) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  // 2 N s of 8192 tokens at 989 TFLOP/s, of which GEMMs reach 0.55 to 0.9 at full clock.
  const double flops = 2 * 6.98e9 * 8192;  // without embedding and head
  const double prefill = ms(step(setup, {.prefills = {{8192, 0}}, .samples = 1}), StepPart::kGemm) / 1e3;
  EXPECT_GT(prefill, flops / (989e12 * 0.9));
  EXPECT_LT(prefill, flops / (989e12 * 0.55));
  // A batch of 32 reads the same weights as one.
  const double one = ms(step(setup, {.decodes = 1, .decode_context = 100, .samples = 1}), StepPart::kGemm);
  const double many = ms(step(setup, {.decodes = 32, .decode_context = 3200, .samples = 32}), StepPart::kGemm);
  EXPECT_NEAR(many, one, 0.1 * one);
  // 100 times 100,000 cached tokens of 131,072 B at 3.35 TB/s, of which decoding reaches 0.895 to 0.946 in the 31
  // longest rows of public tables (H100, heads of 128); 2 % to both sides.
  const double attention =
      ms(step(setup, {.decodes = 100, .decode_context = 10'000'000, .samples = 100}), StepPart::kAttention);
  const double reading = 10'000'000 * 131'072.0 / 3.35e12 * 1e3;
  EXPECT_GT(attention, reading / 0.946 / 1.02);
  EXPECT_LT(attention, reading / 0.895 * 1.02);
}

TEST_F(DgxH100Test, GraphsSaveGapsAndLaunches) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  const StepMix mix{.decodes = 1, .decode_context = 100, .samples = 1};
  setup.plan.tensor = 8;
  setup.scheduler.cuda_graph = GraphUse::kNone;
  const StepTime eager = step(setup, mix);
  setup.scheduler.cuda_graph = GraphUse::kDecode;
  EXPECT_LT(step(setup, mix).latency(), eager.latency());
  // A kernel costs 2.7 us and more beyond its work, or 1.5 us in a graph; a layer has ten of them.
  EXPECT_GT(eager.latency() - step(setup, mix).latency(), 32 * 10 * 1_us);
}

TEST_F(DgxH100Test, AStepsKernelsAddUpToItsTime) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.plan = {.tensor = 2, .pipeline = 2};
  for (const StepMix& mix : {StepMix{.decodes = 8, .decode_context = 800, .samples = 8},
                             StepMix{.prefills = {{512, 512}}, .decodes = 3, .decode_context = 90, .samples = 4}}) {
    const std::vector<DeviceId>& all = cluster_.topology.endpoints();
    StepTimes times{setup, setup.plan, kernels_, cluster_.profile, costs_, std::vector<DeviceId>(all.begin(), all.begin() + 4)};
    Duration sum;
    std::int64_t heads = 0;
    for (const StepKernel& kernel : times.kernels(mix)) {
      sum += kernel.total();
      heads += kernel.name == "head" ? kernel.count : 0;
    }
    EXPECT_NEAR(sum.us(), times.of(mix).latency().us(), 0.01);
    EXPECT_EQ(heads, 1);
  }
}

TEST_F(DgxH100Test, KernelsOfLittleDataTakeTheirLeastTime) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.library = {"torch", "", false};
  const std::vector<DeviceId>& all = cluster_.topology.endpoints();
  StepTimes times{setup, setup.plan, kernels_, cluster_.profile, costs_, std::vector<DeviceId>(all.begin(), all.begin() + 1)};
  const auto each = [&](std::string_view name, std::int64_t answers) {
    for (const StepKernel& kernel : times.kernels({.decodes = answers, .decode_context = answers * 100, .samples = answers})) {
      if (kernel.name == name) return kernel.each.us();
    }
    return 0.0;
  };
  // 0.8 us before each kernel of a graph, as measured. A row of 4096 has a block of 128 threads, which load 8 elements each
  // four times.
  EXPECT_NEAR(each("norm", 1), 0.8 + 1.5 + 4 * 1.15, 0.01);
  EXPECT_NEAR(each("norm", 64), each("norm", 1), 0.01) << "rows run side by side";
  EXPECT_NEAR(each("add_residual", 1), 0.8 + 1.4, 0.02);
  EXPECT_NEAR(each("copy_keys", 1), 0.8 + 1.9, 0.02);
}

TEST_F(DgxH100Test, AGraphIsPaddedToTheNextSizeAndNoneIsLarger) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  const StepMix mix{.decodes = 150, .decode_context = 1500, .samples = 150};
  const StepMix full{.decodes = 256, .decode_context = 2560, .samples = 256};
  const double exact = ms(step(setup, mix), StepPart::kGemm);
  const double larger = ms(step(setup, full), StepPart::kGemm);
  setup.scheduler.graph_sizes = {1, 256};
  const double padded = ms(step(setup, mix), StepPart::kGemm);
  EXPECT_GT(padded, exact);
  EXPECT_NEAR(padded, larger, 0.05 * larger) << "but for the head's rows";
  setup.scheduler.graph_sizes = {1, 149};
  setup.scheduler.cuda_graph = GraphUse::kDecode;
  const Duration eager = step(setup, mix).latency();
  setup.scheduler.graph_sizes = {};
  EXPECT_GT(eager, step(setup, mix).latency());
}

TEST_F(DgxH100Test, NcclsAllReduceTakesLongerThanAnEnginesOwn) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.plan.tensor = 8;
  const StepMix mix{.decodes = 1, .decode_context = 100, .samples = 1};
  const std::vector<DeviceId>& all = cluster_.topology.endpoints();
  const auto tensor = [&](const char* library) {
    GroupCosts costs{cluster_.topology, cluster_.routing, 1, cluster_.profile, {.library = library}};
    StepTimes times{setup, setup.plan, kernels_, cluster_.profile, costs, std::vector<DeviceId>(all.begin(), all.begin() + 8)};
    return ms(times.of(mix), StepPart::kTensor);
  };
  EXPECT_LT(tensor("vllm"), tensor(""));
}

TEST_F(DgxH100Test, StagesFollowOneAnother) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  const StepMix mix{.decodes = 8, .decode_context = 800, .samples = 8};
  const Duration alone = step(setup, mix).latency();
  setup.plan.pipeline = 4;
  const StepTime deep = step(setup, mix);
  ASSERT_EQ(deep.stages.size(), 4U);
  EXPECT_GT(deep.hop, Duration{});
  EXPECT_EQ(deep.latency(), alone + 3 * deep.hop) << "no layer is faster for it";
}

TEST_F(DgxH100Test, ExpertsOfSeveralAttentionGroupsExchangeTokens) {
  InferenceSetup setup = on_one_gpu("mixtral_8x7b");
  setup.plan = {.tensor = 2, .attention_data = 4, .expert = 8};
  const StepTime spread = step(setup, {.decodes = 64, .decode_context = 6400, .samples = 64});
  EXPECT_GT(ms(spread, StepPart::kExperts), 0.0);
  EXPECT_GT(ms(spread, StepPart::kTensor), 0.0);
  setup.plan = {.tensor = 8, .expert = 8};
  EXPECT_EQ(ms(step(setup, {.decodes = 64, .decode_context = 6400, .samples = 64}), StepPart::kExperts), 0.0);
}

TEST(StageLayersTest, TheFirstStagesTakeWhatIsLeft) {
  EXPECT_EQ(stage_layers(61, 4, 0).last, 16);
  EXPECT_EQ(stage_layers(61, 4, 1).first, 16);
  EXPECT_EQ(stage_layers(61, 4, 3).first, 46);
  EXPECT_EQ(stage_layers(61, 4, 3).last, 61);
}

}  // namespace
}  // namespace weft::work::test
