// A user asks for a collective call, and for a choice of how to run it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/pair_sizes.h"
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

// The kind of a call's elements. kUsual, where only their size is known: floating-point numbers, but integers of one byte.
enum class Numbers : std::uint8_t { kUsual, kFloat, kInteger };
// nccl-tests' names: sum, prod, min, max, avg, mulsum (each rank's data times a number of its own).
enum class Reduction : std::uint8_t { kSum, kProduct, kMin, kMax, kAverage, kScaledSum };
[[nodiscard]] std::string_view to_string(Reduction reduction);
[[nodiscard]] std::optional<Reduction> reduction_from(std::string_view name);
[[nodiscard]] std::span<const std::string_view> reduction_names();

// Larger calls are refused: no GPU's memory comes near, and what NCCL reckons from the size would not fit its numbers.
inline constexpr Bytes kLargestCall{std::int64_t{1} << 50};

struct CollectiveCall {
  Collective kind = Collective::kAllReduce;
  Bytes bytes = {};               // nccl-tests' size column: the vector, or the total over all ranks (models/nccl §8.2)
  std::int64_t element_size = 4;  // bytes
  Rank root = 0;                  // broadcast, reduce, gather, scatter
  Numbers numbers = Numbers::kUsual;
  Reduction reduction = Reduction::kSum;  // all-reduce, reduce-scatter, reduce
  bool one_way = false;                   // kSendRecv of two ranks: rank 0 only sends, and rank 1 only receives
  // kAllToAll: what each pair has, an all-to-allv; `bytes` are then not looked at. Null: all have the same.
  std::shared_ptr<const PairSizes> pairs = {};
};

// An all-to-allv of these sizes.
[[nodiscard]] CollectiveCall all_to_allv(std::shared_ptr<const PairSizes> pairs);
// The name of the call's kind, or "alltoallv".
[[nodiscard]] std::string_view name_of(const CollectiveCall& call);

// All-reduce, reduce-scatter and reduce.
[[nodiscard]] bool reduces(Collective collective);
// The call's elements are integers, or what the size of its elements says.
[[nodiscard]] bool is_of_integers(const CollectiveCall& call);

// Bytes of the elements that NCCL's kernel handles: those that add nothing up are built for bytes alone, whatever the call's
// type (NCCL 2.28, src/device/generate.py).
[[nodiscard]] std::int64_t kernel_element_size(const CollectiveCall& call);

// One rank holds this before and after the call, as nccl-tests allocates it for `call.bytes` on `ranks` ranks. Where the size
// is not a whole number of elements per rank, it is cut as nccl-tests cuts it (models/nccl §8.2). Of an all-to-allv: what the
// rank has that sends most, and the one that receives most.
struct CallSizes {
  Bytes input;
  Bytes output;
  Bytes reported;      // the size column it prints, max(input, output)
  std::int64_t count;  // the count column
};
[[nodiscard]] CallSizes sizes_of(const CollectiveCall& call, int ranks);

// Bus bandwidth over algorithm bandwidth (models/nccl §8.2): 2(n-1)/n for all-reduce, and so on.
[[nodiscard]] double bus_factor(Collective collective, int ranks);

// One channel's part of a call: of the vector, or of each rank's block for all-gather and reduce-scatter. Parts are contiguous,
// in channel order.
struct ChannelShare {
  Bytes bytes;
  Bytes chunk;  // largest chunk one step moves
  bool operator==(const ChannelShare&) const = default;
};

// How a point-to-point transfer of this size is cut: into so many parts, all but the last of `part` bytes, and these into
// chunks.
struct TransferCut {
  std::int64_t bytes = 0;
  int channels = 1;
  Bytes part = {};
  Bytes chunk = {};
  bool operator==(const TransferCut&) const = default;
};

// Where a call's kernel reads and writes the user's own buffers, because they are registered with NCCL (nccl/registered.h).
struct RegisteredBuffers {
  bool in_switch = false;   // NVLS adds up and copies them: nothing is scattered or gathered by a rank's own warps
  bool of_peers = false;    // peers over NVLink store what is to stay where it belongs
  bool of_network = false;  // NICs send and receive what stays as it is
  int channels = 0;         // the most of such a kernel; 0: as without
  [[nodiscard]] bool any() const { return in_switch || of_peers || of_network; }
  bool operator==(const RegisteredBuffers&) const = default;
};

struct Choice {
  std::string algorithm = {};  // registered name: "ring", "plain_ring", "direct", ...
  std::string protocol = {};   // "Simple"; empty for textbook algorithms
  int channels = 1;
  Bytes chunk{2 << 20};  // largest chunk one step of a channel moves
  int warps = 0;         // of each CTA; 0: not said
  // NCCL's planner gave these to the channels (models/nccl §4.6), `channels` of them; empty: an even split in steps of `chunk`.
  std::vector<ChannelShare> shares = {};
  // Point-to-point transfers in NCCL's order (models/nccl §3.6): the parts each is cut into, every part on a channel of its
  // own, and the bytes of all parts but the last; 0: even parts of whole 4 KiB.
  int channels_per_transfer = 1;
  Bytes transfer_part = {};
  std::vector<TransferCut> transfer_cuts = {};  // by size, of an all-to-allv: those of each; empty: all are cut alike
  int transfer_group = -1;        // ranks of a node, at most, that are served in turn; 0: all; -1: as NCCL 2.30 has it
  bool triangular_peers = false;  // in which they are served by triangular numbers
  bool reverses_rounds = true;    // bits of the round, not of the part, spread transfers over channels
  RegisteredBuffers registration = {};
};

}  // namespace weft::coll
