#include "sim/network/topologies/folded_clos.h"

#include "sim/core/whole_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::net {
namespace {

constexpr std::int64_t kMaxPorts = 4096;

// The fewest switches that `links` up-links of each of `below` switches fit into, such that every switch below reaches each of
// them by the same number of cables. `below` must not exceed `ports`.
std::int64_t fewest_switches(std::int64_t below, std::int64_t links, std::int64_t ports) {
  for (std::int64_t count = ceil_div(below * links, ports); count < links; ++count) {
    if (links % count == 0) return count;
  }
  return links;
}

}  // namespace

ClosParams ClosParams::read(ParamReader& params, std::string_view leaf_ports_key) {
  ClosParams read;
  read.leaf_ports = params.optional<std::int64_t>(leaf_ports_key, 64, between<std::int64_t>(2, kMaxPorts));
  read.spine_ports = params.optional<std::int64_t>("spine_ports", read.leaf_ports, between<std::int64_t>(2, kMaxPorts));
  read.states_oversubscription = params.has("oversubscription");
  read.oversubscription = params.optional<double>("oversubscription", 1.0, between(1.0, 64.0));
  read.spines = params.optional<std::int64_t>("spines", between<std::int64_t>(1, kMaxPorts));
  return read;
}

std::int64_t ClosParams::up_ports(std::int64_t hosts) const {
  const auto up =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(hosts) / oversubscription - 1e-9));  // exact ones whole
  if (!spines) return up;
  return *spines * (states_oversubscription ? ceil_div(up, *spines) : 1);
}

// With a stated number of spines alone, half of the ports, whatever the spines take.
std::int64_t ClosParams::down_ports() const {
  if (hosts_per_leaf) return *hosts_per_leaf;
  if (spines && !states_oversubscription) return leaf_ports - leaf_ports / 2;
  return most_hosts();
}

std::int64_t ClosParams::most_hosts() const {
  std::int64_t hosts = leaf_ports - 1;
  while (hosts > 1 && hosts + up_ports(hosts) > leaf_ports) --hosts;
  return hosts;
}

FabricSize ClosPlan::size(std::int64_t host_cables) const {
  return {.switches = leaves + spines() + cores(),
          .cables = host_cables + leaves * spines_per_pod * leaf_cables + spines() * cores_per_spine * core_cables};
}

std::optional<ClosPlan> plan_clos(const ClosParams& params, std::int64_t leaves, std::int64_t hosts_on_leaf, std::int64_t group,
                                  std::string& error) {
  ClosPlan plan;
  plan.leaves = leaves;
  plan.leaves_per_pod = leaves;
  if (leaves == 1 && !params.spines) {
    if (hosts_on_leaf <= params.leaf_ports) return plan;
    error = fmt::format("{} host ports do not fit one switch of {} ports", hosts_on_leaf, params.leaf_ports);
    return std::nullopt;
  }
  plan.leaf_up = params.up_ports(hosts_on_leaf);
  if (params.spines) {
    plan.spines_per_pod = *params.spines;
    plan.leaf_cables = plan.leaf_up / plan.spines_per_pod;
  }
  if (hosts_on_leaf + plan.leaf_up > params.leaf_ports) {
    const std::int64_t fit = params.most_hosts();
    error =
        fmt::format("{} hosts and {} up-links do not fit a leaf of {} ports", hosts_on_leaf, plan.leaf_up, params.leaf_ports);
    if (fit < hosts_on_leaf && fit + params.up_ports(fit) <= params.leaf_ports) error += fmt::format("; {} hosts do", fit);
    return std::nullopt;
  }
  if (params.spines) {
    if (leaves * plan.leaf_cables > params.spine_ports) {
      error = fmt::format("{} leaves with {} cable(s) to each spine need {} ports of a spine, which has {}", leaves,
                          plan.leaf_cables, leaves * plan.leaf_cables, params.spine_ports);
      return std::nullopt;
    }
    return plan;
  }
  if (leaves <= params.spine_ports) {
    plan.spines_per_pod = fewest_switches(leaves, plan.leaf_up, params.spine_ports);
    plan.leaf_cables = plan.leaf_up / plan.spines_per_pod;
    return plan;
  }

  // Three tiers. Half of a spine's ports go down to the leaves of its pod, and as many up as leaves hang on it.
  plan.leaves_per_pod = params.spine_ports / 2 / group * group;
  if (plan.leaves_per_pod == 0) {
    error = fmt::format("{} leaves of one unit do not fit half of a spine's {} ports", group, params.spine_ports);
    return std::nullopt;
  }
  plan.pods = ceil_div(leaves, plan.leaves_per_pod);
  if (plan.pods > params.spine_ports) {
    error = fmt::format("{} host ports need more than three tiers of {}-port switches, which hold {}", leaves * hosts_on_leaf,
                        params.spine_ports, params.spine_ports * plan.leaves_per_pod * hosts_on_leaf);
    return std::nullopt;
  }
  plan.spines_per_pod = plan.leaf_up;
  plan.leaf_cables = 1;
  const std::int64_t spine_up = plan.leaves_per_pod;
  plan.cores_per_spine = fewest_switches(plan.pods, spine_up, params.spine_ports);
  plan.core_cables = spine_up / plan.cores_per_spine;
  return plan;
}

void add_clos_trunks(const ClosPlan& plan, const ClosSwitches& switches, FabricSite& site) {
  const auto at = [](const std::vector<DeviceId>& of, std::int64_t i) { return of[static_cast<std::size_t>(i)]; };
  for (std::int64_t leaf = 0; leaf < plan.leaves; ++leaf) {
    const std::int64_t pod = leaf / plan.leaves_per_pod;
    for (std::int64_t j = 0; j < plan.spines_per_pod; ++j) {
      site.join_switches(at(switches.leaves, leaf), at(switches.spines, pod * plan.spines_per_pod + j), plan.leaf_cables);
    }
  }
  for (std::int64_t spine = 0; spine < plan.spines(); ++spine) {
    const std::int64_t position = spine % plan.spines_per_pod;
    for (std::int64_t j = 0; j < plan.cores_per_spine; ++j) {
      site.join_switches(at(switches.spines, spine), at(switches.cores, position * plan.cores_per_spine + j), plan.core_cables);
    }
  }
}

}  // namespace weft::net
