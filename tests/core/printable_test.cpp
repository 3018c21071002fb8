#include "sim/core/printable.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(PrintableTest, LeavesTextAsItIs) {
  for (const char* text : {"", "gpu0", "h0->switch0 [100 %] \\ \"quoted\"", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_EQ(printable_columns(text), text);
  }
}

TEST(PrintableTest, ShowsControlCharactersAsEscapes) {
  EXPECT_EQ(printable("a\x1b[31m\x07"), "a\\x1b[31m\\x07");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
  EXPECT_EQ(printable(std::string_view{"\0", 1}), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B"), "\\x9b");             // CSI, U+009B
  EXPECT_EQ(printable("\xC2\xA0"), "\xC2\xA0");          // the first behind C1
  EXPECT_EQ(printable("\xE2\x80\xAE"), "\\u202e");       // right-to-left override
  EXPECT_EQ(printable("\xE2\x80\xA8"), "\\u2028");       // line separator
  EXPECT_EQ(printable("\xE2\x80\xA7"), "\xE2\x80\xA7");  // the one before
}

TEST(PrintableTest, ShowsBytesThatAreNoTextAsEscapes) {
  EXPECT_EQ(printable("\xFF"), "\\xff");
  EXPECT_EQ(printable("\xC3"), "\\xc3");                    // cut
  EXPECT_EQ(printable("\xC0\x8A"), "\\xc0\\x8a");           // overlong newline
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // surrogate
}

TEST(PrintableTest, LinesKeepNewlinesAndTabs) { EXPECT_EQ(printable_lines("a\n\tb\x1b"), "a\n\tb\\x1b"); }

// A caret below the line stays below its character.
TEST(PrintableTest, ColumnsStayWhereTheyAre) { EXPECT_EQ(printable_columns("a\x1b\tb"), "a\xEF\xBF\xBD\tb"); }

}  // namespace
}  // namespace weft
