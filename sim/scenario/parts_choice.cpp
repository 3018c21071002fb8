#include "sim/scenario/parts_choice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/network/packet_level/packet_network.h"
#include "sim/network/parted_fabric.h"

namespace weft::scenario {
namespace {

// Why it cannot run in parts; empty: it can.
std::string obstacle(const Scenario& scenario) {
  const work::Workload& work = scenario.workload;
  const SimulationOptions& simulation = scenario.simulation;
  if (simulation.fidelity != net::Fidelity::kPacket) return "only packet fidelity comes in parts";
  if (work.flows.empty() || !work.jobs.empty() || !work.collectives.empty()) return "only flows come in parts";
  if (!work.chains.triggers.empty()) return "triggers start flows";
  if (work.options.size() > 1) return "a flow has options: several messages, READs or a transport of its own";
  if (simulation.shuffle_ties != 0) return "simulation.shuffle_ties wants one order of all events";
  if (simulation.until) return "simulation.until ends the run";
  if (!scenario.measure.series.empty()) return "measure.series samples";
  const bool reads_between = scenario.measure.to || scenario.measure.from > Time{};
  if (simulation.processes != nullptr && reads_between) return "measure.from or to reads all parts in between";
  const Faults& faults = scenario.faults;
  if (!faults.drops.empty() || !faults.pauses.empty() || !faults.cnps.empty() || !faults.downs.empty())
    return "faults are to come";
  if (scenario.cluster.packet.has_watchdog()) return "a PFC watchdog keeps its storms in one part";
  const auto is_self = [](const work::FlowItem& flow) { return flow.from == flow.to; };
  if (std::ranges::any_of(work.flows, is_self)) return "a flow stays inside a device";
  return {};
}

// Flows bring this to the fabric.
struct Load {
  double packets = 0;
  double picoseconds = 0;  // it takes at least
};

Load load_of(const Scenario& scenario) {
  const net::Topology& topology = scenario.cluster.topology;
  double payload = std::numeric_limits<double>::max();
  double rate = 0;  // the fastest that a host sends at
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    if (net::is_inside_host(topology, id)) continue;
    const net::LinkSpec& spec = topology.spec(id);
    payload = std::min(payload, static_cast<double>(spec.packet.count()));
    if (topology.host_of(topology.link(id).from) >= 0) rate = std::max(rate, spec.rate.bytes_per_ps());
  }
  if (const auto stated = scenario.cluster.packet.transport.payload) payload = static_cast<double>(stated->count());
  Load load;
  std::vector<double> sent(topology.device_count());
  std::vector<double> received(topology.device_count());
  Time first = Time::max();
  Time last;
  for (const work::FlowItem& flow : scenario.workload.flows) {
    const auto bytes = static_cast<double>(flow.bytes.count());
    load.packets += std::ceil(bytes / payload);
    sent[flow.from.index()] += bytes;
    received[flow.to.index()] += bytes;
    first = std::min(first, flow.start);
    last = std::max(last, flow.start);
  }
  const double most = std::max(*std::ranges::max_element(sent), *std::ranges::max_element(received));
  load.picoseconds = std::max(most / rate, static_cast<double>((last - first).ps()));
  return load;
}

// Packets may be lost for good, or pauses may wait for one another: then the run would begin anew.
bool looks_fragile(const Scenario& scenario) {
  const net::PacketSettings& packet = scenario.cluster.packet;
  const auto drops = [](const net::SwitchSettings& switches, const net::PfcSettings& pfc) {
    return switches.buffer || switches.queue_limit || pfc.headroom || pfc.compute_headroom;
  };
  const auto pauses = [](const net::PfcSettings& pfc) { return pfc.priorities != 0; };
  bool any_drops = drops(packet.switches, packet.pfc);
  bool any_pauses = pauses(packet.pfc);
  for (const net::DeviceSettings& own : packet.own) {
    any_drops |= drops(own.switches, own.pfc);
    any_pauses |= pauses(own.pfc);
  }
  const net::TransportSettings& how = packet.transport;
  const bool repeats = how.acks != net::AckMode::kNone && how.reliability != net::Reliability::kNone;
  return (any_drops && !repeats) || (any_pauses && net::links_equals(scenario.cluster.topology));
}

// Why parts would not pay; empty: they do.
std::string too_little(const Scenario& scenario, const net::Partition& partition) {
  const Load load = load_of(scenario);
  if (load.packets < kPacketsForParts) return "it has few packets";
  const Duration window = net::lookahead(scenario.cluster.topology, partition, scenario.cluster.packet);
  if (window == Duration::max() || window <= Duration{}) return "its parts have no latency between them";
  const double windows = std::max(load.picoseconds / static_cast<double>(window.ps()), 1.0);
  const double each = load.packets / windows / static_cast<double>(partition.parts);
  return each < kPacketsAWindow ? "few packets are under way at once" : "";
}

PartsChoice one(std::string why) { return {.partition = {}, .why_one = std::move(why)}; }

}  // namespace

PartsChoice choose_parts(const Scenario& scenario) {
  const std::optional<int> stated = scenario.simulation.partitions;
  if (stated == 1) return one("simulation.partitions is 1");
  if (std::string why = obstacle(scenario); !why.empty()) return one(std::move(why));
  const std::size_t most = stated ? static_cast<std::size_t>(*stated) : net::kMostParts;
  PartsChoice choice{.partition = net::cut_into_parts(scenario.cluster.topology, most), .why_one = {}};
  if (!choice.in_parts()) return one("its fabric does not come apart");
  if (stated) return choice;
  if (looks_fragile(scenario)) return one("it may lose packets, or pauses may wait for one another");
  if (std::string why = too_little(scenario, choice.partition); !why.empty()) return one(std::move(why));
  return choice;
}

}  // namespace weft::scenario
