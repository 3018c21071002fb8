// Which NICs the connections of a communicator take between hosts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/core/ids.h"
#include "sim/network/transfer.h"

namespace weft::coll {

// Whose NICs a schedule's connections take: those of one of NCCL's graphs, or those of its sends and receives.
enum class Nets : std::uint8_t { kAny, kRing, kTree, kNvls, kSends };
constexpr std::size_t kNets = 5;

class ConnectionNics {
 public:
  virtual ~ConnectionNics() = default;
  // The NICs of the connection by which `from` sends to `to`, on another host. Invalid: the network's choice (router.h).
  [[nodiscard]] virtual net::NicPair between(Nets nets, Rank from, Rank to, int channel) const = 0;
};

}  // namespace weft::coll
