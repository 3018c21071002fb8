#include "sim/collectives/symbolic_data.h"

#include <algorithm>

#include "sim/core/error.h"

namespace weft::coll {

ContributorsId ContributorTable::intern(Counts counts) {
  const auto [at, added] = ids_.try_emplace(std::move(counts), static_cast<ContributorsId>(counts_.size()));
  if (added) counts_.push_back(at->first);
  return at->second;
}

ContributorsId ContributorTable::each_once(int ranks) {
  Counts counts;
  for (Rank rank = 0; rank < ranks; ++rank) counts.emplace_back(rank, 1);
  return intern(std::move(counts));
}

ContributorsId ContributorTable::sum(ContributorsId a, ContributorsId b) {
  const std::pair key = std::minmax(a, b);
  if (const auto at = sums_.find(key); at != sums_.end()) return at->second;
  const Counts& left = counts_[a];
  const Counts& right = counts_[b];
  Counts both;
  both.reserve(left.size() + right.size());
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    if (j == right.size() || (i < left.size() && left[i].first < right[j].first)) {
      both.push_back(left[i++]);
    } else if (i == left.size() || right[j].first < left[i].first) {
      both.push_back(right[j++]);
    } else {
      both.emplace_back(left[i].first, left[i].second + right[j].second);
      ++i;
      ++j;
    }
  }
  const ContributorsId id = intern(std::move(both));
  sums_.emplace(key, id);
  return id;
}

std::string ContributorTable::text(ContributorsId id) const {
  const Counts& counts = counts_[id];
  std::string text = counts.size() == 1 && counts[0].second == 1 ? "rank" : "ranks";
  for (const auto& [rank, count] : counts) {
    text += ' ';
    text += std::to_string(rank);
    if (count > 1) text += "x" + std::to_string(count);
  }
  return text;
}

std::optional<std::int64_t> add_data(Data& a, const Data& b, ContributorTable& table) {
  Data sum;
  std::int64_t at = 0;
  std::int64_t used_a = 0;  // of piece i of a
  std::int64_t used_b = 0;  // of piece j of b
  for (std::size_t i = 0, j = 0; i < a.size();) {
    WEFT_CHECK(j < b.size());
    if (a[i].source + used_a != b[j].source + used_b) return at;
    const std::int64_t bytes = std::min(a[i].bytes - used_a, b[j].bytes - used_b);
    sum.push_back({.bytes = bytes, .source = a[i].source + used_a, .from = table.sum(a[i].from, b[j].from)});
    at += bytes;
    used_a += bytes;
    used_b += bytes;
    if (used_a == a[i].bytes) {
      ++i;
      used_a = 0;
    }
    if (used_b == b[j].bytes) {
      ++j;
      used_b = 0;
    }
  }
  a = std::move(sum);
  return std::nullopt;
}

void SymbolicBuffer::clear(std::int64_t begin, std::int64_t end) {
  auto at = pieces_.upper_bound(begin);
  if (at != pieces_.begin()) --at;
  while (at != pieces_.end() && at->first < end) {
    const std::int64_t piece_begin = at->first;
    const Piece piece = at->second;
    const std::int64_t piece_end = piece_begin + piece.bytes;
    if (piece_end <= begin) {
      ++at;
      continue;
    }
    at = pieces_.erase(at);
    if (piece_begin < begin) {
      pieces_.emplace(piece_begin, Piece{.bytes = begin - piece_begin, .source = piece.source, .from = piece.from});
    }
    if (piece_end > end) {
      at = pieces_
               .emplace(end, Piece{.bytes = piece_end - end, .source = piece.source + (end - piece_begin), .from = piece.from})
               .first;
    }
  }
}

void SymbolicBuffer::write(std::int64_t offset, const Data& data) {
  std::int64_t bytes = 0;
  for (const Piece& piece : data) bytes += piece.bytes;
  clear(offset, offset + bytes);
  for (const Piece& piece : data) {
    pieces_.emplace(offset, piece);
    offset += piece.bytes;
  }
}

std::optional<std::int64_t> SymbolicBuffer::read(std::int64_t offset, std::int64_t bytes, Data& data) const {
  const std::int64_t end = offset + bytes;
  auto at = pieces_.upper_bound(offset);
  if (at != pieces_.begin()) --at;
  for (; offset < end; ++at) {
    if (at == pieces_.end() || at->first > offset || at->first + at->second.bytes <= offset) return offset;
    const std::int64_t skipped = offset - at->first;
    const std::int64_t taken = std::min(at->second.bytes - skipped, end - offset);
    data.push_back({.bytes = taken, .source = at->second.source + skipped, .from = at->second.from});
    offset += taken;
  }
  return std::nullopt;
}

}  // namespace weft::coll
