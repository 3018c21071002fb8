#include "sim/workloads/model/quantization.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "sim/core/config/quantity.h"
#include "sim/workloads/model/parameters.h"

namespace weft::work {
namespace {

std::string text_of(const ConfigNode& map, std::string_view key) {
  const auto value = map.find(key);
  return value && value->is_scalar() ? value->scalar() : std::string{};
}

double number_of(const ConfigNode& map, std::string_view key, double otherwise) {
  const auto number = parse_number(text_of(map, key));
  return number && *number > 0 ? *number : otherwise;
}

// Whether a list of modules that stay as they were names such a part.
bool leaves_out(const ConfigNode& quantization, std::string_view part) {
  for (const char* key : {"ignore", "modules_to_not_convert", "exclude_modules"}) {
    const auto list = quantization.find(key);
    if (!list || !list->is_list()) continue;
    for (std::size_t i = 0; i < list->size(); ++i) {
      if ((*list)[i].scalar().find(part) != std::string::npos) return true;
    }
  }
  return false;
}

// The weights' group of compressed-tensors and ModelOpt: the first one says it for all.
std::optional<ConfigNode> weight_group(const ConfigNode& quantization) {
  const auto groups = quantization.find("config_groups");
  if (!groups || !groups->is_map() || groups->size() == 0) return std::nullopt;
  return (*groups)[0].find("weights");
}

// AMD Quark names the type of all weights; where groups share a scale, it takes 8 bits of floats (OCP MX), 16 of integers.
double bits_of_quark(const ConfigNode& q) {
  const auto all = q.find("global_quant_config");
  const auto weight = all && all->is_map() ? all->find("weight") : std::nullopt;
  if (!weight || !weight->is_map()) return 0;
  const std::string type = text_of(*weight, "dtype");
  const double bits = type.find("fp8") != std::string::npos || type.find("int8") != std::string::npos   ? 8
                      : type.find("fp4") != std::string::npos || type.find("int4") != std::string::npos ? 4
                                                                                                        : 0;
  const double group = number_of(*weight, "group_size", 0);
  return bits > 0 && group > 0 ? bits + (type.starts_with("fp") ? 8 : 16) / group : bits;
}

// Bits of one element with its share of the scales. Blocks of fp8 have a scale of 32 bits (DeepSeek-V3 §3.3.1), 32 elements of
// MXFP4 one of 8 (OCP MX 1.0), 16 of NVFP4 one of 8, groups of integers one of 16; AWQ and GPTQ have a zero point, too.
double bits_of(const ConfigNode& q, const std::string& method, const std::string& algorithm) {
  if (method == "mxfp4" || algorithm == "MXFP4") return 4 + 8.0 / 32;
  if (algorithm.find("FP4") != std::string::npos) return 4 + 8.0 / 16;
  if (method == "fp8" || method == "fbgemm_fp8" || algorithm.find("FP8") != std::string::npos) {
    const auto block = q.find("weight_block_size");
    if (!block || !block->is_list() || block->size() != 2) return 8;
    const double rows = parse_number((*block)[0].scalar()).value_or(0);
    const double columns = parse_number((*block)[1].scalar()).value_or(0);
    return rows > 0 && columns > 0 ? 8 + 32 / (rows * columns) : 8;
  }
  if (method == "awq" || method == "gptq" || method == "auto-round" || algorithm.find("AWQ") != std::string::npos) {
    const double bits = number_of(q, "bits", 4);
    return bits + (16 + bits) / number_of(q, "group_size", 128);
  }
  if (method == "quark") return bits_of_quark(q);
  if (method == "bitsandbytes") return text_of(q, "load_in_8bit") == "true" ? 8 : 4 + 32.0 / 64;
  if (const auto weights = weight_group(q)) {
    const double bits = number_of(*weights, "num_bits", 8);
    const double group = number_of(*weights, "group_size", 0);
    const double scale = text_of(*weights, "type") == "float" ? 8 : 16;
    return group > 0 ? bits + scale / group : bits;
  }
  return 0;
}

// Engines compute stored integers in this; absent: they are floats, or have another width. bitsandbytes' 4 bits are its own
// floats.
std::optional<Precision> served_as(const ConfigNode& q, const std::string& method, const std::string& algorithm, double bits) {
  const auto of_width = [](double width) -> std::optional<Precision> {
    if (width == 8) return Precision::kW8A16;
    if (width == 4) return Precision::kW4A16;
    return std::nullopt;
  };
  if (algorithm.find("W8A8_SQ") != std::string::npos) return Precision::kInt8;
  if (algorithm.starts_with("W8A16")) return Precision::kW8A16;
  if (algorithm.starts_with("W4A16")) return Precision::kW4A16;
  if (method == "awq" || method == "gptq" || method == "auto-round") return of_width(number_of(q, "bits", 4));
  if (method == "bitsandbytes" && bits == 8) return Precision::kInt8;
  const auto weights = weight_group(q);
  if (!weights || text_of(*weights, "type") != "int") return std::nullopt;
  const auto group = (*q.find("config_groups"))[0].find("input_activations");
  if (!group || !group->is_map()) return of_width(number_of(*weights, "num_bits", 8));
  const bool is_w8a8 = number_of(*weights, "num_bits", 8) == 8 && number_of(*group, "num_bits", 0) == 8;
  return is_w8a8 && text_of(*group, "type") == "int" ? std::optional{Precision::kInt8} : std::nullopt;
}

}  // namespace

StoredWeights read_stored_weights(const ConfigNode& root, const ConfigNode& text, Diagnostics& diagnostics) {
  StoredWeights stored;
  std::optional<ConfigNode> q = root.find("quantization_config");
  if (!q || !q->is_map()) q = text.find("quantization_config");
  if (!q || !q->is_map()) return stored;
  const std::string method = text_of(*q, "quant_method");
  const std::string algorithm = text_of(*q, "quant_algo");
  const double bits = bits_of(*q, method, algorithm);
  if (bits == 0) {
    if (method.empty() && algorithm.empty()) return stored;
    diagnostics.warning(q->diagnostic(fmt::format("{}: '{}' is not known as a way to store weights; they count as 16 bits",
                                                  q->path(), method.empty() ? algorithm : method)));
    return stored;
  }
  stored.name = algorithm.empty() ? method : method.empty() ? algorithm : fmt::format("{} {}", method, algorithm);
  stored.bits = bits;
  stored.served = served_as(*q, method, algorithm, bits);
  stored.is_block_scaled = bits > 8 && q->find("weight_block_size").has_value();
  const bool is_mxfp4 = method == "mxfp4";  // of experts alone (GPT-OSS)
  stored.attention = !is_mxfp4 && !leaves_out(*q, "self_attn");
  stored.shared = !is_mxfp4 && !leaves_out(*q, "shared_expert");
  return stored;
}

double stored_bytes(const TransformerModel& model) {
  constexpr double kPlain = 16;
  const StoredWeights& stored = model.stored;
  const auto bits = [&stored](bool is_quantized) { return is_quantized && stored.bits > 0 ? stored.bits : kPlain; };
  double sum =
      kPlain * static_cast<double>(embedding_parameters(model) + head_parameters(model) + final_norm_parameters(model));
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerParameters p = layer_parameters(model, layer);
    sum += bits(stored.attention) * static_cast<double>(p.qkv + p.latent + p.proj);
    sum += bits(stored.shared) * static_cast<double>(p.mlp) + bits(true) * static_cast<double>(p.experts);
    sum += kPlain * static_cast<double>(p.router + p.norms + p.biases);
  }
  return sum / 8;
}

}  // namespace weft::work
