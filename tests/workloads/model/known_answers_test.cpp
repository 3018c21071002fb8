// Known answers of models/workloads §8 on parameters, FLOPs, memory and messages, by their numbers there.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "sim/collectives/call.h"
#include "sim/workloads/model/flops.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/model/messages.h"
#include "sim/workloads/model/parameters.h"
#include "tests/support/published_forms.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// `value` as printed with `digits` after the point.
double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

// The four models of Korthikanti 2022, table 3, with their microbatch and interleaving; t = 8, s = 2048, V = 51200.
struct Korthikanti {
  TransformerModel model;
  int pipeline = 1;
  int virtual_stages = 1;
  std::int64_t micro = 1;

  [[nodiscard]] ParallelPlan plan(bool sequence_parallel, Recompute recompute) const {
    ParallelPlan out;
    out.tensor = 8;
    out.pipeline = pipeline;
    out.virtual_stages = virtual_stages;
    out.sequence_parallel = sequence_parallel;
    out.recompute = recompute;
    return out;
  }
  [[nodiscard]] double coefficient(bool sequence_parallel, Recompute recompute) const {
    return korthikanti_coefficient(model, plan(sequence_parallel, recompute), 2048);
  }
  [[nodiscard]] double first_stage_gib(bool sequence_parallel, Recompute recompute) const {
    const Batch batch{.global = micro, .micro = micro, .sequence = 2048};
    return korthikanti_first_stage(model, plan(sequence_parallel, recompute), batch) / kGiB;
  }
};

Korthikanti model_22b() { return {.model = gpt(48, 6144, 64, 51200, 2048), .micro = 4}; }
Korthikanti model_175b() { return {.model = gpt(96, 12288, 96, 51200, 2048), .pipeline = 8, .virtual_stages = 3}; }
Korthikanti model_530b() { return {.model = gpt(105, 20480, 128, 51200, 2048), .pipeline = 35, .virtual_stages = 3}; }
Korthikanti model_1t() { return {.model = gpt(128, 25600, 160, 51200, 2048), .pipeline = 64}; }

StageParameters dense(double parameters) { return {.dense = static_cast<std::int64_t>(parameters)}; }

ParallelPlan sharded(int data, int zero) {
  ParallelPlan plan;
  plan.data = data;
  plan.zero = zero;
  return plan;
}

TEST(KnownAnswersTest, KnownAnswer01Gpt3Parameters) {
  EXPECT_EQ(total_parameters(gpt(96, 12288, 96, 50257, 2048)), 174'604'259'328);
  EXPECT_EQ(total_parameters(shipped_model("gpt3_175b")), 174'604'259'328);
}

TEST(KnownAnswersTest, KnownAnswer02Gpt3ParametersOfOneLayer) {
  EXPECT_EQ(layer_parameters(shipped_model("gpt3_175b"), 0).total(), 1'812'099'072);
}

TEST(KnownAnswersTest, KnownAnswer03LlamaParameters) {
  EXPECT_EQ(total_parameters(shipped_model("llama2_7b")), 6'738'415'616);
  EXPECT_EQ(total_parameters(shipped_model("llama2_70b")), 68'976'648'192);
  EXPECT_EQ(total_parameters(shipped_model("llama3_405b")), 405'853'388'800);
}

TEST(KnownAnswersTest, KnownAnswer04MixtralParameters) {
  EXPECT_EQ(total_parameters(shipped_model("mixtral_8x7b")), 46'702'792'704);
  EXPECT_EQ(active_parameters(shipped_model("mixtral_8x7b")), 12'879'925'248);
}

TEST(KnownAnswersTest, KnownAnswer05DeepSeekV3Parameters) {
  const TransformerModel model = shipped_model("deepseek_v3");
  const LayerParameters first = layer_parameters(model, 0);
  const std::int64_t inner_norms = first.norms - 2 * model.hidden;
  EXPECT_EQ(first.qkv + first.latent + first.proj + inner_norms, 187'107'328);
  EXPECT_EQ(total_parameters(model), 671'026'419'200);
  EXPECT_EQ(active_parameters(model), 37'552'297'472);
}

TEST(KnownAnswersTest, KnownAnswer06NarayananClosedForm) {
  EXPECT_EQ(gpt_closed_form(36, 4096, 51200, 2048), 7'467'778'048);
  // The parts add up to it and the final norm, which it leaves out.
  EXPECT_EQ(total_parameters(gpt(36, 4096, 32, 51200, 2048)), 7'467'778'048 + 2 * 4096);
}

TEST(KnownAnswersTest, KnownAnswer07Gpt3FlopsPerTokenBySixN) {
  EXPECT_DOUBLE_EQ(rounded(model_flops(shipped_model("gpt3_175b"), 1, 2048, FlopConvention::kSixN) / 1e12, 4), 1.0476);
}

TEST(KnownAnswersTest, KnownAnswer08Llama405bFlopsPerToken) {
  const TransformerModel model = shipped_model("llama3_405b");
  const double six_n = model_flops(model, 1, 8192, FlopConvention::kSixN);
  const auto attention = [&](FlopConvention convention) {
    return 3 * 126 * layer_forward_flops(model, 0, 1, 8192, convention).attention;
  };
  EXPECT_DOUBLE_EQ(rounded(six_n / 1e12, 3), 2.435);
  EXPECT_DOUBLE_EQ(rounded((six_n + attention(FlopConvention::kCausalAttention)) / 1e12, 3), 2.537);
  EXPECT_DOUBLE_EQ(rounded((six_n + attention(FlopConvention::kFullAttention)) / 1e12, 3), 2.638);
}

TEST(KnownAnswersTest, KnownAnswer09RecomputeFactorOfGpt3) {
  const double factor = gpt_96_form(1, 2048, 96, 12288, 51200) / gpt_72_form(1, 2048, 96, 12288, 51200);
  EXPECT_DOUBLE_EQ(rounded(factor, 4), 1.3322);
  const TransformerModel model = gpt(96, 12288, 96, 51200, 2048);
  const double hardware = hardware_flops(model, 2048, 2048, FlopConvention::kFullAttention, Recompute::kFull);
  EXPECT_NEAR(hardware / model_flops(model, 2048, 2048, FlopConvention::kFullAttention), factor, 1e-12);
}

TEST(KnownAnswersTest, KnownAnswer14ZeroMemory) {
  const std::array gigabytes{120.0, 31.40625, 16.640625, 1.875};
  for (int zero = 0; zero <= 3; ++zero) {
    const StateBytes bytes = state_bytes(dense(7.5e9), dense(7.5e9), sharded(64, zero), {});
    EXPECT_DOUBLE_EQ(bytes.total() / 1e9, gigabytes[static_cast<std::size_t>(zero)]) << "ZeRO-" << zero;
  }
}

TEST(KnownAnswersTest, KnownAnswer15MegatronDistributedOptimizer) {
  PrecisionPlan precision;
  precision.gradients = Precision::kFp32;
  ParallelPlan plan = sharded(64, 0);
  plan.data_parallelism = DataParallelism::kMegatron;
  EXPECT_DOUBLE_EQ(state_bytes(dense(1e9), dense(1e9), plan, precision).total() / 1e9, 18);
  plan.data_parallelism = DataParallelism::kDistributedOptimizer;
  EXPECT_DOUBLE_EQ(state_bytes(dense(1e9), dense(1e9), plan, precision).total() / 1e9, 6.1875);
}

TEST(KnownAnswersTest, KnownAnswer16TensorParallelMessage) {
  ParallelPlan plan;
  plan.tensor = 8;
  const double message = hidden_state_bytes(shipped_model("gpt3_175b"), plan, one_sequence(2048), Precision::kBf16);
  EXPECT_DOUBLE_EQ(message, 50'331'648);
  EXPECT_DOUBLE_EQ(message * coll::bus_factor(coll::Collective::kAllReduce, 8), 88'080'384);
}

TEST(KnownAnswersTest, KnownAnswer17RingAllReduceOfGradients) {
  const StateBytes bytes = state_bytes(dense(175e9), dense(175e9), sharded(8, 0), {});
  EXPECT_DOUBLE_EQ(bytes.gradients, 350e9);
  EXPECT_DOUBLE_EQ(bytes.gradients * coll::bus_factor(coll::Collective::kAllReduce, 8), 612.5e9);
}

TEST(KnownAnswersTest, KnownAnswer18VolumeOfZero3OverDdp) {
  // Parameters gathered twice and gradients scattered once, against gradients all-reduced once; both in bf16.
  const StateBytes bytes = state_bytes(dense(1e9), dense(1e9), sharded(64, 0), {});
  const double zero3 = 2 * bytes.parameters * coll::bus_factor(coll::Collective::kAllGather, 64) +
                       bytes.gradients * coll::bus_factor(coll::Collective::kReduceScatter, 64);
  EXPECT_DOUBLE_EQ(zero3 / (bytes.gradients * coll::bus_factor(coll::Collective::kAllReduce, 64)), 1.5);
}

TEST(KnownAnswersTest, KnownAnswer19PipelineMessage) {
  const TransformerModel model = shipped_model("gpt3_175b");
  ParallelPlan plan;
  plan.tensor = 8;
  const Batch batch = one_sequence(2048);
  EXPECT_DOUBLE_EQ(pipeline_message_bytes(model, plan, batch, Precision::kBf16, false), 50'331'648);
  EXPECT_DOUBLE_EQ(pipeline_message_bytes(model, plan, batch, Precision::kBf16, true), 6'291'456);
  plan.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(pipeline_message_bytes(model, plan, batch, Precision::kBf16, false), 6'291'456);
}

TEST(KnownAnswersTest, KnownAnswer20ExpertDispatch) {
  const TransformerModel model = shipped_model("deepseek_v3");
  EXPECT_DOUBLE_EQ(expert_message_bytes(model, 4096, Precision::kFp8).payload, 234'881'024);
  EXPECT_DOUBLE_EQ(expert_message_bytes(model, 4096, Precision::kFp8).scales, 7'340'032);
  EXPECT_DOUBLE_EQ(expert_message_bytes(model, 4096, Precision::kBf16).total(), 469'762'048);
}

TEST(KnownAnswersTest, KnownAnswer21KorthikantiCoefficients) {
  const Korthikanti run = model_175b();
  EXPECT_DOUBLE_EQ(run.coefficient(false, Recompute::kNone), 23);
  EXPECT_DOUBLE_EQ(run.coefficient(true, Recompute::kNone), 14.25);
  EXPECT_DOUBLE_EQ(run.coefficient(false, Recompute::kSelective), 13);
  EXPECT_DOUBLE_EQ(run.coefficient(true, Recompute::kSelective), 4.25);
  EXPECT_DOUBLE_EQ(run.coefficient(false, Recompute::kFull), 2);
}

TEST(KnownAnswersTest, KnownAnswer22KorthikantiShareOfTheBaseline) {
  const auto percent = [](const Korthikanti& run) {
    return rounded(100 * run.coefficient(true, Recompute::kSelective) / run.coefficient(false, Recompute::kNone), 2);
  };
  EXPECT_DOUBLE_EQ(percent(model_22b()), 16.14);
  EXPECT_DOUBLE_EQ(percent(model_175b()), 18.48);
  EXPECT_DOUBLE_EQ(percent(model_530b()), 20.24);
  EXPECT_DOUBLE_EQ(percent(model_1t()), 20.24);
}

TEST(KnownAnswersTest, KnownAnswer23KorthikantiFirstStage) {
  const std::array runs{model_22b(), model_175b(), model_530b(), model_1t()};
  const std::array baseline{59.25, 66.84375, 114.0234375, 131.25};
  const std::array both{9.5625, 12.3515625, 23.076171875, 26.5625};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_DOUBLE_EQ(runs[i].first_stage_gib(false, Recompute::kNone), baseline[i]);
    EXPECT_DOUBLE_EQ(runs[i].first_stage_gib(true, Recompute::kSelective), both[i]);
  }
}

TEST(KnownAnswersTest, KnownAnswer24ShareOfScores) {
  const auto scores = [](const Korthikanti& run) {
    ParallelPlan serial;
    return korthikanti_coefficient(run.model, serial, 2048) - 34;
  };
  EXPECT_DOUBLE_EQ(rounded(scores(model_22b()), 2), 106.67);
  EXPECT_DOUBLE_EQ(scores(model_175b()), 80);
  EXPECT_DOUBLE_EQ(scores(model_530b()), 64);
}

TEST(KnownAnswersTest, KnownAnswer25KeyValueBytesPerToken) {
  const auto bytes = [](const char* name) { return kv_bytes_per_token(shipped_model(name), Precision::kBf16); };
  EXPECT_DOUBLE_EQ(bytes("gpt3_175b"), 4'718'592);
  EXPECT_DOUBLE_EQ(bytes("llama2_7b"), 524'288);
  EXPECT_DOUBLE_EQ(bytes("llama2_70b"), 327'680);
  EXPECT_DOUBLE_EQ(bytes("llama3_70b"), 327'680);
  EXPECT_DOUBLE_EQ(bytes("llama3_405b"), 516'096);
  EXPECT_DOUBLE_EQ(bytes("mixtral_8x7b"), 131'072);
  EXPECT_DOUBLE_EQ(bytes("deepseek_v3"), 70'272);
}

TEST(KnownAnswersTest, KnownAnswer33Gpt3On384A100) {
  const double seconds = gpt_96_form(1536, 2048, 96, 12288, 51200) / (384 * 153e12);
  EXPECT_DOUBLE_EQ(rounded(seconds, 1), 76.8);
  const double days = 300e9 / (1536 * 2048) * seconds / 86400;
  EXPECT_DOUBLE_EQ(rounded(days, 1), 84.7);
}

TEST(KnownAnswersTest, KnownAnswer34MfuOfKorthikanti530b) {
  // 280 A100 at 312 TFLOP/s, B = 280.
  const TransformerModel model = model_530b().model;
  const double flops = model_flops(model, 280 * 2048.0, 2048, FlopConvention::kFullAttention);
  EXPECT_NEAR(flops, gpt_72_form(280, 2048, 105, 20480, 51200), flops * 1e-12);
  EXPECT_DOUBLE_EQ(rounded(flops / (37.83 * 280 * 312e12), 4), 0.5605);
}

TEST(KnownAnswersTest, KnownAnswer35MfuOfMegaScale175b) {
  // B = 6144; 128 heads do not change the FLOPs.
  const double flops = model_flops(gpt(96, 12288, 128, 64000, 2048), 6144 * 2048.0, 2048, FlopConvention::kFullAttention);
  EXPECT_DOUBLE_EQ(rounded(flops / (6.34 * 12288 * 312e12), 3), 0.558);
}

}  // namespace
}  // namespace weft::work
