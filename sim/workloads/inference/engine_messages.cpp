#include "sim/workloads/inference/engine_messages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace weft::work {
namespace {

// Kinds of messages beside coll::Collective's.
constexpr int kToNext = 100;
constexpr int kToExperts = 101;
constexpr int kMessageKinds = 128;

constexpr int kLeastClass = 8;  // 256 B: below, only latency is left

}  // namespace

EngineMessages::EngineMessages(GroupCosts& costs, const ServingCosts& engine, const EnginePlan& plan,
                               std::vector<DeviceId> devices)
    : costs_{costs}, engine_{engine}, plan_{plan}, devices_{std::move(devices)} {}

std::vector<DeviceId> EngineMessages::tensor_group(int stage) const {
  const auto begin = devices_.begin() + static_cast<std::ptrdiff_t>(stage) * plan_.stage_gpus();
  return {begin, begin + plan_.tensor};
}

double EngineMessages::nvlink_rate(int stage) {
  const auto [known, is_new] = nvlink_rates_.try_emplace(stage, 0.0);
  if (!is_new) return known->second;
  const net::Machine& machine = costs_.machine();
  const std::vector<DeviceId> group = tensor_group(stage);
  double slowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < group.size(); ++i) {
    const bool shares_host = machine.topology.host_of(group[0]) == machine.topology.host_of(group[i]);
    if (!shares_host || machine.router.path_class(group[0], group[i]) != net::PathClass::kNvl) return 0;
    for (const Usage& usage : machine.router.route(group[0], group[i], {}).usages) {
      slowest = std::min(slowest, machine.fabric.capacity(usage.resource) / usage.usage);
    }
  }
  known->second = slowest;
  return slowest;
}

Duration EngineMessages::by_reading(double rate, double bytes) const {
  const auto peers = static_cast<double>(plan_.tensor - 1);
  const Duration one = engine_.one_shot + Duration::nearest_ps(peers * bytes / rate);
  const Duration two = engine_.two_shot + Duration::nearest_ps(2 * peers / plan_.tensor * bytes / rate);
  return std::min(one, two);
}

Duration EngineMessages::at_class(int what, int stage, int size_class) {
  const auto [known, is_new] = known_.try_emplace({stage * kMessageKinds + what, size_class});
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
    known->second =
        costs_.collective(tensor_group(stage), {.kind = static_cast<coll::Collective>(what), .bytes = bytes, .element_size = 2})
            .alone;
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
  return from + Duration::nearest_ps(share * static_cast<double>((to - from).ps()));
}

Duration EngineMessages::over_tensor(int stage, coll::Collective kind, double bytes) {
  if (plan_.tensor == 1) return {};
  const Duration nccl = between_classes(static_cast<int>(kind), stage, bytes, kLeastClass);
  const double rate = kind == coll::Collective::kAllReduce ? nvlink_rate(stage) : 0;
  return rate > 0 ? std::min(nccl, by_reading(rate, bytes)) : nccl;
}

Duration EngineMessages::to_experts(int stage, double bytes) {
  // Every peer gets 64 bytes at least.
  const int least = 6 + static_cast<int>(std::bit_width(static_cast<unsigned>(plan_.stage_gpus() - 1)));
  return between_classes(kToExperts, stage, bytes, std::max(kLeastClass, least));
}

Duration EngineMessages::to_next(int stage, double bytes) { return between_classes(kToNext, stage, bytes, kLeastClass); }

}  // namespace weft::work
