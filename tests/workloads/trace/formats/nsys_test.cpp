// Databases as Nsight Systems exports them, of the least that is read (models/workloads §5.7).
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>

#include "sim/workloads/trace/nsys/nccl_range.h"
#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

constexpr const char* kTables =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT, domainId INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, correlationId INT, nameId INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, correlationId INT,"
    " demangledName INT, shortName INT);"
    "INSERT INTO StringIds VALUES(1,'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'),(2,'ncclAllReduce'),(3,'cudaLaunchKernel');"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(2000,6000,16777226,5,3);";
constexpr const char* kKernel = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(12000,95000,0,20,5,1,1);";

std::filesystem::path write_database(const std::string& name, const std::string& sql) {
  const std::filesystem::path file = trace_folder() / name;
  std::filesystem::remove(file);
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
  return file;
}

std::string with_range(const std::string& text) {
  return std::string{kTables} + kKernel + "INSERT INTO NVTX_EVENTS VALUES(1000,9000,59,'" + text + "',NULL,16777226,0);";
}

TEST(NsysTest, ACollectiveTakesItsBytesFromTheRangeThatItsLaunchIsIn) {
  const std::string sql = with_range("ncclAllReduce(): commHash 12ab, data_size 4096, type_size 2");
  const Trace trace = read_trace(std::vector{write_database("a.sqlite", sql), write_database("b.sqlite", sql)}, {});
  EXPECT_EQ(trace.format, "nsys");
  ASSERT_EQ(trace.program.ranks.size(), 2U);
  const auto& operations = trace.program.program_of(1).operations;
  const auto call = std::ranges::find(operations, OpKind::kCollective, &Operation::kind);
  ASSERT_NE(call, operations.end());
  EXPECT_EQ(call->bytes.count(), 4096);
  EXPECT_EQ(call->element_size, 2);
}

TEST(NsysTest, ACollectiveOfUnknownSizeKeepsItsRecordedTime) {
  const Trace trace = read_trace(std::vector{write_database("a.sqlite", with_range("ncclAllReduce"))}, {});
  EXPECT_EQ(trace.recorded_step, Duration::from_ns(83'000));
  EXPECT_TRUE(std::ranges::none_of(trace.program.program_of(0).operations,
                                   [](const Operation& op) { return op.kind == OpKind::kCollective; }));
}

constexpr const char* kGraphs =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INT, end INT, deviceId INT, graphId INT, streamId INT, correlationId "
    "INT,"
    " graphExecId INT);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(7000,8000,16777226,6,3);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(96000,146000,0,1,20,6,3);";

// A kernel of 83 us, 1 us later a graph of 50 us; the step: 12 to 146 us.
TEST(NsysTest, ALaunchOfACudaGraphIsReadAndSaidToBeOne) {
  const Trace trace = read_trace(std::vector{write_database("a.sqlite", std::string{kTables} + kKernel + kGraphs)}, {});
  EXPECT_EQ(trace.recorded_step, Duration::from_ns(134'000));
  const RankProgram& program = trace.program.program_of(0);
  const auto graph =
      std::ranges::find_if(program.operations, [&](const Operation& op) { return program.names[op.name] == "CUDA graph 3"; });
  ASSERT_NE(graph, program.operations.end());
  EXPECT_EQ(graph->category, Category::kOtherCompute);
  EXPECT_TRUE(std::ranges::any_of(trace.findings, [](const Diagnostic& finding) {
    return finding.message.starts_with("1 launches of CUDA graphs are recorded as a whole");
  }));
}

TEST(NsysTest, AFileOfGraphsAloneIsRead) {
  std::string sql = std::string{kTables} + kGraphs + "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;";
  EXPECT_EQ(read_trace(std::vector{write_database("a.sqlite", sql)}, {}).recorded_step, Duration::from_ns(50'000));
}

TEST(NsysTest, WhatIsWrongIsNamedByTableAndRow) {
  const auto error = [](const std::string& sql) { return first_error(trace_builtin::nsys, {write_database("a.sqlite", sql)}); };
  EXPECT_EQ(error("CREATE TABLE x(y)"), "a.sqlite: no table StringIds");
  EXPECT_EQ(error(std::string{kTables} + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES('soon',9,0,20,5,1,1)"),
            "a.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 1: start is text, not a whole number");
  EXPECT_EQ(error(std::string{kTables} + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10,9,0,20,5,1,1)"),
            "a.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 1: ends at 9 ns, before it starts at 10 ns");
  EXPECT_EQ(error(std::string{kTables} + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,9,0,20,5,77,1)"),
            "a.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 1: string 77 is not in StringIds");
  for (const char* start : {"9e999", "-9e999", "0.5"}) {
    EXPECT_EQ(error(std::string{kTables} + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + start + ",9,0,20,5,1,1)"),
              "a.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 1: start is a fraction, not a whole number");
  }
  EXPECT_NE(first_error(trace_builtin::nsys, {write_trace("cut.sqlite", "SQLite format 3")}), "");
}

TEST(NsysTest, RangesThatMoveNothingAreNoCalls) {
  EXPECT_FALSE(nsys::parse_nccl_range("ncclGroupEnd", ""));
  EXPECT_FALSE(nsys::parse_nccl_range("forward", ""));
  EXPECT_EQ(nsys::parse_nccl_range("ncclSend", R"({"Message size [bytes]": 64, "Peer rank": 3})")->peer, 3);
}

}  // namespace
}  // namespace weft::work::test
