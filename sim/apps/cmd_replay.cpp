// weft replay: a recorded step again, as it was or on other hardware.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/print_memory.h"
#include "sim/apps/print_training.h"
#include "sim/apps/progress.h"
#include "sim/apps/table.h"
#include "sim/apps/trace_options.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/output/replay_json.h"
#include "sim/output/replay_timeline.h"
#include "sim/scenario/replay_run.h"
#include "sim/scenario/unprofiled.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::apps {
namespace {

struct ReplayOptions {
  CommonOptions common;
  std::vector<std::string> files;
  std::string cluster;
  work::TraceReadOptions reading;
  std::string max_error;
  std::string unprofiled;
  bool as_recorded = false;
  int repeat = 1;
  std::string memory;
  scenario::ReplayRunOptions run;
};

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

void check(const ReplayOptions& options) {
  if (options.cluster.empty()) throw ConfigError("replay needs --cluster: the cluster to replay on");
  if (options.run.scale_compute <= 0 || !std::isfinite(options.run.scale_compute))
    throw ConfigError("--scale-compute: expected a factor above 0");
  if (options.run.scale_host < 0 || !std::isfinite(options.run.scale_host))
    throw ConfigError("--scale-host: expected a factor of 0 or more");
  if (options.repeat < 1) throw ConfigError("--repeat: expected 1 or more iterations");
  if (options.run.replicas < 1) throw ConfigError("--replicas: expected 1 or more copies");
  const bool changed =
      !options.run.gpu.empty() || options.run.scale_compute != 1 || options.run.scale_host != 1 || options.run.replicas > 1;
  if (options.as_recorded && changed) {
    throw ConfigError(
        "--as-recorded replays the ranks and kernels as they were: not together with --gpu, --scale-compute, --scale-host or "
        "--replicas");
  }
  if (!options.unprofiled.empty() && (changed || options.as_recorded)) {
    throw ConfigError(
        "--unprofiled finds what --scale-host has to be for the hardware of the trace: not together with --as-recorded, --gpu, "
        "--scale-compute, --scale-host or --replicas");
  }
  if (!options.max_error.empty() && !options.as_recorded) throw ConfigError("--max-error: only with --as-recorded");
}

// "5%" or "0.05".
double tolerance_of(const std::string& text) {
  const std::optional<double> share = parse_ratio(text);
  if (share && *share >= 0) return *share;
  throw ConfigError("--max-error: expected a share such as 5%");
}

// "95" (milliseconds) or "95 ms".
Duration unprofiled_step(const std::string& text) {
  const std::optional<double> plain = parse_number(text);
  const std::optional<Duration> step = plain ? parse_duration(text + " ms") : parse_duration(text);
  if (step && *step > Duration{}) return *step;
  throw ConfigError("--unprofiled: expected the time of a step without the profiler, such as 95 ms");
}

void print_figures(const Report& report, const scenario::ReplayRunResult& result, bool as_recorded) {
  report.print(fmt::format("#\n# where it goes, median over ranks{}\n",
                           as_recorded ? "" : "; traced: on the hardware it was recorded on"));
  Table table;
  table.add_column("what", Table::Align::kLeft);
  for (const char* title : {"traced (ms)", "predicted (ms)", "difference"}) table.add_column(title);
  for (const scenario::ReplayFigure& figure : result.figures) {
    if (figure.traced == Duration{} && figure.predicted == Duration{}) continue;
    std::string name = figure.name == "nccl" ? "NCCL busy" : figure.name == "exposed_nccl" ? "NCCL exposed" : figure.name;
    table.add_row({std::move(name), milliseconds(figure.traced), milliseconds(figure.predicted),
                   figure.traced > Duration{} ? signed_percent(figure.error()) : "-"});
  }
  report.print(table.text());
}

void print_calls(const Report& report, const scenario::ReplayRunResult& result) {
  if (result.calls.empty()) return;
  report.print("#\n# collectives and messages, median of the calls once all ranks are there\n");
  Table table;
  table.add_column("kind", Table::Align::kLeft);
  for (const char* title : {"ranks", "size (B)", "calls", "traced (us)", "predicted (us)", "difference"})
    table.add_column(title);
  for (const scenario::ReplayCalls& call : result.calls) {
    const bool both = call.traced > Duration{} && call.predicted > Duration{};
    table.add_row({call.kind, std::to_string(call.ranks), size_text(call.bytes), std::to_string(call.count),
                   call.traced > Duration{} ? fmt::format("{:.1f}", call.traced.us()) : "-",
                   fmt::format("{:.1f}", call.predicted.us()),
                   both ? signed_percent(call.predicted.seconds() / call.traced.seconds() - 1) : "-"});
  }
  report.print(table.text());
}

void print_result(const Report& report, const scenario::ReplayRunResult& result, const ReplayOptions& options) {
  if (result.run.interrupted) report.print("# interrupted: what follows is what was finished\n");
  if (result.run.replay.iterations.empty()) return;
  if (result.run.replay.iterations.size() > 1) report.print(iterations_line(result.run.replay));
  report.print(fmt::format(
      "#\npredicted step   {} ms{}\n", milliseconds(result.iteration),
      result.run.replay.iterations.size() > 1
          ? fmt::format("  (the last of {}; all {} ms)", result.run.replay.iterations.size(), milliseconds(result.run.makespan))
          : ""));
  if (result.traced_step) {
    const double ratio = result.iteration.seconds() / std::max(1e-12, result.traced_step->seconds());
    report.print(fmt::format("traced step      {} ms  ({})\n", milliseconds(*result.traced_step),
                             options.as_recorded ? "error of the prediction " + signed_percent(ratio - 1)
                                                 : fmt::format("predicted {:.2f} times that", ratio)));
  }
  print_figures(report, result, options.as_recorded);
  print_calls(report, result);
  report.print(fmt::format("#\n# critical path: {}\n", critical_path_text(result.critical, 3)));
  if (result.traced_step && result.host_held) report.print(host_line(*result.host_held, *result.traced_step));
  if (result.host_bound) {
    report.print(
        "# host-bound: the largest part of the critical path is the host's, which a profiler slows; --scale-host or "
        "--unprofiled "
        "takes that out\n");
  }
  report.print("#\n# hottest links\n");
  Table table;
  table.add_column("link", Table::Align::kLeft);
  for (const char* title : {"bytes", "utilization"}) table.add_column(title);
  for (std::size_t i = 0; i < std::min<std::size_t>(result.run.hottest.size(), 4); ++i) {
    const scenario::LinkUse& link = result.run.hottest[i];
    table.add_row({link.name, fmt::format("{:.0f}", link.bytes), fmt::format("{:.1f} %", 100 * link.utilization)});
  }
  report.print(table.text());
}

int run_replay(const ReplayOptions& options) {
  check(options);
  const double tolerance = options.max_error.empty() ? -1 : tolerance_of(options.max_error);
  const scenario::Overrides overrides = to_overrides(options.common);
  const Outputs outputs = outputs_of(options.common, "replay");
  Diagnostics diagnostics;
  const net::Cluster cluster = scenario::load_cluster(options.cluster, overrides, diagnostics);
  const std::vector<std::filesystem::path> files{options.files.begin(), options.files.end()};
  work::Trace trace = work::read_trace(files, options.reading);
  for (const Diagnostic& finding : trace.findings) diagnostics.warning(finding);
  print_warnings(diagnostics, options.common);
  if (options.as_recorded && !trace.recorded_step) {
    throw ConfigError(fmt::format("--as-recorded: traces of format '{}' record no times to compare with", trace.format));
  }

  scenario::ReplayRunOptions run = options.run;
  if (overrides.seed) run.simulation.seed = *overrides.seed;
  if (overrides.grain) run.simulation.grain = *overrides.grain;
  if (overrides.fidelity) run.simulation.fidelity = *overrides.fidelity;
  if (overrides.shuffle_ties) run.simulation.shuffle_ties = *overrides.shuffle_ties;
  run.simulation.iterations = options.repeat;
  run.nccl = scenario::nccl_settings(cluster, overrides);
  run.memory = memory_limit(options.memory);
  if (!options.unprofiled.empty()) {
    run.scale_host = scenario::unprofiled_host_factor(cluster, trace, run, unprofiled_step(options.unprofiled));
  }
  const Report report{outputs};
  const Heading heading{"replay", options.files.front(), run.simulation.seed, run.simulation.grain};
  report.print(heading_text(heading, cluster, options.common.verbose));
  ProgressBar progress{"operations", options.common.quiet};
  scenario::ReplayRunResult result;
  const auto begin = std::chrono::steady_clock::now();
  if (outputs.timeline.empty()) {
    result = scenario::run_replay(cluster, trace, run, &progress);
  } else {
    write_file(outputs.timeline, [&](std::ostream& out) {
      output::ReplayTimeline timeline{out};
      result = scenario::run_replay(cluster, trace, run, &progress, &timeline);
      timeline.finish();
    });
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!options.unprofiled.empty()) {
    result.notes.push_back(fmt::format("without the profiler the host takes {:.4g} times as long: --scale-host {:.4g}",
                                       run.scale_host, run.scale_host));
  }
  for (const std::string& note : result.notes) report.print(fmt::format("# note: {}\n", printable(note)));
  report.print(fmt::format("# {} trace, {} rank{}, {} simulated{}\n", trace.format, result.ranks, result.ranks == 1 ? "" : "s",
                           result.simulated, trace.recorded_gpu.empty() ? "" : ", recorded on " + trace.recorded_gpu));
  print_result(report, result, options);
  report.print(fmt::format("#\n# digest {}\n", digest_text(result.run.digest)));
  report.print(provenance_text(heading, options.common.verbose));
  report.print(fmt::format("# {}\n", cost_text(result.run.events, result.run.transfers, wall)));
  if (options.common.verbose) {
    report.print(predicted_line(result.memory));
    report.print(memory_line(result.memory, cluster.topology.endpoints().size()));
  }
  if (!outputs.json.empty()) {
    std::vector<std::string> warnings = warning_texts(diagnostics);
    warnings.insert(warnings.end(), result.notes.begin(), result.notes.end());
    const ResultHeader header{.command = "replay",
                              .command_line = command_line(),
                              .seed = run.simulation.seed,
                              .configuration = cluster.resolved.to_json(),
                              .profiles = {scenario::profile_statement(cluster)},
                              .warnings = std::move(warnings),
                              .digest = result.run.digest,
                              .interrupted = result.run.interrupted};
    write_file(outputs.json, [&](std::ostream& out) { output::write_replay_result(out, header, trace, result, wall); });
  }
  if (result.run.interrupted) return kInterrupted;
  if (tolerance >= 0 && result.traced_step) {
    const double error = result.iteration.seconds() / result.traced_step->seconds() - 1;
    if (std::abs(error) > tolerance) {
      fmt::print(stderr, "replay: the step is off by {}, more than {}\n", signed_percent(error), options.max_error);
      return kCheckFailed;
    }
  }
  return kOk;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("replay", "Replays traces of a job, as they were recorded or on other hardware");
  const auto options = std::make_shared<ReplayOptions>();
  command->add_option("TRACES", options->files, "Trace files of all ranks, or a folder of them")->required()->type_name("FILE");
  command->add_option("--cluster", options->cluster, "Cluster to replay on")->type_name("FILE");
  command->add_flag("--as-recorded", options->as_recorded, "Same hardware: compare the predicted step with the traced one");
  command->add_option("--max-error", options->max_error, "With --as-recorded: exit 1 where the step is off by more, such as 5%")
      ->type_name("SHARE");
  command->add_option("--map", options->run.map, "GPU of each rank, in the cluster's order; else rank r on GPU r")
      ->type_name("N")
      ->delimiter(',');
  command->add_option("--scale-compute", options->run.scale_compute, "Compute kernels take F times as long")->type_name("F");
  command->add_option("--scale-host", options->run.scale_host, "The host takes F times as long between launches, as unprofiled")
      ->type_name("F");
  command
      ->add_option("--unprofiled", options->unprofiled,
                   "Time of a step without the profiler, on this hardware: finds --scale-host")
      ->type_name("MS");
  command->add_option("--gpu", options->run.gpu, "Compute kernels as on this GPU, by class (weft explain kernels)")
      ->type_name("NAME");
  command->add_option("--repeat", options->repeat, "Replay so many iterations, one after another")->type_name("N");
  command->add_flag("!--no-skip", options->run.simulation.skip, "Run every iteration, those too that repeat others exactly");
  add_jobs_option(*command, options->run.simulation.threads);
  command->add_option("--replicas", options->run.replicas, "Copies of the job, data parallel to each other")->type_name("N");
  command->add_option("--across", options->run.across, "Groups that reach over the copies; else those of all ranks")
      ->type_name("GROUP");
  command->add_flag("--keep-start-skew", options->run.keep_start_skew, "Ranks begin as late after each other as recorded");
  add_trace_options(*command, options->reading);
  add_memory_option(*command, options->memory);
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_replay(*options); });
}

}  // namespace weft::apps
