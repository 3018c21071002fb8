#include "sim/planning/sweep/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/error.h"

namespace weft::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Expression expression(const std::string& text) {
  return Expression{*ConfigNode::parse("where: \"" + text + "\"\n", "sweep.yaml").find("where")};
}

SweepValue value_of(const std::string& text, const std::vector<SweepValue>& values = {}) {
  return expression(text).evaluate(values);
}

double number_of(const std::string& text) { return value_of(text).number; }
bool holds(const std::string& text, const std::vector<SweepValue>& values = {}) { return expression(text).holds(values); }

std::string expression_message_of(const std::string& text, const std::vector<SweepValue>& values = {}) {
  try {
    static_cast<void>(value_of(text, values));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ExpressionTest, MultipliesBeforeItAddsAndGoesFromLeftToRight) {
  EXPECT_EQ(number_of("2 + 3 * 4"), 14);
  EXPECT_EQ(number_of("(2 + 3) * 4"), 20);
  EXPECT_EQ(number_of("20 - 5 - 3"), 12);
  EXPECT_EQ(number_of("64 / 4 / 2"), 8);
  EXPECT_EQ(number_of("17 % 5"), 2);
  EXPECT_EQ(number_of("-2 * -3"), 6);
  EXPECT_EQ(number_of("1.5e3 + 2e-1"), 1500.2);
}

TEST(ExpressionTest, ComparesBeforeItNegatesAndNegatesBeforeItJoins) {
  EXPECT_TRUE(holds("not 1 == 2"));
  EXPECT_TRUE(holds("1 == 2 or 2 == 2 and 3 == 3"));
  EXPECT_FALSE(holds("(1 == 1 or 2 == 2) and 3 == 4"));
  EXPECT_TRUE(holds("1 <= 1 and 1 >= 1 and 1 < 2 and 2 > 1 and 1 != 2"));
}

TEST(ExpressionTest, LooksNoFurtherThanItMust) {
  EXPECT_TRUE(holds("1 == 1 or 1 / 0 > 1"));
  EXPECT_FALSE(holds("1 == 2 and 1 / 0 > 1"));
}

TEST(ExpressionTest, KeepsTheDimensionOfQuantities) {
  EXPECT_TRUE(holds("64 KiB == 65536 B"));
  EXPECT_TRUE(holds("1 us == 1000 ns"));
  EXPECT_TRUE(holds("1 MB / 8 Gb/s == 1 ms"));  // 10^6 B over 10^9 B/s
  EXPECT_TRUE(holds("400 Gb/s * 1 us == 50 kB"));
  EXPECT_TRUE(holds("2 * 3 KiB > 5 KiB"));
  EXPECT_EQ(number_of("1 MiB / 1 KiB"), 1024);
  EXPECT_TRUE(value_of("1 MiB / 1 KiB").is_plain_number());
}

TEST(ExpressionTest, TakesTheLeastAndTheGreatest) {
  EXPECT_EQ(number_of("min(3, 1, 2) + max(4)"), 5);
  EXPECT_TRUE(holds("max(1 KiB, 2 kB) == 2 kB"));
  EXPECT_EQ(number_of("floor(7 / 2) + ceil(7 / 2) + log2(8)"), 10);
}

TEST(ExpressionTest, NamesStandForValuesInOrderOfAppearance) {
  const Expression sum = expression("a.b[0].c * tensor + a.b[0].c");
  EXPECT_THAT(sum.names(), ElementsAre("a.b[0].c", "tensor"));
  const std::vector<SweepValue> values{sweep_value("3"), sweep_value("4")};
  EXPECT_EQ(sum.evaluate(values).number, 15);
}

TEST(ExpressionTest, WordsMayBeginWithOperators) {
  EXPECT_THAT(expression("order == 1 and nothing < android").names(), ElementsAre("order", "nothing", "android"));
}

TEST(ExpressionTest, ComparesTextsForEqualityOnly) {
  EXPECT_TRUE(holds("algorithm == 'ring'", {sweep_value("ring")}));
  EXPECT_TRUE(holds("algorithm != 'ring'", {sweep_value("tree")}));
  EXPECT_THAT(expression_message_of("'a' < 'b'"), HasSubstr("'<' of the text 'a' and the text 'b'"));
}

TEST(ExpressionTest, ReadsScalarsAsTheFilesWriteThem) {
  EXPECT_EQ(sweep_value("64 KiB").bytes, 1);
  EXPECT_EQ(sweep_value("64 KiB").number, 65536);
  EXPECT_EQ(sweep_value("2 us").number, 2e6);
  EXPECT_EQ(sweep_value("5 %").number, 0.05);
  EXPECT_EQ(sweep_value("true").type, SweepValue::Type::kTruth);
  EXPECT_EQ(sweep_value("ring").text, "ring");
}

TEST(ExpressionTest, WritesValuesAsTheFilesReadThem) {
  EXPECT_EQ(yaml_text(sweep_value("64 KiB")), "64 KiB");
  EXPECT_EQ(yaml_text(sweep_value("1.5 us")), "1.5 us");
  EXPECT_EQ(yaml_text(sweep_value("400 Gb/s")), "400 Gb/s");
  EXPECT_EQ(yaml_text(sweep_value("8")), "8");
  EXPECT_EQ(yaml_text(sweep_value("0.1")), "0.1");
  EXPECT_EQ(yaml_text(value_of("3 B / 2")), std::nullopt);  // half a byte
  EXPECT_EQ(yaml_text(value_of("1 B * 1 B")), std::nullopt);
}

TEST(ExpressionTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(expression_message_of("1 KiB + 2"), HasSubstr("'+' of a size and a number in '1 KiB + 2'"));
  EXPECT_THAT(expression_message_of("1 us < 1 B"), HasSubstr("'<' of a time and a size"));
  EXPECT_THAT(expression_message_of("1 / (2 - 2)"), HasSubstr("a division by 0"));
  EXPECT_THAT(expression_message_of("1.5 % 1"), HasSubstr("'%' of what is not whole"));
  EXPECT_THAT(expression_message_of("not 3"), HasSubstr("expected true or false, got a number"));
  EXPECT_THROW(static_cast<void>(holds("1 + 1")), ConfigError);
}

TEST(ExpressionTest, SaysWhereItStoppedToUnderstand) {
  EXPECT_THAT(expression_message_of("1 +"), HasSubstr("expected a value at character 4 of '1 +'"));
  EXPECT_THAT(expression_message_of("(1 + 2"), HasSubstr("expected ')'"));
  EXPECT_THAT(expression_message_of("1 2"), HasSubstr("expected an operator, got '2'"));
  EXPECT_THAT(expression_message_of("a = 2"), HasSubstr("expected an operator, got '= 2'"));
  EXPECT_THAT(expression_message_of("3 Kib"), HasSubstr("unknown unit 'Kib'"));
  EXPECT_THAT(expression_message_of("mix(1, 2)"), HasSubstr("unknown function 'mix'"));
  EXPECT_THAT(expression_message_of("mix(1, 2)"), HasSubstr("did you mean 'max'?"));
  EXPECT_THAT(expression_message_of("'ring"), HasSubstr("a quoted text does not end"));
  EXPECT_THAT(expression_message_of("1 < 2 < 3"), HasSubstr("expected an operator"));
  EXPECT_THAT(expression_message_of("1 + 2"), HasSubstr("nothing was thrown"));
}

TEST(ExpressionTest, ErrorsStandAtTheExpression) {
  EXPECT_THAT(expression_message_of("1 +"), HasSubstr("sweep.yaml:1:8: error: where: expected a value"));
}

TEST(ExpressionTest, DeepNestingIsRefusedAndDoesNotCrash) {
  EXPECT_EQ(number_of(std::string(99, '(') + "1" + std::string(99, ')')), 1);
  EXPECT_THAT(expression_message_of(std::string(100'000, '(') + "1"), HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(expression_message_of(std::string(100'000, '-') + "1"), HasSubstr("nested deeper than 100 levels"));
}

}  // namespace
}  // namespace weft::plan
