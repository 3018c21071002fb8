// Which algorithm, protocol and channels a call runs with.
//
// Model: a first version. Ring in the Simple protocol for what NCCL runs on rings, direct messages for what it runs as send and
// receive, with the channel counts of the profile. NCCL's own selection (LL, LL128, trees, NVLS; channels that shrink for small
// messages) is not modelled yet, so times below some tens of MiB are too long.
#pragma once

#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/collectives/costs.h"
#include "sim/collectives/nccl/settings.h"

namespace weft::coll::nccl {

struct Chosen {
  Choice choice;
  std::vector<std::string> notes;  // what was asked for and is not modelled; for a person
};

// `algorithm` (a registered name) and `channels` (0: by rule) are the user's own; the settings come second, the rules last.
// ConfigError where the algorithm does not know the collective.
[[nodiscard]] Chosen choose(const CollectiveCall& call, int ranks, int nodes, const ChannelCounts& counts,
                            const Settings& settings, const std::string& algorithm, int channels);

}  // namespace weft::coll::nccl
