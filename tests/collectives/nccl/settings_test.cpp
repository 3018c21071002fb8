#include "sim/collectives/nccl/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectives/nccl/setting_error.h"

namespace weft::coll::nccl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NcclSettingsTest, TakesValuesInTheirRange) {
  EXPECT_EQ(setting_error("NTHREADS", "64"), "no error");
  EXPECT_EQ(setting_error("NTHREADS", "512"), "no error");
  EXPECT_EQ(setting_error("NCCL_LL128_NTHREADS", "160"), "no error");
  EXPECT_EQ(setting_error("MIN_NCHANNELS", "64"), "no error");
  EXPECT_EQ(setting_error("BUFFSIZE", "0x400000"), "no error");
  EXPECT_EQ(setting_error("THREAD_THRESHOLDS", "8 8 64 32 8 64"), "no error");
  EXPECT_EQ(setting_error("P2P_LEVEL", "SYS"), "no error");
}

TEST(NcclSettingsTest, RefusesValuesOutsideAndSaysWhatItExpects) {
  EXPECT_THAT(setting_error("NTHREADS", "32"), HasSubstr("NCCL_NTHREADS: expected a number of threads from 64 to 512"));
  EXPECT_THAT(setting_error("NTHREADS", "100"), HasSubstr("a multiple of 32, got '100'"));
  EXPECT_THAT(setting_error("NTHREADS", "544"), HasSubstr("got '544'"));
  EXPECT_THAT(setting_error("MAX_NCHANNELS", "0"), HasSubstr("expected a number of channels from 1 to 64, got '0'"));
  EXPECT_THAT(setting_error("MAX_NCHANNELS", "65"), HasSubstr("got '65'"));
  EXPECT_THAT(setting_error("BUFFSIZE", "4MB"), HasSubstr("expected a number of bytes"));
  EXPECT_THAT(setting_error("NVLS_ENABLE", "yes"), HasSubstr("expected 0, 1 or 2"));
  EXPECT_THAT(setting_error("THREAD_THRESHOLDS", "8,8,64"), HasSubstr("separated by blanks"));
  EXPECT_THAT(setting_error("THREAD_THRESHOLDS", "1 2 3 4 5 6 7"), HasSubstr("up to six"));
  EXPECT_THAT(setting_error("P2P_LEVEL", "NODE"), HasSubstr("LOC, NVL, PIX, PXB, PHB, SYS"));
}

// A connection is one flow here: what several queue pairs change, which paths a fabric spreads them over, is not modelled.
TEST(NcclSettingsTest, RefusesMoreThanOneQueuePairAConnectionAndNotesThoseOfLogs) {
  EXPECT_EQ(setting_error("IB_QPS_PER_CONNECTION", "1"), "no error");
  EXPECT_THAT(setting_error("IB_QPS_PER_CONNECTION", "4"), HasSubstr("are not modelled), got '4'"));
  Settings of_log;
  of_log.set_from_log("NCCL_IB_QPS_PER_CONNECTION", "4");
  EXPECT_THAT(of_log.ignored(), ElementsAre("NCCL_IB_QPS_PER_CONNECTION=4"));
  Settings one;
  one.set("NCCL_IB_QPS_PER_CONNECTION", "1");
  EXPECT_THAT(one.ignored(), IsEmpty());
}

TEST(NcclSettingsTest, NamesTheNearestVariable) {
  EXPECT_THAT(setting_error("NTHREAD", "64"), HasSubstr("unknown NCCL variable 'NCCL_NTHREAD'"));
  EXPECT_THAT(setting_error("NTHREAD", "64"), HasSubstr("did you mean 'NCCL_NTHREADS'?"));
}

TEST(NcclSettingsTest, ReadsNumbers) {
  Settings settings;
  settings.set("BUFFSIZE", "0x100000");
  settings.set("THREAD_THRESHOLDS", "-2 16");
  EXPECT_EQ(settings.bytes("BUFFSIZE"), Bytes{1 << 20});
  EXPECT_THAT(settings.integers("THREAD_THRESHOLDS"), ElementsAre(-2, 16));
  EXPECT_THAT(settings.integers("MIN_NCHANNELS"), IsEmpty());
  EXPECT_EQ(settings.integer("MIN_NCHANNELS"), std::nullopt);
}

TEST(NcclSettingsTest, ALogsImpossibleValueCountsAsNotGiven) {
  Settings settings;
  settings.set_from_log("NCCL_MIN_NCHANNELS", "many");
  settings.set_from_log("NCCL_NTHREADS", "1000");
  EXPECT_EQ(settings.integer("MIN_NCHANNELS"), std::nullopt);
  EXPECT_EQ(settings.integer("NTHREADS"), std::nullopt);
  EXPECT_EQ(settings.raw_integer("NTHREADS"), 1000);
}

TEST(NcclSettingsTest, ListsWhatIsNotModelled) {
  Settings settings;
  settings.set("CGA_CLUSTER_SIZE", "2");
  settings.set("DEBUG", "INFO");
  settings.set("NTHREADS", "128");
  settings.set_from_log("NCCL_SOMETHING_NEW", "1");
  EXPECT_THAT(settings.ignored(), ElementsAre("NCCL_CGA_CLUSTER_SIZE=2", "NCCL_SOMETHING_NEW=1"));
}

}  // namespace
}  // namespace weft::coll::nccl
