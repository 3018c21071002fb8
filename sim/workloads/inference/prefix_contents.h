// The prefixes that requests may share, as pieces of whole blocks. Two requests have a piece in common where all their tokens
// up to its end are the same.
//
//   PrefixContents contents{setup.requests, setup.kv_cache.block, requests};
//   contents.of(request);  // first the prompt that all share, or a trace's hashed blocks; then what is its own, without end
//
// Turns of a session share a piece of their own: the history, to which each prompt and each answer adds.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/workloads/inference/inference.h"

namespace weft::work {

using ContentId = std::uint32_t;

struct PrefixPiece {
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  ContentId content = 0;
  std::int64_t blocks = 0;  // kOpen: of the last one

  friend bool operator==(const PrefixPiece&, const PrefixPiece&) = default;
};

class PrefixContents {
 public:
  PrefixContents(const RequestSpec& spec, std::int64_t block, const std::vector<Request>& requests);

  [[nodiscard]] std::span<const PrefixPiece> of(std::size_t request) const {
    return std::span{pieces_}.subspan(begins_[request], begins_[request + 1] - begins_[request]);
  }

 private:
  std::vector<PrefixPiece> pieces_;  // of one request after another
  std::vector<std::size_t> begins_;
};

}  // namespace weft::work
