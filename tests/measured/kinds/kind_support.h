// Records of measurement files, and what they are predicted to take on a node of four GPUs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/measured/point_kind.h"
#include "sim/measured/predict.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "tests/measured/measurement_support.h"

namespace weft::measured::test {

inline PointLog log_with(MeasuredPoint point) {
  PointLog log;
  log.file = "points.jsonl";
  log.gpu = "NVIDIA H200";
  log.digest = "0123456789abcdef";
  log.points.push_back(std::move(point));
  return log;
}

inline std::vector<ValidationPoint> all_predicted(MeasuredPoint point, const net::Cluster& cluster = four_gpus()) {
  return predict_points(cluster, log_with(std::move(point)), {}).points;
}

inline ValidationPoint predicted(MeasuredPoint point, const net::Cluster& cluster = four_gpus()) {
  return all_predicted(std::move(point), cluster).front();
}

inline MeasuredPoint record_of(const std::string& kind, const std::string& what, double us = 1) {
  MeasuredPoint point;
  point.kind = kind;
  point.what = what;
  point.median_us = us;
  return point;
}

inline MeasuredPoint gemm(std::int64_t size, double us) {
  MeasuredPoint point = record_of("gemm", "", us);
  point.type = "bf16";
  point.m = point.n = point.k = size;
  return point;
}

inline MeasuredPoint copy(std::vector<std::pair<int, int>> transfers, std::int64_t bytes) {
  MeasuredPoint point = record_of("copy", "copy_engine");
  point.pattern = "peer";
  point.transfers = std::move(transfers);
  point.bytes = Bytes{bytes};
  return point;
}

inline work::Kernel square_gemm(std::int64_t size) {
  work::Kernel kernel;
  kernel.kind = work::KernelKind::kGemm;
  kernel.m = kernel.n = kernel.k = size;
  return kernel;
}

// A log of kernels of an H100, without rows.
inline KernelLog kernel_log() {
  return {.file = "some/where.jsonl", .gpu = "h100_sxm", .machine = "H100", .digest = "0123456789abcdef"};
}

inline std::vector<FitPart> fits_of(const std::string& kind, const std::vector<KernelLog>& logs, const Profile& profile) {
  return find_point_kind(kind)->fits({logs, profile, nullptr});
}

}  // namespace weft::measured::test
