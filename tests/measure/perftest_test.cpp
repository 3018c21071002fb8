#include "perftest.h"

#include <gtest/gtest.h>

namespace weft::measure {
namespace {

constexpr const char* kBandwidth = R"(---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0x1c QPN 0x0128 PSN 0x85a59a RKey 0x1810ba VAddr 0x007f8ecc4a0000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 2          5000           0.078              0.076                4.763
 65536      5000           392.11             391.60               0.746
---------------------------------------------------------------------------------------
)";

TEST(PerftestTest, ReadsBandwidthInGigabits) {
  const PerftestLog log = read_perftest(kBandwidth);
  EXPECT_EQ(log.tool, "ib_write_bw");
  EXPECT_EQ(log.device, "mlx5_0");
  EXPECT_FALSE(log.gpu_direct);
  ASSERT_EQ(log.rows.size(), 2U);
  EXPECT_EQ(log.rows[1].bytes, 65536);
  EXPECT_EQ(log.rows[1].iterations, 5000);
  EXPECT_NEAR(log.rows[1].GBps.value(), 391.60 / 8, 1e-9);
  EXPECT_NEAR(log.rows[1].peak_GBps.value(), 392.11 / 8, 1e-9);
  EXPECT_FALSE(log.rows[1].median_us.has_value());
}

TEST(PerftestTest, MegabytesAreTwoToTheTwentieth) {
  const PerftestLog log = read_perftest(
      " initializing CUDA\n RDMA_Read BW Test\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 65536      1000             11000.00            10000.00           0.160000\n");
  EXPECT_EQ(log.tool, "ib_read_bw");
  EXPECT_TRUE(log.gpu_direct);
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_NEAR(log.rows[0].GBps.value(), 10000.0 * 1048576 / 1e9, 1e-9);
}

TEST(PerftestTest, ReadsLatencyColumnsByTheirTitles) {
  const PerftestLog log = read_perftest(
      "                    RDMA_Write Latency Test\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
      "percentile[usec]   99.9% percentile[usec] \n"
      " 2       1000          1.91           5.02         1.95     \t       1.96        \t0.05   \t\t2.10    \t\t5.02   \n");
  EXPECT_EQ(log.tool, "ib_write_lat");
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(log.rows[0].min_us.value(), 1.91);
  EXPECT_DOUBLE_EQ(log.rows[0].max_us.value(), 5.02);
  EXPECT_DOUBLE_EQ(log.rows[0].median_us.value(), 1.95);
  EXPECT_DOUBLE_EQ(log.rows[0].mean_us.value(), 1.96);
  EXPECT_DOUBLE_EQ(log.rows[0].p99_us.value(), 2.10);
  EXPECT_FALSE(log.rows[0].GBps.has_value());
}

TEST(PerftestTest, WhatIsNoTableGivesNoRows) { EXPECT_TRUE(read_perftest("Couldn't connect to host\n1 2 3\n").rows.empty()); }

}  // namespace
}  // namespace weft::measure
