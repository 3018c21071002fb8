// Files that are not of one step of one job are not read together, unless that is asked for.
#include "sim/workloads/trace/kineto/same_job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/workloads/trace/trace_support.h"

namespace weft::work {
namespace {

using ::testing::HasSubstr;

// A Kineto file of one rank: what stands at its head, and calls of NCCL at times in microseconds.
struct MadeFile {
  std::string head = {};
  std::string events = {};

  MadeFile& call(const std::string& kind, double at, std::int64_t elements, int sequence = -1,
                 const std::string& group = R"("0","Process Group Ranks":"[0, 1]","Group size":2)") {
    const int correlation = ++calls_;
    add(fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":1,"args":{{)"
                    R"("correlation":{}}}}})",
                    at - 5, correlation));
    add(fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_{}","pid":0,"tid":20,"ts":{},"dur":10,"args":{{"stream":20,)"
        R"("correlation":{},"Collective name":"{}","dtype":"BFloat16","In msg nelems":{},"Out msg nelems":{}{},)"
        R"("Process Group Name":{}}}}})",
        kind, at, correlation, kind, elements, elements, sequence < 0 ? "" : fmt::format(R"(,"Seq":{})", sequence), group));
    return *this;
  }
  MadeFile& step(int number, double at) {
    add(fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":100}})",
                    number, at));
    return *this;
  }
  [[nodiscard]] std::filesystem::path write(const std::string& name) const {
    return test::write_trace(name, fmt::format(R"({{"schemaVersion":1,{}"traceEvents":[{}]}})", head, events));
  }

 private:
  void add(const std::string& event) { events += (events.empty() ? "" : ",\n") + event; }
  int calls_ = 0;
};

MadeFile of_rank(int rank, int world = 2, const std::string& groups = "", std::int64_t base = 0) {
  MadeFile file;
  file.head = fmt::format(R"("baseTimeNanoseconds":{},"distributedInfo":{{"rank":{},"world_size":{}{}}},)", base, rank, world,
                          groups.empty() ? "" : fmt::format(R"(,"pg_config":[{}])", groups));
  return file;
}

// The refusal; empty where the files are taken for those of one job.
std::string refused(const MadeFile& first, const MadeFile& second) {
  const std::vector files{first.write("first.json"), second.write("second.json")};
  const auto about_jobs = [](const std::string& text) { return text.find("of different jobs") != std::string::npos; };
  const std::string error = test::first_error(trace_builtin::kineto, files);
  // With the option the same files are read as far as they go, and the difference is told.
  try {
    const Trace mixed = trace_builtin::kineto.read(files, {.mix_jobs = true});
    const auto tells = [&](const Diagnostic& finding) { return about_jobs(finding.message); };
    EXPECT_EQ(std::ranges::any_of(mixed.findings, tells), about_jobs(error));
  } catch (const ConfigError& other) {
    EXPECT_FALSE(about_jobs(other.what())) << other.what();
  }
  if (!about_jobs(error)) return "";
  EXPECT_THAT(error, HasSubstr("first.json"));
  EXPECT_THAT(error, ::testing::StartsWith("second.json: "));
  return error;
}

TEST(SameJobTest, RanksOfOneJobAreTakenTogether) {
  EXPECT_EQ(refused(of_rank(0).call("allreduce", 10, 512).call("allreduce", 40, 512),
                    of_rank(1).call("allreduce", 10, 512).call("allreduce", 40, 512)),
            "");
}

TEST(SameJobTest, WorldsOfOtherSizesAreOtherJobs) {
  EXPECT_THAT(refused(of_rank(0, 2).call("allreduce", 10, 512), of_rank(1, 4).call("allreduce", 10, 512)),
              HasSubstr("is of a job of 4 ranks, and '"));
}

TEST(SameJobTest, ARankBeyondTheWorldIsOfAnotherJob) {
  MadeFile alone = of_rank(5);
  alone.head = R"("distributedInfo":{"rank":5},)";
  EXPECT_THAT(refused(of_rank(0, 2).call("allreduce", 10, 512), alone.call("allreduce", 10, 512)),
              HasSubstr("is of rank 5, and '"));
}

TEST(SameJobTest, AGroupHasTheSameMembersForAllOfThem) {
  const auto group = [](const char* ranks, const char* description = "dp") {
    return fmt::format(R"({{"pg_name":"3","pg_desc":"{}","ranks":{}}})", description, ranks);
  };
  const auto with = [&](int rank, const std::string& groups) { return of_rank(rank, 4, groups).call("allreduce", 10, 512); };
  EXPECT_THAT(refused(with(0, group("[0, 1]")), with(1, group("[0, 1, 2, 3]"))),
              HasSubstr("says that group '3' has the ranks [0, 1, 2, 3], and '"));
  EXPECT_THAT(refused(with(0, group("[0, 1]")), with(1, group("[0, 1]", "tp"))),
              HasSubstr("says that group '3' is 'tp', and '"));
  EXPECT_EQ(refused(with(0, group("[0, 1]")), with(1, group("[0, 1]"))), "");
  // Groups that were split off of one have one name, and no rank in common.
  EXPECT_EQ(refused(with(0, group("[0, 2]")), with(1, group("[1, 3]"))), "");
}

TEST(SameJobTest, MarkedIterationsHaveOneInCommon) {
  const auto steps = [](int rank, int first) {
    return of_rank(rank).step(first, 0).step(first + 1, 100).call("allreduce", 10, 512).call("allreduce", 110, 512);
  };
  EXPECT_THAT(refused(steps(0, 3), steps(1, 7)), HasSubstr("holds ProfilerStep#7 to 8, and '"));
  EXPECT_EQ(refused(steps(0, 3), steps(1, 4)), "");
}

// Same world, same group: only the calls tell.
TEST(SameJobTest, CallsOfAGroupAreTheSameOnItsRanks) {
  const MadeFile first = of_rank(0).call("allreduce", 10, 512).call("allreduce", 40, 1024).call("allreduce", 70, 512);
  EXPECT_THAT(refused(first, of_rank(1).call("allreduce", 10, 512).call("allreduce", 40, 64).call("allgather", 70, 512)),
              HasSubstr("has 2 of 3 calls of group '0' otherwise than '"));
  EXPECT_THAT(refused(of_rank(0).call("allreduce", 10, 512, 8), of_rank(1).call("allreduce", 10, 512, 3)),
              HasSubstr("has no call of group '0' in common with '"));
  // One that differs among three is the trace's fault, and told as before.
  EXPECT_EQ(refused(first, of_rank(1).call("allreduce", 10, 512).call("allreduce", 40, 64).call("allreduce", 70, 512)), "");
}

TEST(SameJobTest, AllToAllsMayHaveAnotherSizeOnEveryRank) {
  EXPECT_EQ(refused(of_rank(0).call("all_to_allv", 10, 512).call("all_to_allv", 40, 640),
                    of_rank(1).call("all_to_allv", 10, 640).call("all_to_allv", 40, 512)),
            "");
}

// NTP keeps two hosts' clocks within 256 ms; times that count from a host's start say nothing.
TEST(SameJobTest, ClocksOfOneJobAgree) {
  constexpr std::int64_t kIn2026 = 1'767'225'600'000'000'000;
  const auto at = [](int rank, double us, std::int64_t base) { return of_rank(rank, 2, "", base).call("allreduce", us, 512); };
  EXPECT_THAT(refused(at(0, 10, kIn2026), at(1, 10 + 260'000, kIn2026)), HasSubstr("was recorded 0.260 s from '"));
  EXPECT_THAT(refused(at(0, 10, kIn2026), at(1, 10, kIn2026 + 70'000'000'000)), HasSubstr("was recorded 70.000 s from '"));
  EXPECT_EQ(refused(at(0, 10, kIn2026), at(1, 10 + 250'000, kIn2026)), "");
  EXPECT_EQ(refused(at(0, 10, 0), at(1, 10 + 260'000, 0)), "");
}

TEST(SameJobTest, FilesThatShareNothingAreOfNoOneJob) {
  const auto alone = [](double at) {
    MadeFile file;
    return file.call("allreduce", at, 512, -1, R"("9","Process Group Ranks":"[0]","Group size":1)");
  };
  EXPECT_THAT(refused(alone(10), alone(10)), HasSubstr("has no call in common with '"));
}

TEST(SameJobTest, ChakraFilesOfAJobAreNamedAlike) {
  const std::string node = R"({"id":1,"name":"k","type":"COMP_NODE","durationMicros":5})";
  const auto file = [&](const std::string& name) { return test::write_trace(name, "[{\"version\":\"0.0.4\"}," + node + "]"); };
  const std::vector one{file("job.0.json"), file("job.1.json")};
  const std::vector two{file("job.0.json"), file("other.1.json")};
  const std::string fine = test::first_error(trace_builtin::chakra, one);
  EXPECT_THAT(fine, ::testing::Not(HasSubstr("of different jobs")));
  EXPECT_THAT(test::first_error(trace_builtin::chakra, two),
              HasSubstr("other.1.json: is named otherwise than 'job.0.json': these are of different jobs"));
  EXPECT_THAT(test::first_error(trace_builtin::chakra, two, {.mix_jobs = true}),
              ::testing::Not(HasSubstr("of different jobs")));
}

}  // namespace
}  // namespace weft::work
