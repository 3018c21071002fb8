#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  std::istringstream words{hex};
  for (std::string word; words >> word;) bytes += static_cast<char>(std::stoi(word, nullptr, 16));
  return bytes;
}

// The sample of models/workloads §5.1 and known answer 38: 3 messages of 7, 28 and 74 bytes.
constexpr const char* kMetadata = "07 0a 05 30 2e 30 2e 34 ";
constexpr const char* kComp = "1c 08 00 12 03 66 77 64 18 04 38 96 01 52 0e 0a 09 69 73 5f 63 70 75 5f 6f 70 d8 01 00 ";
constexpr const char* kAllReduce =
    "4a 08 01 12 02 61 72 18 07 2a 01 00 52 0e 0a 09 69 73 5f 63 70 75 5f 6f 70 d8 01 00 "
    "52 0d 0a 09 63 6f 6d 6d 5f 74 79 70 65 48 00 "
    "52 0f 0a 09 63 6f 6d 6d 5f 73 69 7a 65 48 80 80 40 "
    "52 0d 0a 07 70 67 5f 6e 61 6d 65 ea 01 01 30";
std::string sample() { return from_hex(std::string{kMetadata} + kComp + kAllReduce); }

std::vector<std::filesystem::path> two_ranks(const std::string& content, const std::string& extension = ".et") {
  return {write_trace("t.0" + extension, content), write_trace("t.1" + extension, content)};
}
Trace read_chakra(const std::vector<std::filesystem::path>& files) { return trace_builtin::chakra.read(files, {}); }

std::string graph(const std::string& nodes) { return "{\"workload_graph\": [" + nodes + "]}"; }

TEST(ChakraTest, KnownAnswer38ReadsTheSample) {
  ASSERT_EQ(sample().size(), 112U);
  const Trace trace = read_chakra(two_ranks(sample()));
  const RankProgram& program = trace.program.program_of(1);
  ASSERT_EQ(program.operations.size(), 2U);
  EXPECT_EQ(program.operations[0].duration, 150_us);
  EXPECT_EQ(program.operations[1].kind, OpKind::kCollective);
  EXPECT_EQ(program.operations[1].collective, coll::Collective::kAllReduce);
  EXPECT_EQ(program.operations[1].bytes, 1_MiB);
  const TraceRun run{trace.program};
  EXPECT_EQ(run.of(0, 1).start, Time{} + 150_us);
}

TEST(ChakraTest, IsRecognised) {
  EXPECT_TRUE(trace_builtin::chakra.recognises("a.et", sample()));
  EXPECT_TRUE(trace_builtin::chakra.recognises("a.json", graph("")));
  EXPECT_TRUE(trace_builtin::chakra.recognises("groups.json", "{\"1\": [0, 1]}"));
  EXPECT_FALSE(trace_builtin::chakra.recognises("a.goal", "num_ranks 2\n"));
  EXPECT_FALSE(trace_builtin::chakra.recognises("a.json", "{\"traceEvents\": []}"));
  // '[' is a length of 91 to protobuf, and a line's end the tag of a field.
  EXPECT_FALSE(
      trace_builtin::chakra.recognises("details.json", "[\n    {\"file\": \"rank0.json.gz\", \"batch_size\": 32}\n]\n"));
}

TEST(ChakraTest, SkipsUnknownFieldsAndTakesUnpackedLists) {
  // COMP node 0, 5 us; node 1 depends on it by an unpacked list (field 5 varint) and has unknown fields 99 (bytes) and 98
  // (fixed64).
  const std::string content =
      from_hex("02 0a 00 06 08 00 18 04 38 05 17 08 01 18 04 38 07 28 00 9a 06 02 aa bb 91 06 01 02 03 04 05 06 07 08");
  const TraceRun run{read_chakra({write_trace("t.0.et", content)}).program};
  EXPECT_EQ(run.of(0, 1).start, Time{} + 5_us);
  EXPECT_EQ(run.end(), Time{} + 12_us);
}

TEST(ChakraTest, DependenciesMayPointForward) {
  const TraceRun run{
      read_chakra({write_trace("t.0.json", graph(R"({"Id": 0, "Name": "late", "NodeType": 4, "runtime": 3, "data_deps": [1]},
      {"Id": 1, "Name": "early", "NodeType": 4, "runtime": 4.5, "data_deps": []})"))})
          .program};
  EXPECT_EQ(run.program().program_of(0).names[run.program().program_of(0).operations[0].name], "early");
  EXPECT_EQ(run.of(0, 1).start, Time{} + 4'500_ns);
}

TEST(ChakraTest, MessagesAndGroupsMeet) {
  const auto node = [](int rank) {
    const std::string way = rank == 0 ? R"("NodeType": 5, "comm_dst": 1)" : R"("NodeType": 6, "comm_src": 0)";
    return graph(
        R"({"Id": 3, "Name": "p2p", "comm_size": 1250000, "comm_tag": 5, )" + way +
        R"(}, {"Id": 9, "Name": "ag", "NodeType": 7, "comm_type": 2, "comm_size": 4096, "pg_name": "7", "data_deps": [3]})");
  };
  const std::vector<std::filesystem::path> files = {write_trace("t.0.json", node(0)), write_trace("t.1.json", node(1)),
                                                    write_trace("comm_groups.json", R"({"7": [1, 0]})")};
  const Trace trace = read_chakra(files);
  EXPECT_EQ(trace.program.groups.at(0).ranks, (std::vector<Rank>{1, 0}));
  const TraceRun run{trace.program};
  EXPECT_EQ(run.of(0, 0).end, run.of(1, 0).end);
  EXPECT_EQ(run.of(1, 1).start, run.of(1, 0).end);
  EXPECT_EQ(first_error(trace_builtin::chakra, {files[0], files[1]}), "t.0.json: node 9 ('ag'): process group '7' is not said");
}

// Every rank sends before it receives: as in ASTRA-sim, where no send waits for its receive, whatever its size.
TEST(ChakraTest, SendsOfARingDoNotWaitForReceives) {
  constexpr int kRanks = 4;
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string next = std::to_string((rank + 1) % kRanks);
    const std::string before = std::to_string((rank + kRanks - 1) % kRanks);
    files.push_back(write_trace("ring." + std::to_string(rank) + ".json",
                                graph(R"({"Id": 0, "Name": "send", "NodeType": 5, "comm_size": 131072, "comm_dst": )" + next +
                                      R"(}, {"Id": 1, "Name": "recv", "NodeType": 6, "comm_size": 131072, "comm_src": )" +
                                      before + R"(, "data_deps": [0]})")));
  }
  const Trace trace = read_chakra(files);
  const TraceRun run{trace.program};
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_GT(run.of(rank, 1).end, Time{}) << rank;
  ASSERT_EQ(trace.findings.size(), 1U);
  EXPECT_EQ(trace.findings[0].message,
            "rank 0, node 0 ('send'): 1 send goes on before it is received, since ranks would else wait for each other");
}

TEST(ChakraTest, CallsOfGroupsOfOneRankAreCounted) {
  const std::string alone = R"({"Id": 0, "Name": "ar", "NodeType": 7, "comm_type": 0, "comm_size": 4096, "pg_name": "5"},
      {"Id": 1, "Name": "after", "NodeType": 4, "runtime": 3, "data_deps": [0]})";
  const Trace trace = read_chakra({write_trace("t.0.json", graph(alone)), write_trace("groups.json", R"({"5": [0]})")});
  EXPECT_EQ(TraceRun{trace.program}.end(), Time{} + 3_us) << "the call moves nothing";
  ASSERT_EQ(trace.findings.size(), 1U);
  EXPECT_EQ(trace.findings[0].message, "1 calls of collectives in groups of one rank move nothing and are left out");
}

// Older converters mark the operator that launches a collective as one, without its kind; it is work of the CPU.
TEST(ChakraTest, AnOperatorThatLaunchesACollectiveIsWorkOfTheCpu) {
  const Trace trace = read_chakra({write_trace(
      "t.0.json", graph(R"j({"Id": 0, "Name": "c10d::broadcast_(0)", "NodeType": 7, "runtime": 85, "is_cpu_op": true})j"))});
  EXPECT_EQ(trace.program.program_of(0).operations.at(0).category, Category::kHost);
  EXPECT_EQ(trace.program.program_of(0).operations.at(0).duration, 85_us);
  EXPECT_EQ(first_error(trace_builtin::chakra,
                        {write_trace("t.0.json", graph(R"({"Id": 0, "Name": "nccl", "NodeType": 7, "runtime": 85})"))}),
            "t.0.json: node 0 ('nccl'): a collective without the attribute 'comm_type': before schema 1.0.2-chakra.0.0.4 files "
            "say neither its kind nor its size; convert the trace again");
}

TEST(ChakraTest, OtherFilesInAFolderArePassedOver) {
  const weft::test::TempFolder folder;
  const std::string node = graph(R"({"Id": 0, "Name": "a", "NodeType": 4, "runtime": 3})");
  for (const auto& [name, text] : {std::pair{"t.0.json", node.c_str()}, std::pair{"algorithm.xml", "<algo/>"}}) {
    static_cast<void>(folder.write(name, text));
  }
  const Trace trace = read_trace(std::vector{folder.path()}, {});
  EXPECT_EQ(trace.program.ranks.size(), 1U);
  ASSERT_EQ(trace.findings.size(), 1U);
  EXPECT_EQ(trace.findings[0].message, "files that are no traces are passed over: 'algorithm.xml'");
}

TEST(ChakraTest, OldExecutionTracesAndOtherToolsFilesAreNamed) {
  const auto refusal = [](const std::string& name, const std::string& text) {
    try {
      static_cast<void>(read_trace(std::vector{write_trace(name, text)}, {}));
    } catch (const ConfigError& error) {
      return error.diagnostics().front().message;
    }
    return std::string{"accepted"};
  };
  EXPECT_EQ(refusal("et.json", R"({"schema": "1.0.1", "pid": 1, "nodes": [{"name": "aten::mm", "id": 2}]})"),
            "PyTorch's execution trace of schema 1.0.1, which is not read");
  EXPECT_EQ(refusal("w.csv", "comm_type,comm_group,msg_size\nCommType.all_reduce,CommGroup.dp_group,4096\n"),
            "a workload of AICB for its own runner, which is no trace");
  EXPECT_EQ(refusal("x.txt", "hello\n"), "not a trace or workload file of any known format");
  EXPECT_EQ(refusal("step.nsys-rep", "\x01\x02"), "a report of Nsight Systems, which only its own program reads");
  EXPECT_EQ(refusal("x.sqlite", ""), "an empty file");
}

TEST(ChakraTest, NamesCircles) {
  const auto files =
      std::vector{write_trace("t.0.json", graph(R"({"Id": 4, "Name": "a", "NodeType": 4, "runtime": 1, "data_deps": [6]},
      {"Id": 6, "Name": "b", "NodeType": 4, "runtime": 1, "ctrl_deps": [4]})"))};
  EXPECT_EQ(
      first_error(trace_builtin::chakra, files),
      "t.0.json: rank 0, node 4 ('a'): waits for itself: node 4 ('a') of rank 0, which waits for node 6 ('b') of rank 0, which "
      "waits for the first of them");
}

TEST(ChakraTest, NamesWhatIsWrongAndWhere) {
  const auto protobuf = [](const std::string& content) {
    return first_error(trace_builtin::chakra, {write_trace("t.0.et", content)});
  };
  EXPECT_EQ(protobuf(""), "t.0.et: no GlobalMetadata: the file is empty");
  EXPECT_EQ(protobuf(sample().substr(0, 60)), "t.0.et: byte 37: a message of 74 bytes, but the file ends after 22");
  EXPECT_EQ(protobuf(from_hex("02 0a 00 ff ff ff ff 0f")),
            "t.0.et: byte 3: a message of 4294967295 bytes; at most 16777216 are read");
  EXPECT_EQ(protobuf(from_hex("02 0a 00 02 08 80")), "t.0.et: message at byte 3: a number is cut or too long");
  EXPECT_EQ(protobuf(from_hex("02 0a 00 02 18 09")), "t.0.et: message at byte 3: there is no node type 9");
  EXPECT_EQ(protobuf(from_hex("02 0a 00 02 0a 00")), "t.0.et: message at byte 3: field 'id' is of the wrong wire type");
  const auto json = [](const std::string& nodes) {
    return first_error(trace_builtin::chakra, {write_trace("t.0.json", graph(nodes))});
  };
  EXPECT_EQ(json(R"({"Name": "a"})"), "t.0.json: node 0 of the list has no 'Id'");
  EXPECT_EQ(json(R"({"Id": -1})"), "t.0.json: node 0 of the list: 'Id': expected a number that is not negative");
  EXPECT_EQ(json(R"({"Id": 1, "NodeType": "COMP", "runtime": "x"})"),
            "t.0.json: node 0 of the list: 'NodeType': expected a number");
  EXPECT_EQ(json(R"({"Id": 1, "NodeType": 4, "data_deps": [7]})"),
            "t.0.json: node 1 ('') depends on node 7, which is not in the file");
  EXPECT_EQ(json(R"({"Id": 1, "NodeType": 7, "comm_type": 10})"),
            "t.0.json: node 1 (''): there is no comm_type 10; types go from 0 (all-reduce) to 9 (barrier)");
  EXPECT_EQ(json(R"({"Id": 1}, {"Id": 1})"), "t.0.json: node 1 (''): another node of this file has the same id");
  EXPECT_EQ(first_error(trace_builtin::chakra, {write_trace("t.1.et", sample())}),
            "t.1.et: is of rank 1, but there is no file of rank 0");
}

}  // namespace
}  // namespace weft::work::test
