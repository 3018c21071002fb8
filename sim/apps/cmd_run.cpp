// weft run: simulates a scenario and prints what a person wants first.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/print_cost.h"
#include "sim/apps/print_inference.h"
#include "sim/apps/print_memory.h"
#include "sim/apps/print_training.h"
#include "sim/apps/progress.h"
#include "sim/apps/several_processes.h"
#include "sim/apps/table.h"
#include "sim/core/error.h"
#include "sim/core/output_folder.h"
#include "sim/core/printable.h"
#include "sim/core/result_header.h"
#include "sim/measured/servers/server_run.h"
#include "sim/output/cost_json.h"
#include "sim/output/network_json.h"
#include "sim/output/replay_timeline.h"
#include "sim/output/result_json.h"
#include "sim/output/serving_timeline.h"
#include "sim/output/timeline.h"
#include "sim/planning/process_exchange.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/flow_summary.h"
#include "sim/scenario/memory_plan.h"
#include "sim/scenario/run_scenario.h"
#include "sim/workloads/trace/writers/writers.h"

namespace weft::apps {
namespace {

std::string plural(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void print_collectives(const Report& report, const scenario::RunResult& result) {
  report.print("#\n" + mixed_columns());
  for (std::size_t i = 0; i < result.collectives.size(); ++i) {
    const coll::CollectiveResult& point = result.collectives[i];
    report.print(mixed_row(point, scenario::type_name_of(point.call.element_size), result.counts[i]));
  }
}

void print_flows(const Report& report, const scenario::Scenario& scenario, const scenario::RunResult& result) {
  const scenario::FlowSummary summary = scenario::summarize_flows(result.flows);
  report.print(fmt::format("#\n# flows {} finished of {}{}, {}\n", summary.finished, summary.flows,
                           summary.aborted > 0 ? fmt::format(" ({} aborted)", summary.aborted) : "",
                           short_bytes(static_cast<double>(summary.bytes.count()))));
  if (summary.finished == 0) return;
  report.print(fmt::format("# last end {} us  aggregate rate {:.2f} Gb/s\n", us_text(summary.last_end), summary.rate_gbps));
  report.print(fmt::format("# FCT (us): min {}  median {}  p99 {}  max {}\n", us_text(summary.min_fct),
                           us_text(summary.median_fct), us_text(summary.p99_fct), us_text(summary.max_fct)));
  report.print("#\n# slowest flows\n");
  Table table;
  table.add_column("id");
  table.add_column("from", Table::Align::kLeft);
  table.add_column("to", Table::Align::kLeft);
  for (const char* title : {"bytes", "start (us)", "FCT (us)", "rate (Gb/s)"}) table.add_column(title);
  const net::Topology& topology = scenario.cluster.topology;
  for (const std::size_t id : summary.slowest) {
    const work::FlowItem& item = scenario.workload.flows[id];
    const work::FlowResult& flow = result.flows[id];
    table.add_row({std::to_string(id), topology.name(item.from), topology.name(item.to), std::to_string(flow.bytes.count()),
                   fmt::format("{:.2f}", flow.start.since_start().us()), fmt::format("{:.2f}", (flow.end - flow.start).us()),
                   fmt::format("{:.2f}", scenario::rate_gbps(flow).value_or(0))});
  }
  report.print(table.text());
}

void print_links(const Report& report, const scenario::RunResult& result) {
  if (result.hottest.empty()) return;
  report.print("#\n# hottest links\n");
  Table table;
  table.add_column("link", Table::Align::kLeft);
  for (const char* title : {"bytes", "utilization", "busy (us)"}) table.add_column(title);
  for (const scenario::LinkUse& link : result.hottest) {
    table.add_row({link.name, fmt::format("{:.0f}", link.bytes), fmt::format("{:.1f} %", 100 * link.utilization),
                   fmt::format("{:.2f}", link.busy.us())});
  }
  report.print(table.text());
}

// Ports worth a look: the busiest, and those that queued, paused, marked or lost most.
void print_ports(const Report& report, const scenario::NetworkReport& network) {
  if (!network.is_packet || network.ports.empty()) return;
  constexpr std::size_t kPorts = 12;
  const auto losses = [](const scenario::PortResult& port) { return port.drops; };
  std::vector<const scenario::PortResult*> shown;
  for (const scenario::PortResult& port : network.ports) shown.push_back(&port);
  const auto rank = [&](const scenario::PortResult* a, const scenario::PortResult* b) {
    if (losses(*a) != losses(*b)) return losses(*a) > losses(*b);
    if (a->peak_queue_bytes != b->peak_queue_bytes) return a->peak_queue_bytes > b->peak_queue_bytes;
    if (a->paused != b->paused) return a->paused > b->paused;
    return a->utilization > b->utilization;
  };
  std::ranges::stable_sort(shown, rank);
  if (shown.size() > kPorts) shown.resize(kPorts);
  report.print(fmt::format("#\n# ports, of {} in use: most lost, queued, paused, used\n", network.ports.size()));
  Table table;
  table.add_column("port", Table::Align::kLeft);
  for (const char* title :
       {"used", "peak queue (B)", "mean queue (B)", "mean wait (ns)", "peak ingress (B)", "paused (us)", "marks", "drops"}) {
    table.add_column(title);
  }
  for (const scenario::PortResult* port : shown) {
    table.add_row({port->name, fmt::format("{:.1f} %", 100 * port->utilization), std::to_string(port->peak_queue_bytes),
                   fmt::format("{:.0f}", port->mean_queue_bytes), fmt::format("{:.1f}", port->mean_wait_ns),
                   std::to_string(port->peak_ingress_bytes), fmt::format("{:.2f}", port->paused.us()),
                   std::to_string(port->marks), std::to_string(port->drops)});
  }
  report.print(table.text());
}

void print_network(const Report& report, const net::Topology& topology, const scenario::NetworkReport& network) {
  print_ports(report, network);
  if (!network.is_packet) return;
  report.print(fmt::format("# packet hops {}  pauses {}\n", short_count(static_cast<double>(network.packet_hops)),
                           network.pauses.size()));
  for (const net::StormRecord& storm : network.storms) {
    report.print(fmt::format(
        "# storm of pauses on {}, priority {}: detected at {} us, {}, {} packets dropped\n", topology.name(storm.link),
        storm.priority, us_text(storm.detected - Time{}),
        storm.restored == Time::max() ? "lasting" : "restored at " + us_text(storm.restored - Time{}) + " us", storm.dropped));
  }
  if (!network.deadlock) return;
  std::string links;
  for (const LinkId link : network.deadlock->links) links += (links.empty() ? "" : ", ") + topology.name(link);
  report.print(fmt::format("# deadlock at {} us: {}\n", us_text(network.deadlock->at - Time{}), links));
}

// Flows of a few lines, each with what it did; long lists have their slowest in print_flows.
void print_rates(const Report& report, const scenario::Scenario& scenario, const scenario::RunResult& result) {
  constexpr std::size_t kFlows = 32;
  const bool measured = !result.network.flow_rates.empty();
  if ((!measured && !result.network.is_packet) || result.flows.empty() || result.flows.size() > kFlows) return;
  report.print(measured ? fmt::format("#\n# flows from {} to {} us\n", us_text(result.network.from - Time{}),
                                      us_text(result.network.to - Time{}))
                        : "#\n# flows\n");
  Table table;
  table.add_column("id");
  table.add_column("from", Table::Align::kLeft);
  table.add_column("to", Table::Align::kLeft);
  for (const char* title : {"bytes", "FCT (us)", "rate (Gb/s)"}) table.add_column(title);
  if (result.network.is_packet) {
    for (const char* title : {"packets", "sent again", "CNPs"}) table.add_column(title);
  }
  for (std::size_t i = 0; i < result.flows.size(); ++i) {
    const work::FlowItem& item = scenario.workload.flows[i];
    const work::FlowResult& flow = result.flows[i];
    const double rate = measured ? result.network.flow_rates[i].rate_gbps : scenario::rate_gbps(flow).value_or(0);
    std::vector<std::string> row{std::to_string(i),
                                 scenario.cluster.topology.name(item.from),
                                 scenario.cluster.topology.name(item.to),
                                 std::to_string(flow.bytes.count()),
                                 scenario::has_ended(flow) ? fmt::format("{:.2f}", (flow.end - flow.start).us()) : "-",
                                 fmt::format("{:.3f}", rate)};
    if (result.network.is_packet) {
      const net::FlowCounters& counters = result.network.flow_counters[i];
      for (const std::int64_t count : {counters.packets_sent, counters.retransmitted, counters.cnps}) {
        row.push_back(std::to_string(count));
      }
    }
    table.add_row(std::move(row));
  }
  report.print(table.text());
  if (result.network.jain_index) report.print(fmt::format("# Jain index of the rates {:.4f}\n", *result.network.jain_index));
}

void print_jobs(const Report& report, const scenario::Scenario& scenario, const scenario::RunResult& result) {
  if (result.jobs.empty()) return;
  report.print("#\n# jobs\n");
  Table table;
  table.add_column("job", Table::Align::kLeft);
  for (const char* title : {"iterations", "first (us)", "last (us)", "mean (us)"}) table.add_column(title);
  for (std::size_t j = 0; j < result.jobs.size(); ++j) {
    std::vector<double> times;
    for (const work::JobIteration& iteration : result.jobs[j].iterations) {
      if (iteration.end != Time::max()) times.push_back((iteration.end - iteration.start).us());
    }
    double sum = 0;
    for (const double time : times) sum += time;
    const auto text = [&](double time) { return times.empty() ? std::string{"-"} : fmt::format("{:.2f}", time); };
    table.add_row({scenario.workload.jobs[j].name, std::to_string(times.size()), text(times.empty() ? 0 : times.front()),
                   text(times.empty() ? 0 : times.back()), text(sum / static_cast<double>(times.size()))});
  }
  report.print(table.text());
}

std::string what_ran(const work::Workload& workload) {
  if (workload.training) return "training step";
  if (!workload.training_jobs.empty()) return plural(workload.training_jobs.size(), "training job");
  if (workload.inference) return "inference";
  if (workload.collectives.empty()) {
    std::string jobs = plural(workload.jobs.size(), "job");
    if (workload.flows.empty()) return jobs;
    return plural(workload.flows.size(), "flow") + (workload.jobs.empty() ? "" : ", " + jobs);
  }
  std::int64_t calls = 0;
  for (const work::CollectiveItem& item : workload.collectives) calls += item.count;
  return fmt::format("{}, {}", plural(workload.collectives.size(), "collective"),
                     plural(static_cast<std::size_t>(calls), "call"));
}

struct RunOptions {
  std::string series;
  std::string chakra;
  std::string goal;
  std::string memory;
  std::vector<std::string> measured;  // of servers
  int threads = 1;
};

// Writes the program of a training step before it runs, and hands everything on. The files come once the run was not refused.
class ProgramExport final : public work::ReplayObserver {
 public:
  ProgramExport(const RunOptions& files, std::string name, work::ReplayObserver* next)
      : files_{files}, name_{std::move(name)}, next_{next} {}

  void on_program(const work::Program& program) override {
    if (!files_.chakra.empty()) {
      work::write_chakra(program, chakra_.emplace(files_.chakra), name_, {.full_clock = true});
    }
    if (!files_.goal.empty()) {
      const work::LoweredProgram lowered = work::lower_to_messages(program);
      work::write_goal(lowered.program, goal_.emplace(files_.goal).stream());
      findings_ = lowered.findings;
    }
    if (next_ != nullptr) next_->on_program(program);
  }
  void on_operation(const Span& span) override {
    if (next_ != nullptr) next_->on_operation(span);
  }
  void commit() {
    if (goal_) goal_->commit();
    if (chakra_) chakra_->commit();
  }
  [[nodiscard]] const std::vector<Diagnostic>& findings() const { return findings_; }

 private:
  const RunOptions& files_;
  std::string name_;
  work::ReplayObserver* next_;
  std::vector<Diagnostic> findings_;
  std::optional<OutputFile> goal_;
  std::optional<OutputFolder> chakra_;
};

// Refuses options that the scenario has nothing for.
void check_outputs(const RunOptions& files, const Outputs& outputs, const scenario::Scenario& scenario) {
  if (!files.series.empty() && scenario.measure.series.empty()) {
    throw ConfigError("--series: the scenario samples nothing; it needs measure: {series: [queue], every: 1 us}");
  }
  if (!(files.chakra.empty() && files.goal.empty()) && !scenario.workload.training) {
    throw ConfigError("--write-chakra, --write-goal: only training steps are programs; this scenario has none");
  }
  if (!files.measured.empty() && !scenario.workload.inference) {
    throw ConfigError("--measured: a serving benchmark stands beside inference; this scenario has none");
  }
  if (!scenario.workload.training_jobs.empty() && !outputs.timeline.empty()) {
    throw ConfigError("--timeline: several training jobs write none; run one of them");
  }
}

std::vector<measured::ServerRun> read_measured(const std::vector<std::string>& files) {
  std::vector<measured::ServerRun> runs;
  for (const std::string& file : files) {
    for (measured::ServerRun& run : measured::read_server_runs(file)) runs.push_back(std::move(run));
  }
  return runs;
}

// Names the items that the progress counts.
const char* counted_in(const work::Workload& workload) {
  if (workload.training || !workload.training_jobs.empty()) return "operations";
  if (workload.inference) return "requests";
  return workload.flows.empty() ? "collectives" : "flows";
}

// Prints the result up to what the run itself cost.
void print_run_result(const Report& report, const scenario::Scenario& scenario, const scenario::RunResult& result,
                      const std::string& costs) {
  if (result.interrupted) report.print("# interrupted: what follows is what was finished\n");
  if (result.training) print_training(report, *scenario.workload.training, *result.training);
  report.print(fmt::format("# {}  makespan {} ({} us)\n", what_ran(scenario.workload), short_time(result.makespan),
                           us_text(result.makespan)));
  if (!result.training_jobs.empty()) print_training_jobs(report, result.training_jobs);
  if (result.inference) print_inference(report, *scenario.workload.inference, *result.inference);
  if (!costs.empty()) report.print("#\n" + costs);
  if (!result.collectives.empty()) print_collectives(report, result);
  if (!result.flows.empty()) print_flows(report, scenario, result);
  print_rates(report, scenario, result);
  print_jobs(report, scenario, result);
  print_network(report, scenario.cluster.topology, result.network);
  print_links(report, result);
  for (const std::string& note : result.notes) report.print(fmt::format("# note: {}\n", printable(note)));
  if (!result.time_story.empty()) report.print(fmt::format("#\n# {}\n", result.time_story));
  report.print(fmt::format("#\n# digest {}\n", digest_text(result.digest)));
}

// The timeline of collectives or flows; that of a training step or of engines is written while it runs.
void write_run_timeline(const std::string& path, const scenario::Scenario& scenario, const scenario::RunResult& result,
                        const output::StepTimeline& steps, const Report& report) {
  write_file(path, [&](std::ostream& out) {
    if (scenario.workload.flows.empty()) {
      output::write_collective_timeline(out, result.collectives, result.counts, &steps);
    } else {
      output::write_flow_timeline(out, scenario.cluster.topology, scenario.workload.flows, result.flows);
    }
  });
  if (const std::string note = steps.note(); !note.empty()) report.print(fmt::format("# note: {}\n", printable(note)));
}

int run_run(const std::string& file, const RunOptions& files, const CostOptions& cost, const CommonOptions& options,
            net::PartProcesses* processes = nullptr) {
  const std::string& series = files.series;
  const scenario::Overrides overrides = to_overrides(options, true);
  const Outputs outputs = outputs_of(options, fmt::format("run_{}", std::filesystem::path{file}.stem().string()));
  claim_output("--series", series);
  claim_output("--write-goal", files.goal);
  claim_output_folder("--write-chakra", files.chakra);
  Diagnostics diagnostics;
  scenario::Scenario scenario = scenario::load_scenario(file, overrides, diagnostics);
  scenario.simulation.threads = processes == nullptr ? files.threads : 1;
  scenario.simulation.processes = processes;
  print_warnings(diagnostics, options);
  const plan::CostBooks books = load_books(cost);
  std::optional<plan::CostedCluster> costed;
  if (books.any()) costed = plan::cost_of(scenario.cluster.topology, books, &scenario.cluster.profile);
  check_outputs(files, outputs, scenario);
  const std::vector<measured::ServerRun> servers = read_measured(files.measured);

  const Report report{outputs};
  const Heading heading{"run", file, scenario.simulation.seed, scenario.simulation.grain,
                        net::to_string(scenario.simulation.fidelity)};
  report.print(heading_text(heading, scenario.cluster, options.verbose));
  const bool is_training = scenario.workload.training.has_value();
  const bool is_inference = scenario.workload.inference.has_value();
  const scenario::MemoryPlan memory = scenario::plan_memory(scenario);
  if (options.verbose) report.print(predicted_line(memory));
  scenario::check_memory(memory, memory_limit(files.memory));
  ProgressBar progress{counted_in(scenario.workload), options.quiet};
  scenario::RunResult result;
  output::StepTimeline steps;
  output::StepTimeline* const wanted_steps = outputs.timeline.empty() ? nullptr : &steps;
  const std::string stem = std::filesystem::path{file}.stem().string();
  const auto run = [&](work::ReplayObserver* next, work::ServingObserver* serving = nullptr) {
    const bool writes_program = !files.chakra.empty() || !files.goal.empty();
    ProgramExport exported{files, stem, next};
    result = scenario::run_scenario(scenario, &progress, writes_program ? &exported : next, wanted_steps, serving);
    exported.commit();
    for (const Diagnostic& finding : exported.findings()) result.notes.push_back(finding.message);
  };
  if (is_training && !outputs.timeline.empty()) {
    write_file(outputs.timeline, [&](std::ostream& out) {
      output::ReplayTimeline timeline{out};
      run(&timeline);
      timeline.finish();
    });
  } else if (is_inference && !outputs.timeline.empty()) {
    write_file(outputs.timeline, [&](std::ostream& out) {
      output::ServingTimeline timeline{out};
      run(nullptr, &timeline);
      timeline.finish();
      if (const std::string note = timeline.note(); !note.empty()) result.notes.push_back(note);
    });
  } else {
    run(nullptr);
  }
  std::optional<plan::RunCost> run_cost;
  if (costed && !result.interrupted) run_cost = plan::cost_of_run(*costed, scenario, result);
  print_run_result(report, scenario, result, run_cost ? run_cost_text(*costed, *run_cost) : "");
  std::vector<measured::ServerComparison> comparisons;
  for (const measured::ServerRun& server : servers) comparisons.push_back(measured::compare(server, *result.inference));
  for (const measured::ServerComparison& comparison : comparisons) print_server_comparison(report, comparison);
  report.print(provenance_text(heading, options.verbose));
  report.print(fmt::format("# {}\n", cost_text(result.events, result.transfers, result.wall_seconds)));
  if (options.verbose) {
    report.print(solver_line(result.solves, result.peak_live));
    if (result.network.is_packet) {
      report.print(fmt::format("# parts {}{}\n", result.parts,
                               result.why_one_part.empty() ? "" : fmt::format(" ({})", result.why_one_part)));
    }
    report.print(memory_line(memory, scenario.cluster.topology.endpoints().size()));
  }

  if (!outputs.json.empty()) {
    std::vector<std::string> warnings = warning_texts(diagnostics);
    warnings.insert(warnings.end(), result.notes.begin(), result.notes.end());
    const ResultHeader header{.command = "run",
                              .command_line = command_line(),
                              .seed = scenario.simulation.seed,
                              .configuration = scenario::run_configuration(scenario),
                              .profiles = {scenario::profile_statement(scenario.cluster)},
                              .warnings = std::move(warnings),
                              .digest = result.digest,
                              .interrupted = result.interrupted};
    write_file(outputs.json, [&](std::ostream& out) {
      output::write_run_result(out, header, scenario, result, run_cost ? &*costed : nullptr, run_cost.value_or(plan::RunCost{}),
                               comparisons);
    });
  }
  if (!series.empty()) {
    write_file(series, [&](std::ostream& out) { output::write_series_csv(out, result.network); });
  }
  if (!outputs.timeline.empty() && !is_training && !is_inference)
    write_run_timeline(outputs.timeline, scenario, result, steps, report);
  return result.interrupted ? kInterrupted : result.cut_short ? kCheckFailed : kOk;
}

// Does the share of a process that answers for nothing: the first one tells what is wrong with the scenario.
int help_run(const std::string& file, const CommonOptions& options, plan::Messenger& messenger) {
  plan::ProcessExchange processes{messenger};
  try {
    Diagnostics diagnostics;
    scenario::Scenario scenario = scenario::load_scenario(file, to_overrides(options, true), diagnostics);
    scenario.simulation.processes = &processes;
    ProgressBar unseen{counted_in(scenario.workload), true};
    static_cast<void>(scenario::run_scenario(scenario, &unseen));
  } catch (const net::ServedOthers&) {
    return kOk;
  } catch (const ConfigError&) {
    return kOk;  // the first process tells
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error in process {}: {}\n", messenger.rank(), error.what());
    messenger.abort(kOurBug);
    return kOurBug;
  }
  return kOk;
}

// One of several processes, which share the parts of a fabric of packets, with a thread each.
int run_several(const std::string& file, const RunOptions& files, const CostOptions& cost, const CommonOptions& options) {
  const std::unique_ptr<plan::Messenger> messenger = join_others();
  if (messenger == nullptr) return kBadInput;
  if (messenger->size() == 1) return run_run(file, files, cost, options);
  if (messenger->rank() > 0) return help_run(file, options, *messenger);
  plan::ProcessExchange processes{*messenger};
  return run_run(file, files, cost, options, &processes);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("run", "Simulates a scenario");
  const auto file = std::make_shared<std::string>();
  const auto options = std::make_shared<CommonOptions>();
  command->add_option("SCENARIO", *file, "Scenario file")->required();
  const auto files = std::make_shared<RunOptions>();
  add_memory_option(*command, files->memory);
  add_jobs_option(*command, files->threads);
  command->add_option("--series", files->series, "Write the series of `measure` as CSV, a column each")->type_name("FILE");
  command
      ->add_option("--write-chakra", files->chakra, "Write the training step as Chakra execution traces, a file for each rank")
      ->type_name("DIR");
  command->add_option("--write-goal", files->goal, "Write the training step as a GOAL schedule, collectives as their messages")
      ->type_name("FILE");
  command
      ->add_option("--measured", files->measured,
                   "What vllm bench serve or SGLang's bench_serving saved of a server: shown beside the prediction")
      ->allow_extra_args(false)
      ->type_name("FILE");
  const auto cost = std::make_shared<CostOptions>();
  add_cost_options(*command, *cost);
  add_common_options(*command, *options);
  command->callback([file, files, cost, options, &exit_code] {
    exit_code =
        plan::is_one_of_several() ? run_several(*file, *files, *cost, *options) : run_run(*file, *files, *cost, *options);
  });
}

}  // namespace weft::apps
