#include "sim/measured/servers/server_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "sim/core/error.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/text_lines.h"
#include "sim/workloads/trace/shallow_json.h"

namespace weft::measured {

#define WEFT_SERVER(name) extern const ServerFormat name;
#include "sim/measured/servers/servers.def"
#undef WEFT_SERVER

namespace {

using detail::Json;
using detail::JsonRecord;

// Means of prompts and answers, and numbers of requests, that differ by more are another load.
constexpr double kSameLoad = 0.05;

struct Latency {
  std::string_view name;
  std::string_view what;
  std::string_view detail::LatencyNames::*key;
  scenario::Quantiles scenario::InferenceResult::*predicted;
};
constexpr std::array<Latency, 4> kLatencies{
    {{"ttft", "time to first token", &detail::LatencyNames::ttft, &scenario::InferenceResult::ttft},
     {"tpot", "time per output token", &detail::LatencyNames::tpot, &scenario::InferenceResult::tpot},
     {"itl", "between tokens", &detail::LatencyNames::itl, &scenario::InferenceResult::itl},
     {"e2e", "end to end", &detail::LatencyNames::e2e, &scenario::InferenceResult::e2e}}};

struct Statistic {
  std::string_view name;
  std::string_view key;
  std::string_view other_key;
  double scenario::Quantiles::*predicted;
};
constexpr std::array<Statistic, 4> kStatistics{{{"p50", "median", "p50", &scenario::Quantiles::p50_ns},
                                                {"p90", "p90", "", &scenario::Quantiles::p90_ns},
                                                {"p99", "p99", "", &scenario::Quantiles::p99_ns},
                                                {"mean", "mean", "", &scenario::Quantiles::mean_ns}}};

struct Rate {
  std::string_view name;
  std::string_view what;
  const char* key;
  double scenario::InferenceResult::*predicted;
};
constexpr std::array<Rate, 2> kRates{
    {{"requests_per_second", "requests/s", "request_throughput", &scenario::InferenceResult::requests_per_second},
     {"tokens_per_second", "tokens/s of answers", "output_throughput", &scenario::InferenceResult::tokens_per_second}}};

std::string figure_name(const Latency& latency, const Statistic& statistic) {
  return fmt::format("{}_{}_ms", latency.name, statistic.name);
}

// Python writes numbers that JSON has not, such as a request_rate of Infinity: they become null.
std::string without_pythons_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 3> kNumbers{"-Infinity", "Infinity", "NaN"};
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (in_string) {
      const std::size_t length = c == '\\' && at + 1 < text.size() ? 2 : 1;
      if (c == '"') in_string = false;
      out.append(text, at, length);
      at += length;
      continue;
    }
    if (c == '"') in_string = true;
    const auto* const number =
        std::ranges::find_if(kNumbers, [&](std::string_view word) { return text.substr(at).starts_with(word); });
    if (number != kNumbers.end()) {
      out += "null";
      at += number->size();
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

ServerRun run_of(const Json& object, const std::string& file, int line) {
  const JsonRecord record{object, file, line};
  for (const ServerFormat* format : server_formats()) {
    if (!format->recognises(record)) continue;
    ServerRun run = format->read(record);
    run.file = file;
    run.line = line;
    run.format = format->name;
    if (run.figures.empty()) record.fail("no latency and no throughput above 0: nothing was measured");
    return run;
  }
  std::string names;
  for (const ServerFormat* format : server_formats()) names += fmt::format("{}{}", names.empty() ? "" : " or ", format->name);
  record.fail(fmt::format("no result of a serving benchmark: expected what {} saves, with request_throughput", names));
}

std::string mean_text(std::int64_t sum, std::int64_t count) {
  return fmt::format("{:.1f}", static_cast<double>(sum) / static_cast<double>(std::max<std::int64_t>(1, count)));
}

bool differ(double a, double b) { return std::abs(a - b) > kSameLoad * std::max(a, b); }

std::vector<std::string> notes_of(const ServerRun& run, const scenario::InferenceResult& result) {
  std::vector<std::string> notes;
  if (run.failed > 0) notes.push_back(fmt::format("{} requests failed on the server", run.failed));
  if (run.requests <= 0 || result.finished <= 0) return notes;
  const auto of_server = static_cast<double>(run.requests);
  const auto of_scenario = static_cast<double>(result.finished);
  const bool other_prompts = run.prompt_tokens > 0 && differ(static_cast<double>(run.prompt_tokens) / of_server,
                                                             static_cast<double>(result.prompt_tokens) / of_scenario);
  const bool other_answers = run.output_tokens > 0 && differ(static_cast<double>(run.output_tokens) / of_server,
                                                             static_cast<double>(result.output_tokens) / of_scenario);
  if (differ(of_server, of_scenario) || other_prompts || other_answers) {
    notes.push_back(fmt::format(
        "another load: the server had {} requests of {} tokens in and {} out on average, the scenario {} of {} and {}",
        run.requests, mean_text(run.prompt_tokens, run.requests), mean_text(run.output_tokens, run.requests), result.finished,
        mean_text(result.prompt_tokens, result.finished), mean_text(result.output_tokens, result.finished)));
  }
  return notes;
}

}  // namespace

const std::vector<const ServerFormat*>& server_formats() {
  static const std::vector<const ServerFormat*> formats{
#define WEFT_SERVER(name) &name,
#include "sim/measured/servers/servers.def"
#undef WEFT_SERVER
  };
  return formats;
}

ServerRun detail::common_run(const JsonRecord& record, const LatencyNames& names) {
  ServerRun run;
  const auto count = [&](const char* key) {
    const std::int64_t value = record.whole(key, 0);
    if (value < 0) record.fail(fmt::format("{}: expected 0 or more, got {}", key, value));
    return value;
  };
  run.requests = count("completed");
  run.failed = count("failed");
  run.prompt_tokens = count("total_input_tokens");
  run.output_tokens = count("total_output_tokens");
  const auto add = [&](std::string name, const std::string& key) {
    const double value = record.number(key.c_str(), 0);
    if (value < 0) record.fail(fmt::format("{}: expected 0 or more, got {}", key, value));
    if (value > 0) run.figures.push_back({std::move(name), value});
  };
  for (const Rate& rate : kRates) add(std::string{rate.name}, rate.key);
  for (const Latency& latency : kLatencies) {
    for (const Statistic& statistic : kStatistics) {
      const auto key_of = [&](std::string_view word) { return fmt::format("{}_{}_ms", word, names.*latency.key); };
      const bool by_other = !record.has(key_of(statistic.key).c_str()) && !statistic.other_key.empty();
      add(figure_name(latency, statistic), key_of(by_other ? statistic.other_key : statistic.key));
    }
  }
  return run;
}

std::vector<ServerRun> read_server_runs(const std::string& text, const std::string& file) {
  const std::string json = without_pythons_numbers(text);
  if (const Json whole = work::shallow_json(json); !whole.is_discarded()) return {run_of(whole, file, 1)};
  std::vector<ServerRun> runs;
  std::istringstream lines{json};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Json object = work::shallow_json(line);
    if (!object.is_discarded()) {
      runs.push_back(run_of(object, file, number));
      continue;
    }
    // Blank lines before it bring the error to its line. An object over several lines is told with the whole file.
    const bool is_whole_file = runs.empty();
    std::istringstream broken{is_whole_file ? json : std::string(static_cast<std::size_t>(number - 1), '\n') + line};
    static_cast<void>(detail::parse_json_file(broken, file));
  }
  if (runs.empty()) throw ConfigError(fmt::format("{}: the file is empty, expected the result of a serving benchmark", file));
  return runs;
}

std::vector<ServerRun> read_server_runs(const std::string& path) {
  std::ifstream input = open_text(path, "the result of a serving benchmark");
  return read_server_runs(std::string{std::istreambuf_iterator<char>{input}, {}}, path);
}

ServerComparison compare(const ServerRun& run, const scenario::InferenceResult& result) {
  ServerComparison comparison{.run = run, .points = {}, .notes = notes_of(run, result)};
  const auto add = [&](std::string name, std::string what, double predicted) {
    const auto found = std::ranges::find(run.figures, name, &ServerFigure::name);
    if (found == run.figures.end() || !(predicted > 0)) return;
    comparison.points.push_back({std::move(name), std::move(what), found->value, predicted});
  };
  for (const Rate& rate : kRates) add(std::string{rate.name}, std::string{rate.what}, result.*rate.predicted);
  for (const Latency& latency : kLatencies) {
    for (const Statistic& statistic : kStatistics) {
      add(figure_name(latency, statistic), fmt::format("{}, {} (ms)", latency.what, statistic.name),
          result.*latency.predicted.*statistic.predicted / 1e6);
    }
  }
  return comparison;
}

}  // namespace weft::measured
