// Readers of measured points: every format by its first bytes, its records by hand, and files that were cut.
#include "sim/measured/readers/point_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/core/error.h"
#include "sim/measured/readers/formats.h"
#include "tests/support/temp_folder.h"

namespace weft::measured {
namespace {

const std::string kData = WEFT_SOURCE_DIR "/tests/data/";

PointLog read(const std::string& path) {
  const MeasurementFormat* format = format_of(path);
  if (format == nullptr) throw ConfigError("no format reads " + path);
  return read_points(*format, path);
}

PointLog read_text(const MeasurementFormat& format, const std::string& text) {
  std::istringstream input{text};
  return format.read(input, "file.jsonl");
}

// A record of every kind, as `weft measure` writes them.
const std::string kRecords =
    R"({"weft_measurements": 1, "kind": "header", "sequence": 0, "set": "full", "machine": {"hostname": "", "nccl": 22809, "gpus": [{"index": 0, "name": "NVIDIA H200", "pci": "0000:00:06.0"}, {"index": 1, "name": "NVIDIA H200", "pci": "0000:00:07.0"}]}}
{"kind": "launch", "sequence": 1, "id": "l", "set": "quick", "what": "kernel", "median_us": 2.5, "p25_us": 2.4, "p75_us": 2.7}
{"kind": "gemm", "sequence": 2, "id": "g", "set": "quick", "m": 128, "n": 256, "k": 512, "type": "bf16", "median_us": 9.5}
{"kind": "memory", "sequence": 3, "id": "m", "set": "full", "op": "add", "type": "bf16", "elements": 1048576, "bytes": 6291456, "median_us": 7}
{"kind": "attention", "sequence": 4, "id": "a", "set": "full", "batch": 2, "heads": 16, "sequence_length": 1024, "head_size": 64, "causal": true, "type": "bf16", "method": "gemm_softmax_gemm", "median_us": 300}
{"kind": "copy", "sequence": 5, "id": "c", "set": "full", "engine": "copy_engine", "pattern": "bidirectional", "transfers": [[0, 1], [1, 0]], "bytes": 1048576, "median_us": 12}
{"kind": "collective", "sequence": 6, "id": "x", "set": "quick", "collective": "all_reduce", "bytes": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": -1, "in_place": false, "ranks": 2, "nodes": 1, "layout": {"processes": 1, "threads": 2, "gpus_per_thread": 1}, "launch": "stream", "gpus": [0, 1], "env": {"NCCL_ALGO": "Ring"}, "inner": 20, "host_us": 9.5, "median_us": 15, "check": "ok"}
{"kind": "collective", "sequence": 7, "id": "y", "set": "quick", "collective": "all_reduce", "bytes": 8, "count": 2, "type": "float", "redop": "sum", "root": -1, "in_place": false, "ranks": 2, "nodes": 1, "layout": {"processes": 1, "threads": 2, "gpus_per_thread": 1}, "launch": "stream", "gpus": [0, 1], "env": {"NCCL_ALGO": "Ring"}, "inner": 100, "median_us": 9, "check": "ok"}
{"kind": "collective", "sequence": 8, "id": "z", "set": "full", "collective": "all_gather", "bytes": 8, "count": 1, "type": "float", "ranks": 2, "nodes": 1, "layout": {"processes": 2, "threads": 1, "gpus_per_thread": 1}, "launch": "graph", "gpus": [0, 1], "median_us": 9, "check": "wrong"}
{"kind": "overlap", "sequence": 9, "id": "o", "set": "full", "case": "collective_with_gemm", "ranks": 2, "layout": {"processes": 2, "threads": 1, "gpus_per_thread": 1}, "median_us": 900, "parts": [{"op": "all_reduce", "bytes": 1048576, "type": "bfloat16", "calls": 4, "median_us": 800}, {"op": "gemm", "m": 1024, "n": 1024, "k": 1024, "type": "bf16", "calls": 3, "median_us": 900}]}
{"kind": "skip", "what": "NIC", "reason": "none found"}
{"kind": "end", "reason": "finished", "measured": 9, "planned": 9}
)";

TEST(PointLogTest, KnowsEveryFormatByItsFirstBytes) {
  EXPECT_EQ(format_of(kData + "h200x4/micro.json"), &torch_micro_format);
  EXPECT_EQ(format_of(kData + "h200x4/overlap.json"), &torch_overlap_format);
  EXPECT_EQ(format_of(kData + "other_formats/nvbandwidth.txt"), &nvbandwidth_format);
  EXPECT_EQ(format_of(kData + "other_formats/nvbandwidth.json"), &nvbandwidth_format);
  EXPECT_EQ(format_of(kData + "other_formats/ib_write_bw.txt"), &perftest_format);
  EXPECT_EQ(format_of(kData + "h200x4/all_reduce_4gpu.txt"), nullptr);  // nccl-tests' output
}

TEST(PointLogTest, ReadsEveryKindOfRecord) {
  const PointLog log = read_text(weft_measure_format, kRecords);
  EXPECT_EQ(log.gpu, "NVIDIA H200");
  EXPECT_EQ(log.nccl_version, "2.28.9");
  ASSERT_EQ(log.points.size(), 6U);
  EXPECT_EQ(log.points[0].what, "kernel");
  EXPECT_DOUBLE_EQ(log.points[0].high_us, 2.7);
  EXPECT_EQ(log.points[1].k, 512);
  EXPECT_EQ(log.points[2].bytes, Bytes{6'291'456});
  EXPECT_EQ(log.points[3].batch, 32);  // 2 x 16 heads
  EXPECT_EQ(log.points[4].transfers, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}}));
  ASSERT_EQ(log.points[5].parts.size(), 2U);
  EXPECT_EQ(log.points[5].parts[0].calls, 4);
  EXPECT_EQ(log.skipped, std::vector<std::string>{"NIC: none found"});
}

TEST(PointLogTest, JoinsCollectivesThatDifferInSizeOnly) {
  const PointLog log = read_text(weft_measure_format, kRecords);
  ASSERT_EQ(log.collectives.size(), 1U);
  const NcclTestsLog& all_reduce = log.collectives.front();
  EXPECT_EQ(log.collective_sets.front(), "quick");
  EXPECT_EQ(all_reduce.threads, 2);
  EXPECT_EQ(all_reduce.env.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(all_reduce.devices.size(), 2U);
  ASSERT_EQ(all_reduce.rows.size(), 2U);
  EXPECT_EQ(all_reduce.rows[0].bytes, Bytes{8});  // by size, whatever order they were measured in
  EXPECT_EQ(all_reduce.rows[0].iterations, 100);
  EXPECT_DOUBLE_EQ(all_reduce.rows[1].out_of_place->time_us, 15);
  EXPECT_DOUBLE_EQ(all_reduce.rows[1].host_us, 9.5);
  EXPECT_EQ(all_reduce.rows[0].host_us, 0);  // not known
}

// 1980 MHz over the 1584 that the record states; 1 where the file says neither.
TEST(PointLogTest, ReadsTheClockThatAPointWasTakenAt) {
  std::string text = kRecords;
  text.insert(text.find(R"("pci": "0000:00:06.0")"), R"("max_sm_mhz": 1980, )");
  text.insert(text.find(R"("id": "o")"), R"("clock": {"sm_mhz": 1584}, )");
  text.insert(text.find(R"("id": "x")"), R"("clock": {"sm_mhz": 1980}, )");
  const PointLog log = read_text(weft_measure_format, text);
  EXPECT_DOUBLE_EQ(log.points[5].slowdown, 1.25);
  EXPECT_DOUBLE_EQ(log.points[0].slowdown, 1);
  EXPECT_DOUBLE_EQ(log.collectives.front().rows[1].slowdown, 1);
  EXPECT_DOUBLE_EQ(read_text(weft_measure_format, kRecords).points[5].slowdown, 1);
}

TEST(PointLogTest, LeavesOutWhatGaveWrongDataAndSaysSo) {
  const PointLog log = read_text(weft_measure_format, kRecords);
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_EQ(log.warnings[0].message, "all_gather of 8 B gave wrong data when it was measured: left out");
  EXPECT_EQ(log.warnings[0].where.line, 9);
}

TEST(PointLogTest, ReadsAFileCutAtAnyByteUpToItsLastWholeRecord) {
  const auto records_before = [](std::size_t cut) {
    return std::count(kRecords.begin(), kRecords.begin() + static_cast<std::ptrdiff_t>(cut), '\n');
  };
  // A hundred places spread over the file by a stride that meets no structure, and both sides of a line's end.
  std::vector<std::size_t> cuts{kRecords.find('\n'), kRecords.find('\n') + 1, kRecords.find('\n') + 2};
  for (std::size_t i = 0; i < 100; ++i) cuts.push_back(20 + (i * 7919) % (kRecords.size() - 21));
  for (const std::size_t cut : cuts) {
    const PointLog log = read_text(weft_measure_format, kRecords.substr(0, cut));
    const PointLog whole = read_text(weft_measure_format, kRecords.substr(0, kRecords.rfind('\n', cut - 1) + 1));
    EXPECT_EQ(log.points.size(), whole.points.size()) << cut;
    EXPECT_EQ(log.digest, whole.digest) << cut;
    EXPECT_LE(static_cast<std::ptrdiff_t>(log.points.size()), std::max<std::ptrdiff_t>(records_before(cut) - 1, 0)) << cut;
    if (kRecords[cut - 1] != '\n') {
      ASSERT_FALSE(log.warnings.empty()) << cut;
      EXPECT_NE(log.warnings.back().message.find("the file ends within"), std::string::npos) << cut;
    }
  }
}

TEST(PointLogTest, SaysThatARunDidNotEnd) {
  const std::string without_end = kRecords.substr(0, kRecords.rfind("{\"kind\": \"end\""));
  EXPECT_EQ(read_text(weft_measure_format, without_end).warnings.back().message,
            "the run did not end: what it had measured is read");
}

TEST(PointLogTest, TakesTheLastOfAPointMeasuredTwice) {
  const std::string again = R"({"kind": "gemm", "id": "g", "m": 128, "n": 256, "k": 512, "median_us": 8})";
  const PointLog log = read_text(weft_measure_format, kRecords + again + "\n");
  EXPECT_EQ(log.points.size(), 6U);
  EXPECT_DOUBLE_EQ(log.points[1].median_us, 8);
}

TEST(PointLogTest, TellsCommunicatorsOfTheSameSettingsApart) {
  const std::size_t at = kRecords.find(R"({"kind": "collective", "sequence": 7)");
  std::string another = kRecords.substr(at, kRecords.find('\n', at) + 1 - at);
  another.replace(another.find(R"("id": "y")"), 9, R"("id": "y communicator=2", "communicator": 2)");
  const PointLog log = read_text(weft_measure_format, kRecords + another);
  ASSERT_EQ(log.collectives.size(), 1U);
  std::vector<int> communicators;
  for (const NcclTestsRow& row : log.collectives.front().rows) {
    if (row.bytes == Bytes{8}) communicators.push_back(row.communicator);
  }
  EXPECT_EQ(communicators, (std::vector<int>{1, 2}));
}

TEST(PointLogTest, RefusesAnotherVersionAndABrokenRecordWithItsLine) {
  const auto message_of = [](const std::string& text) -> std::string {
    try {
      read_text(weft_measure_format, text);
    } catch (const ConfigError& error) {
      return std::to_string(error.diagnostics().front().where.line) + ": " + error.diagnostics().front().message;
    }
    return "accepted";
  };
  EXPECT_EQ(message_of("{\"weft_measurements\": 2}\n"), "1: weft_measurements: this reads version 1, got 2");
  EXPECT_EQ(message_of("{\"weft_measurements\": 1}\n{\"kind\": \"gemm\", \"median_us\": \"fast\"}\n"),
            "2: median_us: expected a number, got \"fast\"");
  EXPECT_EQ(message_of("{\"weft_measurements\": 1}\n{\"kind\": \"gemm\"}\n"), "2: median_us: expected a time above 0");
  EXPECT_EQ(message_of("{\"weft_measurements\": 1}\nnonsense\n"), "2: expected a JSON object");
}

std::string refusal_of(const MeasurementFormat& format, const std::string& text) {
  try {
    static_cast<void>(read_text(format, text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// The record with another number in place of one of its own.
TEST(PointLogTest, RefusesNumbersThatNothingCanHaveInPlaceOfTakingTheNearest) {
  const auto with = [](const std::string& known, const std::string& other) {
    std::string text = kRecords;
    return text.replace(text.find(known), known.size(), other);
  };
  EXPECT_EQ(refusal_of(weft_measure_format, with("\"inner\": 20", "\"inner\": 100000")), "");
  EXPECT_NE(refusal_of(weft_measure_format, with("\"inner\": 20", "\"inner\": 100001"))
                .find("inner: expected 1 to 100000, got 100001"),
            std::string::npos);
  EXPECT_NE(refusal_of(weft_measure_format, with("\"inner\": 20", "\"inner\": 0")).find("inner: expected 1 to 100000, got 0"),
            std::string::npos);
  EXPECT_NE(refusal_of(weft_measure_format, with("\"calls\": 4", "\"calls\": -4"))
                .find("parts[0]: calls: expected 1 to 100000, got -4"),
            std::string::npos);
  EXPECT_NE(
      refusal_of(weft_measure_format, with("\"ranks\": 2", "\"ranks\": 4294967298")).find("ranks: expected 0 to 10000000, got"),
      std::string::npos);
  EXPECT_NE(refusal_of(weft_measure_format, with("\"bytes\": 6291456", "\"bytes\": -1"))
                .find("bytes: expected a number of bytes, got -1"),
            std::string::npos);
  const auto overlap = [](const std::string& numbers) {
    return R"([{"what": "gemm 8192 alone", "us": [[9], [9]], )" + numbers + "}]";
  };
  EXPECT_EQ(refusal_of(torch_overlap_format, overlap("\"n\": 100000")), "");
  EXPECT_NE(refusal_of(torch_overlap_format, overlap("\"n\": 100001")).find("[0]: n: expected 1 to 100000, got 100001"),
            std::string::npos);
  EXPECT_NE(refusal_of(torch_overlap_format, overlap("\"calls\": 0")).find("[0]: calls: expected 1 to 100000, got 0"),
            std::string::npos);
  EXPECT_NE(refusal_of(torch_overlap_format, overlap("\"mib\": -1")).find("[0]: mib: expected 0 to 1048576, got -1"),
            std::string::npos);
}

TEST(PointLogTest, ReadsMicrobenchmarksByPyTorch) {
  const PointLog log = read(kData + "h200x4/micro.json");
  const auto count = [&](const char* kind) { return std::ranges::count(log.points, kind, &MeasuredPoint::kind); };
  EXPECT_EQ(count("gemm"), 47);
  EXPECT_TRUE(std::ranges::all_of(log.points, [](const MeasuredPoint& p) { return p.kind != "gemm" || p.sustained; }))
      << "in loops, at the clock that power leaves";
  EXPECT_EQ(count("memory"), 26);
  EXPECT_EQ(count("attention"), 8);  // four shapes, forward, and with backward
  EXPECT_EQ(count("copy"), 20 + 20 + 7);
  const auto add = std::ranges::find_if(log.points, [](const MeasuredPoint& p) { return p.what == "add"; });
  EXPECT_EQ(add->bytes, Bytes{3 * 256 * 1024});  // 0.25 MiB twice read and once written
}

// Runs that were cut short, or of which only some benchmarks were taken.
TEST(PointLogTest, MicrobenchmarksOfPytorchAreKnownWhicheverOfTheirBlocksComesFirst) {
  std::ifstream file{kData + "h200x4/micro.json"};
  nlohmann::ordered_json rest = nlohmann::ordered_json::parse(file);
  for (const char* told : {"gpu", "n", "torch", "nccl"}) rest.erase(told);
  const weft::test::TempFolder folder;
  for (const char* first : {"launch", "memory", "attention", "host", "p2p"}) {
    rest.erase(first);
    const std::string path = folder.write("rest.json", rest.dump()).string();
    ASSERT_EQ(format_of(path), &torch_micro_format) << "without " << first;
    const PointLog log = read(path);
    EXPECT_EQ(std::ranges::count(log.points, "launch", &MeasuredPoint::kind), 0);
    EXPECT_EQ(std::ranges::count(log.points, "gemm", &MeasuredPoint::kind), 47);
  }
}

TEST(PointLogTest, ReadsWhatRanTogetherFromItsWords) {
  const PointLog log = read(kData + "h200x4/overlap.json");
  const auto beside = std::ranges::find_if(log.points, [](const MeasuredPoint& p) { return p.what == "collective_with_gemm"; });
  ASSERT_NE(beside, log.points.end());
  ASSERT_EQ(beside->parts.size(), 2U);
  EXPECT_EQ(beside->ranks, 4);
  EXPECT_EQ(beside->parts[0].bytes, Bytes{16 << 20});
  EXPECT_EQ(beside->parts[0].calls, 32);
  EXPECT_DOUBLE_EQ(beside->parts[0].median_us, 21439.26);  // of the slowest rank
  EXPECT_EQ(beside->parts[1].calls, 12);
  EXPECT_TRUE(std::ranges::none_of(log.points, [](const MeasuredPoint& p) { return p.parts.empty(); }));
}

TEST(PointLogTest, ReadsBandwidthMatricesAsTextAndAsJson) {
  const PointLog text = read(kData + "other_formats/nvbandwidth.txt");
  ASSERT_EQ(text.points.size(), 2U + 2U + 2U);  // latencies in ns are no bandwidths
  EXPECT_EQ(text.points[0].pattern, "h2d");
  EXPECT_EQ(text.points[1].transfers, (std::vector<std::pair<int, int>>{{kHostMemory, 1}}));
  EXPECT_EQ(text.points[2].transfers, (std::vector<std::pair<int, int>>{{1, 0}}));  // row 0 reads from column 1
  EXPECT_DOUBLE_EQ(text.points[2].median_us, 536'870'912 / 392.10 / 1e3);
  EXPECT_TRUE(text.points[4].transfers.empty());  // measured with others running
  const PointLog json = read(kData + "other_formats/nvbandwidth.json");
  ASSERT_EQ(json.points.size(), 4U);
  EXPECT_EQ(json.points[2].transfers, (std::vector<std::pair<int, int>>{{0, 1}}));
  EXPECT_EQ(json.points[2].what, "sm");
  EXPECT_EQ(json.skipped, std::vector<std::string>{"multinode_bisect_write_ce: Waived"});
}

TEST(PointLogTest, ReadsBandwidthAndLatencyOfNics) {
  const PointLog bandwidth = read(kData + "other_formats/ib_write_bw.txt");
  ASSERT_EQ(bandwidth.points.size(), 2U);
  EXPECT_EQ(bandwidth.points[0].what, "RDMA_Write bandwidth");
  EXPECT_DOUBLE_EQ(bandwidth.points[1].median_us, 8'388'608 / (394.00 / 8) / 1e3);  // the average, in Gb/s
  const PointLog latency = read(kData + "other_formats/ib_write_lat.txt");
  ASSERT_EQ(latency.points.size(), 2U);
  EXPECT_DOUBLE_EQ(latency.points[1].median_us, 3.02);  // the typical one
}

}  // namespace
}  // namespace weft::measured
