// A schedule of NCCL's whose buffers are registered: the same steps, without the copies that registration saves.
//
//   NVLS: ranks scatter and gather nothing, one warp each says when data are there, and the other 18 of 20 do the rest
//   peers: what is to stay as it came lies where it belongs, because the peer stored it there
//   network: so does what a NIC brings, and a NIC fetches what is sent as it is
//
// Model: the in-switch kernels have no fluid grain then; they have few channels, so few messages.
#pragma once

#include <memory>

#include "sim/collectives/call.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

// Warps of an NVLS block that neither scatter nor gather (NCCL, src/device/all_reduce.h).
inline constexpr double kRegisteredShare = 18.0 / 20.0;

// `communicator` outlives it. The schedule itself where nothing is registered.
[[nodiscard]] std::shared_ptr<const Schedule> with_registration(std::shared_ptr<const Schedule> schedule,
                                                                const Communicator& communicator,
                                                                const RegisteredBuffers& registration);

}  // namespace weft::coll
