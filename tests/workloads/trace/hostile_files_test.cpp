// Files that claim what they do not hold, or hold what nobody should believe: each is an error that says where, before time or
// memory goes.
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

// One file that a format refuses, and how.
struct Refused {
  const char* why;
  const TraceFormat* format;
  std::string name;
  std::string content;
  std::string error;  // the first one's place and message, or their beginning
};

std::string kineto(const std::string& events, const std::string& about = R"("rank":0,"world_size":1)") {
  return R"({"schemaVersion":1,"distributedInfo":{)" + about + R"(},"traceEvents":[)" + events + "]}";
}

std::string kernel(const std::string& ts, const std::string& dur) {
  return R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" + ts + R"(,"dur":)" + dur +
         R"(,"args":{"stream":7,"correlation":1}})";
}

std::string layers(const std::string& gpus, const std::string& rows, const std::string& time) {
  return "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: " + gpus +
         " checkpoints: 0 checkpoint_initiates: 0\n" + rows + "\nlayer\t-1\t" + time +
         "\tNONE\t0\t1\tNONE\t0\t1\tNONE\t0\t100\n";
}

void expect_refused(const std::vector<Refused>& files) {
  for (const Refused& file : files) {
    const std::string error = first_error(*file.format, {write_trace(file.name, file.content)});
    EXPECT_TRUE(error.starts_with(file.error)) << file.why << ": " << error << "\n  expected " << file.error;
  }
}

TEST(HostileFilesTest, ClaimedLengthsAreNotBelieved) {
  using namespace trace_builtin;
  expect_refused({
      {"ranks", &goal, "a.goal", "num_ranks 1000000000\nrank 0 {\nl1: calc 1\n}\n",
       "a.goal:1:11: expected a number of ranks from 1 to 1048576, found '1000000000'"},
      {"a rank", &csv, "a.csv", "rank,op,duration_us\n1000000000,compute,1\n",
       "a.csv:2:1: rank: expected a rank from 0 to 1048575, found '1000000000'"},
      {"a group", &csv, "a.csv", "rank,op,bytes,group\n0,all_reduce,4,0-999999999\n",
       "a.csv:2:16: group: expected 'all' or ranks such as '0-7' or '0 2 4', found '0-999999999'"},
      {"rows", &simai, "a.txt", layers("2", "1000000000", "1"),
       "a.txt:3:0: 1000000000 rows are announced, but the file ends after 1"},
      {"GPUs", &simai, "a.txt", layers("1000000000", "1", "1"), "a.txt:1:1: all_gpus: expected 1 to 1048576, found 1000000000"},
      {"ranks", &astra_text, "a.txt", "DATA ranks: 1000000000\n1\n", "a.txt:1:13: ranks: expected 1 to 1048576"},
      {"a world", &trace_builtin::kineto, "a.json", kineto(kernel("1", "1"), R"("rank":0,"world_size":1000000000)"),
       "a.json: byte 70: world_size is 1000000000; at most 1048576 ranks are read"},
      {"nesting", &trace_builtin::kineto, "a.json", R"({"traceEvents":[{"ph":"X","args":)" + std::string(200'000, '['),
       "a.json: "},
      {"a message", &chakra, "t.0.et", std::string{"\x02\x0a\x00\xff\xff\xff\xff\x0f", 8},
       "t.0.et: byte 3: a message of 4294967295 bytes; at most 16777216 are read"},
  });
}

TEST(HostileFilesTest, TimesThatAreNoneAreNamed) {
  using namespace trace_builtin;
  expect_refused({
      {"NaN", &trace_builtin::kineto, "a.json", kineto(kernel("NaN", "1")), "a.json: byte 138: ts 'NaN' is no time"},
      {"NaN as text", &trace_builtin::kineto, "a.json", kineto(kernel("\"NaN\"", "1")),
       "a.json: byte 140: ts 'NaN' is no time"},
      {"infinite", &trace_builtin::kineto, "a.json", kineto(kernel("1e400", "1")), "a.json: byte 140: ts '1e400' is no time"},
      {"negative", &trace_builtin::kineto, "a.json", kineto(kernel("1", "-5")), "a.json: byte 145: dur is negative"},
      {"endless", &trace_builtin::kineto, "a.json", kineto(kernel("1", "1e12")), "a.json: byte 147: dur is more than 28 hours"},
      {"an endless step", &trace_builtin::kineto, "a.json",
       kineto(kernel("1", "1") + R"(,{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","ts":0,"dur":1e12})"),
       "a.json: byte 257: dur is more than 28 hours"},
      {"years apart", &trace_builtin::kineto, "a.json", kineto(kernel("1", "1") + "," + kernel("1e15", "1")),
       "a.json: its events lie more than 28 hours apart"},
      {"NaN", &goal, "a.goal", "num_ranks 1\nrank 0 {\nl1: calc nan\n}\n", "a.goal:3:10: expected nanoseconds from 0"},
      {"NaN", &csv, "a.csv", "rank,op,duration_us\n0,compute,nan\n", "a.csv:2:11: duration_us: expected a time from 0"},
      {"infinite", &csv, "a.csv", "rank,op,duration_us\n0,compute,inf\n", "a.csv:2:11: duration_us: expected a time from 0"},
      {"NaN", &simai, "a.txt", layers("2", "1", "nan"), "a.txt:3:10: expected nanoseconds from 0"},
      {"NaN", &chakra, "t.0.json", R"({"workload_graph":[{"Id":1,"Name":"a","NodeType":4,"runtime":NaN}]})",
       "t.0.json: byte 62: not JSON"},
      {"too large", &chakra, "t.0.json", R"({"workload_graph":[{"Id":1,"Name":"a","NodeType":4,"runtime":1e999}]})",
       "t.0.json: byte 66: not JSON"},
  });
}

TEST(HostileFilesTest, WrongTypesAndMissingFieldsAreNamed) {
  using namespace trace_builtin;
  const std::string call =
      R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","ts":1,"dur":2,"args":{"In msg nelems":)";
  expect_refused({
      {"text for a time", &trace_builtin::kineto, "a.json", kineto(kernel("\"soon\"", "1")),
       "a.json: byte 141: ts 'soon' is no time"},
      {"an object for a time", &trace_builtin::kineto, "a.json", kineto(kernel("{}", "1")),
       "a.json: byte 135: expected a number or a string, found an object"},
      {"a number for a list", &trace_builtin::kineto, "a.json", R"({"schemaVersion":1,"traceEvents":7})",
       "a.json: byte 33: traceEvents is no list"},
      {"no ts", &trace_builtin::kineto, "a.json", kineto(R"({"ph":"X","cat":"kernel","name":"k","dur":3})"), "a.json: byte "},
      {"no dur", &trace_builtin::kineto, "a.json", kineto(R"({"ph":"X","cat":"kernel","name":"k","ts":3})"), "a.json: byte "},
      {"too many elements", &trace_builtin::kineto, "a.json", kineto(call + "9223372036854775807}}"), "a.json: byte "},
      {"text for bytes", &csv, "a.csv", "rank,op,bytes,peer\n0,send,many,1\n1,recv,4,0\n",
       "a.csv:2:8: bytes: expected a number of bytes from 0 to 1125899906842624, found 'many'"},
      {"bytes beyond 64 bits", &goal, "a.goal", "num_ranks 2\nrank 0 {\nl1: send 99999999999999999999b to 1\n}\nrank 1 {\n}\n",
       "a.goal:3:10: expected a size such as '4096b'"},
      {"no such rank", &goal, "a.goal", "num_ranks 2\nrank 0 {\nl1: send 4b to 999999999\n}\nrank 1 {\n}\n",
       "a.goal:3:16: expected a rank from 0 to 1, found '999999999'"},
  });
}

TEST(HostileFilesTest, CirclesAreNamedWithAllThatTakePart) {
  using namespace trace_builtin;
  expect_refused({
      {"two calcs", &goal, "a.goal", "num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1\n}\n",
       "a.goal:3:0: rank 0, 'calc': waits for itself: line 3 ('calc') of rank 0, which waits for line 4 ('calc') of rank 0"},
      {"two ranks", &csv, "a.csv", "rank,op,bytes,peer\n0,recv,4,1\n0,send,4,1\n1,recv,4,0\n1,send,4,0\n",
       "a.csv:2:0: rank 0, 'recv': waits for itself: line 2 ('recv') of rank 0, which waits for line 5 ('send') of rank 1"},
  });
}

// 4 MiB of what each reader skips, packed into some kilobytes.
std::filesystem::path bomb(const std::string& name, const std::string& begin, char filler) {
  const std::filesystem::path file = trace_folder() / name;
  gzFile out = gzopen(file.c_str(), "wb9");
  const std::string content = begin + std::string(std::size_t{4} << 20, filler);
  EXPECT_EQ(gzwrite(out, content.data(), static_cast<unsigned>(content.size())), static_cast<int>(content.size()));
  gzclose(out);
  return file;
}

TEST(HostileFilesTest, PackedFilesAreReadUpToALimitOnly) {
  using namespace trace_builtin;
  const std::vector<std::pair<const TraceFormat*, std::filesystem::path>> bombs = {
      {&trace_builtin::kineto, bomb("a.json.gz", R"({"schemaVersion":1,"traceEvents":[)", '\n')},
      {&goal, bomb("a.goal.gz", "num_ranks 1\n", '\n')},
      {&csv, bomb("a.csv.gz", "rank,op,duration_us\n", '\n')},
      {&simai, bomb("a.txt.gz", layers("2", "2", "1"), '\n')},
      {&astra_text, bomb("b.txt.gz", "DATA ranks: 2\n1\n", '\n')},
      {&chakra, bomb("t.0.json.gz", R"({"workload_graph":[)", ' ')},
      {&execution_trace, bomb("e.json.gz", R"({"schema":"1.1.1-chakra.0.0.4","nodes":[)", ' ')},
  };
  TraceReadOptions options;
  options.max_bytes = 1'000'000;
  for (const auto& [format, file] : bombs) {
    EXPECT_LT(std::filesystem::file_size(file), 100'000U);
    const std::string error = first_error(*format, {file}, options);
    EXPECT_NE(error.find("unpacks to more than 1000000 bytes"), std::string::npos) << format->name << ": " << error;
    EXPECT_TRUE(error.starts_with(file.filename().string())) << error;
  }
}

}  // namespace
}  // namespace weft::work::test
