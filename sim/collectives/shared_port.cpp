#include "sim/collectives/shared_port.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace weft::coll {

void PortLoads::add(Rank from, Rank to, double blocks, bool switched) {
  out_[static_cast<std::size_t>(from)] += blocks;
  if (!switched) return;
  In& in = in_[static_cast<std::size_t>(to)];
  in.blocks += blocks;
  in.several = in.several || (in.from >= 0 && in.from != from);
  in.from = from;
}

double PortLoads::inward(Rank from, Rank to) const {
  const In& in = in_[static_cast<std::size_t>(to)];
  return in.several && out(from) > 0.0 ? in.blocks / out(from) : 0.0;
}

double PortLoads::most_inward() const {
  double least_out = 0.0;
  for (const double out : out_) {
    if (out > 0.0 && (least_out == 0.0 || out < least_out)) least_out = out;
  }
  double most = 1.0;
  for (const In& in : in_) {
    if (in.several) most = std::max(most, in.blocks / least_out);
  }
  return most;
}

// Model: thread blocks that share a port slow each other as customers of one queue do, at the port's raw rate; a block meets
// the mean queue of those that send when its slice begins, whatever begins or ends before its own end.
PortQueue::PortQueue(Bandwidth alone, Bandwidth port, int most) {
  if (alone == Bandwidth{} || port == Bandwidth{}) return;
  service_ps_ = 1.0 / port.bytes_per_ps();
  const auto queue_at = [&](int ports) {
    const double elsewhere = std::max(0.0, 1.0 / alone.bytes_per_ps() - ports * service_ps_);
    std::vector<double> queued{0.0};
    for (int k = 1; k <= most; ++k) {
      const double stay = service_ps_ * (1.0 + queued.back());
      queued.push_back(k * stay / (elsewhere + ports * stay));
    }
    return queued;
  };
  queued_ = queue_at(1);
  either_ = queue_at(2);
}

// Model: of two ports of unequal load blocks wait at the busier one, and at the other as far as it is as busy.
Duration PortQueue::wait(Bytes data, double others, double inward) const {
  if (queued_.empty()) return {};
  const double there = std::max(others, 0.0) + std::max(0.0, inward - 1.0) * (std::max(others, 0.0) + 1.0);
  const auto found = std::min(static_cast<std::size_t>(std::lround(there)), queued_.size() - 1);
  const double evenness = inward > 1.0 ? 1.0 / inward : inward;
  const double pieces = std::lerp(queued_[found], 2.0 * either_[found], evenness);
  return Duration::from_ps(std::llround(static_cast<double>(data.count()) * service_ps_ * pieces));
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
