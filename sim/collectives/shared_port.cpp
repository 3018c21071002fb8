#include "sim/collectives/shared_port.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace weft::coll {

// Model: thread blocks that share a port slow each other as customers of one queue do, at the port's raw rate; a block meets
// the mean queue of those that send when its slice begins, whatever begins or ends before its own end.
PortQueue::PortQueue(Bandwidth alone, Bandwidth port, int most) {
  if (alone == Bandwidth{} || port == Bandwidth{}) return;
  service_ps_ = 1.0 / port.bytes_per_ps();
  const double elsewhere = std::max(0.0, 1.0 / alone.bytes_per_ps() - service_ps_);
  queued_.push_back(0.0);
  for (int k = 1; k <= most; ++k) {
    const double stay = service_ps_ * (1.0 + queued_.back());
    queued_.push_back(k * stay / (elsewhere + stay));
  }
}

Duration PortQueue::wait(Bytes data, double others) const {
  if (queued_.empty()) return {};
  const auto found = std::min(static_cast<std::size_t>(std::lround(std::max(others, 0.0))), queued_.size() - 1);
  return Duration::from_ps(std::llround(static_cast<double>(data.count()) * service_ps_ * queued_[found]));
}

double PortQueue::busy(double blocks) const {
  if (queued_.empty()) return 0.0;
  // x_k s, from q_k = x_k s (1 + q_{k-1}).
  const auto share = [&](std::size_t k) { return k == 0 ? 0.0 : queued_[k] / (1.0 + queued_[k - 1]); };
  const auto below = std::min(static_cast<std::size_t>(std::max(blocks, 0.0)), queued_.size() - 1);
  const std::size_t above = std::min(below + 1, queued_.size() - 1);
  return std::lerp(share(below), share(above), std::max(blocks, 0.0) - static_cast<double>(below));
}

}  // namespace weft::coll
