// Charts are read back as text: what is drawn, where the ends of an axis lie, and what is left out.
#include "sim/output/report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/output/report/chart_axis.h"
#include "sim/output/report/chart_canvas.h"

namespace weft::output {
namespace {

using detail::AxisScale;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

std::vector<std::string> labels(const AxisScale& scale) {
  std::vector<std::string> texts;
  for (const detail::Tick& tick : scale.ticks()) texts.push_back(tick.text);
  return texts;
}

TEST(AxisScaleTest, PutsPowersOfTwoOnALogarithmicAxisOfBytes) {
  // 2^0 to 2^30 with room for 4 labels: every tenth power.
  const AxisScale scale{{.logarithmic = true, .text = TickText::kBytes, .min = 1.0, .max = 1073741824.0}, {}, 240, 60};
  EXPECT_EQ(labels(scale), (std::vector<std::string>{"1 B", "1 KiB", "1 MiB", "1 GiB"}));
  EXPECT_NEAR(scale.at(1024), 1.0 / 3, 1e-12);
}

TEST(AxisScaleTest, PutsDecadesOnALogarithmicAxis) {
  const AxisScale scale{{.logarithmic = true, .text = TickText::kMicroseconds, .min = 1.0, .max = 1e6}, {}, 420, 60};
  EXPECT_EQ(labels(scale), (std::vector<std::string>{"1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"}));
  EXPECT_DOUBLE_EQ(scale.at(1e3), 0.5);
}

TEST(AxisScaleTest, BeginsAtZeroUnlessTheDataAreFarFromIt) {
  EXPECT_EQ(labels(AxisScale({}, {20, 100}, 200, 40)).front(), "0");
  const AxisScale far{{}, {90, 100}, 200, 40};
  EXPECT_TRUE(far.beyond(0));
}

// Two means of the same times in another order differ in the last digit; ticks between them would have no end.
TEST(AxisScaleTest, TakesValuesThatDifferByRoundingAsOne) {
  for (const AxisScale& scale : {AxisScale({}, {26.41078398703156, 26.41078398703157}, 200, 40),
                                 AxisScale({.min = 26.41078398703156, .max = 26.41078398703157}, {}, 200, 40)}) {
    EXPECT_LE(labels(scale).size(), 10);
  }
}

TEST(AxisScaleTest, StepsByOneTwoOrFive) {
  // 0 to 1 with room for 5 labels: 0.2 is the smallest step of at least 1/5.
  const AxisScale scale{{.text = TickText::kPercent, .min = 0.0, .max = 1.0}, {}, 200, 40};
  EXPECT_EQ(labels(scale), (std::vector<std::string>{"0 %", "20 %", "40 %", "60 %", "80 %", "100 %"}));
}

TEST(AxisScaleTest, ClampsWhatLiesBeyondAndSaysSo) {
  const AxisScale scale{{.min = -0.1, .max = 0.1}, {}, 200, 40};
  EXPECT_FALSE(scale.beyond(0.1));
  EXPECT_TRUE(scale.beyond(0.100001));
  EXPECT_DOUBLE_EQ(scale.at(5), 1);
}

TEST(AxisScaleTest, HasAScaleWithoutDataToo) {
  EXPECT_FALSE(labels(AxisScale({.logarithmic = true}, {}, 200, 40)).empty());
  EXPECT_FALSE(labels(AxisScale({}, {7}, 200, 40)).empty());
}

TEST(ChartTest, DrawsEveryPointThatHasAPlaceAndNoOther) {
  const std::string svg = to_svg(XyChart{.title = "t",
                                         .x = {.logarithmic = true},
                                         .series = {{.mark = Mark::kDots, .points = {{1, 1}, {0, 1}, {10, NAN}, {100, 3}}}}});
  EXPECT_EQ(count(svg, "<circle"), 2U);  // 0 has no logarithm, and one value is no number
  EXPECT_EQ(count(svg, "nan"), 0U);
}

TEST(ChartTest, EscapesWhatItIsGiven) {
  const std::string svg = to_svg(XyChart{.title = "a<b & \"c\"", .series = {{.name = "<x>", .points = {{1, 1}, {2, 2}}}}});
  EXPECT_NE(svg.find("a&lt;b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_NE(svg.find("&lt;x&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("<x>"), std::string::npos);
}

TEST(ChartTest, StacksBarsEndToEnd) {
  // Two bars of 1 and 3 in one stack: the second begins where the first ends, and is three times as long.
  const std::string svg = to_svg(BarChart{.title = "",
                                          .categories = {"x"},
                                          .series = {{.name = "a", .values = {1}}, {.name = "b", .values = {3}}},
                                          .stacked = true});
  EXPECT_EQ(count(svg, "<title>x, a: 1</title>"), 1U);
  EXPECT_EQ(count(svg, "<title>x, b: 3</title>"), 1U);
}

TEST(ChartTest, LeavesAHoleInAHeatMapWhereThereIsNoValue) {
  const HeatMap map{.columns = {"p", "q"}, .rows = {"a", "b"}, .values = {1, NAN, 3, 4}, .unit = "GB/s"};
  const std::string svg = to_svg(map);
  EXPECT_EQ(count(svg, "<title>"), 3U);
  EXPECT_NE(svg.find("b, q: 4 GB/s"), std::string::npos);
}

TEST(ChartTest, MarksAPointBeyondAFixedEndAtTheEdge) {
  const StripChart chart{.x = {.text = TickText::kPercent, .min = -0.2, .max = 0.2},
                         .rows = {{.name = "log", .points = {{.x = 0.05}, {.x = 0.9, .note = "far"}}}}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "<circle"), 1U);
  EXPECT_NE(svg.find("<title>far</title>"), std::string::npos);
}

TEST(ChartTest, CutsALongNameInTheMiddle) {
  const std::string name = "all_reduce_4gpu_Ring_LL128_of_some_very_long_file_name.txt";
  const std::string cut = detail::fitted(name, 120);
  EXPECT_LE(detail::text_width(cut), 130);
  EXPECT_TRUE(cut.starts_with("all"));
  EXPECT_TRUE(cut.ends_with(".txt"));
}

TEST(ChartTest, IsTheSameTwice) {
  const XyChart chart{.title = "t", .series = {{.name = "s", .points = {{1, 2}, {3, 4}}}}};
  EXPECT_EQ(to_svg(chart), to_svg(chart));
}

}  // namespace
}  // namespace weft::output
