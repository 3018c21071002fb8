// A transfer: bytes, a traffic class and a footprint, which says what of each resource one byte takes.
//
// A resource is a link direction, a switch's reduction unit, a NIC or DMA engine, or a GPU's HBM. Usage is the bytes it carries
// per byte moved: 1 on a plain path, 1/k on each of k sprayed paths, the reverse-direction overhead of a PCIe read, all edges
// of a ring channel for a fluid collective, n on a multicast tree. Footprints come from the Router; models list no links by
// hand.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/fair_share.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::net {

// The NICs by which a flow between hosts leaves and enters. Both invalid: all that the GPUs use, each its share (router.h).
struct NicPair {
  DeviceId leaving;
  DeviceId entering;
  bool operator==(const NicPair&) const = default;
};

// A key tells one flow from another beside source and destination: what a hash decides by (a queue pair, a channel), and NICs.
struct FlowKey {
  std::uint64_t entropy = 0;
  NicPair nics = {};
  std::uint32_t named_way = 0;  // of the router (Router::add_named_way); 0: as the policy routes
};

// The ends of one of a footprint's paths: what packets need to know, which find their way link by link.
struct PathEnds {
  DeviceId source;
  DeviceId destination;
  FlowKey key;
};

struct Footprint {
  std::vector<Usage> usages;  // each resource at most once, ascending
  // One path of a unicast; one for each receiver of a multicast (same source), for each sender of a reduction (same
  // destination). Several without either in common: coupled, which packets cannot be.
  std::vector<PathEnds> paths;
  Duration latency;      // propagation, switches, cut-through headers along the longest path
  Duration fill;         // time of one full packet on the other links before which it is stored (routing/path_cost.h)
  Bytes fill_packet{0};  // that packet; a shorter message fills in proportion

  // Returns the time that a message of `bytes` pays beyond its bytes over the bottleneck's rate (models/network §2.2, §6.3).
  [[nodiscard]] Duration latency_of(Bytes bytes) const {
    if (fill_packet.count() == 0 || bytes >= fill_packet) return latency + fill;
    return latency +
           Duration::from_ps(static_cast<std::int64_t>(static_cast<Int128>(fill.ps()) * bytes.count() / fill_packet.count()));
  }
  // Adds another path: the two move their bytes together. Latency and fill become the larger ones.
  void couple(const Footprint& other);
};

enum class TransferKind : std::uint8_t { kUnicast, kMulticast, kReduce, kCoupled };

struct Transfer {
  FootprintId footprint = {};
  Bytes bytes = {};
  TransferKind kind = TransferKind::kUnicast;
  std::uint8_t priority = 0;    // traffic class: higher is served first
  bool resend = false;          // of packets: what a failing link takes along is sent again, acknowledgements or not
  double weight = 1.0;          // of the max-min share within its class
  Bandwidth rate_cap = {};      // 0: none
  Duration extra_latency = {};  // of the endpoints, added to the footprint's
  bool turns_at_top = false;    // a reduction whose total is copied: the topmost switch does so, not the footprint's root
  std::uint64_t tag = 0;        // the poster's own, handed back to the listener
};

}  // namespace weft::net
