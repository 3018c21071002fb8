#include "sim/scenario/scenario_layers.h"

#include <algorithm>
#include <ranges>

#include "sim/core/config/layers.h"
#include "sim/network/cluster.h"

namespace weft::scenario {
namespace {

constexpr std::string_view kCluster = "cluster";

bool is_whole_cluster(const ConfigNode& value) {
  return value.is_scalar() || value.find("node").has_value() || value.find("extends").has_value();
}

ConfigNode without_cluster(const ConfigNode& scenario) { return without_key(without_key(scenario, "overrides"), kCluster); }

bool changes_cluster(const ScenarioChange& change) { return change.path == kCluster || change.path.starts_with("cluster."); }

// Its overrides moved into its cluster, so that a change of the cluster comes after them and not under them.
ConfigNode with_overrides_inside(const ConfigNode& scenario) {
  const std::optional<ConfigNode> cluster = scenario.find(kCluster);
  const std::optional<ConfigNode> overrides = scenario.find("overrides");
  if (!cluster || !overrides) return scenario;
  return without_key(scenario, "overrides").with_value(kCluster, cluster_with(*cluster, overrides));
}

ConfigNode laid_together(const std::vector<ConfigNode>& layers) {
  ConfigNode scenario = layers.front();
  for (const ConfigNode& layer : layers | std::views::drop(1)) {
    const std::optional<ConfigNode> cluster = layer.find(kCluster);
    scenario = laid_over(cluster && is_whole_cluster(*cluster) ? without_cluster(scenario) : scenario, layer);
  }
  return scenario;
}

}  // namespace

ConfigNode load_scenario_file(const std::filesystem::path& file) { return laid_together(load_layers(file)); }

ConfigNode load_scenario_file(const ConfigNode& node) { return laid_together(load_layers(node)); }

ScenarioChange change_of(const std::string& path, const std::string& text, const std::string& origin) {
  return {path, *ConfigNode{}.with_override("value", text, origin).find("value")};
}

std::vector<ScenarioChange> changes_of(const std::vector<std::pair<std::string, std::string>>& sets) {
  std::vector<ScenarioChange> changes;
  for (const auto& [path, value] : sets) changes.push_back(change_of(path, value, "--set"));
  return changes;
}

std::vector<ScenarioChange> changes_of(const ConfigNode& map) {
  if (!map.is_map()) map.fail(map.path() + ": expected a map, got " + found_text(map));
  std::vector<ScenarioChange> changes;
  const std::vector<std::string> paths = map.keys();
  for (std::size_t i = 0; i < paths.size(); ++i) changes.push_back({paths[i], map[i]});
  return changes;
}

bool names_cluster(const ScenarioChange& change) { return change.path == kCluster && is_whole_cluster(change.value); }

ConfigNode with_changes(const ConfigNode& scenario, const std::vector<ScenarioChange>& changes) {
  ConfigNode changed = scenario;
  const auto last = std::ranges::find_if(changes.rbegin(), changes.rend(), names_cluster);
  if (last != changes.rend()) changed = without_cluster(changed).with_value(kCluster, last->value);
  for (const ScenarioChange& change : changes) {
    if (names_cluster(change)) continue;
    if (changes_cluster(change)) changed = with_overrides_inside(changed);
    changed = changed.with_value(change.path, change.value);
  }
  return changed;
}

ConfigNode cluster_with(const ConfigNode& cluster, const std::optional<ConfigNode>& overrides) {
  const ConfigNode file = load_reference(cluster);
  if (!overrides) return file;
  return net::with_template_for(file, overrides->keys()).with_overrides(*overrides);
}

}  // namespace weft::scenario
