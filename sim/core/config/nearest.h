// The name a user probably meant.
//
//   nearest("bandwith", keys)                          == "bandwidth"
//   did_you_mean("bandwith", keys, "keys here")        == "did you mean 'bandwidth'? keys here: bandwidth, latency, mtu, type"
//   did_you_mean("zzz", keys, "keys here")             == "keys here: bandwidth, latency, mtu, type"
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// Least number of insertions, deletions, substitutions and swaps of neighbours (each place touched once) from one to the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate at the least distance, if that is at most a third of the name's length (and 2 at least for names of four
// letters up, 1 below); letter case costs nothing. Of equals the first in byte order. Empty if none is near.
[[nodiscard]] std::string nearest(std::string_view name, std::span<const std::string> candidates);

// The note below an error about an unknown name: the nearest one if any, then all of them in byte order (the first 40).
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates, std::string_view what);

}  // namespace weft
