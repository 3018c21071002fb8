#include "sim/network/gpu_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/network/gpu_spec_reader.h"

namespace weft::net {
namespace {

using ::testing::HasSubstr;
using enum NumberType;

GpuSpec own_gpu(const std::string& text) {
  Diagnostics diagnostics;
  GpuSpec spec = read_gpu_spec(ConfigNode::parse(text, "own.yaml", "gpu"), "own", diagnostics);
  diagnostics.throw_if_any();
  return spec;
}

std::string gpu_error(const std::string& text) {
  try {
    static_cast<void>(own_gpu(text));
    return "no error";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(GpuSpecTest, FilesSayWhatDataSheetsSay) {
  // models/workloads §4.5.
  const GpuSpec& h200 = gpu_spec("h200_sxm");
  EXPECT_EQ(h200.peak(kBf16), 989e12);
  EXPECT_EQ(h200.peak(kFp8), 1979e12);
  EXPECT_EQ(h200.peak(kFp4), 0);
  EXPECT_EQ(h200.hbm_bytes_per_second, 4.8e12);
  EXPECT_EQ(h200.hbm_bytes, 150'100'000'000) << "as CUDA reports";
  EXPECT_EQ(h200.sms, 132);
  EXPECT_EQ(h200.l2_bytes, 50 << 20);
  EXPECT_EQ(gpu_spec("a100_sxm").peak(kBf16), 312e12);
  EXPECT_EQ(gpu_spec("p100").peak(kFp32), 10.6e12);
  EXPECT_EQ(gpu_spec("gb300").peak(kFp4), 15000e12);
  EXPECT_EQ(gpu_spec("mi300x").sms, 304);
  EXPECT_EQ(gpu_spec("h20").hbm_bytes_per_second, 4.0e12);
}

TEST(GpuSpecTest, EveryShippedGpuLoadsWithASourceOfEachFigure) {
  const std::vector<const GpuSpec*> gpus = shipped_gpus();
  const std::set<std::string> wanted{"a100_sxm", "h100_sxm", "h200_sxm", "b200", "b300",   "gb200",        "gb300",  "h20",
                                     "h800_sxm", "a800_sxm", "l40s",     "l4",   "l20",    "a30",          "a10",    "rtx_4090",
                                     "rtx_5090", "t4",       "v100_sxm", "p100", "mi300x", "rtx_pro_6000", "mi325x", "mi355x"};
  std::set<std::string> names;
  std::map<std::string, std::string> aliases;
  for (const GpuSpec* gpu : gpus) {
    EXPECT_TRUE(names.insert(gpu->name).second) << gpu->name;
    for (const std::string& alias : gpu->aliases) EXPECT_TRUE(aliases.emplace(lower_case(alias), gpu->name).second) << alias;
    EXPECT_NE(gpu->sm > 0, !gpu->gcn.empty()) << gpu->name;
    EXPECT_FALSE(gpu->profile.empty()) << gpu->name;
    EXPECT_GT(gpu->hbm_bytes_per_second * static_cast<double>(gpu->hbm_bytes) * gpu->tdp_watts, 0) << gpu->name;
    EXPECT_GT(gpu->peak(kFp16), 0) << gpu->name;
    EXPECT_GE(gpu->peak(kFp8), 0) << gpu->name;  // stated, if only as unsupported
    for (const GpuFigure& figure : gpu->figures) {
      EXPECT_GT(figure.source.size(), 3U) << gpu->name << ' ' << figure.key;
      EXPECT_GE(figure.date.size(), 4U) << gpu->name << ' ' << figure.key;
    }
  }
  for (const std::string& name : wanted) EXPECT_TRUE(names.contains(name)) << name;
}

// Operations that an SM (a compute unit) does in a clock, by type, multiply and add counted apart; dense.
// - Pascal, Volta, Turing, A100: cores of an SM, products of its tensor cores; NVIDIA's blog "Ampere Architecture In-Depth".
// - GA102 (A10, A40): 4 tensor cores of 128 products; its white paper, as quoted elsewhere.
// - Hopper: peaks over SMs and clock; H100's white paper v1.04, table 3.
// - Ada: the same of RTX 4090, L4 and L40; its white paper v2.1, appendices, as quoted elsewhere.
// - Blackwell RTX: the same; white papers of RTX Blackwell v1.1 (as quoted elsewhere) and RTX Blackwell PRO v1.0, table 4.
// - CDNA 1 to 3: FLOPS/clock/CU in ROCm's documentation of MI100, MI250 and MI300.
// - CDNA 4: its white paper, as quoted elsewhere.
// No paper states those of Blackwell and Blackwell Ultra of data centres, H20 and L20. Their clocks are derived from a peak:
// their rows hold only the types to each other.
struct PerClock {
  std::set<std::string> gpus;  // empty: all of the architecture that no other row names
  std::string architecture;
  std::map<NumberType, double> operations;
};
const std::vector<PerClock>& per_clock() {
  static const std::vector<PerClock> rows{
      {{}, "pascal", {{kFp64, 64}, {kFp32, 128}, {kFp16, 256}}},
      {{}, "volta", {{kFp64, 64}, {kFp32, 128}, {kFp16, 1024}}},
      {{}, "turing", {{kFp32, 128}, {kFp16, 1024}, {kInt8, 2048}}},
      {{"a10", "a40"}, "ampere", {{kFp32, 256}, {kTf32, 512}, {kFp16, 1024}, {kBf16, 1024}, {kInt8, 2048}}},
      {{}, "ampere", {{kFp64, 128}, {kFp32, 128}, {kTf32, 1024}, {kFp16, 2048}, {kBf16, 2048}, {kInt8, 4096}}},
      {{"l20", "l40"}, "ada", {{kFp32, 256}, {kTf32, 256}, {kFp16, 512}, {kBf16, 512}, {kFp8, 1024}, {kInt8, 1024}}},
      {{"rtx_4090"}, "ada", {{kFp32, 256}, {kTf32, 256}, {kFp16, 512}, {kBf16, 512}, {kFp8, 1024}, {kInt8, 2048}}},
      {{}, "ada", {{kFp32, 256}, {kTf32, 512}, {kFp16, 1024}, {kBf16, 1024}, {kFp8, 2048}, {kInt8, 2048}}},
      {{"h20"}, "hopper", {{kTf32, 512}, {kFp16, 1024}, {kBf16, 1024}, {kFp8, 2048}, {kInt8, 2048}}},
      {{"h800_sxm"}, "hopper", {{kFp32, 256}, {kTf32, 2048}, {kFp16, 4096}, {kBf16, 4096}, {kFp8, 8192}, {kInt8, 8192}}},
      {{}, "hopper", {{kFp64, 256}, {kFp32, 256}, {kTf32, 2048}, {kFp16, 4096}, {kBf16, 4096}, {kFp8, 8192}, {kInt8, 8192}}},
      {{},
       "blackwell",
       {{kFp64, 128}, {kFp32, 256}, {kTf32, 4096}, {kFp16, 8192}, {kBf16, 8192}, {kFp8, 16384}, {kFp4, 32768}, {kInt8, 16384}}},
      {{}, "blackwell_ultra", {{kFp32, 256}, {kTf32, 4096}, {kFp16, 8192}, {kBf16, 8192}, {kFp8, 16384}, {kFp4, 49152}}},
      {{"rtx_5090"},
       "blackwell_rtx",
       {{kFp32, 256}, {kTf32, 256}, {kFp16, 512}, {kBf16, 512}, {kFp8, 1024}, {kFp4, 4096}, {kInt8, 2048}}},
      {{},
       "blackwell_rtx",
       {{kFp32, 256}, {kTf32, 512}, {kFp16, 1024}, {kBf16, 1024}, {kFp8, 2048}, {kFp4, 4096}, {kInt8, 2048}}},
      {{}, "cdna1", {{kFp64, 64}, {kFp32, 256}, {kFp16, 1024}, {kBf16, 512}, {kInt8, 1024}}},
      {{}, "cdna2", {{kFp64, 256}, {kFp32, 256}, {kFp16, 1024}, {kBf16, 1024}, {kInt8, 1024}}},
      {{}, "cdna3", {{kFp64, 256}, {kFp32, 256}, {kTf32, 1024}, {kFp16, 2048}, {kBf16, 2048}, {kFp8, 4096}, {kInt8, 4096}}},
      {{}, "cdna4", {{kFp64, 128}, {kFp32, 256}, {kFp16, 4096}, {kBf16, 4096}, {kFp8, 8192}, {kFp4, 16384}, {kInt8, 8192}}},
  };
  return rows;
}

TEST(GpuSpecTest, PeaksAreSmsTimesClockTimesOperationsOfTheArchitecture) {
  for (const GpuSpec* gpu : shipped_gpus()) {
    const PerClock* row = nullptr;
    for (const PerClock& each : per_clock()) {
      if (each.architecture != gpu->architecture || !(each.gpus.empty() || each.gpus.contains(gpu->name))) continue;
      if (row == nullptr || row->gpus.empty()) row = &each;
    }
    ASSERT_NE(row, nullptr) << gpu->name;
    for (const auto& [type, operations] : row->operations) {
      const bool of_vector_units = type == kFp64 || type == kFp32;
      const double expected = gpu->sms * (of_vector_units ? gpu->vector_clock_ghz : gpu->clock_ghz) * 1e9 * operations;
      EXPECT_NEAR(gpu->peak(type) / expected, 1, 0.02) << gpu->name << ' ' << to_string(type);
    }
  }
}

TEST(GpuSpecTest, LinksGiveTheBandwidthOfTheDataSheetInBothDirections) {
  const std::map<std::string, double> gigabytes{{"p100", 160},     {"v100_sxm", 300}, {"a100_sxm", 600}, {"a800_sxm", 400},
                                                {"a30", 200},      {"a40", 112.5},    {"h100_sxm", 900}, {"h800_sxm", 400},
                                                {"h200_sxm", 900}, {"b200", 1800},    {"gb300", 1800},   {"mi300x", 896},
                                                {"l40s", 0}};
  for (const auto& [name, expected] : gigabytes) {
    const GpuSpec& gpu = gpu_spec(name);
    EXPECT_EQ(2 * gpu.links * static_cast<double>(gpu.link_rate.bits_per_second()) / 8e9, expected) << name;
  }
}

TEST(GpuSpecTest, FindsShortNamesAndThoseOfMachines) {
  EXPECT_EQ(find_gpu("h100"), find_gpu("h100_sxm"));
  EXPECT_EQ(find_gpu("RTX4090"), find_gpu("rtx_4090"));
  EXPECT_EQ(find_gpu("h10"), nullptr);
  EXPECT_EQ(find_gpu(""), nullptr);
  EXPECT_EQ(find_gpu("h100_of_mine"), nullptr);  // a name in a file is exact

  const std::map<std::string, std::string> machines{{"NVIDIA H200", "h200_sxm"},
                                                    {"NVIDIA H100 80GB HBM3", "h100_sxm"},
                                                    {"NVIDIA H100 PCIe", "h100_pcie"},
                                                    {"NVIDIA A100-SXM4-40GB", "a100_sxm_40gb"},
                                                    {"NVIDIA A100-SXM4-80GB", "a100_sxm"},
                                                    {"NVIDIA A100 80GB PCIe", "a100_pcie"},
                                                    {"Tesla V100-SXM2-32GB", "v100_sxm"},
                                                    {"NVIDIA GeForce RTX 4090", "rtx_4090"},
                                                    {"NVIDIA GB200", "gb200"},
                                                    {"NVIDIA L40S-48Q", "l40s"},
                                                    {"AMD Instinct MI300X", "mi300x"},
                                                    {"h100 sxm5 80gb", "h100_sxm"}};
  for (const auto& [machine, name] : machines) {
    const GpuSpec* gpu = find_gpu_of_machine(machine);
    ASSERT_NE(gpu, nullptr) << machine;
    EXPECT_EQ(gpu->name, name) << machine;
  }
  EXPECT_EQ(find_gpu_of_machine("NVIDIA"), nullptr);
  EXPECT_EQ(find_gpu_of_machine("A1000"), nullptr);
}

TEST(GpuSpecTest, AnswersAnUnknownModelWithTheNearest) {
  try {
    static_cast<void>(gpu_spec("h200_sxn"));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a GPU of model 'h200_sxn'"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'h200_sxm'?"));
  }
}

TEST(GpuSpecTest, ABaseGivesWhatTheMapDoesNotState) {
  const GpuSpec own = own_gpu(
      "base: h100_sxm\nname: h100_capped\nsources: {mine: {title: nvidia-smi, date: 2026}}\n"
      "power: {value: 500 W, source: mine}\npeaks: {fp8: unsupported, source: mine, bf16: 700 TFLOP/s}\n");
  EXPECT_EQ(own.name, "h100_capped");
  EXPECT_EQ(own.tdp_watts, 500);
  EXPECT_EQ(own.sms, 132);
  EXPECT_EQ(own.sm, 90);
  EXPECT_EQ(own.peak(kBf16), 700e12);
  EXPECT_EQ(own.peak(kFp8), 0);
  EXPECT_TRUE(own.aliases.empty());
  std::map<std::string, std::string> sources;
  for (const GpuFigure& figure : own.figures) sources[figure.key] = figure.source;
  EXPECT_EQ(sources["peaks.bf16"], "nvidia-smi");
  EXPECT_EQ(sources["peaks.fp64"], "NVIDIA H100 Tensor Core GPU data sheet, as quoted elsewhere");
  EXPECT_EQ(sources["sms"], "NVIDIA H100 Tensor Core GPU Architecture white paper, v1.04");
}

TEST(GpuSpecTest, ASourceOfTheNameOfOneOfTheBaseIsAnError) {
  EXPECT_THAT(gpu_error("base: h100_sxm\nsources: {sheet: {title: mine, date: 2026}}\n"),
              HasSubstr("the base has a source of this name"));
}

TEST(GpuSpecTest, AValueOverOneOfABaseBringsASourceOfItsOwn) {
  EXPECT_THAT(gpu_error("base: h100_sxm\npower: {value: 500 W}\n"), HasSubstr("gpu.power.value: needs a source of its own"));
  EXPECT_THAT(gpu_error("base: h100_sxm\npeaks: {bf16: 500 TFLOP/s}\n"),
              HasSubstr("gpu.peaks.bf16: needs a source of its own"));
}

TEST(GpuSpecTest, TellsNotSupportedFromNotStated) {
  const GpuSpec own = own_gpu("sources: {a: {title: t, date: 2026}}\npeaks: {source: a, bf16: 1 PFLOP/s, fp8: unsupported}\n");
  EXPECT_EQ(own.peak(kBf16), 1e15);
  EXPECT_EQ(own.peak(kFp8), 0);
  EXPECT_EQ(own.stated(kFp4), std::nullopt);
  EXPECT_THROW(static_cast<void>(own.peak(kFp4)), ConfigError);
}

TEST(GpuSpecTest, RefusesFiguresThatCannotBe) {
  const std::string sources = "sources: {a: {title: t, date: 2026}}\n";
  EXPECT_THAT(gpu_error(sources + "peaks: {source: a, fp8: 0 TFLOP/s}\n"), HasSubstr("gpu.peaks.fp8: must be more than 0"));
  EXPECT_THAT(gpu_error(sources + "peaks: {source: a, fp8: -1 TFLOP/s}\n"), HasSubstr("gpu.peaks.fp8: must be more than 0"));
  EXPECT_THAT(gpu_error(sources + "peaks: {source: a, fp8: 989 TB/s}\n"), HasSubstr("expected a dense rate"));
  EXPECT_THAT(gpu_error(sources + "peaks: {fp8: 989 TFLOP/s}\n"), HasSubstr("gpu.peaks.fp8: has no source"));
  EXPECT_THAT(gpu_error(sources + "peaks: {source: a, fp9: 989 TFLOP/s}\n"), HasSubstr("fp9"));
  EXPECT_THAT(gpu_error(sources + "clock: {value: 1.83, source: a}\n"), HasSubstr("expected a clock such as '1.83 GHz'"));
  EXPECT_THAT(gpu_error(sources + "clock: 1.83 GHz\n"), HasSubstr("expected a figure with its source"));
  EXPECT_THAT(gpu_error(sources + "sms: {value: 132, source: b}\n"), HasSubstr("expected one of `sources`, got 'b'"));
  EXPECT_THAT(gpu_error("profile: h100_sxn\n"), HasSubstr("no shipped profile 'h100_sxn'"));
  EXPECT_THAT(gpu_error("base: h100_sxn\n"), HasSubstr("did you mean 'h100_sxm'?"));
}

}  // namespace
}  // namespace weft::net
