// How algorithms cut data: over channels, and into pieces of whole 16-byte units. Private to algorithms/ and closed_form.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/core/error.h"
#include "sim/core/units.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {

// All cuts fall on multiples of this, NCCL's alignment unit, so that no element is torn. Only the end of the data may not.
inline constexpr std::int64_t kCutUnit = 16;

struct Part {
  std::int64_t offset = 0;  // bytes
  std::int64_t bytes = 0;
};

constexpr std::int64_t round_up_to_unit(std::int64_t bytes) { return ceil_div(bytes, kCutUnit) * kCutUnit; }

// Channel `channel`'s share of `bytes`: contiguous, in channel order, as even as units allow; the first channels get the units
// left over, so that the empty ones, if any, come last.
// Model: where no planner says otherwise (Choice::shares); NCCL cuts in cells of at least 16 KiB of traffic (models/nccl §4.6),
// which loads channels unevenly at small sizes.
constexpr Part channel_part(std::int64_t bytes, int channels, int channel) {
  const std::int64_t units = ceil_div(bytes, kCutUnit);
  const std::int64_t each = units / channels;
  const std::int64_t extra = units % channels;
  const std::int64_t begin = std::min((each * channel + std::min<std::int64_t>(channel, extra)) * kCutUnit, bytes);
  const std::int64_t end = std::min((each * (channel + 1) + std::min<std::int64_t>(channel + 1, extra)) * kCutUnit, bytes);
  return {begin, end - begin};
}

// One channel works on this: its part of the data, in chunks of at most `chunk` bytes.
struct ChannelPart {
  Part data;
  std::int64_t chunk = kCutUnit;
};

// The parts of `bytes` bytes of data, by channel: as `choice.shares` has them, or else an even split. Chunks are cut down to
// whole units, one at least.
inline std::vector<ChannelPart> channel_parts(std::int64_t bytes, const Choice& choice) {
  WEFT_CHECK(choice.channels >= 1);
  WEFT_CHECK(choice.shares.empty() || choice.shares.size() == static_cast<std::size_t>(choice.channels));
  const auto whole_units = [](Bytes chunk) { return std::max(chunk.count() / kCutUnit, std::int64_t{1}) * kCutUnit; };
  std::vector<ChannelPart> parts;
  if (choice.shares.empty()) {
    for (int channel = 0; channel < choice.channels; ++channel)
      parts.push_back({.data = channel_part(bytes, choice.channels, channel), .chunk = whole_units(choice.chunk)});
    return parts;
  }
  std::int64_t offset = 0;
  for (const ChannelShare& share : choice.shares) {
    parts.push_back({.data = {offset, share.bytes.count()}, .chunk = whole_units(share.chunk)});
    offset += share.bytes.count();
  }
  WEFT_CHECK(offset == bytes);
  return parts;
}

// Chunk `index` of a part that is cut into chunks of `chunk` bytes from `begin` on: clipped to the part, so that it may be
// empty. Offsets count from the start of the data.
constexpr Part chunk_of(const Part& part, std::int64_t begin, std::int64_t chunk, std::int64_t index) {
  const std::int64_t from = std::min(begin + index * chunk, part.bytes);
  return {part.offset + from, std::min(chunk, part.bytes - from)};
}

// A part in loops of one chunk for each of `heads` heads: chunk h of a loop is head h's work. A last, short loop has smaller
// chunks, rounded up to `grain` bytes (models/nccl §3.4), so that its last heads may have nothing.
struct HeadLoops {
  ChannelPart part;
  int heads = 1;
  std::int64_t grain = kCutUnit;

  [[nodiscard]] constexpr std::int64_t count() const { return ceil_div(part.data.bytes, heads * part.chunk); }
  [[nodiscard]] constexpr Part chunk(std::int64_t loop, int head) const {
    const std::int64_t begin = loop * heads * part.chunk;
    const std::int64_t each = ceil_div(ceil_div(part.data.bytes - begin, heads), grain) * grain;
    return chunk_of(part.data, begin, std::min(each, part.chunk), head);
  }
  // All chunks of a loop: they follow one another.
  [[nodiscard]] constexpr Part loop(std::int64_t index) const { return chunk_of(part.data, 0, heads * part.chunk, index); }
  // Returns the bytes of the first head, which has its whole chunk of a loop even where not all heads have one.
  [[nodiscard]] constexpr std::int64_t of_a_head() const {
    return loop(0).bytes == 0 ? 0 : ceil_div(chunk(0, 0).bytes * part.data.bytes, loop(0).bytes);
  }
};

// The channels that have data, in order. `parts`: of each channel, as ChannelPart or HeadLoops.
constexpr std::int64_t data_bytes(const ChannelPart& part) { return part.data.bytes; }
constexpr std::int64_t data_bytes(const HeadLoops& loops) { return loops.part.data.bytes; }
template <class T>
std::vector<int> used_channels(const std::vector<T>& parts) {
  std::vector<int> used;
  for (std::size_t channel = 0; channel < parts.size(); ++channel) {
    if (data_bytes(parts[channel]) > 0) used.push_back(static_cast<int>(channel));
  }
  return used;
}

}  // namespace weft::coll
