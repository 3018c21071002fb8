// One point of a sweep: its scenario loaded and run, and the row that the results keep of it.
//
// A point that cannot be run (a plan that does not divide, a step that does not fit) is a result too: its row carries the
// error's text. What no point can have (an unknown key path) is told before any of them runs: check_sweep.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planning/sweep/metrics.h"
#include "sim/planning/sweep/sweep.h"

namespace weft::plan {

// A column of the results holds the values of an axis, or a metric.
struct SweepColumn {
  std::string name;  // with the unit where there is one: "cluster.fabric.link.rate_gbps", "mfu"
  ColumnType type = ColumnType::kText;
  std::string path = {};           // of an axis
  const Metric* metric = nullptr;  // or this
};

// Everything about a sweep that its points share. Immutable; each thread has its own Sweep all the same (sweep.h).
struct SweepPlan {
  std::vector<std::uint64_t> points;
  std::vector<SweepColumn> axes;
  std::vector<SweepColumn> metrics;
  std::uint64_t digest = 0;
  std::string configuration;  // of the first point that can be loaded, resolved, JSON; empty: none can
};

// ConfigError, before anything runs: an unknown key path, an unknown metric, constraints that exclude every point.
[[nodiscard]] SweepPlan check_sweep(const Sweep& sweep);

struct PointRow {
  std::uint64_t id = 0;
  std::vector<Cell> axes;
  std::string configuration;  // what this point sets, JSON: values by key path; SweepPlan has the rest
  std::string digest;         // empty: refused
  std::vector<Cell> metrics;
  std::string error;  // empty: it ran, and all its flows and jobs came to their end

  [[nodiscard]] std::string_view status() const {
    if (error.empty()) return "done";
    return digest.empty() ? "refused" : "cut_short";
  }
};

// nullopt: `stop` was set while it ran. InternalError, with the point, for a bug of ours.
[[nodiscard]] std::optional<PointRow> run_point(const Sweep& sweep, const SweepPlan& plan, std::uint64_t id,
                                                const std::atomic<bool>& stop);

}  // namespace weft::plan
