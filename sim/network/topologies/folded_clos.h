// Leaves, spines and cores: the arithmetic and the cables that leaf_spine, fat_tree, rail_optimized_fat_tree and rail_only
// share. Not a shape of its own: who hangs on which leaf is the shape's business.
//
// With up to `spine_ports` leaves there are two tiers: every leaf joins every spine. Above, leaves form pods with spines of
// their own, and spine number j of every pod joins the cores of position j (a folded Clos network; models/network §5.2). Where
// one tier needs fewer switches than that, several cables join a pair, which is how SuperPODs of less than the full size are
// cabled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/model_text.h"
#include "sim/network/topology_shape.h"

namespace weft::net {

// The four shapes share this text.
inline constexpr ModelText kClosText{
    .title = "folded Clos networks: leaves, spines, cores",
    .assumes =
        "Sizes follow from the ports of a switch and the oversubscription at the leaves: two tiers while one "
        "tier of spines reaches all leaves, three above. leaf_spine and fat_tree fill leaves node by node. "
        "rail_optimized_fat_tree gives every rail of a scalable unit a leaf of its own. rail_only has one "
        "network per rail and none between.",
    .leaves_out = {"Clos networks are built as small as the number of nodes allows; spare switches of a real "
                   "installation are not there",
                   "cables of one kind have one length"},
    .sources = {"Leiserson, 1985; Al-Fares et al., 2008 (k-ary fat tree)", "NVIDIA DGX SuperPOD reference architecture",
                "models/network §5.1, §5.2"},
    .files = {"network/topologies/folded_clos.h"}};

// The keys these shapes share.
struct ClosParams {
  std::int64_t leaf_ports = 64;
  std::int64_t spine_ports = 64;  // of spines and cores
  double oversubscription = 1;    // host ports over up-links of a leaf
  bool states_oversubscription = false;
  std::optional<std::int64_t> hosts_per_leaf = {};  // ports used by hosts; absent: as many as oversubscription leaves
  // Forces two tiers: one cable from each leaf to each spine, or as many as a stated oversubscription takes.
  std::optional<std::int64_t> spines = {};

  // Reads leaf_ports, spine_ports, oversubscription and spines; `leaf_ports_key` is "leaf_ports" or "radix".
  static ClosParams read(ParamReader& params, std::string_view leaf_ports_key = "leaf_ports");

  // Host ports of a leaf: where they are not stated, the most that leave room for their up-links.
  [[nodiscard]] std::int64_t down_ports() const;
  // As many as leave room for their up-links, or 1.
  [[nodiscard]] std::int64_t most_hosts() const;
  // Up-links of a leaf with so many hosts.
  [[nodiscard]] std::int64_t up_ports(std::int64_t hosts) const;
};

struct ClosPlan {
  std::int64_t leaves = 1;
  std::int64_t leaf_up = 0;  // up-links of a leaf
  std::int64_t pods = 1;
  std::int64_t leaves_per_pod = 1;
  std::int64_t spines_per_pod = 0;
  std::int64_t leaf_cables = 0;      // between a leaf and each spine of its pod
  std::int64_t cores_per_spine = 0;  // cores that a spine joins, the same for its namesakes in all pods; 0: two tiers
  std::int64_t core_cables = 0;      // between a spine and each of its cores

  [[nodiscard]] std::int64_t spines() const { return pods * spines_per_pod; }
  [[nodiscard]] std::int64_t cores() const { return cores_per_spine * spines_per_pod; }
  [[nodiscard]] FabricSize size(std::int64_t host_cables) const;
};

// `hosts_on_leaf`: the most host ports of any leaf. Leaves come in groups of `group` that stay in one pod. On failure `error`
// says why, to follow the path of the fabric.
[[nodiscard]] std::optional<ClosPlan> plan_clos(const ClosParams& params, std::int64_t leaves, std::int64_t hosts_on_leaf,
                                                std::int64_t group, std::string& error);

struct ClosNames {
  std::string leaf = "leaf";
  std::string spine = "spine";
  std::string core = "core";
};

// Switches of one Clos network, in creation order.
struct ClosSwitches {
  std::vector<DeviceId> leaves;
  std::vector<DeviceId> spines;  // pod by pod
  std::vector<DeviceId> cores;   // spine position by spine position
};

// Adds all switches. Numbers continue after `before` (several networks side by side). `label_leaf(i)` are the labels of leaf i
// beyond tier and pod; `common` those of every switch.
template <class LabelLeaf>
ClosSwitches add_clos_switches(const ClosPlan& plan, const ClosNames& names, FabricSite& site, const ClosSwitches& before,
                               const Labels& common, LabelLeaf&& label_leaf) {
  const auto number = [](std::size_t first, std::int64_t i) { return std::to_string(first + static_cast<std::size_t>(i)); };
  const auto join = [](Labels labels, const Labels& more) {
    labels.insert(labels.end(), more.begin(), more.end());
    return labels;
  };
  ClosSwitches made;
  for (std::int64_t i = 0; i < plan.leaves; ++i) {
    Labels labels = join({{"tier", "0"}}, common);
    if (plan.cores_per_spine > 0) labels.emplace_back("pod", std::to_string(i / plan.leaves_per_pod));
    made.leaves.push_back(site.add_switch(names.leaf + number(before.leaves.size(), i), join(labels, label_leaf(i))));
  }
  for (std::int64_t i = 0; i < plan.spines(); ++i) {
    Labels labels = join({{"tier", "1"}}, common);
    if (plan.cores_per_spine > 0) labels.emplace_back("pod", std::to_string(i / plan.spines_per_pod));
    made.spines.push_back(site.add_switch(names.spine + number(before.spines.size(), i), labels));
  }
  for (std::int64_t i = 0; i < plan.cores(); ++i) {
    made.cores.push_back(site.add_switch(names.core + number(before.cores.size(), i), join({{"tier", "2"}}, common)));
  }
  return made;
}

// Adds the cables between switches.
void add_clos_trunks(const ClosPlan& plan, const ClosSwitches& switches, FabricSite& site);

}  // namespace weft::net
