#include "sim/collectives/closed_form.h"

#include <algorithm>

#include "sim/collectives/algorithms/parts.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

// One message on each of `channels` channels that share the port.
class MessageTime {
 public:
  MessageTime(const IdealNetwork& network, std::int64_t channels) : network_{network}, channels_{channels} {}
  Duration operator()(std::int64_t bytes) const {
    return network_.latency + transmission_time(Bytes{channels_ * bytes}, network_.bandwidth);
  }

 private:
  IdealNetwork network_;
  std::int64_t channels_;
};

// All-reduce of S bytes (Patarasuk and Yuan, 2009): 2(n-1) steps of S/n. Chunked: once for every n chunks, the last n shorter.
Duration ring_all_reduce(std::int64_t bytes, std::int64_t chunk, int n, const MessageTime& time) {
  const std::int64_t full_loops = bytes / (n * chunk);
  const std::int64_t left = bytes % (n * chunk);
  Duration one_way = full_loops * time(chunk);
  if (left > 0) one_way += time(round_up_to_unit(ceil_div(left, n)));
  return 2 * (n - 1) * one_way;
}

// All-gather and reduce-scatter (Thakur et al., 2005, sections 4.1 and 4.2): n-1 steps of a block, chunk by chunk.
Duration ring_by_block(std::int64_t block, std::int64_t chunk, int n, const MessageTime& time) {
  Duration one_step = (block / chunk) * time(chunk);
  if (block % chunk > 0) one_step += time(block % chunk);
  return (n - 1) * one_step;
}

// Broadcast and reduce down a chain of n-1 links, m chunks: m+n-2 messages one after another, the last of them the short one.
Duration chain(std::int64_t bytes, std::int64_t chunk, int n, const MessageTime& time) {
  const std::int64_t chunks = ceil_div(bytes, chunk);
  const std::int64_t last = bytes - (chunks - 1) * chunk;
  return (chunks + n - 3) * time(std::min(chunk, bytes)) + time(last);
}

// As RingSchedule takes it: whole units, one at least.
std::int64_t chunk_of(const Choice& choice) { return std::max(choice.chunk.count() / kCutUnit, std::int64_t{1}) * kCutUnit; }

std::optional<Duration> ring_time(const CollectiveCall& call, const Choice& choice, int n, const IdealNetwork& network) {
  const CallSizes sizes = sizes_of(call, n);
  const std::int64_t bytes = std::min(sizes.input, sizes.output).count();
  const MessageTime time{network, std::min<std::int64_t>(choice.channels, ceil_div(bytes, kCutUnit))};
  const std::int64_t share = channel_part(bytes, choice.channels, 0).bytes;
  const bool by_block = call.kind == Collective::kAllGather || call.kind == Collective::kReduceScatter;
  const std::int64_t chunk =
      choice.algorithm == "plain_ring" ? round_up_to_unit(by_block ? share : ceil_div(share, n)) : chunk_of(choice);
  if (by_block) return ring_by_block(share, chunk, n, time);
  if (call.kind == Collective::kAllReduce) return ring_all_reduce(share, chunk, n, time);
  if (call.kind == Collective::kBroadcast || call.kind == Collective::kReduce) return chain(share, chunk, n, time);
  return std::nullopt;
}

// All at once: the busiest port carries everything, and every message is on its way from the start: a + sum/B.
std::optional<Duration> direct_time(const CollectiveCall& call, int n, const IdealNetwork& network) {
  const CallSizes sizes = sizes_of(call, n);
  const MessageTime time{network, 1};
  switch (call.kind) {
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return time(std::max(sizes.input, sizes.output).count() / n * (n - 1));
    case Collective::kSendRecv:
      return time(sizes.input.count());
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Duration> closed_form(const CollectiveCall& call, const Choice& choice, int ranks, const IdealNetwork& network) {
  WEFT_CHECK(ranks >= 1 && choice.channels >= 1);
  WEFT_CHECK(network.bandwidth > Bandwidth{});
  if (call.pairs != nullptr && !call.pairs->is_even()) return std::nullopt;
  const bool nothing_moves = ranks == 1 || sizes_of(call, ranks).reported == Bytes{0};
  std::optional<Duration> time;
  if (choice.algorithm == "ring" || choice.algorithm == "plain_ring") {
    time = nothing_moves ? Duration{} : ring_time(call, choice, ranks, network);
  } else if (choice.algorithm == "direct") {
    time = nothing_moves ? Duration{} : direct_time(call, ranks, network);
  } else if (choice.algorithm == "pairwise" && call.kind == Collective::kAllToAll) {
    // Thakur et al., 2005, section 4.5 (long messages): n-1 rounds.
    const std::int64_t message = sizes_of(call, ranks).input.count() / ranks;
    time = nothing_moves ? Duration{} : (ranks - 1) * MessageTime{network, 1}(message);
  }
  return time;
}

}  // namespace weft::coll
