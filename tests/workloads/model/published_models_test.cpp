// Counts of parameters and bytes of cache that are published, of every configuration in tests/data/models/published.json.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "sim/workloads/model/huggingface_config.h"
#include "sim/workloads/model/parameters.h"
#include "sim/workloads/model/quantization.h"
#include "tests/support/temp_folder.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

using Json = nlohmann::json;

// {"of": [...], "times": n} in place of a list, or within one, is the list so many times.
Json written_out(const Json& value) {
  const auto is_short = [](const Json& v) { return v.is_object() && v.size() == 2 && v.contains("of") && v.contains("times"); };
  const auto repeated = [](const Json& v) {
    Json list = Json::array();
    const Json items = written_out(v["of"]);
    for (int i = 0; i < v["times"].get<int>(); ++i) list.insert(list.end(), items.begin(), items.end());
    return list;
  };
  if (is_short(value)) return repeated(value);
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) {
      if (is_short(item)) {
        const Json items = repeated(item);
        list.insert(list.end(), items.begin(), items.end());
      } else {
        list.push_back(written_out(item));
      }
    }
    return list;
  }
  if (!value.is_object()) return value;
  Json map = Json::object();
  for (const auto& [key, item] : value.items()) map[key] = written_out(item);
  return map;
}

Json published_models() {
  std::ifstream file{std::filesystem::path{WEFT_TEST_DATA} / "models" / "published.json"};
  return Json::parse(file)["models"];
}

TransformerModel model_of_entry(const Json& entry) {
  const weft::test::TempFolder folder;
  return model_of(folder.write("config.json", written_out(entry["config"]).dump(1)));
}

const Json& entry_named(const Json& entries, const std::string& name) {
  for (const Json& entry : entries) {
    if (entry["name"] == name) return entry;
  }
  throw std::out_of_range{name};
}

// Says what differs from what is published; empty: nothing.
std::string difference(const Json& entry) {
  try {
    const TransformerModel model = model_of_entry(entry);
    std::int64_t total = total_parameters(model) + entry.value("also", std::int64_t{0});
    if (entry.value("mtp", false)) total += mtp_parameters(model);
    const auto unit = entry.value("unit", std::int64_t{1});
    const std::int64_t rounded = (total + unit / 2) / unit * unit;
    if (rounded != entry["published"].get<std::int64_t>()) {
      return fmt::format("{} parameters, published are {}", total, entry["published"].get<std::int64_t>());
    }
    const double bytes = kv_bytes_per_token(model, Precision::kBf16);
    if (entry.contains("kv_per_token") && bytes != entry["kv_per_token"].get<double>()) {
      return fmt::format("{} bytes of cache a token, should be {}", bytes, entry["kv_per_token"].get<double>());
    }
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(PublishedModelsTest, NineOfTenHaveTheirPublishedParametersAndCache) {
  const Json entries = published_models();
  ASSERT_GE(entries.size(), 60U);
  std::size_t met = 0;
  for (const Json& entry : entries) {
    const std::string differs = difference(entry);
    if (differs.empty()) ++met;
    EXPECT_EQ(differs.empty(), !entry.contains("fails")) << entry["name"] << ": " << differs;
  }
  EXPECT_GE(static_cast<double>(met), 0.9 * static_cast<double>(entries.size()));
}

TEST(PublishedModelsTest, NoneHasAKeyThatLooksMisspelt) {
  for (const Json& entry : published_models()) {
    const weft::test::TempFolder folder;
    const std::filesystem::path file = folder.write("config.json", written_out(entry["config"]).dump(1));
    Diagnostics diagnostics;
    try {
      static_cast<void>(read_model(load_model_file(file), diagnostics));
    } catch (const ConfigError&) {
      EXPECT_TRUE(entry.contains("fails")) << entry["name"];
    }
    for (const Diagnostic& warning : diagnostics.warnings()) {
      EXPECT_EQ(warning.message.find("nothing reads this key"), std::string::npos) << entry["name"] << ": " << warning.message;
    }
  }
}

// Qwen3.5-397B: 396,346,350,336 of text and 6,595,568,128 of prediction, counted in the headers of its files.
TEST(PublishedModelsTest, AHybridsTextAndPredictionAreCountedApart) {
  const Json entries = published_models();
  const TransformerModel model = model_of_entry(entry_named(entries, "Qwen3.5-397B-A17B"));
  EXPECT_EQ(total_parameters(model), 396'346'350'336);
  EXPECT_EQ(mtp_parameters(model), 6'595'568'128);
  // 45 layers carry 64 states of 128 x 128 and the last 3 inputs of 12,288 channels of the convolution.
  EXPECT_EQ(state_bytes_per_sequence(model), 45.0 * 4 * (64 * 128 * 128 + 3 * 12'288));
}

// The sizes of the files: MiniMax-M2.7 230,134,260,592 bytes, DeepSeek-V3.2 689,483,049,129 with a prediction module and its
// copies of embedding and head, which are 13.5 and 1.9 G parameters (8 and 16 bits).
TEST(PublishedModelsTest, StoredWeightsAreAsLargeAsTheirFiles) {
  const Json entries = published_models();
  const double minimax = stored_bytes(model_of_entry(entry_named(entries, "MiniMax-M2.7")));
  EXPECT_NEAR(minimax, 230.13e9, 0.002 * 230.13e9);
  const TransformerModel model = model_of_entry(entry_named(entries, "DeepSeek-V3.2"));
  const double deepseek = stored_bytes(model) + static_cast<double>(mtp_parameters(model)) + 2.0 * 2 * 129'280 * 7168;
  EXPECT_NEAR(deepseek, 689.48e9, 0.002 * 689.48e9);
}

// Kimi-Linear-48B-A3B, part by part.
TEST(PublishedModelsTest, KimisDeltaAttentionIsCountedByItsParts) {
  const TransformerModel model = model_from(
      R"({"architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "first_k_dense_replace": 1, "hidden_size": 2304,
          "intermediate_size": 9216, "kv_lora_rank": 512, "moe_intermediate_size": 1024, "num_attention_heads": 32,
          "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32,
                                 "short_conv_kernel_size": 4},
          "num_experts": 256, "num_experts_per_token": 8, "num_hidden_layers": 27, "num_key_value_heads": 32,
          "num_shared_experts": 1, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
          "tie_word_embeddings": false, "vocab_size": 163840})");
  const std::int64_t h = 2304;
  const std::int64_t v = 32 * 128;
  // Q, K, V with convolutions; decay and gate through 128; decay's bias and A; a rate for each head; norm; output.
  const std::int64_t delta = 3 * h * v + 3 * 4 * v + 2 * (h * 128 + 128 * v) + v + 32 + 32 * h + 128 + v * h;
  const std::int64_t latent = h * 32 * 192 + h * 576 + 512 + 512 * 32 * 256 + 32 * 128 * h;
  const std::int64_t experts = 257 * 3 * h * 1024 + 256 * h + 256;
  EXPECT_EQ(total_parameters(model), 2 * 163'840 * h + h + 20 * delta + 7 * latent + 26 * experts + 3 * h * 9216 + 27 * 2 * h);
  EXPECT_EQ(kv_bytes_per_token(model, Precision::kBf16), 7 * 576 * 2);
}

TEST(PublishedModelsTest, EveryFamilyIsListedOnceByEachName) {
  const std::vector<std::string> names = huggingface_architectures();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_GE(names.size(), 40U);
}

}  // namespace
}  // namespace weft::work
