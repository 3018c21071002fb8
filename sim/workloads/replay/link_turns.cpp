#include "sim/workloads/replay/link_turns.h"

#include <algorithm>

namespace weft::work {

const LinkTurns::Filled& LinkTurns::filled_by(const Call& call) {
  const auto [at, is_new] = filled_.try_emplace(call.loads);
  if (!is_new || call.alone <= Duration{}) return at->second;
  const double per_ps = static_cast<double>(call.bytes.count()) / static_cast<double>(call.alone.ps());
  for (const Usage& usage : fabric_.footprint(call.loads).usages) {
    const std::uint32_t link = usage.resource.value();
    if (link >= topology_.link_count() || !topology_.spec(LinkId{link}).type.starts_with("nvlink")) continue;
    at->second.emplace_back(usage.resource, std::min(1.0, usage.usage * per_ps / fabric_.capacity(usage.resource)));
  }
  return at->second;
}

double LinkTurns::delay(const Call& call, std::span<const Call> others) {
  if (others.empty()) return 0;
  double* known = nullptr;
  if (others.size() == 1) {
    const auto [at, is_new] = delays_.try_emplace(std::minmax(call.loads, others.front().loads), 0.0);
    if (!is_new) return at->second;
    known = &at->second;
  }
  const Filled& own = filled_by(call);
  sums_.assign(own.size(), 0.0);
  for (const Call& other : others) {
    auto at = filled_by(other).begin();
    const auto end = filled_by(other).end();
    for (std::size_t i = 0; i < own.size(); ++i) {
      while (at != end && at->first < own[i].first) ++at;
      if (at == end) break;
      if (at->first == own[i].first) sums_[i] += std::min(own[i].second, at->second);
    }
  }
  const double most = sums_.empty() ? 0.0 : *std::ranges::max_element(sums_);
  if (known != nullptr) *known = most;
  return most;
}

}  // namespace weft::work
