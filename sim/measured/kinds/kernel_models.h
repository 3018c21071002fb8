// The kinds that are kernels share this: how one is predicted, and the samples of kernel logs.
//
// Model: a kernel of many in a row takes its time alone and the gap before it, or the host's launch where that is longer.
// Whether its data still lie in the L2 does not matter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/measured/fit/sample.h"
#include "sim/measured/point_kind.h"
#include "sim/measured/readers/kernel_log.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured::detail {

[[nodiscard]] work::Kernel gemm_of(work::Precision precision, std::int64_t batch, std::int64_t m, std::int64_t n,
                                   std::int64_t k);
[[nodiscard]] work::Kernel kernel_of_bytes(work::KernelKind kind, double bytes, double elements = 0);
// Bytes of one number of its type.
[[nodiscard]] std::int64_t width_of(const MeasuredPoint& measured);

// Time in a row of nothing else over that at full clock.
[[nodiscard]] double sustained_slowdown(const work::KernelTimes& times, const work::GpuPower& power,
                                        const work::Kernel& kernel);

// PointKind::predict of every kind that says what its kernels are.
[[nodiscard]] std::vector<ValidationPoint> predict_kernels(const PointPlace& place, const MeasuredPoint& measured,
                                                           ValidationPoint point);

// "gemm 2048 x 4096 x 4096"
[[nodiscard]] std::string text_of(const work::Kernel& kernel);
[[nodiscard]] double alone_us(const KernelLog& log, const Profile& profile, const work::Kernel& kernel);

// A sample of one log of kernels, which takes `us` and is predicted from the profile alone.
[[nodiscard]] Sample kernel_sample(const KernelLog& log, std::string kind, std::string label, double measured,
                                   std::function<double(const Profile&)> predicted);
// A row, alone at full clock.
[[nodiscard]] Sample row_alone(const KernelLog& log, const KernelRow& row);

using Wanted = std::function<bool(const work::Kernel&)>;
// The rows that are wanted, alone.
[[nodiscard]] FitPart fit_alone(const FitData& data, std::string id, std::vector<std::string> keys, const Wanted& wanted);

}  // namespace weft::measured::detail
