#include "sim/scenario/parts_choice.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft::scenario {
namespace {

// Why it cannot run in parts; empty: it can.
std::string obstacle(const Scenario& scenario) {
  const work::Workload& work = scenario.workload;
  const SimulationOptions& simulation = scenario.simulation;
  if (simulation.fidelity != net::Fidelity::kPacket) return "only packet fidelity comes in parts";
  if (work.flows.empty() || !work.jobs.empty() || !work.collectives.empty()) return "only flows come in parts";
  if (!work.chains.triggers.empty()) return "triggers start flows";
  if (scenario.cluster.packet.transport.uec) return "Ultra Ethernet's entropy values are of one part";
  if (work.options.size() > 1) return "a flow has options: several messages, READs or a transport of its own";
  if (simulation.shuffle_ties != 0) return "simulation.shuffle_ties wants one order of all events";
  if (simulation.until) return "simulation.until ends the run";
  if (!scenario.measure.series.empty()) return "measure.series samples";
  const Faults& faults = scenario.faults;
  if (!faults.drops.empty() || !faults.pauses.empty() || !faults.cnps.empty() || !faults.downs.empty())
    return "faults are to come";
  const auto is_self = [](const work::FlowItem& flow) { return flow.from == flow.to; };
  if (std::ranges::any_of(work.flows, is_self)) return "a flow stays inside a device";
  return {};
}

PartsChoice one(std::string why) { return {.partition = {}, .why_one = std::move(why)}; }

}  // namespace

PartsChoice choose_parts(const Scenario& scenario) {
  const auto most = static_cast<std::size_t>(scenario.simulation.partitions);
  if (most == 1) return one("simulation.partitions is 1");
  if (std::string why = obstacle(scenario); !why.empty()) return one(std::move(why));
  PartsChoice choice{.partition = net::cut_into_parts(scenario.cluster.topology, most), .why_one = {}};
  if (!choice.in_parts()) choice.why_one = "its fabric does not come apart";
  return choice;
}

}  // namespace weft::scenario
