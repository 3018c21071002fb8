// Messages of NICs between two nodes.
#include <algorithm>
#include <utility>

#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"
#include "sim/network/machine.h"

namespace weft::measured {
namespace {

// A bandwidth test states no time.
void read_nic(const detail::JsonRecord& record, MeasuredPoint& measured) {
  const double gigabytes_per_second = record.number("GBps", 0);
  if (measured.median_us == 0 && gigabytes_per_second > 0)
    measured.median_us = static_cast<double>(measured.bytes.count()) / gigabytes_per_second / 1e3;
}

// Between the first GPUs of two nodes, as those programs stand.
std::vector<ValidationPoint> predict_nic(const PointPlace& place, const MeasuredPoint& measured, ValidationPoint point) {
  const net::Cluster& cluster = place.cluster;
  if (cluster.topology.host_count() < 2) return not_modelled(std::move(point), "messages between nodes: the cluster has one");
  net::Machine machine{cluster.topology, cluster.routing, place.options.seed, place.options.shuffle_ties};
  const std::vector<DeviceId>& ends = machine.topology.endpoints();
  const auto other = std::ranges::find_if(
      ends, [&](DeviceId end) { return machine.topology.host_of(end) != machine.topology.host_of(ends.front()); });
  const net::Footprint way = machine.router.route(ends.front(), *other, {});
  double bytes_per_ps = 0;
  for (const Usage& usage : way.usages) {
    const double rate = machine.fabric.capacity(usage.resource) / usage.usage;
    bytes_per_ps = bytes_per_ps == 0 ? rate : std::min(bytes_per_ps, rate);
  }
  if (bytes_per_ps <= 0) return not_modelled(std::move(point), "there is no way between the nodes");
  const double moving = static_cast<double>(measured.bytes.count()) / bytes_per_ps * 1e-6;
  // Bandwidth tests keep many messages on the way.
  const bool alone = measured.what.find("latency") != std::string::npos;
  point.predicted_us = alone ? way.latency_of(measured.bytes).us() + moving : moving;
  return {std::move(point)};
}

}  // namespace

const PointKind nic_kind{.name = "nic", .read = read_nic, .states_time = false, .predict = predict_nic};

}  // namespace weft::measured
