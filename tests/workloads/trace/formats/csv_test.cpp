#include <gtest/gtest.h>

#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

Trace read_csv(const std::string& text) { return trace_builtin::csv.read(std::vector{write_trace("a.csv", text)}, {}); }
std::string csv_error(const std::string& text) { return first_error(trace_builtin::csv, {write_trace("a.csv", text)}); }

TEST(CsvTraceTest, RowsOfAStreamFollowOneAnother) {
  const TraceRun run{read_csv("rank,op,bytes,peer,duration_us\n"
                              "0,compute,,,12.5\n"
                              "0,send,1048576,1,\n"
                              "1,recv,1048576,0,\n"
                              "1,compute,,,2\n")
                         .program};
  EXPECT_EQ(run.of(0, 1).start, Time{} + 12'500_ns);
  EXPECT_EQ(run.of(1, 1).start, run.of(0, 1).end);
}

TEST(CsvTraceTest, StreamsRunSideBySideAndWaitWhereToldTo) {
  const TraceRun run{read_csv("op,rank,duration_ns,stream,after\n"
                              "compute,0,100,a,\n"
                              "compute,0,70,b,\n"
                              "compute,0,10,b,a\n")
                         .program};
  EXPECT_EQ(run.of(0, 1).end, Time{} + 70_ns);
  EXPECT_EQ(run.of(0, 2).start, Time{} + 100_ns);
}

TEST(CsvTraceTest, CollectivesMeetOnTheGroupTheyName) {
  const Trace trace = read_csv(
      "rank,op,bytes,group\n"
      "0,all_reduce,4096,0-1\n1,all_reduce,4096,0-1\n"
      "0,barrier,,\n1,barrier,,\n2,barrier,,\n");
  ASSERT_EQ(trace.program.groups.size(), 2U);
  EXPECT_EQ(trace.program.groups[0].ranks, (std::vector<Rank>{0, 1}));
  EXPECT_EQ(trace.program.groups[1].ranks, (std::vector<Rank>{0, 1, 2}));
  const TraceRun run{trace.program};
  EXPECT_EQ(run.of(0, 1).end, run.of(2, 0).end);
}

TEST(CsvTraceTest, NamesWhatIsWrongAndWhere) {
  EXPECT_EQ(csv_error("rank,op,byte\n"), "a.csv:1:9: unknown column 'byte'");
  EXPECT_EQ(csv_error("rank,bytes\n"), "a.csv:1:1: there is no column 'op'");
  EXPECT_EQ(csv_error("rank,op\n"), "a.csv:1:0: no rows");
  EXPECT_EQ(csv_error("rank,op\n0,sned\n"), "a.csv:2:3: unknown op 'sned'");
  EXPECT_EQ(csv_error("rank,op,duration_us\n0,compute,nan\n"),
            "a.csv:2:11: duration_us: expected a time from 0 to 100000000000 us, found 'nan'");
  EXPECT_EQ(csv_error("rank,op,bytes,peer\n0,send,-1,1\n"),
            "a.csv:2:8: bytes: expected a number of bytes from 0 to 1125899906842624, found '-1'");
  EXPECT_EQ(csv_error("rank,op,bytes\n0,all_reduce,4\n1,all_reduce,8\n"),
            "a.csv:3:0: rank 1, 'all_reduce': collective 0 of group 'all' is all_reduce of 8 B here, but all_reduce of 4 B on "
            "rank 0");
  EXPECT_EQ(csv_error("rank,op,bytes\n0,all_reduce,4\n0,all_reduce,4\n1,all_reduce,4\n"),
            "a.csv:3:0: rank 0, 'all_reduce': collective 1 of group 'all' is called by rank 0 but not by rank 1");
  EXPECT_EQ(csv_error("rank,op,bytes\n0,barrier,\n2,barrier,\n"), "a.csv:3:0: ranks go from 0 to 2, but rank 1 has no rows");
  EXPECT_EQ(csv_error("rank,op,bytes,group\n0,all_reduce,4,0-5\n1,all_reduce,4,0-5\n"),
            "a.csv:2:16: group: rank 5 has no rows; ranks go from 0 to 1");
}

}  // namespace
}  // namespace weft::work::test
