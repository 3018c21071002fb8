// Damaged logs: exact messages for each kind, and damage of every sort that must end in a warning or a ConfigError.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include "sim/measured/readers/nccl_tests_log.h"
#include "sim/network/import/source_text.h"
#include "tests/measured/log_files.h"

namespace weft::measured {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string log_message_of(const std::string& text, const std::string& name = "test.log") {
  try {
    parse(text, name);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BrokenLogsTest, EachGivesItsMessage) {
  const std::vector<fs::path> files = files_of("broken_logs", ".log");
  ASSERT_GE(files.size(), 20u);
  for (const fs::path& file : files) {
    EXPECT_EQ(log_message_of(read_file(file), file.filename().string()),
              read_file(fs::path(file).replace_extension(".expected")))
        << file;
  }
}

TEST(BrokenLogsTest, FilesThatCannotBeReadAreNamed) {
  EXPECT_THROW(
      {
        try {
          read_nccl_tests_log("/no/such/file.txt");
        } catch (const ConfigError& error) {
          EXPECT_STREQ(error.what(), "error: cannot read '/no/such/file.txt': No such file or directory\n");
          throw;
        }
      },
      ConfigError);
  EXPECT_THROW(read_nccl_tests_log(WEFT_TEST_DATA), ConfigError);
}

TEST(BrokenLogsTest, FilesOfOtherKindsAreRefusedByWhatTheyBeginWith) {
  for (const char* file : {"/h200x4/topo_4gpu.xml", "/h200x4/graph_4gpu.xml", "/h200x4/topology/topo_matrix.txt"}) {
    EXPECT_THAT(log_message_of(read_file(std::string{WEFT_TEST_DATA} + file)),
                HasSubstr(":1:1: error: not an nccl-tests log: it begins with '"));
  }
}

// A file of one character without end, which counts what was read of it.
class EndlessLine : public std::streambuf {
 public:
  explicit EndlessLine(char c) : c_{c} {}
  [[nodiscard]] std::int64_t given() const { return given_; }

 protected:
  int_type underflow() override { return traits_type::to_int_type(c_); }
  int_type uflow() override {
    ++given_;
    return traits_type::to_int_type(c_);
  }
  std::streamsize xsgetn(char* to, std::streamsize n) override {
    std::fill_n(to, n, c_);
    given_ += n;
    return n;
  }

 private:
  char c_;
  std::int64_t given_ = 0;
};

TEST(BrokenLogsTest, LinesWithoutEndAreRefusedInBoundedMemory) {
  EndlessLine buffer('x');
  std::istream input(&buffer);
  EXPECT_THROW(read_nccl_tests_log(input, "endless"), ConfigError);
  EXPECT_LE(buffer.given(), 4 << 16);

  EndlessLine braces('{');
  std::istream json(&braces);
  EXPECT_THROW(read_nccl_tests_log(json, "endless"), ConfigError);
  EXPECT_LE(braces.given(), (64 << 20) + (1 << 17));
}

TEST(BrokenLogsTest, TheLongestLineIsReadAndOneByteMoreRefused) {
  const std::string log = read_file(WEFT_TEST_DATA "/h200x4/all_reduce_4gpu_cudagraph.txt");
  EXPECT_THAT(parse("#" + std::string(65'535, 'x') + "\n" + log).rows, SizeIs(12));
  EXPECT_EQ(
      log_message_of("\n#" + std::string(65'536, 'x') + "\n" + log),
      "test.log:2:65537: error: line is longer than 65536 bytes\nnote: no line of an nccl-tests log comes near that length\n");
}

TEST(BrokenLogsTest, JsonNestedDeeplyIsRefused) {
  const std::string nested = "{\"results\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_EQ(log_message_of(nested), "test.log: error: JSON nested over 16 levels deep\n");
}

TEST(BrokenLogsTest, ErrorsBeyondTheTwentiethAreCounted) {
  std::string text =
      "# nThread 1 nGpus 1\n#  Rank  0 Pid 1 on a device  0 [0x07] X\n# size count type redop root time algbw busbw error\n";
  for (int i = 0; i < 25; ++i) text += "8 2 float sum -1 bad 0 0 0\n";
  try {
    parse(text);
    FAIL();
  } catch (const ConfigError& error) {
    ASSERT_THAT(error.diagnostics(), SizeIs(20));
    EXPECT_EQ(error.diagnostics().back().note, "5 more errors in this file are not shown");
  }
}

TEST(BrokenLogsTest, ALogCutInARowIsReadUpToTheRowBefore) {
  const std::string log = read_file(WEFT_TEST_DATA "/h200x4/all_reduce_4gpu.txt");
  const std::size_t row = log.find("        1024           256");
  const std::size_t next = log.find('\n', row) + 1;
  // Fourteen lines of header, then 8, 16, ... 512 in lines 15 to 21: 1024 stands in line 22.
  const NcclTestsLog cut = parse(log.substr(0, next - 30));
  EXPECT_THAT(cut.rows, SizeIs(7));
  ASSERT_THAT(cut.warnings, SizeIs(1));
  EXPECT_EQ(format(cut.warnings[0], "warning"),
            "test.log:22:1: warning: the log ends in the middle of this line: 7 whole rows read\n");

  const NcclTestsLog whole = parse(log.substr(0, next));
  EXPECT_THAT(whole.rows, SizeIs(8));
  ASSERT_THAT(whole.warnings, SizeIs(1));
  EXPECT_EQ(format(whole.warnings[0], "warning"),
            "test.log:22:1: warning: the log ends without its summary: 8 whole rows read\n");

  // The last column of the first half is the last whole thing: still half a row of two.
  const std::size_t half = log.find("N/A", row) + 3;
  EXPECT_THAT(parse(log.substr(0, half)).rows, SizeIs(7));
}

bool same_row(const NcclTestsRow& a, const NcclTestsRow& b) {
  return a.bytes == b.bytes && a.count == b.count && a.type == b.type && a.out_of_place->time_us == b.out_of_place->time_us &&
         a.in_place.has_value() == b.in_place.has_value() && a.in_place->time_us == b.in_place->time_us;
}

TEST(BrokenLogsTest, RealLogsCutAnywhereGiveTheFirstRowsOrAnError) {
  int read = 0;
  for (const fs::path& file : files_of("h200x4", ".txt")) {
    const std::string text = read_file(file);
    const NcclTestsLog whole = parse(text);
    const std::size_t footer = text.find("# Avg bus bandwidth");
    for (std::size_t size = 0; size < text.size(); size += 97) {
      try {
        const NcclTestsLog cut = parse(text.substr(0, size));
        ++read;
        if (size < footer) {
          EXPECT_FALSE(cut.warnings.empty()) << file << " cut at " << size;
        }
        ASSERT_LE(cut.rows.size(), whole.rows.size());
        for (std::size_t i = 0; i < cut.rows.size(); ++i) {
          ASSERT_TRUE(same_row(cut.rows[i], whole.rows[i])) << file << " cut at " << size << ", row " << i;
        }
      } catch (const ConfigError& error) {
        ASSERT_FALSE(error.diagnostics().empty());
      }
    }
  }
  EXPECT_GT(read, 1'000);  // by far the most are read
}

TEST(BrokenLogsTest, RealLogsWithWrongBytesNeverDoWorseThanAnError) {
  std::uint64_t state = 1;
  const auto draw = [&state](std::uint64_t n) {  // a linear congruential generator (Knuth's MMIX constants)
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % n;
  };
  for (const char* name : {"/h200x4/all_reduce_2gpu_noP2P.txt", "/h200x4/info_all_gather_4gpu.txt"}) {
    const std::string text = read_file(std::string{WEFT_TEST_DATA} + name);
    for (int round = 0; round < 400; ++round) {
      std::string damaged = text;
      for (std::uint64_t i = 0; i <= draw(5); ++i) {
        const std::size_t at = draw(damaged.size());
        switch (draw(4)) {
          case 0:
            damaged[at] = static_cast<char>(draw(256));
            break;
          case 1:
            damaged.erase(at, draw(100));
            break;
          case 2:
            damaged.insert(at, damaged.substr(draw(damaged.size()), draw(200)));
            break;
          default:
            damaged[at] = "\n #[]:0"[draw(7)];
            break;
        }
      }
      try {
        parse(damaged);
      } catch (const ConfigError&) {
        // Ignored: refused is as good as read, so long as nothing else happens.
      }
    }
  }
}

}  // namespace
}  // namespace weft::measured
