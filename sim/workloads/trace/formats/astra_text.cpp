// ASTRA-sim 1's text workloads (models/workloads §5.5): one table of layers for all ranks. The file does not say how many ranks
// there are: Weft reads `ranks: N`, and `model_parallel_NPU_group: N` of hybrids, behind the policy on the first line.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/workloads/trace/layer_table.h"

namespace weft::work {
namespace {

const std::array<std::string, 7> kPolicies = {"DATA",
                                              "MODEL",
                                              "MICRO",
                                              "HYBRID_DATA_MODEL",
                                              "HYBRID_MODEL_DATA",
                                              "HYBRID_TRANSFORMER",
                                              "HYBRID_TRANSFORMER_FWD_IN_BCKWD"};

class AstraReader {
 public:
  AstraReader(const std::filesystem::path& file, const TraceReadOptions& options)
      : lines_{file, options.max_bytes}, options_{options} {}

  Trace read() {
    if (!lines_.next()) lines_.error_at_end("expected a policy such as DATA, found nothing");
    lines_.throw_if_any();
    const LayerPlan plan = header();
    if (!lines_.next()) lines_.error_at_end("expected the number of layers, found the end of the file");
    lines_.throw_if_any();
    const auto words = words_of(lines_.line());
    const auto rows = words.empty() ? std::nullopt : parse_integer(words[0].text);
    if (!rows || *rows < 1) lines_.error(words.empty() ? Word{} : words[0], "expected the number of layers, 1 or more");
    lines_.throw_if_any();
    const std::vector<Layer> layers = read_layers(lines_, *rows, options_.max_operations);
    lines_.throw_if_any();
    Trace trace;
    trace.program = layer_program(layers, plan);
    trace.findings = left_out(place_, header_, layers, plan);
    return trace;
  }

 private:
  // The value behind `key:`; `usual` where there is none.
  std::int64_t value_of(const std::vector<Word>& words, std::string_view key, std::int64_t usual) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      std::string_view name = words[i].text;
      if (name.ends_with(':')) name.remove_suffix(1);
      if (name != key) continue;
      const auto value = parse_integer(words[i + 1].text);
      if (value && *value >= 1 && *value <= static_cast<std::int64_t>(options_.max_ranks)) return *value;
      lines_.error(words[i + 1], fmt::format("{}: expected 1 to {}", key, options_.max_ranks));
    }
    return usual;
  }

  LayerPlan header() {
    const std::vector<Word> words = words_of(lines_.line());
    header_ = header_numbers(words);
    place_ = lines_.at({}, {});
    const Word policy = words.empty() ? Word{} : words[0];
    if (std::ranges::find(kPolicies, policy.text) == kPolicies.end()) {
      lines_.error(policy, fmt::format("the policy '{}' is not read", policy.text.substr(0, 40)),
                   did_you_mean(policy.text, kPolicies, "policies"));
      lines_.throw_if_any();
    }
    LayerPlan plan;
    plan.ranks = value_of(words, "ranks", 0);
    const bool is_hybrid = policy.text.starts_with("HYBRID");
    plan.tensor = is_hybrid ? value_of(words, "model_parallel_NPU_group", 0) : policy.text == "MODEL" ? plan.ranks : 1;
    lines_.throw_if_any();
    if (plan.ranks == 0) {
      lines_.error(policy, "the file does not say how many ranks there are",
                   fmt::format("write it on the first line: {} ranks: 8", policy.text));
    } else if (plan.tensor == 0) {
      lines_.error(policy, "the file does not say how many ranks share a layer",
                   fmt::format("write it on the first line: {} model_parallel_NPU_group: 4 ranks: 8", policy.text));
    } else if (plan.ranks % plan.tensor != 0) {
      lines_.error(policy, fmt::format("{} ranks are no multiple of model_parallel_NPU_group {}", plan.ranks, plan.tensor));
    }
    lines_.throw_if_any();
    return plan;
  }

  LineReader lines_;
  const TraceReadOptions& options_;
  HeaderNumbers header_;
  Diagnostic place_;  // the first line
};

bool recognises_astra_text(const std::filesystem::path&, std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  const std::vector<Word> words = words_of(line.substr(0, line.find('\r')));
  return !words.empty() && line.find("all_gpus") == std::string_view::npos &&
         (std::ranges::find(kPolicies, words[0].text) != kPolicies.end() || words[0].text.starts_with("HYBRID_"));
}

Trace read_astra_text(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  if (files.size() != 1) {
    throw ConfigError(fmt::format("an ASTRA-sim 1 workload is one file for all ranks; {} were given", files.size()));
  }
  return AstraReader{files.front(), options}.read();
}

}  // namespace

namespace trace_builtin {
const TraceFormat astra_text{
    .name = "astra_text",
    .summary = "text workloads of ASTRA-sim 1: a table of layers",
    .recognises = recognises_astra_text,
    .read = read_astra_text,
    .model = kLayerTableText,
};
}  // namespace trace_builtin

}  // namespace weft::work
