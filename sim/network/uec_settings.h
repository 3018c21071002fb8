// Settings of Ultra Ethernet's transport (UEC 1.0; models/network §3.5), in the specification's words. Part of
// TransportSettings; uec_reader.h reads them.
#pragma once

#include <cstdint>

namespace weft::net {

enum class DeliveryMode : std::uint8_t {
  kRud,  // reliable unordered: packets in any order over many paths, what is missing is sent again
  kRod,  // reliable ordered: one path, go-back-N
};

// How a sender picks the entropy value of its next packet.
enum class EntropySpreading : std::uint8_t {
  kOblivious,  // each in turn
  kBitmap,     // each in turn but for those that came back marked or trimmed, which sit out some turns
  kReps,       // those again that came back unmarked; else any
};

struct UecSettings {
  DeliveryMode mode = DeliveryMode::kRud;
  EntropySpreading spreading = EntropySpreading::kBitmap;
  std::uint32_t entropy_values = 64;  // a power of two
};

}  // namespace weft::net
