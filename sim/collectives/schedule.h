// A schedule: what a collective does, as a generator. For (rank, channel, lane) it answers the step at an index in O(1) time
// and memory, so that a 1 GiB all-reduce on 8,192 ranks needs no list of its steps.
//
// A *channel* is one CTA with its own connections; its *lanes* are groups of warps that run at the same time (the two
// directions of a tree, the sends and the receives of an all-to-all). Steps of a lane run in order. The k-th message from rank
// a to rank b on a channel is the k-th that b receives from a on it, whatever the lane: connections are first in, first out.
//
// A step is one primitive (nccl-model §3): it takes one chunk from each peer of `receive_from`, combines these with each other
// and, if `use_source`, with its own chunk at `source`; if `store`, it keeps the result at `destination`; and it sends the
// result to each peer of `send_to`. So NCCL's recvReduceCopySend has all of these, and a plain send has `use_source` and
// `send_to` only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::coll {

enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };

struct Chunk {
  Buffer buffer = Buffer::kInput;
  std::int64_t offset = 0;  // bytes
  bool operator==(const Chunk&) const = default;
};

// Up to three peers (NCCL's largest tree arity).
class Peers {
 public:
  constexpr Peers() = default;
  constexpr Peers(Rank only) : ranks_{only, -1, -1}, count_{1} {}  // NOLINT(google-explicit-constructor): one peer is the rule
  constexpr void add(Rank rank) { ranks_[static_cast<std::size_t>(count_++)] = rank; }
  [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
  [[nodiscard]] constexpr int size() const { return count_; }
  [[nodiscard]] constexpr const Rank* begin() const { return ranks_.data(); }
  [[nodiscard]] constexpr const Rank* end() const { return ranks_.data() + count_; }
  constexpr bool operator==(const Peers&) const = default;

 private:
  std::array<Rank, 3> ranks_{-1, -1, -1};
  int count_ = 0;
};

struct Step {
  Peers receive_from;
  Peers send_to;
  Bytes bytes;  // of the chunk; may be 0: an empty chunk still synchronises
  bool use_source = false;
  bool store = false;
  Chunk source;
  Chunk destination;
};

// One coupled transfer of the fluid grain: every edge moves `bytes` at one common rate, the slowest edge's share.
// `serial_steps` messages of `step_bytes` follow one another on the longest dependency chain; each pays the latency of a step.
struct FluidEdge {
  Rank from = 0;
  Rank to = 0;
};
struct FluidFlow {
  std::vector<FluidEdge> edges;
  Bytes bytes;       // per edge
  Bytes fill_bytes;  // bytes an edge still waits for before the pipeline is full (chains); 0 for rings
  std::int64_t serial_steps = 1;
  Bytes step_bytes;  // of one message
  int channel = 0;
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

  // The same work as coupled transfers. Flows start together.
  [[nodiscard]] virtual std::int64_t fluid_flow_count() const = 0;
  [[nodiscard]] virtual FluidFlow fluid_flow(std::int64_t index) const = 0;
};

}  // namespace weft::coll
