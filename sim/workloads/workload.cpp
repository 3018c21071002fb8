#include "sim/workloads/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>

#include "sim/collectives/builtin.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"

namespace weft::work {
namespace {

constexpr std::array kKinds = {coll::Collective::kAllReduce, coll::Collective::kAllGather, coll::Collective::kReduceScatter,
                               coll::Collective::kBroadcast, coll::Collective::kReduce,    coll::Collective::kAllToAll,
                               coll::Collective::kSendRecv,  coll::Collective::kGather,    coll::Collective::kScatter};

// "n3.gpu5", "h3", or the number of an endpoint.
std::optional<DeviceId> find_endpoint(const std::string& text, const net::Topology& topology) {
  if (const auto index = parse_integer(text)) {
    if (*index < 0 || static_cast<std::size_t>(*index) >= topology.endpoints().size()) return std::nullopt;
    return topology.endpoints()[static_cast<std::size_t>(*index)];
  }
  return topology.find(text);
}

std::string endpoint_note(const std::string& name, const net::Topology& topology) {
  const std::vector<DeviceId>& endpoints = topology.endpoints();
  if (endpoints.empty()) return "this cluster has no endpoints";
  constexpr std::size_t kNames = 1'000;  // enough to show how names are made
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(endpoints.size(), kNames); ++i) names.push_back(topology.name(endpoints[i]));
  const std::string near = nearest(name, names);
  return fmt::format("{}endpoints here: {} to {}, or their numbers 0 to {}",
                     near.empty() ? std::string{} : fmt::format("did you mean '{}'? ", near), names.front(),
                     topology.name(endpoints.back()), endpoints.size() - 1);
}

void read_collectives(ParamReader& workload, const net::Topology& topology, Workload& out) {
  std::vector<std::string> kinds;
  for (const coll::Collective kind : kKinds) kinds.emplace_back(coll::to_string(kind));
  const std::span<const std::string> registered = coll::algorithms().names();
  std::vector<std::string> names(registered.begin(), registered.end());
  for (ParamReader& item : workload.maps("collectives")) {
    CollectiveItem made;
    made.call.kind = *coll::collective_from(item.choice("kind", kinds));
    made.call.bytes = item.required<Bytes>("bytes");
    made.call.element_size = item.optional<std::int64_t>("element_size", 4);
    if (!std::has_single_bit(static_cast<std::uint64_t>(made.call.element_size)) || made.call.element_size > 16) {
      item.error("element_size", fmt::format("expected 1, 2, 4, 8 or 16 bytes, got {}", made.call.element_size));
      made.call.element_size = 4;
    }
    made.call.root = static_cast<Rank>(item.optional<std::int64_t>("root", 0, between(0, 1'000'000)));
    made.count = item.optional<std::int64_t>("count", 1, between(1, 1'000'000));
    made.channels = static_cast<int>(item.optional<std::int64_t>("channels", 0, between(0, 64)));
    if (item.has("algorithm")) made.algorithm = item.choice("algorithm", names);
    const auto written = item.node().find("algorithm");
    if (written && written->scalar() == made.algorithm && !coll::make_algorithm(made.algorithm)->supports(made.call.kind)) {
      std::string able;
      for (const std::string& name : names) {
        if (coll::make_algorithm(name)->supports(made.call.kind)) able += (able.empty() ? "" : ", ") + name;
      }
      item.error("algorithm", fmt::format("'{}' does not run {}", made.algorithm, coll::to_string(made.call.kind)),
                 fmt::format("algorithms for {}: {}", coll::to_string(made.call.kind), able));
    }
    if (item.has("ranks")) {
      made.devices = read_ranks(item.raw("ranks"), topology, item.diagnostics());
    } else {
      made.devices = topology.endpoints();
    }
    if (!made.devices.empty() && static_cast<std::size_t>(made.call.root) >= made.devices.size()) {
      item.error("root", fmt::format("rank {} is not in a communicator of {} ranks", made.call.root, made.devices.size()));
    }
    item.finish();
    out.collectives.push_back(std::move(made));
  }
}

void read_flows(ParamReader& workload, const net::Topology& topology, Workload& out) {
  for (ParamReader& item : workload.maps("flows")) {
    FlowItem made;
    const auto endpoint = [&](std::string_view key) {
      const std::string name = item.required<std::string>(key);
      const auto device = find_endpoint(name, topology);
      if (!device && !name.empty()) item.error(key, fmt::format("no device '{}'", name), endpoint_note(name, topology));
      if (device && topology.host_of(*device) < 0) {
        item.error(key, fmt::format("'{}' is a switch of the fabric, and flows go between hosts", name),
                   endpoint_note(name, topology));
        return DeviceId{0};
      }
      return device.value_or(DeviceId{0});
    };
    made.from = endpoint("from");
    made.to = endpoint("to");
    made.bytes = item.required<Bytes>("bytes");
    made.start = Time{} + item.optional<Duration>("start", Duration{});
    made.rate_cap = item.optional<Bandwidth>("rate_cap", positive).value_or(Bandwidth{});
    made.priority = static_cast<int>(item.optional<std::int64_t>("priority", 0, between(0, 7)));
    item.finish();
    out.flows.push_back(made);
  }
}

// One flow a line: source host, destination host, bytes. Lines that are empty or begin with '#' do not count.
void read_flows_file(const std::filesystem::path& path, const net::Topology& topology, Diagnostics& diagnostics,
                     Workload& out) {
  std::ifstream file{path};
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    std::array<std::int64_t, 3> fields{};
    const char* at = line.data() + first;
    const char* const end = line.data() + line.size();
    bool ok = true;
    for (std::int64_t& field : fields) {
      while (at != end && (*at == ' ' || *at == '\t' || *at == ',')) ++at;
      const auto [next, error] = std::from_chars(at, end, field);
      ok = ok && error == std::errc{};
      at = next;
    }
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    const auto endpoints = static_cast<std::int64_t>(topology.endpoints().size());
    std::string problem;
    if (!ok || at != end) {
      problem = "expected three numbers: source host, destination host, bytes";
    } else if (fields[0] < 0 || fields[0] >= endpoints || fields[1] < 0 || fields[1] >= endpoints) {
      problem = fmt::format("host {} is not in this cluster, which has {} (0 to {})",
                            fields[0] < 0 || fields[0] >= endpoints ? fields[0] : fields[1], endpoints, endpoints - 1);
    } else if (fields[2] < 0) {
      problem = fmt::format("expected a size of 0 bytes or more, got {}", fields[2]);
    } else if (static_cast<std::int64_t>(out.flows.size()) >= kMaxFlows) {
      problem = fmt::format("more than {} flows", kMaxFlows);
    }
    if (!problem.empty()) {
      diagnostics.error(
          {.where = {path.string(), number, static_cast<int>(first) + 1}, .message = problem, .source_line = line, .note = {}});
      return;
    }
    out.flows.push_back({topology.endpoints()[static_cast<std::size_t>(fields[0])],
                         topology.endpoints()[static_cast<std::size_t>(fields[1])], Bytes{fields[2]}, Time{}, Bandwidth{}, 0});
  }
}

}  // namespace

std::vector<DeviceId> read_ranks(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics) {
  const std::vector<DeviceId>& all = topology.endpoints();
  if (node.is_scalar()) {
    if (node.scalar() == "all") return all;
    const auto count = parse_integer(node.scalar());
    if (!count) {
      diagnostics.error(node.diagnostic(
          fmt::format("{}: expected 'all', a number of ranks or a list of devices, got '{}'", node.path(), node.scalar())));
      return {};
    }
    if (*count < 1 || static_cast<std::size_t>(*count) > all.size()) {
      diagnostics.error(
          node.diagnostic(fmt::format("{}: {} ranks do not fit this cluster, which has {}", node.path(), *count, all.size())));
      return {};
    }
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(*count)};
  }
  if (!node.is_list() || node.size() == 0) {
    diagnostics.error(node.diagnostic(
        fmt::format("{}: expected 'all', a number of ranks or a list of devices, got {}", node.path(), found_text(node))));
    return {};
  }
  std::vector<DeviceId> devices;
  std::set<DeviceId> seen;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const ConfigNode item = node[i];
    const auto device = item.is_scalar() ? find_endpoint(item.scalar(), topology) : std::nullopt;
    if (!device || std::ranges::find(all, *device) == all.end()) {
      diagnostics.error(item.diagnostic(fmt::format("{}: no endpoint {}", item.path(), found_text(item)),
                                        endpoint_note(item.scalar(), topology)));
      return {};
    }
    if (!seen.insert(*device).second) {
      diagnostics.error(item.diagnostic(fmt::format("{}: '{}' holds a rank already", item.path(), topology.name(*device))));
      return {};
    }
    devices.push_back(*device);
  }
  return devices;
}

Workload read_workload(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics) {
  Workload workload;
  ParamReader reader{node, diagnostics};
  const int kinds = static_cast<int>(reader.has("collectives")) + static_cast<int>(reader.has("flows")) +
                    static_cast<int>(reader.has("flows_file"));
  if (node.is_map() && kinds != 1) {
    diagnostics.error(
        node.key_diagnostic(fmt::format("{}: expected one of 'collectives', 'flows' and 'flows_file'", node.path())));
  }
  if (reader.has("collectives")) read_collectives(reader, topology, workload);
  if (reader.has("flows")) read_flows(reader, topology, workload);
  if (reader.has("flows_file")) {
    const ConfigNode file = reader.raw("flows_file");
    try {
      read_flows_file(referenced_file(file), topology, diagnostics, workload);
    } catch (const ConfigError& error) {
      diagnostics.absorb(error);
    }
  }
  reader.finish();
  return workload;
}

}  // namespace weft::work
