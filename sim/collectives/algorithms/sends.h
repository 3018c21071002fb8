// Calls that are sends and receives between pairs of ranks: all-to-all, send/recv, gather and scatter. Private to algorithms/.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/collectives/call.h"

namespace weft::coll {

[[nodiscard]] constexpr bool is_sends(Collective kind) {
  return kind == Collective::kAllToAll || kind == Collective::kSendRecv || kind == Collective::kGather ||
         kind == Collective::kScatter;
}

// How many messages go from one rank to another.
[[nodiscard]] constexpr std::int64_t send_count(Collective kind, int ranks) {
  if (ranks == 1) return 0;
  if (kind == Collective::kSendRecv) return ranks;
  return kind == Collective::kAllToAll ? std::int64_t{ranks} * (ranks - 1) : ranks - 1;
}

// Bytes of each.
[[nodiscard]] inline std::int64_t send_bytes(const CollectiveCall& call, int ranks) {
  const CallSizes sizes = sizes_of(call, ranks);
  return call.kind == Collective::kAllToAll ? sizes.input.count() / ranks : std::min(sizes.input, sizes.output).count();
}

// Where the message to or from `peer` begins, in the sender's input and in the receiver's output.
[[nodiscard]] constexpr std::int64_t input_offset(Collective kind, std::int64_t bytes, Rank peer) {
  return kind == Collective::kAllToAll || kind == Collective::kScatter ? peer * bytes : 0;
}
[[nodiscard]] constexpr std::int64_t output_offset(Collective kind, std::int64_t bytes, Rank peer) {
  return kind == Collective::kAllToAll || kind == Collective::kGather ? peer * bytes : 0;
}

}  // namespace weft::coll
