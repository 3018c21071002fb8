// Copies between GPUs and host memory, and messages of NICs, on the links between their ends.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/core/error.h"
#include "sim/measured/point_models.h"
#include "sim/network/host_memory.h"
#include "sim/network/machine.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/kernels/copy_costs.h"

namespace weft::measured::detail {
namespace {

class LastDelivery final : public net::TransferListener {
 public:
  explicit LastDelivery(const Simulator& simulator) : simulator_{simulator} {}
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t) override { at_ = simulator_.now(); }
  void on_aborted(TransferId, std::uint64_t) override {}
  [[nodiscard]] Time at() const { return at_; }

 private:
  const Simulator& simulator_;
  Time at_;
};

// The GPU of that number, of the first host; host memory is that of `other`'s host.
std::optional<DeviceId> end_of(const net::Machine& machine, int number, int other) {
  const std::vector<DeviceId>& gpus = machine.topology.endpoints();
  const auto exists = [&](int gpu) { return gpu >= 0 && static_cast<std::size_t>(gpu) < gpus.size(); };
  if (number != kHostMemory) return exists(number) ? std::optional{gpus[static_cast<std::size_t>(number)]} : std::nullopt;
  return exists(other) ? machine.router.host_memory(gpus[static_cast<std::size_t>(other)]) : std::nullopt;
}

// By copy engine: NVLinks carry more than thread blocks get through them.
void relieve_nvlinks(const net::Machine& machine, double factor, net::Footprint& footprint) {
  for (Usage& usage : footprint.usages) {
    if (usage.resource.index() >= machine.topology.link_count()) continue;
    const net::LinkSpec& spec = machine.topology.spec(LinkId{static_cast<std::uint32_t>(usage.resource.index())});
    if (spec.type.starts_with("nvlink")) usage.usage /= factor;
  }
}

// Some GPU has several peers that it sends to, and several that it receives from. Switches then carry 54 (copy engines) to 78 %
// (thread blocks) of what the links could: 12 copies among 4 H200, validate/measured/h200x4_full.jsonl.
bool is_all_to_all(const MeasuredPoint& point) {
  std::map<int, int> sends;
  std::map<int, int> receives;
  for (const auto& [from, to] : point.transfers) {
    if (from == kHostMemory || to == kHostMemory) continue;
    ++sends[from];
    ++receives[to];
  }
  return std::ranges::any_of(sends, [&](const auto& gpu) { return gpu.second > 1 && receives[gpu.first] > 1; });
}

// A copy engine's last bytes need no acknowledgement before the next copy starts. Thread blocks that load send for their last
// bytes, and a kernel that stores ends when they are acknowledged.
Duration beyond_the_way(const MeasuredPoint& point, const work::CopyCosts& costs, Duration way_back) {
  return is_by_engine(point) ? costs.engine_start : costs.block_start + way_back;
}

}  // namespace

bool is_by_engine(const MeasuredPoint& point) { return !point.what.starts_with("sm"); }

PointAnswer predict_copy(const net::Cluster& cluster, const Profile& profile, const MeasuredPoint& point,
                         const PredictOptions& options) {
  PointAnswer answer;
  if (point.transfers.empty() || point.bytes == Bytes{}) {
    answer.why_not = fmt::format("copies '{}'", point.pattern.empty() ? point.what : point.pattern);
    return answer;
  }
  if (is_all_to_all(point)) {
    answer.why_not = "copies among all pairs at once, of which switches carry less than their links could";
    return answer;
  }
  net::Machine machine{cluster.topology, cluster.routing, options.seed, options.shuffle_ties};
  net::HostMemory memory{machine.fabric, profile.get(net::host_memory_params)};
  LastDelivery last{machine.simulator};
  const double factor = is_by_engine(point) ? profile.get(work::contention_costs).collective_links : 1.0;
  const bool loads = point.what == "sm_read";
  Duration way_back;
  try {
    for (const auto& [from, to] : point.transfers) {
      const auto source = end_of(machine, from, to);
      const auto destination = end_of(machine, to, from);
      if (!source || !destination) {
        answer.why_not = fmt::format("the cluster has no ends for a copy from {} to {}", from, to);
        return answer;
      }
      // The GPU's engine reads host memory, and its requests load the way there.
      net::Footprint footprint = machine.router.route(*source, *destination, {}, loads || from == kHostMemory);
      way_back = std::max(way_back, machine.router.route(*destination, *source, {}).latency_of(Bytes{}));
      relieve_nvlinks(machine, factor, footprint);
      if (from == kHostMemory) memory.load(*source, net::HostMemory::Way::kRead, footprint);
      if (to == kHostMemory) memory.load(*destination, net::HostMemory::Way::kWrite, footprint);
      net::Transfer transfer;
      transfer.footprint = machine.fabric.add_footprint(std::move(footprint));
      transfer.bytes = point.bytes;
      machine.fabric.post(transfer, last);
    }
  } catch (const ConfigError& error) {
    answer.why_not = error.diagnostics().front().message;
    return answer;
  }
  machine.simulator.run();
  const Duration beyond = beyond_the_way(point, profile.get(work::copy_costs), loads ? 2 * way_back : way_back);
  answer.us = std::max((last.at() - Time{} + beyond).us(), point.host_us);
  return answer;
}

// Between the first GPUs of two nodes, as those programs stand.
PointAnswer predict_nic(const net::Cluster& cluster, const MeasuredPoint& point, const PredictOptions& options) {
  PointAnswer answer;
  if (cluster.topology.host_count() < 2) {
    answer.why_not = "messages between nodes: the cluster has one";
    return answer;
  }
  net::Machine machine{cluster.topology, cluster.routing, options.seed, options.shuffle_ties};
  const std::vector<DeviceId>& ends = machine.topology.endpoints();
  const auto other = std::ranges::find_if(
      ends, [&](DeviceId end) { return machine.topology.host_of(end) != machine.topology.host_of(ends.front()); });
  const net::Footprint way = machine.router.route(ends.front(), *other, {});
  double bytes_per_ps = 0;
  for (const Usage& usage : way.usages) {
    const double rate = machine.fabric.capacity(usage.resource) / usage.usage;
    bytes_per_ps = bytes_per_ps == 0 ? rate : std::min(bytes_per_ps, rate);
  }
  if (bytes_per_ps <= 0) {
    answer.why_not = "there is no way between the nodes";
    return answer;
  }
  const double moving = static_cast<double>(point.bytes.count()) / bytes_per_ps * 1e-6;
  // Bandwidth tests keep many messages on the way.
  answer.us = point.what.find("latency") != std::string::npos ? way.latency_of(point.bytes).us() + moving : moving;
  return answer;
}

}  // namespace weft::measured::detail
