// The speeds that NCCL's search tries, from fast to slow (models/nccl §2.1).
#pragma once

#include <span>

#include "sim/collectives/nccl/release.h"

namespace weft::coll::nccl {

// GB/s of a channel. `sm`: compute capability of the oldest GPU, times ten.
[[nodiscard]] std::span<const float> search_speeds(int sm, bool over_network, NcclVersion version);

}  // namespace weft::coll::nccl
