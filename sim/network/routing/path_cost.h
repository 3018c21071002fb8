// The cost of a path to a message beyond its bytes over the slowest link, for links of any rates in any order (models/network
// §2.2). It is flow fidelity's closed form of what packet fidelity does event by event.
//
// Where a packet is stored, by a store-and-forward device or in front of a faster link, which must not run dry in its middle,
// it is taken in as a whole, passes the device, and begins anew. Elsewhere it cuts through: its head is passed on after its
// header, its tail follows, and only the last of these links, which is the slowest, takes a packet's time. With P packets'
// times of the links that count, a message of M packets takes
//
//   sum(P) + (M - 1) max(P) + latency,   latency = propagation + switches + headers
//
//   PathCost cost{first};
//   cost.join(forwarding, PathCost{second});        // a path grows link by link, or piece by piece
//   bytes / slowest + cost.latency() + cost.fill()  // fill: sum(P) - max(P)
#pragma once

#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::net {

// Whether a device takes in packets as a whole between two links of these rates.
[[nodiscard]] inline bool is_stored(const Forwarding& device, Bandwidth in, Bandwidth out) {
  return device.store_and_forward || out > in;
}

class PathCost {
 public:
  PathCost() = default;  // no link: joining it to another changes nothing
  explicit PathCost(const LinkSpec& link);

  // `next` follows behind a device that passes packets on.
  void join(const Forwarding& between, const PathCost& next);

  [[nodiscard]] Duration latency() const { return latency_; }
  [[nodiscard]] Duration fill() const { return packets_ - slowest_; }
  [[nodiscard]] Bytes packet() const { return packet_; }  // the largest of those that fill
  // Takes one packet longer.
  [[nodiscard]] bool is_longer_than(const PathCost& other) const {
    return other.first_rate_ == Bandwidth{} || latency_ + packets_ > other.latency_ + other.packets_;
  }

 private:
  Duration latency_;
  Duration packets_;      // one packet's time on each link that counts
  Duration slowest_;      // on the slowest link
  Duration last_;         // on the last link
  Bandwidth first_rate_;  // zero: no link
  Bandwidth last_rate_;
  Bandwidth slowest_rate_;
  Bytes packet_;
};

}  // namespace weft::net
