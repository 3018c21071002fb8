#include "sim/planning/sweep/point_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/result_header.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/read_scenario.h"

namespace weft::plan {
namespace {

using Values = std::vector<std::optional<AxisValue>>;

// Ends the run of this thread when the sweep is to stop.
class StopWatch final : public scenario::RunObserver {
 public:
  explicit StopWatch(const std::atomic<bool>& stop) : stop_{stop} {}
  void on_begin(Simulator& simulator) override { simulator_ = &simulator; }
  void on_progress(const Simulator&, std::uint64_t, std::uint64_t) override {
    if (stop_.load(std::memory_order_relaxed) && simulator_ != nullptr) simulator_->request_stop();
  }
  void on_end() override { simulator_ = nullptr; }

 private:
  const std::atomic<bool>& stop_;
  Simulator* simulator_ = nullptr;
};

// All values of an axis together decide the type and the unit of its column.
struct AxisType {
  bool is_number = true;
  bool is_whole = true;
  bool is_known = false;
  int bytes = 0;
  int time = 0;

  void add(const SweepValue& value) {
    if (value.type != SweepValue::Type::kNumber || (is_known && (bytes != value.bytes || time != value.time)))
      is_number = false;
    is_whole =
        is_whole && value.number == static_cast<double>(static_cast<std::int64_t>(std::clamp(value.number, -9e18, 9e18)));
    bytes = value.bytes;
    time = value.time;
    is_known = true;
  }
  [[nodiscard]] std::string_view unit() const {
    if (!is_number) return "";
    if (bytes == 1 && time == 0) return "bytes";
    if (bytes == 0 && time == 1) return "ns";
    if (bytes == 1 && time == -1) return "gbps";
    return "";
  }
  [[nodiscard]] ColumnType type() const {
    if (!is_number) return ColumnType::kText;
    return is_whole && (unit().empty() || unit() == "bytes") ? ColumnType::kInteger : ColumnType::kReal;
  }
};

SweepColumn column_of(const std::string& path, const AxisType& type) {
  const std::string_view unit = type.unit();
  const bool says_so = unit.empty() || path.ends_with(unit);
  return {.name = says_so ? path : fmt::format("{}_{}", path, unit), .type = type.type(), .path = path};
}

std::vector<SweepColumn> axis_columns(const Sweep& sweep, const std::vector<std::uint64_t>& points) {
  std::vector<AxisType> types(sweep.axes().size());
  bool has_derived = false;
  for (std::size_t i = 0; i < sweep.axes().size(); ++i) {
    has_derived = has_derived || sweep.axes()[i].derived.has_value();
    for (const auto& value : sweep.axes()[i].values) {
      if (value) types[i].add(value->value);
    }
  }
  if (has_derived) {
    for (const std::uint64_t point : points) {
      const Values values = sweep.values(point);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (sweep.axes()[i].derived) types[i].add(values[i]->value);
      }
    }
  }
  std::vector<SweepColumn> columns;
  for (std::size_t i = 0; i < types.size(); ++i) columns.push_back(column_of(sweep.axes()[i].path, types[i]));
  return columns;
}

Cell axis_cell(const SweepColumn& column, const std::optional<AxisValue>& value) {
  if (!value) return {};
  const SweepValue& is = value->value;
  if (column.type == ColumnType::kText) return value->yaml;
  if (column.type == ColumnType::kInteger) return static_cast<std::int64_t>(is.number);
  if (is.time == 1) return is.number / 1e3;
  if (is.time == -1) return is.number * 8e12 / 1e9;
  return is.number;
}

bool is_unknown_key(const Diagnostic& problem) { return problem.message.find("unknown key '") != std::string::npos; }

// Whether an error says that the axis' key path leads nowhere.
bool is_lost(const SweepAxis& axis, const Diagnostic& problem) {
  if (problem.message.find(fmt::format("cannot set '{}'", axis.path)) != std::string::npos) return true;
  if (!is_unknown_key(problem)) return false;
  for (std::string_view rest = axis.path; !rest.empty();) {
    const std::size_t end = rest.find_first_of(".[");
    if (problem.message.find(fmt::format("unknown key '{}'", rest.substr(0, end))) != std::string::npos) return true;
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return false;
}

scenario::Scenario load(const ConfigNode& node, const Sweep& sweep, Diagnostics& diagnostics) {
  return scenario::read_scenario(node, sweep.scenario_name(), sweep.overrides(), diagnostics);
}

// Points to try: for each axis the first that sets it, and some spread over all.
std::vector<std::size_t> tried_places(const Sweep& sweep, const std::vector<std::uint64_t>& points) {
  constexpr std::size_t kSpread = 16;
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < kSpread; ++i) places.insert(i * (points.size() - 1) / (kSpread - 1));
  for (std::size_t axis = 0; axis < sweep.axes().size(); ++axis) {
    const auto& values = sweep.axes()[axis].values;
    if (std::ranges::all_of(values, [](const auto& value) { return value.has_value(); })) continue;
    const auto sets_it = [&](std::uint64_t point) { return sweep.values(point)[axis].has_value(); };
    const auto first = std::ranges::find_if(points, sets_it);
    if (first != points.end()) places.insert(static_cast<std::size_t>(first - points.begin()));
  }
  return {places.begin(), places.end()};
}

// The first point that can be loaded. A key path that no point which sets it can be loaded with, and that an error names, is
// the sweep's mistake; so is an unknown key where nothing can be loaded at all.
std::optional<scenario::Scenario> first_scenario(const Sweep& sweep, const std::vector<std::uint64_t>& points) {
  const std::size_t axes = sweep.axes().size();
  std::vector<bool> is_fine(axes, false);
  std::vector<std::optional<Diagnostic>> lost(axes);
  std::optional<Diagnostic> unknown;
  std::optional<scenario::Scenario> first;
  for (const std::size_t place : tried_places(sweep, points)) {
    const Values values = sweep.values(points[place]);
    std::optional<scenario::Scenario> loaded;
    try {
      Diagnostics diagnostics;
      loaded = load(sweep.scenario_of(values), sweep, diagnostics);
    } catch (const ConfigError& error) {
      for (const Diagnostic& problem : error.diagnostics()) {
        if (is_unknown_key(problem) && !unknown) unknown = problem;
        for (std::size_t i = 0; i < axes; ++i) {
          if (values[i] && !lost[i] && is_lost(sweep.axes()[i], problem)) lost[i] = problem;
        }
      }
      continue;
    }
    for (std::size_t i = 0; i < axes; ++i) is_fine[i] = is_fine[i] || values[i].has_value();
    if (!first) first = std::move(loaded);
    if (std::ranges::all_of(is_fine, [](bool fine) { return fine; })) return first;
  }
  std::vector<Diagnostic> wrong;
  for (std::size_t i = 0; i < axes; ++i) {
    if (lost[i] && !is_fine[i]) wrong.push_back(*lost[i]);
  }
  if (wrong.empty() && !first && unknown) wrong.push_back(*unknown);
  if (!wrong.empty()) throw ConfigError(std::move(wrong));
  return first;
}

std::vector<SweepColumn> metric_columns(const Sweep& sweep, const std::optional<scenario::Scenario>& scenario) {
  std::vector<const Metric*> chosen;
  for (const std::string& name : sweep.metrics()) {
    const Metric* metric = find_metric(name);
    if (std::ranges::find(chosen, metric) == chosen.end()) chosen.push_back(metric);
  }
  const bool varies_kind = std::ranges::any_of(sweep.axes(), [](const SweepAxis& axis) { return axis.path == "workload"; });
  if (chosen.empty()) {
    if (scenario && !varies_kind) {
      chosen = metrics_of(*scenario);
    } else {
      for (const Metric& metric : all_metrics()) chosen.push_back(&metric);
    }
  }
  if (sweep.objective()) {
    const Metric* metric = find_metric(sweep.objective()->metric);
    if (std::ranges::find(chosen, metric) == chosen.end()) chosen.push_back(metric);
  }
  std::vector<SweepColumn> columns;
  for (const Metric* metric : chosen) {
    columns.push_back({.name = std::string{metric->name}, .type = metric->type, .metric = metric});
  }
  return columns;
}

std::string settings_of(const Sweep& sweep, const Values& values) {
  std::ostringstream text;
  JsonWriter json{text, 0};
  json.begin_object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    json.key(sweep.axes()[i].path);
    if (values[i]->node) {
      json.raw(values[i]->node->to_json());
    } else {
      json.value(values[i]->yaml);
    }
  }
  json.end_object();
  json.finish();
  return text.str();
}

// The messages, a line each; where they stand means little to whoever reads a table of points.
std::string text_of(const ConfigError& error) {
  std::string text;
  for (const Diagnostic& problem : error.diagnostics()) text += (text.empty() ? "" : "\n") + problem.message;
  return text;
}

}  // namespace

SweepPlan check_sweep(const Sweep& sweep) {
  SweepPlan plan;
  plan.points = sweep.points();
  const std::optional<scenario::Scenario> scenario = first_scenario(sweep, plan.points);
  plan.axes = axis_columns(sweep, plan.points);
  plan.metrics = metric_columns(sweep, scenario);
  Digest digest;
  digest.add(sweep.digest()).add(plan.points.size());
  for (const std::vector<SweepColumn>* columns : {&plan.axes, &plan.metrics}) {
    for (const SweepColumn& column : *columns) digest.add(column.name).add(static_cast<int>(column.type));
  }
  if (scenario) {
    plan.configuration = scenario::run_configuration(*scenario);
    digest.add(plan.configuration);
  }
  plan.digest = digest.value();
  return plan;
}

std::optional<PointRow> run_point(const Sweep& sweep, const SweepPlan& plan, std::uint64_t id, const std::atomic<bool>& stop) {
  PointRow row{.id = id, .axes = {}, .configuration = {}, .digest = {}, .metrics = {}, .error = {}};
  const Values values = sweep.values(plan.points[id]);
  for (std::size_t i = 0; i < values.size(); ++i) row.axes.push_back(axis_cell(plan.axes[i], values[i]));
  row.configuration = settings_of(sweep, values);
  row.metrics.resize(plan.metrics.size());
  try {
    const ConfigNode node = sweep.scenario_of(values);
    Diagnostics diagnostics;
    const scenario::Scenario scenario = load(node, sweep, diagnostics);
    StopWatch watch{stop};
    const scenario::RunResult result = scenario::run_scenario(scenario, &watch);
    if (result.interrupted) return std::nullopt;
    row.digest = digest_text(result.digest);
    if (result.cut_short) row.error = fmt::format("cut short: {}", fmt::join(result.notes, "\n"));
    for (std::size_t i = 0; i < plan.metrics.size(); ++i) row.metrics[i] = plan.metrics[i].metric->read(scenario, result);
  } catch (const ConfigError& error) {
    row.error = text_of(error);
  } catch (const std::bad_alloc&) {
    row.error = "out of memory: this point needs more than this machine gives";
  } catch (const std::logic_error& error) {
    throw InternalError(fmt::format("point {}: {}", id, error.what()));
  }
  return row;
}

}  // namespace weft::plan
