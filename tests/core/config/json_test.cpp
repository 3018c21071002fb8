// JSON as a ConfigNode: values, places, refusals, and reading in linear time.
#include "sim/core/config/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "sim/core/config/params.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

std::string json_refusal(const std::string& text) {
  try {
    static_cast<void>(parse_json(text, "a.json", "top"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(JsonTest, ValuesKeepTheirPlaces) {
  const ConfigNode root = parse_json("{\n  \"a\": [1, {\"b\": \"x\"}],\n  \"c\": null\n}", "a.json", "top");
  const ConfigNode b = *(*root.find("a"))[1].find("b");
  EXPECT_EQ(b.scalar(), "x");
  EXPECT_EQ(b.path(), "top.a[1].b");
  EXPECT_EQ(b.location().line, 2);
  EXPECT_EQ(b.location().column, 18);
  EXPECT_EQ(b.key_location().column, 13);
  EXPECT_TRUE(root.find("c")->is_null());
}

TEST(JsonTest, TextIsUnescaped) {
  const ConfigNode root = parse_json(R"(["\u00e9\n\"\\", "\ud83d\ude00"])", "a.json");
  EXPECT_EQ(root[0].scalar(), "\u00e9\n\"\\");
  EXPECT_EQ(root[1].scalar(), "\U0001F600");
  EXPECT_THAT(json_refusal(R"(["\ud83d"])"), HasSubstr("a.json:1:9: error: not well-formed JSON"));
}

// Python's json writes them.
TEST(JsonTest, InfinityAndNanAreReadAndAreNoNumbers) {
  const ConfigNode root = parse_json(R"({"limit": [0.0, Infinity, -Infinity, NaN], "size": Infinity})", "a.json", "top");
  EXPECT_EQ((*root.find("limit"))[1].scalar(), "Infinity");
  Diagnostics diagnostics;
  ParamReader reader{root, diagnostics};
  static_cast<void>(reader.optional_raw("limit"));
  EXPECT_EQ(reader.required<std::int64_t>("size"), 0);
  reader.finish();
  ASSERT_EQ(diagnostics.errors().size(), 1U);
  EXPECT_THAT(diagnostics.errors()[0].message, HasSubstr("top.size: expected an integer"));
  EXPECT_EQ(diagnostics.errors()[0].where.column, 52);
}

TEST(JsonTest, WhatIsNotJsonIsLocated) {
  EXPECT_THAT(json_refusal("{\"a\": 01}"), HasSubstr("a.json:1:8: error: not well-formed JSON"));
  EXPECT_THAT(json_refusal("[1, 2,]"), HasSubstr("a.json:1:7: error: not well-formed JSON"));
  EXPECT_THAT(json_refusal("[1] 2"), HasSubstr("a.json:1:5: error: not well-formed JSON"));
  EXPECT_THAT(json_refusal("[tru]"), HasSubstr("a.json:1:2: error: not well-formed JSON"));
  EXPECT_THAT(json_refusal("[1."), HasSubstr("a.json:1:4: error: the JSON ends before it is complete"));
  EXPECT_THAT(json_refusal("{\"a\": 1, \"a\": 2}"), HasSubstr("a.json:1:10: error: repeated key 'a'"));
}

// A map of 10,000 and one of 40,000 keys, on a line each: four times the text takes about four times as long.
TEST(JsonTest, ReadingIsLinearInTheText) {
  const auto seconds = [](int keys) {
    std::string text = "{";
    for (int i = 0; i < keys; ++i) text += (i > 0 ? ", " : "") + ("\"layers." + std::to_string(i)) + "\": {\"bits\": 4}";
    text += "}";
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(parse_json(text, "a.json").size(), static_cast<std::size_t>(keys));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds(1000);
  const double small = std::min(seconds(10'000), seconds(10'000));
  EXPECT_LT(seconds(40'000), 12 * small + 0.05);  // quadratic: 16 times
}

}  // namespace
}  // namespace weft
