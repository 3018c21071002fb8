#include "sim/output/schema/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "sim/core/config/find_config.h"
#include "sim/core/config/kept_files.h"
#include "sim/core/config/node.h"
#include "sim/core/error.h"
#include "sim/core/profile.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/network/gpu_spec_reader.h"
#include "sim/network/node_template.h"
#include "sim/output/check_file.h"
#include "sim/planning/cost/power_book.h"
#include "sim/planning/cost/price_book.h"
#include "sim/planning/reliability/failure_rates.h"
#include "sim/planning/reliability/goodput_job.h"
#include "sim/planning/sweep/sweep.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::output {
namespace {

namespace fs = std::filesystem;
using Change = std::pair<std::string, std::string>;  // a key path, and YAML for it

// The shortest profile there is. Profiles are read by themselves: what a cluster's says changes no key of the cluster.
constexpr const char* kShortProfile = "pcie_gpu";

// Reads as weft check does, but tries no routes. Throws ConfigError, as every loader does. Returns how many links were
// built, as these take most of the time.
std::size_t read_as(const std::string& kind, const fs::path& file, const std::vector<Change>& changes,
                    Diagnostics& diagnostics) {
  scenario::Overrides overrides;
  overrides.sets = changes;
  overrides.profile = kShortProfile;
  const auto changed = [&](ConfigNode node) {
    for (const auto& [path, text] : changes) node = node.with_override(path, text, "schema");
    return node;
  };
  const auto size_of = [](const net::Topology& topology) { return topology.link_count(); };
  if (kind == "cluster") return size_of(scenario::load_cluster(file, overrides, diagnostics).topology);
  if (kind == "scenario") return size_of(scenario::load_scenario(file, overrides, diagnostics).cluster.topology);
  if (kind == "node") {
    net::TopologyBuilder builder;
    static_cast<void>(net::read_node_template(changed(ConfigNode::load_file(file, kind)), "node",
                                              Profile::defaults(scenario::all_param_groups()), builder, diagnostics));
  } else if (kind == "gpu") {
    static_cast<void>(net::read_gpu_spec(changed(ConfigNode::load_file(file, kind)), "gpu", diagnostics));
  } else if (kind == "profile") {
    static_cast<void>(Profile::from_node(changed(ConfigNode::load_file(file)), scenario::all_param_groups()));
  } else if (kind == "model") {
    static_cast<void>(work::read_model(changed(work::load_model_file(file)), diagnostics));
  } else if (kind == "prices") {
    static_cast<void>(plan::read_price_book(changed(ConfigNode::load_file(file, kind)), diagnostics));
  } else if (kind == "power") {
    static_cast<void>(plan::read_power_book(changed(ConfigNode::load_file(file, kind)), diagnostics));
  } else if (kind == "failure_rates") {
    static_cast<void>(plan::read_failure_rates(changed(ConfigNode::load_file(file, kind)), diagnostics));
  } else if (kind == "goodput") {
    static_cast<void>(plan::load_goodput_job(file, changes, std::nullopt, diagnostics));
  } else if (kind == "sweep") {
    static_cast<void>(plan::Sweep{file, {}});
  }
  if (kind == "measurements") measured::read_measurement_keys(ConfigNode::parse("[{file: log.txt}]", kind, kind), diagnostics);
  return 0;
}

class Explorer {
 public:
  explicit Explorer(KeyShapes& shapes) : shapes_{shapes} {}

  void read(const std::string& kind, const fs::path& file, const std::vector<Change>& changes) {
    shapes_.begin(kind, file.string(), changes.empty());
    Diagnostics diagnostics;
    std::size_t size = 0;
    try {
      const WatchedReading watching{shapes_};
      size = read_as(kind, file, changes, diagnostics);
    } catch (const ConfigError&) {
      // A change may make no sense in this file. What was asked for until then counts.
    }
    shapes_.end(size);
  }

  // One more round of changes; false where there was none left to try.
  bool vary(const std::string& kind) {
    std::vector<std::pair<std::string, Change>> changes;
    collect(shapes_.of(kind), kind, changes);
    bool is_any = false;
    for (const auto& [file, change] : changes) {
      if (!tried_.insert(kind + '\n' + change.first + '\n' + change.second).second) continue;
      is_any = true;
      read(kind, file, {change});
    }
    return is_any;
  }

 private:
  static void collect(const KeyShape& map, const std::string& kind, std::vector<std::pair<std::string, Change>>& changes) {
    if (!map.file.empty()) {
      const std::string root = map.path == kind                   ? std::string{}
                               : map.path.starts_with(kind + ".") ? map.path.substr(kind.size() + 1)
                                                                  : map.path;
      const std::string prefix = root.empty() ? root : root + ".";
      const auto add = [&](const std::string& key, const std::string& text) {
        changes.emplace_back(map.file, Change{prefix + key, text});
      };
      add(std::string{kAnyKey}, "{}");
      for (const auto& [key, shape] : map.keys) {
        if (key == kAnyKey || !shape->kind.empty() || key.find_first_of(".[") != std::string::npos) continue;
        std::set<std::string> names = shape->names;
        for (const std::string& type : shape->types) {
          constexpr std::string_view kChoice = "choice of ";
          if (type.starts_with(kChoice)) {
            std::string rest = type.substr(kChoice.size());
            for (std::size_t comma = rest.find(", "); comma != std::string::npos; comma = rest.find(", ")) {
              names.insert(rest.substr(0, comma));
              rest = rest.substr(comma + 2);
            }
            names.insert(rest);
          }
          if (type == "map" || type == "map or file" || type == "any") add(key, "{}");
          if (type == "list of map" || type == "any") add(key, "[{}]");
        }
        for (const std::string& name : names) {
          add(key, yaml_scalar(name));
          if (shape->types.contains("any")) add(key, fmt::format("{{type: {}}}", yaml_scalar(name)));
        }
      }
    }
    for (const auto& [key, shape] : map.keys) {
      collect(*shape, kind, changes);
      const bool names_are_the_users = !map.was_read || map.keys.contains(std::string{kAnyKey});
      if (names_are_the_users && shape->was_read) break;  // the others are like it
    }
    if (map.items != nullptr) collect(*map.items, kind, changes);
  }

  KeyShapes& shapes_;
  std::set<std::string> tried_;
};

std::vector<fs::path> shipped_files() {
  for (const fs::path& folder : config_folders()) {
    if (fs::is_directory(folder / "scenarios")) return files_to_check({folder.string()});
  }
  throw ConfigError("no shipped configurations are found, and schemas are made from them; WEFT_CONFIG_DIR says where they are");
}

}  // namespace

const std::vector<std::string>& schema_kinds() {
  static const std::vector<std::string> kKinds{"gpu",   "node",          "profile",  "cluster", "model", "prices",
                                               "power", "failure_rates", "scenario", "goodput", "sweep", "measurements"};
  return kKinds;
}

std::vector<std::string> kinds_within(const std::string& kind) {
  std::set<std::string> within{kind};
  for (std::size_t before = 0; before != within.size();) {
    before = within.size();
    for (const PartOfItsOwn& one : parts_of_their_own()) {
      if (within.contains(std::string{one.kind})) within.emplace(one.part);
    }
  }
  std::vector<std::string> kinds;
  std::ranges::copy_if(schema_kinds(), std::back_inserter(kinds), [&](const std::string& one) { return within.contains(one); });
  return kinds;
}

KeyShapes explore(const std::string& kind) {
  constexpr int kRounds = 4;
  const KeptFiles kept;
  const std::vector<std::string> kinds = kinds_within(kind);
  const std::vector<fs::path> files = shipped_files();
  KeyShapes shapes;
  Explorer explorer{shapes};
  for (const fs::path& file : files) {
    const std::string of_file = kind_of_file(file);
    if (std::ranges::find(kinds, of_file) != kinds.end()) explorer.read(of_file, file, {});
  }
  if (kind == "measurements") explorer.read(kind, {}, {});  // lists of logs: none is shipped
  for (const std::string& one : kinds) {
    for (int round = 0; round < kRounds && explorer.vary(one); ++round) {
    }
  }
  return shapes;
}

}  // namespace weft::output
