#include "sim/output/cost_json.h"

namespace weft::output {

void write_bill(JsonWriter& json, const plan::BillOfMaterials& bill, const plan::Installation& room) {
  json.key("bill_of_materials").begin_object();
  json.key("servers").begin_array();
  for (const plan::ServerLine& line : bill.servers) {
    json.begin_object().field("node", line.model).field("count", line.count).field("gpu", line.gpu);
    json.field("gpus", line.gpus * line.count).field("nvswitches", line.nvswitches * line.count);
    json.field("pcie_switches", line.pcie_switches * line.count).field("cpus", line.cpus * line.count);
    json.field("nics", line.nics * line.count).end_object();
  }
  json.end_array().key("switches").begin_array();
  for (const plan::SwitchLine& line : bill.switches) {
    json.begin_object().field("tier", line.tier).field("type", line.type).field("count", line.count);
    json.field("rate_GBps", line.rate.gigabytes_per_second()).field("ports_used_most", line.ports);
    json.field("ports_used_all", line.ports_used).end_object();
  }
  json.end_array().key("cables").begin_array();
  for (const plan::LaidCable& cable : room.cables) {
    json.begin_object().field("tiers", cable.line.tiers).field("type", cable.line.type).field("count", cable.line.count);
    json.field("rate_GBps", cable.line.rate.gigabytes_per_second()).field("length_m", cable.metres);
    json.field("medium", cable.optical ? "fibre" : "copper").end_object();
  }
  json.end_array().key("modules").begin_array();
  for (const plan::ModuleLine& line : room.modules) {
    json.begin_object().field("at", line.at_switch ? "switch" : "nic").field("ports", line.ports);
    json.field("port_rate_GBps", line.port_rate.gigabytes_per_second()).field("count", line.count).end_object();
  }
  json.end_array().field("server_racks", room.server_racks).field("switch_racks", room.switch_racks).end_object();
}

void write_capital(JsonWriter& json, const plan::ClusterCost& cost) {
  json.key("capital").begin_object();
  json.field("book", cost.book).field("usd", cost.capital_usd).field("usd_per_gpu", cost.per_gpu());
  json.field("network_usd", cost.network_usd).field("capital_usd_per_hour", cost.capital_per_hour);
  json.field("operation_usd_per_hour", cost.operation_per_hour).field("energy_usd_per_kWh", cost.energy_per_kwh);
  json.key("lines").begin_array();
  for (const plan::CostLine& line : cost.lines) {
    json.begin_object().field("what", line.what).field("count", line.count).field("each_usd", line.each_usd);
    json.field("usd", line.usd()).field("source", line.source).field("date", line.date).end_object();
  }
  json.end_array().end_object();
}

void write_power(JsonWriter& json, const plan::ClusterPower& power) {
  json.key("power").begin_object();
  json.field("book", power.book).field("busy_W", power.max_watts).field("idle_W", power.idle_watts);
  json.field("network_W", power.network_watts).field("pue", power.pue);
  json.key("lines").begin_array();
  for (const plan::PowerLine& line : power.lines) {
    json.begin_object().field("what", line.what).field("count", line.count).field("max_W", line.max_watts);
    json.field("idle_W", line.idle_watts).field("source", line.source).field("date", line.date).end_object();
  }
  json.end_array().end_object();
}

void write_run_cost(JsonWriter& json, const plan::RunCost& cost, bool has_prices, bool has_power) {
  json.key("cost").begin_object().field("seconds", cost.seconds);
  if (has_prices) {
    json.field("usd", cost.usd()).field("usd_per_hour", cost.usd_per_hour()).field("capital_usd", cost.capital_usd);
    json.field("operation_usd", cost.operation_usd).field("energy_usd", cost.energy_usd);
    if (cost.idle_gpus > 0) json.field("idle_usd_per_hour", cost.idle_usd_per_hour());
    if (const auto usd = cost.usd_per_million_tokens()) json.field("usd_per_million_tokens", *usd);
  }
  if (has_power) {
    json.field("it_W", cost.it_watts).field("facility_W", cost.facility_watts).field("energy_J", cost.energy_joules);
    if (const auto joules = cost.joules_per_token()) json.field("joules_per_token", *joules);
  }
  if (cost.tokens > 0) json.field("tokens", cost.tokens);
  if (cost.idle_gpus > 0) json.field("idle_gpus", cost.idle_gpus);
  json.end_object();
}

void write_costs(JsonWriter& json, const plan::CostedCluster& cluster, const plan::RunCost& run) {
  write_run_cost(json, run, cluster.cost.has_value(), cluster.power.has_value());
  if (cluster.cost) write_capital(json, *cluster.cost);
  if (cluster.power) write_power(json, *cluster.power);
}

}  // namespace weft::output
