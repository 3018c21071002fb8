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
  TransformerModel model = model_of(std::filesystem::path{WEFT_TEST_DATA} / "models" / (name + ".json"));
  model.stored = {};  // ours do not say how weights are stored
  EXPECT_EQ(model, shipped_model(name));
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, SameModelTest,
                         ::testing::Values("llama3_8b", "mixtral_8x7b", "deepseek_v3", "qwen3_30b_a3b"));

// Ours has matrices and norms alone.
TEST(HuggingFaceConfigTest, GptOssIsOursWithItsBiasesAndSinks) {
  const TransformerModel model = model_of(std::filesystem::path{WEFT_TEST_DATA} / "models" / "gpt_oss_120b.json");
  const TransformerModel ours = shipped_model("gpt_oss_120b");
  // A layer has 5120 columns of Q, K, V, 2880 of the output, 64 sinks, 128 of the router, 2 x 2880 + 2880 of each expert.
  const std::int64_t biases = 5120 + 2880 + 64 + 128 + 128 * 3 * 2880;
  EXPECT_EQ(total_parameters(model), total_parameters(ours) + 36 * biases);
  EXPECT_EQ(irregularity(model), "");
  for (const std::int64_t layer : {0, 1}) EXPECT_EQ(layer_shape(model, layer).mixer.window, ours.window(layer));
}

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

TEST(HuggingFaceConfigTest, AKeyThatLooksLikeAnAbsentOneIsAWarning) {
  const auto warnings = [](const std::string& keys) {
    Diagnostics diagnostics;
    static_cast<void>(
        read_model(ConfigNode::parse("{architectures: [Qwen3ForCausalLM], hidden_size: 64, intermediate_size: 128, "
                                     "num_attention_heads: 4, num_hidden_layers: 2, vocab_size: 100, " +
                                         keys + "}",
                                     "config.json", "model"),
                   diagnostics));
    std::string text;
    for (const Diagnostic& warning : diagnostics.warnings()) text += warning.message + "; " + warning.note + "\n";
    return text;
  };
  const std::string expected = "model.num_key_value_head: nothing reads this key; did you mean 'num_key_value_heads'?\n";
  EXPECT_EQ(warnings("num_key_value_head: 2"), expected);
  EXPECT_EQ(warnings("num_key_value_heads: 2, num_key_value_head: 2"), "") << "the key is there";
  EXPECT_EQ(warnings("torch_dtype: bfloat16, attention_dropout: 0.0"), "") << "keys that are like none";
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
  EXPECT_THAT(text, HasSubstr("did you mean 'LlamaForCausalLM'? `weft list models` names those that can be read"));
  EXPECT_THAT(refusal_of(R"({"architectures": ["MptForCausalLM"]})"), HasSubstr("note: `weft list models` names those"));
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

TEST(HuggingFaceConfigTest, ExpertsMayBeInEveryOtherLayer) {
  const std::string sizes =
      R"({"architectures": ["Qwen3MoeForCausalLM"], "decoder_sparse_step": 2, "hidden_size": 64, "num_attention_heads": 4,
          "intermediate_size": 128, "num_hidden_layers": 3, "vocab_size": 100, "num_experts": 4, "num_experts_per_tok": 2,
          "moe_intermediate_size": 32, "num_key_value_heads": )";
  const TransformerModel model = model_from(sizes + "2}");
  EXPECT_EQ(layer_shape(model, 0).feed.ffn, 128);
  EXPECT_EQ(layer_shape(model, 1).feed.moe.experts, 4);
  EXPECT_EQ(layer_shape(model, 2).feed.moe.experts, 0);
  EXPECT_EQ(irregularity(model), "an MLP of another kind or width in some layers");
  EXPECT_THAT(refusal_of(sizes + "3}"), HasSubstr("model.num_key_value_heads: 4 heads cannot share 3 key/value heads evenly"));
}

TEST(HuggingFaceConfigTest, TransformersFiveRenamesTheExperts) {
  const std::string sizes =
      R"({"model_type": "qwen3_moe", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3, "vocab_size": 100,
          "num_experts_per_tok": 2, "moe_intermediate_size": 32, "rope_parameters": {"rope_theta": 10000.0}, )";
  EXPECT_EQ(model_from(sizes + R"("num_local_experts": 4})"), model_from(sizes + R"("num_experts": 4})"));
}

TEST(HuggingFaceConfigTest, ADecoderIsReadFromTheMapOfATowersModel) {
  const std::string text = R"({"hidden_size": 64, "intermediate_size": 128, "model_type": "qwen3_vl_text", "head_dim": 16,
      "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 100)";
  const std::string around =
      R"({"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl", "text_config": )";
  const TransformerModel model =
      model_from(around + text + R"(}, "vision_config": {"depth": 3}, "tie_word_embeddings": true})");
  EXPECT_TRUE(model.tied_embedding);
  EXPECT_EQ(model.layers, 2);
  EXPECT_THAT(model.untimed, ::testing::ElementsAre("the vision tower, which is not counted"));
  EXPECT_FALSE(model_from(around + text + R"(, "tie_word_embeddings": false}, "tie_word_embeddings": true})").tied_embedding);
}

TEST(HuggingFaceConfigTest, AModelThatAlsoSpeaksHasItsDecoderInItsThinker) {
  const std::string text =
      R"({"hidden_size": 64, "model_type": "qwen3_omni_moe_text", "head_dim": 16, "moe_intermediate_size": 32,
      "num_attention_heads": 4, "num_experts": 4, "num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 2,
      "vocab_size": 100})";
  const TransformerModel model =
      model_from(R"({"architectures": ["Qwen3OmniMoeForConditionalGeneration"], "talker_config": {}, "thinker_config": )" +
                 (R"({"audio_config": {}, "text_config": )" + text + "}}"));
  EXPECT_EQ(model.moe.experts, 4);
  EXPECT_THAT(model.untimed,
              ::testing::ElementsAre("the part that speaks, which is not counted", "the audio tower, which is not counted"));
}

TEST(HuggingFaceConfigTest, AListThatSaysTheSameOfEachLayerIsOneNumber) {
  const auto config = [](const std::string& experts) {
    return R"({"model_type": "hunyuan_v1_moe", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
        "vocab_size": 100, "num_experts": 4, "moe_intermediate_size": 32, "moe_topk": )" +
           experts + "}";
  };
  EXPECT_EQ(model_from(config("[2, 2]")).moe.experts_per_token, 2);
  EXPECT_THAT(refusal_of(config("[2, 1]")), HasSubstr("moe_topk: differs between layers, which cannot be modelled"));
  EXPECT_THAT(refusal_of(config("[0, 0]")), HasSubstr("moe_topk: expected 1 to 8192, got 0"));
}

TEST(HuggingFaceConfigTest, WeightsMayBeStoredInFewerBits) {
  const auto bits = [](const std::string& quantization) {
    return model_from(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
                          "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100, "quantization_config": )" +
                      quantization + "}")
        .stored.bits;
  };
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})"), 8 + 32.0 / 16'384);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "awq", "bits": 4, "group_size": 128})"), 4 + 20.0 / 128);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "gptq", "bits": 8, "group_size": 32})"), 8 + 24.0 / 32);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "auto-round", "bits": 4, "group_size": 128})"), 4 + 20.0 / 128);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"})"), 4 + 20.0 / 128);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4", "group_size": 32}}})"),
                   4.25);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}})"), 8);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "mxfp4"})"), 4.25);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})"), 4.5);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "compressed-tensors",
                            "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 32, "type": "int"}}}})"),
                   4.5);
  EXPECT_DOUBLE_EQ(bits(R"({"quant_method": "new"})"), 0);
}

TEST(HuggingFaceConfigTest, StoredIntegersSayWhatEnginesComputeIn) {
  const auto served = [](const std::string& quantization) {
    return model_from(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
                          "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100, "quantization_config": )" +
                      quantization + "}")
        .stored.served;
  };
  const auto group = [&](const std::string& weights, const std::string& activations) {
    return served(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": )" + weights +
                  R"(, "input_activations": )" + activations + "}}}");
  };
  EXPECT_EQ(served(R"({"quant_method": "awq", "bits": 4, "group_size": 128})"), Precision::kW4A16);
  EXPECT_EQ(served(R"({"quant_method": "gptq", "bits": 8, "group_size": 32})"), Precision::kW8A16);
  EXPECT_EQ(served(R"({"quant_method": "gptq", "bits": 3})"), std::nullopt);
  EXPECT_EQ(served(R"({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"})"), Precision::kW4A16);
  EXPECT_EQ(served(R"({"quant_method": "fp8"})"), std::nullopt);
  EXPECT_EQ(group(R"({"num_bits": 4, "type": "int", "group_size": 128})", "null"), Precision::kW4A16);
  EXPECT_EQ(group(R"({"num_bits": 8, "type": "int"})", "null"), Precision::kW8A16);
  EXPECT_EQ(group(R"({"num_bits": 8, "type": "int"})", R"({"num_bits": 8, "type": "int"})"), Precision::kInt8);
  EXPECT_EQ(group(R"({"num_bits": 4, "type": "int"})", R"({"num_bits": 8, "type": "int"})"), std::nullopt);
  EXPECT_EQ(group(R"({"num_bits": 8, "type": "float"})", R"({"num_bits": 8, "type": "float"})"), std::nullopt);
}

}  // namespace
}  // namespace weft::work
