// How algorithms cut data: over channels, and into pieces of whole 16-byte units. Private to algorithms/ and closed_form.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/units.h"

namespace weft::coll {

// All cuts fall on multiples of this, NCCL's alignment unit, so that no element is torn. Only the end of the data may not.
inline constexpr std::int64_t kCutUnit = 16;

struct Part {
  std::int64_t offset = 0;  // bytes
  std::int64_t bytes = 0;
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up_to_unit(std::int64_t bytes) { return ceil_div(bytes, kCutUnit) * kCutUnit; }

// Channel `channel`'s share of `bytes`: contiguous, in channel order, as even as units allow; the first channels get the units
// left over, so that the empty ones, if any, come last.
// Model: NCCL cuts in cells of at least 16 KiB of traffic (nccl-model §4.6), which loads channels unevenly at small sizes.
constexpr Part channel_part(std::int64_t bytes, int channels, int channel) {
  const std::int64_t units = ceil_div(bytes, kCutUnit);
  const std::int64_t each = units / channels;
  const std::int64_t extra = units % channels;
  const std::int64_t begin = std::min((each * channel + std::min<std::int64_t>(channel, extra)) * kCutUnit, bytes);
  const std::int64_t end = std::min((each * (channel + 1) + std::min<std::int64_t>(channel + 1, extra)) * kCutUnit, bytes);
  return {begin, end - begin};
}

}  // namespace weft::coll
