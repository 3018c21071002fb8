// A page is whole, escapes what it is given, and asks for nothing from outside.
#include "sim/output/report/html_page.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/core/error.h"
#include "sim/output/report/chart.h"

namespace weft::output {
namespace {

HtmlPage full_page() {
  HtmlPage page{"Title & more", "sub"};
  page.tiles({{.label = "median", .value = "3.5 %", .note = "of 12", .tone = Tone::kGood}});
  page.section("One").paragraph("a < b").list({"x", "y"}).code("weft run a.yaml");
  page.chart(to_svg(XyChart{.title = "c", .series = {{.points = {{1, 2}, {2, 3}}}}}), "caption");
  page.section("Two").begin_details("all points");
  page.table({.columns = {{"name", true}, {"value"}}, .rows = {{{"<b>"}, {"1", Tone::kBad, "why \"so\""}}}});
  page.end_details().note("careful", Tone::kBad);
  return page;
}

TEST(HtmlPageTest, EscapesEveryText) {
  const std::string html = full_page().html();
  EXPECT_NE(html.find("<title>Title &amp; more</title>"), std::string::npos);
  EXPECT_NE(html.find("a &lt; b"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"l short\">&lt;b&gt;</td>"), std::string::npos);
  EXPECT_NE(html.find("title=\"why &quot;so&quot;\""), std::string::npos);
}

TEST(HtmlPageTest, ListsItsSectionsAtTheTop) {
  const std::string html = full_page().html();
  EXPECT_NE(html.find("<a href=\"#s1\">One</a>"), std::string::npos);
  EXPECT_NE(html.find("<h2 id=\"s2\">Two</h2>"), std::string::npos);
}

TEST(HtmlPageTest, AsksForNothingFromOutside) {
  std::string html = full_page().html();
  // The one address is the name of SVG's element set, which no browser asks for.
  const std::string name = "xmlns=\"http://www.w3.org/2000/svg\"";
  for (std::size_t at = html.find(name); at != std::string::npos; at = html.find(name)) html.erase(at, name.size());
  for (const char* outside : {"http:", "https:", "<script", "<link", "@import", "url(", "src="})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

TEST(HtmlPageTest, ClosesWhatItOpens) {
  const std::string html = full_page().html();
  const auto count = [&html](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = html.find(what); at != std::string::npos; at = html.find(what, at + 1)) ++found;
    return found;
  };
  for (const std::string element : {"div", "details", "table", "figure", "svg", "ul", "section"})
    EXPECT_EQ(count("<" + element + ">") + count("<" + element + " "), count("</" + element + ">")) << element;
}

TEST(HtmlPageTest, RefusesARowOfAnotherLength) {
  HtmlPage page{"t"};
  EXPECT_THROW(page.table({.columns = {{"a"}}, .rows = {{{"1"}, {"2"}}}}), InternalError);
}

}  // namespace
}  // namespace weft::output
