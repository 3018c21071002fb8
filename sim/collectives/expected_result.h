// A collective leaves this in the output of a rank, as the verifier sees data. Private to the verifier.
#pragma once

#include <cstdint>

#include "sim/collectives/call.h"
#include "sim/collectives/symbolic_data.h"

namespace weft::coll {

// A piece for each stretch of consecutive source bytes. `bytes`: of the rank's output.
[[nodiscard]] Data expected_result(const CollectiveCall& call, int ranks, Rank rank, std::int64_t bytes,
                                   ContributorTable& table);

}  // namespace weft::coll
