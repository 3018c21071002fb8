#include "measurement_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temp_folder.h"

namespace weft::measure {
namespace {

const std::string kHeader = "{\"weft_measurements\": 1, \"kind\": \"header\", \"sequence\": 0}\n";
const std::string kFirst = "{\"kind\": \"gemm\", \"sequence\": 1, \"id\": \"gemm m=1\", \"median_us\": 2}\n";
const std::string kSkip = "{\"kind\": \"skip\", \"sequence\": 2, \"what\": \"x\", \"reason\": \"y\", \"id\": \"gemm m=2\"}\n";

TEST(EarlierRunTest, KnowsMeasuredPointsButNotSkippedOnes) {
  const EarlierRun run = scan_earlier_run(kHeader + kFirst + kSkip);
  EXPECT_TRUE(run.has_header);
  EXPECT_EQ(run.done, std::set<std::string>{"gemm m=1"});
  EXPECT_EQ(run.last_sequence, 2);
  EXPECT_EQ(run.dropped_bytes, 0U);
}

TEST(EarlierRunTest, FileCutAtAnyByteKeepsItsWholeLines) {
  const std::string whole = kHeader + kFirst + kSkip;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const EarlierRun run = scan_earlier_run(whole.substr(0, cut));
    const bool has_first = cut >= kHeader.size() + kFirst.size();
    EXPECT_EQ(run.done.size(), has_first ? 1U : 0U) << cut;
    EXPECT_EQ(run.has_header, cut >= kHeader.size()) << cut;
    EXPECT_EQ(run.whole_bytes + run.dropped_bytes, cut);
    EXPECT_TRUE(run.whole_bytes == 0 || whole[run.whole_bytes - 1] == '\n') << cut;
  }
}

TEST(MeasurementFileTest, GoesOnBehindTheLastWholeLine) {
  const weft::test::TempFolder folder;
  const std::string path = folder.write("run.jsonl", kHeader + "{\"kind\": \"ge");
  { MeasurementFile{path, kHeader.size()}.write_line("{}"); }
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  EXPECT_EQ(text.str(), kHeader + "{}\n");
}

TEST(MeasurementFileTest, StringMembersAreFoundByKey) {
  EXPECT_EQ(string_member(kFirst, "id"), "gemm m=1");
  EXPECT_EQ(string_member(kFirst, "type"), "");
}

}  // namespace
}  // namespace weft::measure
