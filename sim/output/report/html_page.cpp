#include "sim/output/report/html_page.h"

#include <fmt/format.h>

#include <utility>

#include "sim/core/error.h"
#include "sim/core/version.h"
#include "sim/output/report/chart.h"
#include "sim/output/report/chart_canvas.h"

namespace weft::output {
namespace {

// Text of so many characters is not broken, so that a wide table scrolls and its first column is not one word a line.
constexpr std::size_t kShortText = 40;

constexpr std::string_view kStyle =
    "*{box-sizing:border-box}html{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;background:var(--paper);"
    "color:var(--ink);max-width:76em;margin:0 auto;padding:2em 1.2em 4em}"
    "h1{font-size:1.7em;line-height:1.2;margin:0 0 .2em}h2{font-size:1.25em;margin:2.2em 0 .6em;padding-bottom:.25em;"
    "border-bottom:1px solid var(--rule)}h3{font-size:1.02em;margin:1.6em 0 .5em}p{margin:.5em 0;max-width:60em}"
    ".sub{color:var(--soft);margin:0 0 1.2em}nav{font-size:.93em;margin:1em 0}nav a{margin-right:1.1em;white-space:nowrap}"
    "a{color:var(--k0)}.tiles{display:flex;flex-wrap:wrap;gap:.8em;margin:1.2em 0}"
    ".tile{background:var(--faint);border:1px solid var(--rule);border-radius:8px;padding:.7em 1em;min-width:9.5em}"
    ".tile b{display:block;font-size:1.5em;line-height:1.25;font-weight:650}.tile span{display:block;color:var(--soft);"
    "font-size:.85em}.scroll{overflow-x:auto;margin:.6em 0 1.4em}"
    "table{border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;color:var(--soft);padding-bottom:.4em}"
    "th,td{padding:.22em .8em;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}"
    "th{border-bottom:2px solid var(--soft);vertical-align:bottom}.l{text-align:left}"
    "td.l{max-width:34em;white-space:normal;overflow-wrap:break-word}td.l.short{white-space:nowrap}"
    ".g1{background:#cfeadf}.g2{background:#f2edcf}.g3{background:#fbdcbc}.g4{background:#f6c6bd}.g5{color:var(--soft)}"
    "@media screen and (prefers-color-scheme:dark){.g1{background:#173d31}.g2{background:#3b3717}.g3{background:#4c3315}"
    ".g4{background:#562420}}"
    ".note{border-left:4px solid var(--rule);padding:.45em .9em}.note.g1{border-color:#009e73}.note.g4{border-color:#d55e00}"
    "pre{background:var(--faint);border:1px solid var(--rule);border-radius:6px;padding:.7em 1em;overflow-x:auto;"
    "font:13px/1.45 ui-monospace,'DejaVu Sans Mono',monospace;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".charts{display:flex;flex-wrap:wrap;gap:1.2em 1.6em;margin:1em 0}figure{margin:0;max-width:100%}"
    "figcaption{color:var(--soft);font-size:.87em;width:0;min-width:100%}"
    "details{margin:.6em 0}summary{cursor:pointer;color:var(--k0)}"
    "footer{margin-top:3em;color:var(--soft);font-size:.87em}"
    "@media print{body{max-width:none;padding:0;font-size:11pt}nav{display:none}figure,tr,.tile{break-inside:avoid}"
    "h2,h3{break-after:avoid}.scroll{overflow:visible}}";

std::string_view tone_class(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "g1";
    case Tone::kFair:
      return "g2";
    case Tone::kPoor:
      return "g3";
    case Tone::kBad:
      return "g4";
    case Tone::kFaint:
      return "g5";
  }
  return "";
}

std::string class_attribute(std::string_view first, std::string_view second) {
  if (first.empty() && second.empty()) return {};
  return fmt::format(" class=\"{}{}{}\"", first, first.empty() || second.empty() ? "" : " ", second);
}

}  // namespace

std::string html_escaped(std::string_view text) { return detail::xml_escaped(text); }

HtmlPage::HtmlPage(std::string title, std::string subtitle) : title_{std::move(title)}, subtitle_{std::move(subtitle)} {}

void HtmlPage::close_charts() {
  if (in_charts_) body_ += "</div>\n";
  in_charts_ = false;
}

HtmlPage& HtmlPage::section(std::string_view title) {
  close_charts();
  ++sections_;
  contents_ += fmt::format("<a href=\"#s{}\">{}</a> ", sections_, html_escaped(title));
  body_ += fmt::format("<h2 id=\"s{}\">{}</h2>\n", sections_, html_escaped(title));
  return *this;
}

HtmlPage& HtmlPage::subsection(std::string_view title) {
  close_charts();
  body_ += fmt::format("<h3>{}</h3>\n", html_escaped(title));
  return *this;
}

HtmlPage& HtmlPage::paragraph(std::string_view text) {
  close_charts();
  body_ += fmt::format("<p>{}</p>\n", html_escaped(text));
  return *this;
}

HtmlPage& HtmlPage::note(std::string_view text, Tone tone) {
  close_charts();
  body_ += fmt::format("<p{}>{}</p>\n", class_attribute("note", tone_class(tone)), html_escaped(text));
  return *this;
}

HtmlPage& HtmlPage::list(const std::vector<std::string>& items) {
  close_charts();
  if (items.empty()) return *this;
  body_ += "<ul>\n";
  for (const std::string& item : items) body_ += fmt::format("<li>{}</li>\n", html_escaped(item));
  body_ += "</ul>\n";
  return *this;
}

HtmlPage& HtmlPage::code(std::string_view text) {
  close_charts();
  body_ += fmt::format("<pre>{}</pre>\n", html_escaped(text));
  return *this;
}

HtmlPage& HtmlPage::tiles(const std::vector<HtmlTile>& tiles) {
  close_charts();
  body_ += "<div class=\"tiles\">\n";
  for (const HtmlTile& tile : tiles) {
    body_ +=
        fmt::format("<div{}><span>{}</span><b>{}</b><span>{}</span></div>\n", class_attribute("tile", tone_class(tile.tone)),
                    html_escaped(tile.label), html_escaped(tile.value), html_escaped(tile.note));
  }
  body_ += "</div>\n";
  return *this;
}

HtmlPage& HtmlPage::table(const HtmlTable& table) {
  close_charts();
  body_ += "<div class=\"scroll\"><table>\n";
  if (!table.caption.empty()) body_ += fmt::format("<caption>{}</caption>\n", html_escaped(table.caption));
  body_ += "<thead><tr>";
  for (const HtmlColumn& column : table.columns)
    body_ += fmt::format("<th{}>{}</th>", class_attribute(column.is_text ? "l" : "", ""), html_escaped(column.title));
  body_ += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    WEFT_CHECK(row.size() == table.columns.size());
    body_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string note = row[i].note.empty() ? std::string{} : fmt::format(" title=\"{}\"", html_escaped(row[i].note));
      const bool is_short = row[i].text.size() <= kShortText;
      const std::string_view of_text = !table.columns[i].is_text ? "" : is_short ? "l short" : "l";
      body_ +=
          fmt::format("<td{}{}>{}</td>", class_attribute(of_text, tone_class(row[i].tone)), note, html_escaped(row[i].text));
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
  return *this;
}

HtmlPage& HtmlPage::chart(std::string_view svg, std::string_view caption) {
  if (!in_charts_) body_ += "<div class=\"charts\">\n";
  in_charts_ = true;
  body_ += fmt::format("<figure>{}", svg);
  if (!caption.empty()) body_ += fmt::format("<figcaption>{}</figcaption>", html_escaped(caption));
  body_ += "</figure>\n";
  return *this;
}

HtmlPage& HtmlPage::begin_details(std::string_view summary) {
  close_charts();
  ++details_;
  body_ += fmt::format("<details><summary>{}</summary>\n", html_escaped(summary));
  return *this;
}

HtmlPage& HtmlPage::end_details() {
  WEFT_CHECK(details_ > 0);
  close_charts();
  --details_;
  body_ += "</details>\n";
  return *this;
}

std::string HtmlPage::html() const {
  WEFT_CHECK(details_ == 0);
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += fmt::format("<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n", html_escaped(title_), chart_style(), kStyle);
  page += fmt::format("<h1>{}</h1>\n", html_escaped(title_));
  if (!subtitle_.empty()) page += fmt::format("<p class=\"sub\">{}</p>\n", html_escaped(subtitle_));
  if (sections_ > 1) page += fmt::format("<nav>{}</nav>\n", contents_);
  page += body_;
  if (in_charts_) page += "</div>\n";
  return page +
         fmt::format("<footer>weft {} ({})</footer>\n</body>\n</html>\n", html_escaped(version()), html_escaped(commit()));
}

}  // namespace weft::output
