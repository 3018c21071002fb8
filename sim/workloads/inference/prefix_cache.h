// The blocks of an engine that sequences share, and those that nobody uses and that may be met again. vLLM's automatic prefix
// caching, SGLang's radix cache: whole blocks, found by the run of them from a prompt's first one.
//
//   const PrefixCache::Found found = cache.find(pieces, most);   // leading blocks that are held
//   cache.take(pieces, found.blocks);                            // a sequence uses them: they stay
//   free += cache.extend(pieces, found.blocks, now_cached);      // more of its blocks are shared from now on
//   cache.leave(pieces, now_cached);                             // they stay until their room is needed
//   free += cache.evict(needed);                                 // least recently used first, a prefix from its end
//
// Model: a block that is computed twice is kept once, at once. A piece has one place in the order of use, that of its last use.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/workloads/inference/prefix_contents.h"

namespace weft::work {

class PrefixCache {
 public:
  struct Found {
    std::int64_t blocks = 0;
    std::int64_t unused = 0;  // of these, by any sequence
  };
  // Leading blocks of a sequence that are held, `most` of them at most. Cost: its pieces.
  [[nodiscard]] Found find(std::span<const PrefixPiece> pieces, std::int64_t most) const;

  // A sequence uses `blocks` leading blocks, all of which are held.
  void take(std::span<const PrefixPiece> pieces, std::int64_t blocks);
  // One that uses `from` uses `to`, and gives those that were not held yet. Returns how many were: its own ones are free.
  [[nodiscard]] std::int64_t extend(std::span<const PrefixPiece> pieces, std::int64_t from, std::int64_t to);
  void leave(std::span<const PrefixPiece> pieces, std::int64_t blocks);
  // Forgets so many blocks, of which there must be as many unused.
  void evict(std::int64_t blocks);

  [[nodiscard]] std::int64_t used() const { return used_; }      // blocks that sequences use, each once
  [[nodiscard]] std::int64_t unused() const { return unused_; }  // blocks that are held beside them

 private:
  // Blocks of a piece, from its first one.
  struct Piece {
    std::int64_t held = 0;
    std::int64_t used = 0;                 // the most of `uses`
    std::vector<std::int64_t> uses = {};   // by each sequence
    std::list<ContentId>::iterator place;  // in unused_pieces_, where held > used
  };
  void set_uses(ContentId content, Piece& piece, std::int64_t before, std::int64_t after);

  std::unordered_map<ContentId, Piece> pieces_;
  std::list<ContentId> unused_pieces_;  // the least recently used first
  std::int64_t used_ = 0;
  std::int64_t unused_ = 0;
};

}  // namespace weft::work
