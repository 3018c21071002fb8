// Our own YAML. Whole messages of broken files: tests/apps/errors.
#include "sim/workloads/model/model_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/workloads/model/model_checks.h"
#include "sim/workloads/model/parameters.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

using ::testing::HasSubstr;

const std::string kSmall = "{layers: 2, hidden: 64, heads: 4, ffn: 128, vocab: 100";  // without the closing brace

TEST(ModelReaderTest, LeavesToTheFileWhatHasNoDefault) {
  const std::string text = refusal_of("{vocab: 100}");
  for (const char* key : {"layers", "hidden", "heads", "ffn"}) {
    EXPECT_THAT(text, HasSubstr(std::string{"model: missing key '"} + key + "'"));
  }
}

TEST(ModelReaderTest, DefaultsAreLlamas) {
  const TransformerModel model = model_from(kSmall + "}");
  EXPECT_EQ(model.name, "model");
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(model.norm, NormKind::kRmsNorm);
  EXPECT_TRUE(model.gated_mlp);
  EXPECT_FALSE(model.tied_embedding);
  EXPECT_EQ(model.windows, std::vector<std::int64_t>{0});
}

TEST(ModelReaderTest, ReadsEveryKey) {
  const TransformerModel model = model_from(
      "{kind: model, name: all, description: every key, layers: 6, hidden: 64, heads: 8, kv_heads: 2, head_dim: 24, ffn: 96,"
      " vocab: 100, learned_positions: 32, norm: layer_norm, gated_mlp: false, tied_embedding: true, linear_bias: true,"
      " qkv_bias: true, qk_norm: true, parallel_block: true, windows: [16, 0, 8], mtp_modules: 2, dropout: 0.1,"
      " moe: {experts: 16, experts_per_token: 4, shared_experts: 2, expert_ffn: 32, dense_layers: 1, groups: 4,"
      " groups_per_token: 2, router_bias: true, shared_gate: true}}");
  TransformerModel expected;
  expected.name = "all";
  expected.layers = 6;
  expected.hidden = 64;
  expected.heads = 8;
  expected.kv_heads = 2;
  expected.head_dim = 24;
  expected.ffn = 96;
  expected.vocab = 100;
  expected.learned_positions = 32;
  expected.norm = NormKind::kLayerNorm;
  expected.gated_mlp = false;
  expected.tied_embedding = true;
  expected.linear_bias = true;
  expected.qkv_bias = true;
  expected.qk_norm = true;
  expected.parallel_block = true;
  expected.windows = {16, 0, 8};
  expected.mtp_modules = 2;
  expected.dropout = 0.1;
  expected.moe = {.experts = 16,
                  .experts_per_token = 4,
                  .shared_experts = 2,
                  .expert_ffn = 32,
                  .dense_layers = 1,
                  .groups = 4,
                  .groups_per_token = 2,
                  .router_bias = true,
                  .shared_gate = true};
  EXPECT_EQ(model, expected);
}

TEST(ModelReaderTest, NamesShippedModelsAndFiles) {
  const std::string data = WEFT_TEST_DATA;
  const auto named = [](const std::string& reference) {
    Diagnostics diagnostics;
    const ConfigNode scenario = ConfigNode::parse("model: " + reference, "scenario.yaml");
    const TransformerModel model = read_model(*scenario.find("model"), diagnostics);
    diagnostics.throw_if_any();
    return total_parameters(model);
  };
  EXPECT_EQ(named("llama3_8b"), 8'030'261'248);
  EXPECT_EQ(named(std::string{WEFT_SOURCE_DIR} + "/configs/models/llama3_8b.yaml"), 8'030'261'248);
  EXPECT_EQ(named(data + "/models/llama3_8b.json"), 8'030'261'248);
  // A map lays its keys over a file: one more layer.
  EXPECT_EQ(named("{extends: " + std::string{WEFT_SOURCE_DIR} + "/configs/models/llama3_8b.yaml, layers: 33}"),
            8'030'261'248 + layer_parameters(shipped_model("llama3_8b"), 0).total());
}

TEST(ModelReaderTest, UnknownNamesAreAnsweredWithTheNearest) {
  Diagnostics diagnostics;
  const ConfigNode scenario = ConfigNode::parse("model: lama3_8b", "scenario.yaml");
  static_cast<void>(read_model(*scenario.find("model"), diagnostics));
  ASSERT_EQ(diagnostics.errors().size(), 1);
  EXPECT_THAT(diagnostics.errors()[0].message,
              HasSubstr("cannot read 'lama3_8b': no such file, and none of the shipped models by this name"));
  EXPECT_THAT(diagnostics.errors()[0].note, HasSubstr("did you mean 'llama3_8b'?"));
}

TEST(ModelReaderTest, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(refusal_of("{layers: 2, hidden: 64, heads: 4, kv_heads: 3, ffn: 128, vocab: 100}"),
              HasSubstr("4 heads cannot share 3 key/value heads evenly"));
  EXPECT_THAT(refusal_of("{layers: 2, hidden: 66, heads: 4, ffn: 128, vocab: 100}"),
              HasSubstr("66 hidden elements cannot be split into 4 heads evenly"));
  EXPECT_EQ(refusal_of("{layers: 2, hidden: 66, heads: 4, head_dim: 16, ffn: 128, vocab: 100}"), "no error");
  EXPECT_THAT(refusal_of(kSmall + ", windows: []}"), HasSubstr("expected one window or more"));
  EXPECT_THAT(refusal_of(kSmall + ", windows: [0, 0, 0]}"), HasSubstr("3 windows for 2 layers"));
  EXPECT_EQ(refusal_of(kSmall + ", windows: [0, 16]}"), "no error");
}

TEST(ModelReaderTest, RefusesExpertsThatDoNotFitTogether) {
  const auto with = [](const std::string& moe) {
    return refusal_of("{layers: 4, hidden: 64, heads: 4, vocab: 100, moe: {expert_ffn: 32, " + moe + "}}");
  };
  EXPECT_EQ(with("experts: 8, experts_per_token: 8"), "no error");
  EXPECT_THAT(with("experts: 8, experts_per_token: 9"), HasSubstr("a token cannot visit 9 of 8 experts"));
  EXPECT_THAT(with("experts: 8, experts_per_token: 2, groups: 3"), HasSubstr("8 experts cannot be split into 3 equal groups"));
  EXPECT_THAT(with("experts: 8, experts_per_token: 2, groups: 4, groups_per_token: 5"),
              HasSubstr("a token cannot visit 5 of 4 groups"));
  EXPECT_EQ(with("experts: 8, experts_per_token: 4, groups: 4, groups_per_token: 2"), "no error");
  EXPECT_THAT(with("experts: 8, experts_per_token: 5, groups: 4, groups_per_token: 2"),
              HasSubstr("2 groups of 2 experts have no 5 experts for a token"));
  EXPECT_THAT(with("experts: 8, experts_per_token: 2, dense_layers: 1"), HasSubstr("missing key 'ffn'"));
  EXPECT_THAT(with("experts: 8, experts_per_token: 2, dense_layers: 4"), HasSubstr("leave no layer of 4 with experts"));
}

TEST(ModelReaderTest, RefusesKeysWithoutEffect) {
  EXPECT_THAT(refusal_of(kSmall + ", kv_heads: 2, mla: {kv_rank: 8, nope_dim: 8, rope_dim: 4, value_dim: 8}}"),
              HasSubstr("model.kv_heads: has no effect on latent attention"));
  EXPECT_THAT(refusal_of(kSmall + ", moe: {experts: 8, experts_per_token: 2, expert_ffn: 32}}"),
              HasSubstr("model.ffn: has no effect: no layer is dense"));
}

TEST(ModelReaderTest, LargestModelStillCountsWithin64Bits) {
  TransformerModel model;
  model.layers = kMaxLayers;
  model.hidden = kMaxHidden;
  model.heads = model.kv_heads = kMaxHeads;
  model.head_dim = kMaxHeadDim;
  model.ffn = kMaxFfn;
  model.vocab = kMaxVocab;
  model.learned_positions = kMaxPositions;
  model.moe = {
      .experts = kMaxExperts, .experts_per_token = kMaxExperts, .shared_experts = kMaxSharedExperts, .expert_ffn = kMaxFfn};
  // 3 h f_e E L alone is 3 x 2^59, of at most 2^63 - 1.
  EXPECT_GT(total_parameters(model), std::int64_t{3} << 59);
}

}  // namespace
}  // namespace weft::work
