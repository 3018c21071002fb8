// Figures that the benchmark client of a serving engine measured of a run, and the same as a scenario predicts them.
//
//   for (const ServerRun& run : read_server_runs("bench.json")) comparisons.push_back(compare(run, *result.inference));
//
// A format is one file in servers/, its line in servers.def, and a test in tests/measured/server_run_test.cpp. Running the
// scenario is not its business.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/inference_run.h"

namespace weft::measured {

namespace detail {
class JsonRecord;
}

struct ServerFigure {
  std::string name;  // "ttft_p50_ms", "tokens_per_second": as results of `weft run` call it
  double value = 0;  // above 0
};

struct ServerRun {
  std::string file = {};
  int line = 1;             // where its object begins
  std::string format = {};  // of server_formats()
  std::string model = {};   // as the server calls it; empty: not said
  std::int64_t requests = 0;
  std::int64_t failed = 0;
  std::int64_t prompt_tokens = 0;  // of all requests that were answered
  std::int64_t output_tokens = 0;
  std::vector<ServerFigure> figures = {};
};

struct ServerFormat {
  std::string_view name = {};  // the program that writes it
  bool (*recognises)(const detail::JsonRecord& record) = nullptr;
  ServerRun (*read)(const detail::JsonRecord& record) = nullptr;
};
// In the order of servers.def.
[[nodiscard]] const std::vector<const ServerFormat*>& server_formats();

// One run, or a run on each line. ConfigError, located, where that is none of the formats, or where a figure is no number.
[[nodiscard]] std::vector<ServerRun> read_server_runs(const std::string& path);
[[nodiscard]] std::vector<ServerRun> read_server_runs(const std::string& text, const std::string& file);

struct ServerPoint {
  std::string name;
  std::string what;  // for people: "time to first token, p50 (ms)"
  double measured = 0;
  double predicted = 0;

  [[nodiscard]] double relative_error() const { return predicted / measured - 1; }
};

struct ServerComparison {
  ServerRun run;
  std::vector<ServerPoint> points;
  std::vector<std::string> notes;  // how the server's load differs from the scenario's, a sentence each
};

// Figures that the scenario has no counterpart of are left out.
[[nodiscard]] ServerComparison compare(const ServerRun& run, const scenario::InferenceResult& result);

namespace detail {

// A client's names of the four latencies, in its keys such as median_ttft_ms.
struct LatencyNames {
  std::string_view ttft = "ttft";
  std::string_view tpot = "tpot";
  std::string_view itl = "itl";
  std::string_view e2e = {};
};
// Reads what both clients save under one name: request_throughput, output_throughput, completed, and latencies by `names`.
// Figures of 0 were not measured.
[[nodiscard]] ServerRun common_run(const JsonRecord& record, const LatencyNames& names);

}  // namespace detail

}  // namespace weft::measured
