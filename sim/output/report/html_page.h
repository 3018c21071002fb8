// One page of results that stands by itself: no scripts, nothing from outside, readable in the dark and on paper.
//
//   HtmlPage page{"Measured and predicted", "4 x H200, profile h200_sxm"};
//   page.tiles({{.label = "median error", .value = "3.5 %", .note = "412 points"}});
//   page.section("Collectives").paragraph("Dots are measured.").chart(to_svg(chart), "all_reduce on 4 ranks");
//   page.table(table);
//   out << page.html();
//
// Texts are given as they are: every one is escaped here. Sections are listed at the top. Same calls, same bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::output {

// How a cell or a note is coloured; words carry the meaning too.
enum class Tone { kPlain, kGood, kFair, kPoor, kBad, kFaint };

struct HtmlCell {
  std::string text = {};
  Tone tone = Tone::kPlain;
  std::string note = {};  // shown when the pointer rests on the cell
};

struct HtmlColumn {
  std::string title = {};
  bool is_text = false;  // texts stand left, numbers right
};

struct HtmlTable {
  std::vector<HtmlColumn> columns = {};
  std::vector<std::vector<HtmlCell>> rows = {};  // one cell per column
  std::string caption = {};
};

// A figure that is seen first.
struct HtmlTile {
  std::string label = {};
  std::string value = {};
  std::string note = {};
  Tone tone = Tone::kPlain;
};

class HtmlPage {
 public:
  explicit HtmlPage(std::string title, std::string subtitle = {});

  HtmlPage& section(std::string_view title);
  HtmlPage& subsection(std::string_view title);
  HtmlPage& paragraph(std::string_view text);
  HtmlPage& note(std::string_view text, Tone tone);  // a paragraph that is not to be missed
  HtmlPage& list(const std::vector<std::string>& items);
  HtmlPage& code(std::string_view text);  // lines as they are
  HtmlPage& tiles(const std::vector<HtmlTile>& tiles);
  HtmlPage& table(const HtmlTable& table);
  // `svg` as chart.h draws it; charts that follow one another stand side by side where there is room.
  HtmlPage& chart(std::string_view svg, std::string_view caption = {});
  // The page folds away all content between the two until its summary is clicked. May nest.
  HtmlPage& begin_details(std::string_view summary);
  HtmlPage& end_details();

  [[nodiscard]] std::string html() const;

 private:
  void close_charts();
  std::string title_;
  std::string subtitle_;
  std::string contents_;
  std::string body_;
  std::size_t sections_ = 0;
  std::size_t details_ = 0;  // open now
  bool in_charts_ = false;
};

[[nodiscard]] std::string html_escaped(std::string_view text);

}  // namespace weft::output
