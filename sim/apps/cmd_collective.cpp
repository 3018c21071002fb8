// weft collective: one collective over a range of message sizes, with the options and the columns of nccl-tests.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/print_memory.h"
#include "sim/apps/progress.h"
#include "sim/apps/table.h"
#include "sim/collectives/builtin.h"
#include "sim/collectives/libraries.h"
#include "sim/collectives/msccl/algorithm.h"
#include "sim/collectives/nccl/tuning_tables.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/config/shipped_file.h"
#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/core/result_header.h"
#include "sim/core/words.h"
#include "sim/output/result_json.h"
#include "sim/output/timeline.h"
#include "sim/scenario/catalog.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/memory_plan.h"
#include "sim/scenario/stated_error.h"
#include "sim/workloads/pair_sizes_reader.h"

namespace weft::apps {
namespace {

struct CollectiveOptions {
  CommonOptions common;
  std::string kind;
  std::string cluster;
  std::string topology;
  scenario::TopologyHints hints;
  std::string min_bytes = "8";
  std::string max_bytes = "4G";
  std::string step_bytes;
  std::int64_t factor = 2;
  std::int64_t iterations = 1;
  std::optional<int> nodes;
  std::optional<int> threads;
  std::optional<int> gpus;
  std::string type = "float";
  std::string reduction = "sum";
  int root = 0;
  std::string algorithm;
  std::string engine;
  std::string protocol;
  int channels = 0;
  bool cuda_graph = false;
  std::string msccl;
  std::string pair_sizes;
  int registered = 0;
  std::optional<int> cta_policy;
  std::string memory;
  bool has_range = false;  // -b, -e, -f or -i is given
};

std::optional<std::string_view> find_ignoring_case(const auto& names, std::string_view text) {
  for (const std::string_view name : names) {
    if (lower_case(name) == lower_case(text)) return name;
  }
  return std::nullopt;
}

[[noreturn]] void unknown(const char* option, const std::string& text, const std::vector<std::string>& choices) {
  throw ConfigError(std::vector<Diagnostic>{{.where = {},
                                             .message = fmt::format("{}: unknown value '{}'", option, text),
                                             .source_line = {},
                                             .length = 1,
                                             .note = did_you_mean(text, choices, "choices")}});
}

Bytes size_option(const char* option, const std::string& text) {
  if (const auto size = parse_size(text)) return *size;
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("{}: expected a size such as 8, 64K or 4G, got '{}'", option, text),
                                .source_line = {},
                                .length = 1,
                                .note = "sizes are whole bytes, at most 4 EiB; K, M, G and T are powers of 1024"}});
}

// A registered algorithm runs as asked; a name of NCCL's that is not registered goes the way of NCCL_ALGO, which says in a note
// what becomes of it.
void take_algorithm(const std::string& text, coll::RunOptions& options) {
  if (coll::algorithms().find(lower_case(text)) != nullptr) {
    options.algorithm = lower_case(text);
  } else if (const auto known = find_ignoring_case(coll::nccl::algo_names(), text)) {
    options.settings.set("ALGO", *known);
  } else {
    std::vector<std::string> choices(coll::algorithms().names().begin(), coll::algorithms().names().end());
    for (const std::string_view name : coll::nccl::algo_names()) {
      if (!find_ignoring_case(choices, name)) choices.emplace_back(name);
    }
    unknown("--algo", text, choices);
  }
}

void take_library(const std::string& text, coll::RunOptions& options) {
  const auto known = find_ignoring_case(coll::library_names(), text);
  if (!known) unknown("--library", text, {coll::library_names().begin(), coll::library_names().end()});
  options.engine = *known == "nccl" ? std::string_view{} : *known;
}

void take_protocol(const std::string& text, coll::RunOptions& options) {
  const auto names = coll::nccl::proto_names();
  const auto known = find_ignoring_case(names, text);
  if (!known) unknown("--proto", text, {names.begin(), names.end()});
  options.settings.set("PROTO", *known);
}

// A cluster with at least the nodes asked for: one whose file says fewer is loaded again with `nodes` set.
net::Cluster load_with_nodes(const CollectiveOptions& options, scenario::Overrides& overrides, Diagnostics& diagnostics) {
  if (options.cluster.empty() == options.topology.empty())
    throw ConfigError("expected either --cluster FILE or --topo-xml FILE");
  if (options.topology.empty() && options.hints.any())
    throw ConfigError("--gpu, --cpu, --nic-rate and --nvlinks go with --topo-xml; a cluster says these itself");
  Diagnostics first;
  const Profile profile =
      overrides.profile ? scenario::find_profile(overrides.profile->string()) : Profile::defaults(scenario::all_param_groups());
  const ConfigNode file = options.topology.empty()
                              ? ConfigNode::load_file(file_or_shipped(options.cluster, "clusters"), "cluster")
                              : scenario::cluster_of_topology(options.topology, options.hints, profile, first);
  const Diagnostics of_file = first;
  net::Cluster cluster = scenario::load_cluster(file, overrides, first);
  if (!options.nodes || static_cast<std::size_t>(std::max(*options.nodes, 0)) <= cluster.topology.host_count()) {
    diagnostics = std::move(first);
    return cluster;
  }
  overrides.sets.emplace_back("nodes", std::to_string(*options.nodes));
  diagnostics = of_file;
  return scenario::load_cluster(file, overrides, diagnostics);
}

std::string ranks_line(const scenario::Participants& who) {
  return fmt::format("# ranks {} on {} node{}: {} process{} of {} thread{} with {} GPU{} each\n", who.devices.size(), who.nodes,
                     who.nodes == 1 ? "" : "s", who.processes, who.processes == 1 ? "" : "es", who.threads,
                     who.threads == 1 ? "" : "s", who.gpus_per_thread, who.gpus_per_thread == 1 ? "" : "s");
}

// Plans the memory of the sweep's largest call.
scenario::MemoryPlan memory_of(const scenario::CollectiveSweep& sweep) {
  scenario::SimulationOptions simulation;
  simulation.fidelity = sweep.fidelity;
  simulation.grain = sweep.options.grain;
  simulation.seed = sweep.seed;
  work::CollectiveItem item{
      .call = sweep.call, .devices = sweep.participants.devices, .count = 1, .algorithm = sweep.options.algorithm};
  item.call.bytes = std::ranges::max(sweep.sizes);
  item.channels = sweep.options.custom != nullptr && sweep.options.channels == 0 ? 1 : sweep.options.channels;
  return scenario::plan_memory(sweep.cluster, simulation, item);
}

std::vector<Bytes> asked_sizes(const CollectiveOptions& options) {
  const scenario::SizeRange range{.min = size_option("-b", options.min_bytes),
                                  .max = size_option("-e", options.max_bytes),
                                  .factor = options.factor,
                                  .step = options.step_bytes.empty() ? Bytes{} : size_option("-i", options.step_bytes)};
  if (!options.step_bytes.empty() && range.step == Bytes{}) throw ConfigError("-i: expected a step of 1 byte or more, got 0");
  return scenario::sweep_sizes(range);
}

constexpr std::string_view kAllToAllv = "alltoallv";

// "alltoallv", "AllToAllv", or the name of the test program of rccl-tests.
bool is_all_to_allv(std::string_view name) {
  if (name.ends_with("_perf")) name.remove_suffix(5);
  return folded_name(name) == kAllToAllv;
}

// All-to-allv: one call of the file's sizes, which the sweep's ranks have to fit.
void take_pair_sizes(const CollectiveOptions& options, scenario::CollectiveSweep& sweep) {
  Diagnostics diagnostics;
  const auto ranks = static_cast<int>(sweep.participants.devices.size());
  auto pairs = work::read_pair_sizes(options.pair_sizes, ranks, diagnostics);
  diagnostics.throw_if_any();
  sweep.call.pairs = std::move(pairs);
  sweep.sizes = {coll::all_to_allv(sweep.call.pairs).bytes};
}

// Makes the sweep that the options ask for on this cluster, but for the algorithm.
scenario::CollectiveSweep sweep_of(const CollectiveOptions& options, const net::Cluster& cluster,
                                   const scenario::Overrides& overrides, const coll::CollectiveCall& call,
                                   std::vector<Bytes> sizes) {
  scenario::CollectiveSweep sweep{
      .cluster = cluster,
      .call = call,
      .sizes = std::move(sizes),
      .participants = scenario::participants(
          cluster.topology, {.nodes = options.nodes, .threads = options.threads, .gpus_per_thread = options.gpus}),
      .options = {},
      .seed = overrides.seed.value_or(1),
      .shuffle_ties = overrides.shuffle_ties.value_or(0),
      .fidelity = overrides.fidelity.value_or(net::Fidelity::kFlow)};
  const auto ranks = static_cast<int>(sweep.participants.devices.size());
  if (options.root < 0 || options.root >= ranks) {
    throw ConfigError(
        fmt::format("--root: rank {} is not in a communicator of {} ranks (0 to {})", options.root, ranks, ranks - 1));
  }
  sweep.options.settings = scenario::nccl_settings(cluster, overrides);
  sweep.options.grain = overrides.grain.value_or(coll::Grain::kAuto);
  sweep.options.channels = options.channels;
  sweep.options.cuda_graph = options.cuda_graph;
  sweep.options.registered = static_cast<coll::Registered>(options.registered);
  if (options.cta_policy) sweep.options.settings.set("CTA_POLICY", std::to_string(*options.cta_policy));
  sweep.options.iterations = static_cast<int>(options.iterations);
  return sweep;
}

// Runs the sweep: each size is printed as it comes, each note once.
scenario::SweepResult run_and_print(const scenario::CollectiveSweep& sweep, const Report& report, std::string_view type,
                                    bool quiet) {
  ProgressBar progress{"sizes", quiet};
  std::vector<std::string> told;
  const auto tell = [&](const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
      if (std::ranges::find(told, note) != told.end()) continue;
      report.print(fmt::format("# note: {}\n", printable(note)));
      told.push_back(note);
    }
  };
  scenario::SweepResult result = scenario::run_sweep(sweep, &progress, [&](const coll::CollectiveResult& point) {
    progress.wipe();
    tell(point.notes);
    report.print(sweep_row(point, type));
  });
  tell(result.notes);
  return result;
}

// The first setting of --nccl that makes NCCL choose or run otherwise than where it was measured; a release does not.
std::string unusual_setting(const scenario::Overrides& overrides) {
  for (const auto& [key, value] : overrides.nccl) {
    const std::string_view name = std::string_view{key}.substr(key.starts_with("NCCL_") ? 5 : 0);
    if (name != "VERSION") return fmt::format("NCCL_{}={}", name, value);
  }
  return {};
}

std::string stated_error_of(const CollectiveOptions& options, const net::Cluster& cluster, const scenario::Overrides& overrides,
                            const scenario::CollectiveSweep& sweep) {
  std::string made_by;
  for (const std::string& each : {options.msccl, sweep.options.algorithm, sweep.options.engine}) {
    if (made_by.empty()) made_by = each;
  }
  if (made_by.empty() && sweep.options.registered != coll::Registered::kNot) made_by = fmt::format("-R {}", options.registered);
  if (made_by.empty() && options.cta_policy) made_by = fmt::format("-x {}", *options.cta_policy);
  if (made_by.empty()) made_by = unusual_setting(overrides);
  return scenario::error_of_collective(cluster, {.operation = coll::name_of(sweep.call),
                                                 .gpus = static_cast<int>(sweep.participants.devices.size()),
                                                 .nodes = sweep.participants.nodes,
                                                 .made_by = made_by});
}

int run_collective(const CollectiveOptions& options) {
  const bool by_pair = is_all_to_allv(options.kind);
  if (by_pair && options.pair_sizes.empty())
    throw ConfigError("alltoallv: expected --sizes FILE, with the bytes from each rank to each");
  if (!by_pair && !options.pair_sizes.empty()) throw ConfigError("--sizes goes with alltoallv, whose pairs differ");
  if (by_pair && options.has_range)
    throw ConfigError("alltoallv: --sizes says how much is sent; -b, -e, -f and -i do not go with it");
  const coll::Collective kind = by_pair ? coll::Collective::kAllToAll : scenario::collective_named(options.kind);
  const scenario::DataType type = scenario::data_type(options.type);
  const coll::CollectiveCall call{.kind = kind,
                                  .bytes = {},
                                  .element_size = type.bytes,
                                  .root = options.root,
                                  .numbers = type.numbers,
                                  .reduction = scenario::reduction_named(options.reduction)};
  std::vector<Bytes> sizes = asked_sizes(options);
  scenario::Overrides overrides = to_overrides(options.common, true);
  const Outputs outputs =
      outputs_of(options.common, fmt::format("collective_{}", by_pair ? kAllToAllv : coll::to_string(kind)));

  Diagnostics diagnostics;
  const net::Cluster cluster = load_with_nodes(options, overrides, diagnostics);
  print_warnings(diagnostics, options.common);
  scenario::CollectiveSweep sweep = sweep_of(options, cluster, overrides, call, std::move(sizes));
  if (by_pair) take_pair_sizes(options, sweep);
  output::StepTimeline steps;
  if (!outputs.timeline.empty()) sweep.options.steps = &steps;
  const auto custom = options.msccl.empty() ? nullptr : coll::msccl_algorithm(options.msccl);
  if (custom) {
    Diagnostics warnings;
    for (const Diagnostic& warning : custom->program().warnings) warnings.warning(warning);
    print_warnings(warnings, options.common);
  }
  sweep.options.custom = custom.get();
  if (!options.engine.empty()) take_library(options.engine, sweep.options);
  if (!options.algorithm.empty()) take_algorithm(options.algorithm, sweep.options);
  if (!options.protocol.empty()) take_protocol(options.protocol, sweep.options);

  const scenario::MemoryPlan memory = memory_of(sweep);
  scenario::check_memory(memory, memory_limit(options.memory));
  const Report report{outputs};
  const std::string subject = fmt::format("{}  {}", coll::name_of(sweep.call), options.cluster + options.topology);
  const std::string stated = stated_error_of(options, cluster, overrides, sweep);
  const Heading heading{"collective", subject, sweep.seed, sweep.options.grain, net::to_string(sweep.fidelity), stated};
  report.print(heading_text(heading, cluster, options.common.verbose));
  report.print(ranks_line(sweep.participants));
  if (options.common.verbose) report.print(predicted_line(memory));
  report.print(options.iterations == 1
                   ? std::string{"# predicted: one call by itself, out of place\n#\n"}
                   : fmt::format("# predicted: one call in a loop of {}, out of place\n#\n", options.iterations));
  report.print(sweep_columns());
  const scenario::SweepResult result = run_and_print(sweep, report, type.name, options.common.quiet);
  if (result.interrupted) {
    report.print(fmt::format("# interrupted: {} of {} sizes are done\n", result.points.size(), sweep.sizes.size()));
  }
  report.print(fmt::format("# Avg bus bandwidth    : {:.6g}\n", result.mean_bus_bandwidth_gbps()));
  report.print(provenance_text(heading, options.common.verbose));
  report.print(fmt::format("# digest {}  {}\n", digest_text(result.digest),
                           cost_text(result.events, result.transfers, result.wall_seconds)));
  if (options.common.verbose) {
    report.print(solver_line(result.solves, result.peak_live));
    report.print(memory_line(memory, sweep.participants.devices.size()));
  }

  if (!outputs.json.empty()) {
    std::vector<std::string> warnings = warning_texts(diagnostics);
    warnings.insert(warnings.end(), result.notes.begin(), result.notes.end());
    const ResultHeader header{.command = "collective",
                              .command_line = command_line(),
                              .seed = sweep.seed,
                              .configuration = scenario::sweep_configuration(sweep),
                              .profiles = {{.name = cluster.profile.name(),
                                            .file = scenario::profile_statement(cluster).file,
                                            .stated_error = stated}},
                              .warnings = std::move(warnings),
                              .digest = result.digest,
                              .interrupted = result.interrupted};
    write_file(outputs.json, [&](std::ostream& out) { output::write_collective_result(out, header, result, type.name); });
  }
  if (!outputs.timeline.empty()) {
    write_file(outputs.timeline, [&](std::ostream& out) { output::write_collective_timeline(out, result.points, {}, &steps); });
    if (const std::string note = steps.note(); !note.empty()) report.print(fmt::format("# note: {}\n", printable(note)));
  }
  return result.interrupted ? kInterrupted : kOk;
}

}  // namespace

void add_collective(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("collective", "Predicts a collective over a range of sizes, as nccl-tests measures it");
  const auto options = std::make_shared<CollectiveOptions>();
  command
      ->add_option("KIND", options->kind,
                   "all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, alltoallv, sendrecv, gather, scatter")
      ->required();
  command->add_option("--cluster,-c", options->cluster, "Cluster file")->type_name("FILE");
  command
      ->add_option("--topo-xml", options->topology,
                   "In place of a cluster: one node of NCCL's topology file, or of the matrix of `nvidia-smi topo -m`")
      ->type_name("FILE");
  add_topology_hints(*command, options->hints);
  command->add_option("-b,--minbytes", options->min_bytes, "Smallest size: 8, 64K, 1M, 4G")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("-e,--maxbytes", options->max_bytes, "Largest size")->type_name("SIZE")->capture_default_str();
  CLI::Option* factor = command->add_option("-f,--stepfactor", options->factor, "Factor from one size to the next")
                            ->type_name("N")
                            ->capture_default_str();
  command->add_option("-i,--stepbytes", options->step_bytes, "Step from one size to the next, in place of a factor")
      ->type_name("SIZE")
      ->excludes(factor);
  command
      ->add_option("--nodes", options->nodes,
                   "Nodes that take part, the first of the cluster; a cluster of fewer is made larger")
      ->type_name("K");
  command->add_option("-t,--nthreads", options->threads, "Threads per process, one process per node")->type_name("T");
  command
      ->add_option("-g,--ngpus", options->gpus,
                   "GPUs per thread; without -t and -g every GPU of the nodes takes part, one process each")
      ->type_name("N");
  command->add_option("-d,--datatype", options->type, "Type of the elements")->type_name("TYPE")->capture_default_str();
  command
      ->add_option("-o,--op", options->reduction,
                   "What all_reduce, reduce_scatter and reduce do: sum, prod, min, max, avg, mulsum")
      ->type_name("OP")
      ->capture_default_str();
  command->add_option("-r,--root", options->root, "Root of broadcast, reduce, gather and scatter")
      ->type_name("RANK")
      ->capture_default_str();
  command->add_option("-n,--iters", options->iterations, "Calls in the timed loop; nccl-tests makes 20")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("-G,--cudagraph", options->cuda_graph, "The loop is one CUDA graph on each GPU");
  command
      ->add_option("-R,--register", options->registered,
                   "Registered buffers: 0 none, 1 by ncclCommRegister (NCCL 2.19), 2 in symmetric memory (2.27)")
      ->type_name("N")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  command
      ->add_option("-x,--cta_policy", options->cta_policy,
                   "NCCL_CTA_POLICY: 1, few SMs (NVLS for gathers with -R 1); 2, none (copy engines with -R 2)")
      ->type_name("N")
      ->check(CLI::Range(0, 2));
  command->add_option("--algo", options->algorithm, "Algorithm; absent: as NCCL chooses")->type_name("NAME");
  command
      ->add_option("--library", options->engine,
                   "Who chooses an all_reduce: nccl, vllm, vllm_custom (without symmetric memory), vllm_nccl_symm (with "
                   "NCCL's), sglang, "
                   "tensorrt_llm; absent: nccl")
      ->type_name("NAME");
  command->add_option("--proto", options->protocol, "Protocol of NCCL: Simple, LL, LL128")->type_name("NAME");
  command
      ->add_option("--sizes", options->pair_sizes,
                   "Of alltoallv: a row for each sender with the bytes to each rank, as CSV or a list of lists (.json, .yaml)")
      ->type_name("FILE");
  command->add_option("--msccl", options->msccl, "Custom algorithm: an MSCCL XML file")->type_name("FILE");
  command->add_option("--channels", options->channels, "Channels; absent: as NCCL chooses")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  add_memory_option(*command, options->memory);
  add_common_options(*command, options->common);
  command->callback([options, command, &exit_code] {
    for (const char* option : {"--minbytes", "--maxbytes", "--stepfactor", "--stepbytes"})
      options->has_range = options->has_range || command->count(option) > 0;
    exit_code = run_collective(*options);
  });
}

}  // namespace weft::apps
