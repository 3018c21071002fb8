#include "sim/workloads/inference/cache_pieces.h"

#include <algorithm>

#include "sim/workloads/model/memory.h"

namespace weft::work {
namespace {

// Heads [first, last) of `heads` on one of `ranks`; one that others have too where there are fewer heads than ranks.
struct Held {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
Held held_by(std::int64_t heads, int ranks, int rank) {
  if (heads <= ranks) return {rank * heads / ranks, rank * heads / ranks + 1};
  return {rank * heads / ranks, (rank + 1) * heads / ranks};
}

// The rank that sends `head` to receiver `to`.
int sender_of(std::int64_t heads, int ranks, std::int64_t head, int to) {
  std::vector<int> able;
  for (int rank = 0; rank < ranks; ++rank) {
    const Held held = held_by(heads, ranks, rank);
    if (head >= held.first && head < held.last) able.push_back(rank);
  }
  return able[static_cast<std::size_t>(to) % able.size()];
}

}  // namespace

std::vector<CachePiece> cache_pieces(const InferenceSetup& setup, const EnginePlan& from, const EnginePlan& to) {
  const TransformerModel& model = setup.model;
  std::vector<CachePiece> pieces;
  for (int stage_to = 0; stage_to < to.pipeline; ++stage_to) {
    const LayerRange wanted = stage_layers(model.layers, to.pipeline, stage_to);
    for (int rank_to = 0; rank_to < to.tensor; ++rank_to) {
      const int place_to = stage_to * to.stage_gpus() + rank_to;
      for (int stage = 0; stage < from.pipeline; ++stage) {
        const LayerRange layers = stage_layers(model.layers, from.pipeline, stage);
        const LayerRange shared{std::max(layers.first, wanted.first), std::min(layers.last, wanted.last)};
        if (shared.first >= shared.last) continue;
        std::vector<double> bytes(static_cast<std::size_t>(from.tensor), 0.0);
        for (std::int64_t layer = shared.first; layer < shared.last; ++layer) {
          const Mixer mixer = layer_shape(model, layer).mixer;
          const std::int64_t heads = mixer.kind == AttentionKind::kGrouped ? mixer.kv_heads : 1;
          const double head_bytes = bytes_per_element(setup.kv_cache.precision) * static_cast<double>(mixer.cache_elements()) /
                                    static_cast<double>(std::max<std::int64_t>(heads, 1));
          const Held held = held_by(heads, to.tensor, rank_to);
          for (std::int64_t head = held.first; head < held.last; ++head) {
            bytes[static_cast<std::size_t>(sender_of(heads, from.tensor, head, rank_to))] += head_bytes;
          }
        }
        for (int rank = 0; rank < from.tensor; ++rank) {
          const double moved = bytes[static_cast<std::size_t>(rank)];
          if (moved > 0) pieces.push_back({stage * from.stage_gpus() + rank, place_to, moved});
        }
      }
    }
  }
  return pieces;
}

}  // namespace weft::work
