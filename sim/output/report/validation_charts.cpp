#include "sim/output/report/validation_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/output/report/chart_axis.h"

namespace weft::output::detail {
namespace {

constexpr std::size_t kMeasured = 0;  // colours
constexpr std::size_t kPredicted = 1;

const ChartAxis kSizeAxis{.title = "message size", .logarithmic = true, .text = TickText::kBytes};
const ChartAxis kTimeAxis{.title = "time", .logarithmic = true, .text = TickText::kMicroseconds};

// Errors are shown within this; points beyond stand at the edge.
ChartAxis error_axis(const std::vector<const measured::ValidationPoint*>& points) {
  double largest = 0.1;
  for (const measured::ValidationPoint* point : points)
    largest = std::max(largest, std::abs(measured::relative_error(*point).value_or(0)));
  const double shown = std::min(0.6, std::ceil(largest * 1.05 * 20) / 20);
  return {.title = "predicted / measured - 1", .text = TickText::kPercent, .min = -shown, .max = shown};
}

double size_of(const measured::ValidationPoint& point) { return static_cast<double>(point.bytes.count()); }

using ValueOf = double (*)(const measured::ValidationPoint&);

// Measured dots, hollow where the profile was fitted on them, and a line of predictions.
std::vector<ChartSeries> measured_and_predicted(const std::vector<const measured::ValidationPoint*>& points, ValueOf measured,
                                                ValueOf predicted) {
  ChartSeries held_out{.name = "measured", .mark = Mark::kDots, .colour = kMeasured};
  ChartSeries training{.name = "measured, used in the fit", .mark = Mark::kHollowDots, .colour = kMeasured};
  ChartSeries line{.name = "predicted", .mark = Mark::kLine, .colour = kPredicted};
  for (const measured::ValidationPoint* point : points) {
    (point->training ? training : held_out).points.push_back({size_of(*point), measured(*point), note_of(*point)});
    line.points.push_back({size_of(*point), predicted(*point)});
  }
  return {std::move(line), std::move(held_out), std::move(training)};
}

double measured_us(const measured::ValidationPoint& point) { return point.measured_us; }
double predicted_us(const measured::ValidationPoint& point) { return point.predicted_us.value_or(NAN); }
double predicted_busbw(const measured::ValidationPoint& point) { return point.busbw_gigabytes_per_second; }
// The same bytes in the time measured.
double measured_busbw(const measured::ValidationPoint& point) {
  return point.busbw_gigabytes_per_second * point.predicted_us.value_or(NAN) / point.measured_us;
}

std::string title_of(const CurveGroup& group) {
  return fmt::format("{}, {} ranks: {}", group.collective, group.ranks, group.file);
}

double intensity_of(const measured::ValidationPoint& point) { return point.flops / size_of(point); }
bool has_intensity(const measured::ValidationPoint& point) { return point.flops > 0 && point.bytes > Bytes{}; }

// Over the points of its precision; without points if there are none.
ChartSeries roof_line(const std::vector<const measured::ValidationPoint*>& points, work::Precision precision,
                      double flops_per_second, double bytes_per_second) {
  ChartSeries line{.name = fmt::format("data sheet, {}", work::to_string(precision)), .mark = Mark::kLine};
  double low = HUGE_VAL;
  double high = 0;
  for (const measured::ValidationPoint* point : points) {
    if (!has_intensity(*point) || point->precision != precision) continue;
    low = std::min(low, intensity_of(*point));
    high = std::max(high, intensity_of(*point));
  }
  if (high == 0 || bytes_per_second <= 0) return line;
  const double ridge = flops_per_second / bytes_per_second;
  const auto at = [&](double x) { return ChartPoint{x, std::min(flops_per_second, x * bytes_per_second) * 1e-12}; };
  line.points = {at(low)};
  if (ridge > low && ridge < high) line.points.push_back(at(ridge));
  line.points.push_back(at(high));
  return line;
}

}  // namespace

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string note_of(const measured::ValidationPoint& point) {
  const auto error = measured::relative_error(point);
  const std::string what = point.collective.empty() ? point.algorithm : point.collective;
  std::string note =
      fmt::format("{} {}: measured {}", what, to_string(point.bytes), tick_text(point.measured_us, TickText::kMicroseconds));
  if (point.predicted_us) note += fmt::format(", predicted {}", tick_text(*point.predicted_us, TickText::kMicroseconds));
  if (error) note += fmt::format(" ({:+.1f} %)", 100 * *error);
  if (!point.collective.empty() && !point.protocol.empty())
    note += fmt::format("; {} {} {}", point.algorithm, point.protocol, point.channels);
  return note;
}

std::vector<CurveGroup> curves_of(const measured::ValidationReport& report) {
  std::vector<CurveGroup> groups;
  for (const measured::ValidationPoint& point : report.points) {
    if (point.kind != "collective" || point.in_place || point.bytes == Bytes{} || !measured::relative_error(point)) continue;
    if (point.has_debug_output || point.is_cpu_time) continue;
    const std::string file = base_name(point.file);
    const auto known = std::ranges::find_if(groups, [&](const CurveGroup& group) {
      return group.file == file && group.collective == point.collective && group.configuration == point.configuration &&
             group.ranks == point.ranks;
    });
    if (known != groups.end()) {
      known->points.push_back(&point);
      continue;
    }
    groups.push_back({.file = file,
                      .collective = point.collective,
                      .configuration = point.configuration,
                      .ranks = point.ranks,
                      .points = {&point}});
  }
  // A file may hold sizes in any order, those of two sets one after the other; lines go from left to right.
  for (CurveGroup& group : groups) std::ranges::stable_sort(group.points, {}, [](const auto* point) { return point->bytes; });
  return groups;
}

XyChart bandwidth_chart(const CurveGroup& group) {
  return {.title = title_of(group),
          .x = kSizeAxis,
          .y = {.title = "bus bandwidth (GB/s)"},
          .series = measured_and_predicted(group.points, measured_busbw, predicted_busbw),
          .height = 290};
}

XyChart time_chart(const CurveGroup& group) {
  return {.title = title_of(group),
          .x = kSizeAxis,
          .y = kTimeAxis,
          .series = measured_and_predicted(group.points, measured_us, predicted_us),
          .height = 290};
}

// Returns a label that tells a curve from the others of its chart: its file, or how it was taken where one file holds them all.
std::string label_of(const CurveGroup& group, const std::vector<const CurveGroup*>& groups) {
  const bool one_file =
      std::ranges::all_of(groups, [&](const CurveGroup* other) { return other->file == groups.front()->file; });
  if (groups.size() == 1 || !one_file || group.configuration.empty()) return group.file;
  return group.configuration;
}

XyChart error_chart(const std::string& title, const std::vector<const CurveGroup*>& groups) {
  XyChart chart{.title = title, .x = kSizeAxis, .levels = {{.y = 0}}, .width = 1080, .height = 320};
  std::vector<const measured::ValidationPoint*> all;
  std::size_t colour = 0;
  for (const CurveGroup* group : groups) {
    ChartSeries held_out{.name = label_of(*group, groups), .mark = Mark::kLineAndDots, .colour = colour};
    ChartSeries training{.name = held_out.name + " (fit)", .mark = Mark::kHollowDots, .colour = colour};
    for (const measured::ValidationPoint* point : group->points) {
      all.push_back(point);
      (point->training ? training : held_out)
          .points.push_back(
              {size_of(*point), *measured::relative_error(*point), fmt::format("{}: {}", group->file, note_of(*point))});
    }
    chart.series.push_back(std::move(held_out));
    chart.series.push_back(std::move(training));
    ++colour;
  }
  chart.y = error_axis(all);
  return chart;
}

StripChart error_strips(const measured::ValidationReport& report) {
  StripChart chart{.title = "Error of every point, by file",
                   .dots = "held out; bar: median",
                   .hollow_dots = "used in the fit",
                   .width = 1080};
  std::vector<const measured::ValidationPoint*> all;
  for (const measured::ValidationPoint& point : report.points) {
    const measured::Exclusion exclusion = measured::exclusion_of(point);
    if (exclusion != measured::Exclusion::kNone && exclusion != measured::Exclusion::kTraining) continue;
    all.push_back(&point);
    const std::string name = base_name(point.file);
    auto row = std::ranges::find(chart.rows, name, &StripRow::name);
    if (row == chart.rows.end()) row = chart.rows.insert(row, StripRow{.name = name});
    (point.training ? row->hollow : row->points).push_back({.x = *measured::relative_error(point), .note = note_of(point)});
  }
  chart.x = error_axis(all);
  return chart;
}

XyChart agreement_chart(const std::string& title, const std::vector<const measured::ValidationPoint*>& points) {
  XyChart chart{.title = title, .x = kTimeAxis, .y = kTimeAxis, .height = 330};
  chart.x.title = "measured time";
  chart.y.title = "predicted time";
  std::map<std::string, std::size_t> colours;
  ChartSeries equal{.name = "equal", .mark = Mark::kLine, .colour = 7, .dashed = true};
  double low = HUGE_VAL;
  double high = 0;
  for (const measured::ValidationPoint* point : points) {
    if (!point->predicted_us) continue;
    const auto [at, is_new] = colours.try_emplace(point->configuration, colours.size());
    if (is_new) chart.series.push_back({.name = at->first, .mark = Mark::kDots, .colour = at->second});
    chart.series[at->second].points.push_back({point->measured_us, *point->predicted_us, note_of(*point)});
    low = std::min({low, point->measured_us, *point->predicted_us});
    high = std::max({high, point->measured_us, *point->predicted_us});
  }
  if (high > 0) equal.points = {{low, low}, {high, high}};
  chart.series.push_back(std::move(equal));
  return chart;
}

XyChart kind_error_chart(const std::string& title, const std::vector<const measured::ValidationPoint*>& points, bool by_flops) {
  XyChart chart{.title = title,
                .x = by_flops ? ChartAxis{.title = "floating-point operations", .logarithmic = true} : kSizeAxis,
                .y = error_axis(points),
                .levels = {{.y = 0}},
                .height = 330};
  if (!by_flops) chart.x.title = "bytes";
  std::map<std::string, std::size_t> colours;
  for (const measured::ValidationPoint* point : points) {
    const auto error = measured::relative_error(*point);
    if (!error) continue;
    const auto [at, is_new] = colours.try_emplace(point->configuration, colours.size());
    if (is_new) chart.series.push_back({.name = at->first, .mark = Mark::kDots, .colour = at->second});
    chart.series[at->second].points.push_back({by_flops ? point->flops : size_of(*point), *error, note_of(*point)});
  }
  return chart;
}

Roofs roofs_of(const work::GpuSpec& gpu, const std::vector<const measured::ValidationPoint*>& points) {
  Roofs roofs{.bytes_per_second = gpu.hbm_bytes_per_second};
  for (const measured::ValidationPoint* point : points) {
    if (!point->precision) continue;
    const double peak = work::stated_peak(gpu, *point->precision);
    if (peak > 0) roofs.flops_per_second[*point->precision] = peak;
  }
  return roofs;
}

XyChart roofline_chart(const std::vector<const measured::ValidationPoint*>& points, const Roofs& roofs) {
  XyChart chart{.title = "Roofline",
                .x = {.title = "operations per byte (FLOP/B)", .logarithmic = true},
                .y = {.title = "TFLOP/s", .logarithmic = true},
                .height = 330};
  std::size_t colour = 7;
  for (const auto& [precision, peak] : roofs.flops_per_second) {
    chart.series.push_back(roof_line(points, precision, peak, roofs.bytes_per_second));
    chart.series.back().colour = colour--;
  }
  ChartSeries measured{.name = "measured", .mark = Mark::kDots, .colour = kMeasured};
  ChartSeries predicted{.name = "predicted", .mark = Mark::kHollowDots, .colour = kPredicted};
  for (const measured::ValidationPoint* point : points) {
    if (!has_intensity(*point)) continue;
    const double intensity = intensity_of(*point);
    measured.points.push_back({intensity, point->flops / point->measured_us * 1e-6, note_of(*point)});
    if (point->predicted_us) predicted.points.push_back({intensity, point->flops / *point->predicted_us * 1e-6});
  }
  chart.series.push_back(std::move(predicted));
  chart.series.push_back(std::move(measured));
  return chart;
}

XyChart efficiency_chart(const std::vector<const measured::ValidationPoint*>& points, const Roofs& roofs) {
  XyChart chart{.title = "Efficiency",
                .x = {.title = "floating-point operations", .logarithmic = true},
                .y = {.title = "share of the data sheet's peak", .text = TickText::kPercent},
                .height = 330};
  ChartSeries measured{.name = "measured", .mark = Mark::kDots, .colour = kMeasured};
  ChartSeries predicted{.name = "predicted", .mark = Mark::kHollowDots, .colour = kPredicted};
  for (const measured::ValidationPoint* point : points) {
    if (point->flops <= 0 || !point->precision || !roofs.flops_per_second.contains(*point->precision)) continue;
    const double peak = roofs.flops_per_second.at(*point->precision);
    const auto share = [&](double us) { return point->flops / (us * 1e-6) / peak; };
    measured.points.push_back({point->flops, share(point->measured_us), note_of(*point)});
    if (point->predicted_us) predicted.points.push_back({point->flops, share(*point->predicted_us)});
  }
  chart.series = {std::move(predicted), std::move(measured)};
  return chart;
}

XyChart copy_chart(const std::vector<const measured::ValidationPoint*>& points) {
  XyChart chart{
      .title = "Copies: all that run at once together", .x = kSizeAxis, .y = {.title = "bandwidth (GB/s)"}, .height = 330};
  chart.x.title = "size of one copy";
  // The dots of a pattern in one colour; of several copies of one size, each has its dot and the line their middle.
  std::map<std::string, std::vector<const measured::ValidationPoint*>> by_pattern;
  for (const measured::ValidationPoint* point : points) by_pattern[point->configuration].push_back(point);
  std::size_t colour = 0;
  for (auto& [pattern, members] : by_pattern) {
    std::ranges::stable_sort(members, {}, [](const measured::ValidationPoint* point) { return point->bytes; });
    ChartSeries measured{.name = pattern, .mark = Mark::kDots, .colour = colour};
    ChartSeries predicted{.mark = Mark::kLine, .colour = colour};
    for (const measured::ValidationPoint* point : members) {
      const auto rate = [&](double us) { return size_of(*point) * std::max(point->ranks, 1) / us * 1e-3; };
      measured.points.push_back({size_of(*point), rate(point->measured_us), note_of(*point)});
      if (point->predicted_us) predicted.points.push_back({size_of(*point), rate(*point->predicted_us)});
    }
    if (predicted.points.size() == 1) predicted.mark = Mark::kHollowDots;
    chart.series.push_back(std::move(predicted));
    chart.series.push_back(std::move(measured));
    ++colour;
  }
  return chart;
}

BarChart pair_bars(const std::string& title, const std::vector<const measured::ValidationPoint*>& points) {
  BarChart chart{.title = title,
                 .value = {.title = "time", .text = TickText::kMicroseconds},
                 .series = {{.name = "measured", .colour = kMeasured}, {.name = "predicted", .colour = kPredicted}},
                 .width = 1080};
  for (const measured::ValidationPoint* point : points) {
    chart.categories.push_back(point->bytes == Bytes{} ? point->algorithm
                                                       : fmt::format("{} ({})", point->algorithm, to_string(point->bytes)));
    chart.series[0].values.push_back(point->measured_us);
    chart.series[1].values.push_back(point->predicted_us.value_or(NAN));
  }
  return chart;
}

}  // namespace weft::output::detail
