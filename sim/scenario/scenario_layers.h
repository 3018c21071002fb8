// Lays changes over a scenario: the files that extend it, `--set`, the axes of a sweep, the clusters of `weft compare`.
//
// A cluster that is named in place of another takes with it what was said over the other: `cluster` and `overrides` go, whole.
// Keys beside the new cluster, or over it, are about the new one. So a scenario whose cluster is replaced equals one written
// for that cluster.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/config/node.h"

namespace weft::scenario {

// Loads a map with `cluster` and `overrides`: a scenario, or the job of `weft goodput`. Each comes with what it extends under
// it.
[[nodiscard]] ConfigNode load_scenario_file(const std::filesystem::path& file);
// `node` is the map, or names its file.
[[nodiscard]] ConfigNode load_scenario_file(const ConfigNode& node);

// A value for a key path of the scenario.
struct ScenarioChange {
  std::string path;
  ConfigNode value;
};
// `text` is YAML; it is located at `origin` ("--set").
[[nodiscard]] ScenarioChange change_of(const std::string& path, const std::string& text, const std::string& origin);
[[nodiscard]] std::vector<ScenarioChange> changes_of(const std::vector<std::pair<std::string, std::string>>& sets);
[[nodiscard]] std::vector<ScenarioChange> changes_of(const ConfigNode& map);

// A whole cluster, not changes of one: a file, or a map with the cluster's own node or with what it extends.
[[nodiscard]] bool names_cluster(const ScenarioChange& change);

// All of them at once. The cluster comes first, the last that is named; the others follow in their order. Changes of the
// cluster are laid over what `overrides` of the scenario say.
[[nodiscard]] ConfigNode with_changes(const ConfigNode& scenario, const std::vector<ScenarioChange>& changes);

// The map of the cluster that `cluster` is or names, with `overrides` in it.
[[nodiscard]] ConfigNode cluster_with(const ConfigNode& cluster, const std::optional<ConfigNode>& overrides);

}  // namespace weft::scenario
