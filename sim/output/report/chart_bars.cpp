// Bars and heat maps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/output/report/chart.h"
#include "sim/output/report/chart_canvas.h"

namespace weft::output {
namespace {

using detail::AxisScale;
using detail::Canvas;
using detail::LegendEntry;
using detail::PlotArea;

double bar_value(const BarSeries& series, std::size_t category) {
  const double value = category < series.values.size() ? series.values[category] : NAN;
  return std::isfinite(value) ? value : NAN;
}

// Returns every value that the axis must span: 0, every bar, and every stack's ends.
std::vector<double> bar_ends(const BarChart& chart) {
  std::vector<double> ends;
  if (!chart.value.logarithmic) ends.push_back(0);
  for (std::size_t c = 0; c < chart.categories.size(); ++c) {
    double sum = 0;
    for (const BarSeries& series : chart.series) {
      const double value = bar_value(series, c);
      if (std::isnan(value)) continue;
      sum += value;
      ends.push_back(chart.stacked ? sum : value);
    }
  }
  return ends;
}

void draw_category(Canvas& canvas, const PlotArea& area, const AxisScale& x, const BarChart& chart, std::size_t category,
                   double y, double thickness) {
  double from = 0;
  for (const BarSeries& series : chart.series) {
    const double value = bar_value(series, category);
    if (!chart.stacked) from = 0;
    if (!std::isnan(value) && (x.shows(value) || !chart.value.logarithmic)) {
      const double left = area.x(chart.value.logarithmic ? 0 : x.at(std::min(from, from + value)));
      const double right = area.x(x.at(chart.value.logarithmic ? value : std::max(from, from + value)));
      const std::string text = detail::tick_text(value, chart.value.text);
      canvas.rect(left, y + 1, std::max(right - left, 0.5), thickness - 2, fmt::format("cb k{}", series.colour % kChartColours),
                  {},
                  fmt::format("{}{}{}: {}", chart.categories[category], series.name.empty() ? "" : ", ", series.name, text));
      if (!chart.stacked) canvas.text(right + 5, y + thickness / 2 + 4, text, "start");
      from += value;
    }
    if (!chart.stacked) y += thickness;
  }
}

// Cividis (Nunez, Anderton and Renslow, 2018), which is read alike with any colour vision, at seven places.
struct Rgb {
  double r, g, b;
};
constexpr std::array<Rgb, 7> kCividis{
    {{0, 34, 78}, {42, 64, 108}, {88, 92, 109}, {124, 123, 120}, {164, 156, 120}, {206, 192, 101}, {254, 232, 56}}};

Rgb shade(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * (kCividis.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kCividis.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto mix = [part](double a, double b) { return a + part * (b - a); };
  return {mix(kCividis[below].r, kCividis[below + 1].r), mix(kCividis[below].g, kCividis[below + 1].g),
          mix(kCividis[below].b, kCividis[below + 1].b)};
}

std::string hex(const Rgb& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(c.r), std::lround(c.g), std::lround(c.b));
}

void colour_bar(Canvas& canvas, double left, double y, double low, double high, const std::string& unit) {
  constexpr int kSteps = 24;
  constexpr double kStepWidth = 8;
  const std::string first = detail::tick_text(low, TickText::kNumber);
  canvas.text(left, y + 10, first, "start");
  const double begin = left + detail::text_width(first) + 8;
  for (int i = 0; i < kSteps; ++i)
    canvas.rect(begin + kStepWidth * i, y, kStepWidth + 0.5, 12, "cc", hex(shade((i + 0.5) / kSteps)), {});
  canvas.text(begin + kStepWidth * kSteps + 8, y + 10,
              detail::tick_text(high, TickText::kNumber) + (unit.empty() ? "" : " " + unit), "start");
}

}  // namespace

std::string to_svg(const BarChart& chart) {
  Canvas canvas{chart.title, static_cast<double>(chart.width)};
  const double top = canvas.title_band();
  const std::size_t series = chart.stacked ? 1 : std::max<std::size_t>(chart.series.size(), 1);
  const double thickness = series > 2 ? 13 : 17;
  const double band = thickness * static_cast<double>(series) + 9;
  double names = 0;
  for (const std::string& name : chart.categories) names = std::max(names, detail::text_width(name));

  PlotArea area{.left = std::min(names + 14, 0.42 * chart.width),
                .top = top,
                .height = band * static_cast<double>(std::max<std::size_t>(chart.categories.size(), 1))};
  area.width = chart.width - area.left - (chart.stacked ? 16 : 64);  // room for the number behind the longest bar
  const AxisScale x{chart.value, bar_ends(chart), area.width, 58};
  canvas.x_ticks(area, x, chart.value.title);
  for (std::size_t c = 0; c < chart.categories.size(); ++c) {
    const double y = area.top + band * static_cast<double>(c) + 4.5;
    canvas.text(area.left - 8, y + (band - 9) / 2 + 4, detail::fitted(chart.categories[c], area.left - 12), "end");
    draw_category(canvas, area, x, chart, c, y, thickness);
  }
  std::vector<LegendEntry> entries;
  for (const BarSeries& each : chart.series) {
    if (!each.name.empty()) entries.push_back({.name = each.name, .colour = each.colour, .bar = true});
  }
  const double bottom = area.top + area.height + detail::kXBand;
  return canvas.svg(canvas.legend(bottom, std::min(area.left, 16.0), entries) + 4);
}

std::string to_svg(const HeatMap& map) {
  Canvas canvas{map.title, static_cast<double>(map.width)};
  const std::size_t columns = std::max<std::size_t>(map.columns.size(), 1);
  double low = map.min.value_or(HUGE_VAL);
  double high = map.max.value_or(-HUGE_VAL);
  for (const double value : map.values) {
    if (!std::isfinite(value)) continue;
    if (!map.min) low = std::min(low, value);
    if (!map.max) high = std::max(high, value);
  }
  if (!(low <= high)) low = high = 0;

  double names = 0;
  for (const std::string& name : map.rows) names = std::max(names, detail::text_width(name));
  PlotArea area{.left = std::min(names, 0.4 * map.width) + (map.y_title.empty() ? 14 : 32), .top = canvas.title_band()};
  area.width = map.width - area.left - 8;
  const double cell = area.width / static_cast<double>(columns);
  const double row = std::clamp(cell, 16.0, 30.0);
  area.height = row * static_cast<double>(std::max<std::size_t>(map.rows.size(), 1));
  if (!map.y_title.empty()) canvas.vertical_text(12, area.top + area.height / 2, detail::fitted(map.y_title, area.height));

  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = area.top + row * static_cast<double>(r);
    canvas.text(area.left - 6, y + row / 2 + 4, detail::fitted(map.rows[r], area.left - 10), "end");
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const std::size_t index = r * map.columns.size() + c;
      if (index >= map.values.size() || !std::isfinite(map.values[index])) continue;
      const double share = high > low ? (map.values[index] - low) / (high - low) : 0.5;
      const double x = area.left + cell * static_cast<double>(c);
      const std::string text = detail::tick_text(map.values[index], TickText::kNumber);
      canvas.rect(x, y, cell - 1, row - 1, "cc", hex(shade(share)),
                  fmt::format("{}, {}: {}{}{}", map.rows[r], map.columns[c], text, map.unit.empty() ? "" : " ", map.unit));
      if (detail::text_width(text) + 4 <= cell)
        canvas.text(x + cell / 2, y + row / 2 + 4, text, "middle", share < 0.55 ? "w" : "b");
    }
  }
  // Column names stand upright where they fit, and every few where there are many.
  double widest = 0;
  for (const std::string& name : map.columns) widest = std::max(widest, detail::text_width(name));
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil((std::min(widest, 90.0) + 8) / cell)));
  for (std::size_t c = 0; c < map.columns.size(); c += every) {
    canvas.text(area.left + cell * (static_cast<double>(c) + 0.5), area.top + area.height + 15,
                detail::fitted(map.columns[c], std::max(90.0, cell * static_cast<double>(every) - 6)), "middle");
  }
  double bottom = area.top + area.height + 22;
  if (!map.x_title.empty()) {
    canvas.text(area.left + area.width / 2, bottom + 11, map.x_title, "middle");
    bottom += detail::kLineHeight;
  }
  colour_bar(canvas, area.left, bottom + 4, low, high, map.unit);
  return canvas.svg(bottom + 24);
}

}  // namespace weft::output
