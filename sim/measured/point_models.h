// The models behind predict_points.h, one function a kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/measured/predict.h"
#include "sim/measured/readers/point_log.h"
#include "sim/network/cluster.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::measured::detail {

struct PointAnswer {
  std::optional<double> us = {};
  std::string why_not = {};  // where there is no time
  double flops = 0;
  std::optional<work::Precision> precision = {};  // of kernels
  bool host_bound = false;                        // what was measured is the host's time
};

// The kernels of one measured operation; none where nothing is known of it or its size.
[[nodiscard]] std::vector<work::Kernel> kernels_of(const MeasuredPoint& point);
[[nodiscard]] PointAnswer predict_kernel(const net::Cluster& cluster, const MeasuredPoint& point);
[[nodiscard]] PointAnswer predict_launch(const net::Cluster& cluster, const MeasuredPoint& point);
// Copies by copy engines; the others are by thread blocks.
[[nodiscard]] bool is_by_engine(const MeasuredPoint& point);
// On the cluster's links as they are, with what `profile` says of gpu.copy, gpu.contention and network.host_memory.
[[nodiscard]] PointAnswer predict_copy(const net::Cluster& cluster, const Profile& profile, const MeasuredPoint& point,
                                       const PredictOptions& options);
[[nodiscard]] PointAnswer predict_nic(const net::Cluster& cluster, const MeasuredPoint& point, const PredictOptions& options);
// One answer for each part.
[[nodiscard]] std::vector<PointAnswer> predict_overlap(const net::Cluster& cluster, const MeasuredPoint& point,
                                                       const PredictOptions& options);

}  // namespace weft::measured::detail
