#include "sim/workloads/inference/prefix_cache.h"

#include <algorithm>

#include "sim/core/error.h"

namespace weft::work {
namespace {

// Blocks of a piece that begins at `begin`, out of the first `blocks` of the sequence.
std::int64_t part_of(const PrefixPiece& piece, std::int64_t begin, std::int64_t blocks) {
  return std::clamp<std::int64_t>(blocks - begin, 0, piece.blocks);
}

}  // namespace

PrefixCache::Found PrefixCache::find(std::span<const PrefixPiece> pieces, std::int64_t most) const {
  Found found;
  for (const PrefixPiece& piece : pieces) {
    const auto known = pieces_.find(piece.content);
    if (known == pieces_.end() || found.blocks == most) break;
    const std::int64_t blocks = std::min(known->second.held, most - found.blocks);
    found.blocks += blocks;
    found.unused += std::max<std::int64_t>(0, blocks - known->second.used);
    if (blocks < piece.blocks) break;
  }
  return found;
}

// One sequence used `before` blocks of the piece and uses `after` now; 0: none.
void PrefixCache::set_uses(ContentId content, Piece& piece, std::int64_t before, std::int64_t after) {
  const bool was_listed = piece.held > piece.used;
  used_ -= piece.used;
  unused_ -= piece.held - piece.used;
  if (before > 0) {
    const auto its = std::ranges::find(piece.uses, before);
    WEFT_CHECK(its != piece.uses.end());
    *its = piece.uses.back();
    piece.uses.pop_back();
  }
  if (after > 0) piece.uses.push_back(after);
  if (after >= piece.used) {
    piece.used = after;
  } else if (before == piece.used) {
    piece.used = piece.uses.empty() ? 0 : *std::ranges::max_element(piece.uses);
  }
  piece.held = std::max(piece.held, piece.used);
  used_ += piece.used;
  unused_ += piece.held - piece.used;
  const bool is_listed = piece.held > piece.used;
  if (was_listed && !is_listed) {
    unused_pieces_.erase(piece.place);
  } else if (is_listed && !was_listed) {
    piece.place = unused_pieces_.insert(unused_pieces_.end(), content);
  } else if (is_listed && after < before) {
    unused_pieces_.splice(unused_pieces_.end(), unused_pieces_, piece.place);
  }
}

void PrefixCache::take(std::span<const PrefixPiece> pieces, std::int64_t blocks) {
  const std::int64_t held = extend(pieces, 0, blocks);
  WEFT_CHECK(held == blocks);
}

std::int64_t PrefixCache::extend(std::span<const PrefixPiece> pieces, std::int64_t from, std::int64_t to) {
  std::int64_t held = 0;
  std::int64_t begin = 0;
  for (const PrefixPiece& piece : pieces) {
    if (begin >= to) break;
    const std::int64_t before = part_of(piece, begin, from);
    const std::int64_t after = part_of(piece, begin, to);
    if (after > before) {
      Piece& its = pieces_[piece.content];
      held += std::clamp<std::int64_t>(its.held - before, 0, after - before);
      set_uses(piece.content, its, before, after);
    }
    if (piece.blocks == PrefixPiece::kOpen) break;
    begin += piece.blocks;
  }
  return held;
}

// From the last piece to the first: the ends of prefixes are the first to go.
void PrefixCache::leave(std::span<const PrefixPiece> pieces, std::int64_t blocks) {
  std::size_t last = 0;
  std::int64_t begin = 0;
  while (last + 1 < pieces.size() && begin + pieces[last].blocks < blocks) begin += pieces[last++].blocks;
  for (std::size_t i = last + 1; i-- > 0;) {
    const std::int64_t its = part_of(pieces[i], begin, blocks);
    if (its > 0) set_uses(pieces[i].content, pieces_.at(pieces[i].content), its, 0);
    if (i > 0) begin -= pieces[i - 1].blocks;
  }
}

void PrefixCache::evict(std::int64_t blocks) {
  WEFT_CHECK(blocks <= unused_);
  unused_ -= blocks;
  while (blocks > 0) {
    const ContentId content = unused_pieces_.front();
    Piece& piece = pieces_.at(content);
    const std::int64_t gone = std::min(blocks, piece.held - piece.used);
    piece.held -= gone;
    blocks -= gone;
    if (piece.held > piece.used) break;
    unused_pieces_.pop_front();
    if (piece.held == 0) pieces_.erase(content);
  }
}

}  // namespace weft::work
