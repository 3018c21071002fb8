// What collectives cost beyond the bytes on their links: parameter groups of the profile.
#pragma once

#include <cstdint>

#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::coll {

using namespace literals;

// NCCL's Simple protocol, as this version lumps it (executor.h): one base for kernel start and end, one latency per message,
// one rate per channel.
struct SimpleCosts {
  Duration base_latency = 12'500_ns;                                          // of a kernel, whatever it moves
  Duration step_latency = 1'100_ns;                                           // per message, beyond the links' own
  Bandwidth channel_rate = Bandwidth::from_bytes_per_second(30'300'000'000);  // of one CTA
};
extern const ParamGroup<SimpleCosts> simple_costs;

// How many channels NCCL opens (nccl-model §2.5).
struct ChannelCounts {
  std::int64_t one_node = 24;
  std::int64_t several_nodes = 16;
};
extern const ParamGroup<ChannelCounts> channel_counts;

// Everything of this layer that a profile may say something about.
[[nodiscard]] ParamGroups collective_param_groups();

}  // namespace weft::coll
