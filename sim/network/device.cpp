#include "sim/network/device.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/core/error.h"

namespace weft::net {
namespace {

using namespace literals;

// The time `ps` from `now`, up to the next picosecond. What lies within a thousandth of a picosecond above a whole one is the
// rounding of the division that made it.
Time after(Time now, double ps) {
  const double whole = std::max(0.0, std::ceil(ps - 1e-3));
  constexpr double kRange = 9e18;  // beyond it: never
  if (whole >= kRange - static_cast<double>(now.ps())) return Time::max();
  return now + Duration::whole_ps(whole);
}

}  // namespace

const ParamGroup<LaunchTimings> launch_timings{
    "device.launch",
    "what launching kernels costs the host",
    {param("host_cost", &LaunchTimings::host_cost,
           {.max = 1_ms,
            .source = ParamSource::kFitted,
            .reference = "models/nccl_calibration §1: host launch of one kernel, 4 x H200",
            .description = "CPU time of one kernel launch by one thread"}),
     param("graph_kernel_cost", &LaunchTimings::graph_kernel_cost,
           {.max = 1_ms,
            .source = ParamSource::kFitted,
            .reference = "models/nccl_calibration §3.2: start skew of graphs, per GPU and operation; one log of 4 x H200",
            .description = "CPU time of launching a CUDA graph, per kernel in it"})}};

OperationQueue::OperationQueue(Simulator& simulator, std::string name, int width)
    : simulator_{simulator}, width_{width}, start_{simulator, simulator.add_component(std::move(name)), Phase::kAction, [this] {
                                                     start();
                                                   }} {
  WEFT_CHECK(width > 0);
}

void OperationQueue::enqueue(Time issued, OperationListener& listener, std::uint64_t tag) {
  waiting_.push_back({issued, &listener, tag});
  arm();
}

void OperationQueue::finish() {
  WEFT_CHECK(running_ > 0);
  --running_;
  arm();
}

void OperationQueue::arm() {
  if (running_ == width_ || waiting() == 0) return;
  start_.arm(std::max(waiting_[head_].issued, simulator_.now()));
}

void OperationQueue::start() {
  const Operation operation = waiting_[head_++];
  if (2 * head_ >= waiting_.size()) {  // moves no more entries than were taken since the last time
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  ++running_;
  arm();
  operation.listener->on_start(operation.tag);
}

Gpu::Gpu(Simulator& simulator, const std::string& name, const GpuLimits& limits)
    : simulator_{simulator},
      limits_{limits},
      copy_engines_{simulator, name + "/copy engines", limits.copy_engines},
      sms_{solver_.add_resource(limits.sms)},
      hbm_{solver_.add_resource(limits.hbm_bytes_per_ps)},
      component_{simulator.add_component(name)},
      share_{simulator, component_, Phase::kSolve, [this] { share(); }},
      complete_{simulator, component_, Phase::kCompletion, [this] { complete(); }} {
  WEFT_CHECK(limits.sms > 0 && limits.hbm_bytes_per_ps > 0);
}

ClaimId Gpu::hold(int ctas, double hbm_bytes_per_ps) {
  WEFT_CHECK(ctas >= 0 && ctas <= limits_.sms);
  WEFT_CHECK(hbm_bytes_per_ps >= 0);
  const ClaimId id{next_claim_++};
  claims_.push_back({id, ctas, hbm_bytes_per_ps});
  changed();
  return id;
}

void Gpu::release(ClaimId claim) {
  const auto found = std::ranges::find(claims_, claim, &Claim::id);
  WEFT_CHECK(found != claims_.end());
  claims_.erase(found);
  changed();
}

KernelId Gpu::run(const KernelWork& work, KernelListener& listener, std::uint64_t tag) {
  Kernel& kernel = kernels_.emplace_back();
  kernel.id = KernelId{next_kernel_++};
  kernel.listener = &listener;
  kernel.tag = tag;
  kernel.remaining = alone_ps(work);
  kernel.updated = simulator_.now();
  if (work.sm_ps > 0) kernel.usages[kernel.usage_count++] = {sms_, work.sm_ps / kernel.remaining};
  if (work.hbm_bytes > 0) kernel.usages[kernel.usage_count++] = {hbm_, work.hbm_bytes / kernel.remaining};
  changed();
  return kernel.id;
}

double Gpu::alone_ps(const KernelWork& work) const {
  WEFT_CHECK(work.sm_ps >= 0 && work.max_sms > 0 && work.hbm_bytes >= 0);
  return std::max({work.sm_ps / std::min(work.max_sms, limits_.sms), work.hbm_bytes / limits_.hbm_bytes_per_ps,
                   static_cast<double>(work.min_duration.ps())});
}

Duration Gpu::duration_alone(const KernelWork& work) const { return after(Time{}, alone_ps(work)).since_start(); }

int Gpu::held_sms() const {
  int held = 0;
  for (const Claim& claim : claims_) held += claim.ctas;
  return std::min(held, limits_.sms);
}

double Gpu::held_hbm_bytes_per_ps() const {
  double held = 0;
  for (const Claim& claim : claims_) held += claim.hbm_bytes_per_ps;
  return std::min(held, limits_.hbm_bytes_per_ps);
}

void Gpu::changed() { share_.arm(simulator_.now()); }

void Gpu::share() {
  solver_.set_capacity(sms_, limits_.sms - held_sms());
  solver_.set_capacity(hbm_, limits_.hbm_bytes_per_ps - held_hbm_bytes_per_ps());
  problem_.clear();
  for (const Kernel& kernel : kernels_) problem_.push_back({.usages = kernel.needs(), .cap = 1.0});
  solver_.solve(problem_);

  const Time now = simulator_.now();
  Time next = Time::max();
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    Kernel& kernel = kernels_[k];
    if (problem_[k].rate != kernel.speed) {
      kernel.remaining = std::max(0.0, kernel.remaining - kernel.speed * static_cast<double>((now - kernel.updated).ps()));
      kernel.speed = problem_[k].rate;
      kernel.updated = now;
      kernel.finish = kernel.speed > 0 ? after(now, kernel.remaining / kernel.speed) : Time::max();
    }
    next = std::min(next, kernel.finish);
  }
  if (next < Time::max()) {
    complete_.arm(next);
  } else {
    complete_.disarm();
  }
}

void Gpu::complete() {
  // Listeners may run, hold and release, so the kernels that end are taken out before any is told.
  const auto ends_now = [now = simulator_.now()](const Kernel& kernel) { return kernel.finish <= now; };
  ended_.clear();
  std::ranges::copy_if(kernels_, std::back_inserter(ended_), ends_now);
  std::erase_if(kernels_, ends_now);
  changed();
  for (const Kernel& kernel : ended_) kernel.listener->on_kernel_done(kernel.id, kernel.tag);
}

}  // namespace weft::net
