#include "sim/apps/print_cost.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "sim/apps/table.h"
#include "sim/core/config/quantity.h"

namespace weft::apps {
namespace {

using Align = Table::Align;

// "models/workloads ... (H100 Freakonomics spreadsheet)" is long: the table says where to look.
std::string source_text(const std::string& source, const std::string& date) {
  constexpr std::size_t kWidth = 60;
  const std::string text = source.size() > kWidth ? source.substr(0, kWidth - 3) + "..." : source;
  return date.empty() ? text : fmt::format("{} ({})", text, date);
}

}  // namespace

void add_cost_options(CLI::App& command, CostOptions& options) {
  command.add_option("--prices", options.prices, "Price book: a file or the name of a shipped one (list_2026)")
      ->type_name("FILE")
      ->group("Cost and power");
  command.add_option("--power", options.power, "Power book: a file or the name of a shipped one (datasheets)")
      ->type_name("FILE")
      ->group("Cost and power");
}

plan::CostBooks load_books(const CostOptions& options) { return plan::load_books(options.prices, options.power); }

std::string bill_text(const plan::BillOfMaterials& bill, const plan::Installation& room) {
  Table table;
  table.add_column("count");
  table.add_column("item", Align::kLeft);
  table.add_column("detail", Align::kLeft);
  const auto add = [&](std::int64_t count, const std::string& item, const std::string& detail) {
    if (count > 0) table.add_row({std::to_string(count), item, detail});
  };
  for (const plan::ServerLine& line : bill.servers) {
    add(line.count, "server", line.model);
    add(line.count * line.gpus, "  GPU", fmt::format("{}, {} a server", line.gpu.empty() ? "-" : line.gpu, line.gpus));
    add(line.count * line.nvswitches, "  NVSwitch", fmt::format("{} a server", line.nvswitches));
    add(line.count * line.pcie_switches, "  PCIe switch", fmt::format("{} a server", line.pcie_switches));
    add(line.count * line.cpus, "  CPU", fmt::format("{} a server", line.cpus));
    add(line.count * line.nics, "  NIC",
        line.fabric_ports == 0 ? fmt::format("{} a server, without a fabric", line.nics)
                               : fmt::format("{} a server, {} port(s) of {} each in use", line.nics, line.fabric_ports,
                                             to_string(line.port_rate)));
  }
  for (const plan::SwitchLine& line : bill.switches) {
    add(line.count, line.tier + " switch",
        fmt::format("{} {}, {} ports in use{}", line.type, to_string(line.rate), line.ports,
                    line.ports * line.count == line.ports_used ? "" : " at most"));
  }
  for (const plan::LaidCable& cable : room.cables) {
    add(cable.line.count, "cable " + cable.line.tiers,
        fmt::format("{} {}, {} of {:g} m", cable.line.type, to_string(cable.line.rate), cable.optical ? "fibre" : "copper",
                    cable.metres));
  }
  for (const plan::ModuleLine& line : room.modules) {
    add(line.count, "optical module",
        fmt::format("{} x {}, at {}", line.ports, to_string(line.port_rate), line.at_switch ? "switches" : "NICs"));
  }
  add(room.server_racks, "rack", "of servers");
  add(room.switch_racks, "rack", "of switches");
  return table.text();
}

std::string capital_text(const plan::ClusterCost& cost) {
  Table table;
  table.add_column("count");
  table.add_column("item", Align::kLeft);
  table.add_column("each (USD)");
  table.add_column("all (USD)");
  table.add_column("source", Align::kLeft);
  for (const plan::CostLine& line : cost.lines) {
    table.add_row({std::to_string(line.count), line.what, fmt::format("{:.0f}", line.each_usd), plan::short_usd(line.usd()),
                   source_text(line.source, line.date)});
  }
  std::string text = table.text();
  text += fmt::format("# capital {} USD", plan::short_usd(cost.capital_usd));
  if (cost.gpus > 0) text += fmt::format(", {} USD a GPU", plan::short_usd(cost.per_gpu()));
  text += fmt::format(", network {:.1f} %; owning it {} USD/h and {} USD/h of operation (book {})\n",
                      cost.capital_usd > 0 ? 100 * cost.network_usd / cost.capital_usd : 0,
                      plan::short_usd(cost.capital_per_hour), plan::short_usd(cost.operation_per_hour), cost.book);
  return text;
}

std::string power_text(const plan::ClusterPower& power) {
  Table table;
  table.add_column("count");
  table.add_column("item", Align::kLeft);
  for (const char* title : {"busy (W)", "idle (W)", "all busy", "all idle"}) table.add_column(title);
  table.add_column("source", Align::kLeft);
  for (const plan::PowerLine& line : power.lines) {
    const auto count = static_cast<double>(line.count);
    table.add_row({std::to_string(line.count), line.what, fmt::format("{:g}", line.max_watts),
                   fmt::format("{:g}", line.idle_watts), plan::short_watts(count * line.max_watts),
                   plan::short_watts(count * line.idle_watts), source_text(line.source, line.date)});
  }
  return table.text() + fmt::format("# power {} busy, {} idle, network {:.1f} %; with PUE {:g} {} and {} (book {})\n",
                                    plan::short_watts(power.max_watts), plan::short_watts(power.idle_watts),
                                    power.max_watts > 0 ? 100 * power.network_watts / power.max_watts : 0, power.pue,
                                    plan::short_watts(power.max_watts * power.pue),
                                    plan::short_watts(power.idle_watts * power.pue), power.book);
}

std::string run_cost_text(const plan::CostedCluster& cluster, const plan::RunCost& run) {
  std::string text;
  if (cluster.cost) {
    text += fmt::format("cost        {} USD/h  ({} capital, {} operation, {} energy; {} USD a GPU-hour; capital {} USD)\n",
                        plan::short_usd(run.usd_per_hour()), plan::short_usd(cluster.cost->capital_per_hour),
                        plan::short_usd(cluster.cost->operation_per_hour),
                        plan::short_usd(run.seconds > 0 ? run.energy_usd / run.seconds * 3'600 : 0),
                        cluster.cost->gpus > 0 ? plan::short_usd(run.usd_per_hour() / static_cast<double>(cluster.cost->gpus))
                                               : std::string{"-"},
                        plan::short_usd(cluster.cost->capital_usd));
  }
  if (cluster.cost && run.idle_gpus > 0) {
    text += fmt::format("idle        {} of {} GPUs, {} USD/h of it\n", run.idle_gpus, cluster.cost->gpus,
                        plan::short_usd(run.idle_usd_per_hour()));
  }
  if (cluster.power) {
    text += fmt::format("power       {} IT, {} with PUE {:g}  (busy {}, idle {})\n", plan::short_watts(run.it_watts),
                        plan::short_watts(run.facility_watts), cluster.power->pue, plan::short_watts(cluster.power->max_watts),
                        plan::short_watts(cluster.power->idle_watts));
  }
  if (const auto usd = run.usd_per_million_tokens(); usd && cluster.cost) {
    text += fmt::format("tokens      {} USD a million", plan::short_usd(*usd));
    if (const auto joules = run.joules_per_token()) text += fmt::format(", {:.3g} J each", *joules);
    text += "\n";
  } else if (const auto joules = run.joules_per_token()) {
    text += fmt::format("tokens      {:.3g} J each\n", *joules);
  }
  return text;
}

}  // namespace weft::apps
