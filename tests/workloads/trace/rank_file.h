// Kineto traces made up for tests.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "sim/workloads/trace/trace.h"
#include "tests/support/temp_folder.h"

namespace weft::work::test {

// One rank of a made-up trace; times in microseconds.
class RankFile {
 public:
  explicit RankFile(int rank, int world = 2) : rank_{rank}, world_{world} {}

  RankFile& launch(double at, int correlation) {
    add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":4,"args":{{"correlation":{}}}}})",
        at, correlation));
    return *this;
  }
  RankFile& wait(double at) {
    add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":1,"tid":1,"ts":{},"dur":1,"args":{{}}}})", at));
    return *this;
  }
  RankFile& kernel(double at, double duration, int stream, int correlation, const std::string& name = "gemm",
                   const std::string& more = "") {
    add(fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"stream":{},"correlation":{}{}}}}})",
        name, stream, at, duration, stream, correlation, more));
    return *this;
  }
  RankFile& all_reduce(double at, double duration, int correlation, std::int64_t elements) {
    return kernel(
        at, duration, 20, correlation, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        fmt::format(
            R"(,"Collective name":"allreduce","dtype":"BFloat16","In msg nelems":{},"Out msg nelems":{},"Group size":{},)"
            R"("Process Group Name":"0","Process Group Ranks":"[0, 1]","grid":[24,1,1])",
            elements, elements, world_));
  }
  RankFile& raw(const std::string& event) {
    add(event);
    return *this;
  }
  [[nodiscard]] std::filesystem::path write(const std::string& stem) const {
    static const weft::test::TempFolder folder;
    return folder.write(
        fmt::format("{}.rank{}.json", stem, rank_),
        fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{},"world_size":"{}"}},"traceEvents":[{}]}})", rank_,
                    world_, events_));
  }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }
  int rank_;
  int world_;
  std::string events_;
};

inline std::string all_findings(const Trace& trace) {
  std::string text;
  for (const Diagnostic& finding : trace.findings) text += finding.message + "\n";
  return text;
}

}  // namespace weft::work::test
