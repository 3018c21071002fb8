// The bill of materials, the cost and the power as members of a result file.
#pragma once

#include <span>

#include "sim/core/json_writer.h"
#include "sim/core/result_header.h"
#include "sim/measured/servers/server_run.h"
#include "sim/output/result_json.h"
#include "sim/planning/cost/bill_of_materials.h"
#include "sim/planning/cost/cluster_cost.h"
#include "sim/planning/cost/costed_cluster.h"
#include "sim/planning/cost/floor_plan.h"

namespace weft::output {

// "bill_of_materials": {servers[], switches[], cables[], modules[], racks}.
void write_bill(JsonWriter& json, const plan::BillOfMaterials& bill, const plan::Installation& room);
// "capital": {usd, usd_per_gpu, network_usd, usd_per_hour, lines[]}.
void write_capital(JsonWriter& json, const plan::ClusterCost& cost);
// "power": {busy_W, idle_W, network_W, pue, lines[]}.
void write_power(JsonWriter& json, const plan::ClusterPower& power);
// "cost", "capital" and "power", as far as there are books for them.
void write_costs(JsonWriter& json, const plan::CostedCluster& cluster, const plan::RunCost& run);
// "cost": {usd, usd_per_hour, usd_per_million_tokens, it_W, facility_W, energy_J, ...}.
void write_run_cost(JsonWriter& json, const plan::RunCost& cost, bool has_prices, bool has_power);

// The result of `weft run` (result_json.h), with what it costs where `costed` is not null, and beside what servers measured.
void write_run_result(std::ostream& out, const ResultHeader& header, const scenario::Scenario& scenario,
                      const scenario::RunResult& result, const plan::CostedCluster* costed, const plan::RunCost& cost,
                      std::span<const measured::ServerComparison> measured = {});

}  // namespace weft::output
