// Everything of YAML that is refused, each with the exact text of its error, and its boundaries from both sides.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/core/config/node.h"

namespace weft {
namespace {

std::string guard_error_of(const std::string& text) {
  try {
    (void)ConfigNode::parse(text, "f.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(YamlGuardsTest, RefusesARepeatedKeyAndGoesOn) {
  EXPECT_EQ(guard_error_of("a: 1\nb: {c: 1, c: {c: 2}}\na: 3\n"),
            "f.yaml:2:11: error: repeated key 'c'\n"
            "   2 | b: {c: 1, c: {c: 2}}\n"
            "     |           ^\n"
            "note: first given in line 2\n"
            "f.yaml:3:1: error: repeated key 'a'\n"
            "   3 | a: 3\n"
            "     | ^\n"
            "note: first given in line 1\n");
}

TEST(YamlGuardsTest, RefusesMergeKeysButNotTheirText) {
  EXPECT_EQ(guard_error_of("a: &x {q: 1}\nb:\n  <<: *x\n  r: 2\n"),
            "f.yaml:3:3: error: merge key '<<' is not supported\n"
            "   3 |   <<: *x\n"
            "     |   ^~\n"
            "note: repeat the keys, or lay the file over another with 'extends: base.yaml'\n");
  EXPECT_EQ(guard_error_of("'<<': 1\n"), "no error");
}

TEST(YamlGuardsTest, RefusesASecondDocument) {
  EXPECT_EQ(guard_error_of("a: 1\n---\nb: 2\n"),
            "f.yaml:2:1: error: a second document begins here\n"
            "   2 | ---\n"
            "     | ^\n"
            "note: a file holds one document; remove the line '---'\n");
  EXPECT_EQ(guard_error_of("---\na: 1\n...\n"), "no error");
}

TEST(YamlGuardsTest, RefusesWhatFollowsACompleteValue) {
  EXPECT_EQ(guard_error_of("- 1\n- 2\nx: 1\n"),
            "f.yaml:3:1: error: not YAML: this belongs to nothing, as what stands above is complete\n"
            "   3 | x: 1\n"
            "     | ^\n"
            "note: check the indentation\n");
}

TEST(YamlGuardsTest, RefusesTabsInTheIndentationOnly) {
  EXPECT_EQ(guard_error_of("a:\n \tb: 1\n"),
            "f.yaml:2:2: error: a tab in the indentation\n"
            "   2 |   b: 1\n"
            "     |  ^\n"
            "note: YAML indents with spaces\n");
  EXPECT_EQ(guard_error_of("a: 1\t# comment\n \t \nb:\t2\n"), "no error");
}

TEST(YamlGuardsTest, RefusesBytesThatAreNotUtf8) {
  EXPECT_EQ(guard_error_of("a: 1\nb: \"x\xFFy\"\n"),
            "f.yaml:2:6: error: not UTF-8: byte 0xff at offset 10\n"
            "   2 | b: \"x\n"
            "     |      ^\n"
            "note: save the file as UTF-8\n");
  // Overlong '/', a surrogate, past U+10FFFF, cut short; then the first and last characters of each length.
  for (const char* bad :
       {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF"}) {
    EXPECT_NE(guard_error_of("a: \"" + std::string{bad} + "\"\n").find("not UTF-8"), std::string::npos);
  }
  for (const char* good : {"\xC2\xA0", "\xDF\xBF", "\xE0\xA0\x80", "\xEF\xBF\xBD", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(guard_error_of("a: \"" + std::string{good} + "\"\n"), "no error");
  }
}

TEST(YamlGuardsTest, RefusesNulBytesAndControlCharacters) {
  EXPECT_EQ(guard_error_of(std::string{"a: \0b\n", 6}),
            "f.yaml:1:4: error: a NUL byte, where text is expected\n"
            "   1 | a: \n"
            "     |    ^\n"
            "note: is this a YAML file?\n");
  // 0x04 would end the file for yaml-cpp in silence.
  EXPECT_EQ(guard_error_of("a: 1\n\x04 b: 2\n"), "f.yaml:2:1: error: control character 0x04\n");
  EXPECT_EQ(guard_error_of("a: 1\rb: 2\n"),
            "f.yaml:1:5: error: control character 0x0d\n"
            "   1 | a: 1\n"
            "     |     ^\n");
}

TEST(YamlGuardsTest, RefusesAnEmptyFile) {
  for (const char* text : {"", "\n\n", "# nothing but a comment\n", "---\n", "~\n"}) {
    EXPECT_EQ(guard_error_of(text), "f.yaml: error: file is empty\n") << text;
  }
}

TEST(YamlGuardsTest, RefusesTags) {
  EXPECT_EQ(guard_error_of("a: !!str 5\n"),
            "f.yaml:1:4: error: tags such as '!!str' are not supported\n"
            "   1 | a: !!str 5\n"
            "     |    ^\n"
            "note: put a text that looks like something else in quotes\n");
}

TEST(YamlGuardsTest, RefusesKeysThatAreNotPlainText) {
  EXPECT_EQ(guard_error_of("[a]: 2\n"),
            "f.yaml:1:1: error: a list cannot be a key\n"
            "   1 | [a]: 2\n"
            "     | ^\n"
            "note: a key is a plain word before ': '\n");
  EXPECT_NE(guard_error_of("{a: 1}: 2\n").find("error: a map cannot be a key\n"), std::string::npos);
  EXPECT_NE(guard_error_of(": 2\n").find("error: a key is missing before ':'\n"), std::string::npos);
  EXPECT_NE(guard_error_of("a: &x b\n? *x\n: 1\n").find("error: an alias cannot be a key\n"), std::string::npos);
}

TEST(YamlGuardsTest, RefusesAQuoteThatIsNeverClosed) {
  EXPECT_EQ(guard_error_of("a: 'x''\nb: 2\n"),
            "f.yaml:1:4: error: not YAML: this quote is never closed\n"
            "   1 | a: 'x''\n"
            "     |    ^~~~\n");
  EXPECT_EQ(guard_error_of("a: 'x'''\nb: \"\\\"\"\n"), "no error");
}

TEST(YamlGuardsTest, LocatesWhatIsNotYamlAtAll) {
  EXPECT_EQ(guard_error_of("a: b: c\n"),
            "f.yaml:1:5: error: not YAML: illegal map value\n"
            "   1 | a: b: c\n"
            "     |     ^\n"
            "note: ': ' inside a value needs quotes; keys of one map stand in one column\n");
  // yaml-cpp names the anchor from version 0.8 on.
  EXPECT_THAT(guard_error_of("a: *nope\n"),
              testing::MatchesRegex("f.yaml:1:4: error: not YAML: the referenced anchor is not defined(: nope)?\n"
                                    "   1 . a: .nope\n"
                                    "     .    .\n"
                                    "note: a value that begins with . needs quotes, unless it repeats one marked with &\n"));
}

TEST(YamlGuardsTest, RefusesAnAliasInsideItsOwnValue) {
  EXPECT_EQ(guard_error_of("a: &a [1, *a]\n"),
            "f.yaml:1:11: error: an alias cannot stand inside the value that it names\n"
            "   1 | a: &a [1, *a]\n"
            "     |           ^\n");
}

TEST(YamlGuardsTest, RefusesAliasBombsBeforeTheyExpand) {
  // Ten values per line, each the whole line before: a5 alone would hold 10^6 and its own.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    bomb += fmt::format("a{0}: &a{0} [{1}{2}]\n", i, repeat(alias + ", ", 9), alias);
  }
  EXPECT_EQ(guard_error_of(bomb),
            "f.yaml:6:9: error: more than 1,000,000 values, aliases expanded\n"
            "   6 | a5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]\n"
            "     |         ^\n"
            "note: values under an alias count each time it is used\n");
}

TEST(YamlGuardsTest, CountsAMillionValuesAndNoMore) {
  // 1 map + 1 list of 997 items + 1 list of 1'000 aliases + the aliases: 998 each. 1 + 998 + 1 + 1'000 * 998 = 999'000.
  const std::string list = "a: &a [" + repeat("1, ", 996) + "1]\n";
  const std::string aliases = "b: [" + repeat("*a, ", 999) + "*a]\n";
  EXPECT_EQ(guard_error_of(list + aliases + "c: [" + repeat("1, ", 998) + "1]\n"), "no error");  // and 1'000 make 1'000'000
  EXPECT_NE(guard_error_of(list + aliases + "c: [" + repeat("1, ", 999) + "1]\n").find("more than 1,000,000 values"),
            std::string::npos);
}

TEST(YamlGuardsTest, AllowsAHundredLevelsAndNoMore) {
  EXPECT_EQ(guard_error_of(repeat("[", 100) + repeat("]", 100)), "no error");
  EXPECT_NE(guard_error_of(repeat("[", 101) + repeat("]", 101)).find("f.yaml:1:101: error: nested deeper than 100 levels\n"),
            std::string::npos);
  // Under an alias too: the map, 49 and 50 brackets are 100 levels.
  const std::string anchor = "a: &a " + repeat("[", 50) + repeat("]", 50) + "\n";
  EXPECT_EQ(guard_error_of(anchor + "b: " + repeat("[", 49) + "*a" + repeat("]", 49) + "\n"), "no error");
  EXPECT_NE(
      guard_error_of(anchor + "b: " + repeat("[", 50) + "*a" + repeat("]", 50) + "\n").find("nested deeper than 100 levels"),
      std::string::npos);
}

TEST(YamlGuardsTest, RefusesOneValueOver4MiB) {
  // Text is handed out in pieces of 2 KiB, so the bound is sharp to a few of them.
  constexpr std::size_t kLimit = std::size_t{4} << 20;
  EXPECT_EQ(guard_error_of("a: 1\nb: " + std::string(kLimit - 8'192, 'x') + "\n"), "no error");
  const std::string error = guard_error_of("a: 1\nb: " + std::string(kLimit + 8'192, 'x') + "\n");
  EXPECT_TRUE(error.starts_with("f.yaml:2:1: error: a value of over 4 MiB begins about here\n")) << error;
  EXPECT_TRUE(error.ends_with("note: write a long list with '- ' instead of brackets, or as a file of its own kind\n"))
      << error;
}

TEST(YamlGuardsTest, CutsEndlessLinesInErrors) {
  const std::string error = guard_error_of("a: 1\na: " + std::string(1'000'000, 'x') + "\n");
  EXPECT_LT(error.size(), 400U);
  EXPECT_NE(error.find("repeated key 'a'"), std::string::npos);
}

}  // namespace
}  // namespace weft
