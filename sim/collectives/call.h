// What a user asks for: a collective call, and the choice of how to run it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::coll {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv,  // every rank sends to the next one and receives from the previous one, as nccl-tests does
  kGather,
  kScatter,
};

// nccl-tests' names: all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv, gather, scatter.
[[nodiscard]] std::string_view to_string(Collective collective);
[[nodiscard]] std::optional<Collective> collective_from(std::string_view name);

struct CollectiveCall {
  Collective kind = Collective::kAllReduce;
  Bytes bytes = {};               // nccl-tests' size column: the vector, or the total over all ranks (nccl-model §8.2)
  std::int64_t element_size = 4;  // bytes
  Rank root = 0;                  // broadcast, reduce, gather, scatter
};

// What one rank holds before and after the call, as nccl-tests allocates it for `call.bytes` on `ranks` ranks. Where the size
// is not a whole number of elements per rank, it is cut as nccl-tests cuts it (nccl-model §8.2).
struct CallSizes {
  Bytes input;
  Bytes output;
  Bytes reported;      // the size column it prints, max(input, output)
  std::int64_t count;  // the count column
};
[[nodiscard]] CallSizes sizes_of(const CollectiveCall& call, int ranks);

// Bus bandwidth over algorithm bandwidth (nccl-model §8.2): 2(n-1)/n for all-reduce, and so on.
[[nodiscard]] double bus_factor(Collective collective, int ranks);

struct Choice {
  std::string algorithm = {};  // registered name: "ring", "plain_ring", "direct", ...
  std::string protocol = {};   // "Simple"; empty for textbook algorithms
  int channels = 1;
  Bytes chunk{2 << 20};  // largest chunk one step of a channel moves
};

}  // namespace weft::coll
