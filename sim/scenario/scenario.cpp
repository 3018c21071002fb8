#include "sim/scenario/scenario.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/collectives/costs.h"
#include "sim/collectives/nccl/version.h"
#include "sim/collectives/nccl/view.h"
#include "sim/core/config/shipped_file.h"
#include "sim/core/config/time_bounds.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/scenario/idle_keys.h"
#include "sim/scenario/read_on.h"
#include "sim/scenario/read_scenario.h"
#include "sim/scenario/round_trips.h"
#include "sim/scenario/scenario_layers.h"
#include "sim/workloads/inference/serving_costs.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_costs.h"

namespace weft::scenario {
namespace {

ConfigNode with_sets(ConfigNode node, const Overrides& overrides) {
  Diagnostics wrong;
  for (const auto& [path, value] : overrides.sets)
    read_part(wrong, [&, &at = path, &text = value] { node = node.with_override(at, text, "--set"); });
  wrong.throw_if_any();
  return node;
}

net::LoadOptions load_options(const Overrides& overrides) {
  return {.profile = overrides.profile, .groups = all_param_groups()};
}

SimulationOptions read_simulation(ParamReader& reader, const Overrides& overrides) {
  SimulationOptions options;
  options.fidelity = *net::fidelity_from(reader.choice("fidelity", net::fidelity_names(), "flow"));
  static_cast<void>(reader.optional_raw("packets"));  // names links: it waits for the cluster
  options.grain = reader.choice<coll::Grain>("grain",
                                             {{"auto", coll::Grain::kAuto},
                                              {"chunk", coll::Grain::kChunk},
                                              {"fluid", coll::Grain::kFluid},
                                              {"closed_form", coll::Grain::kClosedForm}},
                                             coll::Grain::kAuto);
  options.iterations = static_cast<int>(reader.optional<std::int64_t>("iterations", 2, between(1, 1'000)));
  options.fold = reader.optional<bool>("fold", true);
  options.skip = reader.optional<bool>("skip", true);
  options.must_fit = reader.optional<bool>("must_fit", true);
  options.seed = static_cast<std::uint64_t>(reader.optional<std::int64_t>("seed", 1, at_least(0)));
  options.shuffle_ties = static_cast<std::uint64_t>(reader.optional<std::int64_t>("shuffle_ties", 0, at_least(0)));
  if (const auto partitions = reader.optional<std::int64_t>("partitions", between(1, 64))) {
    options.partitions = static_cast<int>(*partitions);
  }
  const TimeBounds bounds;
  if (const auto until = reader.optional<Duration>("until", positive)) options.until = Time{} + *until;
  if (overrides.fidelity) options.fidelity = *overrides.fidelity;
  if (overrides.grain) options.grain = *overrides.grain;
  if (overrides.seed) options.seed = *overrides.seed;
  if (overrides.shuffle_ties) options.shuffle_ties = *overrides.shuffle_ties;
  reader.finish();
  return options;
}

// Flows that never end need a run that does; a loop of collectives is timed as a whole.
void check_end(const ConfigNode& root, const work::Workload& workload, const net::Topology& topology,
               const SimulationOptions& simulation, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < workload.flows.size(); ++i) {
    const double backlog =
        work::message_backlog(workload.flows[i], workload.options_of(workload.flows[i]), topology, simulation.until);
    if (backlog <= static_cast<double>(work::kMaxFlows)) continue;
    const std::optional<ConfigNode> node = root.find("workload");
    diagnostics.error(
        (node ? *node : root)
            .key_diagnostic(fmt::format("workload: flow {} posts {:.0f} messages more than its links can take, over "
                                        "the limit of {} that wait",
                                        i, backlog, work::kMaxFlows),
                            "post fewer, or end the run earlier, simulation: {until: 1 ms}"));
  }
  if (!simulation.until && workload.has_endless_flow()) {
    const std::optional<ConfigNode> node = root.find("workload");
    diagnostics.error((node ? *node : root)
                          .key_diagnostic("workload: a flow goes on for ever",
                                          "end the run, simulation: {until: 1 ms}, or the flow with 'stop'"));
  }
  if (simulation.until && !workload.collectives.empty()) {
    const std::optional<ConfigNode> section = root.find("simulation");
    const std::optional<ConfigNode> node = section ? section->find("until") : std::nullopt;
    diagnostics.error((node ? *node : root).diagnostic("simulation.until: collectives run to their end"));
  }
}

// Programs of GPUs run to their end on a network where nothing fails, and what is told of them is not what ports did.
void check_program(const ConfigNode& root, const work::Workload& workload, const SimulationOptions& simulation,
                   Diagnostics& diagnostics) {
  const bool trains = workload.training || !workload.training_jobs.empty();
  if (!trains && !workload.inference) return;
  const std::string what = trains ? "training" : "inference";
  const auto measure = root.find("measure");
  if (measure) {
    diagnostics.error(measure->key_diagnostic(fmt::format("measure: nothing is measured of {}", what),
                                              "expected with flows, jobs or collectives"));
  }
  const auto faults = root.find("faults");
  if (faults && faults->size() > 0) {
    diagnostics.error(faults->key_diagnostic(fmt::format("faults: nothing fails under {}", what),
                                             "expected with flows, jobs or collectives"));
  }
  if (!trains || !simulation.until) return;
  const auto section = root.find("simulation");
  const auto until = section ? section->find("until") : std::nullopt;
  diagnostics.error((until ? *until : root)
                        .key_diagnostic("simulation.until: training runs to its end",
                                        "expected with flows, jobs or inference; 'iterations' says how many steps are run"));
}

// Every NCCL variable of a cluster's file that there is not, or that cannot take its value.
void check_settings(const ConfigNode& cluster, Diagnostics& diagnostics) {
  const std::optional<ConfigNode> written = cluster.find("nccl");
  if (!written || !written->is_map()) return;
  const std::vector<std::string> keys = written->keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ConfigNode value = (*written)[i];
    if (!value.is_scalar()) continue;  // which the cluster's reader says
    const std::string key = keys[i].starts_with("NCCL_") ? keys[i].substr(5) : keys[i];
    if (const auto wrong = wrong_setting(*written, key, value.scalar())) diagnostics.error(*wrong);
  }
}

// Warns where NCCL's release has no rules of its own, at the key that names it.
void warn_of_release(const ConfigNode& node, const net::Cluster& cluster, const Overrides& overrides,
                     Diagnostics& diagnostics) {
  coll::nccl::Settings settings;
  std::optional<ConfigNode> at;
  const std::optional<ConfigNode> written = node.find("nccl");
  if (written && written->is_map()) at = written->find("version");
  try {
    for (const auto& [key, value] : overrides.nccl) settings.set(key, value);
    if (settings.find("VERSION")) {
      at.reset();
    } else if (at && at->is_scalar()) {
      settings.set("version", at->scalar());
    }
  } catch (const ConfigError&) {
    return;  // which is told where the settings are read
  }
  const coll::nccl::NcclVersion used =
      coll::nccl::version_on(cluster.topology, cluster.topology.endpoints(), settings.version());
  const std::string note = coll::nccl::release_note(settings, used);
  if (note.empty()) return;
  const std::string hint = "rules were read of " + coll::nccl::known_releases();
  diagnostics.warning(at ? at->diagnostic(note, hint)
                         : Diagnostic{.where = {}, .message = note, .source_line = {}, .length = 1, .note = hint});
}

// Warns where collectives cost what those of another GPU do: none of their starts was measured on the profile's.
void warn_of_costs(const ConfigNode& node, const net::Cluster& cluster, Diagnostics& diagnostics) {
  const Profile& profile = cluster.profile;
  if (profile.gpu().empty()) return;
  std::string other;
  for (const char* protocol : {"ll", "ll128", "simple"}) {
    other = profile.other_gpu(fmt::format("collectives.{}.base_latency", protocol));
    if (other.empty()) return;
  }
  const std::string text =
      fmt::format("no measurement calibrates collectives of {}: they cost what those of {} do", profile.gpu(), other);
  const std::string hint = "with such costs those of A100, B200 and L40S are off by 16 to 60 % in the mean (docs/accuracy.md)";
  const std::optional<ConfigNode> at = node.find("profile");
  diagnostics.warning(at ? at->diagnostic(text, hint)
                         : Diagnostic{.where = {}, .message = text, .source_line = {}, .length = 1, .note = hint});
}

// Every model of GPU must be able to run at the limit of power that the profile sets.
void check_power_limit(const net::Cluster& cluster, Diagnostics& diagnostics) {
  const std::string key = work::power_limit.infos().front().key;
  std::set<const net::GpuSpec*> models;
  for (const DeviceId device : cluster.topology.endpoints()) models.insert(cluster.topology.gpu(device));
  std::set<std::string> problems;
  for (const net::GpuSpec* gpu : models) {
    if (gpu != nullptr) problems.insert(fmt::format("{}: {}", key, work::limit_problem(*gpu, cluster.profile)));
  }
  for (const std::string& problem : problems) {
    if (problem.ends_with(": ")) continue;
    diagnostics.error(
        {.where = cluster.profile.provenance(key).where,
         .message = problem,
         .source_line = {},
         .length = 1,
         .note = "0 W is the data sheet's; a board that takes more says so as the 'power' of its GPU (weft explain gpus)",
         .key = key});
  }
}

std::optional<net::Cluster> read_cluster(const ConfigNode& node, const Overrides& overrides, Diagnostics& diagnostics) {
  check_settings(node, diagnostics);
  std::optional<net::Cluster> cluster = net::read_cluster(node, load_options(overrides), diagnostics);
  if (cluster) warn_of_release(node, *cluster, overrides, diagnostics);
  if (cluster) warn_of_costs(node, *cluster, diagnostics);
  if (cluster) check_power_limit(*cluster, diagnostics);
  return cluster;
}

// The known parts of a scenario in which something is wrong.
struct KnownParts {
  const ConfigNode& root;
  const net::Cluster* cluster;                // null: it could not be read
  const std::optional<ConfigNode>& workload;  // none: its file could not be read
  const work::Workload* read_workload;        // null: it waits for what is assumed of the cluster
  const SimulationOptions& simulation;
  bool knows_simulation;
};

// Stand-ins for the parts that are not known.
struct Assumed {
  StandIn devices;
  std::size_t flows;
  net::Fidelity fidelity;
  work::Workload workload = {};
};

void read_under(const KnownParts& known, const Assumed& assumed, Diagnostics& diagnostics) {
  const net::Topology& topology = known.cluster == nullptr ? stand_in_topology(assumed.devices) : known.cluster->topology;
  const SimulationOptions& simulation = known.simulation;
  const net::Fidelity fidelity = known.knows_simulation ? simulation.fidelity : assumed.fidelity;
  const net::PacketSettings any;
  const net::PacketSettings* packet = known.cluster == nullptr ? &any : &known.cluster->packet;
  if (!net::has_packets(known.cluster == nullptr ? assumed.fidelity : fidelity)) packet = nullptr;

  work::Workload workload;
  const work::WorkloadContext context{topology, packet, simulation.seed};
  if (known.workload && known.read_workload == nullptr)
    read_part(diagnostics, [&] { workload = work::read_workload(*known.workload, context, diagnostics); });
  ParamReader reader{known.root, diagnostics};
  static_cast<void>(read_measure(reader, topology, assumed.flows, simulation.until, fidelity));
  static_cast<void>(read_faults(reader, topology, assumed.flows, fidelity));
  static_cast<void>(read_packet_part(known.root, topology, assumed.workload, diagnostics));
  check_program(known.root, known.read_workload != nullptr ? *known.read_workload : workload, simulation, diagnostics);
}

// The errors that the rest of the scenario has whatever is meant by the parts that are wrong.
void read_on(const KnownParts& known, Diagnostics& diagnostics) {
  Assumed some{.devices = StandIn::kSome, .flows = 1, .fidelity = net::Fidelity::kFlow};
  Assumed others{.devices = StandIn::kOthers, .flows = 1'000'003, .fidelity = net::Fidelity::kPacket};
  for (int kind = 0; kind <= static_cast<int>(coll::Collective::kScatter); ++kind) {
    work::CollectiveItem item;
    item.call.kind = static_cast<coll::Collective>(kind);
    others.workload.collectives.push_back(std::move(item));
  }
  add_common_errors(
      diagnostics, [&](Diagnostics& found) { read_under(known, some, found); },
      [&](Diagnostics& found) { read_under(known, others, found); });
  diagnostics.throw_if_any();
}

}  // namespace

const ParamGroups& all_param_groups() {
  static const ParamGroups groups = [] {
    ParamGroups all = net::network_param_groups();
    for (const ParamGroupBase* group : coll::collective_param_groups()) all.push_back(group);
    for (const ParamGroupBase* group : work::kernel_param_groups()) all.push_back(group);
    all.push_back(&work::serving_costs);
    return all;
  }();
  return groups;
}

net::Cluster load_cluster(const std::filesystem::path& file, const Overrides& overrides, Diagnostics& diagnostics) {
  return load_cluster(ConfigNode::load_file(file_or_shipped(file, "clusters"), "cluster"), overrides, diagnostics);
}

net::Cluster load_cluster(const ConfigNode& file, const Overrides& overrides, Diagnostics& diagnostics) {
  std::vector<std::string> paths;
  for (const auto& [path, value] : overrides.sets) paths.push_back(path);
  const ConfigNode node = net::with_template_for(file, paths);
  std::optional<net::Cluster> cluster = read_cluster(with_sets(node, overrides), overrides, diagnostics);
  diagnostics.throw_if_any();
  return std::move(*cluster);
}

std::optional<Diagnostic> wrong_setting(const ConfigNode& map, const std::string& key, std::string_view value) {
  try {
    coll::nccl::Settings{}.set(key, value);
    return std::nullopt;
  } catch (const ConfigError& error) {
    const ConfigNode at = map.find(key).value_or(map.find("NCCL_" + key).value_or(map));
    const Diagnostic& problem = error.diagnostics().front();
    return at.key_diagnostic(fmt::format("{}: {}", at.path(), problem.message), problem.note);
  }
}

coll::nccl::Settings nccl_settings(const net::Cluster& cluster, const Overrides& overrides) {
  coll::nccl::Settings settings;
  const std::optional<ConfigNode> written = cluster.resolved.find("nccl");
  for (const auto& [key, value] : cluster.nccl) {
    // Only here is it known where that stands.
    if (const auto wrong = written ? wrong_setting(*written, key, value) : std::nullopt) throw ConfigError({*wrong});
    settings.set(key, value);
  }
  for (const auto& [key, value] : overrides.nccl) settings.set(key, value);
  return settings;
}

Scenario load_scenario(const std::filesystem::path& file, const Overrides& overrides, Diagnostics& diagnostics) {
  return read_scenario(with_changes(load_scenario_file(file), changes_of(overrides.sets)), file.stem().string(), overrides,
                       diagnostics);
}

Scenario read_scenario(const ConfigNode& root, const std::string& default_name, const Overrides& overrides,
                       Diagnostics& diagnostics) {
  ParamReader reader{root, diagnostics};
  if (!root.is_map()) diagnostics.throw_if_any();
  const std::string name = reader.optional<std::string>("name", default_name);
  static_cast<void>(reader.optional<std::string>("description", ""));
  static_cast<void>(reader.choice("kind", {"scenario"}, "scenario"));
  static_cast<void>(reader.choice("ci", {"run", "check_only"}, "run"));
  if (!reader.has("cluster")) {
    diagnostics.error(root.diagnostic("expected a cluster", "a scenario names one: cluster: ../clusters/h200x4.yaml"));
  }
  const bool has_cluster = reader.has("cluster");
  const ConfigNode cluster_node = has_cluster ? reader.raw("cluster") : ConfigNode{};
  const std::optional<ConfigNode> override_node = reader.optional_raw("overrides");
  if (!reader.has("workload"))
    diagnostics.error(
        root.diagnostic("expected a workload", "for example workload: {collectives: [{kind: all_reduce, bytes: 1 GiB}]}"));
  const std::optional<ConfigNode> workload_node = reader.optional_raw("workload");
  SimulationOptions simulation;
  const std::size_t errors_before = diagnostics.errors().size();
  if (reader.has("simulation")) {
    ParamReader section = reader.map("simulation");
    simulation = read_simulation(section, overrides);
  } else {
    ConfigNode empty = ConfigNode::parse("{}", root.file(), "simulation");
    ParamReader section{empty, diagnostics};
    simulation = read_simulation(section, overrides);
  }
  const bool knows_simulation = diagnostics.errors().size() == errors_before;
  // These sections name links and flows, so they wait for the cluster; until then they are let pass.
  for (const char* key : {"measure", "faults"}) static_cast<void>(reader.optional_raw(key));
  reader.finish();

  std::optional<net::Cluster> read;
  read_part(diagnostics, [&] {
    if (has_cluster) read = read_cluster(cluster_with(cluster_node, override_node), overrides, diagnostics);
  });
  std::optional<ConfigNode> workload_map;
  read_part(diagnostics, [&] {
    if (workload_node) workload_map = load_reference(*workload_node);
  });
  KnownParts known{root, read ? &*read : nullptr, workload_map, nullptr, simulation, knows_simulation};
  if (diagnostics.has_errors()) read_on(known, diagnostics);

  net::Cluster& cluster = *read;
  const work::WorkloadContext context{cluster.topology, simulation.has_packets() ? &cluster.packet : nullptr, simulation.seed};
  work::Workload workload = work::read_workload(*workload_map, context, diagnostics);
  known.read_workload = &workload;
  if (diagnostics.has_errors()) read_on(known, diagnostics);
  MeasureOptions measure = read_measure(reader, cluster.topology, workload.flows.size(), simulation.until, simulation.fidelity);
  if (workload.has_endless_flow()) measure.stated = true;  // their rates are over the run where no window is stated
  Faults faults = read_faults(reader, cluster.topology, workload.flows.size(), simulation.fidelity);
  PacketPart part = read_packet_part(root, cluster.topology, workload, diagnostics);
  if (simulation.fidelity == net::Fidelity::kHybrid) check_priorities(root, workload, diagnostics);
  check_end(root, workload, cluster.topology, simulation, diagnostics);
  check_program(root, workload, simulation, diagnostics);
  diagnostics.throw_if_any();
  warn_of_idle_keys(cluster, *workload_map, workload, simulation.has_packets(), diagnostics);
  if (simulation.has_packets()) warn_of_round_trips(cluster, *workload_map, workload, simulation.seed, diagnostics);
  coll::nccl::Settings nccl = nccl_settings(cluster, overrides);
  return {name, std::move(cluster), std::move(workload), simulation, std::move(measure), std::move(faults), std::move(nccl),
          root, std::move(part)};
}

}  // namespace weft::scenario
