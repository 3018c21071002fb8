// The same models from Hugging Face's files as from ours, and counts of parameters that Hugging Face publishes.
#include "sim/workloads/model/huggingface_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/workloads/model/parameters.h"
#include "tests/support/temp_folder.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

using ::testing::HasSubstr;

class SameModelTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SameModelTest, ComesFromBothFiles) {
  const std::string name = GetParam();
  EXPECT_EQ(model_of(std::filesystem::path{WEFT_TEST_DATA} / "models" / (name + ".json")), shipped_model(name));
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, SameModelTest,
                         ::testing::Values("llama3_8b", "mixtral_8x7b", "deepseek_v3", "gpt_oss_120b", "qwen3_30b_a3b"));

TEST(HuggingFaceConfigTest, Gpt2HasItsPublishedParameters) {
  const TransformerModel model = model_from(
      R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
          "n_inner": null, "resid_pdrop": 0.1, "vocab_size": 50257})");
  EXPECT_EQ(total_parameters(model), 124'439'808);
  EXPECT_EQ(model.dropout, 0.1);
}

TEST(HuggingFaceConfigTest, MistralHasItsPublishedParametersAndWindow) {
  const std::string sizes =
      R"({"architectures": ["MistralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
          "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000)";
  EXPECT_EQ(total_parameters(model_from(sizes + "}")), 7'241'732'096);
  EXPECT_EQ(model_from(sizes + "}").window(5), 4096);  // the class's default
  EXPECT_EQ(model_from(sizes + R"(, "sliding_window": null})").window(5), 0);
  EXPECT_EQ(model_from(sizes + R"(, "sliding_window": 1024})").window(5), 1024);
}

TEST(HuggingFaceConfigTest, Qwen2HasItsPublishedParametersAndWindows) {
  const std::string sizes =
      R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14,
          "num_hidden_layers": 24, "num_key_value_heads": 2, "sliding_window": 32768, "tie_word_embeddings": true,
          "vocab_size": 151936, "max_window_layers": 21)";
  EXPECT_EQ(total_parameters(model_from(sizes + "}")), 494'032'768);
  EXPECT_EQ(model_from(sizes + "}").window(23), 0);
  const TransformerModel sliding = model_from(sizes + R"(, "use_sliding_window": true})");
  EXPECT_EQ(sliding.window(20), 0);
  EXPECT_EQ(sliding.window(21), 32768);
}

TEST(HuggingFaceConfigTest, Qwen2MoeHasItsPublishedParameters) {
  const TransformerModel model = model_from(
      R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408,
          "num_attention_heads": 16, "num_experts": 60, "num_experts_per_tok": 4, "num_hidden_layers": 24,
          "num_key_value_heads": 16, "shared_expert_intermediate_size": 5632, "vocab_size": 151936})");
  EXPECT_EQ(total_parameters(model), 14'315'784'192);
  EXPECT_EQ(model.moe.shared_experts, 4);
}

TEST(HuggingFaceConfigTest, DeepSeekV2LiteHasItsPublishedParameters) {
  const TransformerModel model = model_from(
      R"({"architectures": ["DeepseekV2ForCausalLM"], "first_k_dense_replace": 1, "hidden_size": 2048,
          "intermediate_size": 10944, "kv_lora_rank": 512, "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1,
          "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6,
          "num_hidden_layers": 27, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "topk_group": 1,
          "v_head_dim": 128, "vocab_size": 102400})");
  EXPECT_EQ(total_parameters(model), 15'706'484'224);
  EXPECT_EQ(model.moe.groups_per_token, 0);
}

TEST(HuggingFaceConfigTest, KeysNeedNoBlanksBetweenThem) {
  const TransformerModel model =
      model_from(R"({"architectures":["LlamaForCausalLM"],"hidden_size":64,"intermediate_size":128,"num_attention_heads":4,)"
                 R"("num_hidden_layers":2,"vocab_size":100})");
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.layers, 2);
}

std::string refusal_of_file(const std::string& text) {
  const weft::test::TempFolder folder;
  const std::filesystem::path file = folder.write("config.json", text);
  try {
    static_cast<void>(load_model_file(file));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(HuggingFaceConfigTest, BrokenJsonIsLocated) {
  EXPECT_THAT(refusal_of_file("{\n  \"a\": 1,\n  \"b\" 2\n}"), HasSubstr("config.json:3:7: error: not well-formed JSON"));
  EXPECT_THAT(refusal_of_file("{\n  \"a\": ["), HasSubstr("config.json:2:9: error: the JSON ends before it is complete"));
  EXPECT_THAT(refusal_of_file(""), HasSubstr("config.json:1:1: error: the JSON ends before it is complete"));
  EXPECT_THAT(refusal_of_file("{\"a\": 1,\n\t\"a\": 2}"), HasSubstr("config.json:2:2: error: "));
}

TEST(HuggingFaceConfigTest, DeepNestingIsRefused) {
  EXPECT_THAT(refusal_of_file(std::string(1'000'000, '[')), HasSubstr("nested deeper than 64 levels"));
  EXPECT_EQ(refusal_of_file("{\"a\": " + std::string(60, '[') + std::string(60, ']') + "}"), "no error");
}

TEST(HuggingFaceConfigTest, ModelsAreNamedAfterTheirFolder) {
  const std::string sizes = R"("hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
                               "num_hidden_layers": 2, "vocab_size": 100, "architectures": ["LlamaForCausalLM"]})";
  const weft::test::TempFolder folder;
  const std::filesystem::path file = folder.write("config.json", "{" + sizes);
  EXPECT_EQ(model_of(file).name, folder.path().filename());
  EXPECT_EQ(model_from(R"({"_name_or_path": "org/tiny", )" + sizes).name, "org/tiny");
}

TEST(HuggingFaceConfigTest, UnknownArchitecturesAreAnsweredWithThoseKnown) {
  const std::string text = refusal_of(R"({"architectures": ["LlamaForCausalLm"]})");
  EXPECT_THAT(text, HasSubstr("model.architectures[0]: cannot read architecture 'LlamaForCausalLm'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'LlamaForCausalLM'? architectures here: DeepseekV2ForCausalLM, "));
  EXPECT_THAT(refusal_of(R"({"architectures": ["BloomForCausalLM"]})"),
              HasSubstr("note: architectures here: DeepseekV2ForCausalLM"));
}

TEST(HuggingFaceConfigTest, MissingAndEmptySizesAreNamed) {
  const std::string text = refusal_of(
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": "wide", "num_attention_heads": null, "vocab_size": 100,
          "intermediate_size": 128})");
  EXPECT_THAT(text, HasSubstr("model.hidden_size: expected an integer such as '8', got 'wide'"));
  EXPECT_THAT(text, HasSubstr("model.num_attention_heads: expected an integer such as '8', got nothing"));
  EXPECT_THAT(text, HasSubstr("model: missing key 'num_hidden_layers'"));
}

TEST(HuggingFaceConfigTest, RefusesLayersOfOtherKinds) {
  const std::string text = refusal_of(
      R"({"architectures": ["GptOssForCausalLM"], "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
          "num_key_value_heads": 4, "num_hidden_layers": 2, "vocab_size": 100, "num_local_experts": 4,
          "num_experts_per_tok": 2, "sliding_window": 16, "layer_types": ["linear_attention", "full_attention"]})");
  EXPECT_THAT(text, HasSubstr("model.layer_types: cannot model layers of 'linear_attention'"));
}

TEST(HuggingFaceConfigTest, RefusesExpertsInEveryOtherLayer) {
  const std::string text = refusal_of(
      R"({"architectures": ["Qwen3MoeForCausalLM"], "decoder_sparse_step": 2, "hidden_size": 64, "num_attention_heads": 4,
          "num_key_value_heads": 3, "num_hidden_layers": 2, "vocab_size": 100, "num_experts": 4, "num_experts_per_tok": 2,
          "moe_intermediate_size": 32})");
  EXPECT_THAT(text, HasSubstr("model.decoder_sparse_step: only 1 can be modelled, got 2"));
  EXPECT_THAT(text, HasSubstr("model.num_key_value_heads: 4 heads cannot share 3 key/value heads evenly"));
}

}  // namespace
}  // namespace weft::work
