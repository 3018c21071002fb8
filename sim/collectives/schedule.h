// A schedule: what a collective does, as a generator. For (rank, channel, lane) it answers the step at an index in O(1) time
// and memory, so that a 1 GiB all-reduce on 8,192 ranks needs no list of its steps.
//
// A *channel* is one CTA with its own connections; its *lanes* are groups of warps that run at the same time (the two
// directions of a tree, the sends and the receives of an all-to-all). Steps of a lane run in order. The k-th message from rank
// a to rank b on a channel is the k-th that b receives from a on it, whatever the lane: connections are first in, first out.
//
// A step is one primitive (models/nccl §3): it takes one chunk from each peer of `receive_from`, combines these with each other
// and, if `use_source`, with its own chunk at `source`; if `store`, it keeps the result at `destination`; and it sends the
// result to each peer of `send_to`. So NCCL's recvReduceCopySend has all of these, and a plain send has `use_source` and
// `send_to` only.
//
// Lanes wait for each other only by messages, and where a step says so by `after`: MSCCL's threadblocks of one GPU do.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/collectives/connection_nics.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::coll {

enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };

struct Chunk {
  Buffer buffer = Buffer::kInput;
  std::int64_t offset = 0;  // bytes
  bool operator==(const Chunk&) const = default;
};

// The peers of a step: up to three (NCCL's largest tree arity) held here, or a list that the schedule owns.
class Peers {
 public:
  constexpr Peers() = default;
  constexpr Peers(Rank only) : ranks_{only, -1, -1}, count_{1} {}  // NOLINT(google-explicit-constructor): one peer is the rule
  // A view: `ranks` outlives every copy.
  static constexpr Peers view(std::span<const Rank> ranks) {
    Peers peers;
    peers.external_ = ranks.data();
    peers.count_ = static_cast<int>(ranks.size());
    return peers;
  }
  // Up to three, and not to a view.
  constexpr void add(Rank rank) { ranks_[static_cast<std::size_t>(count_++)] = rank; }
  [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
  [[nodiscard]] constexpr int size() const { return count_; }
  [[nodiscard]] constexpr const Rank* begin() const { return external_ != nullptr ? external_ : ranks_.data(); }
  [[nodiscard]] constexpr const Rank* end() const { return begin() + count_; }
  constexpr bool operator==(const Peers& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::array<Rank, 3> ranks_{-1, -1, -1};
  const Rank* external_ = nullptr;
  int count_ = 0;
};

// Progress of another lane of the same rank: it has done its first `steps` steps. 0: nothing to wait for.
struct Progress {
  int channel = 0;
  int lane = 0;
  std::int64_t steps = 0;
  bool operator==(const Progress&) const = default;
};

struct Step {
  Peers receive_from;
  Peers send_to;
  Bytes bytes;  // of the chunk; may be 0: an empty chunk still synchronises
  bool use_source = false;
  bool store = false;
  // Adds up what stands at `destination` too before it writes there; with `store` only.
  bool accumulate = false;
  // Registered buffers: what the step takes in lies where it would keep it, and a NIC or a switch fetches what it would send.
  bool delivered = false;
  bool fetched = false;
  // The step starts when this is reached. A step that only waits has no bytes, no peers and no operands.
  Progress after;
  // A switch does it (NVLS, SHARP): it adds up what all of `receive_from` send, so that one chunk arrives; or it copies the one
  // chunk sent to all of `send_to`. A rank whose chunk is added up in a switch sends to one peer, or scatters, with
  // `send_in_switch`. There the rank itself may be a peer: the switch reads or writes its copy too. What is sent in a switch to
  // one peer or scattered is such a contribution; only a step with `receive_in_switch` takes it.
  bool receive_in_switch = false;
  bool send_in_switch = false;
  // Which connection of a pair of ranks on the channel, where a schedule needs several (NCCL's connIndex): 0 to 3.
  std::uint8_t receive_connection = 0;
  std::uint8_t send_connection = 0;
  // In a scatter or a gather, before the chunk of this peer lies one more, the rank's own, which is no peer's; -1: before none.
  int own_before = -1;
  // A scatter or a gather, NCCL's primitives of these names: each peer's chunk has `peer_bytes` of `bytes`, the last ones what
  // is left of them, and lies `peer_offset` behind the one before. A scatter reads at `source` and sends, a gather receives and
  // keeps at `destination`, and neither does more. 0: every peer has all `bytes`.
  Bytes peer_bytes;
  std::int64_t peer_offset = 0;
  Chunk source;
  Chunk destination;

  [[nodiscard]] bool reads_source() const { return use_source || accumulate; }
  // Keeps one operand as it is.
  [[nodiscard]] bool copies() const { return store && receive_from.empty() == reads_source(); }
  [[nodiscard]] bool is_spread() const { return peer_bytes > Bytes{}; }
  [[nodiscard]] Bytes bytes_of_peer(int peer) const {
    return is_spread() ? std::clamp(bytes - peer * peer_bytes, Bytes{}, peer_bytes) : bytes;
  }
  [[nodiscard]] std::int64_t offset_of_peer(int peer) const {
    return (own_before >= 0 && peer >= own_before ? peer + 1 : peer) * peer_offset;
  }
  [[nodiscard]] bool contributes() const { return send_in_switch && (is_spread() || send_to.size() == 1); }
  [[nodiscard]] bool multicasts() const { return send_in_switch && !contributes(); }
};

// One coupled transfer of the fluid grain: every edge moves `bytes` at one common rate, the slowest edge's share.
// `serial_steps` messages of `step_bytes` follow one another on the longest dependency chain; each pays the latency of a step.
// An edge from a rank to itself is what the rank does with a message between two others, and crosses no link.
struct FluidEdge {
  Rank from = 0;
  Rank to = 0;
  // A lane moves this for one message, with those of the flows it carries in turn, and has this share of the warps. 0:
  // `step_bytes`.
  Bytes work = {};
  double share = 1.0;
  int peers = 0;  // of a scatter or gather
};
struct FluidFlow {
  std::vector<FluidEdge> edges;
  Bytes bytes;  // per edge
  // Bytes an edge still waits for before the pipeline is full (chains, trees); 0 for rings. The first 1 + fill_bytes /
  // step_bytes edges are then, in order, a longest path of the first message.
  Bytes fill_bytes;
  std::int64_t serial_steps = 1;
  Bytes step_bytes;  // of one message
  int channel = 0;
  // Messages that the last rank of the last edge takes in a step that sends nothing, and that no later step overlaps: one at
  // the end of each loop of a ring.
  std::int64_t copies = 1;
};

class Schedule {
 public:
  virtual ~Schedule() = default;

  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int channels() const = 0;
  [[nodiscard]] virtual int lanes(Rank rank, int channel) const = 0;
  [[nodiscard]] virtual std::int64_t step_count(Rank rank, int channel, int lane) const = 0;
  // 0 <= index < step_count. O(1), allocates nothing.
  [[nodiscard]] virtual Step step(Rank rank, int channel, int lane, std::int64_t index) const = 0;

  // Whose NICs its messages take between hosts.
  [[nodiscard]] virtual Nets nets() const { return Nets::kAny; }

  // The share of the channel's warps that the lane has.
  [[nodiscard]] virtual double warp_share(Rank, int /*channel*/, int /*lane*/) const { return 1.0; }

  // An in-place call: input and output are one buffer, and steps name all of it kOutput, never kInput. It holds the larger of
  // the two; where they differ in size, the smaller one of rank r lies r times its own size into it, as NCCL has it.
  [[nodiscard]] virtual bool in_place() const { return false; }

  // Loops of the channel: every lane with steps has as many groups of steps, alike but for the last ones, which may be of
  // smaller chunks, and no step waits for a lane's progress. 0: it is idle, or not so.
  [[nodiscard]] virtual std::int64_t loops(int /*channel*/) const { return 0; }
  // The same with so many loops fewer in every transfer but much shorter ones, where lanes have several transfers one after
  // another, each with all of the loops; null: lanes have not. `fewer` is less than loops().
  [[nodiscard]] virtual std::unique_ptr<Schedule> with_fewer_loops(std::int64_t /*fewer*/) const { return nullptr; }

  // Alike steps that follow one another in each loop, of whatever kinds, and the same with so many of each kind, no more than
  // there are. 0: none.
  [[nodiscard]] virtual std::int64_t hops() const { return 0; }
  [[nodiscard]] virtual std::unique_ptr<Schedule> with_hops(std::int64_t /*hops*/) const { return nullptr; }

  // The same work as coupled transfers, where the schedule can say it so. Flows start together.
  [[nodiscard]] virtual bool has_fluid_flows() const { return false; }
  [[nodiscard]] virtual std::int64_t fluid_flow_count() const { return 0; }
  [[nodiscard]] virtual FluidFlow fluid_flow(std::int64_t) const { return {}; }
};

}  // namespace weft::coll
