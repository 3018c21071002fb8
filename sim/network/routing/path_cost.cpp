#include "sim/network/routing/path_cost.h"

#include <algorithm>
#include <cmath>

namespace weft::net {

PathCost::PathCost(const LinkSpec& link)
    : latency_{link.latency},
      packets_{Duration::nearest_ps(static_cast<double>(link.packet.count()) / link.capacity())},
      slowest_{packets_},
      last_{packets_},
      first_rate_{link.rate},
      last_rate_{link.rate},
      slowest_rate_{link.rate},
      packet_{link.packet} {}

void PathCost::join(const Forwarding& between, const PathCost& next) {
  if (next.first_rate_ == Bandwidth{}) return;
  if (first_rate_ == Bandwidth{}) {
    *this = next;
    return;
  }
  latency_ += between.latency + next.latency_;
  if (!is_stored(between, last_rate_, next.first_rate_)) {
    latency_ += transmission_time(between.header, last_rate_);
    packets_ -= last_;
  }
  packets_ += next.packets_;
  // The later of equal ones counts: that of a link that is no faster than the one before it always counts.
  if (next.slowest_rate_ <= slowest_rate_) {
    slowest_ = next.slowest_;
    slowest_rate_ = next.slowest_rate_;
  }
  last_ = next.last_;
  last_rate_ = next.last_rate_;
  packet_ = std::max(packet_, next.packet_);
}

}  // namespace weft::net
