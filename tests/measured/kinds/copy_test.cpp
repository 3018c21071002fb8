#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/measured/fit/calibrate.h"
#include "sim/workloads/kernels/copy_costs.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(CopyKindTest, SharesAnOutboundNvlinkAmongCopies) {
  // Three copies out of one GPU take three times as long as one; two to different GPUs from different ones as long as one.
  const std::int64_t bytes = 256 << 20;
  const double fixed = *predicted(copy({{0, 1}}, 1)).predicted_us;
  const double join = four_gpus().profile.get(work::copy_costs).join.us();
  const double one = *predicted(copy({{0, 1}}, bytes)).predicted_us - fixed;
  const double outcast = *predicted(copy({{0, 1}, {0, 2}, {0, 3}}, bytes)).predicted_us - fixed - join;
  const double disjoint = *predicted(copy({{0, 1}, {2, 3}}, bytes)).predicted_us - fixed - join;
  EXPECT_NEAR(outcast / one, 3, 0.01);
  EXPECT_NEAR(disjoint / one, 1, 1e-6);
}

// Four GPUs on one CPU, PCIe 5 x16 each: about 55 GB/s a copy, of a memory that gives 160 GB/s when read and 120 when written.
TEST(CopyKindTest, CopiesShareTheMemoryOfTheirHost) {
  const net::Cluster cluster = four_gpus(
      "network.host_memory.read: {value: 160 GB/s, source: assumed}, network.host_memory.write: {value: 120 GB/s, source: "
      "assumed}");
  const double bytes = 1 << 30;
  const auto us = [&](std::vector<std::pair<int, int>> transfers) {
    return *predicted(copy(std::move(transfers), 1 << 30), cluster).predicted_us;
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
TEST(CopyKindTest, ReadsLoadTheWayOfCopiesAgainstThem) {
  const net::Cluster cluster = four_gpus("gpu.copy.join: {value: 0 us, source: assumed}");
  const auto us = [&](std::vector<std::pair<int, int>> transfers, const char* by) {
    MeasuredPoint point = copy(std::move(transfers), 1 << 30);
    point.what = by;
    return *predicted(point, cluster).predicted_us;
  };
  EXPECT_NEAR(us({{0, 1}, {1, 0}}, "sm_read") / us({{0, 1}}, "sm_read"), 1 + 16.0 / 128, 0.002);
  EXPECT_NEAR(us({{0, 1}, {1, 0}}, "sm") / us({{0, 1}}, "sm"), 1, 1e-6);
  const double both = us({{kHostMemory, 0}, {0, kHostMemory}}, "copy_engine") / us({{0, kHostMemory}}, "copy_engine");
  EXPECT_GT(both, 1.03);
  EXPECT_LT(both, 1.06);
}

TEST(CopyKindTest, EnginesReachAShareOfAPcieLink) {
  const auto us = [](const char* share) {
    const net::Cluster cluster = four_gpus("gpu.copy.pcie_share: {value: " + std::string{share} + ", source: assumed}");
    return *predicted(copy({{0, kHostMemory}}, 1 << 30), cluster).predicted_us;
  };
  EXPECT_NEAR(us("0.8") / us("1.0"), 1 / 0.8, 1e-3);
}

TEST(CopyKindTest, SaysWhatItDoesNotKnow) {
  const ValidationPoint all = predicted(copy({{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}, 1 << 20));
  EXPECT_EQ(all.predicted_us, std::nullopt);
  EXPECT_EQ(all.not_modelled, "copies among all pairs at once, of which switches carry less than their links could");
  EXPECT_TRUE(predicted(copy({{0, 1}, {1, 2}, {2, 3}, {3, 0}}, 1 << 20)).predicted_us.has_value()) << "a ring";
}

TEST(CopyKindTest, IsNamedByItsWayAndItsCurveByHowManyThereAre) {
  MeasuredPoint record = copy({{0, kHostMemory}}, 1 << 20);
  record.pattern = "d2h";
  EXPECT_EQ(predicted(record).algorithm, "d2h 0>host, copy_engine");
  EXPECT_EQ(predicted(record).configuration, "d2h");
  record.transfers.push_back({1, kHostMemory});
  record.what = "sm";
  EXPECT_EQ(predicted(record).algorithm, "d2h of 2, sm");
  EXPECT_EQ(predicted(record).configuration, "d2h, 2 at once, by SMs");
}

// Copies on four GPUs, as a memory of 100 and 80 GB/s and a start of 5 us would have them.
TEST(CopyKindTest, FindsWhatCopiesCost) {
  const net::Cluster cluster = four_gpus();
  const Profile made = cluster.profile.with_value("gpu.copy.engine_start", "5 us", "test")
                           .with_value("gpu.contention.collective_links", "1.15", "test")
                           .with_value("network.host_memory.read", "100 GB/s", "test")
                           .with_value("network.host_memory.write", "80 GB/s", "test");
  KernelLog log{.file = "points.jsonl", .gpu = "h200_sxm", .machine = "H200", .digest = "0123456789abcdef"};
  const net::Cluster measured_on = with_profile(cluster, made);
  const auto add = [&](std::vector<std::pair<int, int>> transfers, std::int64_t bytes) {
    MeasuredPoint point = copy(std::move(transfers), bytes);
    point.median_us = *predicted(point, measured_on).predicted_us;
    log.copies.push_back(std::move(point));
  };
  const int host = kHostMemory;
  for (const std::int64_t bytes : {1 << 12, 1 << 28}) {
    add({{0, 1}}, bytes);
    add({{0, host}}, bytes);
    add({{host, 0}}, bytes);
    add({{0, host}, {1, host}, {2, host}, {3, host}}, bytes);
    add({{host, 0}, {host, 1}, {host, 2}, {host, 3}}, bytes);
  }
  const CalibrationResult result = calibrate_kernels(cluster.profile, {log}, "2026-11-25", "_points", &cluster);
  const auto rate = [&](const char* key) { return std::get<Bandwidth>(result.profile.value(key)).gigabytes_per_second(); };
  // A prior that counts as a row or two holds them towards the defaults.
  EXPECT_NEAR(std::get<Duration>(result.profile.value("gpu.copy.engine_start")).us(), 5, 0.1);
  EXPECT_NEAR(std::get<double>(result.profile.value("gpu.contention.collective_links")), 1.15, 0.01);
  EXPECT_NEAR(rate("network.host_memory.read"), 100, 2);
  EXPECT_NEAR(rate("network.host_memory.write"), 80, 2);
  EXPECT_TRUE(result.profile.trained_on("0123456789abcdef", "copy", 1, {}));
  EXPECT_EQ(result.profile.provenance("network.host_memory.write").calibration, "copies_points");
  // Without the cluster nothing is said of them.
  EXPECT_TRUE(calibrate_kernels(cluster.profile, {log}, "2026-11-25").profile.calibrations().empty());
}

}  // namespace
}  // namespace weft::measured
