// Copies between GPUs and host memory.
//
// Model: a copy takes its start (gpu.copy), and its bytes over the links between its ends and the memory of its host, which
// copies at the same time share; reads load the way back with their requests; copy engines fill an NVLink better than
// collectives do (gpu.contention.collective_links), and not quite a PCIe link. Those that start together are waited for
// together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/parameter_scale.h"
#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"
#include "sim/network/host_memory.h"
#include "sim/network/machine.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/kernels/copy_costs.h"

namespace weft::measured {
namespace {

void read_copy(const detail::JsonRecord& record, MeasuredPoint& measured) {
  measured.pattern = record.text("pattern");
  for (const std::vector<int>& ends : record.lists_of_ints("transfers")) {
    if (ends.size() != 2) record.fail("transfers: expected pairs [from, to]");
    measured.transfers.emplace_back(ends[0], ends[1]);
  }
}

// The others are by thread blocks.
bool is_by_engine(const MeasuredPoint& point) { return !point.what.starts_with("sm"); }

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

// By copy engine: NVLinks carry more than thread blocks get through them, PCIe links less than they could.
void load_as_engines(const net::Machine& machine, double nvlink, double pcie, net::Footprint& footprint) {
  for (Usage& usage : footprint.usages) {
    if (usage.resource.index() >= machine.topology.link_count()) continue;
    const net::LinkSpec& spec = machine.topology.spec(LinkId{static_cast<std::uint32_t>(usage.resource.index())});
    if (spec.type.starts_with("nvlink")) usage.usage /= nvlink;
    if (spec.type.starts_with("pcie")) usage.usage /= pcie;
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

// A time, or why there is none.
struct CopyAnswer {
  std::optional<double> us = {};
  std::string why_not = {};
};

// On the cluster's links as they are, with what `profile` says of gpu.copy, gpu.contention and network.host_memory.
CopyAnswer time_of_copy(const net::Cluster& cluster, const Profile& profile, const MeasuredPoint& point,
                        const PredictOptions& options) {
  if (point.transfers.empty() || point.bytes == Bytes{})
    return {.why_not = fmt::format("copies '{}'", point.pattern.empty() ? point.what : point.pattern)};
  if (is_all_to_all(point))
    return {.why_not = "copies among all pairs at once, of which switches carry less than their links could"};
  net::Machine machine{cluster.topology, cluster.routing, options.seed, options.shuffle_ties};
  net::HostMemory memory{machine.fabric, profile.get(net::host_memory_params)};
  LastDelivery last{machine.simulator};
  const work::CopyCosts& costs = profile.get(work::copy_costs);
  const double nvlink = profile.get(work::contention_costs).collective_links;
  const bool loads = point.what == "sm_read";
  Duration way_back;
  try {
    for (const auto& [from, to] : point.transfers) {
      const auto source = end_of(machine, from, to);
      const auto destination = end_of(machine, to, from);
      if (!source || !destination)
        return {.why_not = fmt::format("the cluster has no ends for a copy from {} to {}", from, to)};
      // The GPU's engine reads host memory, and its requests load the way there.
      net::Footprint footprint = machine.router.route(*source, *destination, {}, loads || from == kHostMemory);
      way_back = std::max(way_back, machine.router.route(*destination, *source, {}).latency_of(Bytes{}));
      if (is_by_engine(point)) load_as_engines(machine, nvlink, costs.pcie_share, footprint);
      if (from == kHostMemory) memory.load(*source, net::HostMemory::Way::kRead, footprint);
      if (to == kHostMemory) memory.load(*destination, net::HostMemory::Way::kWrite, footprint);
      net::Transfer transfer;
      transfer.footprint = machine.fabric.add_footprint(std::move(footprint));
      transfer.bytes = point.bytes;
      machine.fabric.post(transfer, last);
    }
  } catch (const ConfigError& error) {
    return {.why_not = error.diagnostics().front().message};
  }
  machine.simulator.run();
  Duration beyond = beyond_the_way(point, costs, loads ? 2 * way_back : way_back);
  if (point.transfers.size() > 1) beyond += costs.join;
  return {.us = std::max((last.at() - Time{} + beyond).us(), point.host_us)};
}

std::vector<ValidationPoint> predict_copy(const PointPlace& place, const MeasuredPoint& measured, ValidationPoint point) {
  CopyAnswer answer = time_of_copy(place.cluster, place.cluster.profile, measured, place.options);
  point.predicted_us = answer.us;
  point.not_modelled = std::move(answer.why_not);
  return {std::move(point)};
}

std::string copy_label(const MeasuredPoint& measured) {
  const auto name = [](int end) { return end == kHostMemory ? std::string{"host"} : std::to_string(end); };
  std::string ways;
  if (measured.transfers.size() == 1) {
    const auto& [from, to] = measured.transfers.front();
    ways = fmt::format(" {}>{}", name(from), name(to));
  } else if (!measured.transfers.empty()) {
    ways = fmt::format(" of {}", measured.transfers.size());
  }
  return fmt::format("{}{}, {}", measured.pattern, ways, measured.what);
}

// "h2d, 4 at once".
std::string copy_series(const MeasuredPoint& measured) {
  std::string text = measured.pattern;
  if (measured.transfers.size() > 1) text += fmt::format(", {} at once", measured.transfers.size());
  return is_by_engine(measured) ? text : text + ", by SMs";
}

// Copies at once that only read host memory, or only write it.
struct HostCopies {
  bool read = false;
  std::size_t count = 0;
  double rate = 0;  // bytes a microsecond, of all together
};

std::vector<HostCopies> host_copies(const std::vector<KernelLog>& logs) {
  std::vector<HostCopies> seen;
  for (const KernelLog& log : logs) {
    for (const MeasuredPoint& point : log.copies) {
      const auto reads = std::ranges::count(point.transfers, kHostMemory, &std::pair<int, int>::first);
      const auto writes = std::ranges::count(point.transfers, kHostMemory, &std::pair<int, int>::second);
      const std::size_t count = point.transfers.size();
      if (count == 0 || static_cast<std::size_t>(std::max(reads, writes)) < count) continue;
      const double bytes = static_cast<double>(count) * static_cast<double>(point.bytes.count());
      seen.push_back({.read = reads > 0, .count = count, .rate = bytes / point.median_us});
    }
  }
  return seen;
}

// Keys of the ways on which several copies got clearly less than as many alone, and the most that was seen: beyond all that the
// samples reach a limit would not be noticed, and where they reach none there is nothing to fit.
std::map<std::string, double> host_memory_starts(const std::vector<KernelLog>& logs) {
  constexpr double kClearly = 0.8;
  const std::vector<HostCopies> seen = host_copies(logs);
  std::map<std::string, double> starts;
  for (const bool read : {true, false}) {
    double alone = 0;
    for (const HostCopies& copies : seen)
      if (copies.read == read && copies.count == 1) alone = std::max(alone, copies.rate);
    double together = 0;
    bool is_limited = false;
    for (const HostCopies& copies : seen) {
      if (copies.read != read || copies.count == 1) continue;
      together = std::max(together, copies.rate);
      is_limited = is_limited || copies.rate < kClearly * static_cast<double>(copies.count) * alone;
    }
    if (!is_limited) continue;
    starts[read ? "network.host_memory.read" : "network.host_memory.write"] =
        number_of(Bandwidth::from_bytes_per_second(std::llround(1e6 * together)));
  }
  return starts;
}

// By copy engine, as far as they are predicted.
std::vector<FitPart> copy_fits(const FitData& data) {
  const auto has_copies = [](const KernelLog& log) { return !log.copies.empty(); };
  if (data.cluster == nullptr || std::ranges::none_of(data.logs, has_copies)) return {};
  const net::Cluster& cluster = *data.cluster;
  FitPart part{.id = "copies",
               .keys = {"gpu.copy.engine_start", "gpu.copy.join", "gpu.copy.pcie_share", "gpu.contention.collective_links"},
               .samples = {},
               .starts = host_memory_starts(data.logs)};
  for (const auto& [key, start] : part.starts) part.keys.push_back(key);
  for (const KernelLog& log : data.logs) {
    for (const MeasuredPoint& point : log.copies) {
      if (!is_by_engine(point) || !time_of_copy(cluster, cluster.profile, point, {}).us) continue;
      std::string label = fmt::format("{} of {}, {}", point.pattern, point.transfers.size(), to_string(point.bytes));
      part.samples.push_back(
          detail::kernel_sample(log, "copy", std::move(label), point.median_us,
                                [&cluster, point](const Profile& p) { return *time_of_copy(cluster, p, point, {}).us; }));
      part.samples.back().point.bytes = point.bytes;
    }
  }
  return {std::move(part)};
}

}  // namespace

const PointKind copy_kind{
    .name = "copy", .read = read_copy, .predict = predict_copy, .label = copy_label, .series = copy_series, .fits = copy_fits};

}  // namespace weft::measured
