#include "sim/output/report/chart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/stats.h"
#include "sim/output/report/chart_canvas.h"

namespace weft::output {
namespace {

using detail::AxisScale;
using detail::Canvas;
using detail::LegendEntry;
using detail::PlotArea;

double widest_label(const AxisScale& scale) {
  double width = 0;
  for (const detail::Tick& tick : scale.ticks()) width = std::max(width, detail::text_width(tick.text));
  return width;
}

double pixels_per_label(TickText text) { return text == TickText::kNumber ? 46 : 58; }

void draw_series(Canvas& canvas, const PlotArea& area, const AxisScale& x, const AxisScale& y, const ChartSeries& series) {
  const auto shown = [&](const ChartPoint& point) { return x.shows(point.x) && y.shows(point.y); };
  if (series.mark == Mark::kLine || series.mark == Mark::kLineAndDots) {
    std::vector<std::pair<double, double>> points;
    for (const ChartPoint& point : series.points) {
      if (shown(point)) points.emplace_back(area.x(x.at(point.x)), area.y(y.at(point.y)));
    }
    canvas.path(points, series.colour, series.dashed);
    if (series.mark == Mark::kLine) return;
  }
  for (const ChartPoint& point : series.points) {
    if (!shown(point)) continue;
    const double px = area.x(x.at(point.x));
    const double py = area.y(y.at(point.y));
    if (x.beyond(point.x) || y.beyond(point.y))
      canvas.edge_mark(px, py, series.colour, point.note);
    else
      canvas.dot(px, py, series.colour, series.mark == Mark::kHollowDots, point.note);
  }
}

}  // namespace

std::string to_svg(const XyChart& chart) {
  Canvas canvas{chart.title, static_cast<double>(chart.width)};
  const double top = canvas.title_band();
  std::vector<double> xs;
  std::vector<double> ys;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
  }
  for (const ChartLevel& level : chart.levels) ys.push_back(level.y);

  PlotArea area{.top = top, .height = static_cast<double>(chart.height) - top - detail::kXBand};
  const AxisScale y{chart.y, ys, area.height, 34};
  area.left = 34 + widest_label(y);
  area.width = chart.width - area.left - 14;
  const AxisScale x{chart.x, xs, area.width, pixels_per_label(chart.x.text)};
  canvas.x_ticks(area, x, chart.x.title);
  canvas.y_ticks(area, y, chart.y.title, 12);

  std::vector<LegendEntry> entries;
  for (const ChartLevel& level : chart.levels) {
    if (!y.shows(level.y)) continue;
    canvas.line(area.left, area.y(y.at(level.y)), area.left + area.width, area.y(y.at(level.y)), "cv");
    if (!level.name.empty()) canvas.text(area.left + 5, area.y(y.at(level.y)) - 5, level.name, "start", "t n");
  }
  // Lines below, dots above.
  for (const bool lines : {true, false}) {
    for (const ChartSeries& series : chart.series) {
      if ((series.mark == Mark::kLine) == lines) draw_series(canvas, area, x, y, series);
    }
  }
  for (const ChartSeries& series : chart.series) {
    if (series.name.empty() || series.points.empty()) continue;
    entries.push_back({.name = series.name, .mark = series.mark, .colour = series.colour, .dashed = series.dashed});
  }
  return canvas.svg(canvas.legend(chart.height, area.left, entries) + 4);
}

std::string to_svg(const StripChart& chart) {
  constexpr double kRow = 22;
  Canvas canvas{chart.title, static_cast<double>(chart.width)};
  const double top = canvas.title_band();
  std::vector<double> xs;
  double names = 0;
  for (const StripRow& row : chart.rows) {
    for (const auto* points : {&row.points, &row.hollow}) {
      for (const ChartPoint& point : *points) xs.push_back(point.x);
    }
    names = std::max(names, detail::text_width(row.name));
  }
  PlotArea area{.left = std::min(names + 14, 0.42 * chart.width),
                .top = top,
                .height = kRow * static_cast<double>(std::max<std::size_t>(chart.rows.size(), 1))};
  area.width = chart.width - area.left - 16;
  const AxisScale x{chart.x, xs, area.width, pixels_per_label(chart.x.text)};
  canvas.x_ticks(area, x, chart.x.title);
  if (!chart.x.logarithmic && !x.beyond(0))
    canvas.line(area.x(x.at(0)), area.top, area.x(x.at(0)), area.top + area.height, "cv");

  double y = area.top + kRow / 2;
  for (const StripRow& row : chart.rows) {
    canvas.text(area.left - 8, y + 4, detail::fitted(row.name, area.left - 12), "end");
    canvas.line(area.left, y, area.left + area.width, y, "cg");
    std::vector<double> values;
    const auto draw = [&](const std::vector<ChartPoint>& points, bool hollow) {
      for (const ChartPoint& point : points) {
        if (!x.shows(point.x)) continue;
        if (!hollow) values.push_back(point.x);
        if (x.beyond(point.x))
          canvas.edge_mark(area.x(x.at(point.x)), y, 0, point.note);
        else
          canvas.dot(area.x(x.at(point.x)), y, 0, hollow, point.note);
      }
    };
    draw(row.hollow, true);
    draw(row.points, false);
    if (!values.empty()) {
      const double middle = area.x(x.at(median(values)));
      canvas.line(middle, y - 9, middle, y + 9, "cm");
    }
    y += kRow;
  }
  std::vector<LegendEntry> entries;
  if (!chart.dots.empty()) entries.push_back({.name = chart.dots, .mark = Mark::kDots});
  if (!chart.hollow_dots.empty()) entries.push_back({.name = chart.hollow_dots, .mark = Mark::kHollowDots});
  const double bottom = area.top + area.height + detail::kXBand;
  return canvas.svg(canvas.legend(bottom, area.left, entries) + 4);
}

std::string_view chart_style() {
  return ":root{--paper:#fff;--ink:#1f2328;--soft:#59636e;--rule:#d8dee4;--faint:#f3f5f7;"
         "--k0:#0072b2;--k1:#d55e00;--k2:#009e73;--k3:#cc79a7;--k4:#b58900;--k5:#56b4e9;--k6:#6c4ab6;--k7:#555555}"
         "@media screen and (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e6eaee;--soft:#9aa5b1;--rule:#343c45;"
         "--faint:#1d232a;--k0:#5ab4f0;--k1:#ff8f4a;--k2:#3fcf9f;--k3:#e79cc6;--k4:#f0c24a;--k5:#9bd5fa;--k6:#b49cf0;--k7:#"
         "b0b8c0}}"
         ".chart{max-width:100%;height:auto;font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
         ".chart .t{fill:var(--soft);font-size:11.5px}.chart .h{fill:var(--ink);font-size:13px;font-weight:600}"
         ".chart .n{font-style:italic}.cg{stroke:var(--rule);stroke-width:1;fill:none}"
         ".cv{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3;fill:none}.cm{stroke:var(--k1);stroke-width:2.5;fill:none}"
         ".cl{stroke:var(--k);stroke-width:1.8;fill:none;stroke-linejoin:round}.cx{stroke-dasharray:6 4}"
         ".cd,.cb{fill:var(--k)}.cd{fill-opacity:.85}.ch{fill:var(--paper);stroke:var(--k);stroke-width:1.4}"
         ".k0{--k:var(--k0)}.k1{--k:var(--k1)}.k2{--k:var(--k2)}.k3{--k:var(--k3)}.k4{--k:var(--k4)}.k5{--k:var(--k5)}"
         ".k6{--k:var(--k6)}.k7{--k:var(--k7)}.chart .w{fill:#fff;font-size:11px}.chart .b{fill:#111;font-size:11px}";
}

}  // namespace weft::output
