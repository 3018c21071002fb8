#include "sim/collectives/nccl/chunking.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll::nccl {
namespace {

constexpr std::int64_t kSlots = 8;
constexpr std::int64_t kKiB = 1024;

// Halves the chunk while there are fewer than `steps` of them a channel and it is over `least`. Divisions as NCCL's, which drop
// the rest.
void halve(std::int64_t& chunk, std::int64_t bytes, std::int64_t lanes, double steps, std::int64_t least) {
  const auto chunks = [&] { return bytes / (lanes * chunk); };
  while (chunk > least && static_cast<double>(chunks()) < steps) chunk /= 2;
}

// Takes the chunk down to `size` where it is larger and the data are not `times` as much as all lanes hold at once.
void lower(std::int64_t& chunk, std::int64_t bytes, std::int64_t lanes, std::int64_t times, std::int64_t size) {
  if (chunk > size && bytes < times * lanes * chunk) chunk = size;
}

std::int64_t tree_chunk(const CommInfo& comm, Proto proto, std::int64_t chunk, std::int64_t bytes, int channels) {
  if (proto == Proto::kLl128) {
    const float per_node = static_cast<float>(comm.ranks) / static_cast<float>(comm.nodes);
    const float steps = static_cast<float>(1 + floor_log2(comm.nodes) + 0.1 * per_node);
    halve(chunk, bytes, channels, steps * 64 / per_node, 128 * kKiB);
    halve(chunk, bytes, channels, steps * 16 / per_node, 32 * kKiB);
  } else if (proto == Proto::kSimple && comm.version < kFirstWithoutTreeChunks) {
    const int depth = comm.ranks / comm.nodes - 1 + floor_log2(comm.nodes);
    halve(chunk, bytes, channels, depth * 8, 128 * kKiB);
    halve(chunk, bytes, channels, depth * 4, 64 * kKiB);
    halve(chunk, bytes, channels, depth, 32 * kKiB);
  }
  return chunk;
}

std::int64_t collnet_direct_chunk(const CommInfo& comm, std::int64_t chunk, std::int64_t bytes, std::int64_t lanes) {
  const int depth = comm.ranks == comm.nodes ? 1 : 2;
  halve(chunk, bytes, lanes, depth * 64, 128 * kKiB);
  halve(chunk, bytes, lanes, depth * 8, 64 * kKiB);
  halve(chunk, bytes, lanes, depth * 8, 32 * kKiB);
  return chunk;
}

std::int64_t collnet_chain_chunk(const CommInfo& comm, std::int64_t chunk, std::int64_t bytes, int channels) {
  const int depth = comm.ranks_per_node;
  chunk = std::min(chunk, 256 * kKiB);
  halve(chunk, bytes, channels, depth * 64, 128 * kKiB);
  halve(chunk, bytes, channels, depth * 8, 64 * kKiB);
  halve(chunk, bytes, channels, depth, 32 * kKiB);
  return chunk;
}

std::int64_t nvls_chunk(const TuningModel& model, std::int64_t chunk, std::int64_t bytes, std::int64_t lanes) {
  const CommInfo& comm = model.comm();
  // Bandwidth of the model below which the network, not the switch, sets the pace (models/nccl §4.4).
  constexpr float kSlowGBps = 150;
  std::int64_t most = comm.nvls_chunk.count();
  const Cost& cost = model.cost(Collective::kAllReduce, Algo::kNvls, Proto::kSimple);
  if (comm.nodes > 1 && comm.version >= kFirstSlowNvlsChunks && cost.bandwidth_GBps < kSlowGBps) most = 32 * kKiB;
  chunk = std::min(chunk, most);
  lower(chunk, bytes, lanes, 64, 64 * kKiB);
  lower(chunk, bytes, lanes, 8, 32 * kKiB);
  lower(chunk, bytes, lanes, 2, 16 * kKiB);
  return chunk;
}

std::int64_t nvls_tree_chunk(const CommInfo& comm, std::int64_t chunk, std::int64_t bytes, std::int64_t lanes) {
  chunk = std::min(chunk, comm.nvls_tree_max_chunk.count());
  if (comm.version >= kFirstNvlsTreeChunks) chunk = std::min(chunk, comm.nvls_chunk.count());
  lower(chunk, bytes, lanes, 32, 256 * kKiB);
  lower(chunk, bytes, lanes, 16, 128 * kKiB);
  lower(chunk, bytes, lanes, 4, 64 * kKiB);
  lower(chunk, bytes, lanes, 1, 32 * kKiB);
  return chunk;
}

std::int64_t pat_chunk(Collective kind, std::int64_t chunk, std::int64_t bytes, int channels) {
  const std::int64_t blocks = kind == Collective::kAllGather ? 32 : 16;
  while (chunk > 64 * kKiB && chunk * channels * blocks > bytes) chunk /= 2;
  return chunk;
}

}  // namespace

Bytes slot_data(const Settings& settings, Proto proto) {
  // models/nccl §4.1: LL sends 4 B of flag with 4 B of data, LL128 8 B with 120 B.
  switch (proto) {
    case Proto::kLl:
      return settings.bytes("LL_BUFFSIZE").value_or(Bytes{8 * 512 * 8 * 16}) / kSlots / 2;
    case Proto::kLl128:
      return Bytes{settings.bytes("LL128_BUFFSIZE").value_or(Bytes{8 * 120 * 640 * 8}).count() / kSlots / 128 * 120};
    case Proto::kSimple:
      break;
  }
  return settings.bytes("BUFFSIZE").value_or(Bytes{4 << 20}) / kSlots;
}

Bytes grain(Proto proto) {
  constexpr std::array<std::int64_t, kProtos> kGrains = {16, 1920, 512};
  return Bytes{kGrains[static_cast<std::size_t>(proto)]};
}

int slots_per_chunk(Collective kind, Algo algo, Proto proto) {
  const bool chain = kind == Collective::kBroadcast || kind == Collective::kReduce;
  return algo == Algo::kRing && proto == Proto::kSimple && !chain ? 4 : 1;
}

bool runs_collnet(const CommInfo& comm, Algo algo) {
  return algo == Algo::kCollNetDirect || algo == Algo::kCollNetChain || (algo == Algo::kNvls && comm.nodes > 1);
}

int heads_of(const CommInfo& comm, Algo algo) {
  const auto heads = [](const std::optional<Graph>& graph) { return graph ? std::max(1, graph->channel_count()) : 1; };
  if (algo == Algo::kNvls || algo == Algo::kNvlsTree) return heads(comm.nvls_graph);
  return algo == Algo::kCollNetDirect ? heads(comm.collnet_direct) : 1;
}

Bytes chunk_of(const TuningModel& model, Collective kind, Algo algo, Proto proto, Bytes bytes, int channels) {
  WEFT_CHECK(channels >= 1);
  const CommInfo& comm = model.comm();
  const std::int64_t size = bytes.count();
  const std::int64_t lanes = static_cast<std::int64_t>(channels) * heads_of(comm, algo);
  std::int64_t chunk = slots_per_chunk(kind, algo, proto) * slot_data(model.settings(), proto).count();
  switch (algo) {
    case Algo::kRing:
      break;
    case Algo::kTree:
      chunk = tree_chunk(comm, proto, chunk, size, channels);
      break;
    case Algo::kCollNetDirect:
      chunk = collnet_direct_chunk(comm, chunk, size, lanes);
      break;
    case Algo::kCollNetChain:
      chunk = collnet_chain_chunk(comm, chunk, size, channels);
      break;
    case Algo::kNvls:
      chunk = nvls_chunk(model, chunk, size, lanes);
      break;
    case Algo::kNvlsTree:
      chunk = nvls_tree_chunk(comm, chunk, size, lanes);
      break;
    case Algo::kPat:
      chunk = pat_chunk(kind, chunk, size, channels);
      break;
  }
  const std::int64_t unit = grain(proto).count();
  return Bytes{std::max(chunk / unit * unit, unit)};
}

}  // namespace weft::coll::nccl
