#include "sim/measured/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "tests/measured/measurement_support.h"

namespace weft::measured {
namespace {

using namespace weft::literals;
using test::four_gpus;
using test::log_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;

TEST(PredictTest, GivesAPointForEveryMeasuredHalfOfARow) {
  Measurement log = log_of("all_reduce", {1_MiB, 2_MiB});
  log.log.rows[1].in_place = log.log.rows[1].out_of_place;
  const Predictions predictions = predict(four_gpus(), log, {});
  ASSERT_THAT(predictions.points, SizeIs(3));
  EXPECT_EQ(predictions.points[0].bytes, 1_MiB);
  EXPECT_FALSE(predictions.points[1].in_place);
  EXPECT_TRUE(predictions.points[2].in_place);
  EXPECT_EQ(predictions.points[1].predicted_us, predictions.points[2].predicted_us);
  EXPECT_GT(*predictions.points[1].predicted_us, *predictions.points[0].predicted_us);
  EXPECT_EQ(predictions.points[0].file, "logs/all_reduce.txt");
  EXPECT_EQ(predictions.points[0].ranks, 4);
}

TEST(PredictTest, AThreadLaunchesOnItsGpusOneAfterAnother) {
  // 100 us a launch is above what 8 bytes take on the device: four GPUs of one thread take 400 us, one GPU each 100 us.
  const net::Cluster cluster = four_gpus("device.launch.host_cost: {value: 100 us, source: assumed}");
  Measurement log = log_of("all_reduce", {8_B});
  // Only the last of 20 calls adds its time on the device.
  EXPECT_NEAR(*predict(cluster, log, {}).points[0].predicted_us, 400.0, 1.0);
  log.log.gpus_per_thread = 1;
  log.log.threads = 4;
  EXPECT_NEAR(*predict(cluster, log, {}).points[0].predicted_us, 100.0, 1.0);
}

TEST(PredictTest, TakesWhatTheHostWasMeasuredToTake) {
  // Thirty us a call are above what 8 bytes take on the device, whatever the profile's launches cost.
  Measurement log = log_of("all_reduce", {8_B});
  log.log.gpus_per_thread = 1;
  log.log.threads = 4;
  log.log.rows[0].host_us = 30;
  log.log.rows[0].out_of_place->time_us = 31;
  const ValidationPoint bound = predict(four_gpus(), log, {}).points[0];
  EXPECT_NEAR(*bound.predicted_us, 30.0, 1.0);
  EXPECT_EQ(exclusion_of(bound), Exclusion::kCpuTime);
  log.log.rows[0].out_of_place->time_us = 60;  // then something else took longer, and the row counts
  EXPECT_EQ(exclusion_of(predict(four_gpus(), log, {}).points[0]), Exclusion::kNone);
  // One thread of four GPUs issues the four kernels one after another.
  log.log.gpus_per_thread = 4;
  log.log.threads = 1;
  EXPECT_NEAR(*predict(four_gpus(), log, {}).points[0].predicted_us, 30.0, 1.0);
}

// Rings of four H200 in threads, 64 and 4 MiB: 321.0 (Simple) and 54.3 us (LL) in nccl-tests, whose calls walk through memory
// (tests/data/h200x4/all_reduce_4gpu_Ring_*.txt), 319.9 and 48.0 on the same buffers (validate/measured/h200x4_full.jsonl).
TEST(PredictTest, CallsOnTheSameBuffersReadCaches) {
  const auto slower_in_memory = [](const char* protocol, Bytes bytes) {
    Measurement log = log_of("all_reduce", {bytes});
    log.log.gpus_per_thread = 1;
    log.log.threads = 4;
    log.log.max_bytes = 1_GiB;
    log.settings = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", protocol}};
    const double in_memory = *predict(four_gpus(), log, {}).points[0].predicted_us;
    log.log.max_bytes = {};  // not said: nccl-tests walks through memory whatever it is
    EXPECT_EQ(*predict(four_gpus(), log, {}).points[0].predicted_us, in_memory);
    log.log.same_buffers = true;
    return in_memory / *predict(four_gpus(), log, {}).points[0].predicted_us;
  };
  EXPECT_NEAR(slower_in_memory("Simple", 64_MiB), 321.0 / 319.9, 0.01);
  EXPECT_NEAR(slower_in_memory("LL", 4_MiB), 54.3 / 48.0, 0.09);
}

// One channel on two H200, which no profile was fitted to: 129.8 us, where bytes are copied, and 152.0, where floats are added
// up (validate/measured/h200x2_nccl_clocks.json).
TEST(PredictTest, WhatIsCopiedIsKeptByteByByteInLl) {
  const auto one_channel = [](const char* collective) {
    Measurement log = log_of(collective, {1_MiB});
    log.log.ranks = 2;
    log.log.gpus_per_thread = 1;
    log.log.threads = 2;
    log.log.same_buffers = true;
    log.settings = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}, {"NCCL_MAX_NCHANNELS", "1"}};
    return *predict(four_gpus(), log, {}).points[0].predicted_us;
  };
  EXPECT_NEAR(one_channel("all_gather"), 129.8, 0.12 * 129.8);
  EXPECT_NEAR(one_channel("all_reduce"), 152.0, 0.12 * 152.0);
}

TEST(PredictTest, SettingsOfTheLogActAndWinOverTheCluster) {
  const net::Cluster cluster = four_gpus("", ", nccl: {MAX_NCHANNELS: 2}");
  Measurement log = log_of("all_reduce", {64_MiB});
  EXPECT_EQ(predict(cluster, log, {}).points[0].channels, 2);
  log.settings["NCCL_MAX_NCHANNELS"] = "1";
  EXPECT_EQ(predict(cluster, log, {}).points[0].channels, 1);
}

// NCCL chooses for the sum of a group's bytes and divides its channels among the calls; sends it does one after another.
TEST(PredictTest, CollectivesOfAGroupTakeWhatOneOfAllTheirBytesDoes) {
  const auto predicted = [](const char* collective, Bytes bytes, int together) {
    Measurement log = log_of(collective, {bytes});
    log.log.gpus_per_thread = 1;
    log.log.threads = 4;
    log.log.max_bytes = 1_GiB;
    log.log.aggregated_iterations = together;
    return predict(four_gpus(), log, {});
  };
  const Predictions eight = predicted("all_reduce", 1_MiB, 8);
  EXPECT_NEAR(8 * *eight.points[0].predicted_us, *predicted("all_reduce", 8_MiB, 1).points[0].predicted_us, 1e-4);
  EXPECT_EQ(eight.points[0].protocol, predicted("all_reduce", 8_MiB, 1).points[0].protocol);
  EXPECT_THAT(eight.notes, IsEmpty());
  const Predictions sends = predicted("sendrecv", 1_MiB, 8);
  EXPECT_EQ(sends.points[0].predicted_us, predicted("sendrecv", 1_MiB, 1).points[0].predicted_us);
  EXPECT_THAT(sends.notes, Contains(HasSubstr("aggregated calls of sendrecv")));
}

TEST(PredictTest, WhatIsNotModelledIsNotedOnce) {
  Measurement log = log_of("sendrecv", {1_MiB, 2_MiB});
  log.settings["NCCL_CGA_CLUSTER_SIZE"] = "2";
  log.log.aggregated_iterations = 4;
  const Predictions predictions = predict(four_gpus(), log, {});
  EXPECT_THAT(predictions.notes, SizeIs(2));
  EXPECT_THAT(predictions.notes, Contains(HasSubstr("NCCL_CGA_CLUSTER_SIZE=2")));
  EXPECT_THAT(predictions.notes, Contains(HasSubstr("aggregated calls")));
}

TEST(PredictTest, ACollectiveThatIsNotModelledHasNoPrediction) {
  const Predictions predictions = predict(four_gpus(), log_of("hypercube", {1_MiB, 2_MiB}), {});
  ASSERT_THAT(predictions.points, SizeIs(2));
  EXPECT_FALSE(predictions.points[0].predicted_us);
  EXPECT_THAT(predictions.notes, ElementsAre("hypercube is not modelled"));
}

TEST(PredictTest, NoBytesAreNotPredicted) {
  const Predictions predictions = predict(four_gpus(), log_of("alltoall", {Bytes{0}, 64_B}), {});
  EXPECT_FALSE(predictions.points[0].predicted_us);
  EXPECT_TRUE(predictions.points[1].predicted_us);
  EXPECT_THAT(predictions.notes, IsEmpty());
}

TEST(PredictTest, ACollectiveOfNoBytesDoesNotCountAndOneByteDoes) {
  const Predictions predictions = predict(four_gpus(), log_of("alltoall", {Bytes{0}, 64_B}), {});
  EXPECT_EQ(exclusion_of(predictions.points[0]), Exclusion::kZeroBytes);
  EXPECT_EQ(exclusion_of(predictions.points[1]), Exclusion::kNone);
}

TEST(PredictTest, CollectivesAreSummedUpByName) {
  ValidationReport report{predict(four_gpus(), log_of("all_gather", {1_MiB}), {}).points};
  EXPECT_THAT(report.summary_by_collective(), ElementsAre(Key("all_gather")));
  EXPECT_EQ(report.points[0].kind, "collective");
}

TEST(PredictTest, AShareOfLessThanAUnitTakesAsLongAsOneUnit) {
  // Two bytes for each of four ranks, which nccl-tests would cut to nothing, against its smallest size that is something.
  const Predictions predictions = predict(four_gpus(), log_of("all_gather", {8_B, 64_B}), {});
  EXPECT_GT(*predictions.points[0].predicted_us, 0.0);
  EXPECT_EQ(predictions.points[0].predicted_us, predictions.points[1].predicted_us);
}

TEST(PredictTest, MarksWhatTheProfileWasFittedOn) {
  const Measurement log = log_of("all_reduce", {1_MiB, 2_MiB});
  net::Cluster cluster = four_gpus();
  Calibration calibration;
  calibration.id = "fit";
  calibration.training.push_back(
      {.file = "any name", .digest = digest_of(log.log), .collective = "all_reduce", .ranks = 4, .bytes = {2_MiB}});
  cluster.profile = cluster.profile.with_calibration(calibration);
  const Predictions predictions = predict(cluster, log, {});
  EXPECT_FALSE(predictions.points[0].training);
  EXPECT_TRUE(predictions.points[1].training);
}

TEST(PredictTest, IsTheSameEveryTime) {
  const Measurement log = log_of("all_gather", {64_B, 1_MiB, 256_MiB});
  const Predictions first = predict(four_gpus(), log, {});
  const Predictions second = predict(four_gpus(), log, {});
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(first.points[2].predicted_us, second.points[2].predicted_us);
}

}  // namespace
}  // namespace weft::measured
