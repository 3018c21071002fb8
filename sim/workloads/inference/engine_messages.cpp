#include "sim/workloads/inference/engine_messages.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/workloads/model/messages.h"

namespace weft::work {
namespace {

// Kinds of messages beside coll::Collective's.
constexpr int kToNext = 100;
constexpr int kToExperts = 101;
constexpr int kDeepEp = 110;  // and the step, and 2 for low latency
constexpr int kMessageKinds = 128;

constexpr int kLeastClass = 8;      // 256 B: below, only latency is left
constexpr int kDeepEpHidden = 128;  // whose multiples it takes: FP8's scales are for as many

}  // namespace

EngineMessages::EngineMessages(GroupCosts& costs, const InferenceSetup& setup, const EnginePlan& plan,
                               std::vector<DeviceId> devices)
    : costs_{costs}, setup_{setup}, plan_{plan}, devices_{std::move(devices)}, runs_deepep_{runs_deepep()} {}

std::vector<DeviceId> EngineMessages::tensor_group(int stage) const {
  const auto begin = devices_.begin() + static_cast<std::ptrdiff_t>(stage) * plan_.stage_gpus();
  return {begin, begin + plan_.tensor};
}

std::vector<DeviceId> EngineMessages::stage_group(int stage) const {
  const auto begin = devices_.begin() + static_cast<std::ptrdiff_t>(stage) * plan_.stage_gpus();
  return {begin, begin + plan_.stage_gpus()};
}

// The kernels of DeepEP have whole experts on every rank, as many on each, and as many ranks on every host.
bool EngineMessages::runs_deepep() const {
  const MixtureOfExperts& moe = setup_.model.moe;
  const std::int64_t width = moe.latent > 0 ? moe.latent : setup_.model.hidden;
  if (moe.experts == 0 || plan_.expert != plan_.stage_gpus() || width % kDeepEpHidden != 0) return false;
  const net::Topology& topology = costs_.machine().topology;
  for (int stage = 0; stage < plan_.pipeline; ++stage) {
    std::map<std::int32_t, int> members;
    for (const DeviceId device : stage_group(stage)) {
      if (topology.kind(device) != net::DeviceKind::kGpu) return false;
      ++members[topology.host_of(device)];
    }
    const int first = members.begin()->second;
    if (!std::ranges::all_of(members, [&](const auto& host) { return host.second == first; })) return false;
  }
  return true;
}

Duration EngineMessages::at_class(int what, int stage, int size_class) {
  const auto [known, is_new] = known_.try_emplace({stage * kMessageKinds + what, size_class});
  if (!is_new) return known->second;
  const std::int64_t size = std::int64_t{1} << size_class;
  const std::vector<DeviceId> group = stage_group(stage);
  if (what >= kDeepEp) {
    const MixtureOfExperts& moe = setup_.model.moe;
    const int kernel = what - kDeepEp;
    known->second =
        costs_.exchange(group, {.kernels = kernel >= 2 ? coll::ExpertKernels::kLowLatency : coll::ExpertKernels::kNormal,
                                .step = kernel % 2 == 0 ? coll::ExpertStep::kDispatch : coll::ExpertStep::kCombine,
                                .tokens = size,
                                .hidden = static_cast<int>(moe.latent > 0 ? moe.latent : setup_.model.hidden),
                                .topk = static_cast<int>(moe.experts_per_token),
                                .experts = static_cast<int>(moe.experts),
                                .fp8_dispatch = bytes_per_element(setup_.precision.dispatch) < 2});
  } else if (what == kToNext) {
    const DeviceId next = *(devices_.begin() + static_cast<std::ptrdiff_t>(stage + 1) * plan_.stage_gpus());
    known->second = costs_.message(group.front(), next, Bytes{size}).alone;
  } else if (what == kToExperts) {
    known->second =
        costs_.collective(group, {.kind = coll::Collective::kAllToAll, .bytes = Bytes{size}, .element_size = 1}).alone;
  } else {
    known->second = costs_
                        .collective(tensor_group(stage),
                                    {.kind = static_cast<coll::Collective>(what), .bytes = Bytes{size}, .element_size = 2})
                        .alone;
  }
  return known->second;
}

Duration EngineMessages::between_classes(int what, int stage, double size, int least_class) {
  const double least = std::ldexp(1.0, least_class);
  if (size <= least) return at_class(what, stage, least_class);
  const int below = std::max(least_class, std::ilogb(size));
  const double lower = std::ldexp(1.0, below);
  const Duration from = at_class(what, stage, below);
  if (size == lower) return from;
  const Duration to = at_class(what, stage, below + 1);
  const double share = (size - lower) / lower;
  return from + Duration::nearest_ps(share * static_cast<double>((to - from).ps()));
}

Duration EngineMessages::over_tensor(int stage, coll::Collective kind, double bytes) {
  if (plan_.tensor == 1) return {};
  return between_classes(static_cast<int>(kind), stage, bytes, kLeastClass);
}

Duration EngineMessages::to_experts(int stage, coll::ExpertStep step, double tokens, bool low_latency) {
  const bool is_dispatch = step == coll::ExpertStep::kDispatch;
  if (runs_deepep_) return between_classes(kDeepEp + (low_latency ? 2 : 0) + (is_dispatch ? 0 : 1), stage, tokens, 0);
  const Precision precision = is_dispatch ? setup_.precision.dispatch : setup_.precision.activations;
  const double bytes = expert_message_bytes(setup_.model, tokens, precision).total();
  // Every peer gets 64 bytes at least.
  const int least = 6 + static_cast<int>(std::bit_width(static_cast<unsigned>(plan_.stage_gpus() - 1)));
  return between_classes(kToExperts, stage, bytes, std::max(kLeastClass, least));
}

Duration EngineMessages::to_next(int stage, double bytes) { return between_classes(kToNext, stage, bytes, kLeastClass); }

}  // namespace weft::work
