#include "sim/workloads/way_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/config/nearest.h"
#include "sim/network/wiring.h"

namespace weft::work {
namespace {

constexpr std::size_t kMaxNames = 5'000;  // to look for the nearest among

// The nearest device of a name that is none: switches first, which most ways are of.
std::string device_note(const std::string& name, const net::Topology& topology) {
  std::vector<std::string> names;
  for (const DeviceId device : topology.fabric_switches()) {
    if (names.size() < kMaxNames) names.push_back(topology.name(device));
  }
  const std::size_t switches = names.size();
  for (std::size_t i = 0; i < std::min(topology.device_count(), kMaxNames); ++i) {
    if (topology.host_of(DeviceId::from_index(i)) >= 0) names.push_back(topology.name(DeviceId::from_index(i)));
  }
  const std::string near = nearest(name, names);
  std::string note = near.empty() ? std::string{} : fmt::format("did you mean '{}'? ", near);
  if (switches > 0) note += fmt::format("switches here: {} to {}", names[0], names[switches - 1]);
  return note;
}

}  // namespace

net::NamedWay read_way(ParamReader& item, const WorkloadContext& context) {
  net::NamedWay way;
  const auto via = item.list<std::string>("via");
  const auto route = item.list<std::string>("route");
  if (item.has("via") && item.has("route")) {
    item.error("route", "'via' and 'route' both name the flow's way: state one of them",
               "'via' names some devices that it goes through, 'route' all of them");
    return way;
  }
  const char* key = item.has("route") ? "route" : "via";
  const std::vector<std::string>& names = item.has("route") ? route : via;
  if (!item.has(key)) return way;
  const std::optional<ConfigNode> written = item.node().find(key);
  if (!written || !written->is_list()) return way;  // reported by list()
  if (names.empty() && item.has("via")) item.error("via", "expected one device at least");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const auto device = context.topology.find(names[i])) {
      way.devices.push_back(*device);
    } else {
      net::report(item.diagnostics(), (*written)[std::min(i, written->size() - 1)],
                  fmt::format("unknown device '{}'", names[i]), device_note(names[i], context.topology));
    }
  }
  way.complete = item.has("route");
  return way;
}

bool check_way(ParamReader& item, const WorkloadContext& context, const FlowItem& flow, net::NamedWay& way) {
  if (!way.stated() || item.diagnostics().has_errors()) return true;
  const std::size_t before = !way.devices.empty() && way.devices.front() == flow.from ? 1 : 0;
  if (before == 1) way.devices.erase(way.devices.begin());
  if (!way.devices.empty() && way.devices.back() == flow.to) way.devices.pop_back();
  const auto first = [](DeviceId, std::span<const LinkId> links) { return links.front(); };
  const auto open = [&](LinkId link) { return !context.topology.is_absent(link); };
  const net::FoundWay found = net::find_named_way(context.topology, flow.from, flow.to, way, first, open);
  if (!found.links.empty()) return true;
  const ConfigNode written = item.raw(way.complete ? "route" : "via");
  const std::size_t at = found.at + before;
  net::report(
      item.diagnostics(), at < written.size() ? written[at] : written,
      fmt::format("{} (flow from '{}' to '{}')", found.why, context.topology.name(flow.from), context.topology.name(flow.to)),
      found.advice);
  return false;
}

}  // namespace weft::work
