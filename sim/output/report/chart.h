// Charts as SVG to stand inside a page (html_page.h): points and lines, bars, a heat map, strips of errors.
//
//   const std::string svg = to_svg(XyChart{
//       .title = "all_reduce, 4 ranks",
//       .x = {.title = "message size", .logarithmic = true, .text = TickText::kBytes},
//       .y = {.title = "bus bandwidth (GB/s)"},
//       .series = {{.name = "measured", .mark = Mark::kDots, .colour = 0, .points = measured},
//                  {.name = "predicted", .mark = Mark::kLine, .colour = 1, .points = predicted}}});
//
// The legend has a band of its own below the axis, so that it never covers data. Colours are Okabe and Ito's (2008), which
// people with any colour vision tell apart, and each has a shape of dot besides; the page's style sheet (chart_style) gives
// them for light, dark and paper. No scripts: what a point is shows when the pointer rests on it. Points that are not finite,
// or not above 0 on a logarithmic axis, are left out; beyond a given end of an axis a point is drawn at the edge, as a hollow
// triangle.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::output {

// How the numbers along an axis are written: "20 k"; "64 KiB"; "20 us" for microseconds; "5 %" for a share of 0.05.
enum class TickText { kNumber, kBytes, kMicroseconds, kPercent };

struct ChartAxis {
  std::string title = {};  // with its unit, where the numbers carry none
  bool logarithmic = false;
  TickText text = TickText::kNumber;
  std::optional<double> min = {};  // absent: from the data
  std::optional<double> max = {};
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string note = {};  // shown when the pointer rests on the point
};

enum class Mark { kLine, kDots, kHollowDots, kLineAndDots };

inline constexpr std::size_t kChartColours = 8;  // more repeat

struct ChartSeries {
  std::string name = {};  // empty: not in the legend
  Mark mark = Mark::kLine;
  std::size_t colour = 0;
  bool dashed = false;
  std::vector<ChartPoint> points = {};
};

// A thin line across the chart.
struct ChartLevel {
  double y = 0;
  std::string name = {};
};

struct XyChart {
  std::string title = {};
  ChartAxis x = {};
  ChartAxis y = {};
  std::vector<ChartSeries> series = {};
  std::vector<ChartLevel> levels = {};
  int width = 530;
  int height = 340;
};
[[nodiscard]] std::string to_svg(const XyChart& chart);

struct BarSeries {
  std::string name = {};
  std::size_t colour = 0;
  std::vector<double> values = {};  // one per category; not a number: no bar
};

// Horizontal bars, so that long names stay readable; side by side, or stacked.
struct BarChart {
  std::string title = {};
  ChartAxis value = {};
  std::vector<std::string> categories = {};
  std::vector<BarSeries> series = {};
  bool stacked = false;
  int width = 640;
};
[[nodiscard]] std::string to_svg(const BarChart& chart);

struct HeatMap {
  std::string title = {};
  std::string x_title = {};
  std::string y_title = {};
  std::vector<std::string> columns = {};
  std::vector<std::string> rows = {};
  std::vector<double> values = {};  // row by row; not a number: no cell
  std::string unit = {};
  std::optional<double> min = {};  // of the colours; absent: from the values
  std::optional<double> max = {};
  int width = 640;
};
[[nodiscard]] std::string to_svg(const HeatMap& map);

// One group's values as dots on a line, with a bar at their median. Hollow dots come from `hollow`.
struct StripRow {
  std::string name = {};
  std::vector<ChartPoint> points = {};  // y is not used
  std::vector<ChartPoint> hollow = {};
};

struct StripChart {
  std::string title = {};
  ChartAxis x = {};
  std::vector<StripRow> rows = {};
  std::string dots = {};         // what the legend calls them; empty: no legend
  std::string hollow_dots = {};  // the same
  int width = 720;
};
[[nodiscard]] std::string to_svg(const StripChart& chart);

// Style sheet that the charts of a page rely on, once a page; html_page.h includes it.
[[nodiscard]] std::string_view chart_style();

}  // namespace weft::output
