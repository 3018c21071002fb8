// The drawing surface of charts: SVG elements, text as wide as it will be, frames with axes, and the legend's band.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/output/report/chart.h"
#include "sim/output/report/chart_axis.h"

namespace weft::output::detail {

[[nodiscard]] std::string xml_escaped(std::string_view text);
// Pixels that `text` takes in the charts' small letters: an estimate, a little on the wide side.
[[nodiscard]] double text_width(std::string_view text);
// Cut in the middle, where it would be wider than `pixels`.
[[nodiscard]] std::string fitted(std::string_view text, double pixels);

// Where the data go, in pixels from the upper left corner.
struct PlotArea {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  [[nodiscard]] double x(double at) const { return left + at * width; }
  [[nodiscard]] double y(double at) const { return top + (1 - at) * height; }  // 0 is below
};

struct LegendEntry {
  std::string name;
  Mark mark = Mark::kLine;
  std::size_t colour = 0;
  bool dashed = false;
  bool bar = false;  // a filled square
};

class Canvas {
 public:
  Canvas(std::string_view title, double width) : title_{title}, width_{width} {}

  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void path(const std::vector<std::pair<double, double>>& points, std::size_t colour, bool dashed);
  void dot(double x, double y, std::size_t colour, bool hollow, std::string_view note);
  void edge_mark(double x, double y, std::size_t colour, std::string_view note);  // for a point beyond the axis
  void rect(double x, double y, double width, double height, std::string_view css, std::string_view fill,
            std::string_view note);
  // `anchor`: start, middle or end.
  void text(double x, double y, std::string_view content, std::string_view anchor, std::string_view css = "t");
  void vertical_text(double x, double y, std::string_view content);

  // Title at the top; the height it takes.
  double title_band();
  // Rows of entries from `y` down; the y below them.
  double legend(double y, double left, const std::vector<LegendEntry>& entries);
  void x_ticks(const PlotArea& area, const AxisScale& scale, std::string_view title);
  void y_ticks(const PlotArea& area, const AxisScale& scale, std::string_view title, double title_x);

  [[nodiscard]] std::string svg(double height) const;

 private:
  std::string title_;
  double width_;
  std::string body_;
};

// Heights and distances that all charts share, in pixels.
inline constexpr double kLineHeight = 17;
inline constexpr double kXBand = 42;  // tick labels and title below a plot

}  // namespace weft::output::detail
