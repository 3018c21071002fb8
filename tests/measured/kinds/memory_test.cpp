#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(MemoryKindTest, ListsWhatNoModelCovers) {
  MeasuredPoint odd;
  odd.kind = "memory";
  odd.what = "transpose";
  odd.bytes = Bytes{1024};
  odd.median_us = 3;
  const Predictions predictions = predict_points(four_gpus(), log_with(odd), {});
  ASSERT_EQ(predictions.points.size(), 1U);
  EXPECT_FALSE(predictions.points[0].predicted_us.has_value());
  EXPECT_EQ(predictions.points[0].not_modelled, "memory kernels 'transpose'");
  EXPECT_EQ(predictions.notes, std::vector<std::string>{"1 point not modelled: memory kernels 'transpose'"});
}

TEST(MemoryKindTest, TakesAKernelsBytesAndTheGapBeforeIt) {
  const net::Cluster cluster = four_gpus();
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  MeasuredPoint record = record_of("memory", "copy");
  record.bytes = Bytes{1 << 28};
  const double alone = times.alone({.kind = work::KernelKind::kCopy, .bytes = 1 << 28}).us();
  EXPECT_NEAR(*predicted(record).predicted_us, alone + times.gap().us(), 1e-6);
  record.what = "rmsnorm";
  record.elements = 1 << 26;
  EXPECT_FALSE(record.hand_written) << "a framework's";
  const double norm = times.alone({.kind = work::KernelKind::kNormForward, .elements = 1 << 26, .bytes = 1 << 28}).us();
  EXPECT_NEAR(*predicted(record).predicted_us, norm + times.gap().us(), 1e-6);
  record.hand_written = true;
  EXPECT_NEAR(*predicted(record).predicted_us, alone + times.gap().us(), 1e-6) << "at the speed of a copy";
  record.what = "softmax";
  const double softmax = times
                             .alone({.kind = work::KernelKind::kStrided,
                                     .strided = work::StridedKind::kScoresSoftmax,
                                     .elements = 1 << 26,
                                     .bytes = 1 << 28})
                             .us();
  EXPECT_NEAR(*predicted(record).predicted_us, softmax + times.gap().us(), 1e-6);
  record.bytes = Bytes{};
  EXPECT_EQ(predicted(record).not_modelled, "the record does not say how large it is");
}

// Each of a kind's kernels is in one part, so that none is fitted to twice.
TEST(MemoryKindTest, EveryKernelIsFittedToInOnePart) {
  KernelLog log = kernel_log();
  for (const work::KernelKind kind :
       {work::KernelKind::kElementwise, work::KernelKind::kCopy, work::KernelKind::kSoftmaxLoss, work::KernelKind::kNormForward,
        work::KernelKind::kNormBackward, work::KernelKind::kMemset})
    log.kernels.push_back({.kernel = {.kind = kind, .elements = 1e6, .bytes = 1e7}, .us = 10.0});
  for (const work::StridedKind kind : {work::StridedKind::kForward, work::StridedKind::kCopy, work::StridedKind::kStack})
    log.kernels.push_back({.kernel = {.kind = work::KernelKind::kStrided, .strided = kind, .elements = 1e6}, .us = 10.0});
  std::size_t samples = 0;
  for (const FitPart& part : fits_of("memory", {log}, four_gpus().profile)) {
    EXPECT_EQ(part.id, "memory");
    samples += part.samples.size();
  }
  EXPECT_EQ(samples, log.kernels.size());
}

}  // namespace
}  // namespace weft::measured
