// Launches of empty kernels: by the host, from kernel to kernel of a stream and of a CUDA graph, and until the host has waited.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/kernels/launch_costs.h"

namespace weft::measured {
namespace {

// `count` is a graph's kernels, and of single launches the threads that launch at once.
std::optional<Duration> time_of_launch(const work::LaunchTimes& launches, const MeasuredPoint& measured) {
  const std::string& what = measured.what;
  if (what == "kernel") return launches.kernel();
  if (what == "kernel_sync") return launches.kernel_until_waited();
  if (what == "kernel_gap") return launches.kernel_in_stream();
  if (what == "event") return launches.event();
  if (what == "graph") return launches.graph(measured.count);
  if (what == "graph_sync") return launches.graph_until_waited(measured.count);
  if (what == "graph_node") return launches.kernel_in_graphs(measured.count);
  return std::nullopt;
}

std::vector<ValidationPoint> predict_launch(const PointPlace& place, const MeasuredPoint& measured, ValidationPoint point) {
  const std::optional<Duration> time = time_of_launch(work::LaunchTimes{place.cluster.profile}, measured);
  if (!time) return not_modelled(std::move(point), fmt::format("launches of empty kernels, kind '{}'", measured.what));
  point.predicted_us = time->us();
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
  // Gaps are those of kernels that do something, from traces and replays. So launches of empty ones say what is beyond them.
  FitPart launches{.id = "launches", .keys = {"gpu.launch.host", "gpu.launch.empty_kernel"}, .samples = {}};
  for (const KernelLog& log : data.logs) {
    for (const MeasuredPoint& point : log.launches) {
      if (!time_of_launch(work::LaunchTimes{data.profile}, point)) continue;
      launches.samples.push_back(
          detail::kernel_sample(log, "launch", launch_label(point), point.median_us,
                                [point](const Profile& p) { return time_of_launch(work::LaunchTimes{p}, point)->us(); }));
    }
  }
  return {std::move(part), std::move(launches)};
}

}  // namespace

const PointKind launch_kind{.name = "launch", .predict = predict_launch, .label = launch_label, .fits = launch_fits};

}  // namespace weft::measured
