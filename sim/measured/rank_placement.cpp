#include "sim/measured/rank_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/scenario/os_hosts.h"

namespace weft::measured {
namespace {

// "0000:00:06" and "0000:00:06.0" are one; "0x07", as older versions print, is the bus alone ("0000:07:00.0").
bool is_same_bus_id(std::string_view printed, std::string_view label) {
  if (printed.empty() || label.empty()) return false;
  if (printed.starts_with("0x")) {
    const std::size_t first = label.find(':');
    const std::size_t second = label.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return false;
    const std::string_view bus = label.substr(first + 1, second - first - 1);
    unsigned a = 0;
    unsigned b = 0;
    const auto read_a = std::from_chars(printed.data() + 2, printed.data() + printed.size(), a, 16);
    const auto read_b = std::from_chars(bus.data(), bus.data() + bus.size(), b, 16);
    return read_a.ec == std::errc{} && read_b.ec == std::errc{} && a == b;
  }
  const std::string a = lower_case(printed);
  const std::string b = lower_case(label);
  return a == b || (b.starts_with(a) && b.substr(a.size()).starts_with('.')) ||
         (a.starts_with(b) && a.substr(b.size()).starts_with('.'));
}

// The one of `devices` with this bus id; none, or several: nothing.
std::optional<DeviceId> find_by_bus_id(const net::Topology& topology, const std::vector<DeviceId>& devices,
                                       std::string_view printed) {
  std::optional<DeviceId> found;
  for (const DeviceId device : devices) {
    if (!is_same_bus_id(printed, net::label_of(topology.labels(device), "bus_id"))) continue;
    if (found) return std::nullopt;
    found = device;
  }
  return found;
}

// The ranks of one communicator as the log lists them, by rank; empty where it does not list them all.
std::vector<NcclTestsDevice> listed_ranks(const NcclTestsLog& log) {
  std::vector<NcclTestsDevice> listed;
  for (const NcclTestsDevice& device : log.devices) {
    if (device.group == 0) listed.push_back(device);
  }
  std::ranges::sort(listed, {}, &NcclTestsDevice::rank);
  if (listed.size() != static_cast<std::size_t>(log.ranks)) return {};
  return listed;
}

// By host and bus id, or by host and order; empty where the log's hosts do not fit the cluster's.
std::vector<DeviceId> placed_by_host(const net::Topology& topology, const std::vector<NcclTestsDevice>& listed) {
  std::vector<std::string> hosts;  // in order of appearance: host i of the log is host i of the cluster
  std::vector<std::size_t> host_of_rank;
  for (const NcclTestsDevice& device : listed) {
    const auto known = std::ranges::find(hosts, device.host);
    host_of_rank.push_back(static_cast<std::size_t>(known - hosts.begin()));
    if (known == hosts.end()) hosts.push_back(device.host);
  }
  const std::vector<std::vector<DeviceId>> of_host = scenario::endpoints_by_os_host(topology);
  if (hosts.size() > of_host.size()) return {};

  std::vector<DeviceId> by_bus_id;
  for (std::size_t rank = 0; rank < listed.size(); ++rank) {
    const auto device = find_by_bus_id(topology, of_host[host_of_rank[rank]], listed[rank].bus_id);
    if (!device || std::ranges::find(by_bus_id, *device) != by_bus_id.end()) break;
    by_bus_id.push_back(*device);
  }
  if (by_bus_id.size() == listed.size()) return by_bus_id;

  std::vector<DeviceId> by_order;
  std::vector<std::size_t> taken(hosts.size());
  for (const std::size_t host : host_of_rank) {
    if (taken[host] == of_host[host].size()) return {};
    by_order.push_back(of_host[host][taken[host]++]);
  }
  return by_order;
}

ConfigError about_log(const Measurement& measurement, std::string message) {
  return ConfigError(std::vector<Diagnostic>{
      {.where = {measurement.file, 0, 0}, .message = std::move(message), .source_line = {}, .length = 1, .note = {}}});
}

}  // namespace

std::vector<DeviceId> devices_of(const net::Cluster& cluster, const Measurement& measurement) {
  const NcclTestsLog& log = measurement.log;
  const std::vector<DeviceId>& endpoints = cluster.topology.endpoints();
  const auto ranks = static_cast<std::size_t>(std::max(log.ranks, 0));
  if (ranks == 0) throw about_log(measurement, "the log does not say how many ranks took part");
  if (ranks > endpoints.size()) {
    throw about_log(measurement,
                    fmt::format("{} ranks took part, but cluster '{}' has {}", ranks, cluster.name, endpoints.size()));
  }
  const std::vector<NcclTestsDevice> listed = listed_ranks(log);
  if (!listed.empty()) {
    std::vector<DeviceId> placed = placed_by_host(cluster.topology, listed);
    if (!placed.empty()) return placed;
  }
  if (log.nodes > 1) {
    throw about_log(measurement, fmt::format("its {} ranks on {} nodes do not fit cluster '{}' of {} nodes", ranks, log.nodes,
                                             cluster.name, cluster.topology.host_count()));
  }
  return {endpoints.begin(), endpoints.begin() + static_cast<std::ptrdiff_t>(ranks)};
}

}  // namespace weft::measured
