#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/core/error.h"
#include "sim/measured/readers/formats.h"
#include "sim/scenario/serving_step.h"
#include "sim/workloads/inference/inference_reader.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

MeasuredPoint step_of(bool is_decode, std::int64_t batch, std::int64_t context, int gpus = 1) {
  MeasuredPoint point = record_of("serving_step", "", 1000);
  point.type = "bf16";
  point.batch = batch;
  point.ranks = gpus;
  point.graph = true;
  point.step = {.model = "small",
                .is_decode = is_decode,
                .layers = 3,
                .hidden = 2048,
                .heads = 16,
                .kv_heads = 8,
                .head_dim = 128,
                .ffn = 8192,
                .tokens = is_decode ? 1 : context,
                .context = context,
                .samples = 5,
                .warmup = 2};
  return point;
}

net::Cluster with_gap(int ns) {
  return four_gpus("gpu.stream.graph_gap: {value: " + std::to_string(ns) + " ns, source: assumed}");
}

// Counts kernels: nanoseconds that one more before each of them adds to a step.
double kernels_in(const MeasuredPoint& point) {
  return (*predicted(point, with_gap(1000)).predicted_us - *predicted(point, with_gap(500)).predicted_us) * 1e3 / 500;
}

// A prompt's layer: norm, QKV, attention, output, sum, norm, gate and up, SiLU, product, down, sum. An answer's has two copies
// more, of its key and of its value. 32 sequences have 256 key heads, more than an H200 has SMs, so attention is one kernel.
TEST(ServingStepKindTest, AGapStandsBeforeEachKernelOfAGraph) {
  EXPECT_NEAR(kernels_in(step_of(false, 1, 1024)), 3 * 11, 0.01);
  EXPECT_NEAR(kernels_in(step_of(true, 32, 1024)), 3 * 13, 0.01);
}

TEST(ServingStepKindTest, TwoGpusAddTwoAllReducesALayer) { EXPECT_NEAR(kernels_in(step_of(false, 1, 1024, 2)), 3 * 13, 0.01); }

// Layers are alike, and there is nothing but layers.
TEST(ServingStepKindTest, TimeGrowsWithLayers) {
  MeasuredPoint point = step_of(true, 32, 1024);
  const double three = *predicted(point).predicted_us;
  point.step.layers = 9;
  EXPECT_NEAR(*predicted(point).predicted_us, 3 * three, 1e-3);
}

// 7 steps of some hundred microseconds end long before the window of power.
TEST(ServingStepKindTest, AShortRunIsTheStepAtFullClock) {
  const net::Cluster cluster = four_gpus();
  const MeasuredPoint point = step_of(true, 32, 1024);
  work::InferenceSetup setup;
  setup.model.layers = 3;
  setup.model.hidden = 2048;
  setup.model.heads = 16;
  setup.model.kv_heads = 8;
  setup.model.head_dim = 128;
  setup.model.ffn = 8192;
  setup.model.learned_positions = 1;
  setup.library = work::find_engine_library("torch").value();
  setup.has_ends = false;
  setup.full_clock = true;
  const std::vector<Duration> once =
      scenario::repeat_serving_step(cluster, setup, {.is_decode = true, .batch = 32, .context = 1024}, 1, {});
  EXPECT_NEAR(*predicted(point, cluster).predicted_us, once.front().us(), 1e-3);
}

// The window of power is 75 ms: prompts that take longer than that together end at a lower clock than they began.
TEST(ServingStepKindTest, ALongRunIsItsMedian) {
  MeasuredPoint point = step_of(false, 4, 4096);
  point.step.layers = 8;
  point.step.hidden = 8192;
  point.step.heads = 64;
  point.step.ffn = 28672;
  point.step.samples = 1;
  point.step.warmup = 0;
  const double first = *predicted(point).predicted_us;
  point.step.warmup = 3;
  const double fourth = *predicted(point).predicted_us;
  EXPECT_GT(fourth, 1.01 * first);
  point.step.samples = 3;
  point.step.warmup = 0;
  const double median_of_three = *predicted(point).predicted_us;
  EXPECT_GT(median_of_three, first);
  EXPECT_LE(median_of_three, fourth);
}

TEST(ServingStepKindTest, DecodeAndPrefillAreGroupsOfTheirOwn) {
  ValidationReport report;
  report.points = {predicted(step_of(true, 32, 1024)), predicted(step_of(false, 1, 1024))};
  const auto groups = report.summary_by_collective();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups.at("decode step").points, 1U);
  EXPECT_EQ(groups.at("prefill step").points, 1U);
}

TEST(ServingStepKindTest, LabelAndBytes) {
  const ValidationPoint decode = predicted(step_of(true, 32, 1024, 2));
  EXPECT_EQ(decode.algorithm, "small, 3 layers, 2 GPUs, 32 x 1024");
  EXPECT_EQ(decode.ranks, 2);
  EXPECT_EQ(decode.bytes, Bytes{2 * 32 * 2048});
  const ValidationPoint prefill = predicted(step_of(false, 2, 512));
  EXPECT_EQ(prefill.algorithm, "small, 3 layers, 2 x 512");
  EXPECT_EQ(prefill.bytes, Bytes{2 * 2 * 512 * 2048});
}

TEST(ServingStepKindTest, QuartilesAFifthApartDoNotCount) {
  ValidationPoint point = predicted(step_of(true, 32, 1024));
  point.measured_us = 1000;
  point.measured_low_us = 900;
  point.measured_high_us = 1100;
  EXPECT_EQ(exclusion_of(point), Exclusion::kNone);
  point.measured_high_us = 1101;
  EXPECT_EQ(exclusion_of(point), Exclusion::kUnsteady);
  point.measured_low_us = 0;  // not known
  EXPECT_EQ(exclusion_of(point), Exclusion::kNone);
}

TEST(ServingStepKindTest, WhatIsNotPredictedSaysWhy) {
  EXPECT_EQ(predicted(step_of(true, 32, 1024, 8)).not_modelled, "8 GPUs, of which the cluster has 4");
  MeasuredPoint point = step_of(true, 32, 1024);
  point.type = "fp8";
  EXPECT_EQ(predicted(point).not_modelled, "steps in 'fp8'");
  const net::Cluster two_nodes =
      four_gpus("", ", nodes: 2, fabric: {type: single_switch, link: {type: ethernet, rate: 10 Gb/s}}");
  point = step_of(true, 32, 1024, 8);
  EXPECT_THAT(predicted(point, two_nodes).not_modelled, testing::StartsWith("8 GPUs of one node"));
}

std::string lines_of(const std::string& members) {
  return R"({"weft_measurements": 1, "kind": "header", "sequence": 0, "machine": {"gpus": [{"index": 0, "name": "NVIDIA H200"}]}}
{"kind": "serving_step", "sequence": 1, "id": "a", "set": "serving", "launch": "graph", "type": "bf16", "median_us": 900.5, "layers": 8, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 14336, )" +
         members + "}\n";
}

MeasuredPoint read_step(const std::string& members) {
  std::istringstream input{lines_of(members)};
  return weft_measure_format.read(input, "file.jsonl").points.at(0);
}

TEST(ServingStepKindTest, ReadsARecord) {
  const MeasuredPoint decode = read_step(
      R"("phase": "decode", "model": "llama3_8b", "tensor": 2, "batch": 32, "tokens": 1, "context": 1024, "samples": 40, "warmup": 5)");
  EXPECT_EQ(decode.record_set, "serving");
  EXPECT_TRUE(decode.graph);
  EXPECT_TRUE(decode.step.is_decode);
  EXPECT_EQ(decode.step.model, "llama3_8b");
  EXPECT_EQ(decode.step.layers, 8);
  EXPECT_EQ(decode.step.ffn, 14336);
  EXPECT_EQ(decode.step.context, 1024);
  EXPECT_EQ(decode.step.samples, 40);
  EXPECT_EQ(decode.step.warmup, 5);
  EXPECT_EQ(decode.ranks, 2);
  EXPECT_EQ(decode.batch, 32);
  EXPECT_DOUBLE_EQ(decode.median_us, 900.5);
  const MeasuredPoint prefill = read_step(R"("phase": "prefill", "batch": 2, "context": 512)");
  EXPECT_FALSE(prefill.step.is_decode);
  EXPECT_EQ(prefill.step.tokens, 512);  // of which all are new where nothing says so
  EXPECT_EQ(prefill.ranks, 1);
}

TEST(ServingStepKindTest, RefusesWhatCannotBe) {
  const auto message = [](const std::string& members) -> std::string {
    try {
      static_cast<void>(read_step(members));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(message(R"("phase": "verify", "context": 8)"),
              testing::HasSubstr("expected 'decode' or 'prefill', got 'verify'"));
  EXPECT_THAT(message(R"("phase": "prefill", "tokens": 9, "context": 8)"),
              testing::HasSubstr("9 new ones are more than the 8"));
  EXPECT_THAT(message(R"("phase": "decode", "context": 0)"), testing::HasSubstr("context"));
  EXPECT_THAT(message(R"("phase": "decode", "context": 8, "batch": 0)"), testing::HasSubstr("batch"));
  EXPECT_THAT(message(R"("phase": "decode", "context": 8, "tensor": 3)"),
              testing::HasSubstr("tensor: 3 GPUs do not share 32 heads, 8 of keys"));
}

}  // namespace
}  // namespace weft::measured
