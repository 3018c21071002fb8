// Which parts of a prompt's cache move between which GPUs, from an engine that prefills to one that decodes, however each of
// them spreads heads over tensor parallelism and layers over stages.
//
// Model: states of recurrent layers, which do not grow with the prompt, are not sent.
#pragma once

#include <vector>

#include "sim/workloads/inference/inference.h"

namespace weft::work {

struct CachePiece {
  int from = 0;  // place within the engine, of its first attention group
  int to = 0;
  double bytes = 0;  // of each token
};

// By receiver, then by sender. Where receivers hold the same head each gets it; where senders do they take turns.
[[nodiscard]] std::vector<CachePiece> cache_pieces(const InferenceSetup& setup, const EnginePlan& from, const EnginePlan& to);

}  // namespace weft::work
