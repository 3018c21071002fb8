#include "sim/measured/readers/kernel_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/core/error.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kKernelHead = R"({"weft_kernels": 1, "gpu": "h200_sxm", "machine": "NVIDIA H200"})";

KernelLog log_of(const std::string& lines) {
  std::istringstream input{std::string{kKernelHead} + "\n" + lines};
  return read_kernel_log(input, "k.jsonl");
}

std::string kernel_log_error_of(const std::string& text) {
  std::istringstream input{text};
  try {
    static_cast<void>(read_kernel_log(input, "k.jsonl"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}
std::string error_in(const std::string& line) { return kernel_log_error_of(std::string{kKernelHead} + "\n" + line); }

TEST(KernelLogTest, ReadsShapesAndTimes) {
  const KernelLog log = log_of(
      R"({"kind": "gemm", "m": 2048, "n": 4096, "k": 64, "batch": 2, "us": 84.5, "count": 32, "beside_us": 167.5, "beside_ctas": 16})"
      "\n"
      R"({"kind": "strided", "strided": "stack", "elements": 1000, "sustained_us": 3})"
      "\n\n"
      R"({"kind": "optimizer", "elements": 5, "mostly_zero": true, "us": 1, "median_us": 2})");
  EXPECT_EQ(log.gpu, "h200_sxm");
  EXPECT_EQ(log.machine, "NVIDIA H200");
  ASSERT_THAT(log.kernels, SizeIs(3));
  EXPECT_EQ(log.kernels[0].kernel.flops(), 2.0 * 2 * 2048 * 4096 * 64);
  EXPECT_EQ(log.kernels[0].us, 84.5);
  EXPECT_EQ(log.kernels[0].beside_us, 167.5);
  EXPECT_EQ(log.kernels[0].beside_ctas, 16);
  EXPECT_EQ(log.kernels[0].line, 2);
  EXPECT_EQ(log.kernels[1].kernel.strided, work::StridedKind::kStack);
  EXPECT_FALSE(log.kernels[1].us);
  EXPECT_EQ(log.kernels[1].sustained_us, 3);
  EXPECT_TRUE(log.kernels[2].kernel.mostly_zero);
  EXPECT_EQ(log.kernels[2].line, 5);
}

TEST(KernelLogTest, ReadsGapsAndClocks) {
  const KernelLog log = log_of(R"({"kind": "gap", "us": 1.5, "count": 3})"
                               "\n"
                               R"({"kind": "clock", "compute_share": 0.5, "overlap_share": 0.25, "slowdown": 1.125})");
  EXPECT_THAT(log.gaps_us, ElementsAre(DoubleEq(1.5)));
  ASSERT_THAT(log.clocks, SizeIs(1));
  EXPECT_EQ(log.clocks[0].overlap_share, 0.25);
  EXPECT_EQ(log.clocks[0].slowdown, 1.125);
}

TEST(KernelLogTest, TellsWhereAndWhatIsWrong) {
  EXPECT_THAT(error_in(R"({"kind": "gem", "m": 1})"), HasSubstr("k.jsonl:2:1: error: kind: nothing is known of 'gem'"));
  EXPECT_THAT(error_in(R"({"kind": "gem", "m": 1})"), HasSubstr("did you mean 'gemm'?"));
  EXPECT_THAT(error_in(R"({"kind": "gemm", "m": 1, "n": 2})"), HasSubstr("expected m, n and k from 1"));
  EXPECT_THAT(error_in(R"({"kind": "copy", "us": 2})"), HasSubstr("expected elements or bytes"));
  EXPECT_THAT(error_in(R"({"kind": "copy", "bytes": -2})"), HasSubstr("bytes: expected a number from 0, got -2"));
  EXPECT_THAT(error_in(R"({"kind": "copy", "bytes": "2"})"), HasSubstr("bytes: expected a number from 0, got \"2\""));
  EXPECT_THAT(error_in(R"({"kind": "gemm", "m": 1.5, "n": 2, "k": 2})"),
              HasSubstr("m: expected a whole number of at most 10000000, got 1.5"));
  EXPECT_THAT(error_in(R"({"kind": "gemm", "m": 1e8, "n": 2, "k": 2})"), HasSubstr("m: expected a whole number of at most"));
  EXPECT_THAT(error_in(R"({"kind": "copy", "byte": 2, "bytes": 2})"), HasSubstr("unknown key 'byte'"));
  EXPECT_THAT(error_in(R"({"kind": "copy", "bytes": 2, "causal": 1})"), HasSubstr("causal: expected true or false, got 1"));
  EXPECT_THAT(error_in(R"({"kind": "clock", "slowdown": 1})"), HasSubstr("compute_share: missing"));
  EXPECT_THAT(error_in("[1, 2]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(error_in("{"), HasSubstr("expected a JSON object"));
}

TEST(KernelLogTest, RefusesFilesThatDoNotSayWhatTheyAre) {
  EXPECT_THAT(kernel_log_error_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(kernel_log_error_of(R"({"kind": "gap", "us": 1})"), HasSubstr("as the first line"));
  EXPECT_THAT(kernel_log_error_of(R"({"weft_kernels": 2, "gpu": "h200"})"), HasSubstr("as the first line"));
}

TEST(KernelLogTest, TheShippedLogsAreOfAKnownGpu) {
  for (const char* name : {"ddp", "ep4", "micro", "tp4"}) {
    const KernelLog log = read_kernel_log(std::string{WEFT_TEST_DATA} + "/h200x4/kernels/" + name + ".jsonl");
    EXPECT_NE(work::find_gpu(log.gpu), nullptr);
    EXPECT_GE(log.kernels.size(), 9U);
  }
}

}  // namespace
}  // namespace weft::measured
