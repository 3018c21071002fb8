#include "sim/output/report/validation_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/output/report/document.h"
#include "sim/output/report/html_page.h"
#include "sim/output/report/validation_charts.h"
#include "sim/scenario/cluster_gpu.h"

namespace weft::output {
namespace {

using detail::CurveGroup;
using Points = std::vector<const measured::ValidationPoint*>;

std::string percent(double fraction) { return fmt::format("{:.2f}", 100 * fraction); }

// "12.34 ± 0.12" where it is known how well the profile knows it; a dash where there is no prediction.
std::string predicted_text(const measured::ValidationPoint& point) {
  if (!point.predicted_us) return "\xE2\x80\x93";
  const std::string text = fmt::format("{:.2f}", *point.predicted_us);
  return point.predicted_sd ? text + fmt::format(" \xC2\xB1 {:.2f}", *point.predicted_us * *point.predicted_sd) : text;
}

// Shades by size of the error, so that a bad region is seen before it is read.
Tone tone_of(double error) {
  const double size = std::abs(error);
  return size <= 0.04 ? Tone::kGood : size <= 0.1 ? Tone::kFair : size <= 0.25 ? Tone::kPoor : Tone::kBad;
}

Points points_of(const measured::ValidationReport& report, std::string_view kind) {
  Points points;
  for (const measured::ValidationPoint& point : report.points) {
    if (point.kind == kind) points.push_back(&point);
  }
  return points;
}

Points predicted(const Points& points) {
  Points some;
  std::ranges::copy_if(points, std::back_inserter(some), [](const measured::ValidationPoint* point) {
    return measured::relative_error(*point).has_value() && !point->is_cpu_time;
  });
  return some;
}

measured::ErrorSummary summary_of(const Points& points) {
  std::vector<double> errors;
  for (const measured::ValidationPoint* point : points) {
    if (measured::exclusion_of(*point) == measured::Exclusion::kNone)
      errors.push_back(std::abs(*measured::relative_error(*point)));
  }
  return measured::summarize(std::move(errors));
}

void add_summary_row(HtmlTable& table, const std::string& name, const std::string& size,
                     const measured::ErrorSummary& summary) {
  const auto cell = [&](double value) {
    return summary.points == 0 ? HtmlCell{"\xE2\x80\x93", Tone::kFaint} : HtmlCell{percent(value), tone_of(value)};
  };
  table.rows.push_back({{name},
                        {size},
                        {std::to_string(summary.points)},
                        cell(summary.median),
                        cell(summary.geomean),
                        cell(summary.p95),
                        cell(summary.max)});
}

HtmlTable summary_table_of(const char* first) {
  return {.columns = {{first, true}, {"size", true}, {"points"}, {"median (%)"}, {"geomean (%)"}, {"p95 (%)"}, {"max (%)"}}};
}

constexpr const char* kUncertaintyCaption =
    "One standard error of the predictions, as the profile's calibrations have it: what the training points leave open, not "
    "what the models leave out";

class PageWriter {
 public:
  explicit PageWriter(const ValidationOutput& output)
      : output_{output},
        report_{output.report},
        page_{fmt::format("Measured and predicted: {}", output.cluster.name),
              fmt::format("profile {}, {} points", output.cluster.profile.name(), output.report.points.size())} {}

  std::string html() {
    overview();
    collectives();
    gemms();
    kernels("attention", "Attention", true);
    kernels("memory", "Memory-bound kernels", false);
    kernels("serving_step", "Serving steps", false);
    copies();
    overlap();
    plain("launch", "Launches");
    plain("nic", "Network interfaces");
    others();
    left_out();
    profile();
    again();
    all_points();
    return page_.html();
  }

 private:
  void overview();
  void collectives();
  void gemms();
  void kernels(const char* kind, const char* title, bool by_flops);
  void copies();
  void overlap();
  void plain(const char* kind, const char* title);
  void others();
  void left_out();
  void profile();
  void again();
  void all_points();
  void point_table(const Points& points);
  HtmlPage& section_of_kind(const char* title, const Points& points);

  const ValidationOutput& output_;
  const measured::ValidationReport& report_;
  HtmlPage page_;
  std::set<std::string> shown_{"collective"};  // kinds
};

void PageWriter::overview() {
  const measured::ErrorSummary all = report_.summary();
  const auto tile = [](std::string label, const measured::ErrorSummary& summary, double value) {
    return HtmlTile{.label = std::move(label),
                    .value = summary.points == 0 ? "\xE2\x80\x93" : fmt::format("{:.1f} %", 100 * value),
                    .note = fmt::format("{} points held out", summary.points),
                    .tone = summary.points == 0 ? Tone::kPlain : tone_of(value)};
  };
  std::vector<HtmlTile> tiles{tile("median error", all, all.median), tile("95th percentile", all, all.p95)};
  std::map<std::string, Points> by_kind;
  for (const measured::ValidationPoint& point : report_.points) by_kind[point.kind].push_back(&point);
  if (by_kind.size() > 1) {
    for (const auto& [kind, points] : by_kind) {
      const measured::ErrorSummary summary = summary_of(points);
      if (summary.points > 0) tiles.push_back(tile(kind + ", median", summary, summary.median));
    }
  }
  page_.tiles(tiles);
  for (const std::string& text : output_.missed) page_.note("Over the limits: " + text, Tone::kBad);
  const auto training =
      std::ranges::count_if(report_.points, [](const measured::ValidationPoint& p) { return p.training && !p.in_place; });
  page_.paragraph(
      fmt::format("Error is predicted over measured time, less 1; summaries are of its absolute value, over points that the "
                  "profile was not fitted to. {} measured points were used in the fit: they are drawn hollow and count in no "
                  "summary.",
                  training));

  page_.section("Summary");
  page_.chart(to_svg(detail::error_strips(report_)));
  HtmlTable table = summary_table_of("what");
  add_summary_row(table, "all", "all", all);
  for (const auto& [size, summary] : report_.summary_by_size())
    if (summary.points > 0) add_summary_row(table, "all", std::string{to_string(size)}, summary);
  const auto nested = report_.summary_by_collective_and_size();
  for (const auto& [name, summary] : report_.summary_by_collective()) {
    add_summary_row(table, name, "all", summary);
    for (const auto& [size, part] : nested.at(name))
      if (part.points > 0) add_summary_row(table, "", std::string{to_string(size)}, part);
  }
  page_.table(table);
  HtmlTable files = summary_table_of("file");
  for (const auto& [file, summary] : report_.summary_by_file()) add_summary_row(files, file, "all", summary);
  page_.begin_details("Summary by file").table(files).end_details();

  const std::map<std::string, measured::ErrorSummary> uncertainty = report_.uncertainty_by_kind();
  if (uncertainty.empty()) return;
  HtmlTable known{.columns = {{"what", true}, {"predictions"}, {"median (%)"}, {"p95 (%)"}}, .caption = kUncertaintyCaption};
  for (const auto& [kind, summary] : uncertainty)
    known.rows.push_back({{kind}, {std::to_string(summary.points)}, {percent(summary.median)}, {percent(summary.p95)}});
  page_.table(known);
}

void PageWriter::collectives() {
  const std::vector<CurveGroup> groups = detail::curves_of(report_);
  if (groups.empty()) return;
  page_.section("Collectives");
  page_.paragraph(
      "Bus bandwidth and time of every log over message size, as nccl-tests defines them. Dots are measured, lines predicted.");
  std::map<std::string, std::vector<const CurveGroup*>> by_collective;
  for (const CurveGroup& group : groups) by_collective[group.collective].push_back(&group);
  for (const auto& [collective, members] : by_collective) {
    page_.subsection(collective);
    page_.chart(to_svg(detail::error_chart(collective + ": error of every point", members)));
    for (const CurveGroup* group : members) {
      page_.chart(to_svg(detail::bandwidth_chart(*group)), group->configuration);
      page_.chart(to_svg(detail::time_chart(*group)), group->configuration);
    }
  }
}

HtmlPage& PageWriter::section_of_kind(const char* title, const Points& points) {
  page_.section(title);
  const measured::ErrorSummary errors = summary_of(points);
  const auto unknown = std::ranges::count_if(points, [](const measured::ValidationPoint* p) { return !p->predicted_us; });
  std::string text = fmt::format("{} points", points.size());
  if (errors.points > 0)
    text += fmt::format(": median error {} %, 95th percentile {} %, largest {} % over the {} that count",
                        percent(errors.median), percent(errors.p95), percent(errors.max), errors.points);
  if (unknown > 0) text += fmt::format("; {} of them no model covers", unknown);
  return page_.paragraph(text + ".");
}

void PageWriter::gemms() {
  shown_.insert("gemm");
  const Points points = points_of(report_, "gemm");
  if (points.empty()) return;
  section_of_kind("GEMMs", points);
  const Points seen = predicted(points);
  detail::Roofs roofs;
  try {
    const work::GpuSpec& gpu = scenario::cluster_gpu(output_.cluster.topology, "a roofline");
    roofs = detail::roofs_of(gpu, seen);
    std::string promises;
    for (const auto& [precision, peak] : roofs.flops_per_second)
      promises += fmt::format("{:.0f} TFLOP/s ({}, dense), ", peak * 1e-12, work::to_string(precision));
    page_.paragraph(
        fmt::format("The data sheet of {} promises {}{:.2f} TB/s.", gpu.name, promises, roofs.bytes_per_second * 1e-12));
  } catch (const ConfigError&) {
    // Ignored: a cluster of GPUs that nothing is known of has no roof.
  }
  page_.chart(to_svg(detail::roofline_chart(seen, roofs)));
  if (!roofs.flops_per_second.empty()) page_.chart(to_svg(detail::efficiency_chart(seen, roofs)));
  page_.chart(to_svg(detail::kind_error_chart("Error over size", seen, true)));
  page_.chart(to_svg(detail::agreement_chart("Predicted over measured", seen)));
  page_.begin_details("All GEMMs");
  point_table(points);
  page_.end_details();
}

void PageWriter::kernels(const char* kind, const char* title, bool by_flops) {
  shown_.insert(kind);
  const Points points = points_of(report_, kind);
  if (points.empty()) return;
  section_of_kind(title, points);
  const Points seen = predicted(points);
  page_.chart(to_svg(detail::agreement_chart("Predicted over measured", seen)));
  page_.chart(to_svg(detail::kind_error_chart("Error over size", seen, by_flops)));
  page_.begin_details("All of them");
  point_table(points);
  page_.end_details();
}

void PageWriter::copies() {
  shown_.insert("copy");
  const Points points = points_of(report_, "copy");
  if (points.empty()) return;
  section_of_kind("Copies", points);
  const Points seen = predicted(points);
  page_.chart(to_svg(detail::copy_chart(seen)), "Dots are measured, lines (or hollow dots) predicted.");
  page_.chart(to_svg(detail::kind_error_chart("Error over size", seen, false)));
  page_.begin_details("All copies");
  point_table(points);
  page_.end_details();
}

void PageWriter::overlap() {
  shown_.insert("overlap");
  const Points points = points_of(report_, "overlap");
  if (points.empty()) return;
  section_of_kind("Overlap", points);
  page_.paragraph("Streams that start together on every rank; each bar is the time of one stream, on the slowest rank.");
  Points beside;
  for (const measured::ValidationPoint* point : points) {
    if (point->algorithm.find("beside") != std::string::npos) beside.push_back(point);
  }
  if (!beside.empty()) page_.chart(to_svg(detail::pair_bars("Beside another stream", beside)));
  page_.chart(to_svg(detail::agreement_chart("Predicted over measured", predicted(points))));
  point_table(points);
}

void PageWriter::plain(const char* kind, const char* title) {
  shown_.insert(kind);
  const Points points = points_of(report_, kind);
  if (points.empty()) return;
  section_of_kind(title, points);
  point_table(points);
}

// Kernels of training steps by class ("optimizer"), and whatever kind comes.
void PageWriter::others() {
  std::map<std::string, Points> kinds;
  for (const measured::ValidationPoint& point : report_.points) {
    if (!shown_.contains(point.kind)) kinds[point.kind].push_back(&point);
  }
  for (const auto& [kind, points] : kinds) kernels(kind.c_str(), kind.c_str(), false);
}

void PageWriter::left_out() {
  std::map<std::pair<std::string, std::string>, std::size_t> reasons;
  for (const measured::ValidationPoint& point : report_.points) {
    const measured::Exclusion exclusion = measured::exclusion_of(point);
    if (exclusion == measured::Exclusion::kNone || exclusion == measured::Exclusion::kTraining) continue;
    std::string reason{to_string(exclusion)};
    if (exclusion == measured::Exclusion::kNotPredicted && !point.not_modelled.empty()) reason += ": " + point.not_modelled;
    ++reasons[{point.kind, reason}];
  }
  if (reasons.empty() && output_.header.warnings.empty()) return;
  page_.section("What does not count");
  HtmlTable table{.columns = {{"kind", true}, {"why", true}, {"points"}}};
  for (const auto& [key, count] : reasons) table.rows.push_back({{key.first}, {key.second}, {std::to_string(count)}});
  page_.table(table).list(output_.header.warnings);
}

void PageWriter::profile() {
  const Profile& profile = output_.cluster.profile;
  page_.section("Profile");
  for (const ProfileStatement& statement : output_.header.profiles) {
    page_.paragraph(fmt::format("{}{}. Error it states on data it was not fitted to: {}.", statement.name,
                                statement.file.empty() ? "" : " (" + statement.file + ")", statement.stated_error));
  }
  if (!profile.description().empty()) page_.paragraph(profile.description());
  page_.list(calibration_lines(profile));
  HtmlTable table{.columns = {{"parameter", true}, {"value"}, {"standard error (%)"}, {"source", true}, {"from", true}}};
  for (const std::string& key : profile.keys()) {
    const Provenance& from = profile.provenance(key);
    if (from.is_default) continue;
    const auto known = profile.std_error(key);
    table.rows.push_back({{key, Tone::kPlain, profile.info(key).description},
                          {to_string(profile.value(key))},
                          {known ? fmt::format("{:.1f}", 100 * *known) : std::string{}},
                          {std::string{to_string(from.source)}},
                          {from.calibration.empty() ? from.reference : "calibration " + from.calibration}});
  }
  page_.begin_details(fmt::format("{} values that are not defaults", table.rows.size())).table(table).end_details();
}

void PageWriter::again() {
  page_.section("How to make this page again");
  page_.code(output_.header.command_line);
  page_.paragraph(
      fmt::format("The result's digest is {}; equal input gives an equal digest on every machine. report.json holds every "
                  "point and the resolved configuration, points.csv the points for a spreadsheet.",
                  digest_text(output_.header.digest)));
}

void PageWriter::point_table(const Points& points) {
  HtmlTable table{
      .columns = {
          {"what", true}, {"bytes"}, {"measured (us)"}, {"spread (us)"}, {"predicted (us)"}, {"error (%)"}, {"", true}}};
  for (const measured::ValidationPoint* point : points) {
    const auto error = measured::relative_error(*point);
    const measured::Exclusion exclusion = measured::exclusion_of(*point);
    const std::string spread = point->measured_high_us > 0
                                   ? fmt::format("{:.2f} to {:.2f}", point->measured_low_us, point->measured_high_us)
                                   : std::string{};
    table.rows.push_back(
        {{point->algorithm},
         {point->bytes > Bytes{} ? to_string(point->bytes) : std::string{}},
         {fmt::format("{:.2f}", point->measured_us)},
         {spread, Tone::kFaint},
         {predicted_text(*point)},
         {error ? fmt::format("{:+.1f}", 100 * *error) : "\xE2\x80\x93",
          error && exclusion == measured::Exclusion::kNone ? tone_of(*error) : Tone::kFaint},
         {point->not_modelled.empty() ? std::string{to_string(exclusion)} : "not modelled: " + point->not_modelled,
          Tone::kFaint}});
  }
  page_.table(table);
}

void PageWriter::all_points() {
  page_.section("All collectives, point by point");
  std::map<std::string, HtmlTable> tables;
  std::vector<std::string> files;
  for (const measured::ValidationPoint& point : report_.points) {
    if (point.kind != "collective") continue;
    const auto [at, is_new] = tables.try_emplace(point.file, HtmlTable{.columns = {{"collective", true},
                                                                                   {"ranks"},
                                                                                   {"size (B)"},
                                                                                   {"place", true},
                                                                                   {"algorithm", true},
                                                                                   {"protocol", true},
                                                                                   {"channels"},
                                                                                   {"measured (us)"},
                                                                                   {"predicted (us)"},
                                                                                   {"error (%)"},
                                                                                   {"does not count", true}}});
    if (is_new) files.push_back(point.file);
    const auto error = measured::relative_error(point);
    const measured::Exclusion exclusion = measured::exclusion_of(point);
    const Tone tone = exclusion == measured::Exclusion::kNone ? Tone::kPlain : Tone::kFaint;
    at->second.rows.push_back({{point.collective, tone},
                               {std::to_string(point.ranks), tone},
                               {std::to_string(point.bytes.count()), tone},
                               {point.in_place ? "in" : "out", tone},
                               {point.algorithm, tone},
                               {point.protocol, tone},
                               {point.channels > 0 ? std::to_string(point.channels) : "", tone},
                               {fmt::format("{:.2f}", point.measured_us), tone},
                               {predicted_text(point), tone},
                               {error ? fmt::format("{:+.2f}", 100 * *error) : "\xE2\x80\x93",
                                error && exclusion == measured::Exclusion::kNone ? tone_of(*error) : Tone::kFaint},
                               {std::string{to_string(exclusion)}, tone}});
  }
  for (const std::string& file : files) page_.begin_details(file).table(tables.at(file)).end_details();
  if (files.empty()) page_.paragraph("There are none.");
}

// Markdown.
void write_rows(std::ostream& out, const std::string& name, const std::string& size, const measured::ErrorSummary& summary) {
  const auto number = [&](double value) { return summary.points == 0 ? std::string{"-"} : percent(value); };
  out << fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown_escaped(name), size, summary.points, number(summary.median),
                     number(summary.p95), number(summary.max));
}

constexpr const char* kMarkdownHead = " | size | points | median (%) | p95 (%) | max (%) |\n|---|---|---:|---:|---:|---:|\n";

}  // namespace

void write_validation_page(std::ostream& out, const ValidationOutput& output) { out << PageWriter{output}.html(); }

void write_validation_markdown(std::ostream& out, const ValidationOutput& output) {
  const measured::ValidationReport& report = output.report;
  out << fmt::format(
      "# Measured and predicted: {}\n\nAbsolute value of predicted over measured, less 1, over points that the "
      "profile was not fitted to.\n\n",
      markdown_escaped(output.cluster.name));
  for (const std::string& text : output.missed) out << fmt::format("**Over the limits:** {}\n\n", markdown_escaped(text));
  out << "| what" << kMarkdownHead;
  write_rows(out, "all", "all", report.summary());
  for (const auto& [size, summary] : report.summary_by_size()) write_rows(out, "all", std::string{to_string(size)}, summary);
  const auto nested = report.summary_by_collective_and_size();
  for (const auto& [name, summary] : report.summary_by_collective()) {
    write_rows(out, name, "all", summary);
    for (const auto& [size, part] : nested.at(name)) write_rows(out, "", std::string{to_string(size)}, part);
  }
  out << "\n| file" << kMarkdownHead;
  for (const auto& [file, summary] : report.summary_by_file()) write_rows(out, file, "all", summary);
  const std::map<std::string, measured::ErrorSummary> uncertainty = report.uncertainty_by_kind();
  if (!uncertainty.empty()) {
    out << fmt::format("\n{}:\n\n| what | predictions | median (%) | p95 (%) |\n|---|---:|---:|---:|\n", kUncertaintyCaption);
    for (const auto& [kind, known] : uncertainty)
      out << fmt::format("| {} | {} | {} | {} |\n", kind, known.points, percent(known.median), percent(known.p95));
  }
  out << "\n## Profile\n\n";
  for (const ProfileStatement& profile : output.header.profiles)
    out << fmt::format("{}: {}\n\n", markdown_escaped(profile.name), markdown_escaped(profile.stated_error));
  for (const std::string& line : calibration_lines(output.cluster.profile)) out << "- " << markdown_escaped(line) << '\n';
  out << fmt::format("\n## How to make this again\n\n```sh\n{}\n```\n\nDigest {}.\n", printable(output.header.command_line),
                     digest_text(output.header.digest));
  if (!output.header.warnings.empty()) out << "\n## Notes\n\n";
  for (const std::string& warning : output.header.warnings) out << "- " << markdown_escaped(warning) << '\n';
}

}  // namespace weft::output
