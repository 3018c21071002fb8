// The bill of materials, the cost and the power as members of a result file.
#pragma once

#include "sim/planning/cost/bill_of_materials.h"
#include "sim/planning/cost/cluster_cost.h"
#include "sim/planning/cost/costed_cluster.h"
#include "sim/planning/cost/floor_plan.h"
#include "sim/planning/json_writer.h"
#include "sim/planning/result_header.h"
#include "sim/planning/result_json.h"

namespace weft::plan {

// "bill_of_materials": {servers[], switches[], cables[], modules[], racks}.
void write_bill(JsonWriter& json, const BillOfMaterials& bill, const Installation& room);
// "capital": {usd, usd_per_gpu, network_usd, usd_per_hour, lines[]}.
void write_capital(JsonWriter& json, const ClusterCost& cost);
// "power": {busy_W, idle_W, network_W, pue, lines[]}.
void write_power(JsonWriter& json, const ClusterPower& power);
// "cost", "capital" and "power", as far as there are books for them.
void write_costs(JsonWriter& json, const CostedCluster& cluster, const RunCost& run);
// "cost": {usd, usd_per_hour, usd_per_million_tokens, it_W, facility_W, energy_J, ...}.
void write_run_cost(JsonWriter& json, const RunCost& cost, bool has_prices, bool has_power);

// The result of `weft run` (result_json.h), with what it costs where `costed` is not null.
void write_run_result(std::ostream& out, const ResultHeader& header, const Scenario& scenario, const RunResult& result,
                      const CostedCluster* costed, const RunCost& cost);

}  // namespace weft::plan
