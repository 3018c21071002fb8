// The models predict points that are no collectives, and tests hold them against the formulas behind them.
#include "sim/measured/predict_points.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/measured/kernel_points.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "tests/measured/measurement_support.h"

namespace weft::measured {
namespace {

PointLog log_with(MeasuredPoint point) {
  PointLog log;
  log.file = "points.jsonl";
  log.gpu = "NVIDIA H200";
  log.digest = "0123456789abcdef";
  log.points.push_back(std::move(point));
  return log;
}

ValidationPoint predicted(MeasuredPoint point) {
  const Predictions predictions = predict_points(test::four_gpus(), log_with(std::move(point)), {});
  return predictions.points.front();
}

MeasuredPoint gemm(std::int64_t size, double us) {
  MeasuredPoint point;
  point.kind = "gemm";
  point.type = "bf16";
  point.m = point.n = point.k = size;
  point.median_us = us;
  return point;
}

MeasuredPoint copy(std::vector<std::pair<int, int>> transfers, std::int64_t bytes) {
  MeasuredPoint point;
  point.kind = "copy";
  point.what = "copy_engine";
  point.pattern = "peer";
  point.transfers = std::move(transfers);
  point.bytes = Bytes{bytes};
  point.median_us = 1;
  return point;
}

TEST(PredictPointsTest, TakesAKernelsTimeAloneAndTheGapBeforeIt) {
  const net::Cluster cluster = test::four_gpus();
  work::Kernel kernel;
  kernel.kind = work::KernelKind::kGemm;
  kernel.m = kernel.n = kernel.k = 4096;
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  const ValidationPoint point = predicted(gemm(4096, 200));
  EXPECT_NEAR(*point.predicted_us, (times.alone(kernel) + times.gap()).us(), 1e-6);
  EXPECT_DOUBLE_EQ(point.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_EQ(point.bytes, Bytes{3 * 2 * 4096 * 4096});
}

TEST(PredictPointsTest, TakesTheHostsTimeWhereAFrameworkIsSlowerThanTheKernel) {
  MeasuredPoint small = gemm(256, 17.3);
  small.host_us = 17;
  const ValidationPoint point = predicted(small);
  EXPECT_DOUBLE_EQ(*point.predicted_us, 17);
  EXPECT_TRUE(point.is_cpu_time);
  EXPECT_EQ(exclusion_of(point), Exclusion::kCpuTime);
}

TEST(PredictPointsTest, SharesAnOutboundNvlinkAmongCopies) {
  // Three copies out of one GPU take three times as long as one; two to different GPUs from different ones as long as one.
  const std::int64_t bytes = 256 << 20;
  const double fixed = *predicted(copy({{0, 1}}, 1)).predicted_us;
  const double one = *predicted(copy({{0, 1}}, bytes)).predicted_us - fixed;
  const double outcast = *predicted(copy({{0, 1}, {0, 2}, {0, 3}}, bytes)).predicted_us - fixed;
  const double disjoint = *predicted(copy({{0, 1}, {2, 3}}, bytes)).predicted_us - fixed;
  EXPECT_NEAR(outcast / one, 3, 0.01);
  EXPECT_NEAR(disjoint / one, 1, 1e-6);
}

// Four GPUs on one CPU, PCIe 5 x16 each: about 55 GB/s a copy, of a memory that gives 160 GB/s when read and 120 when written.
TEST(PredictPointsTest, CopiesShareTheMemoryOfTheirHost) {
  const net::Cluster cluster = test::four_gpus(
      "network.host_memory.read: {value: 160 GB/s, source: assumed}, network.host_memory.write: {value: 120 GB/s, source: "
      "assumed}");
  const double bytes = 1 << 30;
  const auto us = [&](std::vector<std::pair<int, int>> transfers) {
    return *predict_points(cluster, log_with(copy(std::move(transfers), 1 << 30)), {}).points[0].predicted_us;
  };
  const int host = kHostMemory;
  const double one = us({{0, host}});
  EXPECT_NEAR(us({{0, host}, {1, host}}), one, 0.001 * one) << "110 of 120 GB/s";
  EXPECT_NEAR(us({{0, host}, {1, host}, {2, host}, {3, host}}), 4 * bytes / 120e3, 20);
  EXPECT_NEAR(us({{host, 0}, {host, 1}, {host, 2}, {host, 3}}), 4 * bytes / 160e3, 20);
  // One bus: what reads and writes take of it adds up.
  EXPECT_NEAR(us({{0, host}, {host, 1}, {2, host}, {host, 3}}), 2 * bytes / 120e3 + 2 * bytes / 160e3,
              0.02 * us({{0, host}, {host, 1}, {2, host}, {host, 3}}));
}

// Requests of the one go the way of the other's data: PCIe, 24 bytes in 512 (models/network §1.4); an NVLink, 16 in 128.
TEST(PredictPointsTest, ReadsLoadTheWayOfCopiesAgainstThem) {
  const auto us = [](std::vector<std::pair<int, int>> transfers, const char* by) {
    MeasuredPoint point = copy(std::move(transfers), 1 << 30);
    point.what = by;
    return *predicted(point).predicted_us;
  };
  EXPECT_NEAR(us({{0, 1}, {1, 0}}, "sm_read") / us({{0, 1}}, "sm_read"), 1 + 16.0 / 128, 0.002);
  EXPECT_NEAR(us({{0, 1}, {1, 0}}, "sm") / us({{0, 1}}, "sm"), 1, 1e-6);
  const double both = us({{kHostMemory, 0}, {0, kHostMemory}}, "copy_engine") / us({{0, kHostMemory}}, "copy_engine");
  EXPECT_GT(both, 1.03);
  EXPECT_LT(both, 1.06);
}

TEST(PredictPointsTest, SaysWhatItDoesNotKnowOfCopiesAndLaunches) {
  const ValidationPoint all = predicted(copy({{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}, 1 << 20));
  EXPECT_EQ(all.predicted_us, std::nullopt);
  EXPECT_EQ(all.not_modelled, "copies among all pairs at once, of which switches carry less than their links could");
  EXPECT_TRUE(predicted(copy({{0, 1}, {1, 2}, {2, 3}, {3, 0}}, 1 << 20)).predicted_us.has_value()) << "a ring";
  MeasuredPoint launch;
  launch.kind = "launch";
  launch.what = "kernel";
  launch.median_us = 4;
  EXPECT_EQ(predicted(launch).not_modelled, "launches of empty kernels, kind 'kernel'");
}

TEST(PredictPointsTest, WhatIsQueuedBeforehandTakesNoLaunch) {
  // Records of `weft measure` are times on the device: a launch of 1 ms is in none of them.
  const net::Cluster cluster = test::four_gpus("device.launch.host_cost: {value: 1 ms, source: assumed}");
  for (const MeasuredPoint& point : {gemm(64, 3), copy({{0, 1}}, 4096)})
    EXPECT_LT(*predict_points(cluster, log_with(point), {}).points[0].predicted_us, 20.0) << point.kind;
}

TEST(PredictPointsTest, ListsWhatNoModelCovers) {
  MeasuredPoint odd;
  odd.kind = "memory";
  odd.what = "transpose";
  odd.bytes = Bytes{1024};
  odd.median_us = 3;
  const Predictions predictions = predict_points(test::four_gpus(), log_with(odd), {});
  ASSERT_EQ(predictions.points.size(), 1U);
  EXPECT_FALSE(predictions.points[0].predicted_us.has_value());
  EXPECT_EQ(predictions.points[0].not_modelled, "memory kernels 'transpose'");
  EXPECT_EQ(predictions.notes, std::vector<std::string>{"1 point not modelled: memory kernels 'transpose'"});
}

TEST(PredictPointsTest, GivesAPointForEachStreamOfAnOverlap) {
  MeasuredPoint point;
  point.kind = "overlap";
  point.what = "collective_with_gemm";
  point.ranks = 4;
  point.median_us = 4000;
  OverlapPart reduce;
  reduce.op = "all_reduce";
  reduce.bytes = Bytes{64 << 20};
  reduce.calls = 4;
  reduce.median_us = 3000;
  OverlapPart product;
  product.op = "gemm";
  product.m = product.n = product.k = 8192;
  product.calls = 2;
  product.median_us = 4000;
  point.parts = {reduce};
  const double alone = *predicted(point).predicted_us;
  point.parts = {reduce, product};
  const Predictions both = predict_points(test::four_gpus(), log_with(point), {});
  ASSERT_EQ(both.points.size(), 2U);
  EXPECT_EQ(both.points[0].algorithm, "all_reduce beside gemm");
  EXPECT_DOUBLE_EQ(both.points[1].measured_us, 4000);
  EXPECT_GT(*both.points[0].predicted_us, alone);  // they cost each other SMs and memory
}

// Collectives alone are predicted at the clock stated; beside compute it is the load's.
TEST(PredictPointsTest, PredictsCollectivesAtTheClockTheyWereMeasuredAt) {
  MeasuredPoint point;
  point.kind = "overlap";
  point.what = "collective_alone";
  point.ranks = 4;
  point.median_us = 1400;
  OverlapPart reduce;
  reduce.op = "all_reduce";
  reduce.bytes = Bytes{1 << 20};
  reduce.calls = 64;
  reduce.median_us = 1400;
  OverlapPart product;
  product.op = "gemm";
  product.m = product.n = product.k = 8192;
  product.calls = 2;
  product.median_us = 4000;
  point.parts = {reduce};
  const double full = *predicted(point).predicted_us;
  point.slowdown = 1.25;
  const double low = *predicted(point).predicted_us;
  // Latencies take 1.125 times as long, the bytes of thread blocks 1.25 times, those of links as long as before.
  EXPECT_GT(low, full * 1.05);
  EXPECT_LT(low, full * 1.25);
  point.parts = {reduce, product};
  const double stated = *predicted(point).predicted_us;
  point.slowdown = 1;
  EXPECT_EQ(*predicted(point).predicted_us, stated);
}

TEST(PredictPointsTest, IsTheSameTwice) {
  const PointLog log = log_with(copy({{0, 1}, {1, 0}}, 1 << 20));
  EXPECT_EQ(predict_points(test::four_gpus(), log, {}).digest, predict_points(test::four_gpus(), log, {}).digest);
}

TEST(KernelPointsTest, KeepsKernelsOfTheRecordSetThatOutlastTheLaunch) {
  PointLog log = log_with(gemm(4096, 200));
  log.points[0].record_set = "quick";
  log.points.push_back(gemm(8192, 1500));
  log.points[1].record_set = "full";
  log.points.push_back(gemm(256, 6));
  log.points[2].record_set = "quick";
  const Profile profile = test::four_gpus().profile;
  const KernelLog quick = kernel_log_of(log, profile, "quick");
  ASSERT_EQ(quick.kernels.size(), 1U);
  EXPECT_EQ(quick.gpu, "h200_sxm");
  EXPECT_DOUBLE_EQ(*quick.kernels[0].us, 200 - 1.7);  // less the gap
  EXPECT_EQ(kernel_log_of(log, profile, "").kernels.size(), 2U);
  EXPECT_NE(quick.digest, digest_of(log, "full"));
}

}  // namespace
}  // namespace weft::measured
