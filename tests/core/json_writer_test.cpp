#include "sim/core/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace weft {
namespace {

using namespace weft::literals;

std::string written(std::string_view text) {
  std::ostringstream out;
  JsonWriter json{out, 0};
  json.value(text);
  json.finish();
  return out.str();
}

TEST(JsonWriterTest, PutsMembersOfTheOuterLevelsOnTheirOwnLines) {
  std::ostringstream out;
  JsonWriter json{out};
  json.begin_object().field("a", 1).key("list").begin_array();
  json.begin_object().field("x", true).key("y").begin_array().value(2).value(3).end_array().end_object();
  json.null().end_array().end_object();
  json.finish();
  EXPECT_EQ(out.str(), "{\n  \"a\": 1,\n  \"list\": [\n    {\"x\": true, \"y\": [2, 3]},\n    null\n  ]\n}\n");
}

TEST(JsonWriterTest, WritesEmptyContainersWithoutLines) {
  std::ostringstream out;
  JsonWriter json{out};
  json.begin_object().key("a").begin_array().end_array().key("b").begin_object().end_object().end_object();
  json.finish();
  EXPECT_EQ(out.str(), "{\n  \"a\": [],\n  \"b\": {}\n}\n");
}

TEST(JsonWriterTest, EscapesWhatJsonAsksFor) {
  EXPECT_EQ(written("a\"b\\c\nd\x01"), "\"a\\\"b\\\\c\\nd\\u0001\"");
  EXPECT_EQ(written("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

TEST(JsonWriterTest, ReplacesBytesThatAreNoText) {
  // Latin-1, an overlong slash, a surrogate, a sequence cut short, U+110000.
  for (const std::string text : {"\xE9", "\xC0\xAF", "\xED\xA0\x80", "\xE2\x82", "\xF4\x90\x80\x80"}) {
    const std::string json = written("<" + text + ">");
    EXPECT_TRUE(nlohmann::json::accept(json)) << json;
    EXPECT_NE(json.find("\\ufffd"), std::string::npos) << json;
  }
}

TEST(JsonWriterTest, WritesNumbersThatReadBackTheSame) {
  std::ostringstream out;
  JsonWriter json{out};
  json.begin_object().field("third", 1.0 / 3).field("huge", std::numeric_limits<std::uint64_t>::max());
  json.field("nothing", std::numeric_limits<double>::quiet_NaN())
      .field("endless", std::numeric_limits<double>::infinity())
      .end_object();
  json.finish();
  const auto read = nlohmann::json::parse(out.str());
  EXPECT_EQ(read["third"].get<double>(), 1.0 / 3);
  EXPECT_EQ(read["huge"].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(read["nothing"].is_null());
  EXPECT_TRUE(read["endless"].is_null());
}

TEST(JsonWriterTest, WritesTimesExactly) {
  EXPECT_EQ(ns_text(1'500_ps), "1.5");
  EXPECT_EQ(ns_text(1_ps), "0.001");
  EXPECT_EQ(ns_text(2_us), "2000");
  EXPECT_EQ(ns_text(0_ps), "0");
  EXPECT_EQ(ns_text(Duration::from_ps(-1'250)), "-1.25");
  EXPECT_EQ(us_text(1'500_ps), "0.0015");
  EXPECT_EQ(us_text(Duration::max()), "9223372036854.775807");
}

}  // namespace
}  // namespace weft
