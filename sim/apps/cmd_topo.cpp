// weft topo C.yaml, weft topo import FILE: shows, exports and imports topologies.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/print_cost.h"
#include "sim/apps/table.h"
#include "sim/collectives/nccl/system.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/core/result_header.h"
#include "sim/core/version.h"
#include "sim/network/buffer_cycles.h"
#include "sim/network/builtin.h"
#include "sim/network/fabric_audit.h"
#include "sim/network/import/graphml.h"
#include "sim/network/import/graphviz.h"
#include "sim/network/import/nccl_xml_writer.h"
#include "sim/output/check_file.h"
#include "sim/output/cost_json.h"
#include "sim/output/topology_json.h"
#include "sim/scenario/catalog.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/import_topology.h"
#include "sim/scenario/route_list.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/topology_summary.h"

namespace weft::apps {
namespace {

constexpr std::size_t kMaxDrawn = 20'000;  // devices; beyond, neither a person nor Graphviz makes use of a drawing
constexpr std::size_t kMaxMatrix = 24;     // columns that a terminal shows
constexpr std::size_t kMaxHopLines = 40;   // of one hop

struct TopoOptions {
  CommonOptions common;
  std::string file;
  std::vector<std::string> route;
  std::string dot;
  std::string graphml;
  std::string nccl_xml;
  scenario::TopologyHints hints;
  std::string yaml;
  bool routes = false;
  bool nccl_view = false;
  bool bom = false;
  bool force = false;
  CostOptions cost;

  [[nodiscard]] bool shows_bill() const { return bom || cost.any(); }

  // Exports to standard output stand there alone.
  [[nodiscard]] bool table() const {
    return !is_standard_output(dot) && !is_standard_output(graphml) && !is_standard_output(nccl_xml) &&
           !is_standard_output(yaml) && !is_standard_output(common.json);
  }
};

double gigabytes_per_second(double bytes_per_ps) { return bytes_per_ps * 1e3; }

std::string width_text(const net::LinkSpec& spec) {
  return spec.width > 1 ? fmt::format("{} x{}", spec.type, spec.width) : spec.type;
}

void print_summary(const scenario::TopologySummary& summary) {
  std::string line;
  const auto add = [&line](const std::string& item) { line += (line.empty() ? "" : ", ") + item; };
  for (const auto& [name, count] : summary.hosts) add(fmt::format("{} x {}", count, printable(name)));
  say("hosts      {}\n", line);
  line.clear();
  for (const auto& [kind, count] : summary.devices) add(fmt::format("{} {}", count, net::to_string(kind)));
  say("devices    {}\n", line);
  line.clear();
  for (const scenario::SwitchCount& count : summary.switches) {
    add(fmt::format("{} {} ({}{} ports used)", count.switches, count.name,
                    count.tier.empty() ? "" : fmt::format("tier {}, ", count.tier), count.ports));
  }
  if (!line.empty()) say("switches   {}\n", line);
  if (summary.host_ports > 0) {
    say("uplinks    {} per host, together {} per direction\n", summary.host_ports, to_string(summary.host_bandwidth));
  }
  say("total      {} devices, {} cables, {} endpoints\n\n", summary.all_devices, summary.all_cables, summary.endpoints);

  Table table;
  table.add_column("link", Table::Align::kLeft);
  table.add_column("where", Table::Align::kLeft);
  for (const char* title : {"cables", "rate(GB/s)", "payload(GB/s)", "latency(ns)"}) table.add_column(title);
  for (const scenario::CableCount& cable : summary.cables) {
    table.add_row({width_text(cable.spec), cable.in_hosts ? "host" : "fabric", std::to_string(cable.cables),
                   fmt::format("{:.2f}", cable.spec.rate.gigabytes_per_second()),
                   fmt::format("{:.2f}", gigabytes_per_second(cable.spec.capacity())),
                   fmt::format("{:g}", cable.spec.latency.ns())});
  }
  say("{}", table.text());
}

std::string_view class_meaning(std::string_view cell) {
  if (cell.starts_with("NV") && cell != "NVB") return "bonded NVLinks out of the row's GPU";
  static const std::map<std::string_view, std::string_view> kMeanings{
      {"XGMI", "Infinity Fabric"},
      {"NVB", "two NVLinks through another GPU"},
      {"C2C", "NVLink-C2C"},
      {"PIX", "at most one PCIe switch"},
      {"PXB", "several PCIe switches"},
      {"P2C", "C2C, then PCIe of the CPU"},
      {"PXN", "a NIC through another GPU over NVLink"},
      {"PHB", "through a CPU's root complex"},
      {"SYS", "across sockets"},
      {"DIS", "no path"},
  };
  const auto found = kMeanings.find(cell);
  return found == kMeanings.end() ? std::string_view{} : found->second;
}

void print_matrix(const net::Router& router) {
  const net::Topology& topology = router.topology();
  if (topology.host_count() == 0) return;
  scenario::PathMatrix matrix = scenario::path_matrix(router, 0);
  for (std::string& name : matrix.names) name = printable(name);
  if (matrix.names.size() < 2) return;
  say("\n# paths inside a host ({})\n", printable(topology.template_of_host(0).name));
  std::map<std::string, std::size_t> classes;  // of pairs
  for (std::size_t row = 0; row < matrix.names.size(); ++row) {
    for (std::size_t column = row + 1; column < matrix.names.size(); ++column) ++classes[matrix.cells[row][column]];
  }
  if (matrix.names.size() <= kMaxMatrix) {
    std::size_t width = 4;
    for (const std::string& name : matrix.names) width = std::max(width, name.size());
    say("{:<{}}", "", width);
    for (const std::string& name : matrix.names) say("  {:>{}}", name, width);
    say("\n");
    for (std::size_t row = 0; row < matrix.names.size(); ++row) {
      say("{:<{}}", matrix.names[row], width);
      for (const std::string& cell : matrix.cells[row]) say("  {:>{}}", cell, width);
      say("\n");
    }
  } else {
    say("# {} devices: too many for a matrix\n", matrix.names.size());
  }
  for (const auto& [cell, pairs] : classes) {
    if (cell != "X") say("# {:<5} {} ({} pair{})\n", cell, class_meaning(cell), pairs, pairs == 1 ? "" : "s");
  }
}

// Parallel cables that are used alike share a line.
struct RouteLine {
  DeviceId from;
  DeviceId to;
  const net::LinkSpec* spec = nullptr;
  double weight = 0;
  double usage = 0;
  int cables = 0;
};

std::vector<RouteLine> route_lines(const net::Topology& topology, const std::vector<scenario::RouteLink>& hop) {
  std::vector<RouteLine> lines;
  for (const scenario::RouteLink& entry : hop) {
    const net::Link& link = topology.link(entry.link);
    const RouteLine made{link.from, link.to, &topology.spec(entry.link), entry.weight, entry.usage, 1};
    const auto same = std::ranges::find_if(lines, [&made](const RouteLine& line) {
      return line.from == made.from && line.to == made.to && line.spec == made.spec && line.weight == made.weight &&
             line.usage == made.usage;
    });
    if (same == lines.end()) {
      lines.push_back(made);
    } else {
      ++same->cables;
    }
  }
  return lines;
}

void print_route(const net::Topology& topology, const scenario::RouteView& view, const std::string& head) {
  say("\n{}\n", printable(head));
  Table table;
  table.add_column("hop");
  for (const char* title : {"from", "to", "link"}) table.add_column(title, Table::Align::kLeft);
  for (const char* title : {"cables", "rate(GB/s)", "weight", "usage"}) table.add_column(title);
  const auto share = [](double value) { return value > 0 ? fmt::format("{:.4f}", value) : std::string{"-"}; };
  for (std::size_t hop = 0; hop < view.hops.size(); ++hop) {
    const std::vector<RouteLine> lines = route_lines(topology, view.hops[hop]);
    const std::string number = std::to_string(hop + 1);
    for (std::size_t i = 0; i < std::min(lines.size(), kMaxHopLines); ++i) {
      const RouteLine& line = lines[i];
      table.add_row({number, topology.name(line.from), topology.name(line.to), width_text(*line.spec),
                     std::to_string(line.cables), fmt::format("{:.2f}", line.spec->rate.gigabytes_per_second()),
                     share(line.weight), share(line.usage)});
    }
    if (lines.size() > kMaxHopLines) {
      table.add_row({number, "...", "...", fmt::format("{} more: see --json", lines.size() - kMaxHopLines), "", "", "", ""});
    }
  }
  say("{}", table.text());
  say("# each cable: weight = share among the next hops of its device, usage = bytes per byte moved; -: of equal cost, not "
      "taken\n");
  const Duration latency = view.footprint.latency_of(view.footprint.fill_packet);
  say("latency {} ns", latency.ns());
  if (view.footprint.fill > Duration{}) say(" ({} ns of it store-and-forward)", view.footprint.fill.ns());
  if (view.bottleneck.valid()) {
    say(", {:.2f} GB/s for one flow, limited by {}", gigabytes_per_second(view.bytes_per_ps),
        printable(topology.name(view.bottleneck)));
  }
  say("\n");
}

// Prints answers to questions that come before any run.
void print_audit(const net::FabricAudit& audit, const std::string& cycle) {
  if (audit.tiers.empty()) return;
  say("\n# fabric\n");
  for (std::size_t tier = 0; tier < audit.tiers.size(); ++tier) {
    const net::TierBandwidth& one = audit.tiers[tier];
    say("tier {:<6} {} switches, each {} down", tier, one.switches, to_string(one.down));
    if (one.sideways > Bandwidth{}) say(", {} sideways", to_string(one.sideways));
    if (one.up > Bandwidth{}) say(", {} up: oversubscription {:.2f}:1", to_string(one.up), one.oversubscription());
    say("\n");
  }
  if (audit.half > 0) {
    say("bisection   {} from the first {} hosts to the others, {:.2f} of what those hosts can send\n",
        to_string(audit.bisection), audit.half, audit.bisection.gbps() / audit.half_bandwidth.gbps());
  }
  std::string points;
  for (const net::SinglePoints& one : audit.single_points) {
    points += fmt::format("{}{} of {} ({}: {} host{})", points.empty() ? "" : ", ", one.name, one.count, one.example, one.hosts,
                          one.hosts == 1 ? "" : "s");
  }
  say("cut off     {}\n", !audit.has_single_points ? "not looked for: the fabric is too large"
                          : points.empty()         ? "no single switch or cable cuts hosts off"
                                                   : "by the loss of one " + printable(points));
  say("cycle       {}\n", cycle);
}

// A cycle of buffers, over all routes of the policy; nothing: not looked for.
std::optional<std::vector<LinkId>> find_cycle(const net::Router& router) {
  constexpr double kMostSteps = 3e8;  // a second or two
  if (net::buffer_cycle_steps(router) > kMostSteps) return std::nullopt;
  return net::find_buffer_cycle(router);
}

std::string cycle_text(const net::Topology& topology, const std::optional<std::vector<LinkId>>& cycle) {
  if (!cycle) return "not looked for: the fabric is too large";
  if (cycle->empty()) return "no routes close a cycle of buffers";
  std::string links;
  for (const LinkId link : *cycle) links += (links.empty() ? "" : ", ") + topology.name(link);
  return "routes close a cycle of buffers, which pauses or credits could block: " + printable(links);
}

void print_bill(const plan::CostedCluster& bill, const plan::CostBooks& books) {
  say("\n# bill of materials\n{}", bill_text(bill.bill, plan::install(bill.bill, books.floor_plan())));
  if (bill.cost) say("\n# capital\n{}", capital_text(*bill.cost));
  if (bill.power) say("\n# power\n{}", power_text(*bill.power));
}

constexpr std::size_t kMaxRoutes = 1'000;  // that a terminal shows
constexpr std::size_t kMaxBusy = 10;       // links
constexpr std::size_t kMaxJsonRoutes = 100'000;

void print_routes(const net::Topology& topology, const scenario::RouteList& list, const std::string& routing) {
  const char* const what = list.are_pairs ? "pair" : "flow";
  const std::size_t all = list.routes.size() + list.left_out;
  say("\n# routes of {} {}{}, routing {}\n", all, what, all == 1 ? "" : "s", printable(routing));
  Table table;
  if (!list.are_pairs) table.add_column("flow");
  table.add_column("latency(ns)");
  table.add_column("way", Table::Align::kLeft);
  const std::size_t shown = std::min(list.routes.size(), kMaxRoutes);
  for (std::size_t i = 0; i < shown; ++i) {
    const scenario::ListedRoute& route = list.routes[i];
    std::vector<std::string> row;
    if (!list.are_pairs) row.push_back(std::to_string(route.flow));
    row.push_back(fmt::format("{}", route.latency.ns()));
    row.push_back(scenario::way_text(topology, route) + (route.is_named ? "  (named)" : ""));
    table.add_row(std::move(row));
  }
  say("{}", table.text());
  if (shown < all) say("# {} more: --json has {}\n", all - shown, list.left_out == 0 ? "them" : "more of them");
  if (list.takes_detours) say("# minimal ways: packets may go by another leaf first\n");
  std::vector<LinkId> busy;
  for (std::size_t i = 0; i < list.loads.size(); ++i) {
    const net::Link& link = topology.link(LinkId::from_index(i));
    if (list.loads[i] > 0 && topology.host_of(link.from) < 0 && topology.host_of(link.to) < 0)
      busy.push_back(LinkId::from_index(i));
  }
  std::ranges::stable_sort(busy, std::greater{}, [&](LinkId link) { return list.loads[link.index()]; });
  if (busy.empty()) return;
  say("\n# links between switches that most {}s share, of {} in use\n", what, busy.size());
  Table links;
  links.add_column("link", Table::Align::kLeft);
  links.add_column(fmt::format("{}s", what));
  for (std::size_t i = 0; i < std::min(busy.size(), kMaxBusy); ++i)
    links.add_row({topology.name(busy[i]), fmt::format("{:.4g}", list.loads[busy[i].index()])});
  say("{}", links.text());
}

void export_all(const net::Topology& topology, const TopoOptions& options, const scenario::RouteList* routes) {
  const auto refuse_large = [&](const char* option) {
    if (topology.device_count() <= kMaxDrawn || options.force) return;
    throw ConfigError(
        fmt::format("{}: {} devices are too many to draw (over {}); --force writes them all the same, --set nodes=... makes "
                    "the cluster smaller",
                    option, topology.device_count(), kMaxDrawn));
  };
  if (!options.dot.empty()) {
    refuse_large("--dot");
    write_file(options.dot, [&](std::ostream& out) {
      out << (routes == nullptr ? net::export_dot(topology) : net::export_dot(topology, routes->loads));
    });
  }
  if (!options.graphml.empty()) {
    refuse_large("--graphml");
    write_file(options.graphml, [&](std::ostream& out) { out << net::export_graphml(topology); });
  }
  if (options.nccl_xml.empty()) return;
  std::vector<std::string> notes;
  const std::string xml = net::export_nccl_xml(topology, 0, &notes);
  Diagnostics diagnostics;
  for (std::string& note : notes) diagnostics.warning({.where = {}, .message = std::move(note), .source_line = {}, .note = {}});
  print_warnings(diagnostics, options.common);
  write_file(options.nccl_xml, [&](std::ostream& out) { out << xml; });
}

void claim_outputs(const TopoOptions& options) {
  claim_output("--dot", options.dot);
  claim_output("--graphml", options.graphml);
  claim_output("--nccl-xml", options.nccl_xml);
  claim_output("--json", options.common.json);
  claim_output("-o", options.yaml);
}

struct Shown {
  const net::Topology& topology;
  std::string routing;
  std::string configuration;  // JSON
  std::vector<ProfileStatement> profiles;
  std::vector<std::string> warnings;
  std::string head;
  const Profile* profile = nullptr;  // that limits the power of GPUs
  const work::Workload* workload = nullptr;
};

void show(const Shown& shown, const TopoOptions& options, std::uint64_t seed) {
  const net::Topology& topology = shown.topology;
  const scenario::TopologySummary summary = scenario::summarize(topology);
  std::optional<scenario::RouteView> route;
  std::string route_head;
  if (!options.route.empty()) {
    const DeviceId from = scenario::find_endpoint(topology, options.route[0]);
    const DeviceId to = scenario::find_endpoint(topology, options.route[1]);
    route = scenario::view_route(topology, shown.routing, seed, from, to);
    route_head = fmt::format("# route {} -> {}: {}, routing {}, seed {}", topology.name(from), topology.name(to),
                             net::to_string(route->path_class), shown.routing, seed);
  }
  std::optional<scenario::RouteList> routes;
  if (options.routes)
    routes = scenario::list_routes(topology, shown.routing, seed, shown.workload, options.force ? SIZE_MAX : kMaxJsonRoutes);
  const plan::CostBooks books = load_books(options.cost);
  std::optional<plan::CostedCluster> bill;
  if (options.shows_bill()) bill = plan::cost_of(topology, books, shown.profile);
  const net::Router router{topology, net::make_routing_policy(shown.routing), seed};
  const bool has_json = !options.common.json.empty();
  const bool audits = has_json || (options.table() && !options.nccl_view && !bill && !route && !routes);
  const net::FabricAudit audit = audits ? net::audit_fabric(topology) : net::FabricAudit{};
  const auto cycle = audits && !audit.tiers.empty() ? find_cycle(router) : std::nullopt;
  std::string nccl_view;
  if (options.nccl_view) {
    const coll::nccl::SystemOptions view{.several_nodes = topology.host_count() > 1};
    nccl_view = coll::nccl::System::of_host(topology, 0, view).describe();
  }
  if (options.table()) {
    say("{}", shown.head);
    if (options.nccl_view) {
      say("{}", nccl_view);
    } else if (bill) {
      print_bill(*bill, books);
    } else if (routes) {
      print_routes(topology, *routes, shown.routing);
    } else if (route) {
      print_route(topology, *route, route_head);
    } else {
      print_summary(summary);
      print_audit(audit, cycle_text(topology, cycle));
      print_matrix(router);
    }
  }
  export_all(topology, options, routes ? &*routes : nullptr);
  if (has_json) {
    ResultHeader header;
    header.command = "topo";
    header.command_line = command_line();
    header.seed = seed;
    header.configuration = shown.configuration;
    header.profiles = shown.profiles;
    header.warnings = shown.warnings;
    header.digest = output::topology_digest(topology);
    write_file(options.common.json, [&](std::ostream& out) {
      output::write_topology(out, header, topology, summary, route ? &*route : nullptr, [&](JsonWriter& json) {
        output::write_audit(json, topology, audit, cycle);
        if (routes) output::write_routes(json, topology, *routes);
        if (!bill) return;
        output::write_bill(json, bill->bill, plan::install(bill->bill, books.floor_plan()));
        if (bill->cost) output::write_capital(json, *bill->cost);
        if (bill->power) output::write_power(json, *bill->power);
      });
    });
  }
}

bool is_scenario(const std::string& file) {
  try {
    return std::filesystem::is_regular_file(file) && output::kind_of_file(file) == "scenario";
  } catch (const ConfigError&) {
    return false;  // it is told when the file is read as a cluster
  }
}

void run_cluster(const TopoOptions& options) {
  if (options.file.empty()) throw ConfigError("topo: expected the file of a cluster, or `import FILE`");
  const scenario::Overrides overrides = to_overrides(options.common);
  claim_outputs(options);
  Diagnostics diagnostics;
  std::optional<scenario::Scenario> loaded;
  if (is_scenario(options.file)) loaded = scenario::load_scenario(options.file, overrides, diagnostics);
  const net::Cluster cluster =
      loaded ? std::move(loaded->cluster) : scenario::load_cluster(options.file, overrides, diagnostics);
  print_warnings(diagnostics, options.common);
  const std::string head = fmt::format("# weft {} ({})  topo  {}\n# {}  routing {}\n", version(), commit(), options.file,
                                       cluster.name, cluster.routing);
  show({cluster.topology,
        cluster.routing,
        cluster.resolved.to_json(),
        {scenario::profile_statement(cluster)},
        warning_texts(diagnostics),
        head,
        &cluster.profile,
        loaded ? &loaded->workload : nullptr},
       options, overrides.seed.value_or(loaded ? loaded->simulation.seed : 1));
}

void run_import(const TopoOptions& options) {
  const scenario::Overrides overrides = to_overrides(options.common);
  claim_outputs(options);
  const Profile profile =
      overrides.profile ? scenario::find_profile(overrides.profile->string()) : Profile::defaults(scenario::all_param_groups());
  const scenario::ImportedFile imported = scenario::import_topology(options.file, options.hints, profile);
  Diagnostics diagnostics;
  for (const Diagnostic& warning : imported.imported.warnings) diagnostics.warning(warning);
  print_warnings(diagnostics, options.common);
  const std::string head =
      fmt::format("# weft {} ({})  topo import  {}\n# {}\n", version(), commit(), options.file, imported.kind);
  if (!options.yaml.empty()) {
    const std::string text = scenario::cluster_text(imported, options.file, options.hints, profile);
    write_file(options.yaml, [&](std::ostream& out) { out << text; });
  }
  show({imported.imported.topology, "ecmp", "null", {}, warning_texts(diagnostics), head}, options, overrides.seed.value_or(1));
}

void add_options(CLI::App& command, TopoOptions& options) {
  command.add_option("--route", options.route, "Show the way from one endpoint to another: every equal-cost link, hop by hop")
      ->expected(2)
      ->type_name("A B");
  command.add_flag("--routes", options.routes,
                   "Show the routes of a scenario's flows, or of all pairs of a cluster's endpoints; --dot then draws them");
  command.add_option("--dot", options.dot, "Write a drawing for Graphviz; - is standard output")->type_name("FILE");
  command.add_option("--graphml", options.graphml, "Write GraphML")->type_name("FILE");
  command.add_option("--nccl-xml", options.nccl_xml, "Write one host as NCCL's topology file")->type_name("FILE");
  command.add_flag("--nccl-view", options.nccl_view, "Print one host as NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH does");
  command.add_flag("--bom", options.bom,
                   "Print the bill of materials: what a buyer counts; with --prices and --power what it costs and draws");
  add_cost_options(command, options.cost);
  command.add_flag("--force", options.force, fmt::format("Draw more than {} devices", kMaxDrawn));
  command.add_option("--json", options.common.json, "Write the result as JSON; - is standard output")->type_name("FILE");
  command.add_option("--profile", options.common.profile, "Profile in place of the one the cluster names")->type_name("FILE");
  command.add_option("--seed", options.common.seed, "Seed of the switches' hashes")->type_name("N");
  command.add_flag("--quiet,-q", options.common.quiet, "No warnings");
}

}  // namespace

void add_topo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TopoOptions>();
  CLI::App* command = app.add_subcommand("topo", "Show, check, export and import topologies");
  command->add_option("cluster", options->file, "The file of a cluster, or of a scenario")->type_name("FILE");
  command->add_option("--set", options->common.sets, "Replace a value of the file, by its key path")
      ->allow_extra_args(false)
      ->type_name("KEY.PATH=VALUE");
  add_options(*command, *options);

  auto import_options = std::make_shared<TopoOptions>();
  CLI::App* import =
      command->add_subcommand("import", "Read NCCL's topology XML, the matrix of `nvidia-smi topo -m` or htsim's .topo");
  import->add_option("file", import_options->file, "The file; which of them it is shows in its text")
      ->required()
      ->type_name("FILE");
  import
      ->add_option("-o,--output", import_options->yaml,
                   "Write a cluster of one such node, or of the fabric; - is standard output")
      ->type_name("FILE");
  add_topology_hints(*import, import_options->hints);
  add_options(*import, *import_options);

  command->callback([options, import_options, import, &exit_code] {
    if (import->parsed()) {
      run_import(*import_options);
    } else {
      run_cluster(*options);
    }
    exit_code = kOk;
  });
}

}  // namespace weft::apps
