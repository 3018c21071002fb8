// weft calibrate: fits parameters of a profile to measured logs, of collectives or of kernels, and writes the profile.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/measured_logs.h"
#include "sim/apps/output.h"
#include "sim/apps/progress.h"
#include "sim/apps/table.h"
#include "sim/core/config/quantity.h"
#include "sim/core/config/shipped_file.h"
#include "sim/core/error.h"
#include "sim/core/json_writer.h"
#include "sim/core/printable.h"
#include "sim/measured/fit/calibrate.h"
#include "sim/measured/fit/sample.h"
#include "sim/measured/kernel_points.h"
#include "sim/measured/predict.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/output/validation_output.h"
#include "sim/scenario/catalog.h"

namespace weft::apps {
namespace {

struct CalibrateOptions {
  CommonOptions common;
  MeasuredLogs logs;
  std::string keys;
  std::string sizes;
  std::string train;
  double prior = 0;
  std::string output;
  std::string products;
  std::string validate_from;
  std::string name;
  std::string description;
  std::string id;
  std::string date;
  bool keep_bounds = false;
};

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string item = text.substr(begin, end - begin);
    item.erase(0, item.find_first_not_of(' '));
    item.erase(item.find_last_not_of(' ') + 1);
    if (!item.empty()) items.push_back(std::move(item));
    begin = end + 1;
  }
  return items;
}

Bytes size_of(const char* option, const std::string& text) {
  if (const auto size = parse_size(text)) return *size;
  throw ConfigError(fmt::format("{}: expected a size such as 64M or 4G, got '{}'", option, text));
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

void check_date(const std::string& date) {
  bool ok = date.size() == 10;
  for (std::size_t i = 0; ok && i < date.size(); ++i) {
    ok = i == 4 || i == 7 ? date[i] == '-' : date[i] >= '0' && date[i] <= '9';
  }
  const int month = ok ? (date[5] - '0') * 10 + (date[6] - '0') : 0;
  const int day = ok ? (date[8] - '0') * 10 + (date[9] - '0') : 0;
  if (!ok || month < 1 || month > 12 || day < 1 || day > 31) {
    throw ConfigError(fmt::format("--date: expected a day such as 2025-11-21, got '{}'", date));
  }
}

// A cluster may name the profile that is to be written here for the first time; the fit then starts from the declared defaults.
bool names_output(const std::string& cluster, const std::string& output) {
  const auto named = ConfigNode::load_file(file_or_shipped(cluster, "clusters"), "cluster").find("profile");
  if (!named || !named->is_scalar()) return false;
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::path{named->file()}.parent_path() / named->scalar();
  if (std::filesystem::exists(path, ignored)) return false;
  return std::filesystem::weakly_canonical(path, ignored) == std::filesystem::weakly_canonical(output, ignored);
}

std::string spread_text(const measured::FittedParameter& parameter) {
  if (!parameter.determined || !std::isfinite(parameter.relative_sd)) return "not known";
  return parameter.relative_sd > 9.99 ? std::string{"> 999 %"} : fmt::format("{:.1f} %", 100 * parameter.relative_sd);
}

std::string parameters_text(const std::vector<measured::CalibrationFit>& fits) {
  Table table;
  table.add_column("parameter", Table::Align::kLeft);
  for (const char* name : {"before", "after", "std error"}) table.add_column(name);
  for (const measured::CalibrationFit& fit : fits) {
    for (const measured::FittedParameter& parameter : fit.parameters)
      table.add_row({parameter.key, to_string(parameter.before), to_string(parameter.after), spread_text(parameter)});
  }
  return table.text();
}

// "median error 1.2 % (before 3.4 %), max 5.6 % (before 7.8 %)"
std::string errors_text(const measured::ErrorSummary& after, const measured::ErrorSummary& before) {
  return fmt::format("median error {} (before {}), max {} (before {})", percent(after.median), percent(before.median),
                     percent(after.max), percent(before.max));
}

void print_result(const Report& report, const measured::CalibrationResult& result) {
  const measured::CalibrationFit& fit = result.fits.front();
  report.print(parameters_text(result.fits));
  if (!fit.open_combinations.empty()) {
    report.print("# the training rows tell these apart badly (a parameter's own std error is with all others free):\n");
    for (const std::string& text : fit.open_combinations) report.print(fmt::format("#   {}\n", text));
  }
  report.print(fmt::format("#\n# training: {} rows, {}; {} evaluations\n", fit.training.size(),
                           errors_text(fit.after, fit.before), result.evaluations));
  report.print(measured::points_table({fit.training}));
  for (const measured::HeldOut& log : result.held_out) {
    report.print(fmt::format("# held out: {}: {} rows, {}, p95 {}\n", log.file, log.errors.points,
                             errors_text(log.errors, log.before), percent(log.errors.p95)));
  }
  if (result.held_out.empty()) report.print("# held out: no row; the profile is not validated\n");
}

void write_result(std::ostream& out, const ResultHeader& header, const measured::CalibrationResult& result) {
  const auto errors = [](JsonWriter& json, const measured::ErrorSummary& summary) {
    json.field("points", summary.points).field("median", summary.median).field("p95", summary.p95).field("max", summary.max);
  };
  const measured::CalibrationFit& fit = result.fits.front();
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("evaluations", result.evaluations).key("parameters").begin_array();
  for (const measured::FittedParameter& parameter : fit.parameters) {
    json.begin_object().field("key", parameter.key).field("before", to_string(parameter.before));
    json.field("after", to_string(parameter.after)).field("determined", parameter.determined);
    json.field("at_min", parameter.at_min).field("at_max", parameter.at_max);
    json.field("relative_sd", parameter.relative_sd).end_object();
  }
  json.end_array().key("correlations").begin_array();
  for (const std::vector<double>& row : fit.correlations) {
    json.begin_array();
    for (const double value : row) json.value(value);
    json.end_array();
  }
  json.end_array().key("open_combinations").begin_array();
  for (const std::string& text : fit.open_combinations) json.value(text);
  json.end_array().key("training").begin_object();
  errors(json, fit.after);
  json.end_object().key("held_out").begin_array();
  for (const measured::HeldOut& log : result.held_out) {
    json.begin_object().field("file", log.file);
    errors(json, log.errors);
    json.key("before").begin_object();
    errors(json, log.before);
    json.end_object().end_object();
  }
  json.end_array().end_object();
  json.finish();
}

// "64M" is a size, "8-1G" every size between that a log has.
void take_sizes(const std::string& text, const measured::MeasurementSet& set, std::vector<Bytes>& sizes) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) {
    sizes.push_back(size_of("--sizes", text));
    return;
  }
  const Bytes first = size_of("--sizes", text.substr(0, dash));
  const Bytes last = size_of("--sizes", text.substr(dash + 1));
  const std::size_t before = sizes.size();
  for (const measured::Measurement& measurement : set.measurements) {
    for (const measured::NcclTestsRow& row : measurement.log.rows) {
      const bool wanted = row.out_of_place && row.bytes > Bytes{} && row.bytes >= first && row.bytes <= last;
      if (wanted && std::ranges::find(sizes, row.bytes) == sizes.end()) sizes.push_back(row.bytes);
    }
  }
  if (sizes.size() == before) throw ConfigError(fmt::format("--sizes: no log has a row of a size in {}", text));
}

bool is_of_kernels(const std::vector<std::string>& files) {
  const auto kernels = std::ranges::count_if(files, measured::is_kernel_log);
  if (kernels != 0 && static_cast<std::size_t>(kernels) != files.size())
    throw ConfigError("logs of kernels (.jsonl) and of collectives are fitted one after the other, not together");
  return kernels != 0;
}

// Where the fit begins: --profile, or the profile of the cluster.
struct KernelStart {
  std::optional<net::Cluster> cluster;  // that copies were measured on
  Profile profile;
};

// `set`: warnings of its logs are printed, as values of one GPU under the name of another would be a silent mistake.
KernelStart start_of(const CalibrateOptions& options, const scenario::Overrides& overrides,
                     const measured::MeasurementSet* set = nullptr) {
  if (options.logs.cluster.empty()) {
    if (overrides.profile) return {.cluster = {}, .profile = scenario::find_profile(overrides.profile->string())};
    throw ConfigError("--profile or --cluster: expected the profile that the fit starts from");
  }
  Diagnostics diagnostics;
  net::Cluster cluster = set != nullptr ? load_cluster(options.logs, *set, options.common, overrides, diagnostics)
                                        : scenario::load_cluster(options.logs.cluster, overrides, diagnostics);
  Profile profile = cluster.profile;
  return {.cluster = std::move(cluster), .profile = std::move(profile)};
}

void print_kernel_fits(const Report& report, const measured::CalibrationResult& result) {
  report.print(parameters_text(result.fits) + "#\n");
  Table points;
  for (const char* name : {"fit", "what", "file"}) points.add_column(name, Table::Align::kLeft);
  for (const char* name : {"measured", "fitted", "error"}) points.add_column(name);
  for (const measured::CalibrationFit& fit : result.fits) {
    for (const measured::ValidationPoint& point : fit.training) {
      points.add_row({fit.id, point.algorithm, std::filesystem::path{point.file}.filename().string(),
                      fmt::format("{:.4g}", point.measured_us), fmt::format("{:.4g}", *point.predicted_us),
                      fmt::format("{:+.1f} %", 100 * *measured::relative_error(point))});
    }
  }
  report.print(points.text() + "#\n");
  for (const measured::CalibrationFit& fit : result.fits) {
    report.print(fmt::format("# {}: {} rows, {}\n", fit.id, fit.after.points, errors_text(fit.after, fit.before)));
  }
}

// The table of a profile by paths from the folder of the profile that is written.
std::shared_ptr<const ProductTable> from_folder_of(const std::string& output, const ProductTable& table) {
  auto moved = std::make_shared<ProductTable>(table);
  if (is_standard_output(output)) return moved;
  const std::filesystem::path folder = std::filesystem::absolute(output).parent_path();
  for (std::string& file : moved->files)
    file = std::filesystem::absolute(file).lexically_normal().lexically_proximate(folder.lexically_normal()).string();
  return moved;
}

bool is_serving_step(const measured::MeasuredPoint& point) { return point.kind == "serving_step"; }

measured::ErrorSummary serving_errors(const net::Cluster& cluster, const std::vector<measured::PointLog>& logs) {
  std::vector<measured::ValidationPoint> all;
  for (measured::PointLog log : logs) {
    std::erase_if(log.points, std::not_fn(is_serving_step));
    const measured::Predictions predictions = measured::predict_points(cluster, log, {});
    all.insert(all.end(), predictions.points.begin(), predictions.points.end());
  }
  return measured::summary_of(all);
}

// Nothing is fitted to serving steps. What kernels were fitted to moves their error.
std::string serving_text(const KernelStart& from, const Profile& fitted, const std::vector<measured::PointLog>& logs) {
  if (!from.cluster) return {};
  const measured::ErrorSummary before = serving_errors(*from.cluster, logs);
  if (before.points == 0) return {};
  const measured::ErrorSummary after = serving_errors(measured::with_profile(*from.cluster, fitted), logs);
  return fmt::format("# serving steps, not fitted to: {} points, {}\n", after.points, errors_text(after, before));
}

// Values at an end of their range are an error, and nothing is written. The user may keep them: they are warnings then.
void check_ends(const CalibrateOptions& options, measured::CalibrationResult& result) {
  if (options.keep_bounds) {
    result.warnings.insert(result.warnings.end(), result.at_ends.begin(), result.at_ends.end());
  } else if (!result.at_ends.empty()) {
    throw ConfigError(fmt::format("{}\n--keep-bounds writes the profile all the same", fmt::join(result.at_ends, "\n")));
  }
}

// `points`: of the files that the logs are from.
int fit_kernels(const CalibrateOptions& options, const Outputs& outputs, const KernelStart& from,
                const std::vector<measured::KernelLog>& logs, const std::string& id_suffix,
                const std::vector<measured::PointLog>& points = {}) {
  const Profile& start = from.profile;
  for (const auto& [name, value] : {std::pair{"--fit", &options.keys}, std::pair{"--sizes", &options.sizes},
                                    std::pair{"--validate-from", &options.validate_from}, std::pair{"--id", &options.id}}) {
    if (!value->empty()) throw ConfigError(fmt::format("{}: not for kernels, which are fitted class by class", name));
  }
  if (!options.date.empty()) check_date(options.date);
  if (!outputs.json.empty()) throw ConfigError("--json: not for kernels");
  measured::CalibrationResult result =
      measured::calibrate_kernels(start.with_products(nullptr), logs, options.date.empty() ? today() : options.date, id_suffix,
                                  from.cluster ? &*from.cluster : nullptr);
  std::string name = options.name.empty() ? start.name() : options.name;
  result.profile =
      result.profile.with_name(std::move(name), options.description.empty() ? start.description() : options.description);
  if (start.products() != nullptr)
    result.profile = result.profile.with_products(from_folder_of(options.output, *start.products()));
  const auto write_profile = [&](std::ostream& out) { out << result.profile.to_yaml(); };
  if (!is_standard_output(options.output)) {
    const Report report{outputs};
    report.print(fmt::format("# weft calibrate: kernels of {}; starts from profile {}\n", logs.front().gpu, start.name()));
    print_kernel_fits(report, result);
    report.print(serving_text(from, result.profile, points));
  }
  check_ends(options, result);
  write_file(options.output, write_profile);
  if (!options.common.quiet) {
    for (const std::string& warning : result.warnings)
      std::fputs(fmt::format("warning: {}\n", printable_lines(warning)).c_str(), stderr);
  }
  return kOk;
}

int run_calibrate_kernels(const CalibrateOptions& options, const Outputs& outputs) {
  std::vector<measured::KernelLog> logs;
  for (const std::string& file : options.logs.files) logs.push_back(measured::read_kernel_log(file));
  return fit_kernels(options, outputs, start_of(options, to_overrides(options.common)), logs, {});
}

// Kernels of measurement files: of the record set that --train names, or all.
int run_calibrate_points(const CalibrateOptions& options, const Outputs& outputs, const measured::MeasurementSet& set) {
  const KernelStart start = start_of(options, to_overrides(options.common), &set);
  std::vector<measured::KernelLog> logs;
  for (const measured::PointLog& log : set.points) {
    measured::KernelLog kernels = measured::kernel_log_of(log, start.profile, options.train);
    if (!kernels.kernels.empty() || !kernels.copies.empty()) logs.push_back(std::move(kernels));
  }
  const auto has_steps = [](const measured::PointLog& log) { return std::ranges::any_of(log.points, is_serving_step); };
  if (logs.empty() && std::ranges::any_of(set.points, has_steps))
    throw ConfigError("no kernels to fit to: nothing is fitted to serving steps; 'weft validate' shows their error");
  if (logs.empty())
    throw ConfigError("no kernels to fit to; to fit to collectives, name the parameters with --fit ('weft list parameters')");
  return fit_kernels(options, outputs, start, logs, "_points", set.points);
}

// A table of one's own from measured products; no parameter is fitted.
int run_calibrate_products(const CalibrateOptions& options, const Outputs& outputs) {
  for (const auto& [name, value] : {std::pair{"--fit", &options.keys}, std::pair{"--sizes", &options.sizes},
                                    std::pair{"--validate-from", &options.validate_from}, std::pair{"--id", &options.id}}) {
    if (!value->empty()) throw ConfigError(fmt::format("{}: not with --products, which fits nothing", name));
  }
  if (!outputs.json.empty()) throw ConfigError("--json: not with --products");
  if (is_standard_output(options.output) && is_standard_output(options.products))
    throw ConfigError("--products: standard output has the profile");
  const measured::MeasurementSet set = read_logs(options.logs, options.common);
  const KernelStart start = start_of(options, to_overrides(options.common), &set);
  auto table = std::make_shared<ProductTable>();
  table->rows = measured::products_of(set.points, start.profile, options.train);
  if (table->rows.empty()) throw ConfigError("no products in these logs: expected records of kind 'gemm'");
  table->files.push_back(options.products);
  std::string name = options.name.empty() ? start.profile.name() : options.name;
  const Profile profile =
      start.profile.with_products(from_folder_of(options.output, *table))
          .with_name(std::move(name), options.description.empty() ? start.profile.description() : options.description);
  write_file(options.products, [&](std::ostream& out) { out << product_table_csv(table->rows); });
  write_file(options.output, [&](std::ostream& out) { out << profile.to_yaml(); });
  if (!is_standard_output(options.output)) {
    const Report report{outputs};
    report.print(fmt::format("# weft calibrate: {} products in {}; {} names them beside {}'s parameters\n", table->rows.size(),
                             options.products, options.output, start.profile.name()));
  }
  return kOk;
}

int run_calibrate(const CalibrateOptions& options) {
  const Outputs outputs = outputs_of(options.common, "calibrate");
  claim_output("-o", options.output);
  if (!options.products.empty()) {
    claim_output("--products", options.products);
    return run_calibrate_products(options, outputs);
  }
  if (is_of_kernels(options.logs.files)) return run_calibrate_kernels(options, outputs);
  if (options.logs.cluster.empty()) throw ConfigError("--cluster: expected the cluster that the logs were taken on");
  scenario::Overrides overrides = to_overrides(options.common);
  if (!options.common.timeline.empty()) throw ConfigError("--timeline: a calibration has no timeline");
  if (!options.date.empty()) check_date(options.date);
  measured::CalibrationOptions fit{
      .keys = split_list(options.keys),
      .sizes = {},
      .train = split_list(options.train),
      .prior = options.prior,
      .validate_from = options.validate_from.empty() ? Bytes{} : size_of("--validate-from", options.validate_from),
      .name = options.name,
      .description = options.description,
      .id = options.id,
      .date = options.date.empty() ? today() : options.date,
      .predict = predict_options(overrides)};
  if (fit.name.empty() && !is_standard_output(options.output)) fit.name = std::filesystem::path{options.output}.stem().string();
  const measured::MeasurementSet set = read_logs(options.logs, options.common);
  if (fit.keys.empty() && !set.points.empty()) return run_calibrate_points(options, outputs, set);
  for (const std::string& sizes : split_list(options.sizes)) take_sizes(sizes, set, fit.sizes);
  const bool starts_from_defaults = !overrides.profile && names_output(options.logs.cluster, options.output);
  if (starts_from_defaults) overrides.sets.emplace_back("profile", "{kind: profile, name: defaults}");
  Diagnostics diagnostics;
  const net::Cluster cluster = load_cluster(options.logs, set, options.common, overrides, diagnostics);

  ProgressBar progress{"rows predicted", options.common.quiet};
  CountingProgress counting{progress};
  fit.predict.observer = &counting;
  auto result = measured::calibrate(cluster, set.measurements, fit);
  progress.wipe();
  if (!result) {
    std::fputs("interrupted: nothing was written, a profile stays as it was\n", stderr);
    return kInterrupted;
  }
  const std::shared_ptr<const ProductTable>& products = result->profile.products();
  const Profile written =
      products == nullptr ? result->profile : result->profile.with_products(from_folder_of(options.output, *products));
  const auto write_profile = [&](std::ostream& out) { out << written.to_yaml(); };
  if (!is_standard_output(options.output)) {
    const Report report{outputs};
    report.print(head_line("calibrate", options.logs.cluster, fit.predict.seed, fit.predict.grain));
    report.print(fmt::format("# starts from profile {}\n",
                             starts_from_defaults ? "defaults: the cluster's is to be written" : cluster.profile.name()));
    for (const std::string& note : result->notes) report.print(fmt::format("# note: {}\n", printable(note)));
    print_result(report, *result);
  }
  check_ends(options, *result);
  if (!is_standard_output(options.output)) {
    const Report report{outputs};
    write_file(options.output, write_profile);
    report.print(fmt::format("# wrote {}: {}\n", options.output, result->profile.stated_error()));
  }
  if (!options.common.quiet) {
    for (const std::string& warning : result->warnings)
      std::fputs(fmt::format("warning: {}\n", printable_lines(warning)).c_str(), stderr);
  }
  if (!outputs.json.empty()) {
    std::vector<std::string> warnings = warning_texts(diagnostics);
    warnings.insert(warnings.end(), result->warnings.begin(), result->warnings.end());
    warnings.insert(warnings.end(), result->notes.begin(), result->notes.end());
    ProfileStatement statement{
        .name = result->profile.name(), .file = options.output, .stated_error = result->profile.stated_error()};
    const ResultHeader header{.command = "calibrate",
                              .command_line = command_line(),
                              .seed = fit.predict.seed,
                              .configuration = output::validation_configuration(cluster, set.measurements, fit.predict),
                              .profiles = {std::move(statement)},
                              .warnings = std::move(warnings)};
    write_file(outputs.json, [&](std::ostream& out) { write_result(out, header, *result); });
  }
  if (is_standard_output(options.output)) write_file(options.output, write_profile);
  return kOk;
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Fits parameters of a profile to measured collectives (--fit KEYS) or kernels");
  const auto options = std::make_shared<CalibrateOptions>();
  add_measured_logs(*command, options->logs);
  command->get_option("--cluster")->required(false);  // kernels need none
  const auto text = [&](const char* name, std::string& value, const char* help, const char* form) {
    return command->add_option(name, value, help)->type_name(form);
  };
  text("--fit", options->keys, "Parameters to fit, by key ('weft list parameters')", "KEY,...");
  text("--sizes", options->sizes, "Sizes of the rows to fit to (8-1G: all between); the others are held out", "SIZE,...");
  text("--train", options->train, "Logs to fit to, by file name ('*_quick*') or record set (quick); the others are held out",
       "GLOB,...");
  command
      ->add_option("--prior", options->prior,
                   "Hold each parameter near its value so far: a factor of e^WIDTH weighs as a row 3 % off; 0: free")
      ->type_name("WIDTH")
      ->check(CLI::Range(0.0, 100.0));
  text("-o,--output", options->output, "Profile to write; - is standard output", "FILE")->required();
  text("--products", options->products,
       "Fit nothing: write a table of the products that the logs have, which the profile names (`products`)", "CSV");
  text("--validate-from", options->validate_from, "Smallest held-out size that the profile states an error for", "SIZE");
  text("--name", options->name, "Name of the profile; absent: that of its file", "NAME");
  text("--description", options->description, "Description of the profile; absent: as it was", "TEXT");
  text("--id", options->id, "Name of this calibration in the profile; absent: the collectives fitted to", "NAME");
  text("--date", options->date, "Day of the calibration; absent: today, UTC", "YYYY-MM-DD");
  command->add_flag("--keep-bounds", options->keep_bounds, "Write the profile although a value ends at an end of its range");
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_calibrate(*options); });
}

}  // namespace weft::apps
