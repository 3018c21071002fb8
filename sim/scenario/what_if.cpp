#include "sim/scenario/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/parameter_scale.h"
#include "sim/network/link_type.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {
namespace {

using net::LinkMedium;

enum class Of { kRate, kLatency };

// The spec of a link entry `{type: ..., ...}` as the topology has it; null where it has none of this type.
const net::LinkSpec* spec_of(const net::Topology& topology, const std::string& type) {
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const net::LinkSpec& spec = topology.spec(LinkId::from_index(i));
    if (spec.type == type) return &spec;
  }
  return nullptr;
}

// Changes links inside hosts: entries of node.links. Widths differ between entries of one type, so rates are scaled by
// efficiency.
bool change_node_links(const net::Cluster& cluster, ConfigNode& file, LinkMedium medium, Of what, double better) {
  const std::optional<ConfigNode> node = file.find("node");
  const std::optional<ConfigNode> links = node ? node->find("links") : std::nullopt;
  if (!links) return false;
  bool changed = false;
  for (std::size_t i = 0; i < links->size(); ++i) {
    const std::optional<ConfigNode> type = (*links)[i].find("type");
    const net::LinkType* known = type ? net::find_link_type(type->scalar()) : nullptr;
    const net::LinkSpec* spec =
        known != nullptr && known->medium() == medium ? spec_of(cluster.topology, type->scalar()) : nullptr;
    if (spec == nullptr) continue;
    if (what == Of::kRate) {
      const double efficiency = std::min(1.0, spec->efficiency * (1 + better));
      changed |= efficiency > spec->efficiency;
      file = file.with_override(fmt::format("node.links[{}].efficiency", i), number_text(efficiency), "what if");
    } else {
      const Duration latency = Duration::nearest_ps(static_cast<double>(spec->latency.ps()) * (1 - better));
      changed |= latency < spec->latency;
      file = file.with_override(fmt::format("node.links[{}].latency", i), to_string(latency), "what if");
    }
  }
  return changed;
}

bool change_fabric(const net::Cluster& cluster, ConfigNode& file, Of what, double better) {
  const std::optional<ConfigNode> fabric = file.find("fabric");
  if (!fabric || cluster.topology.fabric_switches().empty()) return false;
  bool changed = false;
  for (const char* key : {"link", "uplink"}) {
    const std::optional<ConfigNode> entry = fabric->find(key);
    const std::optional<ConfigNode> type = entry ? entry->find("type") : std::nullopt;
    const net::LinkSpec* spec = type ? spec_of(cluster.topology, type->scalar()) : nullptr;
    if (spec == nullptr) continue;
    const std::optional<ConfigNode> stated = entry->find(what == Of::kRate ? "rate" : "latency");
    if (what == Of::kRate) {
      const Bandwidth rate = stated ? parse_bandwidth(stated->scalar()).value_or(spec->rate) : spec->rate;
      const auto faster = static_cast<std::int64_t>(std::llround(static_cast<double>(rate.bits_per_second()) * (1 + better)));
      file =
          file.with_override(fmt::format("fabric.{}.rate", key), to_string(Bandwidth::from_bits_per_second(faster)), "what if");
    } else {
      const Duration latency = stated ? parse_duration(stated->scalar()).value_or(spec->latency) : spec->latency;
      const auto shorter = static_cast<std::int64_t>(std::llround(static_cast<double>(latency.ps()) * (1 - better)));
      file = file.with_override(fmt::format("fabric.{}.latency", key), to_string(Duration::from_ps(shorter)), "what if");
    }
    changed = true;
  }
  if (changed && what == Of::kLatency) {
    const Duration latency = cluster.topology.forwarding(cluster.topology.fabric_switches().front()).latency;
    const auto shorter = static_cast<std::int64_t>(std::llround(static_cast<double>(latency.ps()) * (1 - better)));
    file = file.with_override("fabric.switch.latency", to_string(Duration::from_ps(shorter)), "what if");
  }
  return changed;
}

// Parameters of the profile whose keys `chosen` picks, times `factor` and within their range.
bool change_parameters(net::Cluster& cluster, const std::function<bool(std::string_view)>& chosen, double factor) {
  bool changed = false;
  for (const std::string& key : cluster.profile.keys()) {
    if (!chosen(key)) continue;
    const ParamValue& before = cluster.profile.value(key);
    const ParamValue after = value_within(cluster.profile.info(key), number_of(before) * factor);
    if (after == before) continue;
    Provenance provenance;
    provenance.reference = "what if";
    cluster.profile = cluster.profile.with_value(key, after, provenance);
    changed = true;
  }
  return changed;
}

bool is_math(std::string_view key) {
  return key == "gpu.gemm.efficiency" || key == "gpu.gemm.fp8_efficiency" || key == "gpu.gemm.fp4_efficiency" ||
         key == "gpu.attention.forward_efficiency" || key == "gpu.attention.backward_efficiency";
}

// Efficiencies of memory-bound kernels; the table of times per element (`_ps`) goes the other way.
bool is_memory_efficiency(std::string_view key) {
  return key.ends_with("efficiency") && !is_math(key) && key.starts_with("gpu.");
}
bool is_memory_time(std::string_view key) { return key.starts_with("gpu.") && key.ends_with("_ps"); }
bool is_library_latency(std::string_view key) { return key.starts_with("collectives.") && key.ends_with("_latency"); }
bool is_launch(std::string_view key) { return key == "device.launch.host_cost" || key == "device.launch.graph_kernel_cost"; }

}  // namespace

const std::vector<std::string_view>& what_if_names() {
  static const std::vector<std::string_view> names{"gpu_speed",   "hbm_speed",       "network_rate", "network_latency",
                                                   "nvlink_rate", "nvlink_latency",  "pcie_rate",    "pcie_latency",
                                                   "socket_rate", "library_latency", "launch_cost"};
  return names;
}

std::optional<net::Cluster> with_better(const net::Cluster& cluster, std::string_view name, double better) {
  ConfigNode file = cluster.resolved;
  bool changed = false;
  if (name == "network_rate") changed = change_fabric(cluster, file, Of::kRate, better);
  if (name == "network_latency") changed = change_fabric(cluster, file, Of::kLatency, better);
  if (name == "nvlink_rate") changed = change_node_links(cluster, file, LinkMedium::kNvlink, Of::kRate, better);
  if (name == "nvlink_latency") changed = change_node_links(cluster, file, LinkMedium::kNvlink, Of::kLatency, better);
  if (name == "pcie_rate") changed = change_node_links(cluster, file, LinkMedium::kPcie, Of::kRate, better);
  if (name == "pcie_latency") changed = change_node_links(cluster, file, LinkMedium::kPcie, Of::kLatency, better);
  if (name == "socket_rate") changed = change_node_links(cluster, file, LinkMedium::kSocket, Of::kRate, better);
  const bool by_profile = name == "gpu_speed" || name == "hbm_speed" || name == "library_latency" || name == "launch_cost";
  if (!changed && !by_profile) return std::nullopt;
  Diagnostics diagnostics;
  net::Cluster made = net::load_cluster(file, {.profile = {}, .groups = all_param_groups()}, diagnostics);
  WEFT_CHECK(made.topology.link_count() == cluster.topology.link_count());
  made.profile = cluster.profile;  // as it was given, with --profile too
  if (name == "gpu_speed") changed = change_parameters(made, is_math, 1 + better);
  if (name == "hbm_speed") {
    changed = change_parameters(made, is_memory_efficiency, 1 + better);
    changed |= change_parameters(made, is_memory_time, 1 / (1 + better));
  }
  if (name == "library_latency") changed = change_parameters(made, is_library_latency, 1 - better);
  if (name == "launch_cost") changed = change_parameters(made, is_launch, 1 - better);
  if (!changed) return std::nullopt;
  return made;
}

}  // namespace weft::scenario
