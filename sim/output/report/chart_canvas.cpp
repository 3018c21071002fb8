#include "sim/output/report/chart_canvas.h"

#include <fmt/format.h>

#include <utility>

namespace weft::output::detail {
namespace {

constexpr double kDot = 3.2;  // pixels, half of a dot's width
constexpr std::size_t kShapes = 4;

std::string note_element(std::string_view note) {
  return note.empty() ? std::string{} : fmt::format("<title>{}</title>", xml_escaped(note));
}

// Circle, square, triangle, diamond: colours stay apart in print too.
std::string shape(double x, double y, std::size_t colour, std::string_view css, std::string_view note) {
  const std::string head = fmt::format("class=\"{} k{}\"", css, colour % kChartColours);
  const std::string tail = fmt::format(">{}</", note_element(note));
  switch (colour % kShapes) {
    case 0:
      return fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"{}circle>", head, x, y, kDot, tail);
    case 1:
      return fmt::format("<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"{}rect>", head, x - kDot + 0.3,
                         y - kDot + 0.3, 2 * kDot - 0.6, 2 * kDot - 0.6, tail);
    case 2:
      return fmt::format("<path {} d=\"M{:.1f} {:.1f}l{} {}h{}z\"{}path>", head, x, y - kDot - 0.8, kDot + 0.6, 2 * kDot + 0.4,
                         -2 * kDot - 1.2, tail);
    default:
      return fmt::format("<path {} d=\"M{:.1f} {:.1f}l{} {}l{} {}l{} {}z\"{}path>", head, x, y - kDot - 1, kDot + 1, kDot + 1,
                         -kDot - 1, kDot + 1, -kDot - 1, -kDot - 1, tail);
  }
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += static_cast<unsigned char>(c) < ' ' && c != '\n' ? ' ' : c;
  }
  return escaped;
}

double text_width(std::string_view text) {
  double width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;  // within a character of UTF-8
    width += std::string_view{"iljtf.,:;|'!()[] "}.find(c) != std::string_view::npos ? 4.2
             : (c >= 'A' && c <= 'Z') || c == 'm' || c == 'w'                        ? 8.8
                                                                                     : 7.0;
  }
  return width;
}

std::string fitted(std::string_view text, double pixels) {
  if (text_width(text) <= pixels || text.size() < 8) return std::string{text};
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return std::string{text};  // not cut within a character
  }
  std::size_t kept = text.size() - 1;
  while (kept > 6 &&
         text_width(text.substr(0, kept / 2)) + text_width(text.substr(text.size() - (kept - kept / 2))) + 7 > pixels)
    --kept;
  return fmt::format("{}\xE2\x80\xA6{}", text.substr(0, kept / 2), text.substr(text.size() - (kept - kept / 2)));
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view css) {
  body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", css, x1, y1, x2, y2);
}

void Canvas::path(const std::vector<std::pair<double, double>>& points, std::size_t colour, bool dashed) {
  if (points.size() < 2) return;
  body_ += fmt::format("<path class=\"{} k{}\" d=\"", dashed ? "cl cx" : "cl", colour % kChartColours);
  char step = 'M';
  for (const auto& [x, y] : points) {
    body_ += fmt::format("{}{:.1f} {:.1f}", step, x, y);
    step = 'L';
  }
  body_ += "\"/>";
}

void Canvas::dot(double x, double y, std::size_t colour, bool hollow, std::string_view note) {
  body_ += shape(x, y, colour, hollow ? "ch" : "cd", note);
}

void Canvas::edge_mark(double x, double y, std::size_t colour, std::string_view note) {
  body_ += fmt::format("<path class=\"ch k{}\" d=\"M{:.1f} {:.1f}l5 9h-10z\">{}</path>", colour % kChartColours, x, y - 4.5,
                       note_element(note));
}

void Canvas::rect(double x, double y, double width, double height, std::string_view css, std::string_view fill,
                  std::string_view note) {
  const std::string style = fill.empty() ? std::string{} : fmt::format(" fill=\"{}\"", fill);
  body_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"{}>{}</rect>", css, x, y,
                       width, height, style, note_element(note));
}

void Canvas::text(double x, double y, std::string_view content, std::string_view anchor, std::string_view css) {
  body_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", css, x, y, anchor,
                       xml_escaped(content));
}

void Canvas::vertical_text(double x, double y, std::string_view content) {
  body_ += fmt::format("<text class=\"t\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                       x, y, xml_escaped(content));
}

double Canvas::title_band() {
  if (title_.empty()) return 10;
  text(4, 17, fitted(title_, (width_ - 8) / 1.12), "start", "h");
  return 30;
}

double Canvas::legend(double y, double left, const std::vector<LegendEntry>& entries) {
  if (entries.empty()) return y;
  constexpr double kKey = 24;
  constexpr double kGap = 16;
  double x = left;
  y += kLineHeight - 4;
  for (const LegendEntry& entry : entries) {
    const std::string name = fitted(entry.name, width_ - left - kKey);
    const double width = kKey + text_width(name) + kGap;
    if (x > left && x + width - kGap > width_) {
      x = left;
      y += kLineHeight;
    }
    if (entry.bar) {
      rect(x + 4, y - 9, 12, 10, fmt::format("cb k{}", entry.colour % kChartColours), {}, {});
    } else {
      const bool lined = entry.mark == Mark::kLine || entry.mark == Mark::kLineAndDots;
      if (lined) path({{x, y - 4}, {x + 18, y - 4}}, entry.colour, entry.dashed);
      if (entry.mark != Mark::kLine) dot(x + 9, y - 4, entry.colour, entry.mark == Mark::kHollowDots, {});
    }
    text(x + kKey, y, name, "start");
    x += width;
  }
  return y + 6;
}

void Canvas::x_ticks(const PlotArea& area, const AxisScale& scale, std::string_view title) {
  for (const Tick& tick : scale.ticks()) {
    line(area.x(tick.at), area.top, area.x(tick.at), area.top + area.height, "cg");
    text(area.x(tick.at), area.top + area.height + 15, tick.text, "middle");
  }
  text(area.left + area.width / 2, area.top + area.height + 33, fitted(title, area.width), "middle");
}

void Canvas::y_ticks(const PlotArea& area, const AxisScale& scale, std::string_view title, double title_x) {
  for (const Tick& tick : scale.ticks()) {
    line(area.left, area.y(tick.at), area.left + area.width, area.y(tick.at), "cg");
    text(area.left - 6, area.y(tick.at) + 4, tick.text, "end");
  }
  vertical_text(title_x, area.top + area.height / 2, fitted(title, area.height));
}

std::string Canvas::svg(double height) const {
  return fmt::format(
      "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\">{}</svg>",
      xml_escaped(title_), width_, height, width_, height, body_);
}

}  // namespace weft::output::detail
