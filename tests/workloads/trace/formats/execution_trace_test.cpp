// Execution traces of PyTorch merged with profiles: made by hand in the published format, and one real pair.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/workloads/trace/execution/nodes.h"
#include "sim/workloads/trace/input_stream.h"
#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

using namespace literals;

std::string tensor(int storage, int elements = 1024, int bytes = 2) {
  return fmt::format(R"([{},{},0,{},{},"cuda:0"])", 100 + storage, storage, elements, bytes);
}

// An execution trace node by node; ids ascend, as PyTorch gives them.
class Execution {
 public:
  explicit Execution(int process = 7) : process_{process} {
    raw(R"({"id":2,"name":"[pytorch|profiler|execution_trace|thread]","ctrl_deps":1,"inputs":{"values":[],"shapes":[],"types":[]},)"
        R"("outputs":{"values":[],"shapes":[],"types":[]},"attrs":[{"name":"rf_id","type":"uint64","value":0}]})");
  }
  Execution& op(int function, const std::string& name, const std::string& inputs, const std::string& outputs,
                const std::string& schema = "", const std::string& attributes = "") {
    return raw(
        fmt::format(R"({{"id":{},"name":"{}","ctrl_deps":2,"inputs":{{"values":[{}],"shapes":[],"types":[],"strides":[]}},)"
                    R"("outputs":{{"values":[{}],"shapes":[],"types":[],"strides":[]}},"attrs":[)"
                    R"({{"name":"rf_id","type":"uint64","value":{}}},{{"name":"op_schema","type":"string","value":"{}"}}{}]}})",
                    10 * function, name, inputs, outputs, function, schema, attributes));
  }
  // `rank` is the number within the group, whose ranks are start, start + stride, ...
  Execution& all_reduce(int function, int rank, int elements, const std::string& group, int ranks, int start = 0,
                        int stride = 1) {
    return op(
        function, "record_param_comms",
        fmt::format(R"([{}],[5,false],["{}","dp"],{},"allreduce",[],[],{},{},{})", tensor(11, elements), group, rank, start,
                    stride, ranks),
        fmt::format("[{}]", tensor(11, elements)), "",
        fmt::format(R"(,{{"name":"collective_name","type":"string","value":"allreduce"}},)"
                    R"({{"name":"dtype","type":"string","value":"BFloat16"}},)"
                    R"({{"name":"in_msg_nelems","type":"uint64","value":{}}},)"
                    R"({{"name":"out_msg_nelems","type":"uint64","value":{}}},)"
                    R"({{"name":"pg_name","type":"string","value":"{}"}},{{"name":"pg_size","type":"uint64","value":{}}})",
                    elements, elements, group, ranks));
  }
  Execution& groups(const std::string& list) {
    return raw(
        fmt::format(R"({{"id":3,"name":"## process_group:init ##","ctrl_deps":2,"inputs":{{"values":["{}"],"shapes":[[]],)"
                    R"("types":["String"]}},"outputs":{{"values":[],"shapes":[],"types":[]}},"attrs":[]}})",
                    list));
  }
  Execution& raw(const std::string& node) {
    nodes_ += (nodes_.empty() ? "" : ",\n") + node;
    return *this;
  }
  [[nodiscard]] std::string text(const std::string& schema = "1.1.1-chakra.0.0.4") const {
    return fmt::format(R"({{"schema":"{}","pid":{},"time":"2025-01-01 00:00:00","start_ts":1,"nodes":[{}],"finish_ts":9}})",
                       schema, process_, nodes_);
  }

 private:
  int process_;
  std::string nodes_;
};

// A profile of operators that each launch one kernel and of which nothing else is said; times in microseconds.
class Profiled {
 public:
  Profiled& op(int function, const std::string& name, double launch) {
    add(fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":7,"tid":7,"ts":{},"dur":8,"args":{{"External id":{},"Record function id":{}}}}})",
        name, launch, function + 500, function));
    add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":{},"dur":4,"args":{{"correlation":{}}}}})",
        launch + 1, function));
    return *this;
  }
  Profiled& kernel(int function, double at, double duration, int stream, const std::string& name = "gemm") {
    add(fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"External id":{},"stream":{},"correlation":{}}}}})",
        name, stream, at, duration, function + 500, stream, function));
    return *this;
  }
  [[nodiscard]] std::string text(int rank, int world) const {
    return fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{},"world_size":{}}},"traceEvents":[{}]}})", rank,
                       world, events_);
  }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }
  std::string events_;
};

std::string findings_of(const Trace& trace) {
  std::string text;
  for (const Diagnostic& finding : trace.findings) text += finding.message + "\n";
  return text;
}

TEST(ExecutionTraceTest, CallsAndGroupsComeFromItAndTimesFromTheProfile) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 4; ++rank) {
    const Profiled profile = Profiled{}
                                 .op(4, "aten::mm", 0)
                                 .kernel(4, 10, 40, 7)
                                 .op(6, "record_param_comms", 20)
                                 .kernel(6, 60, 90, 20, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
    files.push_back(write_trace(fmt::format("calls.kineto{}.json", rank), profile.text(rank, 4)));
    const std::string pairs =
        R"([{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"ranks\": []}, )" +
        fmt::format(R"({{\"pg_name\": \"3\", \"pg_desc\": \"mesh_dp\", \"ranks\": [{}, {}]}}])", rank % 2, rank % 2 + 2);
    files.push_back(
        write_trace(fmt::format("calls.et{}.json", rank), Execution{}
                                                              .groups(pairs)
                                                              .op(4, "aten::mm", tensor(5) + "," + tensor(6), tensor(11))
                                                              .all_reduce(6, rank / 2, 1 << 20, "3", 2, rank % 2, 2)
                                                              .text()));
  }
  // Only their order tells which of these files belong together: all have the same process.
  const Trace trace = read_trace(files, {});
  EXPECT_EQ(trace.format, "execution_trace");
  for (const Rank rank : {0, 3}) {
    const std::vector<Operation> calls = calls_of(trace, rank);
    ASSERT_EQ(calls.size(), 1U) << findings_of(trace);
    EXPECT_EQ(calls[0].collective, coll::Collective::kAllReduce);
    EXPECT_EQ(calls[0].bytes, 2_MiB);
    const Group& group = trace.program.groups.at(trace.program.ranks[static_cast<std::size_t>(rank)].groups[calls[0].slot]);
    EXPECT_EQ(group.ranks, (std::vector<Rank>{rank % 2, rank % 2 + 2}));
  }
  EXPECT_NE(findings_of(trace).find("1 calls of communication are described by the execution trace alone"), std::string::npos);
  EXPECT_EQ(trace.recorded_step, 140_us);
}

TEST(ExecutionTraceTest, WhatReadsWaitsForWhatWroteUnlessTheTimesContradict) {
  // Stream 8 reads what stream 7 wrote: by an output, and by an operand that the schema says is written.
  const auto waits_of = [](const std::string& name, double read_begins, bool in_place) {
    Execution execution;
    if (in_place) {
      execution.op(4, "aten::add_", tensor(11) + "," + tensor(12) + ",1", "",
                   "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
    } else {
      execution.op(4, "aten::mul", tensor(5) + "," + tensor(6), tensor(11),
                   "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor");
    }
    const std::string first = in_place ? "aten::add_" : "aten::mul";
    execution.op(6, "aten::copy_", tensor(13) + "," + tensor(11), "",
                 "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)");
    const Profiled profile =
        Profiled{}.op(4, first, 0).kernel(4, 10, 100, 7).op(6, "aten::copy_", 20).kernel(6, read_begins, 10, 8);
    const Trace trace = read_trace(
        std::vector{write_trace(name + ".et.json", execution.text()), write_trace(name + ".json", profile.text(0, 1))}, {});
    const RankProgram& program = trace.program.program_of(0);
    // The first kernels of streams wait for the step's begin too.
    const auto waits =
        std::ranges::count_if(program.waits, [&](OpIndex wait) { return program.operations[wait].kind != OpKind::kMarker; });
    return std::pair{waits, findings_of(trace)};
  };
  // 60 us after the other's end: no reader of times alone would take it for a wait.
  EXPECT_EQ(waits_of("written", 170, false).first, 1);
  EXPECT_EQ(waits_of("in_place", 170, true).first, 1);
  const auto [waits, findings] = waits_of("contradicted", 50, false);
  EXPECT_EQ(waits, 0);
  EXPECT_NE(findings.find("0 waits between streams follow from what execution traces say was written and read; 1 more"),
            std::string::npos)
      << findings;
}

TEST(ExecutionTraceTest, SchemasSayWhichOperandsAreWritten) {
  EXPECT_EQ(execution::written_operands("aten::mm(Tensor self, Tensor mat2) -> Tensor"), 0U);
  EXPECT_EQ(execution::written_operands("aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"), 0b1U);
  EXPECT_EQ(execution::written_operands("x::y(Tensor self, Tensor(b!)[] out, int[2] size=[1, 1], *, Tensor(c!) z) -> ()"),
            0b10'010U);
  EXPECT_EQ(execution::written_operands("no schema!"), 0U);
}

// Operands by their places, where an older schema has no attributes of the call.
TEST(ExecutionTraceTest, OlderCallsAreReadByTheirOperands) {
  const Execution older = Execution{}.op(
      6, "record_param_comms",
      "[" + tensor(11, 1000, 4) + "," + tensor(12, 24, 4) + R"(],5,["0","default_pg"],1,"allreduce",[],[],0,1,2)",
      "[" + tensor(11, 1000, 4) + "," + tensor(12, 24, 4) + "]");
  const execution::Nodes nodes = execution::read_nodes(write_trace("older.json", older.text("1.0.3-chakra.0.0.4")), {});
  EXPECT_EQ(nodes.rank, 1);
  EXPECT_EQ(nodes.process, 7);
  ASSERT_EQ(nodes.comms.size(), 1U);
  EXPECT_EQ(nodes.comms[0].name, "allreduce");
  EXPECT_EQ(nodes.comms[0].group, "0");
  EXPECT_EQ(nodes.comms[0].in_elements, 1024);
  EXPECT_EQ(nodes.comms[0].group_size, 2);
  EXPECT_EQ(nodes.comms[0].dtype, "Float");
}

TEST(ExecutionTraceTest, ErrorsSayWhere) {
  const TraceFormat& format = trace_builtin::execution_trace;
  const std::string profile = Profiled{}.op(4, "aten::mm", 0).kernel(4, 10, 40, 7).text(0, 1);
  const auto beside = [&](const std::string& text) {
    return first_error(format, {write_trace("x.et.json", text), write_trace("x.json", profile)});
  };
  const std::string good = Execution{}.op(4, "aten::mm", tensor(5), tensor(11)).text();
  EXPECT_EQ(beside(good), "");
  EXPECT_EQ(first_error(format, {write_trace("x.et.json", good)}),
            "x.et.json: an execution trace holds no times, and which profile is of the same process is not said");
  EXPECT_EQ(first_error(format, {write_trace("x.et.json", Execution{}.all_reduce(6, 1, 8, "0", 2).text()),
                                 write_trace("x.json", profile)}),
            "x.et.json: an execution trace holds no times, and the profile of rank 1 is not among the files");
  // Two of one process, and one of another step.
  EXPECT_TRUE(
      first_error(format, {write_trace("x.et.json", good), write_trace("y.et.json", good), write_trace("x.json", profile)})
          .starts_with("y.et.json: belongs to '"));
  EXPECT_TRUE(
      beside(Execution{}.op(4, "aten::add", tensor(5), tensor(11)).text()).starts_with("x.et.json: of the 1 operators of '"));
  // In the file itself.
  const auto located = [&](const std::string& node, const std::string& error) {
    const std::string text = Execution{}.raw(node).text();
    const std::string found = beside(text);
    EXPECT_TRUE(found.starts_with("x.et.json: byte ") && found.ends_with(error)) << found << "\n  expected " << error;
  };
  located("7", "an element of nodes is no object");
  located(R"({"name":"a"})", "a node without id");
  located(R"({"id":4})", "node 4 has no name");
  located(R"({"id":NaN,"name":"a"})", "id 'NaN' is no whole number");
  located(R"({"id":1e999,"name":"a"})", "id '1e999' is no whole number");
  located(R"({"id":4,"name":"a","inputs":[1]})", "inputs and outputs are objects with values");
  located(R"({"id":4,"name":"a","inputs":{"values":3}})", "values is no list");
  located(R"({"id":4,"name":"a","attrs":[{"name":"rf_id","value":"x"}]})",
          "node 4: rf_id 'x' is no whole number up to 4611686018427387904");
  located(R"({"id":4,"name":"record_param_comms","attrs":[{"name":"in_msg_nelems","value":9223372036854775807}]})",
          "node 4: in_msg_nelems '9223372036854775807' is no whole number up to 70368744177664");
  located(R"({"id":4,"name":"## process_group:init ##","inputs":{"values":["[{\"pg_name\":\"0\",\"ranks\":[-1]}]"]}})",
          "node 4: group '0': expected ranks from 0 to 1048575");
  located(R"({"id":4,"name":"## process_group:init ##","inputs":{"values":["none"]}})",
          "node 4: its process groups are no list in JSON");
  EXPECT_TRUE(first_error(format, {write_trace("x.et.json", good.substr(0, good.size() - 1) + R"(,"schema":"2.0"})"),
                                   write_trace("x.json", profile)})
                  .ends_with("expected '1.1.1-chakra.0.0.4' or its like"));
  EXPECT_EQ(beside(Execution{}.op(4, "aten::mm", "", "").op(4, "aten::mm", "", "").text()),
            "x.et.json: two nodes have the id 40");
  const std::string cut = good.substr(0, good.size() / 2);
  EXPECT_NE(beside(cut).find("the file ends"), std::string::npos);
}

// A real pair of rank 0: with all that the profile says of its collectives hidden, the execution trace gives the same ones.
TEST(ExecutionTraceTest, ARealOneGivesTheCollectivesThatTheProfileHides) {
  const std::filesystem::path data = std::filesystem::path{WEFT_SOURCE_DIR} / "tests/data";
  const std::filesystem::path profile = data / "traces/ddp_h4096_l8_s2048.kineto.rank0.json.gz";
  const std::filesystem::path nodes = data / "execution_trace/ddp_h4096_l8_s2048.et.rank0.json.gz";
  std::string hidden = read_whole(profile, 1 << 28);
  for (const std::string name : {"Collective name", "Process Group Name", "Process Group Ranks", "pg_config"}) {
    for (std::size_t at = hidden.find(name); at != std::string::npos; at = hidden.find(name, at)) hidden.replace(at, 2, "no");
  }
  const std::filesystem::path bare = write_trace("hidden.rank0.json", hidden);
  const Trace whole = read_trace(std::vector{profile}, {});
  EXPECT_TRUE(calls_of(read_trace(std::vector{bare}, {}), 0).empty());
  const Trace merged = read_trace(std::vector{bare, nodes}, {});
  const std::vector<Operation> expected = calls_of(whole, 0);
  const std::vector<Operation> calls = calls_of(merged, 0);
  ASSERT_EQ(expected.size(), 34U);
  ASSERT_EQ(calls.size(), expected.size()) << findings_of(merged);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].bytes, expected[i].bytes);
    EXPECT_EQ(calls[i].collective, expected[i].collective);
    EXPECT_EQ(merged.program.groups.at(merged.program.ranks[0].groups[calls[i].slot]).ranks, (std::vector<Rank>{0, 1, 2, 3}));
  }
  EXPECT_EQ(merged.recorded_step, whole.recorded_step);
}

}  // namespace
}  // namespace weft::work::test
