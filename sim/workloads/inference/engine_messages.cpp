#include "sim/workloads/inference/engine_messages.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::work {
namespace {

// Kinds of messages beside coll::Collective's.
constexpr int kToNext = 100;
constexpr int kToExperts = 101;
constexpr int kKinds = 128;

constexpr int kLeastClass = 8;  // 256 B: below, only latency is left

}  // namespace

EngineMessages::EngineMessages(GroupCosts& costs, const EnginePlan& plan, std::vector<DeviceId> devices)
    : costs_{costs}, plan_{plan}, devices_{std::move(devices)} {}

Duration EngineMessages::at_class(int what, int stage, int size_class) {
  const auto [known, is_new] = known_.try_emplace({stage * kKinds + what, size_class});
  if (!is_new) return known->second;
  const Bytes bytes{std::int64_t{1} << size_class};
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(stage) * plan_.stage_gpus();
  const auto begin = devices_.begin() + first;
  if (what == kToNext) {
    known->second = costs_.message(*begin, *(begin + plan_.stage_gpus()), bytes).alone;
  } else if (what == kToExperts) {
    const std::vector<DeviceId> group(begin, begin + plan_.stage_gpus());
    known->second = costs_.collective(group, {.kind = coll::Collective::kAllToAll, .bytes = bytes, .element_size = 1}).alone;
  } else {
    const std::vector<DeviceId> group(begin, begin + plan_.tensor);
    known->second =
        costs_.collective(group, {.kind = static_cast<coll::Collective>(what), .bytes = bytes, .element_size = 2}).alone;
  }
  return known->second;
}

Duration EngineMessages::between_classes(int what, int stage, double bytes, int least_class) {
  const double least = std::ldexp(1.0, least_class);
  if (bytes <= least) return at_class(what, stage, least_class);
  const int below = std::max(least_class, std::ilogb(bytes));
  const double lower = std::ldexp(1.0, below);
  const Duration from = at_class(what, stage, below);
  if (bytes == lower) return from;
  const Duration to = at_class(what, stage, below + 1);
  const double share = (bytes - lower) / lower;
  return from + Duration::from_ps(std::llround(share * static_cast<double>((to - from).ps())));
}

Duration EngineMessages::over_tensor(int stage, coll::Collective kind, double bytes) {
  if (plan_.tensor == 1) return {};
  return between_classes(static_cast<int>(kind), stage, bytes, kLeastClass);
}

Duration EngineMessages::to_experts(int stage, double bytes) {
  // Every peer gets 64 bytes at least.
  const int least = 6 + static_cast<int>(std::bit_width(static_cast<unsigned>(plan_.stage_gpus() - 1)));
  return between_classes(kToExperts, stage, bytes, std::max(kLeastClass, least));
}

Duration EngineMessages::to_next(int stage, double bytes) { return between_classes(kToNext, stage, bytes, kLeastClass); }

}  // namespace weft::work
