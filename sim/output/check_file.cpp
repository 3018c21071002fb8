#include "sim/output/check_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "sim/collectives/nccl/choose.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/profile.h"
#include "sim/network/buffer_cycles.h"
#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "sim/network/gpu_spec_reader.h"
#include "sim/network/node_template.h"
#include "sim/network/router.h"
#include "sim/planning/cost/power_book.h"
#include "sim/planning/cost/price_book.h"
#include "sim/planning/reliability/goodput_job.h"
#include "sim/planning/sweep/point_run.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/flow_ends.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/model/model_reader.h"
#include "sim/workloads/model/parameters.h"
#include "sim/workloads/model/quantization.h"

namespace weft::output {
namespace {

struct KindKeys {
  std::string_view kind;
  std::vector<std::string> keys;  // a file that has one of these, and none of the kinds above it, is of this kind
};
// In this order: a scenario's inline cluster is not at the top, but a cluster may hold a profile and a node.
const std::array kFileKinds{
    KindKeys{"goodput", {"checkpoint", "restart"}},
    KindKeys{"failure_rates", {"causes"}},
    KindKeys{"prices", {"amortisation"}},
    KindKeys{"power", {"pue"}},
    KindKeys{"sweep", {"grid", "list", "latin_hypercube", "random", "derive", "where", "objective"}},
    KindKeys{"scenario", {"workload", "cluster", "simulation"}},
    KindKeys{"cluster", {"node", "nodes", "fabric"}},
    KindKeys{"profile", {"parameters", "calibrations", "validation", "products"}},
    KindKeys{"node", {"devices", "links"}},
    KindKeys{"gpu", {"peaks", "sms", "base"}},
    KindKeys{"model", {"layers", "hidden", "heads", "architectures", "model_type"}},
};

constexpr std::string_view kKindsNote =
    "a sweep has a 'grid', a scenario a 'workload', a cluster a 'node', a profile 'parameters', a node template 'devices', a "
    "GPU 'peaks', a model 'layers'";

std::string_view recognise(const ConfigNode& root) {
  std::vector<std::string> names;
  for (const KindKeys& kind : kFileKinds) names.emplace_back(kind.kind);
  if (root.is_null()) root.fail("the file is empty", std::string{kKindsNote});
  if (root.is_scalar()) {
    root.fail(fmt::format("expected a map of keys, got {}", found_text(root)),
              "topology files of NCCL are for `weft topo import`, logs of nccl-tests for `weft validate`");
  }
  if (!root.is_map()) root.fail(fmt::format("expected a map of keys, got {}", found_text(root)), std::string{kKindsNote});
  if (const auto stated = root.find("kind")) {
    for (const KindKeys& kind : kFileKinds) {
      if (stated->is_scalar() && stated->scalar() == kind.kind) return kind.kind;
    }
    stated->fail(stated->is_scalar() ? fmt::format("unknown kind of file '{}'", stated->scalar())
                                     : fmt::format("expected a kind of file, got {}", found_text(*stated)),
                 did_you_mean(stated->scalar(), names, "kinds"));
  }
  for (const KindKeys& kind : kFileKinds) {
    for (const std::string& key : kind.keys) {
      if (root.find(key)) return kind.kind;
    }
  }
  // A misspelt key may be all that is wrong.
  for (const std::string& written : root.keys()) {
    for (const KindKeys& kind : kFileKinds) {
      if (!nearest(written, kind.keys).empty()) return kind.kind;
    }
  }
  root.fail("cannot tell what kind of file this is", std::string{kKindsNote});
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string size_text(const net::Topology& topology) {
  std::size_t gpus = 0;
  for (const DeviceId endpoint : topology.endpoints()) gpus += topology.kind(endpoint) == net::DeviceKind::kGpu ? 1U : 0U;
  const std::string endpoints = gpus > 0 ? plural(gpus, "GPU") : plural(topology.endpoints().size(), "endpoint");
  return fmt::format("{}, {}, {}, {}", plural(topology.host_count(), "node"), endpoints,
                     plural(topology.device_count(), "device"), plural(topology.link_count() / 2, "cable"));
}

// Where links go one way, pairs without a route may be meant: their number, and one of them.
void warn_of_unreachable(const net::Topology& topology, const net::Router& router, const ConfigNode& root,
                         std::string_view what, Diagnostics& diagnostics) {
  constexpr std::size_t kEndpoints = 512;
  const std::span<const DeviceId> all{topology.endpoints()};
  const std::span<const DeviceId> tried = all.first(std::min(all.size(), kEndpoints));
  std::size_t pairs = 0;
  std::size_t cut = 0;
  std::string example;
  for (const DeviceId from : tried) {
    for (const DeviceId to : tried) {
      if (from == to) continue;
      ++pairs;
      if (router.find_route(from, to, {})) continue;
      if (cut++ == 0) example = fmt::format("from {} to {}", topology.name(from), topology.name(to));
    }
  }
  if (cut == 0) return;
  const std::optional<ConfigNode> fabric = root.find("fabric");
  diagnostics.warning(
      (fabric ? *fabric : root)
          .diagnostic(fmt::format("{}: one-way links leave {} of {} ordered pairs of endpoints without a route, "
                                  "such as {}",
                                  what, cut, pairs, example)));
}

// Flows between ends that no route joins.
void check_flow_routes(const scenario::Scenario& scenario, const ConfigNode& root, Diagnostics& diagnostics) {
  const net::Topology& topology = scenario.cluster.topology;
  if (!topology.has_one_way_links()) return;
  net::Router router{topology, net::make_routing_policy(scenario.cluster.routing), scenario.simulation.seed};
  const std::vector<net::PathEnds> ends = work::flow_ends(scenario.workload, router);
  const std::optional<ConfigNode> workload = root.find("workload");
  const std::optional<ConfigNode> listed = workload ? workload->find("flows") : std::nullopt;
  const auto is_one_way = [&](const Usage& usage) {
    const LinkId link{usage.resource.value()};
    return usage.resource.index() < topology.link_count() && topology.is_absent(topology.link(link).twin);
  };
  const work::Workload& work = scenario.workload;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    bool back = false;
    try {
      const net::Footprint way = router.route(ends[i].source, ends[i].destination, ends[i].key);
      const net::FlowTransport& own = work.options_of(work.flows[i]).transport;
      const net::TransportSettings& how = own.settings != nullptr ? *own.settings : scenario.cluster.packet.transport;
      back = scenario.simulation.has_packets() && how.acks == net::AckMode::kPackets;
      if (!back || std::ranges::none_of(way.usages, is_one_way)) continue;
      static_cast<void>(router.route(ends[i].destination, ends[i].source, {i}));
    } catch (const ConfigError& error) {
      const bool is_listed = listed && listed->is_list() && i < listed->size();
      const ConfigNode& place = is_listed ? (*listed)[i] : workload ? *workload : root;
      diagnostics.error(place.diagnostic(fmt::format("{}: {}{}", place.path(), back ? "acknowledgements need a way back: " : "",
                                                     error.diagnostics().front().message),
                                         back ? "`acks: free`, or none, need none" : ""));
      return;
    }
  }
}

// Every pair of one host, and every host from the first one. That the graph is connected the loader has checked already; here
// it is routes, which GPUs do not forward. Of very many hosts some are tried, spread evenly: routes of all would be as many
// tables.
void check_routes(const net::Topology& topology, std::string_view routing, const ConfigNode& root, std::string_view what,
                  Diagnostics& diagnostics) {
  constexpr std::size_t kHosts = 64;
  const net::Router router{topology, net::make_routing_policy(routing), 1};
  std::vector<std::vector<DeviceId>> hosts(topology.host_count());
  for (const DeviceId endpoint : topology.endpoints())
    hosts[static_cast<std::size_t>(topology.host_of(endpoint))].push_back(endpoint);
  const auto refuse = [&](const std::string& message) {
    const std::optional<ConfigNode> node = root.find("node");
    const std::string text = fmt::format("{}: {}", what, message);
    diagnostics.error(node ? node->key_diagnostic(text) : root.diagnostic(text));
  };

  std::set<std::uint32_t> seen;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    if (!seen.insert(topology.host(host).host_template).second) continue;
    for (const DeviceId a : hosts[host]) {
      for (const DeviceId b : hosts[host]) {
        if (router.path_class(a, b) != net::PathClass::kDis) continue;
        return refuse(fmt::format("no route from {} to {} inside their host", topology.name(a), topology.name(b)));
      }
    }
  }
  if (hosts.empty()) return;
  if (topology.has_one_way_links()) {
    warn_of_unreachable(topology, router, root, what, diagnostics);
    return;
  }
  const std::size_t count = std::min(kHosts, hosts.size());
  std::vector<net::NextHop> hops;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t host = i * (hosts.size() - 1) / (count - 1);
    for (const DeviceId a : hosts.front()) {
      for (const DeviceId b : hosts[host]) {
        try {
          hops.clear();
          router.next_hops(a, a, b, {}, hops);
          hops.clear();
          router.next_hops(b, b, a, {}, hops);
        } catch (const ConfigError& error) {
          return refuse(error.diagnostics().front().message);
        }
      }
    }
  }
}

std::string check_cluster(const std::filesystem::path& file, Diagnostics& diagnostics) {
  const net::Cluster cluster = scenario::load_cluster(file, {}, diagnostics);
  static_cast<void>(scenario::nccl_settings(cluster, {}));
  check_routes(cluster.topology, cluster.routing, cluster.resolved, "cluster", diagnostics);
  return size_text(cluster.topology);
}

std::string check_node(const ConfigNode& root, const std::string& name, Diagnostics& diagnostics) {
  const Profile profile = Profile::defaults(scenario::all_param_groups());
  net::TopologyBuilder builder;
  net::HostTemplate host = read_node_template(root, name, profile, builder, diagnostics);
  diagnostics.throw_if_any();
  static_cast<void>(builder.add_host(builder.add_template(std::move(host))));
  const net::Topology topology = std::move(builder).freeze();
  check_routes(topology, "ecmp", root, "node", diagnostics);
  return size_text(topology);
}

std::string check_gpu(const ConfigNode& root, const std::string& name, Diagnostics& diagnostics) {
  const net::GpuSpec gpu = net::read_gpu_spec(root, name, diagnostics);
  diagnostics.throw_if_any();
  return plural(gpu.figures.size(), "figure");
}

// "median errors 0.8 % to 9.5 %, the largest of one point 31 %, in 7 tests".
std::string short_errors(const std::vector<Validation>& tests) {
  if (tests.empty()) return "not validated";
  const auto [least, most] = std::ranges::minmax_element(tests, {}, &Validation::median_error);
  const double largest = std::ranges::max_element(tests, {}, &Validation::max_error)->max_error;
  return fmt::format("median errors {:.1f} % to {:.1f} %, the largest of one point {:.1f} %, in {}", 100 * least->median_error,
                     100 * most->median_error, 100 * largest, plural(tests.size(), "test"));
}

void check_profile(const std::filesystem::path& file, CheckedFile& checked) {
  const Profile profile = Profile::load(file, scenario::all_param_groups());
  const std::vector<std::string> keys = profile.keys();
  const auto set = std::ranges::count_if(keys, [&](const std::string& key) { return !profile.provenance(key).is_default; });
  const std::string found = fmt::format("{} of {} set, ", plural(static_cast<std::size_t>(set), "parameter"), keys.size());
  checked.summary = found + short_errors(profile.validations());
  checked.details = found + profile.stated_error();
}

// Whether switches keep packets back that the next switch has no memory for: by pauses, or by credits, which InfiniBand has
// always.
std::string_view what_blocks(const scenario::Scenario& scenario) {
  const net::PacketSettings& packet = scenario.cluster.packet;
  const net::Topology& topology = scenario.cluster.topology;
  if (packet.credits.enabled) return "credits";
  if (packet.pfc.priorities != 0) return "pauses";
  if (scenario.simulation.fidelity == net::Fidelity::kFlow) return "";
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId link = LinkId::from_index(i);
    if (net::joins_switches(topology, link) && topology.spec(link).type == "infiniband") return "credits";
  }
  return "";
}

// A cycle of buffers that the flows' own ways close. Flows of one priority only wait for each other.
void check_buffer_cycle(const scenario::Scenario& scenario, const ConfigNode& root, Diagnostics& diagnostics) {
  constexpr std::size_t kMostFlows = 20'000;
  const net::Topology& topology = scenario.cluster.topology;
  const std::vector<work::FlowItem>& flows = scenario.workload.flows;
  if (flows.empty() || flows.size() > kMostFlows) return;
  const std::string_view blocks = what_blocks(scenario);
  if (blocks.empty()) return;
  net::Router router{topology, net::make_routing_policy(scenario.cluster.routing), scenario.simulation.seed};
  const std::vector<net::PathEnds> all = work::flow_ends(scenario.workload, router);
  const bool detours = router.policy().detour() != net::Detour::kNever;
  std::vector<LinkId> cycle;
  if (detours) cycle = net::find_buffer_cycle(router);
  std::map<int, std::vector<net::PathEnds>> ends;  // by priority; with detours of flows that name their way
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!detours || all[i].key.named_way != 0) ends[flows[i].priority].push_back(all[i]);
  }
  for (const auto& [priority, those] : ends) {
    if (cycle.empty()) cycle = net::find_buffer_cycle(router, those);
  }
  if (cycle.empty()) return;
  std::string links;
  for (const LinkId link : cycle) links += (links.empty() ? "" : ", ") + topology.name(link);
  const std::optional<ConfigNode> cluster = root.find("cluster");
  diagnostics.warning((cluster ? *cluster : root)
                          .diagnostic(fmt::format("the flows' routes close a cycle of buffers, which {} can block for ever: {}",
                                                  blocks, links)));
}

std::string check_scenario(const std::filesystem::path& file, Diagnostics& diagnostics) {
  const scenario::Scenario scenario = scenario::load_scenario(file, {}, diagnostics);
  check_routes(scenario.cluster.topology, scenario.cluster.routing, scenario.cluster.resolved, "cluster", diagnostics);
  check_flow_routes(scenario, ConfigNode::load_file(file), diagnostics);
  if (!diagnostics.has_errors()) check_buffer_cycle(scenario, ConfigNode::load_file(file), diagnostics);
  const work::Workload& workload = scenario.workload;
  std::string work = plural(workload.flows.size(), "flow");
  if (!workload.collectives.empty()) work = plural(workload.collectives.size(), "collective");
  if (!workload.jobs.empty()) work = (workload.flows.empty() ? "" : work + ", ") + plural(workload.jobs.size(), "job");
  return fmt::format("{} on {}", work, size_text(scenario.cluster.topology));
}

std::string check_sweep_file(const std::filesystem::path& file) {
  const plan::Sweep sweep{file, {}};
  const plan::SweepPlan plan = plan::check_sweep(sweep);
  return fmt::format("{}, {} {} of {}", plural(plan.points.size(), "point"), sweep.axes().size(),
                     sweep.axes().size() == 1 ? "axis" : "axes", sweep.scenario_name());
}

std::string parameters_text(std::int64_t parameters, std::string_view what) {
  const auto count = static_cast<double>(parameters);
  const bool is_large = parameters >= 1'000'000'000;
  return fmt::format("{} {} ({:.2f} {})", parameters, what, count * (is_large ? 1e-9 : 1e-6), is_large ? "B" : "M");
}

std::string check_model(const std::filesystem::path& file, Diagnostics& diagnostics) {
  const work::TransformerModel model = work::read_model(work::load_model_file(file), diagnostics);
  diagnostics.throw_if_any();
  std::string text = parameters_text(work::total_parameters(model), "parameters");
  if (model.moe.experts > 0) text += ", " + parameters_text(work::active_parameters(model), "active");
  if (model.mtp_modules > 0) text += ", " + parameters_text(work::mtp_parameters(model), "more for prediction");
  text = fmt::format("{}, {} of {} hidden, {} heads, KV cache {:.0f} B a token in bf16", text,
                     plural(static_cast<std::size_t>(model.layers), "layer"), model.hidden, model.heads,
                     work::kv_bytes_per_token(model, work::Precision::kBf16));
  if (!model.stored.name.empty()) {
    text += fmt::format(", {:.2f} GB as stored ({})", work::stored_bytes(model) / 1e9, model.stored.name);
  }
  const double states = work::state_bytes_per_sequence(model);
  return states > 0 ? fmt::format("{}, states {:.0f} B a sequence in fp32", text, states) : text;
}

std::string check_prices(const ConfigNode& root, Diagnostics& diagnostics) {
  const plan::PriceBook book = plan::read_price_book(root, diagnostics);
  diagnostics.throw_if_any();
  return fmt::format("{}, {}, {} of cables and modules", plural(book.servers.size() + book.gpus.size(), "server and GPU price"),
                     plural(book.switches.size(), "switch price"),
                     book.copper.size() + book.fibre.size() + book.modules.size());
}

std::string check_power(const ConfigNode& root, Diagnostics& diagnostics) {
  const plan::PowerBook book = plan::read_power_book(root, diagnostics);
  diagnostics.throw_if_any();
  return fmt::format("{}, {}, PUE {:g}", plural(book.servers.size() + book.gpus.size(), "server and GPU draw"),
                     plural(book.switches.size(), "switch draw"), book.pue.value);
}

std::string check_rates(const ConfigNode& root, Diagnostics& diagnostics) {
  const plan::FailureRates rates = plan::read_failure_rates(root, diagnostics);
  diagnostics.throw_if_any();
  return plural(rates.causes.size(), "cause");
}

std::string check_goodput(const std::filesystem::path& file, Diagnostics& diagnostics) {
  const plan::GoodputJob job = plan::load_goodput_job(file, {}, std::nullopt, diagnostics);
  return fmt::format("a failure every {}, {} to restart, {} of {}", to_string(job.input.mttf), to_string(job.input.restart),
                     plural(static_cast<std::size_t>(job.input.runs), "run"), to_string(job.input.length));
}

}  // namespace

std::string kind_of_file(const std::filesystem::path& file) {
  const bool is_json = file.extension() == ".json";
  return std::string{recognise(is_json ? work::load_model_file(file) : ConfigNode::load_file(file))};
}

CheckedFile check_file(const std::filesystem::path& file) {
  CheckedFile checked;
  Diagnostics diagnostics;
  checked.kind = kind_of_file(file);
  if (checked.kind == "cluster") {
    checked.summary = check_cluster(file, diagnostics);
  } else if (checked.kind == "node") {
    checked.summary = check_node(ConfigNode::load_file(file, "node"), file.stem().string(), diagnostics);
  } else if (checked.kind == "gpu") {
    checked.summary = check_gpu(ConfigNode::load_file(file, "gpu"), file.stem().string(), diagnostics);
  } else if (checked.kind == "profile") {
    check_profile(file, checked);
  } else if (checked.kind == "model") {
    checked.summary = check_model(file, diagnostics);
  } else if (checked.kind == "prices") {
    checked.summary = check_prices(ConfigNode::load_file(file, "prices"), diagnostics);
  } else if (checked.kind == "power") {
    checked.summary = check_power(ConfigNode::load_file(file, "power"), diagnostics);
  } else if (checked.kind == "failure_rates") {
    checked.summary = check_rates(ConfigNode::load_file(file, "failure_rates"), diagnostics);
  } else if (checked.kind == "goodput") {
    checked.summary = check_goodput(file, diagnostics);
  } else if (checked.kind == "sweep") {
    checked.summary = check_sweep_file(file);
  } else {
    checked.summary = check_scenario(file, diagnostics);
  }
  diagnostics.throw_if_any();
  checked.warnings = diagnostics.warnings();
  return checked;
}

std::vector<std::filesystem::path> files_to_check(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.emplace_back(path);
      continue;
    }
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
      if (entry.path().extension() == ".yaml") found.push_back(entry.path());
    }
    if (found.empty()) throw ConfigError(fmt::format("no .yaml file in '{}'", path));
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace weft::output
