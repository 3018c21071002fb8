#include "sim/planning/cost/floor_plan.h"

#include <algorithm>
#include <map>

#include "sim/core/whole_numbers.h"
#include "sim/planning/cost/amount.h"

namespace weft::plan {
namespace {

constexpr std::int64_t kRackOfGpus = 16;  // more of them, and the server is a rack

double metres_of(const CableLine& line, const FloorPlan& plan) {
  if (line.at_node) return plan.node_metres;
  if (line.tiers.starts_with("leaf-")) return plan.leaf_metres;
  if (line.tiers.starts_with("spine-")) return plan.spine_metres;
  return plan.other_metres;
}

}  // namespace

FloorPlan FloorPlan::read(ParamReader& params) {
  FloorPlan plan;
  plan.servers_per_rack = params.optional<std::int64_t>("servers_per_rack", plan.servers_per_rack, between(1, 100));
  plan.switches_per_rack = params.optional<std::int64_t>("switches_per_rack", plan.switches_per_rack, between(1, 100));
  ParamReader lengths = params.map_or_empty("lengths");
  plan.node_metres = read_amount(lengths, "node", Unit::kMetre, plan.node_metres);
  plan.leaf_metres = read_amount(lengths, "leaf", Unit::kMetre, plan.leaf_metres);
  plan.spine_metres = read_amount(lengths, "spine", Unit::kMetre, plan.spine_metres);
  plan.other_metres = read_amount(lengths, "other", Unit::kMetre, plan.other_metres);
  lengths.finish();
  plan.copper_up_to_metres = read_amount(params, "copper_up_to", Unit::kMetre, plan.copper_up_to_metres);
  plan.ports_per_switch_module =
      params.optional<std::int64_t>("ports_per_switch_module", plan.ports_per_switch_module, between(1, 8));
  params.finish();
  return plan;
}

Installation install(const BillOfMaterials& bill, const FloorPlan& plan) {
  Installation made;
  std::map<std::pair<bool, std::int64_t>, std::int64_t> ports;  // (at a switch, rate) -> optical ports
  for (const CableLine& line : bill.cables) {
    const double metres = metres_of(line, plan);
    const bool optical = metres > plan.copper_up_to_metres;
    made.cables.push_back({line, metres, optical});
    if (!optical) continue;
    const std::int64_t rate = line.rate.bits_per_second();
    const bool between_nodes = line.tiers == "node-node";
    if (line.at_node) ports[{false, rate}] += between_nodes ? 2 * line.count : line.count;
    if (!between_nodes) ports[{true, rate}] += line.at_node ? line.count : 2 * line.count;
  }
  for (const auto& [key, count] : ports) {
    const std::int64_t width = key.first ? plan.ports_per_switch_module : 1;
    made.modules.push_back({key.first, Bandwidth::from_bits_per_second(key.second), width, ceil_div(count, width)});
  }
  for (const ServerLine& line : bill.servers) {
    made.server_racks += line.gpus > kRackOfGpus ? line.count : ceil_div(line.count, plan.servers_per_rack);
  }
  made.switch_racks = ceil_div(bill.switch_count(), plan.switches_per_rack);
  return made;
}

}  // namespace weft::plan
