#include "sim/workloads/replay/link_turns.h"

#include <algorithm>

namespace weft::work {
namespace {

// The header's w.
constexpr double kLoadedWaits = 2.7;

}  // namespace

const std::vector<LinkTurns::Filled>& LinkTurns::filled_by(const Call& call) {
  const auto [at, is_new] = filled_.try_emplace(call.loads);
  if (!is_new || call.alone <= Duration{}) return at->second;
  const double per_ps = static_cast<double>(call.bytes.count()) / static_cast<double>(call.alone.ps());
  for (const Usage& usage : fabric_.footprint(call.loads).usages) {
    const std::uint32_t link = usage.resource.value();
    if (link >= topology_.link_count() || !topology_.spec(LinkId{link}).type.starts_with("nvlink")) continue;
    at->second.push_back({usage.resource, std::min(1.0, usage.usage * per_ps / fabric_.capacity(usage.resource))});
  }
  return at->second;
}

// On one link.
double LinkTurns::delay(const Call& call, double share, const Call& other, double its_share) {
  const double in_turn = std::min(share, its_share);
  const double step = share * static_cast<double>(call.alone.ps()) * call.step;
  const double its_step = its_share * static_cast<double>(other.alone.ps()) * other.step;
  if (step <= 0 || its_step <= 0) return in_turn;
  if (step < its_step) return in_turn + kLoadedWaits * (1 - share) * (1 - step / its_step);
  return in_turn / (1 + kLoadedWaits * (1 - its_share) * (1 - its_step / step));
}

double LinkTurns::delay(const Call& call, std::span<const Call> others) {
  if (others.empty()) return 0;
  double* known = nullptr;
  if (others.size() == 1) {
    const auto [at, is_new] = delays_.try_emplace(std::pair{call.loads, others.front().loads}, 0.0);
    if (!is_new) return at->second;
    known = &at->second;
  }
  const std::vector<Filled>& own = filled_by(call);
  sums_.assign(own.size(), 0.0);
  for (const Call& other : others) {
    const std::vector<Filled>& its = filled_by(other);
    auto at = its.begin();
    for (std::size_t i = 0; i < own.size(); ++i) {
      while (at != its.end() && at->link < own[i].link) ++at;
      if (at == its.end()) break;
      if (at->link == own[i].link) sums_[i] += delay(call, own[i].share, other, at->share);
    }
  }
  const double most = sums_.empty() ? 0.0 : *std::ranges::max_element(sums_);
  if (known != nullptr) *known = most;
  return most;
}

}  // namespace weft::work
