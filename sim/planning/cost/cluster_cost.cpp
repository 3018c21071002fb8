#include "sim/planning/cost/cluster_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"

namespace weft::plan {
namespace {

constexpr double kHoursPerYear = 8'760;  // as the reference counts
constexpr double kJoulesPerKwh = 3.6e6;

// Collects every item that a book has no figure for, so that one error names them all.
class Missing {
 public:
  explicit Missing(std::string file) : file_{std::move(file)} {}
  void add(std::string what, std::string entry) {
    const Diagnostic missing{.where = {.file = file_, .line = 0, .column = 0},
                             .message = fmt::format("no figure for {}", what),
                             .source_line = {},
                             .length = 1,
                             .note = fmt::format("put an entry into a copy of the book and name the copy: {}", entry)};
    const auto same = [&](const Diagnostic& known) { return known.message == missing.message; };
    if (std::ranges::none_of(missing_, same)) missing_.push_back(missing);
  }
  void throw_if_any() const {
    if (!missing_.empty()) throw ConfigError(missing_);
  }

 private:
  std::string file_;
  std::vector<Diagnostic> missing_;
};

template <class Entry>
const Entry* find_named(const std::vector<Entry>& entries, const std::string& name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

// The slowest entry that is fast enough.
const RatePrice* find_rate(const std::vector<RatePrice>& entries, Bandwidth rate) {
  const RatePrice* best = nullptr;
  for (const RatePrice& entry : entries) {
    if (entry.rate >= rate && (best == nullptr || entry.rate < best->rate)) best = &entry;
  }
  return best;
}

template <class Module>
const Module* find_module(const std::vector<Module>& entries, Bandwidth rate, std::int64_t ports) {
  const Module* best = nullptr;
  for (const Module& entry : entries) {
    if (entry.rate < rate || entry.ports != ports) continue;
    if (best == nullptr || entry.rate < best->rate) best = &entry;
  }
  return best;
}

// Picks the slowest entry of the type that is fast enough, and of those the one with the fewest ports that suffice.
template <class Switch>
const Switch* find_switch(const std::vector<Switch>& entries, const SwitchLine& line) {
  const Switch* best = nullptr;
  for (const Switch& entry : entries) {
    if (entry.type != line.type || entry.rate < line.rate || entry.ports < line.ports) continue;
    if (best == nullptr || entry.rate < best->rate || (entry.rate == best->rate && entry.ports < best->ports)) best = &entry;
  }
  return best;
}

std::string switch_text(const SwitchLine& line) {
  return fmt::format("{} switch, {} {}", line.tier, line.type, to_string(line.rate));
}

std::string switch_entry(const SwitchLine& line, std::string_view figure) {
  return fmt::format("switches: [{{type: {}, rate: {}, ports: {}, {}, source: ..., date: ...}}]", line.type,
                     to_string(line.rate), line.ports, figure);
}

std::string module_text(const ModuleLine& line) {
  return fmt::format("optical module, {} x {}, at {}", line.ports, to_string(line.port_rate),
                     line.at_switch ? "switches" : "NICs");
}

std::string module_entry(const ModuleLine& line, std::string_view figure) {
  return fmt::format("modules: [{{rate: {}, ports: {}, {}, source: ..., date: ...}}]", to_string(line.port_rate), line.ports,
                     figure);
}

void price_server(const ServerLine& server, const PriceBook& book, ClusterCost& cost, Missing& missing) {
  if (const NamedPrice* whole = find_named(book.servers, server.model)) {
    cost.lines.push_back({fmt::format("server {}", server.model), CostPart::kServers, server.count, whole->price.value,
                          whole->price.source, whole->price.date});
    return;
  }
  cost.lines.push_back({fmt::format("server {}, without GPUs and NICs", server.model), CostPart::kServers, server.count,
                        book.server_base.value, book.server_base.source, book.server_base.date});
  if (server.gpus > 0) {
    if (const NamedPrice* gpu = find_named(book.gpus, server.gpu)) {
      cost.lines.push_back({fmt::format("GPU {}", server.gpu), CostPart::kServers, server.count * server.gpus, gpu->price.value,
                            gpu->price.source, gpu->price.date});
    } else {
      const std::string name = server.gpu.empty() ? "NAME" : server.gpu;
      missing.add(fmt::format("a server {} or its GPU {}", server.model, server.gpu.empty() ? "(of no model)" : server.gpu),
                  fmt::format("gpus: [{{gpu: {}, price: 10000 USD, source: ..., date: ...}}]", name));
    }
  }
  if (server.nics == 0) return;
  if (const RatePrice* nic = find_rate(book.nics, server.port_rate)) {
    cost.lines.push_back({fmt::format("NIC, {}", to_string(server.port_rate)), CostPart::kServers, server.count * server.nics,
                          nic->price.value, nic->price.source, nic->price.date});
  } else {
    missing.add(fmt::format("a NIC of {}", to_string(server.port_rate)),
                fmt::format("nics: [{{rate: {}, price: 1500 USD, source: ..., date: ...}}]", to_string(server.port_rate)));
  }
}

void price_network(const BillOfMaterials& bill, const Installation& room, const PriceBook& book, ClusterCost& cost,
                   Missing& missing) {
  for (const SwitchLine& line : bill.switches) {
    if (const SwitchPrice* price = find_switch(book.switches, line)) {
      cost.lines.push_back(
          {switch_text(line), CostPart::kNetwork, line.count, price->price.value, price->price.source, price->price.date});
    } else {
      missing.add(fmt::format("a {} of {} ports", switch_text(line), line.ports), switch_entry(line, "price: 36000 USD"));
    }
  }
  for (const LaidCable& cable : room.cables) {
    const CableLine& line = cable.line;
    const std::string medium = cable.optical ? "fibre" : "copper";
    const RatePrice* price = find_rate(cable.optical ? book.fibre : book.copper, line.rate);
    if (price == nullptr) {
      missing.add(fmt::format("a {} cable of {}", medium, to_string(line.rate)),
                  fmt::format("{}: [{{rate: {}, price: 100 USD, per_metre: 2 USD, source: ..., date: ...}}]", medium,
                              to_string(line.rate)));
      continue;
    }
    cost.lines.push_back({fmt::format("cable {}, {} {:g} m, {}", line.tiers, medium, cable.metres, to_string(line.rate)),
                          CostPart::kNetwork, line.count, price->price.value + price->per_metre * cable.metres,
                          price->price.source, price->price.date});
  }
  for (const ModuleLine& line : room.modules) {
    if (const RatePrice* price = find_module(book.modules, line.port_rate, line.ports)) {
      cost.lines.push_back(
          {module_text(line), CostPart::kNetwork, line.count, price->price.value, price->price.source, price->price.date});
    } else {
      missing.add(fmt::format("an {}", module_text(line)), module_entry(line, "price: 1000 USD"));
    }
  }
}

// Power of a GPU that the book does not list: its data sheet's maximum and a tenth of it idle.
Draw gpu_draw(const ServerLine& server, const PowerBook& book) {
  if (const NamedDraw* listed = find_named(book.gpus, server.gpu)) return listed->draw;
  const double watts = server.gpu_watts;
  return {.max_watts = watts, .idle_watts = 0.1 * watts, .source = "data sheet (weft list gpus)", .date = {}};
}

void power_server(const ServerLine& server, const PowerBook& book, double limit, ClusterPower& power, Missing& missing) {
  Draw gpu = gpu_draw(server, book);
  const double gpus = static_cast<double>(server.gpus);
  if (server.gpus > 0 && gpu.max_watts <= 0) {
    missing.add(fmt::format("GPU {} of {}", server.gpu.empty() ? "(of no model)" : server.gpu, server.model),
                fmt::format("gpus: [{{gpu: {}, max: 300 W, idle: 30 W, source: ..., date: ...}}]",
                            server.gpu.empty() ? "NAME" : server.gpu));
    return;
  }
  double cut = 0;  // of a server at its maximum
  if (limit > 0 && server.gpus > 0 && limit < gpu.max_watts) {
    power.limited.push_back({static_cast<double>(server.count) * gpus, gpu.max_watts, gpu.idle_watts});
    cut = gpus * (gpu.max_watts - limit);
    gpu.max_watts = limit;
    gpu.idle_watts = std::min(gpu.idle_watts, limit);
    gpu.source += fmt::format("; gpu.power_limit: {:g} W", limit);
  }
  power.gpu_max_watts += static_cast<double>(server.count) * gpus * gpu.max_watts;
  power.gpu_idle_watts += static_cast<double>(server.count) * gpus * gpu.idle_watts;
  if (const NamedDraw* whole = find_named(book.servers, server.model)) {
    // The GPUs' part is told apart, and never exceeds the whole.
    const double idle = std::max(whole->draw.idle_watts, gpus * gpu.idle_watts);
    const double most = std::max(whole->draw.max_watts, gpus * gpu.max_watts + cut) - cut;
    const std::string limited = cut > 0 ? fmt::format("; GPUs at gpu.power_limit: {:g} W", limit) : std::string{};
    power.lines.push_back({fmt::format("server {}", server.model), server.count, most, std::min(idle, most),
                           whole->draw.source + limited, whole->draw.date});
    return;
  }
  power.lines.push_back({fmt::format("server {}, without GPUs", server.model), server.count, book.server_base.max_watts,
                         book.server_base.idle_watts, book.server_base.source, book.server_base.date});
  if (server.gpus == 0) return;
  power.lines.push_back(
      {fmt::format("GPU {}", server.gpu), server.count * server.gpus, gpu.max_watts, gpu.idle_watts, gpu.source, gpu.date});
}

double share_of(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

}  // namespace

ClusterCost cluster_cost(const BillOfMaterials& bill, const PriceBook& book) {
  ClusterCost cost;
  cost.book = book.name;
  cost.gpus = bill.gpus();
  Missing missing{book.file};
  for (const ServerLine& server : bill.servers) price_server(server, book, cost, missing);
  const Installation room = install(bill, book.floor_plan);
  price_network(bill, room, book, cost, missing);
  cost.lines.push_back({"rack", CostPart::kRacks, room.racks(), book.rack.value, book.rack.source, book.rack.date});
  missing.throw_if_any();
  for (const CostLine& line : cost.lines) {
    cost.capital_usd += line.usd();
    if (line.part == CostPart::kNetwork) cost.network_usd += line.usd();
  }
  const double used_hours_per_year = kHoursPerYear * book.utilization;
  cost.capital_per_hour = cost.capital_usd / (book.amortisation.value * used_hours_per_year);
  cost.operation_per_hour = cost.capital_usd * book.operation.value / used_hours_per_year;
  cost.energy_per_kwh = book.energy.value;
  return cost;
}

ClusterPower cluster_power(const BillOfMaterials& bill, const PowerBook& book, const FloorPlan& plan, double gpu_limit) {
  ClusterPower power;
  power.gpu_limit = gpu_limit;
  power.book = book.name;
  power.gpus = bill.gpus();
  power.weights = book.activity;
  power.pue = book.pue.value;
  Missing missing{book.file};
  for (const ServerLine& server : bill.servers) power_server(server, book, gpu_limit, power, missing);
  const std::size_t servers = power.lines.size();
  for (const SwitchLine& line : bill.switches) {
    if (const SwitchDraw* draw = find_switch(book.switches, line)) {
      power.lines.push_back(
          {switch_text(line), line.count, draw->draw.max_watts, draw->draw.idle_watts, draw->draw.source, draw->draw.date});
    } else {
      missing.add(fmt::format("a {} of {} ports", switch_text(line), line.ports),
                  switch_entry(line, "max: 1000 W, idle: 700 W"));
    }
  }
  for (const ModuleLine& line : install(bill, plan).modules) {
    if (const ModuleDraw* draw = find_module(book.modules, line.port_rate, line.ports)) {
      power.lines.push_back(
          {module_text(line), line.count, draw->draw.max_watts, draw->draw.idle_watts, draw->draw.source, draw->draw.date});
    } else {
      missing.add(fmt::format("an {}", module_text(line)), module_entry(line, "max: 15 W"));
    }
  }
  missing.throw_if_any();
  for (std::size_t i = 0; i < power.lines.size(); ++i) {
    const auto count = static_cast<double>(power.lines[i].count);
    power.max_watts += count * power.lines[i].max_watts;
    power.idle_watts += count * power.lines[i].idle_watts;
    if (i >= servers) {
      power.network_watts += count * power.lines[i].max_watts;
    } else {
      power.server_idle_watts += count * power.lines[i].idle_watts;
    }
  }
  return power;
}

double ClusterPower::load(const Activity& activity) const {
  return std::min(1.0, activity.compute * weights.compute + activity.memory * weights.memory +
                           activity.communication * weights.communication);
}

double ClusterPower::it_watts(const Activity& activity, std::int64_t idle_gpus) const {
  const double share = load(activity);
  double most = max_watts - network_watts - server_idle_watts;  // beyond idle, without a limit
  double cut = 0;                                               // of that at this load
  for (const LimitedGpus& of : limited) {
    most += of.count * (of.max_watts - gpu_limit);
    cut += of.count * std::max(0.0, of.idle_watts + share * (of.max_watts - of.idle_watts) - gpu_limit);
  }
  const double working = 1 - share_of(idle_gpus, gpus);
  return network_watts + server_idle_watts + working * (share * most - cut);
}

std::optional<double> RunCost::usd_per_million_tokens() const {
  if (tokens <= 0) return std::nullopt;
  return usd() / tokens * 1e6;
}

std::optional<double> RunCost::joules_per_token() const {
  if (tokens <= 0 || energy_joules <= 0) return std::nullopt;
  return energy_joules / tokens;
}

RunCost run_cost(const ClusterCost* cost, const ClusterPower* power, const Activity& activity, double seconds, double tokens,
                 std::int64_t idle_gpus) {
  RunCost run;
  run.seconds = seconds;
  run.tokens = tokens;
  run.idle_gpus = idle_gpus;
  const double hours = seconds / 3'600;
  if (power != nullptr) {
    run.it_watts = power->it_watts(activity, idle_gpus);
    run.facility_watts = run.it_watts * power->pue;
    run.energy_joules = run.facility_watts * seconds;
  }
  if (cost != nullptr) {
    run.capital_usd = cost->capital_per_hour * hours;
    run.operation_usd = cost->operation_per_hour * hours;
    run.energy_usd = run.energy_joules / kJoulesPerKwh * cost->energy_per_kwh;
    const double idle_joules = power != nullptr ? power->server_idle_watts * power->pue * seconds : 0;
    run.idle_usd = share_of(idle_gpus, cost->gpus) *
                   (run.capital_usd + run.operation_usd + idle_joules / kJoulesPerKwh * cost->energy_per_kwh);
  }
  return run;
}

}  // namespace weft::plan
