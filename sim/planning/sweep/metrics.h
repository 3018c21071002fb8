// Metrics that a sweep records of each point: named figures with their unit in the name, by kind of workload.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/scenario/run_scenario.h"
#include "sim/scenario/scenario.h"

namespace weft::plan {

// A cell of the results; monostate: the run has no such figure.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

enum class ColumnType : std::uint8_t { kInteger, kReal, kText };

struct Metric {
  std::string_view name;  // "iteration_time_ns"
  ColumnType type = ColumnType::kReal;
  std::string_view of;  // "any", "collectives", "training", "inference", "flows", "jobs" or "packets"
  std::string_view summary;
  Cell (*read)(const scenario::Scenario& scenario, const scenario::RunResult& result);
};

[[nodiscard]] std::span<const Metric> all_metrics();
[[nodiscard]] const Metric* find_metric(std::string_view name);
[[nodiscard]] std::vector<std::string> metric_names();

// Those that runs of this scenario have.
[[nodiscard]] std::vector<const Metric*> metrics_of(const scenario::Scenario& scenario);

}  // namespace weft::plan
