// weft validate: predicts every row of measured logs, and says how far off the predictions are.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/measured_logs.h"
#include "sim/apps/output.h"
#include "sim/apps/progress.h"
#include "sim/core/config/quantity.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/output_folder.h"
#include "sim/core/printable.h"
#include "sim/measured/predict.h"
#include "sim/measured/prediction_uncertainty.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/measured/validation_report.h"
#include "sim/output/report/validation_page.h"
#include "sim/output/validation_output.h"

namespace weft::apps {
namespace {

struct ValidateOptions {
  CommonOptions common;
  MeasuredLogs logs;
  std::string report;
  std::string max_median;
  std::string max_p95;
  std::string max_error;
  bool uncertainty = false;
};

// A bare number above 1 could be a share or a percentage, and is refused.
std::optional<double> limit(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto ratio = parse_ratio(text);
  if (!ratio || *ratio < 0 || (*ratio > 1 && text.find('%') == std::string::npos)) {
    throw ConfigError(fmt::format("{}: expected a share such as 5% or 0.05, got '{}'", option, text));
  }
  return ratio;
}

constexpr std::array kReportFiles = {"points.csv", "report.json", "report.md", "index.html"};

std::string in_report(const std::string& folder, std::size_t file) {
  return (std::filesystem::path{folder} / kReportFiles[file]).string();
}

// Before anything is simulated, so that a folder that cannot be is told at once.
void claim_report(const std::string& folder) {
  if (folder.empty()) return;
  claim_output_folder("--report", folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return;
  for (std::size_t i = 0; i < kReportFiles.size(); ++i) claim_output("--report", in_report(folder, i));
}

void write_report(const std::string& folder, const output::ValidationOutput& output) {
  OutputFolder files{folder};
  files.write(kReportFiles[0], [&](std::ostream& out) { output::write_points_csv(out, output.report); });
  files.write(kReportFiles[1], [&](std::ostream& out) { output::write_validation_result(out, output); });
  files.write(kReportFiles[2], [&](std::ostream& out) { output::write_validation_markdown(out, output); });
  files.write(kReportFiles[3], [&](std::ostream& out) { output::write_validation_page(out, output); });
  files.commit();
}

// The answer: how far off what was not fitted is.
std::string answer_line(const measured::ErrorSummary& summary) {
  if (summary.points == 0) return "no point counts: nothing is known of the error\n";
  return fmt::format("error  median {:.2f} %, 95th percentile {:.2f} %, largest {:.2f} %, of {} points that were not fitted\n",
                     100 * summary.median, 100 * summary.p95, 100 * summary.max, summary.points);
}

// With `verbose` each calibration in full.
std::string profile_lines(const net::Cluster& cluster, bool verbose) {
  const ProfileStatement statement = scenario::profile_statement(cluster);
  std::string text;
  if (!statement.file.empty()) text += fmt::format("# profile file {}\n", statement.file);
  const std::vector<std::string> calibrations = output::calibration_lines(cluster.profile);
  if (verbose) {
    for (const std::string& line : calibrations) text += fmt::format("# calibration {}\n", line);
  } else if (!calibrations.empty()) {
    text += fmt::format("# {} calibration{} of the profile: -v tells each\n", calibrations.size(),
                        calibrations.size() == 1 ? "" : "s");
  }
  if (calibrations.empty()) text += "# the profile was fitted on no measurement: no point is training\n";
  return text;
}

struct Measured {
  measured::MeasurementSet set;
  std::vector<measured::KernelLog> kernels;
};

struct Totals {
  Digest digest;
  std::uint64_t events = 0;
  std::uint64_t transfers = 0;
  bool interrupted = false;
  std::vector<std::string> notes;
};

void take(measured::Predictions predictions, const std::string& file, measured::ValidationReport& report, Totals& totals) {
  totals.digest.add(predictions.digest);
  totals.events += predictions.events;
  totals.transfers += predictions.transfers;
  for (const std::string& note : predictions.notes) {
    const std::string text = fmt::format("{}: {}", file, note);
    if (std::ranges::find(totals.notes, text) == totals.notes.end()) totals.notes.push_back(text);
  }
  report.points.insert(report.points.end(), predictions.points.begin(), predictions.points.end());
  totals.interrupted = predictions.interrupted;
}

std::uint64_t rows_of(const measured::MeasurementSet& set) {
  std::uint64_t rows = 0;
  for (const measured::Measurement& measurement : set.measurements) rows += measurement.log.rows.size();
  return rows;
}

// Counts the rows on in `options`.
measured::ValidationReport predict_collectives(const net::Cluster& cluster, const measured::MeasurementSet& set,
                                               measured::PredictOptions& options, Totals& totals) {
  measured::ValidationReport report;
  for (const measured::Measurement& measurement : set.measurements) {
    take(measured::predict(cluster, measurement, options), measurement.file, report, totals);
    options.rows_before += measurement.log.rows.size();
    if (totals.interrupted) break;
  }
  return report;
}

// Kernels, copies, overlap: whatever is no collective.
void predict_others(const net::Cluster& cluster, const Measured& measured, const measured::PredictOptions& options,
                    measured::ValidationReport& report, Totals& totals) {
  for (const measured::PointLog& log : measured.set.points) {
    if (totals.interrupted) return;
    take(measured::predict_points(cluster, log, options), log.file, report, totals);
  }
  for (const measured::KernelLog& log : measured.kernels) {
    const std::vector<measured::ValidationPoint> points = measured::predict_kernels(cluster.profile, log);
    report.points.insert(report.points.end(), points.begin(), points.end());
  }
}

measured::ValidationReport predict_all(const net::Cluster& cluster, const Measured& measured, measured::PredictOptions options,
                                       Totals& totals) {
  measured::ValidationReport report = predict_collectives(cluster, measured.set, options, totals);
  predict_others(cluster, measured, options, report, totals);
  return report;
}

// Collectives lie in a layer below kernels and know none of their parameters.
bool acts_on_collectives(std::string_view parameter) { return !parameter.starts_with("gpu."); }

// How often all rows are predicted anew for their uncertainty.
std::uint64_t uncertain_times(const net::Cluster& cluster) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(measured::uncertain_parameters(cluster.profile), acts_on_collectives));
}

// False where the user stopped it.
bool add_uncertainty(const net::Cluster& cluster, const Measured& measured, measured::PredictOptions options,
                     std::vector<measured::ValidationPoint>& points) {
  options.rows_before = rows_of(measured.set);
  const auto first_other =
      std::ranges::find_if(points, [](const measured::ValidationPoint& point) { return point.kind != "collective"; });
  const std::vector<measured::ValidationPoint> collectives{points.begin(), first_other};
  const auto predict = [&](const net::Cluster& moved,
                           std::string_view parameter) -> std::optional<std::vector<measured::ValidationPoint>> {
    Totals totals;
    measured::ValidationReport report;
    if (acts_on_collectives(parameter)) {
      report = predict_collectives(moved, measured.set, options, totals);
    } else {
      report.points = collectives;
    }
    predict_others(moved, measured, options, report, totals);
    if (totals.interrupted) return std::nullopt;
    return std::move(report.points);
  };
  return measured::add_uncertainty(cluster, predict, points);
}

int run_validate(const ValidateOptions& options) {
  const scenario::Overrides overrides = to_overrides(options.common);
  const measured::ErrorLimits limits{.max_median = limit("--max-median", options.max_median),
                                     .max_p95 = limit("--max-p95", options.max_p95),
                                     .max_error = limit("--max-error", options.max_error)};
  const measured::PredictOptions predict = predict_options(overrides);
  if (!options.common.timeline.empty()) throw ConfigError("--timeline: a validation has no timeline");
  const Outputs outputs = outputs_of(options.common, "validate");
  claim_report(options.report);

  MeasuredLogs logs = options.logs;
  std::erase_if(logs.files, measured::is_kernel_log);
  Measured measured;
  for (const std::string& file : options.logs.files) {
    if (measured::is_kernel_log(file)) measured.kernels.push_back(measured::read_kernel_log(file));
  }
  measured.set = read_logs(logs, options.common);
  Diagnostics diagnostics;
  const net::Cluster cluster = load_cluster(options.logs, measured.set, options.common, overrides, diagnostics);

  const Report table{outputs};
  const Heading heading{"validate", options.logs.cluster, predict.seed, predict.grain};
  table.print(heading_text(heading, cluster, options.common.verbose));

  ProgressBar progress{"rows", options.common.quiet};
  Totals totals;
  measured::PredictOptions watched = predict;
  watched.observer = &progress;
  watched.rows_total = rows_of(measured.set);
  if (options.uncertainty) watched.rows_total *= 1 + uncertain_times(cluster);
  const auto wall_begin = std::chrono::steady_clock::now();
  measured::ValidationReport report = predict_all(cluster, measured, watched, totals);
  if (options.uncertainty && !totals.interrupted)
    totals.interrupted = !add_uncertainty(cluster, measured, watched, report.points);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
  progress.wipe();

  table.print(fmt::format("{}#\n{}#\n{}", answer_line(report.summary()), measured::summary_table(report),
                          measured::points_table(report)));
  if (totals.interrupted) table.print("# interrupted: the logs were not predicted to their end\n");
  const std::vector<std::string> missed = report.missed(limits);
  const bool has_limits = limits.max_median || limits.max_p95 || limits.max_error;
  if (has_limits) table.print(missed.empty() ? "# within the limits\n" : "# over the limits\n");
  for (const std::string& note : totals.notes) table.print(fmt::format("# note: {}\n", printable(note)));
  table.print(profile_lines(cluster, options.common.verbose));
  table.print(provenance_text(heading, options.common.verbose));
  table.print(
      fmt::format("# digest {}  {}\n", digest_text(totals.digest.value()), cost_text(totals.events, totals.transfers, wall)));
  for (const std::string& text : missed) std::fputs(fmt::format("failed: {}\n", printable_lines(text)).c_str(), stderr);

  std::vector<std::string> warnings = warning_texts(diagnostics);
  warnings.insert(warnings.end(), totals.notes.begin(), totals.notes.end());
  const ResultHeader header{.command = "validate",
                            .command_line = command_line(),
                            .seed = predict.seed,
                            .configuration = output::validation_configuration(cluster, measured.set.measurements, predict),
                            .profiles = {scenario::profile_statement(cluster)},
                            .warnings = std::move(warnings),
                            .digest = totals.digest.value(),
                            .interrupted = totals.interrupted};
  const output::ValidationOutput output{header, cluster, report, missed};
  if (!outputs.json.empty()) {
    write_file(outputs.json, [&](std::ostream& out) { output::write_validation_result(out, output); });
  }
  if (!options.report.empty()) write_report(options.report, output);
  if (totals.interrupted) return kInterrupted;
  return missed.empty() ? kOk : kCheckFailed;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "validate", "Predicts every point of measured files (collectives, kernels, copies, overlap), and shows the error");
  const auto options = std::make_shared<ValidateOptions>();
  add_measured_logs(*command, options->logs);
  const auto text = [&](const char* name, std::string& value, const char* help, const char* form) {
    return command->add_option(name, value, help)->type_name(form);
  };
  text("--report", options->report, "Folder to write a page (index.html), report.md, report.json and points.csv to", "DIR");
  text("--max-median", options->max_median, "Exit with 1 if the median error is above this: 5%", "SHARE");
  text("--max-p95", options->max_p95, "Exit with 1 if the 95th percentile is above this", "SHARE");
  text("--max-error", options->max_error, "Exit with 1 if any error is above this", "SHARE");
  command->add_flag("--uncertainty", options->uncertainty,
                    "Say how well the profile's calibrations know each prediction (a run for each fitted parameter)");
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_validate(*options); });
}

}  // namespace weft::apps
