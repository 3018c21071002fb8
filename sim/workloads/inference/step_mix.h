// One step of a serving engine computes one batch: pieces of prompts and tokens of running answers.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::work {

struct PrefillChunk {
  std::int64_t tokens = 0;   // new ones
  std::int64_t context = 0;  // of the same sequence, cached before
};

struct StepMix {
  std::vector<PrefillChunk> prefills = {};
  std::int64_t decodes = 0;            // sequences
  std::int64_t tokens_per_decode = 1;  // more: drafts to verify
  std::int64_t decode_context = 0;     // cached tokens of these sequences, summed
  std::int64_t samples = 0;            // rows of logits: tokens of decodes, and prompts that are done
  std::int64_t swapped_tokens = 0;     // cached, that move to or from the host

  [[nodiscard]] std::int64_t prefill_tokens() const {
    std::int64_t sum = 0;
    for (const PrefillChunk& chunk : prefills) sum += chunk.tokens;
    return sum;
  }
  [[nodiscard]] std::int64_t tokens() const { return prefill_tokens() + decodes * tokens_per_decode; }
  [[nodiscard]] bool is_empty() const { return prefills.empty() && decodes == 0; }
};

}  // namespace weft::work
