#include "sim/planning/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "sim/core/config/layers.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/digest.h"
#include "sim/core/random.h"
#include "sim/planning/sweep/axis_range.h"
#include "sim/planning/sweep/metrics.h"
#include "sim/scenario/read_on.h"
#include "sim/scenario/scenario_layers.h"

namespace weft::plan {
namespace {

AxisValue written(const ConfigNode& node) {
  const std::string yaml = node.is_scalar() ? node.scalar() : node.to_json();
  const bool is_text = !node.is_scalar() || node.quoted();
  return {yaml, node, is_text ? SweepValue{.type = SweepValue::Type::kText, .text = yaml} : sweep_value(yaml)};
}

AxisValue computed(const std::string& yaml) { return {.yaml = yaml, .value = sweep_value(yaml)}; }

// The value at a key path, files followed; nothing where there is none.
std::optional<ConfigNode> at_path(ConfigNode node, std::string_view path) {
  while (!path.empty()) {
    if (names_yaml_file(node)) node = load_reference(node);
    if (path.front() == '[') {
      const std::size_t close = path.find(']');
      const auto index = parse_integer(path.substr(1, close == std::string_view::npos ? 0 : close - 1));
      if (!index || *index < 0 || !node.is_list() || static_cast<std::size_t>(*index) >= node.size()) return std::nullopt;
      node = node[static_cast<std::size_t>(*index)];
      path.remove_prefix(close + 1);
    } else {
      const std::size_t end = path.find_first_of(".[");
      const auto next = node.find(path.substr(0, end));
      if (!next) return std::nullopt;
      node = *next;
      path = end == std::string_view::npos ? std::string_view{} : path.substr(end);
    }
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return node;
}

void add_files(const ConfigNode& node, std::set<std::string>& seen, Digest& digest) {
  for (std::size_t i = 0; i < node.size(); ++i) add_files(node[i], seen, digest);
  if (!names_yaml_file(node)) return;
  try {
    const std::filesystem::path file = referenced_file(node);
    if (!seen.insert(file.lexically_normal().string()).second) return;
    const ConfigNode inside = ConfigNode::load_file(file);
    digest.add(inside.to_json());
    add_files(inside, seen, digest);
  } catch (const ConfigError&) {
    digest.add(node.scalar());  // the point that needs it will say so
  }
}

}  // namespace

Sweep::Sweep(const std::filesystem::path& file, scenario::Overrides overrides) : overrides_{std::move(overrides)} {
  root_ = ConfigNode::load_file(file);
  Diagnostics diagnostics;
  ParamReader reader{root_, diagnostics};
  if (!root_.is_map()) diagnostics.throw_if_any();
  name_ = reader.optional<std::string>("name", file.stem().string());
  static_cast<void>(reader.optional<std::string>("description", ""));
  static_cast<void>(reader.choice("kind", {"sweep"}, "sweep"));
  static_cast<void>(reader.choice("ci", {"run", "check_only"}, "run"));
  const std::size_t errors_before = diagnostics.errors().size();
  read_base(reader, diagnostics);
  read_grid(reader, diagnostics);
  read_list(reader, diagnostics);
  read_draws(reader, "latin_hypercube", true, diagnostics);
  read_draws(reader, "random", false, diagnostics);
  const bool knows_axes = diagnostics.errors().size() == errors_before;
  if (axes_.empty() && knows_axes) {
    diagnostics.error(
        root_.diagnostic("the sweep varies nothing", "it has a grid, a list, a latin_hypercube or a random section"));
  }
  read_derived(reader, knows_axes, diagnostics);
  read_where(reader, diagnostics.errors().size() == errors_before, diagnostics);
  read_metrics(reader, diagnostics);
  read_objective(reader, diagnostics);
  reader.finish();
  diagnostics.throw_if_any();
  check_axes(diagnostics);
  diagnostics.throw_if_any();
}

void Sweep::read_base(ParamReader& reader, Diagnostics& diagnostics) {
  const std::optional<ConfigNode> scenario = reader.optional_raw("scenario");
  const std::optional<ConfigNode> set = reader.optional_raw("set");
  if (!scenario) {
    diagnostics.error(
        root_.diagnostic("expected a scenario", "a sweep names the one it varies: scenario: ../scenarios/llama3_8b_dp32.yaml"));
    return;
  }
  scenario::read_part(diagnostics, [&] {
    const bool is_file = scenario->is_scalar();
    stated_ = is_file ? scenario::load_scenario_file(referenced_file(*scenario)) : scenario::load_scenario_file(*scenario);
    scenario_name_ = is_file ? std::filesystem::path{scenario->scalar()}.stem().string() : name_;
    if (set) set_ = scenario::changes_of(*set);
    for (scenario::ScenarioChange& change : scenario::changes_of(overrides_.sets)) set_.push_back(std::move(change));
    base_ = scenario::with_changes(stated_, set_);
    overrides_.sets.clear();
  });
}

std::size_t Sweep::add_section(std::uint64_t turns, const ConfigNode& node) {
  if (turns == 0) node.fail(fmt::format("{}: is empty: the sweep would have no point", node.path()));
  sections_.push_back(turns);
  if (combinations_ > kMaxSweepPoints) return sections_.size() - 1;  // which was said
  const bool overflows = combinations_ > std::numeric_limits<std::uint64_t>::max() / turns;
  combinations_ = overflows ? std::numeric_limits<std::uint64_t>::max() : combinations_ * turns;
  if (combinations_ > kMaxSweepPoints) {
    node.fail(fmt::format("{}: the sweep has {}{} points, more than {}", node.path(), overflows ? "over " : "", combinations_,
                          kMaxSweepPoints),
              "draw some of them instead (latin_hypercube, random), or make it several sweeps");
  }
  return sections_.size() - 1;
}

SweepAxis& Sweep::add_axis(const std::string& path, const ConfigNode& node, std::size_t section) {
  if (path.empty()) node.fail(fmt::format("{}: expected a key path of the scenario", node.path()));
  for (const SweepAxis& axis : axes_) {
    if (axis.path == path) node.fail(fmt::format("{}: '{}' is an axis already", node.path(), path));
  }
  axes_.push_back({.path = path, .node = node, .section = section});
  return axes_.back();
}

void Sweep::read_grid(ParamReader& reader, Diagnostics& diagnostics) {
  const auto grid = reader.optional_raw("grid");
  if (!grid) return;
  if (!grid->is_map() || grid->size() == 0) {
    diagnostics.error(grid->diagnostic(fmt::format("{}: expected key paths with their values, got {}", grid->path(),
                                                   grid->is_map() ? "an empty map" : found_text(*grid)),
                                       "for example workload.parallelism.tensor: [1, 2, 4]"));
    return;
  }
  const std::vector<std::string> paths = grid->keys();
  for (std::size_t i = 0; i < paths.size(); ++i)
    scenario::read_part(diagnostics, [&] { read_grid_axis(paths[i], (*grid)[i]); });
}

void Sweep::read_grid_axis(const std::string& path, const ConfigNode& node) {
  std::vector<std::optional<AxisValue>> values;
  if (node.is_map()) {
    Diagnostics own;
    for (const std::string& text : AxisRange{node, AxisRange::Use::kStepped, own}.values()) {
      values.emplace_back(computed(text));
    }
  } else if (node.is_list()) {
    for (std::size_t k = 0; k < node.size(); ++k) values.emplace_back(written(node[k]));
  } else {
    node.fail(fmt::format("{}: expected a list of values or a range, got {}", node.path(), found_text(node)),
              "[1, 2, 4] or {from: 1, to: 8, scale: log2}; what does not vary stands under 'set'");
  }
  const std::size_t section = add_section(values.size(), node);
  add_axis(path, node, section).values = std::move(values);
}

void Sweep::read_list(ParamReader& reader, Diagnostics& diagnostics) {
  const auto list = reader.optional_raw("list");
  if (list) scenario::read_part(diagnostics, [&] { read_points(*list); });
}

void Sweep::read_points(const ConfigNode& list) {
  if (!list.is_list()) list.fail(fmt::format("{}: expected a list of points, got {}", list.path(), found_text(list)));
  const std::size_t section = add_section(list.size(), list);
  const std::size_t first = axes_.size();
  for (std::size_t turn = 0; turn < list.size(); ++turn) {
    const ConfigNode point = list[turn];
    if (!point.is_map() || point.size() == 0) {
      point.fail(fmt::format("{}: expected key paths with a value each, got {}", point.path(),
                             point.is_map() ? "an empty map" : found_text(point)));
    }
    const std::vector<std::string> paths = point.keys();
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const auto known = std::find_if(axes_.begin() + static_cast<std::ptrdiff_t>(first), axes_.end(),
                                      [&](const SweepAxis& axis) { return axis.path == paths[i]; });
      SweepAxis& axis = known != axes_.end() ? *known : add_axis(paths[i], point[i], section);
      axis.values.resize(list.size());
      axis.values[turn] = written(point[i]);
    }
  }
}

void Sweep::read_draws(ParamReader& reader, std::string_view key, bool latin, Diagnostics& diagnostics) {
  std::optional<ParamReader> section = reader.optional_map(key);
  if (!section) return;
  const std::size_t errors_before = diagnostics.errors().size();
  const auto count = section->required<std::int64_t>("count", between<std::int64_t>(1, kMaxSweepPoints));
  const auto seed = static_cast<std::uint64_t>(section->optional<std::int64_t>("seed", 1, at_least(0)));
  const ConfigNode axes = section->raw("axes");
  section->finish();
  if (diagnostics.errors().size() != errors_before) return;
  scenario::read_part(diagnostics,
                      [&] { draw(section->node(), axes, {.key = key, .count = count, .seed = seed, .latin = latin}); });
}

void Sweep::draw(const ConfigNode& section, const ConfigNode& axes, const Draws& draws) {
  const auto& [key, count, seed, latin] = draws;
  if (!axes.is_map() || axes.size() == 0) {
    axes.fail(fmt::format("{}: expected key paths with a range or a list each, got {}", axes.path(), found_text(axes)));
  }
  const std::size_t turns = add_section(static_cast<std::uint64_t>(count), section);
  const std::vector<std::string> paths = axes.keys();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const ConfigNode node = axes[i];
    RandomStream random{seed, fmt::format("sweep/{}/{}", key, paths[i])};
    // McKay, Beckman and Conover (1979): a permutation of the parts for each axis, and a place inside each part.
    std::vector<std::int64_t> parts(static_cast<std::size_t>(count));
    std::iota(parts.begin(), parts.end(), 0);
    if (latin) random.shuffle(std::span{parts});
    std::optional<AxisRange> range;
    if (node.is_map()) {
      Diagnostics own;
      range.emplace(node, AxisRange::Use::kDrawn, own);
    } else if (!node.is_list() || node.size() == 0) {
      node.fail(fmt::format("{}: expected a range or a list to draw from, got {}", node.path(),
                            node.is_list() ? "an empty list" : found_text(node)));
    }
    SweepAxis& axis = add_axis(paths[i], node, turns);
    for (const std::int64_t part : parts) {
      double share = random.unit();
      if (latin) share = (static_cast<double>(part) + share) / static_cast<double>(count);
      if (range) {
        axis.values.emplace_back(computed(range->drawn(share)));
      } else {
        const auto item = static_cast<std::size_t>(share * static_cast<double>(node.size()));
        axis.values.emplace_back(written(node[std::min(item, node.size() - 1)]));
      }
    }
  }
}

void Sweep::read_derived(ParamReader& reader, bool knows_axes, Diagnostics& diagnostics) {
  derived_bindings_.resize(axes_.size());
  const auto derived = reader.optional_raw("derive");
  if (!derived) return;
  if (!derived->is_map()) {
    diagnostics.error(derived->diagnostic(
        fmt::format("{}: expected key paths with an expression each, got {}", derived->path(), found_text(*derived))));
    return;
  }
  const std::vector<std::string> paths = derived->keys();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    scenario::read_part(diagnostics, [&] {
      const bool was_known = std::exchange(knows_axes, false);
      Expression expression{(*derived)[i]};
      if (!was_known) return;
      std::vector<Binding> bindings = bind(expression, (*derived)[i]);  // before the axis is one: it cannot follow from itself
      add_axis(paths[i], (*derived)[i], 0).derived = std::move(expression);
      derived_bindings_.push_back(std::move(bindings));
      knows_axes = true;
    });
  }
}

void Sweep::read_where(ParamReader& reader, bool knows_axes, Diagnostics& diagnostics) {
  const auto where = reader.optional_raw("where");
  if (!where) return;
  const auto add = [&](const ConfigNode& node) {
    scenario::read_part(diagnostics, [&] {
      Expression expression{node};
      if (!knows_axes) return;
      std::vector<Binding> bindings = bind(expression, node);
      constraints_.push_back({std::move(expression), std::move(bindings)});
    });
  };
  if (where->is_list()) {
    for (std::size_t i = 0; i < where->size(); ++i) add((*where)[i]);
  } else {
    add(*where);
  }
}

void Sweep::read_metrics(ParamReader& reader, Diagnostics& diagnostics) {
  metrics_ = reader.list<std::string>("metrics");
  const auto stated = root_.find("metrics");
  for (std::size_t i = 0; i < metrics_.size() && metrics_.size() == stated->size(); ++i) {
    if (find_metric(metrics_[i]) != nullptr) continue;
    const ConfigNode node = (*stated)[i];
    diagnostics.error(node.diagnostic(fmt::format("{}: unknown metric '{}'", node.path(), metrics_[i]),
                                      did_you_mean(metrics_[i], metric_names(), "metrics")));
  }
}

void Sweep::read_objective(ParamReader& reader, Diagnostics& diagnostics) {
  std::optional<ParamReader> section = reader.optional_map("objective");
  if (!section) return;
  const auto least = section->optional<std::string>("minimize", "");
  const auto most = section->optional<std::string>("maximize", "");
  section->finish();
  if (least.empty() == most.empty()) {
    diagnostics.error(section->node().diagnostic(
        fmt::format("{}: expected one metric to minimize or to maximize", section->path()), "for example {maximize: mfu}"));
    return;
  }
  objective_ = SweepObjective{least.empty() ? most : least, least.empty()};
  const Metric* metric = find_metric(objective_->metric);
  if (metric != nullptr && metric->type != ColumnType::kText) return;
  diagnostics.error(section->node().diagnostic(
      fmt::format("{}: {} '{}'", section->path(), metric == nullptr ? "unknown metric" : "no number:", objective_->metric),
      did_you_mean(objective_->metric, metric_names(), "metrics")));
}

// A key that the scenario's `overrides` set over the cluster would hide the axis.
void Sweep::check_axes(Diagnostics& diagnostics) const {
  std::vector<std::optional<AxisValue>> first(axes_.size());
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (!axes_[i].derived) first[i] = axes_[i].values.front();
  }
  const auto overrides = on_its_cluster(first).find("overrides");
  for (const SweepAxis& axis : axes_) {
    constexpr std::string_view kOfCluster = "cluster.";
    if (!overrides || !axis.path.starts_with(kOfCluster)) continue;
    const std::string inside = axis.path.substr(kOfCluster.size());
    for (const std::string& key : overrides->keys()) {
      if (inside == key || inside.starts_with(key + '.') || key.starts_with(inside + '.')) {
        diagnostics.error(axis.node.key_diagnostic(
            fmt::format("{}: the scenario's 'overrides' set '{}' over the cluster, which hides this", axis.node.path(), key),
            fmt::format("vary overrides.{} instead", inside)));
      }
    }
  }
}

std::vector<Sweep::Binding> Sweep::bind(const Expression& expression, const ConfigNode& node) const {
  std::vector<Binding> bindings;
  for (const std::string& name : expression.names()) {
    std::vector<std::size_t> fits;
    std::vector<std::string> ends;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      ends.push_back(axes_[i].path.substr(axes_[i].path.rfind('.') + 1));
      if (axes_[i].path == name) {
        fits = {i};
        break;
      }
      if (axes_[i].path.ends_with('.' + name)) fits.push_back(i);
    }
    if (fits.size() > 1) {
      node.fail(fmt::format("{}: '{}' may be '{}' or '{}'", node.path(), name, axes_[fits[0]].path, axes_[fits[1]].path),
                "write more of the key path");
    }
    if (!fits.empty()) {
      bindings.push_back({.axis = fits.front(), .constant = {}, .of_cluster = {}});
      continue;
    }
    const bool is_of_cluster = name.starts_with("cluster.") || name.starts_with("overrides.");
    if (is_of_cluster && std::ranges::any_of(axes_, [](const SweepAxis& axis) { return axis.path == "cluster"; })) {
      bindings.push_back({.axis = std::nullopt, .constant = {}, .of_cluster = name});
      continue;
    }
    const auto constant = at_path(base_, name);
    if (!constant || !constant->is_scalar()) {
      node.fail(fmt::format("{}: '{}' is neither an axis nor a value of the scenario", node.path(), name),
                did_you_mean(name, ends, "axes") + "; a text stands in quotes");
    }
    bindings.push_back({.axis = std::nullopt, .constant = sweep_value(constant->scalar()), .of_cluster = {}});
  }
  return bindings;
}

// The scenario before any axis but that of clusters.
ConfigNode Sweep::on_its_cluster(const std::vector<std::optional<AxisValue>>& values) const {
  std::vector<scenario::ScenarioChange> changes = set_;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].path == "cluster" && values[i]) changes.push_back(change_at(i, *values[i]));
  }
  return changes.size() == set_.size() ? base_ : scenario::with_changes(stated_, changes);
}

std::optional<SweepValue> Sweep::value_at(const std::string& path, const std::vector<std::optional<AxisValue>>& values) const {
  const auto found = at_path(on_its_cluster(values), path);
  if (!found || !found->is_scalar()) return std::nullopt;
  return sweep_value(found->scalar());
}

std::vector<SweepValue> Sweep::bound(const std::vector<Binding>& bindings,
                                     const std::vector<std::optional<AxisValue>>& values) const {
  std::vector<SweepValue> found;
  for (const Binding& binding : bindings) {
    if (!binding.of_cluster.empty()) {
      const auto value = value_at(binding.of_cluster, values);
      if (!value) {
        root_.fail(fmt::format("an expression needs '{}', which a cluster of this sweep does not state", binding.of_cluster));
      }
      found.push_back(*value);
    } else if (!binding.axis) {
      found.push_back(binding.constant);
    } else if (values[*binding.axis]) {
      found.push_back(values[*binding.axis]->value);
    } else {
      const SweepAxis& axis = axes_[*binding.axis];
      const auto left = value_at(axis.path, values);
      if (!left) {
        axis.node.fail(fmt::format("{}: an expression needs '{}', which neither every item of the list nor the scenario states",
                                   axis.node.path(), axis.path));
      }
      found.push_back(*left);
    }
  }
  return found;
}

std::vector<std::optional<AxisValue>> Sweep::values(std::uint64_t combination) const {
  std::vector<std::uint64_t> turns(sections_.size());
  for (std::size_t i = sections_.size(); i-- > 0;) {
    turns[i] = combination % sections_[i];
    combination /= sections_[i];
  }
  std::vector<std::optional<AxisValue>> found(axes_.size());
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const SweepAxis& axis = axes_[i];
    if (!axis.derived) {
      const std::uint64_t turn = turns[axis.section];
      if (turn < axis.values.size()) found[i] = axis.values[turn];
      continue;
    }
    AxisValue result;
    result.value = axis.derived->evaluate(bound(derived_bindings_[i], found));
    // Without a text of its own the value can still be what a constraint excludes.
    result.yaml = yaml_text(result.value).value_or("");
    found[i] = std::move(result);
  }
  return found;
}

std::vector<std::uint64_t> Sweep::points() const {
  std::vector<std::uint64_t> included;
  for (std::uint64_t combination = 0; combination < combinations_; ++combination) {
    if (!constraints_.empty()) {
      const std::vector<std::optional<AxisValue>> point = values(combination);
      const auto holds = [&](const Constraint& constraint) {
        return constraint.expression.holds(bound(constraint.bindings, point));
      };
      if (!std::ranges::all_of(constraints_, holds)) continue;
    }
    included.push_back(combination);
  }
  if (included.empty()) {
    const ConfigNode where = *root_.find("where");
    throw ConfigError(
        {where.key_diagnostic(fmt::format("{}: no point of {} meets every constraint", where.path(), combinations_))});
  }
  return included;
}

scenario::ScenarioChange Sweep::change_at(std::size_t which, const AxisValue& value) const {
  const SweepAxis& axis = axes_[which];
  if (value.node) return {axis.path, *value.node};
  if (value.yaml.empty()) {
    axis.node.fail(fmt::format("{}: gives {} that cannot be written as a value", axis.node.path(), value.value.what()));
  }
  const Location at = axis.node.location();
  return scenario::change_of(axis.path, value.yaml, fmt::format("{}:{}:{}", at.file, at.line, at.column));
}

ConfigNode Sweep::scenario_of(const std::vector<std::optional<AxisValue>>& values) const {
  std::vector<scenario::ScenarioChange> changes = set_;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (values[i]) changes.push_back(change_at(i, *values[i]));
  }
  return scenario::with_changes(stated_, changes);
}

std::uint64_t Sweep::digest() const {
  Digest digest;
  digest.add(root_.to_json()).add(base_.to_json());
  std::set<std::string> seen;
  add_files(root_, seen, digest);
  add_files(base_, seen, digest);
  for (const auto& [key, value] : overrides_.nccl) digest.add(key).add(value);
  digest.add(overrides_.fidelity ? net::to_string(*overrides_.fidelity) : std::string_view{})
      .add(overrides_.seed.value_or(0))
      .add(overrides_.shuffle_ties.value_or(0));
  digest.add(overrides_.grain ? static_cast<int>(*overrides_.grain) + 1 : 0);
  digest.add(overrides_.seed.has_value()).add(overrides_.shuffle_ties.has_value());
  if (overrides_.profile) digest.add(ConfigNode::load_file(*overrides_.profile).to_json());
  return digest.value();
}

}  // namespace weft::plan
