#include "sim/scenario/packet_part.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/nearest.h"
#include "sim/network/name_range.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/scenario/read_on.h"

namespace weft::scenario {
namespace {

constexpr std::size_t kMaxNames = 10'000;
constexpr std::size_t kMaxCompared = 20'000;
constexpr std::string_view kForm =
    "links are written 'from->to' and devices as `weft topo` prints them; 0..3 counts, * is any text";

bool matches(const std::string& pattern, const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; }

std::vector<DeviceId> devices_named(const std::string& pattern, const net::Topology& topology) {
  std::vector<DeviceId> found;
  if (pattern.find('*') == std::string::npos) {
    if (const auto device = topology.find(pattern)) found.push_back(*device);
    return found;
  }
  for (std::size_t i = 0; i < topology.device_count(); ++i) {
    const DeviceId device = DeviceId::from_index(i);
    if (matches(pattern, topology.name(device))) found.push_back(device);
  }
  return found;
}

// Marks what one name stands for; false: nothing.
bool mark(const std::string& name, const net::Topology& topology, std::vector<bool>& links) {
  const std::size_t arrow = name.find("->");
  bool any = false;
  for (const DeviceId device : devices_named(name.substr(0, arrow), topology)) {
    for (const LinkId link : topology.out_links(device)) {
      if (arrow != std::string::npos && !matches(name, topology.name(link))) continue;
      any = true;
      links[link.index()] = true;
      if (arrow == std::string::npos) links[topology.link(link).twin.index()] = true;
    }
  }
  return any;
}

// The nearest device, and how names are written.
std::string note_on(const std::string& name, const net::Topology& topology) {
  if (std::string stands_in = stand_in_note(topology); !stands_in.empty()) return stands_in;
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < std::min(topology.device_count(), kMaxCompared); ++i) {
    devices.push_back(topology.name(DeviceId::from_index(i)));
  }
  // The end that is none; the first one, where both are.
  const std::size_t arrow = name.find("->");
  const std::string from = name.substr(0, arrow);
  const bool second = arrow != std::string::npos && topology.find(from);
  const std::string near = nearest(second ? name.substr(arrow + 2) : from, devices);
  return near.empty() ? std::string{kForm} : fmt::format("did you mean '{}'? {}", near, kForm);
}

void read_links(const ConfigNode& list, const net::Topology& topology, std::vector<bool>& links, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ConfigNode node = list[i];
    const net::NameRange range = net::expand_names(node.scalar(), kMaxNames);
    if (!range.error.empty()) {
      diagnostics.error(node.diagnostic(fmt::format("{}: {}", node.path(), range.error)));
      continue;
    }
    for (const std::string& name : range.names) {
      if (mark(name, topology, links)) continue;
      diagnostics.error(node.diagnostic(fmt::format("{}: no link or device '{}'", node.path(), name), note_on(name, topology)));
      break;
    }
  }
}

std::vector<coll::Collective> read_collectives(ParamReader& section, const work::Workload& workload) {
  std::vector<coll::Collective> kinds;
  std::set<std::string> run;
  for (const work::CollectiveItem& item : workload.collectives) run.emplace(coll::to_string(item.call.kind));
  for (const std::string& name : section.list<std::string>("collectives")) {
    if (!run.contains(name)) {
      const std::vector<std::string> names{run.begin(), run.end()};
      section.error("collectives", fmt::format("the workload runs no '{}'", name),
                    run.empty() ? std::string{"it has no collectives"} : did_you_mean(name, names, "it runs"));
      continue;
    }
    kinds.push_back(*coll::collective_from(name));
  }
  return kinds;
}

}  // namespace

std::vector<bool> links_between_hosts(const net::Topology& topology) {
  std::vector<bool> links(topology.link_count());
  for (std::size_t i = 0; i < links.size(); ++i) links[i] = !net::is_inside_host(topology, LinkId::from_index(i));
  return links;
}

PacketPart read_packet_part(const ConfigNode& root, const net::Topology& topology, const work::Workload& workload,
                            Diagnostics& diagnostics) {
  PacketPart part{.links = links_between_hosts(topology), .collectives = {}};
  const std::optional<ConfigNode> simulation = root.find("simulation");
  const std::optional<ConfigNode> stated = simulation ? simulation->find("packets") : std::nullopt;
  if (!stated) return part;
  ParamReader section{*stated, diagnostics};
  const bool has_links = section.has("links");
  const std::size_t errors_before = diagnostics.errors().size();
  if (!section.list<std::string>("links").empty()) {
    part.links.assign(topology.link_count(), false);
    read_links(*stated->find("links"), topology, part.links, diagnostics);
  } else if (has_links && diagnostics.errors().size() == errors_before) {
    section.error("links", "names none: all would be flows", "simulation: {fidelity: flow}");
  }
  part.collectives = read_collectives(section, workload);
  section.finish();
  return part;
}

void check_priorities(const ConfigNode& root, const work::Workload& workload, Diagnostics& diagnostics) {
  std::set<int> priorities;
  for (const work::FlowItem& flow : workload.flows) priorities.insert(flow.priority);
  for (const work::JobItem& job : workload.jobs) priorities.insert(job.priority);
  if (priorities.size() < 2) return;
  const std::optional<ConfigNode> node = root.find("workload");
  diagnostics.error((node ? *node : root)
                        .key_diagnostic("workload: hybrid fidelity has flows and packets of one priority only",
                                        "simulation: {fidelity: packet}"));
}

std::string hybrid_note(const net::HybridTotals& totals) {
  return fmt::format(
      "hybrid: {:.1f} % of the bytes are packets ({} transfers), the rest flows ({} transfers); {}",
      100 * totals.packet_share(), totals.packet_transfers, totals.flow_transfers,
      totals.shared_links == 0 ? std::string{"no link carries both"} : fmt::format("{} links carry both", totals.shared_links));
}

}  // namespace weft::scenario
