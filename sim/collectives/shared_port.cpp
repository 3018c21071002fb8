#include "sim/collectives/shared_port.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sim/core/error.h"

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
// Model: a port that sends and takes stores of several GPUs, which come in no order, serves these at what packets and their
// acknowledgements leave of its rate. All-to-alls of 4 x H200 with 24 blocks a GPU and 1 MiB and more for each move 312 GB/s
// (validate/measured/h200x4_full.jsonl): predicted within 2 % so, at the raw rate 6 to 10 % too fast. A port that only takes
// stores serves them at the raw rate: gathers are met so, and would be 6 to 10 % slow.
PortQueue::PortQueue(Bandwidth alone, PortRate port, int most) {
  if (alone == Bandwidth{} || port.raw == Bandwidth{}) return;
  WEFT_CHECK(port.efficiency > 0.0);
  const double whole = 1.0 / alone.bytes_per_ps();
  service_ps_ = 1.0 / port.raw.bytes_per_ps();
  // Waits of the block that comes to k others at two ports that serve a byte in so long; 0: at one.
  const auto waits = [&](double first, double second) {
    const double elsewhere = std::max(0.0, whole - first - second);
    double at_first = 0;
    double at_second = 0;
    std::vector<double> wait{0.0};
    for (int k = 1; k <= most; ++k) {
      const double stay_first = first * (1.0 + at_first);
      const double stay_second = second * (1.0 + at_second);
      const double pass = k / (elsewhere + stay_first + stay_second);
      at_first = pass * stay_first;
      at_second = pass * stay_second;
      wait.push_back(first * at_first + second * at_second);
    }
    return wait;
  };
  one_ = waits(service_ps_, 0.0);
  both_ = waits(service_ps_, service_ps_ / port.efficiency);
}

// Model: of two ports of unequal load blocks wait at the busier one, and at the other as far as it is as busy.
Duration PortQueue::wait(Bytes data, double others, double inward) const {
  if (one_.empty()) return {};
  const double there = std::max(others, 0.0) + std::max(0.0, inward - 1.0) * (std::max(others, 0.0) + 1.0);
  const auto found = std::min(static_cast<std::size_t>(std::lround(there)), one_.size() - 1);
  const double of_byte = std::lerp(one_[found], both_[found], inward > 1.0 ? 1.0 / inward : inward);
  return Duration::nearest_ps(static_cast<double>(data.count()) * of_byte);
}

double PortQueue::busy(double blocks) const {
  if (one_.empty()) return 0.0;
  // x_k s, from q_k = x_k s (1 + q_{k-1}) and waits of s q_k.
  const auto share = [&](std::size_t k) { return k == 0 ? 0.0 : one_[k] / (service_ps_ + one_[k - 1]); };
  const auto below = std::min(static_cast<std::size_t>(std::max(blocks, 0.0)), one_.size() - 1);
  const std::size_t above = std::min(below + 1, one_.size() - 1);
  return std::lerp(share(below), share(above), std::max(blocks, 0.0) - static_cast<double>(below));
}

}  // namespace weft::coll
