// A report as a list of blocks, written out twice: as a page of HTML that stands by itself, and as Markdown. What stands in it
// is result_report.h's business.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/output/report/html_page.h"

namespace weft::output {

struct SectionBlock {
  std::string title;
};
struct TextBlock {
  std::string text;
};
struct NoteBlock {  // not to be missed
  std::string text;
};
struct ListBlock {
  std::vector<std::string> items;
};
struct CodeBlock {
  std::string text;
};
struct TileBlock {
  std::vector<HtmlTile> tiles;
};
struct TableBlock {
  HtmlTable table;
};
struct ChartBlock {  // left out of Markdown, where its table stands for it
  std::string svg;
  std::string caption;
};
struct FoldedBlock {  // long texts that few want
  std::string summary;
  std::string code;
};
using Block =
    std::variant<SectionBlock, TextBlock, NoteBlock, ListBlock, CodeBlock, TileBlock, TableBlock, ChartBlock, FoldedBlock>;

struct Document {
  std::string title;
  std::string subtitle;
  std::vector<Block> blocks;

  template <class B>
  Document& add(B block) {
    blocks.emplace_back(std::move(block));
    return *this;
  }
};

// Text as Markdown shows it and does not obey it: no markup, no links, one line.
[[nodiscard]] std::string markdown_escaped(std::string_view text);

[[nodiscard]] std::string to_html(const Document& document);
[[nodiscard]] std::string to_markdown(const Document& document);

}  // namespace weft::output
