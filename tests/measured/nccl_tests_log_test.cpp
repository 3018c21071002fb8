#include "sim/measured/readers/nccl_tests_log.h"
#include "sim/scenario/collective_sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "sim/network/import/source_text.h"
#include "tests/measured/log_files.h"

namespace weft::measured {
namespace {

using namespace weft::literals;
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const std::string kSettings =
    "# nThread 1 nGpus 2 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 10 iters: 40 agg iters: 1 validation: 0 "
    "graph: 0\n";
const std::string kDevices =
    "#  Rank  0 Group  0 Pid   4711 on      node7 device  0 [0000:00:06] NVIDIA H200\n"
    "#  Rank  1 Group  0 Pid   4711 on      node7 device  1 [0000:00:07] NVIDIA H200\n";
const std::string kColumns =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \n";
const std::string kHead = "# Collective test starting: all_reduce_perf\n" + kSettings + kDevices + kColumns;
const std::string kRow1 =
    "        1024           256     float     sum      -1    10.02    0.10    0.10    N/A    10.65    0.11    0.11    N/A\n";
const std::string kRow2 =
    "        2048           512     float     sum      -1    10.52    0.20    0.20      0    10.53    0.21    0.21    N/A\n";
const std::string kFoot = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.15 \n";
const std::string kLog = kHead + kRow1 + kRow2 + kFoot;

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The rows of a real log, found by other means. NCCL's messages are deleted from the host's name (one of two in these logs) to
// the end of the line. Each line of the rest that scans as a row is one.
struct ExpectedRow {
  long long bytes = 0, count = 0;
  char type[32] = {}, redop[32] = {};
  int root = 0;
  double times[2] = {}, algbw[2] = {}, busbw[2] = {};
};

std::vector<ExpectedRow> expected_rows(std::string text) {
  for (std::size_t at = text.find("] NCCL INFO"); at != std::string::npos; at = text.find("] NCCL INFO")) {
    const std::size_t line = text.rfind('\n', at) + 1;
    const std::size_t host = std::min(text.find("node:", line), text.find("vm:", line));
    text.erase(host, text.find('\n', at) + 1 - host);
  }
  std::istringstream lines(text);
  std::vector<ExpectedRow> rows;
  for (std::string line; std::getline(lines, line);) {
    ExpectedRow r;
    if (std::sscanf(line.c_str(), " %lld %lld %31s %31s %d %lf %lf %lf N/A %lf %lf %lf N/A", &r.bytes, &r.count, r.type,
                    r.redop, &r.root, &r.times[0], &r.algbw[0], &r.busbw[0], &r.times[1], &r.algbw[1], &r.busbw[1]) == 11) {
      rows.push_back(r);
    }
  }
  return rows;
}

TEST(NcclTestsLogTest, ReadsEveryRowOfEveryRealLog) {
  const std::vector<fs::path> files = files_of("h200x4", ".txt");
  ASSERT_THAT(files, SizeIs(24));
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const std::vector<ExpectedRow> expected = expected_rows(read_file(file));
    const NcclTestsLog log = read_nccl_tests_log(file.string());
    EXPECT_THAT(log.warnings, IsEmpty());
    ASSERT_EQ(log.rows.size(), expected.size());
    ASSERT_GE(log.rows.size(), 8u);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const NcclTestsRow& row = log.rows[i];
      EXPECT_EQ(row.bytes.count(), expected[i].bytes);
      EXPECT_EQ(row.count, expected[i].count);
      EXPECT_EQ(row.type, expected[i].type);
      EXPECT_EQ(row.redop, expected[i].redop);
      EXPECT_EQ(row.root, expected[i].root);
      for (const int half : {0, 1}) {
        const auto& timing = half == 0 ? row.out_of_place : row.in_place;
        ASSERT_TRUE(timing);
        EXPECT_EQ(timing->time_us, expected[i].times[half]);
        EXPECT_EQ(timing->algbw_gigabytes_per_second, expected[i].algbw[half]);
        EXPECT_EQ(timing->busbw_gigabytes_per_second, expected[i].busbw[half]);
        EXPECT_FALSE(timing->wrong);
      }
    }
  }
}

TEST(NcclTestsLogTest, RealRowsGiveTheAverageThatTheLogPrints) {
  // models/nccl §8.4: the mean of all bus bandwidths, both halves; printed with two decimals each, so right within 0.005.
  for (const fs::path& file : files_of("h200x4", ".txt")) {
    SCOPED_TRACE(file.filename().string());
    const std::string text = read_file(file);
    const std::string label = "# Avg bus bandwidth    : ";
    const double average = std::stod(text.substr(text.find(label) + label.size(), 10));
    double sum = 0;
    const NcclTestsLog log = read_nccl_tests_log(file.string());
    for (const NcclTestsRow& row : log.rows) {
      sum += row.out_of_place->busbw_gigabytes_per_second + row.in_place->busbw_gigabytes_per_second;
    }
    EXPECT_NEAR(sum / (2.0 * static_cast<double>(log.rows.size())), average, 0.006);
  }
}

TEST(NcclTestsLogTest, ReadsWhatARealLogSaysOfItsRun) {
  const NcclTestsLog log = read_nccl_tests_log(WEFT_TEST_DATA "/h200x4/all_reduce_4gpu_Ring_Simple_ch16.txt");
  EXPECT_EQ(log.collective, "all_reduce");
  EXPECT_EQ(log.threads, 1);
  EXPECT_EQ(log.gpus_per_thread, 4);
  EXPECT_EQ(log.processes, 1);
  EXPECT_EQ(log.ranks, 4);
  EXPECT_EQ(log.nodes, 1);
  EXPECT_EQ(log.groups, 1);
  EXPECT_EQ(log.min_bytes, 64_KiB);
  EXPECT_EQ(log.max_bytes, 1_GiB);
  EXPECT_EQ(log.step.value, 4);
  EXPECT_TRUE(log.step.is_factor);
  EXPECT_EQ(log.iterations, 20);
  EXPECT_EQ(log.warmup_iterations, 5);
  EXPECT_EQ(log.aggregated_iterations, 1);
  EXPECT_EQ(log.graph_launches, 0);
  EXPECT_EQ(log.nccl_tests_version, "2.19.6");
  EXPECT_EQ(log.headers_version, "22809");
  EXPECT_EQ(log.library_version, "22809");
  EXPECT_FALSE(log.has_debug_output);
  EXPECT_THAT(log.env,
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_MAX_NCHANNELS", "16"), Pair("NCCL_MIN_NCHANNELS", "16"),
                          Pair("NCCL_NVLS_ENABLE", "0"), Pair("NCCL_PROTO", "Simple")));
  ASSERT_THAT(log.devices, SizeIs(4));
  EXPECT_EQ(log.devices[3].rank, 3);
  EXPECT_EQ(log.devices[3].host, "node");
  EXPECT_EQ(log.devices[3].device, 3);
  EXPECT_EQ(log.devices[3].bus_id, "0000:00:09");
  EXPECT_EQ(log.devices[3].name, "NVIDIA H200");
}

TEST(NcclTestsLogTest, TellsThreadsAndGraphsOfRealLogs) {
  const NcclTestsLog threads = read_nccl_tests_log(WEFT_TEST_DATA "/h200x4/all_reduce_4gpu_threads.txt");
  EXPECT_EQ(threads.threads, 4);
  EXPECT_EQ(threads.gpus_per_thread, 1);
  EXPECT_EQ(threads.processes, 1);
  EXPECT_EQ(read_nccl_tests_log(WEFT_TEST_DATA "/h200x4/all_reduce_4gpu_cudagraph.txt").graph_launches, 1);
}

TEST(NcclTestsLogTest, ReadsWhatNcclChoseInRealDebugLogs) {
  const NcclTestsLog reduce = read_nccl_tests_log(WEFT_TEST_DATA "/h200x4/info_all_reduce_4gpu.txt");
  EXPECT_TRUE(reduce.has_debug_output);
  EXPECT_EQ(reduce.library_version, "2.28.9+cuda13.0");
  EXPECT_THAT(reduce.env, UnorderedElementsAre(Pair("NCCL_DEBUG", "INFO"), Pair("NCCL_NVLS_ENABLE", "0"),
                                               Pair("NCCL_GRAPH_DUMP_FILE", "./graph_4gpu.xml"),
                                               Pair("NCCL_TOPO_DUMP_FILE", "./topo_4gpu.xml")));
  // 8 B to 1 GiB by doubling is 28 sizes, each chosen once.
  ASSERT_THAT(reduce.choices, SizeIs(28));
  EXPECT_EQ(reduce.choices.front().bytes, 8_B);
  EXPECT_EQ(reduce.choices.front().protocol, "LL");
  EXPECT_EQ(reduce.choices.back().algorithm, "Ring");
  EXPECT_EQ(reduce.choices.back().protocol, "Simple");
  EXPECT_EQ(reduce.choices.back().channels(), 24);

  // NCCL prints the bytes of one of the four ranks; sizes below 64 B are rounded to 0 and not called at all.
  const NcclTestsLog gather = read_nccl_tests_log(WEFT_TEST_DATA "/h200x4/info_all_gather_4gpu.txt");
  ASSERT_THAT(gather.choices, SizeIs(25));
  EXPECT_EQ(gather.choices.front().collective, "all_gather");
  EXPECT_EQ(gather.choices.front().printed_bytes, 16_B);
  EXPECT_EQ(gather.choices.front().bytes, 64_B);
  EXPECT_EQ(gather.choices.back().bytes, 1_GiB);
}

TEST(NcclTestsLogTest, DigestIsOfMeasurementsOnly) {
  const std::uint64_t digest = parse(kLog).digest();
  EXPECT_EQ(parse("# env NCCL_ALGO=Ring\n" + kLog, "other.log").digest(), digest);
  EXPECT_NE(parse(kHead + kRow1 + kFoot).digest(), digest);
  EXPECT_NE(parse(replace_all(kLog, "10.02", "10.03")).digest(), digest);
  EXPECT_NE(parse(replace_all(kLog, "all_reduce", "broadcast")).digest(), digest);
  // All real logs differ, the repeated runs too.
  std::vector<std::uint64_t> digests;
  for (const fs::path& file : files_of("h200x4", ".txt")) digests.push_back(read_nccl_tests_log(file.string()).digest());
  std::sort(digests.begin(), digests.end());
  EXPECT_EQ(std::unique(digests.begin(), digests.end()), digests.end());
}

TEST(NcclTestsLogTest, ReadsOlderHeaders) {
  // nccl-tests 2.0 to 2.12: no root column, `error`, short bus ids, no groups, no version.
  const NcclTestsLog log = parse(
      "$ mpirun -np 2 ./build/all_reduce_perf -b 8 -e 16 -f 2\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n"
      "#   Rank  0 Pid  26528 on  dgx-work01 device  0 [0x07] A100-SXM4-40GB\n"
      "#   Rank  1 Pid  26529 on  dgx-work02 device  0 [0x0a] A100-SXM4-40GB\n"
      "#\n"
      "#                                                     out-of-place                       in-place          \n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
      "           8             2   float     sum    37.24    0.00    0.00  0e+00    36.92    0.00    0.00  5e-07\n"
      "          16             4   float     sum    1.8e+05   0.00    0.00  0e+00    37.00    0.00    0.00  0e+00\n" +
      kFoot);
  EXPECT_EQ(log.collective, "all_reduce");
  EXPECT_EQ(log.ranks, 2);
  EXPECT_EQ(log.nodes, 2);
  EXPECT_EQ(log.processes, 2);
  EXPECT_EQ(log.devices[1].bus_id, "0x0a");
  EXPECT_EQ(log.aggregated_iterations, 1);
  ASSERT_THAT(log.rows, SizeIs(2));
  EXPECT_EQ(log.rows[0].redop, "sum");
  EXPECT_EQ(log.rows[0].root, -1);
  EXPECT_EQ(log.rows[0].in_place->wrong, 5e-07);
  EXPECT_EQ(log.rows[1].out_of_place->time_us, 1.8e5);
  EXPECT_THAT(log.warnings, IsEmpty());
}

TEST(NcclTestsLogTest, ReadsElevenColumnsWithoutReductionAndRoot) {
  const NcclTestsLog log =
      parse(kSettings + kDevices + "#  size  count  type  time  algbw  busbw  error  time  algbw  busbw  error\n" +
            "   65536   2048   float   52.01   1.26   1.10  0e+00   50.09   1.31   1.14  0e+00\n" + kFoot);
  ASSERT_THAT(log.rows, SizeIs(1));
  EXPECT_EQ(log.rows[0].redop, "none");
  EXPECT_EQ(log.rows[0].out_of_place->time_us, 52.01);
  EXPECT_EQ(log.collective, "");  // nothing in this log names it
}

TEST(NcclTestsLogTest, ReadsRowsOfOneHalf) {
  const NcclTestsLog by_header = parse(kSettings + kDevices + "# size count type redop root time algbw busbw #wrong\n" +
                                       "  1024  256  float  sum  -1  10.02  0.10  0.10  N/A\n" + kFoot);
  ASSERT_THAT(by_header.rows, SizeIs(1));
  EXPECT_TRUE(by_header.rows[0].out_of_place);
  EXPECT_FALSE(by_header.rows[0].in_place);

  // Under a header of two halves: the first, unless 32 blanks stand in its place.
  const NcclTestsLog by_blanks = parse(
      kHead + "        1024           256     float     sum      -1    10.02    0.10    0.10    N/A\n" +
      "        2048           512     float     sum      -1                                    10.65    0.10    0.10    N/A\n" +
      kFoot);
  ASSERT_THAT(by_blanks.rows, SizeIs(2));
  EXPECT_TRUE(by_blanks.rows[0].out_of_place);
  EXPECT_FALSE(by_blanks.rows[0].in_place);
  EXPECT_FALSE(by_blanks.rows[1].out_of_place);
  EXPECT_EQ(by_blanks.rows[1].in_place->time_us, 10.65);
}

TEST(NcclTestsLogTest, ReadsRowsWithoutTheirColumnHeader) {
  const NcclTestsLog log = parse(kSettings + kDevices + kRow1 + kRow2);
  EXPECT_THAT(log.rows, SizeIs(2));
  EXPECT_THAT(log.warnings, SizeIs(1));  // no summary
}

TEST(NcclTestsLogTest, ReadsPerIterationColumnsAndTimeStamps) {
  const NcclTestsLog iterations =
      parse(kSettings + kDevices +
            "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max "
            "i_p99 i_cv%\n" +
            "  1024 256 float sum -1 10.02 0.10 0.10 0 9.01 11.5 11.4 3.21 10.65 0.10 0.10 0 9.5 12.0 11.9 2.00\n" + kFoot);
  ASSERT_THAT(iterations.rows, SizeIs(1));
  EXPECT_EQ(iterations.rows[0].out_of_place->time_us, 10.02);
  EXPECT_EQ(iterations.rows[0].in_place->time_us, 10.65);

  const std::string stamped = replace_all(kRow1, "\n", "  2026-11-21 08:36:02\n");
  EXPECT_THAT(parse(kHead + stamped + kFoot).rows, SizeIs(1));
  EXPECT_THAT(parse(kHead + "2026-11-21 08:36:02 " + kRow1 + kFoot).rows, SizeIs(1));
  const std::string columns = replace_all(kColumns, " \n", "           timestamp\n");
  EXPECT_THAT(parse(kSettings + kDevices + columns + stamped + kFoot).rows, SizeIs(1));
}

TEST(NcclTestsLogTest, ReadsThroughLineEndsAndPrefixesOfLaunchers) {
  const NcclTestsLog plain = parse(kLog);
  const auto with_prefix = [](const std::string& prefix) {
    return parse(prefix + replace_all(kHead + kRow1 + kRow2 + "# Out of bounds values : 0 OK", "\n", "\n" + prefix) + "\n");
  };
  for (const std::string prefix :
       {"[node7:4711] ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", " 3: ", "2026-11-21T08:36:02.123Z "}) {
    SCOPED_TRACE(prefix);
    const NcclTestsLog log = with_prefix(prefix);
    EXPECT_EQ(log.digest(), plain.digest());
    EXPECT_EQ(log.collective, "all_reduce");
    EXPECT_THAT(log.warnings, IsEmpty());
  }
  EXPECT_EQ(parse(replace_all(kLog, "\n", "\r\n")).digest(), plain.digest());
  EXPECT_EQ(parse("\xEF\xBB\xBF" + kLog).digest(), plain.digest());
}

// mpirun -timestamp-output and -tag-output, pdsh, kubectl logs --prefix: what stands before the settings stands before all.
TEST(NcclTestsLogTest, FindsTheTextOfAnyLauncherByTheLinesOfTheTest) {
  const NcclTestsLog plain = parse(kLog);
  const std::vector<std::vector<std::string>> launchers{
      {"Tue Mar  4 10:11:59 2025<stdout>:", "Wed Mar  5 10:12:00 2025<stdout>:", "Sat Mar 15 10:12:01 2025<stdout>:"},
      {"Tue Mar  4 10:11:12 2025[1,0]<stdout>:"},
      {"node-a: "},
      {"gpu7.example.org:\t"},
      {"[pod/nccl-launcher-x7k/mpi] "},
      {"worker_0 | "},
      {"10:11:12.5 "}};
  for (const std::vector<std::string>& prefixes : launchers) {
    SCOPED_TRACE(prefixes.front());
    std::string text;
    std::size_t line = 0;
    for (std::size_t at = 0; at < kLog.size(); ++line) {
      const std::size_t end = kLog.find('\n', at) + 1;
      text += prefixes[line % prefixes.size()] + kLog.substr(at, end - at);
      at = end;
    }
    const NcclTestsLog log = parse(text);
    EXPECT_EQ(log.digest(), plain.digest());
    EXPECT_EQ(log.devices.size(), plain.devices.size());
    EXPECT_THAT(log.warnings, IsEmpty());
  }
}

// mpirun puts its text before each flush, and nccl-tests flushes within a row.
TEST(NcclTestsLogTest, TakesALaunchersTextOutOfTheMiddleOfRows) {
  const std::string row =
      "        1024           256     float     sum      -1|    10.02    0.10    0.15      0|    10.65    0.11    0.15      "
      "0\n";
  const NcclTestsLog plain = parse(kHead + replace_all(row, "|", "") + kFoot);
  ASSERT_THAT(plain.rows, SizeIs(1));
  for (const std::string prefix : {"[0] ", "[1,0]<stdout>:", "Tue Mar  4 10:11:12 2025<stdout>:"}) {
    SCOPED_TRACE(prefix);
    const NcclTestsLog log =
        parse(prefix + replace_all(kHead, "\n", "\n" + prefix) + replace_all(row, "|", prefix) + prefix + kFoot);
    EXPECT_EQ(log.digest(), plain.digest());
    EXPECT_THAT(log.rows, SizeIs(1));
  }
}

TEST(NcclTestsLogTest, KnowsTheTestByAnyNameOfItsProgram) {
  const std::string unnamed = kSettings + kDevices + kColumns + kRow1 + kFoot;
  ASSERT_EQ(parse(unnamed).collective, "");
  for (const std::string line : {"srun -n4 all_reduce_perf_mpi -b 1M", "/opt/nccl-tests/all_reduce_perf-2.13 -g 8",
                                 "+ mpirun ./build/all_reduce_perf", "10:11<stdout>:all_reduce_perf -b 8"}) {
    EXPECT_EQ(parse(line + "\n" + unnamed).collective, "all_reduce") << line;
  }
  EXPECT_EQ(parse("all_reduce_performance\n" + unnamed).collective, "");
}

TEST(NcclTestsLogTest, JoinsLinesThatNcclCutApart) {
  // A message is put at every place of the header and the rows, glued to what stands before it: the log must say the same.
  const NcclTestsLog plain = parse(kLog);
  const std::string body = kHead + kRow1 + kRow2;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const std::string text = "node7:12:34 [0] NCCL INFO Using network Socket\n" + body.substr(0, at) +
                             "node7:12:34 [1] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n" +
                             body.substr(at) + kFoot;
    const NcclTestsLog log = parse(text);
    ASSERT_EQ(log.digest(), plain.digest()) << text;
    ASSERT_TRUE(log.has_debug_output);
    ASSERT_THAT(log.devices, SizeIs(2));
  }
}

TEST(NcclTestsLogTest, SplitsRowsFromUnknownHosts) {
  const std::string begin = "        1024           256     float    none       0";
  const std::string rest = "    10.02    0.10    0.10    N/A    10.65    0.11    0.11    N/A";
  for (const std::string host : {"vm", "gpu-3", "10-4-3-3", "a1.example.org"}) {
    SCOPED_TRACE(host);
    const std::string message =
        host + ":4711:4712 [0] NCCL INFO Broadcast: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n";
    const NcclTestsLog log = parse(fmt::format("{}{}{}{}{}\n{}", kHead, begin, message, message, rest, kFoot));
    ASSERT_THAT(log.rows, SizeIs(1));
    EXPECT_EQ(log.rows[0].root, 0);
    EXPECT_EQ(log.rows[0].out_of_place->time_us, 10.02);
    ASSERT_THAT(log.choices, SizeIs(1));
    EXPECT_EQ(log.choices[0].collective, "broadcast");
    EXPECT_EQ(log.choices[0].channels(), 2);
  }
}

TEST(NcclTestsLogTest, JoinsRowsAcrossAWarningThatBeginsANewLine) {
  const NcclTestsLog log = parse(kHead + kRow1.substr(0, 56) +
                                 "\nnode7:12:34 [0] graph/search.cc:890 NCCL WARN Could not find a path for pattern 4\n" +
                                 kRow1.substr(56) + kRow2 + kFoot);
  EXPECT_EQ(log.digest(), parse(kLog).digest());
  EXPECT_FALSE(log.has_debug_output);  // warnings come without NCCL_DEBUG=INFO, and disturb nothing
}

TEST(NcclTestsLogTest, TakesSettingsFromEverywhere) {
  const NcclTestsLog log =
      parse("# env NCCL_ALGO=Ring\n" + kHead + "node7:12:34 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 16.\n" +
            "node7:12:34 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0\n" + kRow1 + kFoot +
            "# env HOME=\n# env PATH=/bin\n# env NCCL_TOPO_FILE=a b.xml");
  EXPECT_THAT(log.env, UnorderedElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_MAX_NCHANNELS", "16"),
                                            Pair("NCCL_SOCKET_IFNAME", "eth0"), Pair("HOME", ""), Pair("PATH", "/bin"),
                                            Pair("NCCL_TOPO_FILE", "a b.xml")));
}

TEST(NcclTestsLogTest, PrefersTheLastSettingWrittenByHand) {
  const NcclTestsLog log = parse("# env NCCL_ALGO=Ring\n# env NCCL_ALGO=Tree\n" + kHead +
                                 "node7:12:34 [0] NCCL INFO NCCL_ALGO set by environment to NVLS\n" + kRow1 + kFoot);
  EXPECT_EQ(log.env.at("NCCL_ALGO"), "Tree");
  ASSERT_THAT(log.warnings, SizeIs(2));
  EXPECT_EQ(format(log.warnings[0], "warning"),
            "test.log:2:1: warning: NCCL_ALGO is 'Tree' here, but 'Ring' before; 'Tree' is taken\n");
  EXPECT_EQ(format(log.warnings[1], "warning"),
            "test.log:8:1: warning: NCCL_ALGO is 'NVLS' here, but 'Tree' before; 'Tree' is taken\n");
}

TEST(NcclTestsLogTest, KnowsWhichDebugLevelsPrint) {
  for (const std::string level : {"INFO", "info", "TRACE"})
    EXPECT_TRUE(parse(fmt::format("# env NCCL_DEBUG={}\n{}", level, kLog)).has_debug_output);
  for (const std::string level : {"VERSION", "WARN", "NONE"})
    EXPECT_FALSE(parse(fmt::format("# env NCCL_DEBUG={}\n{}", level, kLog)).has_debug_output);
}

TEST(NcclTestsLogTest, SaysWhenResultsWereWrongOrTimesAreOfTheHost) {
  EXPECT_THAT(parse(replace_all(kLog, "0.20      0", "0.20     12")).warnings.at(0).message,
              HasSubstr("1 measurements had wrong results"));
  const NcclTestsLog cpu = parse(replace_all(kLog, " time ", " cputime "));
  EXPECT_TRUE(cpu.is_cpu_time);
  EXPECT_THAT(cpu.rows, SizeIs(2));
}

TEST(NcclTestsLogTest, CountsNodesAndGroups) {
  const std::string devices =
      "#  Rank  0 Group  0 Pid 1 on a device  0 [0000:00:06] X\n#  Rank  1 Group  1 Pid 1 on a device  1 [0000:00:07] X\n"
      "#  Rank  2 Group  0 Pid 2 on b device  0 [0000:00:06] X\n#  Rank  3 Group  1 Pid 2 on b device  1 [0000:00:07] X\n";
  const NcclTestsLog log = parse(kSettings + devices + kColumns + kRow1 + kFoot);
  EXPECT_EQ(log.groups, 2);
  EXPECT_EQ(log.ranks, 2);
  EXPECT_EQ(log.nodes, 2);
  EXPECT_EQ(log.processes, 2);
}

TEST(NcclTestsLogTest, JsonSaysTheSameAsText) {
  const NcclTestsLog log = parse(R"({"version":2,"start_time":"2026-11-21 08:36:02","args":["./build/all_reduce_perf","-b","8"],
    "env":["PATH=/bin","NCCL_ALGO=Ring","NCCL_TOPO_FILE=a=b"],"nccl_version":22809,
    "config":{"nthreads":1,"ngpus":2,"minimum_bytes":1024,"maximum_bytes":4096,"step_factor":2,"warmup_iters":10,"iterations":40,
      "aggregated_iterations":1,"validation":0,"graph":0,"blocking_collectives":"false",
      "devices":[{"rank":0,"group":0,"pid":1,"hostname":"node7","device":0,"device_hex":"0000:00:06","device_info":"NVIDIA H200"}]},
    "results":[
      {"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",
       "out_of_place":{"time":10.020000,"alg_bw":0.1,"bus_bw":0.1,"nwrong":null},"in_place":{"time":10.65,"alg_bw":"nan","bus_bw":0.1,"nwrong":0.0},
       "actual_iterations":40,"experiment_name":"x"},
      {"size":2048,"count":512,"type":"float","redop":"sum","root":"    -1",
       "out_of_place":{"time":10.52,"alg_bw":0.2,"bus_bw":0.2,"nwrong":0.0},"in_place":{"time":10.53,"alg_bw":0.2,"bus_bw":0.2,"nwrong":null}}],
    "out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":0.15,"okay":"unchecked"},"errors":[]})");
  EXPECT_EQ(log.digest(), parse(kLog).digest());
  EXPECT_EQ(log.ranks, 2);  // one device is listed for each process
  EXPECT_EQ(log.processes, 1);
  EXPECT_EQ(log.nodes, 1);
  EXPECT_EQ(log.iterations, 40);
  EXPECT_EQ(log.step.value, 2);
  EXPECT_THAT(log.env, ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_TOPO_FILE", "a=b")));
  EXPECT_FALSE(log.rows[0].out_of_place->wrong);
  EXPECT_EQ(log.rows[1].out_of_place->wrong, 0.0);
}

TEST(NcclTestsLogTest, NamesCollectivesAsNcclTestsDoes) {
  EXPECT_EQ(scenario::nccl_tests_collective_name("AllReduce"), "all_reduce");
  EXPECT_EQ(scenario::nccl_tests_collective_name("/usr/bin/alltoall_perf"), "alltoall");
  EXPECT_EQ(scenario::nccl_tests_collective_name("SendRecv"), "sendrecv");
  EXPECT_EQ(scenario::nccl_tests_collective_name("all_produce"), "");
}

}  // namespace
}  // namespace weft::measured
