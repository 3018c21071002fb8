// weft goodput: what failures, checkpoints and restarts leave of a job's time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/table.h"
#include "sim/core/version.h"
#include "sim/output/goodput_json.h"

namespace weft::apps {
namespace {

constexpr std::size_t kCausesShown = 12;

void print_causes(const Report& report, const plan::GoodputJob& job) {
  struct Line {
    const plan::FailureCause* cause;
    double per_day;
  };
  std::vector<Line> lines;
  double all = 0;
  for (const plan::FailureCause& cause : job.rates.causes) {
    lines.push_back({&cause, 24 * cause.per_hour * job.components.of(cause.per)});
    all += lines.back().per_day;
  }
  std::ranges::stable_sort(lines, std::ranges::greater{}, &Line::per_day);
  report.print(fmt::format("#\n# what fails ({}: {}, {})\n", job.rates.name, job.rates.source, job.rates.date));
  Table table;
  table.add_column("cause", Table::Align::kLeft);
  table.add_column("per", Table::Align::kLeft);
  for (const char* title : {"of them", "a day", "share"}) table.add_column(title);
  const auto add = [&](const std::string& cause, const std::string& per, const std::string& count, double per_day) {
    table.add_row({cause, per, count, fmt::format("{:.3f}", per_day), fmt::format("{:.1f} %", 100 * per_day / all)});
  };
  double rest = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const plan::FailureCause& cause = *lines[i].cause;
    if (i + 1 >= kCausesShown && lines.size() > kCausesShown) {
      rest += lines[i].per_day;
    } else {
      add(cause.name, std::string{plan::to_string(cause.per)}, fmt::format("{:.0f}", job.components.of(cause.per)),
          lines[i].per_day);
    }
  }
  if (rest > 0) add(fmt::format("{} others", lines.size() + 1 - kCausesShown), "", "", rest);
  report.print(table.text());
}

void print_shares(const Report& report, const plan::GoodputJob& job, const plan::GoodputReport& result) {
  const plan::Goodput& goodput = result.simulated;
  report.print(fmt::format("#\ntime to failure   {}  ({:.1f} failures in {})\n", to_string(job.input.mttf), goodput.failures,
                           to_string(job.input.length)));
  report.print(fmt::format("useful            {}  +- {}  (Daly {}, Young {})\n", percent(goodput.useful),
                           percent(goodput.useful_error), percent(result.daly), percent(result.young)));
  report.print(fmt::format("checkpoints       {}  ({} every {}{})\n", percent(goodput.checkpoints),
                           to_string(job.input.checkpoint.blocking), to_string(job.input.checkpoint.interval),
                           job.best_interval ? ", the best by Daly" : ""));
  report.print(fmt::format("work done again   {}\n", percent(goodput.redone)));
  report.print(fmt::format("restarts          {}  ({} each: detection {}, schedule {}, load {}, warm-up {})\n",
                           percent(goodput.restarts), to_string(job.input.restart), to_string(job.restart.detection),
                           to_string(job.restart.schedule), to_string(job.restart.load), to_string(job.restart.warm_up)));
}

void print_curve(const Report& report, const plan::GoodputReport& result) {
  report.print("#\n# useful share by checkpoint interval\n");
  Table table;
  table.add_column("interval");
  for (const char* title : {"simulated", "+-", "Daly", "Young", "checkpoints", "redone", "restarts"}) table.add_column(title);
  table.add_column("", Table::Align::kLeft);
  for (std::size_t i = 0; i < result.curve.size(); ++i) {
    const plan::IntervalPoint& point = result.curve[i];
    table.add_row({to_string(point.interval), percent(point.simulated.useful), percent(point.simulated.useful_error),
                   percent(point.daly), point.young > 0 ? percent(point.young) : "-", percent(point.simulated.checkpoints),
                   percent(point.simulated.redone), percent(point.simulated.restarts), i == result.best ? "best" : ""});
  }
  report.print(table.text());
  report.print(fmt::format("# best interval: Young {}, Daly {}", to_string(result.young_best), to_string(result.daly_best)));
  if (!result.curve.empty()) report.print(fmt::format(", simulated {}", to_string(result.curve[result.best].interval)));
  report.print("\n");
}

int run_goodput(const std::string& file, const CommonOptions& options) {
  const scenario::Overrides overrides = to_overrides(options);
  const Outputs outputs = outputs_of(options, fmt::format("goodput_{}", std::filesystem::path{file}.stem().string()));
  Diagnostics diagnostics;
  const plan::GoodputJob job = plan::load_goodput_job(file, overrides.sets, overrides.seed, diagnostics);
  print_warnings(diagnostics, options);
  const plan::GoodputReport result = plan::run_goodput(job);

  const Report report{outputs};
  report.print(fmt::format("# goodput {}\n", file));
  std::string counts;
  for (std::size_t c = 0; c + 1 < plan::kComponents; ++c) {
    const double count = job.components.count[c];
    if (count > 0) counts += fmt::format("  {} {:.0f}", plan::to_string(static_cast<plan::Component>(c)), count);
  }
  print_shares(report, job, result);
  print_curve(report, result);
  print_causes(report, job);
  report.print(fmt::format("# {}:{}\n", job.cluster.empty() ? "components" : job.cluster, counts));
  report.print(fmt::format("# weft {} ({})  seed {}\n", version(), commit(), job.input.seed));
  report.print(
      fmt::format("# {} runs of {}  digest {}\n", job.input.runs, to_string(job.input.length), digest_text(result.digest)));
  if (outputs.json.empty()) return kOk;
  const ResultHeader header{.command = "goodput",
                            .command_line = command_line(),
                            .seed = job.input.seed,
                            .configuration = job.resolved.to_json(),
                            .profiles = {},
                            .warnings = warning_texts(diagnostics),
                            .digest = result.digest};
  write_file(outputs.json, [&](std::ostream& out) { output::write_goodput_result(out, header, job, result); });
  return kOk;
}

}  // namespace

void add_goodput(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("goodput", "What failures, checkpoints and restarts leave of a job's time");
  const auto file = std::make_shared<std::string>();
  const auto options = std::make_shared<CommonOptions>();
  command->add_option("JOB", *file, "The file of a job that fails: configs/goodput/*.yaml")->required()->type_name("FILE");
  command->add_option("--set", options->sets, "Replace a value of the file, by its key path")
      ->allow_extra_args(false)
      ->type_name("KEY.PATH=VALUE");
  command->add_option("--seed", options->seed, "Seed of the failures")->type_name("N");
  command->add_option("--json", options->json, "Write the result as JSON; - is standard output")->type_name("FILE");
  command->add_option("--out", options->out, "Folder for the result file")->type_name("DIR");
  command->add_flag("--quiet,-q", options->quiet, "No warnings");
  command->callback([file, options, &exit_code] { exit_code = run_goodput(*file, *options); });
}

}  // namespace weft::apps
