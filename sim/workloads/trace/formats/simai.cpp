// SimAI's training workloads, as AICB writes them (models/workloads §5.4): one table of layers for all ranks.
#include <fmt/format.h>

#include "sim/core/config/quantity.h"
#include "sim/workloads/trace/layer_table.h"

namespace weft::work {
namespace {

constexpr std::string_view kPolicy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";

class SimaiReader {
 public:
  SimaiReader(const std::filesystem::path& file, const TraceReadOptions& options)
      : lines_{file, options.max_bytes}, options_{options} {}

  Trace read() {
    if (!lines_.next()) lines_.error_at_end("expected a line with the policy and the sizes of groups, found nothing");
    lines_.throw_if_any();
    read_header();
    if (!lines_.next()) lines_.error_at_end("expected the number of rows, found the end of the file");
    lines_.throw_if_any();
    const auto words = words_of(lines_.line());
    const auto rows = words.empty() ? std::nullopt : parse_integer(words[0].text);
    if (!rows || *rows < 1) lines_.error(words.empty() ? Word{} : words[0], "expected the number of rows, 1 or more");
    lines_.throw_if_any();
    const std::vector<Layer> layers = read_layers(lines_, *rows, options_.max_operations);
    lines_.throw_if_any();
    Trace trace;
    trace.program = layer_program(layers, plan_);
    trace.findings = left_out(place_, header_, layers, plan_);
    return trace;
  }

 private:
  void read_header() {
    const std::vector<Word> words = words_of(lines_.line());
    header_ = header_numbers(words);
    place_ = lines_.at({}, {});
    const auto size = [&](std::string_view key, std::int64_t usual) {
      const auto found = header_.find(key);
      const std::int64_t value = found == header_.end() ? usual : found->second;
      if (value >= 1 && value <= static_cast<std::int64_t>(options_.max_ranks)) return value;
      lines_.error({}, fmt::format("{}: expected 1 to {}, found {}", key, options_.max_ranks, value));
      return std::int64_t{1};
    };
    if (!header_.contains("all_gpus")) lines_.error({}, "all_gpus is missing: the number of ranks");
    plan_.ranks = size("all_gpus", 1);
    plan_.tensor = size("model_parallel_NPU_group", 1);
    plan_.expert = size("ep", 1);
    plan_.pipeline = size("pp", 1);
    lines_.throw_if_any();
    const std::int64_t model = plan_.tensor * plan_.pipeline;
    if (model > plan_.ranks || plan_.ranks % model != 0 || (plan_.ranks / model) % plan_.expert != 0) {
      lines_.error({}, fmt::format("all_gpus {} is no multiple of model_parallel_NPU_group {} x pp {} x ep {}", plan_.ranks,
                                   plan_.tensor, plan_.pipeline, plan_.expert));
    }
    lines_.throw_if_any();
  }

  LineReader lines_;
  const TraceReadOptions& options_;
  LayerPlan plan_;
  HeaderNumbers header_;
  Diagnostic place_;  // the first line
};

bool recognises_simai(const std::filesystem::path&, std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.starts_with(kPolicy) && line.find("all_gpus") != std::string_view::npos;
}

Trace read_simai(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  if (files.size() != 1)
    throw ConfigError(fmt::format("a SimAI workload is one file for all ranks; {} were given", files.size()));
  return SimaiReader{files.front(), options}.read();
}

}  // namespace

namespace trace_builtin {
const TraceFormat simai{
    .name = "simai",
    .summary = "SimAI workloads as AICB writes them: a table of layers with the sizes of groups",
    .recognises = recognises_simai,
    .read = read_simai,
    .model = kLayerTableText,
};
}  // namespace trace_builtin

}  // namespace weft::work
