// Tests what calls of communication are made of: sizes that differ between ranks, groups, kernels that say nothing of their
// call.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "sim/workloads/trace/trace_format.h"
#include "sim/workloads/trace/trace_summary.h"
#include "tests/workloads/trace/rank_file.h"
#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

using namespace literals;
using coll::Collective;

std::string described(std::string_view name, std::int64_t in, std::int64_t out, std::string_view more = "",
                      std::string_view group = "0", std::string_view type = "BFloat16") {
  return fmt::format(
      R"(,"Collective name":"{}","dtype":"{}","In msg nelems":{},"Out msg nelems":{},"Group size":2,"Process Group Name":"{}",)"
      R"("Process Group Ranks":"[0, 1]"{})",
      name, type, in, out, group, more);
}

RankFile& add_call(RankFile& file, double at, double lasts, int number, const std::string& more,
                   const std::string& kernel = "ncclDevKernel_Generic") {
  return file.launch(at - 10, number).kernel(at, lasts, 20, number, kernel, more);
}

// Rows of 10 elements of 2 B. Rank 0 keeps 100 and sends 300; rank 1 sends 200 and keeps 100: at most 300 rows leave or reach a
// rank, 6,000 B. An even all-to-all of two ranks in which that much leaves each is of 12,000 B.
TEST(KinetoCallsTest, AnUnevenAllToAllMovesWhatItsBusiestRankMoves) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    const std::string splits = rank == 0 ? R"(,"In split size":"[100, 300]","Out split size":"[100, 200]")"
                                         : R"(,"In split size":"[200, 100]","Out split size":"[300, 100]")";
    add_call(file, 20, 50, 1, described("all_to_allv", rank == 0 ? 4000 : 3000, rank == 0 ? 3000 : 4000, splits));
    files.push_back(file.write("Uneven"));
  }
  const Trace trace = read_trace(files, {});
  for (const Rank rank : {0, 1}) {
    ASSERT_EQ(calls_of(trace, rank).size(), 1U);
    EXPECT_EQ(calls_of(trace, rank)[0].collective, Collective::kAllToAll);
    EXPECT_EQ(calls_of(trace, rank)[0].bytes, 12'000_B);
  }
  EXPECT_NE(all_findings(trace).find("1 all-to-alls are uneven"), std::string::npos);
  EXPECT_EQ(all_findings(trace).find("keep their recorded time"), std::string::npos);
}

// torch's scalar types: Float4_e2m1fn_x2 has two numbers in a byte. A type that torch does not have is said.
TEST(KinetoCallsTest, ElementsAreAsLargeAsTheirTypes) {
  const auto of_type = [](std::string_view type) {
    std::vector<std::filesystem::path> files;
    for (const int rank : {0, 1}) {
      RankFile file{rank};
      add_call(file, 20, 50, 1, described("allreduce", 1000, 1000, "", "0", type));
      files.push_back(file.write("Types"));
    }
    return read_trace(files, {});
  };
  for (const auto& [type, bytes] : {std::pair{"Float4_e2m1fn_x2", 1'000_B}, std::pair{"Float8_e8m0fnu", 1'000_B},
                                    std::pair{"Int", 4'000_B}, std::pair{"ComplexFloat", 8'000_B}}) {
    const Trace trace = of_type(type);
    EXPECT_EQ(calls_of(trace, 0).at(0).bytes, bytes) << type;
    EXPECT_EQ(all_findings(trace).find("types that are not known"), std::string::npos) << type;
  }
  EXPECT_NE(all_findings(of_type("bogus")).find("types that are not known, such as bogus: taken as 4 bytes"),
            std::string::npos);
}

TEST(KinetoCallsTest, ListsOfNumbersAreReadWhetherTheyArePrintedOrNot) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    const std::string splits = rank == 0 ? R"(,"In split size":[100, 300],"Out split size":[100, 200])"
                                         : R"(,"In split size":[200, 100],"Out split size":[300, 100])";
    add_call(file, 20, 50, 1, described("all_to_allv", rank == 0 ? 4000 : 3000, rank == 0 ? 3000 : 4000, splits));
    files.push_back(file.write("Lists"));
  }
  EXPECT_EQ(calls_of(read_trace(files, {}), 0).at(0).bytes, 12'000_B);  // as in the test before
}

// In and out as ParamCommsUtils counts them on this rank; 1024 elements of 2 B are one rank's part.
TEST(KinetoCallsTest, CallsOfEveryKindAreKnownByTheirNames) {
  struct Known {
    std::string name;
    std::int64_t in;
    std::int64_t out;
    Collective collective;
    std::int64_t bytes;
  };
  const std::vector<Known> calls{
      {"allreduce", 1024, 1024, Collective::kAllReduce, 2048},
      {"allreduce_coalesced", 1024, 1024, Collective::kAllReduce, 2048},
      {"_allgather_base", 1024, 2048, Collective::kAllGather, 4096},
      {"all_gather_into_tensor_coalesced", 1024, 2048, Collective::kAllGather, 4096},
      {"all_gather", 1024, 1024, Collective::kAllGather, 4096},  // some versions count one rank's part on both sides
      {"_reduce_scatter_base", 2048, 1024, Collective::kReduceScatter, 4096},
      {"reduce_scatter_tensor_coalesced", 2048, 1024, Collective::kReduceScatter, 4096},
      {"all_to_all", 2048, 2048, Collective::kAllToAll, 4096},
      {"alltoall_base", 2048, 2048, Collective::kAllToAll, 4096},
      {"broadcast", 1024, 1024, Collective::kBroadcast, 2048},
      {"_broadcast_oop", 1024, 1024, Collective::kBroadcast, 2048},
      {"reduce", 1024, 1024, Collective::kReduce, 2048},
      {"_reduce_oop", 1024, 1024, Collective::kReduce, 2048},
      {"gather", 1024, 0, Collective::kGather, 4096},  // on a rank that is not the root
      {"scatter", 0, 1024, Collective::kScatter, 4096},
      {"barrier", 0, 0, Collective::kAllReduce, 2},  // of one element
  };
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    int number = 0;
    for (const Known& call : calls) {
      ++number;
      add_call(file, 100.0 * number, 50, number, described(call.name, call.in, call.out));
    }
    files.push_back(file.write("Kinds"));
  }
  const std::vector<Operation> read = calls_of(read_trace(files, {}), 1);
  ASSERT_EQ(read.size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(read[i].collective, calls[i].collective) << calls[i].name;
    EXPECT_EQ(read[i].bytes.count(), calls[i].bytes) << calls[i].name;
  }
}

TEST(KinetoCallsTest, GroupsAreTheSameWhereTheirRanksAre) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    add_call(file, 100, 50, 1, described("allreduce", 64, 64, "", "0"));
    add_call(file, 200, 50, 2, described("allreduce", 512, 512, "", rank == 0 ? "a3f" : "77b"));
    add_call(file, 300, 50, 3, described("allreduce", 64, 64, "", "0"));
    files.push_back(file.write("GroupNames"));
  }
  const Trace trace = read_trace(files, {});
  EXPECT_EQ(trace.program.groups.size(), 2U);
  EXPECT_EQ(calls_of(trace, 0).size(), 3U);
  EXPECT_EQ(calls_of(trace, 1).size(), 3U);
  EXPECT_EQ(all_findings(trace).find("without a counterpart"), std::string::npos);
}

constexpr const char* kOldKernel = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)";

// Both end at 7,120 us; rank 1 was there 5,000 us earlier, and waited.
TEST(KinetoCallsTest, AKernelThatSaysNothingTakesWhatItTookTheLastRank) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    add_call(file, rank == 0 ? 7'020 : 2'020, rank == 0 ? 100 : 5'100, 1, "", kOldKernel);
    files.push_back(file.write("Undescribed"));
  }
  const Trace trace = read_trace(files, {});
  for (const Rank rank : {0, 1}) {
    ASSERT_EQ(calls_of(trace, rank).size(), 1U);
    EXPECT_EQ(calls_of(trace, rank)[0].collective, Collective::kAllReduce);
    EXPECT_TRUE(takes_its_time(calls_of(trace, rank)[0]));
    EXPECT_EQ(calls_of(trace, rank)[0].duration, 100_us);
  }
  EXPECT_EQ(summarize(trace).ranks[1].communication, 100_us);
  EXPECT_NE(all_findings(trace).find("matched between ranks by order and end"), std::string::npos);
}

TEST(KinetoCallsTest, KernelsThatSayNothingAndEndApartAreNotOneCall) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    add_call(file, 2'020, rank == 0 ? 100 : 201, 1, "", kOldKernel);  // 101 us apart
    files.push_back(file.write("EndApart"));
  }
  const Trace trace = read_trace(files, {});
  EXPECT_TRUE(calls_of(trace, 0).empty());
  EXPECT_NE(all_findings(trace).find("nor match what other ranks call: they keep their recorded time"), std::string::npos);
}

// Rank 1's profile began a call later, and ended a call later.
TEST(KinetoCallsTest, ProfilesOfOtherLengthsShareTheCallsThatEndTogether) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    for (int call = rank; call < 4 + rank; ++call)
      add_call(file, 1'000 * (call + 1) - (rank == 0 ? 30 : 90), rank == 0 ? 30 : 90, call + 1, "", kOldKernel);
    files.push_back(file.write("OtherLengths"));
  }
  const Trace trace = read_trace(files, {});
  for (const Rank rank : {0, 1}) {
    const std::vector<Operation> calls = calls_of(trace, rank);
    ASSERT_EQ(calls.size(), 3U);
    for (const Operation& call : calls) EXPECT_EQ(call.duration, 30_us);
  }
  EXPECT_NE(all_findings(trace).find("6 kernels of communication carry no metadata of their calls: matched"),
            std::string::npos);
  EXPECT_NE(all_findings(trace).find("2 kernels of communication carry no metadata of their calls, nor match"),
            std::string::npos);
}

// Before PyTorch 2.2 an all-to-all says what this rank sends: 8,000 and 6,000 B, half of it to itself for all that is known.
TEST(KinetoCallsTest, AllToAllsOfUnknownGroupsMayDifferBetweenRanks) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    file.raw(fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","pid":1,"tid":1,"ts":80,"dur":9,)"
                         R"("args":{{"Input Dims":[[{}]],"Input type":["float"]}}}})",
                         rank == 0 ? 2'000 : 1'500));
    add_call(file, 100, 50, 1, "", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)");
    files.push_back(file.write("OldAllToAll"));
  }
  const Trace trace = read_trace(files, {});
  for (const Rank rank : {0, 1}) {
    ASSERT_EQ(calls_of(trace, rank).size(), 1U);
    EXPECT_EQ(calls_of(trace, rank)[0].bytes, 8'000_B);
  }
}

TEST(KinetoCallsTest, OfOneRankAloneItIsSaidThatItsWaitingIsKept) {
  RankFile file{0, 1};
  add_call(file, 2'020, 100, 1, "", kOldKernel);
  EXPECT_NE(all_findings(read_trace(std::vector{file.write("OneRank")}, {}))
                .find("1 kernels of communication carry no metadata of their calls, and are of one rank alone"),
            std::string::npos);
}

// As PyTorch before 2.2 records them, with shapes: 1024 x 8 elements of 2 B; of an all-gather one rank's part.
TEST(KinetoCallsTest, RecordFunctionsOfNcclTellSizesAndEndsTellGroups) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    const auto record = [&](double at, const std::string& name) {
      file.raw(fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"nccl:{}","pid":1,"tid":1,"ts":{},"dur":9,)"
                           R"("args":{{"External id":7,"Input Dims":[[1024,8]],"Input type":["c10::BFloat16"]}}}})",
                           name, at));
    };
    record(80, "all_reduce");
    add_call(file, 100, 50, 1, "", kOldKernel);
    record(180, "_all_gather_base");
    add_call(file, 200, 50, 2, "", "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)");
    files.push_back(file.write("RecordFunctions"));
  }
  const Trace trace = read_trace(files, {});
  const std::vector<Operation> calls = calls_of(trace, 0);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].bytes, 16_KiB);
  EXPECT_EQ(calls[1].bytes, 32_KiB);
  EXPECT_FALSE(takes_its_time(calls[0]));
  EXPECT_EQ(trace.program.groups.at(trace.program.ranks[0].groups.at(calls[0].slot)).ranks, (std::vector<Rank>{0, 1}));
}

TEST(KinetoCallsTest, AllReducesThatAreNotNcclsAreCommunication) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    add_call(file, rank == 0 ? 300 : 100, rank == 0 ? 20 : 220, 1, "",
             "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)");
    files.push_back(file.write("CustomAllReduce"));
  }
  const Trace trace = read_trace(files, {});
  ASSERT_EQ(calls_of(trace, 1).size(), 1U);
  EXPECT_EQ(calls_of(trace, 1)[0].duration, 20_us);
  EXPECT_EQ(summarize(trace).ranks[1].compute, Duration{});
}

TEST(KinetoCallsTest, CallsOfOtherSizesOnEachRankTakeWhatTheyTookTheLastRank) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    RankFile file{rank};
    for (const int number : {1, 2, 3})
      add_call(file, 500.0 * number, rank == 0 ? 40 : 60, number,
               described("allreduce", number == 2 ? 64 + rank : 64, 64 + rank * (number == 2 ? 1 : 0)));
    files.push_back(file.write("OtherSizes"));
  }
  const std::vector<Operation> calls = calls_of(read_trace(files, {}), 1);
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].bytes, 128_B);
  EXPECT_EQ(calls[1].duration, 40_us);
}

}  // namespace
}  // namespace weft::work::test
