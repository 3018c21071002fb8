#include "sim/workloads/trace/json_pull.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "sim/core/error.h"
#include "sim/workloads/trace/trace_format.h"
#include "tests/support/temp_folder.h"

namespace weft::work {
namespace {

class JsonPullTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) { return folder_.write("file.json", text); }
  std::filesystem::path pack(const std::string& text) {
    const std::filesystem::path path = folder_ / "file.gz";
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }
  static std::string message(const auto& act) {
    try {
      act();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  weft::test::TempFolder folder_;
};

TEST_F(JsonPullTest, MembersAndElementsComeInOrderAndTheRestIsSkipped) {
  InputStream stream{write(R"({"a": [1, {"deep": "]}\""}, 3], "b" : "x\n\u00e9", "c": null})"), 1000};
  JsonPull json{stream};
  json.begin_object();
  ASSERT_TRUE(json.next_member());
  EXPECT_EQ(json.key(), "a");
  json.begin_array();
  ASSERT_TRUE(json.next_element());
  EXPECT_EQ(json.scalar(), "1");
  ASSERT_TRUE(json.next_element());
  json.skip();
  ASSERT_TRUE(json.next_element());
  EXPECT_EQ(json.scalar(), "3");
  EXPECT_FALSE(json.next_element());
  ASSERT_TRUE(json.next_member());
  EXPECT_EQ(json.scalar(), "x\n\xC3\xA9");
  ASSERT_TRUE(json.next_member());
  EXPECT_EQ(json.scalar(), "null");
  EXPECT_FALSE(json.next_member());
  json.check_end();
}

// The file is read in pieces of 256 KiB: the first ends before, in and behind what is written with escapes.
TEST_F(JsonPullTest, StringsWithEscapesMayLieAnywhere) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  for (std::size_t before = 0; before < 48; ++before) {
    const std::string pad(kPiece - before, 'x');
    InputStream stream{write(R"({"a":")" + pad + R"(","b":[{"s":"q\\\"]}"},"\\"],"c":"q\\\"]}"})"), 2 * kPiece};
    JsonPull json{stream};
    json.begin_object();
    ASSERT_TRUE(json.next_member());
    EXPECT_EQ(json.scalar(), pad);
    ASSERT_TRUE(json.next_member());
    json.skip();
    ASSERT_TRUE(json.next_member());
    EXPECT_EQ(json.key(), "c");
    EXPECT_EQ(json.scalar(), "q\\\"]}") << before;
    EXPECT_FALSE(json.next_member());
  }
  InputStream cut{write(R"({"a":[{"s":"q\)"), 1000};
  JsonPull json{cut};
  json.begin_object();
  ASSERT_TRUE(json.next_member());
  EXPECT_NE(message([&] { json.skip(); }).find("the file ends inside a string"), std::string::npos);
}

// The first piece of 256 KiB ends in or behind the name of "b", whose value moves the buffer.
TEST_F(JsonPullTest, NamesOutliveThePieceThatTheyAreReadFrom) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  for (const std::size_t length : {1, 64, 65, 300}) {
    const std::string name(length, 'b');
    for (std::size_t before = 0; before < 2 * length + 16; ++before) {
      InputStream stream{write(R"({"a":")" + std::string(kPiece - before, 'x') + R"(",")" + name + R"(":[7, "and more"]})"),
                         2 * kPiece};
      JsonPull json{stream};
      json.begin_object();
      ASSERT_TRUE(json.next_member());
      json.skip();
      ASSERT_TRUE(json.next_member());
      json.skip();
      EXPECT_EQ(json.key(), name) << before;
      EXPECT_FALSE(json.next_member());
    }
  }
}

TEST_F(JsonPullTest, MicrosecondsBecomeNanosecondsDigitByDigit) {
  std::int64_t ns = 0;
  // A double holds 53 bits: the last digits of this would be lost.
  ASSERT_TRUE(parse_us_as_ns("4379585766711.913", ns));
  EXPECT_EQ(ns, 4379585766711913);
  ASSERT_TRUE(parse_us_as_ns("-0.5", ns));
  EXPECT_EQ(ns, -500);
  ASSERT_TRUE(parse_us_as_ns("1.5e3", ns));
  EXPECT_EQ(ns, 1'500'000);
  for (const char* wrong : {"NaN", "", "1.2.3", "inf", "99999999999999999999", "1e30", "5x", "-"}) {
    EXPECT_FALSE(parse_us_as_ns(wrong, ns)) << wrong;
  }
}

TEST_F(JsonPullTest, PackedAndPlainFilesReadAlike) {
  const std::string text(1 << 20, 'x');
  EXPECT_EQ(read_whole(pack(text), 1 << 20), text);
  EXPECT_EQ(read_whole(write(text), 1 << 20), text);
}

TEST_F(JsonPullTest, OneByteMoreThanTheLimitIsRefused) {
  const std::filesystem::path bomb = pack(std::string(1'000'001, '0'));
  EXPECT_EQ(read_whole(bomb, 1'000'001).size(), 1'000'001U);
  EXPECT_NE(message([&] { (void)read_whole(bomb, 1'000'000); }).find("unpacks to more than 1000000 bytes"), std::string::npos);
}

TEST_F(JsonPullTest, ACutPackedFileNamesItself) {
  const std::filesystem::path path = pack(std::string(100'000, 'a') + std::string(50'000, 'b'));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9);
  const std::string said = message([&] { (void)read_whole(path, 1 << 20); });
  EXPECT_NE(said.find("cut gzip"), std::string::npos) << said;
  EXPECT_NE(said.find(path.filename().string()), std::string::npos) << said;
}

TEST_F(JsonPullTest, NestingHasALimit) {
  InputStream stream{write(std::string(1000, '[')), 10'000};
  JsonPull json{stream};
  EXPECT_NE(message([&] {
              while (true) {
                json.begin_array();
                (void)json.next_element();
              }
            }).find("nested deeper than"),
            std::string::npos);
}

TEST_F(JsonPullTest, AnUnknownFormatIsAnsweredWithThoseThereAre) {
  const std::vector<std::filesystem::path> files{write("hello")};
  const std::string said = message([&] { (void)read_trace(files, {}); });
  EXPECT_NE(said.find("not a trace or workload file of any known format"), std::string::npos) << said;
  EXPECT_NE(said.find("kineto"), std::string::npos) << said;
}

}  // namespace
}  // namespace weft::work
