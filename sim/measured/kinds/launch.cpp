// Launches of empty kernels, of which the gap between two kernels of a stream is modelled.
#include <fmt/format.h>

#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

std::vector<ValidationPoint> predict_launch(const PointPlace& place, const MeasuredPoint& measured, ValidationPoint point) {
  // device.launch.* are of NCCL's calls, gpu.stream.graph_gap of kernels that do something.
  if (measured.what != "kernel_gap")
    return not_modelled(std::move(point), fmt::format("launches of empty kernels, kind '{}'", measured.what));
  point.predicted_us = std::get<Duration>(place.cluster.profile.value("gpu.stream.gap")).us();
  return {std::move(point)};
}

std::string launch_label(const MeasuredPoint& measured) {
  return measured.count > 1 ? fmt::format("{} of {}", measured.what, measured.count) : measured.what;
}

std::vector<FitPart> launch_fits(const FitData& data) {
  FitPart part{.id = "stream", .keys = {"gpu.stream.gap"}, .samples = {}};
  for (const KernelLog& log : data.logs) {
    for (const double us : log.gaps_us) {
      part.samples.push_back(detail::kernel_sample(log, "gap", "gap", us, [&log](const Profile& profile) {
        return work::KernelTimes{work::gpu_spec(log.gpu), profile}.gap().seconds() * 1e6;
      }));
    }
  }
  return {std::move(part)};
}

}  // namespace

const PointKind launch_kind{.name = "launch", .predict = predict_launch, .label = launch_label, .fits = launch_fits};

}  // namespace weft::measured
