// weft trace info: what a trace says by itself. weft trace convert: a trace, or a generated step, for other simulators. weft
// trace kernels: durations of its kernels, for weft calibrate.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/table.h"
#include "sim/apps/trace_options.h"
#include "sim/core/error.h"
#include "sim/measured/traced_kernels.h"
#include "sim/network/gpu_spec.h"
#include "sim/output/replay_json.h"
#include "sim/scenario/recompute_as_needed.h"
#include "sim/scenario/step_program.h"
#include "sim/workloads/trace/trace_format.h"
#include "sim/workloads/trace/trace_summary.h"
#include "sim/workloads/trace/writers/trace_writer.h"

namespace weft::apps {
namespace {

struct InfoOptions {
  CommonOptions common;
  std::vector<std::string> files;
  work::TraceReadOptions reading;
};

void print_calls(const Report& report, const work::TraceSummary& summary) {
  if (summary.calls.empty()) return;
  report.print("#\n# collectives and messages; times: of the rank that waited least\n");
  Table table;
  table.add_column("kind", Table::Align::kLeft);
  for (const char* title : {"ranks", "size (B)", "calls"}) table.add_column(title);
  if (summary.has_times) {
    for (const char* title : {"shortest (us)", "median (us)", "longest (us)"}) table.add_column(title);
  }
  for (const work::RecordedCalls& call : summary.calls) {
    std::vector<std::string> row{call.kind, std::to_string(call.ranks), size_text(call.bytes), std::to_string(call.count)};
    if (summary.has_times) {
      for (const Duration time : {call.shortest, call.median, call.longest}) row.push_back(fmt::format("{:.1f}", time.us()));
    }
    table.add_row(std::move(row));
  }
  report.print(table.text());
}

void print_ranks(const Report& report, const work::TraceSummary& summary) {
  report.print(fmt::format("#\n# ranks{}\n", summary.ranks.size() > kRanksShown ? ", the first ones" : ""));
  Table table;
  table.add_column("rank");
  table.add_column("operations");
  if (summary.has_times) {
    for (const char* title :
         {"span (ms)", "compute (ms)", "gemm", "attention", "other", "optimizer", "communication (ms)", "exposed", "overlap"}) {
      table.add_column(title);
    }
  }
  for (std::size_t i = 0; i < std::min(summary.ranks.size(), kRanksShown); ++i) {
    const work::RecordedRank& rank = summary.ranks[i];
    std::vector<std::string> row{std::to_string(rank.rank), std::to_string(rank.operations)};
    if (summary.has_times) {
      row.push_back(milliseconds(rank.span));
      row.push_back(milliseconds(rank.compute));
      for (std::size_t c = 0; c < 4; ++c) row.push_back(milliseconds(rank.busy[c]));
      row.push_back(milliseconds(rank.communication));
      row.push_back(milliseconds(rank.exposed));
      const double hidden = rank.communication > Duration{} ? 1 - rank.exposed.seconds() / rank.communication.seconds() : 0;
      row.push_back(fmt::format("{:.0f} %", 100 * hidden));
    }
    table.add_row(std::move(row));
  }
  report.print(table.text());
}

int run_info(const InfoOptions& options) {
  const Outputs outputs = outputs_of(options.common, "trace_info");
  const std::vector<std::filesystem::path> files{options.files.begin(), options.files.end()};
  const work::Trace trace = work::read_trace(files, options.reading);
  const work::TraceSummary summary = work::summarize(trace);
  Diagnostics findings;
  for (const Diagnostic& finding : trace.findings) findings.warning(finding);
  print_warnings(findings, options.common);
  const Report report{outputs};
  report.print(fmt::format(
      "# {} trace: {} rank{}{}, {} operations, {}{}\n", trace.format, trace.program.ranks.size(),
      trace.program.ranks.size() == 1 ? "" : "s",
      summary.ranks.size() < trace.program.ranks.size() ? fmt::format(" ({} traced)", summary.ranks.size()) : "",
      summary.operations,
      trace.recorded_iterations == 1 ? "one iteration"
                                     : fmt::format("{} iterations, of which one follows", trace.recorded_iterations),
      trace.recorded_gpu.empty() ? "" : ", on " + trace.recorded_gpu));
  if (trace.recorded_step) report.print(fmt::format("# step {} ms\n", milliseconds(*trace.recorded_step)));
  if (trace.recorded_step && trace.host_held) report.print(host_line(*trace.host_held, *trace.recorded_step));
  if (!summary.has_times) report.print("# no times are recorded in this format\n");
  print_calls(report, summary);
  print_ranks(report, summary);
  if (!outputs.json.empty()) {
    write_file(outputs.json, [&](std::ostream& out) { output::write_trace_summary(out, trace, summary); });
  }
  return kOk;
}

struct ConvertOptions {
  CommonOptions common;
  std::vector<std::string> files;
  std::vector<std::string> to;  // format, and where
  work::TraceReadOptions reading;
};

bool is_scenario(const std::vector<std::string>& files) {
  const std::string extension = std::filesystem::path{files.front()}.extension().string();
  return files.size() == 1 && (extension == ".yaml" || extension == ".yml");
}

// The training step of a scenario, as `weft run` would run it.
work::Trace generated_step(const ConvertOptions& options, Diagnostics& findings) {
  const scenario::Scenario scenario = scenario::load_scenario(options.files.front(), to_overrides(options.common), findings);
  if (!scenario.workload.training) {
    throw ConfigError(fmt::format("{}: only training steps are programs; this scenario has none", options.files.front()));
  }
  std::vector<std::string> notes;
  work::Trace trace;
  trace.program =
      scenario::step_program(scenario, scenario::with_needed_recomputation(scenario, *scenario.workload.training), notes);
  trace.full_clock = true;
  for (std::string& note : notes) findings.warning({.where = {}, .message = std::move(note), .source_line = {}, .note = {}});
  return trace;
}

// "traces/" and "step.yaml" are named after themselves, a file of one rank after what stands before its first dot.
std::string stem_of(const std::string& file) {
  std::filesystem::path path{file};
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.substr(0, std::max<std::size_t>(1, std::min(name.find('.'), name.size())));
}

int run_convert(const ConvertOptions& options) {
  const std::string& format = options.to.at(0);
  const std::string& out = options.to.at(1);
  const work::TraceWriter& writer = work::trace_writer(format);
  if (writer.to_folder != nullptr) {
    claim_output_folder("--to", out);
  } else {
    claim_output("--to", out);
  }
  Diagnostics findings;
  work::Trace trace;
  if (is_scenario(options.files)) {
    trace = generated_step(options, findings);
  } else {
    if (!options.common.sets.empty() || !options.common.profile.empty())
      throw ConfigError("--set, --profile: they are for scenarios; a trace is converted as it is");
    trace = work::read_trace(std::vector<std::filesystem::path>{options.files.begin(), options.files.end()}, options.reading);
    for (const Diagnostic& finding : trace.findings) findings.warning(finding);
  }
  work::WrittenTrace written;
  if (writer.to_folder != nullptr) {
    written = writer.to_folder(trace, out, stem_of(options.files.front()));
  } else {
    write_file(out, [&](std::ostream& to) { written = writer.to_file(trace, to); });
  }
  for (const Diagnostic& finding : written.findings) findings.warning(finding);
  print_warnings(findings, options.common);
  if (!is_standard_output(out)) {
    say("# {}: {} ranks, {} operations, as {}\n", out, trace.program.ranks.size(), written.operations, writer.written);
  }
  return kOk;
}

std::string written_formats() {
  std::string text;
  for (const work::TraceWriter* writer : work::trace_writers()) {
    text +=
        fmt::format("{}{} and a {}", text.empty() ? "" : ", ", writer->name, writer->to_folder != nullptr ? "folder" : "file");
  }
  return text;
}

void add_convert(CLI::App& command, int& exit_code) {
  CLI::App* convert = command.add_subcommand("convert", "Writes a trace, or a scenario's training step, for other simulators");
  const auto options = std::make_shared<ConvertOptions>();
  convert->add_option("FILES", options->files, "Trace files of all ranks, a folder of them, or a scenario")
      ->required()
      ->type_name("FILE");
  convert
      ->add_option("--to", options->to,
                   fmt::format("Format and where to: {}; - is standard output in place of a file", written_formats()))
      ->required()
      ->expected(2)
      ->type_name("FORMAT OUT");
  add_trace_options(*convert, options->reading);
  convert->add_option("--set", options->common.sets, "Of a scenario: replace a value, by its key path")
      ->allow_extra_args(false)
      ->type_name("KEY.PATH=VALUE");
  convert->add_option("--profile", options->common.profile, "Of a scenario: profile in place of the one its cluster names")
      ->type_name("FILE");
  convert->add_flag("--quiet,-q", options->common.quiet, "No warnings");
  convert->callback([options, &exit_code] { exit_code = run_convert(*options); });
}

struct KernelOptions {
  std::vector<std::string> files;
  std::string gpu;
  std::string out = "-";
  work::TraceReadOptions reading;
};

int run_kernels(const KernelOptions& options) {
  claim_output("-o", options.out);
  const net::GpuSpec& gpu = net::gpu_spec(options.gpu);
  const std::vector<std::filesystem::path> files{options.files.begin(), options.files.end()};
  std::ostringstream text;
  const measured::TracedKernels told = measured::write_traced_kernels(text, files, std::string{gpu.name}, options.reading);
  write_file(options.out, [&](std::ostream& out) { out << text.str(); });
  if (!is_standard_output(options.out)) {
    say("# {}: {} rows of {} kernels; {} kernels of no known shape and {} launched by no operator are left out\n", options.out,
        told.rows, told.kernels, told.left_out, told.launched_by_none);
  }
  return kOk;
}

void add_kernels(CLI::App& command, int& exit_code) {
  CLI::App* kernels = command.add_subcommand("kernels", "Durations of kernels with their shapes, for weft calibrate");
  const auto options = std::make_shared<KernelOptions>();
  kernels->add_option("FILES", options->files, "PyTorch profiles with shapes, of all ranks of one step")
      ->required()
      ->type_name("FILE");
  kernels->add_option("--gpu", options->gpu, "The GPU that they ran on: a name of weft list gpus, or a file")
      ->required()
      ->type_name("NAME");
  kernels->add_option("-o,--output", options->out, "Where to; - is standard output")->type_name("FILE");
  kernels->callback([options, &exit_code] { exit_code = run_kernels(*options); });
}

}  // namespace

void add_trace(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("trace", "Looks into traces and workload files of other tools");
  command->require_subcommand(1);
  CLI::App* info = command->add_subcommand("info", "Ranks, duration, collectives, compute and communication of a trace");
  const auto options = std::make_shared<InfoOptions>();
  info->add_option("FILES", options->files, "Trace files of all ranks, or a folder of them")->required()->type_name("FILE");
  add_trace_options(*info, options->reading);
  info->add_option("--json", options->common.json, "Write the figures as JSON; - is stdout")->type_name("FILE");
  info->add_flag("--quiet", options->common.quiet, "No warnings");
  info->callback([options, &exit_code] { exit_code = run_info(*options); });
  add_convert(*command, exit_code);
  add_kernels(*command, exit_code);
}

}  // namespace weft::apps
