#include "sim/workloads/flow_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"
#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

class FlowFileTest : public ::testing::Test {
 protected:
  void write(const std::string& text) { static_cast<void>(folder_.write("flows.txt", text)); }
  Workload read_file() { return read("{flows_file: flows.txt}", topology_, nullptr, folder_.path().string() + "/"); }
  std::vector<std::string> file_errors() {
    return errors("{flows_file: flows.txt}", topology_, nullptr, folder_.path().string() + "/");
  }

  weft::test::TempFolder folder_;
  net::Topology topology_ = weft::testing::star(4, 100_Gbps, 1_us);
};

TEST_F(FlowFileTest, ThreeNumbersAreSourceDestinationAndBytes) {
  write("# a comment\n0 3 1000\n\n2,1,5\n");
  const Workload workload = read_file();
  ASSERT_EQ(workload.flows.size(), 2U);
  EXPECT_EQ(workload.flows[0].to, topology_.endpoints()[3]);
  EXPECT_EQ(workload.flows[0].bytes, 1'000_B);
  EXPECT_EQ(workload.flows[1].from, topology_.endpoints()[2]);
  EXPECT_EQ(workload.flows[1].start, Time{});
}

TEST_F(FlowFileTest, BytesMayBeUnlimited) {
  write("2\n0 3 3 100 unlimited 0\n1 2 0 100 64 0\n");
  const Workload workload = read_file();
  ASSERT_EQ(workload.flows.size(), 2U);
  EXPECT_TRUE(workload.options_of(workload.flows[0]).unlimited);
  EXPECT_FALSE(workload.options_of(workload.flows[1]).unlimited);
  EXPECT_TRUE(workload.has_endless_flow());
  write("0 3 unlimited\n");
  EXPECT_TRUE(read_file().has_endless_flow());
  write("0 3 endless\n");
  EXPECT_EQ(file_errors().size(), 1U);
}

TEST_F(FlowFileTest, AFirstLineOfOneNumberAnnouncesTheFormWithStarts) {
  write("2\n0 3 3 100 1000 2.000000001\n1 2 0 100 64 0\n");
  const Workload workload = read_file();
  ASSERT_EQ(workload.flows.size(), 2U);
  EXPECT_EQ(workload.flows[0].priority, 3);
  EXPECT_EQ(workload.flows[0].bytes, 1'000_B);
  EXPECT_EQ(workload.flows[0].start, Time{} + 2_s + 1_ns);
  EXPECT_EQ(workload.flows[1].start, Time{});
}

TEST_F(FlowFileTest, MissingFlowsAreErrors) {
  write("2\n0 3 3 100 1000 2\n");
  EXPECT_EQ(file_errors(), std::vector<std::string>{"the first line announces 2 flows, and 1 follow"});
  write("0\n0 3 3 100 1000 2\n");
  EXPECT_EQ(file_errors(), std::vector<std::string>{"the first line announces 0 flows, and 1 follow"});
}

TEST_F(FlowFileTest, FlowsBeyondThoseAnnouncedAreLeftOutWithAWarning) {
  const std::string path = folder_.write("flows.txt", "1\n0 3 3 100 1000 2\n# a comment\n1 2 0 100 64 0\nno flow at all\n");
  Workload workload;
  Diagnostics diagnostics;
  read_flow_file(path, topology_, diagnostics, workload);
  ASSERT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(workload.flows.size(), 1U);
  ASSERT_EQ(diagnostics.warnings().size(), 1U);
  EXPECT_EQ(diagnostics.warnings().front().where.line, 4);
  EXPECT_EQ(diagnostics.warnings().front().message, "the first line announces fewer flows: 2 lines from here on are left out");
}

TEST_F(FlowFileTest, RefusesWhatIsNoFlow) {
  for (const char* text : {"0 4 10\n", "0 1 -1\n", "0 1\n", "0 1 x\n", "0 1 2 3\n", "1\n0 1 8 1 10 0\n", "1\n0 1 3 1 10 -1\n",
                           "1\n0 1 3 1 10\n", "-1\n"}) {
    write(text);
    EXPECT_EQ(file_errors().size(), 1U) << text;
  }
}

}  // namespace
}  // namespace weft::work::test
