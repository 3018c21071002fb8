// A footprint's own transport, where it is not the fabric's. Packets heed all of it; flows heed its rate.
#pragma once

#include <memory>
#include <optional>

#include "sim/core/units.h"
#include "sim/network/congestion.h"
#include "sim/network/packet_level/settings.h"

namespace weft::net {

// A queue pair's differences from the fabric's TransportSettings.
struct FlowTransport {
  // In place of the fabric's, but for its telemetry; null: the fabric's. What follows goes before both.
  std::shared_ptr<const TransportSettings> settings = {};
  std::optional<Bytes> payload = {};
  std::optional<Bytes> window = {};
  std::optional<Bandwidth> rate = {};  // paced at, without congestion control
  bool open_loop = false;              // packets join the queue of the first link as they are posted, whatever is ahead of them
  // Its messages are on their own: neither acknowledged nor sent again nor held back, over one queue pair. In place of
  // `settings` and of congestion control.
  bool datagrams = false;
  bool override_congestion = false;
  std::shared_ptr<const CongestionFactory> congestion = {};  // null with override_congestion: none
};

}  // namespace weft::net
