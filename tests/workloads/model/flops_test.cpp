#include "sim/workloads/model/flops.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/published_forms.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

TEST(FlopsTest, PerTokenAreThoseOfTheReferencesExamples) {
  // models/workloads §1.6, printed with four digits.
  struct Row {
    const char* name;
    double sequence;
    double flops;
  };
  const std::vector<Row> rows{{"gpt3_175b", 2048, 1.062e12},    {"llama2_7b", 4096, 4.287e10},
                              {"llama2_70b", 4096, 4.284e11},   {"llama3_405b", 8192, 2.524e12},
                              {"mixtral_8x7b", 4096, 7.971e10}, {"deepseek_v3", 4096, 2.505e11}};
  for (const Row& row : rows) {
    const double flops = model_flops(shipped_model(row.name), 1, row.sequence, FlopConvention::kCausalAttention);
    EXPECT_NEAR(flops / row.flops, 1, 0.0005 / 2) << row.name;
  }
}

TEST(FlopsTest, OfAGptAreThe72Form) {
  const double flops = model_flops(gpt(4, 256, 8, 1000, 128), 3 * 128, 128, FlopConvention::kFullAttention);
  EXPECT_NEAR(flops / gpt_72_form(3, 128, 4, 256, 1000), 1, 1e-12);
}

TEST(FlopsTest, OfAGptWithFullRecomputationAreThe96Form) {
  const double flops =
      hardware_flops(gpt(4, 256, 8, 1000, 128), 3 * 128, 128, FlopConvention::kFullAttention, Recompute::kFull);
  EXPECT_NEAR(flops / gpt_96_form(3, 128, 4, 256, 1000), 1, 1e-12);
}

TEST(FlopsTest, SelectiveRecomputationGivesKorthikantisUtilisation) {
  // Table 5: 530B, MFU 56.0 %, HFU 57.0 %; step 37.83 s on 280 A100 with B = 280.
  const double flops = hardware_flops(gpt(105, 20480, 128, 51200, 2048), 280 * 2048.0, 2048, FlopConvention::kFullAttention,
                                      Recompute::kSelective);
  EXPECT_NEAR(100 * flops / (37.83 * 280 * 312e12), 57.0, 0.05);
}

TEST(FlopsTest, WithMultiTokenPredictionAreThoseOfMegatronBridge) {
  // models/workloads §9.10: 338 TFLOP/s at 1297 tokens/s.
  const TransformerModel model = shipped_model("deepseek_v3");
  const double flops = model_flops(model, 1, 4096, FlopConvention::kCausalAttention) +
                       3 * mtp_forward_flops(model, 1, 4096, FlopConvention::kCausalAttention);
  EXPECT_NEAR(flops / (338e12 / 1297), 1, 0.001);
}

// Dropped tokens' experts are not computed: of 32 layers, two of eight experts of three matrices each.
TEST(FlopsTest, DroppedTokensExpertsDoNotCount) {
  const TransformerModel model = shipped_model("mixtral_8x7b");
  const double routed = 2.0 * 32 * 2 * 3 * 4096 * 14336;  // forward, of a token
  for (const FlopConvention convention : {FlopConvention::kCausalAttention, FlopConvention::kSixN}) {
    const double all = model_flops(model, 100, 4096, convention);
    EXPECT_NEAR((all - model_flops(model, 100, 4096, convention, 0.1)) / (3 * 100 * 0.9 * routed), 1, 1e-9);
  }
  const auto hardware = [&](double computed) {
    return hardware_flops(model, 100, 4096, FlopConvention::kCausalAttention, Recompute::kFull, computed);
  };
  EXPECT_NEAR((hardware(1) - hardware(0.1)) / (4 * 100 * 0.9 * routed), 1, 1e-9);
}

TEST(FlopsTest, CausalAttentionIsHalfOfFull) {
  const TransformerModel model = shipped_model("llama3_8b");
  const LayerFlops full = layer_forward_flops(model, 0, 8192, 8192, FlopConvention::kFullAttention);
  const LayerFlops causal = layer_forward_flops(model, 0, 8192, 8192, FlopConvention::kCausalAttention);
  EXPECT_DOUBLE_EQ(full.attention, 4 * 8192.0 * 8192 * 4096);  // 4 T s a d_h
  EXPECT_DOUBLE_EQ(causal.attention, full.attention / 2);
  EXPECT_DOUBLE_EQ(full.linear, causal.linear);
  EXPECT_EQ(layer_forward_flops(model, 0, 8192, 8192, FlopConvention::kSixN).attention, 0);
}

TEST(FlopsTest, WindowScoresOnlyWhatItSees) {
  TransformerModel model = shipped_model("gpt_oss_120b");
  const auto attention = [&](std::int64_t layer, double sequence) {
    return layer_forward_flops(model, layer, sequence, sequence, FlopConvention::kCausalAttention).attention;
  };
  // 4 a d_h for each of s w - w^2/2 pairs with a window of 128, of s^2/2 without one.
  EXPECT_DOUBLE_EQ(attention(0, 4096), 4.0 * 64 * 64 * (4096.0 * 128 - 128.0 * 128 / 2));
  EXPECT_DOUBLE_EQ(attention(1, 4096), 4.0 * 64 * 64 * (4096.0 * 4096 / 2));
  EXPECT_EQ(attention(0, 128), attention(1, 128));
  EXPECT_LT(attention(0, 129), attention(1, 129));
}

TEST(FlopsTest, ExpertsCountOnlyThoseATokenVisits) {
  const LayerFlops flops = layer_forward_flops(shipped_model("mixtral_8x7b"), 0, 10, 4096, FlopConvention::kCausalAttention);
  EXPECT_DOUBLE_EQ(flops.experts, 2 * 10.0 * 2 * 3 * 4096 * 14336);
  EXPECT_DOUBLE_EQ(flops.linear, 2 * 10.0 * (2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 4096 * 8));
}

}  // namespace
}  // namespace weft::work
