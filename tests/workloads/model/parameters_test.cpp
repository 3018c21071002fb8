#include "sim/workloads/model/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

TEST(ParametersTest, AreThoseOfTheReferencesTable) {
  struct Row {
    const char* name;
    std::int64_t total;
    std::int64_t active;
  };
  const std::vector<Row> rows{
      {"gpt3_175b", 174'604'259'328, 174'604'259'328},  {"llama2_7b", 6'738'415'616, 6'738'415'616},
      {"llama2_70b", 68'976'648'192, 68'976'648'192},   {"llama3_8b", 8'030'261'248, 8'030'261'248},
      {"llama3_70b", 70'553'706'496, 70'553'706'496},   {"llama3_405b", 405'853'388'800, 405'853'388'800},
      {"mixtral_8x7b", 46'702'792'704, 12'879'925'248}, {"deepseek_v3", 671'026'419'200, 37'552'297'472}};
  for (const Row& row : rows) {
    const TransformerModel model = shipped_model(row.name);
    EXPECT_EQ(total_parameters(model), row.total) << row.name;
    EXPECT_EQ(active_parameters(model), row.active) << row.name;
  }
}

TEST(ParametersTest, AreThoseOfTheReferencesFurtherModels) {
  // The reference counts no norms of queries and keys: 2 d_h in each of 94 layers.
  EXPECT_EQ(total_parameters(shipped_model("qwen3_235b_a22b")) - 94 * 2 * 128, 235'093'610'496);
  struct Row {
    const char* name;
    double total_billions;
    double active_billions;
    double unit;  // of the last digit printed
  };
  const std::vector<Row> rows{{"qwen3_235b_a22b", 235.09, 22.19, 0.01},
                              {"qwen3_30b_a3b", 30.53, 3.35, 0.01},
                              {"gpt_oss_120b", 116.8, 5.7, 0.1},
                              {"kimi_k2", 1026, 33, 1}};
  for (const Row& row : rows) {
    const TransformerModel model = shipped_model(row.name);
    EXPECT_NEAR(static_cast<double>(total_parameters(model)) * 1e-9, row.total_billions, row.unit / 2) << row.name;
    EXPECT_NEAR(static_cast<double>(active_parameters(model)) * 1e-9, row.active_billions, row.unit / 2) << row.name;
  }
  EXPECT_NEAR(static_cast<double>(active_parameters(shipped_model("kimi_k2"))) * 1e-9, 32.9, 0.05);
}

TEST(ParametersTest, OfMegatronsPaddedGpt3Are174Point6Billion) {
  TransformerModel model = shipped_model("gpt3_175b");
  model.vocab = padded_vocab(model.vocab, 8);
  EXPECT_EQ(model.vocab, 51'200);
  EXPECT_NEAR(static_cast<double>(total_parameters(model)) * 1e-9, 174.6, 0.05);
}

TEST(ParametersTest, PaddedVocabularyIsAMultipleOf128PerTensorRank) {
  EXPECT_EQ(padded_vocab(1023, 8), 1024);
  EXPECT_EQ(padded_vocab(1024, 8), 1024);
  EXPECT_EQ(padded_vocab(1025, 8), 2048);
}

TEST(ParametersTest, DeepSeekV3WithoutInputEmbeddingActivates36Point6Billion) {
  const TransformerModel model = shipped_model("deepseek_v3");
  EXPECT_NEAR(static_cast<double>(active_parameters(model) - embedding_parameters(model)) * 1e-9, 36.6, 0.05);
}

TEST(ParametersTest, MultiTokenPredictionIsOneMoreLayerAndAProjection) {
  // MLA 187,107,328; 256 + 1 experts of 3 x 7168 x 2048, router and its bias; two norms; projection of 2 x 7168 and three
  // norms.
  const std::int64_t layer = 187'107'328 + 257 * 44'040'192LL + 256 * 7169 + 2 * 7168;
  const TransformerModel model = shipped_model("deepseek_v3");
  EXPECT_EQ(mtp_parameters(model), layer + 2 * 7168 * 7168 + 3 * 7168);
  EXPECT_EQ(mtp_parameters(shipped_model("llama3_8b")), 0);
}

TEST(ParametersTest, ParallelBlockHasOneNorm) {
  TransformerModel model = shipped_model("llama3_8b");
  const std::int64_t before = layer_parameters(model, 0).norms;
  model.parallel_block = true;
  EXPECT_EQ(before, 2 * 4096);
  EXPECT_EQ(layer_parameters(model, 0).norms, 4096);
}

TEST(ParametersTest, BiasesAreThoseOfGpt) {
  // 3h + h + f + h.
  EXPECT_EQ(layer_parameters(gpt(2, 64, 4, 100, 16), 0).biases, 3 * 64 + 64 + 4 * 64 + 64);
}

}  // namespace
}  // namespace weft::work
