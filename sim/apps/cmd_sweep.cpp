// weft sweep: a design space into a database, on threads of this machine or, under mpirun, on several processes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/interrupt.h"
#include "sim/apps/output.h"
#include "sim/apps/several_processes.h"
#include "sim/apps/sweep_progress.h"
#include "sim/apps/table.h"
#include "sim/core/error.h"
#include "sim/core/version.h"
#include "sim/planning/sweep/export.h"
#include "sim/planning/sweep/work_sharing.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;
using plan::SweepDatabase;

struct SweepOptions {
  CommonOptions common;
  std::string file;
  std::string database;
  std::string format;  // of the export; empty: none
  std::string to;
  int threads = 1;
  bool resume = false;
};

struct Prepared {
  plan::Sweep sweep;
  plan::SweepPlan plan;
};

Prepared prepare(const SweepOptions& options) {
  plan::Sweep sweep{options.file, to_overrides(options.common, true)};
  plan::SweepPlan plan = plan::check_sweep(sweep);
  return {std::move(sweep), std::move(plan)};
}

// "tensor" for "workload.parallelism.tensor", where no other column ends so.
std::string short_name(const std::vector<plan::SweepColumn>& columns, const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return name;
  const std::string end = name.substr(dot);
  const auto same = std::ranges::count_if(columns, [&](const plan::SweepColumn& other) { return other.name.ends_with(end); });
  return same == 1 ? end.substr(1) : name;
}

std::string cell_text(const plan::Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell))
    return *real >= 1e5 ? fmt::format("{:.0f}", *real) : fmt::format("{:.5g}", *real);
  if (const auto* text = std::get_if<std::string>(&cell)) return text->size() > 40 ? text->substr(0, 37) + "..." : *text;
  return "-";
}

double number_of(const plan::Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr ? 0.0 : *real;
}

// The points a person looks at first: the best ones where there is an objective, otherwise the first.
struct Summary {
  std::vector<plan::PointRow> shown;
  std::map<std::string, std::uint64_t> refusals;  // by text: "refused: ..." or "cut short: ..."
  bool cut_short = false;
  std::uint64_t done = 0;
};

constexpr std::size_t kShown = 10;

Summary summarize(const Prepared& prepared, const SweepDatabase& database) {
  Summary summary;
  const auto& objective = prepared.sweep.objective();
  const auto& metrics = prepared.plan.metrics;
  const auto place = std::ranges::find_if(
      metrics, [&](const plan::SweepColumn& column) { return objective && column.name == objective->metric; });
  const auto index = static_cast<std::size_t>(place - metrics.begin());
  const auto is_better = [&](const plan::PointRow& a, const plan::PointRow& b) {
    const double left = number_of(a.metrics[index]);
    const double right = number_of(b.metrics[index]);
    return objective->maximize ? left > right : left < right;
  };
  database.read([&](const plan::PointRow& row) {
    if (!row.error.empty()) {
      const bool is_cut = row.status() == "cut_short";
      summary.cut_short |= is_cut;
      ++summary.refusals[is_cut ? row.error : "refused: " + row.error];
      return;
    }
    ++summary.done;
    if (!objective) {
      if (summary.shown.size() < kShown) summary.shown.push_back(row);
      return;
    }
    if (std::holds_alternative<std::monostate>(row.metrics[index])) return;
    // Rows come by id, so of equals the lower id stays in front.
    const auto after = std::ranges::upper_bound(summary.shown, row, is_better);
    summary.shown.insert(after, row);
    if (summary.shown.size() > kShown) summary.shown.pop_back();
  });
  return summary;
}

std::string points_table(const Prepared& prepared, const std::vector<plan::PointRow>& rows) {
  constexpr std::size_t kMetrics = 8;
  const auto& axes = prepared.plan.axes;
  std::vector<std::size_t> metrics;
  // The objective first, then in the order of the sweep.
  for (const bool wanted : {true, false}) {
    for (std::size_t i = 0; i < prepared.plan.metrics.size(); ++i) {
      const bool is_it = prepared.sweep.objective() && prepared.plan.metrics[i].name == prepared.sweep.objective()->metric;
      if (is_it == wanted && metrics.size() < kMetrics) metrics.push_back(i);
    }
  }
  Table table;
  table.add_column("point");
  const auto align = [](const plan::SweepColumn& column) {
    return column.type == plan::ColumnType::kText ? Table::Align::kLeft : Table::Align::kRight;
  };
  for (const plan::SweepColumn& axis : axes) table.add_column(short_name(axes, axis.name), align(axis));
  for (const std::size_t i : metrics) table.add_column(prepared.plan.metrics[i].name, align(prepared.plan.metrics[i]));
  for (const plan::PointRow& row : rows) {
    std::vector<std::string> cells{std::to_string(row.id)};
    for (const plan::Cell& cell : row.axes) cells.push_back(cell_text(cell));
    for (const std::size_t i : metrics) cells.push_back(cell_text(row.metrics[i]));
    table.add_row(std::move(cells));
  }
  return table.text();
}

void print_refusals(const Report& report, const std::map<std::string, std::uint64_t>& refusals) {
  constexpr std::size_t kTexts = 5;
  std::vector<std::pair<std::uint64_t, std::string>> by_count;
  for (const auto& [text, count] : refusals) by_count.emplace_back(count, text);
  std::ranges::stable_sort(by_count, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < std::min(kTexts, by_count.size()); ++i) {
    std::string text = by_count[i].second.substr(0, by_count[i].second.find('\n'));
    report.print(fmt::format("#   {} {}\n", by_count[i].first, text));
  }
  if (by_count.size() > kTexts) report.print(fmt::format("#   and {} other reasons\n", by_count.size() - kTexts));
}

void print_summary(const Report& report, const Prepared& prepared, const Summary& summary) {
  print_refusals(report, summary.refusals);
  if (summary.shown.empty()) return;
  const auto& objective = prepared.sweep.objective();
  if (objective) {
    report.print(fmt::format("#\n# best by {}, {} first\n", objective->metric, objective->maximize ? "largest" : "smallest"));
  } else if (summary.done > summary.shown.size()) {
    report.print(fmt::format("#\n# the first {} points; --export csv gives all\n", summary.shown.size()));
  } else {
    report.print("#\n");
  }
  report.print(points_table(prepared, summary.shown));
}

void write_export(const SweepOptions& options, const std::string& file, const Prepared& prepared, const SweepDatabase& database,
                  bool is_whole) {
  if (options.format == "csv") {
    write_file(file, [&](std::ostream& out) { plan::write_sweep_csv(out, prepared.plan, database); });
    return;
  }
  const ResultHeader header{.command = "sweep",
                            .command_line = command_line(),
                            .seed = to_overrides(options.common, true).seed.value_or(1),
                            .configuration = prepared.sweep.node().to_json(),
                            .profiles = {},
                            .warnings = {},
                            .digest = prepared.plan.digest,
                            .interrupted = !is_whole};
  write_file(file, [&](std::ostream& out) { plan::write_sweep_json(out, header, prepared.plan, database); });
}

struct SweepFiles {
  fs::path database;
  std::string exported;  // empty: nothing is
};

SweepFiles claim_files(const SweepOptions& options) {
  SweepFiles files{options.database, options.to};
  if (is_standard_output(options.database)) throw ConfigError("--db: expected a file, not standard output");
  if (options.database.empty()) {
    if (!options.common.out.empty()) make_output_folder("--out", options.common.out);
    files.database = fs::path{options.common.out} / (fs::path{options.file}.stem().string() + ".sqlite");
  }
  if (files.exported.empty() && !options.format.empty())
    files.exported = fs::path{files.database}.replace_extension(options.format).string();
  claim_database(options.database.empty() ? "the database" : "--db", files.database.string());
  claim_output(options.to.empty() ? "--export" : "--to", files.exported);
  return files;
}

std::string counted(std::uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// Rank 0, or the only process.
int lead(const SweepOptions& options, plan::Messenger* messenger) {
  using How = SweepDatabase::Open;
  const SweepFiles files = claim_files(options);
  const fs::path& file = files.database;
  const std::string& exported = files.exported;
  const Prepared prepared = prepare(options);
  std::error_code ignored;
  // Rows that are there can be exported at any time; without --resume nothing is run for it.
  const bool only_export = !options.format.empty() && !options.resume && fs::exists(file, ignored);
  SweepDatabase database{file, prepared.sweep, prepared.plan,
                         only_export      ? How::kRead
                         : options.resume ? How::kEither
                                          : How::kNew};

  Outputs outputs;
  if (is_standard_output(exported)) outputs.json = exported;  // standard output is the export's
  const Report report{outputs};
  report.print(fmt::format("# sweep {}  scenario {}\n", options.file, prepared.sweep.scenario_name()));
  const std::size_t points = prepared.plan.points.size();
  const std::size_t axes = prepared.plan.axes.size();
  report.print(fmt::format(
      "# {} over {} {}{}  results {}\n", counted(points, "point"), axes, axes == 1 ? "axis" : "axes",
      points < prepared.sweep.combinations() ? fmt::format(", of {} combinations", prepared.sweep.combinations()) : "",
      file.string()));
  plan::SweepProgress progress{.total = points};
  const auto begin = std::chrono::steady_clock::now();
  if (only_export) {
    for (const bool is_there : database.finished()) progress.done += is_there ? 1 : 0;
    report.print(fmt::format("# {} of {} points are there; nothing was run (--resume runs the rest)\n", progress.done, points));
  } else {
    SweepLine line{options.common.quiet};
    const plan::SweepRunOptions how{.file = options.file,
                                    .overrides = to_overrides(options.common, true),
                                    .threads = options.threads,
                                    .stop = &interrupt_flag(),
                                    .on_progress = [&](const plan::SweepProgress& now) { line.show(now); }};
    progress = plan::run_sweep_points(how, prepared.plan, database, messenger);
    line.wipe();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    report.print(fmt::format(
        "# {} run in {:.2f} s ({:.1f}/s){}{}\n", counted(progress.finished, "point"), seconds,
        static_cast<double>(progress.finished) / std::max(seconds, 1e-9),
        progress.refused > 0 ? fmt::format(", {} refused", progress.refused) : "",
        progress.finished < progress.done ? fmt::format(", {} there before", progress.done - progress.finished) : ""));
  }
  const bool is_whole = progress.done == points;
  if (!is_whole && !only_export) {
    report.print(fmt::format("# interrupted: {} of {} points are kept; the rest: {}{}\n", progress.done, points, command_line(),
                             options.resume ? "" : " --resume"));
  }
  const Summary summary = summarize(prepared, database);
  print_summary(report, prepared, summary);
  report.print(fmt::format("# weft {} ({})  digest {}\n", version(), commit(), digest_text(prepared.plan.digest)));
  if (!options.format.empty()) {
    write_export(options, exported, prepared, database, is_whole);
    report.print(fmt::format("# exported {}\n", exported));
  }
  if (!is_whole && !only_export) return kInterrupted;
  if (summary.done == 0 && !summary.refusals.empty() && !only_export && !summary.cut_short) {
    throw ConfigError(fmt::format("{}: every point was refused", options.file));
  }
  return summary.cut_short ? kCheckFailed : kOk;
}

// Tells the others to go home, whatever happens here.
class Dismissal {
 public:
  explicit Dismissal(plan::Messenger& messenger) : messenger_{messenger} {}
  ~Dismissal() { plan::dismiss_others(messenger_, interrupt_flag()); }
  Dismissal(const Dismissal&) = delete;
  Dismissal& operator=(const Dismissal&) = delete;

 private:
  plan::Messenger& messenger_;
};

// A process that leaves with an error takes the others with it before they have told theirs. So a mistake goes to rank 0, which
// tells it once, mostly its own, and what the job ends with is rank 0's to say.
int serve(const SweepOptions& options, plan::Messenger& messenger) {
  try {
    const Prepared prepared = prepare(options);
    const plan::SweepRunOptions how{
        .file = options.file, .overrides = to_overrides(options.common, true), .threads = options.threads};
    plan::serve_sweep_points(how, prepared.plan, messenger);
  } catch (const ConfigError& error) {
    plan::report_mistake(error.what(), messenger);
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error in process {}: {}\n", messenger.rank(), error.what());
    messenger.abort(kOurBug);
    return kOurBug;
  }
  return kOk;
}

int run_several(const SweepOptions& options) {
  const std::unique_ptr<plan::Messenger> messenger = join_others();
  if (messenger == nullptr) return kBadInput;
  if (messenger->rank() > 0) return serve(options, *messenger);
  int exit_code = kOk;
  {
    const Dismissal dismissal{*messenger};
    exit_code = lead(options, messenger.get());
  }
  // The others may be gone already, by the same signal: MPI's own end would wait for them.
  if (exit_code == kInterrupted && messenger->size() > 1) messenger->abort(kInterrupted);
  return exit_code;
}

int run_sweep_command(const SweepOptions& options) {
  if (!options.common.json.empty()) throw ConfigError("--json: a sweep writes JSON with --export json [--to FILE]");
  if (!options.common.timeline.empty()) throw ConfigError("--timeline: a sweep has no one timeline; use 'weft run' on a point");
  if (!options.to.empty() && options.format.empty()) throw ConfigError("--to: names the file of --export csv or --export json");
  return plan::is_one_of_several() ? run_several(options) : lead(options, nullptr);
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("sweep", "Runs a scenario at every point of a design space, into a database");
  const auto options = std::make_shared<SweepOptions>();
  command->add_option("SWEEP", options->file, "Sweep file: a scenario, axes and constraints")->required();
  command->add_option("--jobs,-j", options->threads, "Points that run at the same time, on a thread each")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_flag("--resume", options->resume, "Go on with the points that the database lacks");
  command
      ->add_option("--db", options->database, "Database of results; without it SWEEP.sqlite in the current folder, or in --out")
      ->type_name("FILE");
  command
      ->add_option("--export", options->format, "Write the results as a file too; of a database that is there, without running")
      ->check(CLI::IsMember({"csv", "json"}))
      ->type_name("csv|json");
  command->add_option("--to", options->to, "File of --export; - is standard output, which then carries no table")
      ->type_name("FILE");
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_sweep_command(*options); });
}

}  // namespace weft::apps
