// Faults are what a scenario does to a packet network on purpose: lost packets, frozen links, notifications nobody asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::net {

// A drop rule is about one of these. Acknowledgements: NAKs too.
enum class DropKind : std::uint8_t { kData, kAcks, kCnps };

// Drops packets as they arrive over `link`, or at their destination, whatever the path: those named in `packets` once, every
// `every`-th one, or any with `probability`. Data packets are numbered within their queue pair and count on their first
// transmission; others are numbered as the rule meets them.
struct DropRule {
  DropKind of = DropKind::kData;
  LinkId link = {};                        // invalid: any
  std::optional<FootprintId> flow = {};    // none: any
  std::vector<std::int64_t> packets = {};  // numbers, from 0
  std::int64_t every = 0;                  // 256: numbers 255, 511, ...; 0: not by count
  double probability = 0;
  Time from = {};
  Time until = Time::max();
};

// The receiver of `link` pauses it, whatever its buffers say.
struct ForcedPause {
  LinkId link;
  int priority = 0;  // -1: all
  Time at;
  Duration duration = Duration::max();  // max: for ever
};

}  // namespace weft::net
