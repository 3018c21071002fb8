#include "sim/output/report/document.h"

#include <algorithm>
#include <utility>

#include "sim/core/printable.h"

namespace weft::output {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + markdown_escaped(cell) + " |";
  return row + "\n";
}

std::string markdown_table(const HtmlTable& table) {
  std::vector<std::string> cells;
  std::string rule = "|";
  for (const HtmlColumn& column : table.columns) {
    cells.push_back(column.title);
    rule += column.is_text ? " --- |" : " ---: |";
  }
  std::string text = table.caption.empty() ? "" : markdown_escaped(table.caption) + "\n\n";
  text += markdown_row(cells) + rule + "\n";
  for (const std::vector<HtmlCell>& row : table.rows) {
    cells.clear();
    for (const HtmlCell& cell : row) cells.push_back(cell.text);
    text += markdown_row(cells);
  }
  return text;
}

// A fence that the text does not end.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "text\n" + printable_lines(text) + "\n" + fence + "\n\n";
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
  std::string line{text};
  std::ranges::replace(line, '\n', ' ');
  line = printable(line);
  std::string escaped;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins_address = line.compare(i, 3, "://") == 0;
    if (begins_address || std::string_view{"|<*`\\[]&"}.find(line[i]) != std::string_view::npos) escaped += '\\';
    escaped += line[i];
  }
  return escaped;
}

std::string to_html(const Document& document) {
  HtmlPage page{document.title, document.subtitle};
  for (const Block& block : document.blocks) {
    std::visit(
        Overloaded{[&](const SectionBlock& b) { page.section(b.title); }, [&](const TextBlock& b) { page.paragraph(b.text); },
                   [&](const NoteBlock& b) { page.note(b.text, Tone::kFair); }, [&](const ListBlock& b) { page.list(b.items); },
                   [&](const CodeBlock& b) { page.code(b.text); }, [&](const TileBlock& b) { page.tiles(b.tiles); },
                   [&](const TableBlock& b) { page.table(b.table); },
                   [&](const ChartBlock& b) { page.chart(b.svg, b.caption); },
                   [&](const FoldedBlock& b) { page.begin_details(b.summary).code(b.code).end_details(); }},
        block);
  }
  return page.html();
}

std::string to_markdown(const Document& document) {
  std::string text = "# " + markdown_escaped(document.title) + "\n\n";
  if (!document.subtitle.empty()) text += markdown_escaped(document.subtitle) + "\n\n";
  for (const Block& block : document.blocks) {
    std::visit(Overloaded{[&](const SectionBlock& b) { text += "## " + markdown_escaped(b.title) + "\n\n"; },
                          [&](const TextBlock& b) { text += markdown_escaped(b.text) + "\n\n"; },
                          [&](const NoteBlock& b) { text += "> " + markdown_escaped(b.text) + "\n\n"; },
                          [&](const ListBlock& b) {
                            for (const std::string& item : b.items) text += "- " + markdown_escaped(item) + "\n";
                            text += "\n";
                          },
                          [&](const CodeBlock& b) { text += fenced(b.text); },
                          [&](const TileBlock& b) {
                            for (const HtmlTile& tile : b.tiles) {
                              text += "- " + markdown_escaped(tile.label) + ": **" + markdown_escaped(tile.value) + "**";
                              if (!tile.note.empty()) text += " (" + markdown_escaped(tile.note) + ")";
                              text += "\n";
                            }
                            text += "\n";
                          },
                          [&](const TableBlock& b) { text += markdown_table(b.table) + "\n"; }, [&](const ChartBlock&) {},
                          [&](const FoldedBlock&) {}},
               block);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace weft::output
