#include "sim/workloads/kernels/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/portable_math.h"

namespace weft::work {
namespace {

constexpr double kSlowest = 5;        // SMs have a lowest clock
constexpr double kBinsOfWindow = 16;  // as finely as clocks change
constexpr double kMostBins = 1 << 20;

constexpr const char* kDuty =
    "models/training_steps §7: a product of 8192 that runs 30 to 100 % of the time on H200 and on H100 "
    "(validate/measured/h200x2_torch.json, h100x1_torch.json)";

Param<PowerCosts> share(const char* name, double PowerCosts::*member, ParamSource source, std::string reference,
                        const char* description) {
  return param<PowerCosts>(name, member,
                           {.unit = "ratio",
                            .min = 0.0,
                            .max = 4.0,
                            .source = source,
                            .reference = std::move(reference),
                            .description = description,
                            .gpu = "H200"});
}

Param<PowerCosts> of_gpu(const char* name, double PowerCosts::*member, const char* unit, const char* description) {
  return param<PowerCosts>(name, member,
                           {.unit = unit,
                            .min = 0.0,
                            .max = 100'000.0,
                            .source = ParamSource::kDatasheet,
                            .reference = "weft explain gpus",
                            .description = description});
}

double ratio(double of, double to) { return of > 0 && to > 0 ? of / to : 1.0; }

}  // namespace

const ParamGroup<PowerCosts> power_costs{
    "gpu.power",
    "power by what a GPU is busy with, over that of its data sheet",
    {share("idle", &PowerCosts::idle, ParamSource::kMeasured, kDuty, "at rest, at full clock"),
     share("tensor", &PowerCosts::tensor, ParamSource::kMeasured, kDuty, "tensor cores at their peak rate, beside that"),
     share("memory", &PowerCosts::memory, ParamSource::kFitted,
           "models/training_steps §7: the steps ddp_h4096_l8_s2048 and tp4_h8192_l8_s4096",
           "HBM at its full bandwidth, beside that"),
     param("window", &PowerCosts::window,
           {.min = 1_ms,
            .max = 10_s,
            .source = ParamSource::kAssumed,
            .reference = "models/training_steps §7: read by eye off rows of weft measure, where the clock falls 45 to 60 ms "
                         "after products of 8192 begin (validate/measured/h100x2_full.jsonl)",
            .description = "over which the mean of power meets the limit",
            .gpu = "H100"}),
     of_gpu("of_limit", &PowerCosts::of_limit, "W", "power of the GPU that the shares are those of; 0: of the GPU at hand"),
     of_gpu("of_peak", &PowerCosts::of_peak, "TFLOP/s", "the same GPU's dense peak in bf16")}};

const ParamGroup<PowerLimit> power_limit{"gpu",
                                         "the limit of a GPU's power",
                                         {param("power_limit", &PowerLimit::watts,
                                                {.unit = "W",
                                                 .min = 0.0,
                                                 .max = 10'000.0,
                                                 .source = ParamSource::kDatasheet,
                                                 .reference = "weft explain gpus",
                                                 .description = "as nvidia-smi -pl sets it; 0: the data sheet's power"})}};

GpuPower gpu_power(const GpuSpec& gpu, const Profile& profile) {
  GpuPower power{.costs = profile.get(power_costs), .limit = 0};
  PowerCosts& costs = power.costs;
  const double watts_of = ratio(costs.of_limit, gpu.tdp_watts);
  const double memory_and_rest = costs.memory + costs.idle;
  costs.idle *= watts_of;
  costs.tensor *= watts_of / ratio(costs.of_peak * 1e12, stated_peak(gpu, Precision::kBf16));
  costs.memory = std::max(0.0, memory_and_rest - costs.idle);
  const double watts = profile.get(power_limit).watts;
  if (gpu.tdp_watts > 0) power.limit = watts > 0 ? watts / gpu.tdp_watts : 1.0;
  return power;
}

std::string limit_problem(const GpuSpec& gpu, const Profile& profile) {
  const double watts = profile.get(power_limit).watts;
  const double least = gpu_power(gpu, profile).costs.idle * gpu.tdp_watts;
  if (watts <= 0 || gpu.tdp_watts <= 0 || (watts > least && watts <= gpu.tdp_watts)) return {};
  return fmt::format("expected above {:.0f} W, which {} takes at rest, and at most its data sheet's {:g} W, got {:g} W", least,
                     gpu.name, gpu.tdp_watts, watts);
}

PowerDraw draw_of(const PowerCosts& costs, const PowerLoad& kernel) {
  const double tensor = costs.tensor * kernel.tensor;
  const double memory = costs.memory * kernel.memory;
  return {.tensor = tensor, .memory = std::sqrt(tensor * tensor + memory * memory) - tensor};
}

double slowdown_under(const GpuPower& power, const PowerDraw& draw) {
  if (power.limit <= 0) return 1.0;
  const double room = power.limit - power.costs.idle - draw.memory;
  if (draw.tensor <= room) return 1.0;
  return draw.tensor >= kSlowest * kSlowest * room ? kSlowest : std::sqrt(draw.tensor / room);
}

double least_slowdown(const GpuPower& power, double tensor) {
  const double room = power.limit - power.costs.idle;
  if (power.limit <= 0 || power.costs.tensor <= room) return 1.0;
  const double free = std::max(0.0, room / power.costs.tensor);
  const double beyond = std::max(0.0, std::min(tensor, 1.0) - free) / (1.0 - free);
  return 1.0 + beyond * (slowdown_under(power, {.tensor = power.costs.tensor}) - 1.0);
}

double stretch_of(double slowdown, double memory_share) {
  if (slowdown == 1.0) return 1.0;
  const double held = std::min(memory_share * memory_share, 1.0);
  return std::sqrt((1.0 - held) * slowdown * slowdown + held);
}

PowerTimeline::PowerTimeline(double iteration, double window) {
  const double length = std::max(iteration, 1.0);
  const double count = std::clamp(std::ceil(length * kBinsOfWindow / window), 1.0, kMostBins);
  bin_ = length / count;
  bins_.resize(static_cast<std::size_t>(count));
  window_bins_ = static_cast<std::size_t>(std::max(1.0, std::round(window / bin_)));
}

std::size_t PowerTimeline::bin_of(double at) const {
  return at <= 0 ? 0 : std::min(static_cast<std::size_t>(at / bin_), bins_.size() - 1);
}

void PowerTimeline::add(double begin, double end, const PowerDraw& draw) {
  const std::size_t last = bin_of(end);
  for (std::size_t bin = bin_of(begin); bin <= last; ++bin) {
    const double from = std::max(begin, static_cast<double>(bin) * bin_);
    const double until = bin == last ? end : std::min(end, static_cast<double>(bin + 1) * bin_);
    bins_[bin].tensor += draw.tensor * (until - from);
    bins_[bin].memory += draw.memory * (until - from);
  }
}

std::vector<double> PowerTimeline::slowdowns(const GpuPower& power) const {
  const std::size_t count = bins_.size();
  std::vector<PowerDraw> before(2 * count + 1);  // sums over two iterations
  for (std::size_t i = 0; i < 2 * count; ++i) {
    before[i + 1] = {.tensor = before[i].tensor + bins_[i % count].tensor,
                     .memory = before[i].memory + bins_[i % count].memory};
  }
  const std::size_t iterations = window_bins_ / count;
  const auto whole = static_cast<double>(iterations);
  const std::size_t rest = window_bins_ % count;
  const double window = static_cast<double>(window_bins_) * bin_;
  std::vector<double> found(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto mean = [&](double PowerDraw::*of) {
      return (whole * before[count].*of + before[count + i].*of - before[count + i - rest].*of) / window;
    };
    found[i] = slowdown_under(power, {.tensor = mean(&PowerDraw::tensor), .memory = mean(&PowerDraw::memory)});
  }
  return found;
}

const ParamGroup<PowerSpread> power_spread{
    "gpu.binning",
    "GPUs of one model that are not alike",
    {param("deviation", &PowerSpread::deviation,
           {.unit = "ratio",
            .min = 0.0,
            .max = 0.4,
            .source = ParamSource::kMeasured,
            .reference =
                "12 GEMMs of 8192 in a row on every GPU at once, `gemm_alone` of the quick points of six runs on nodes of "
                "4 and 2 H200 (validate/measured): times differ by 2.2 % over the runs, 0.2 to 4 % in one, and go with "
                "the root of power",
            .description = "standard deviation of the power that tensor cores take for the same work",
            .gpu = "H200"})}};

double most_of(const PowerSpread& spread, std::size_t gpus) {
  const auto n = static_cast<double>(std::max<std::size_t>(gpus, 1));
  return 1.0 + spread.deviation * std::sqrt(2.0 * portable_log(n));
}

}  // namespace weft::work
