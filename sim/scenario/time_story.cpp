#include "sim/scenario/time_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "sim/core/json_writer.h"
#include "sim/network/packet_probe.h"
#include "sim/scenario/flow_summary.h"

namespace weft::scenario {
namespace {

std::optional<std::size_t> slowest_of(const work::Workload& workload, std::span<const work::FlowResult> flows) {
  std::optional<std::size_t> slowest;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const work::FlowOptions& options = workload.options_of(workload.flows[i]);
    if (!has_ended(flows[i]) || options.unlimited || options.messages != 1) continue;
    const auto taken = [&](std::size_t flow) { return flows[flow].end - flows[flow].start; };
    if (!slowest || taken(i) > taken(*slowest)) slowest = i;
  }
  return slowest;
}

// For its bytes alone on its way, at the narrowest link's rate.
Duration alone(const net::Machine& machine, const net::Footprint& path, Bytes bytes, Bandwidth cap) {
  double rate = cap > Bandwidth{} ? cap.bytes_per_ps() : std::numeric_limits<double>::infinity();
  for (const Usage& usage : path.usages) rate = std::min(rate, machine.fabric.capacity(usage.resource) / usage.usage);
  if (!std::isfinite(rate) || rate <= 0) return {};
  return Duration::nearest_ps(static_cast<double>(bytes.count()) / rate);
}

}  // namespace

std::string time_story(const net::Machine& machine, const work::Workload& workload, std::span<const work::FlowResult> flows,
                       std::span<const PortResult> ports) {
  const std::optional<std::size_t> slowest = slowest_of(workload, flows);
  if (!slowest) return {};
  const work::FlowItem& item = workload.flows[*slowest];
  const work::FlowResult& flow = flows[*slowest];
  const net::Footprint& path = machine.fabric.footprint(flow.footprint);
  const Duration taken = flow.end - flow.start;
  const Duration bytes = std::min(taken, alone(machine, path, flow.bytes, item.rate_cap));
  const Duration latency = std::min(taken - bytes, path.latency_of(flow.bytes));
  const Duration rest = taken - bytes - latency;
  // Parts of the rest that are known, none of them twice.
  Duration unexplained = rest;
  const auto take = [&unexplained](Duration part) {
    const Duration taken_of_rest = std::min(part, unexplained);
    unexplained = unexplained - taken_of_rest;
    return taken_of_rest;
  };
  const auto percent = [&](Duration part) {
    return taken > Duration{} ? 100 * static_cast<double>(part.ps()) / static_cast<double>(taken.ps()) : 0.0;
  };
  std::set<std::string> on_path;
  for (const Usage& usage : path.usages) on_path.insert(machine.topology.name(LinkId{usage.resource.value()}));
  const PortResult* busiest = nullptr;
  const PortResult* paused = nullptr;
  const PortResult* starved = nullptr;
  for (const PortResult& port : ports) {
    if (!on_path.contains(port.name)) continue;
    if (busiest == nullptr || port.utilization > busiest->utilization) busiest = &port;
    if (port.paused > Duration{} && (paused == nullptr || port.paused > paused->paused)) paused = &port;
    if (port.xmit_wait > Duration{} && (starved == nullptr || port.xmit_wait > starved->xmit_wait)) starved = &port;
  }
  std::string text = fmt::format(
      "the slowest flow, {} ({} to {}), took {} us: {:.1f} % for its bytes at the rate of its narrowest link, {:.1f} % latency",
      *slowest, machine.topology.name(item.from), machine.topology.name(item.to), us_text(taken), percent(bytes),
      percent(latency));
  const net::FlowCounters counters = machine.fabric.probe().flow(flow.footprint);
  if (counters.timeouts > 0) {
    text += fmt::format(", {:.1f} % in {} retransmission time-out{}", percent(take(counters.timeout_wait)), counters.timeouts,
                        counters.timeouts == 1 ? "" : "s");
  }
  if (paused != nullptr) text += fmt::format(", {:.1f} % in pauses of {}", percent(take(paused->paused)), paused->name);
  if (starved != nullptr)
    text += fmt::format(", {:.1f} % waiting for credits of {}", percent(take(starved->xmit_wait)), starved->name);
  text += fmt::format(", {:.1f} % sharing and waiting", percent(unexplained));
  if (busiest != nullptr)
    text += fmt::format("; its busiest link {} was {:.1f} % used", busiest->name, 100 * busiest->utilization);
  if (paused != nullptr) text += fmt::format("; {} was paused for {} us", paused->name, us_text(paused->paused));
  return text;
}

}  // namespace weft::scenario
