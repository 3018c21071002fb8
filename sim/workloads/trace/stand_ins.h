// Ranks without a trace of their own, and copies of a whole job: what one rank did is taken for what others do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workloads/program.h"

namespace weft::work {

// `program.ranks` holds the ranks of `traced` (ascending) and is to hold `world`: the missing ones follow the nearest traced
// rank before them, or the first. Their groups are its groups where they are in them, else those moved by the distance.
// ConfigError where that gives groups that contradict each other. Returns what was assumed; empty: nothing was missing.
std::vector<std::string> fill_missing_ranks(Program& program, const std::vector<Rank>& traced, Rank world);

// `count` copies of the job: rank r of copy k is k * ranks + r and follows rank r. Groups named in `across` reach over all
// copies; empty: the groups of all ranks. Others are copied. ConfigError where it is not well-defined: no group reaches over
// all ranks and none is named, an all-to-all among copies.
// Model: a group that reaches over copies is data parallel: the call's size stays as it is, shards become smaller.
std::vector<std::string> replicate(Program& program, int count, const std::vector<std::string>& across);

}  // namespace weft::work
