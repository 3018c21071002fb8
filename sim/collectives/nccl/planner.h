// From NCCL's selection to what runs: how many channels and threads a message is worth, which bytes each channel moves, in
// which chunks (models/nccl §4.4 to §4.6).
//
//   const TuningModel model(info, settings);
//   const Choice choice = plan(model, {.kind = Collective::kAllReduce, .bytes = 1_MiB});
//   // on 4 x H200: ring, LL, 24 channels, 23 shares of 45056 B and one of 12288 B, 16 warps
//
// The user's settings of channels and NVLS chunks are in the CommInfo already; threads, thresholds and buffers act here.
//
// Model: CollNet kinds stride over their channels; here each channel gets the same bytes as one contiguous part.
#pragma once

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/registered.h"
#include "sim/collectives/nccl/tuning.h"

namespace weft::coll::nccl {

// The most that a NIC is given at once of registered buffers: NCCL_MAX_NET_SIZE. Model: a peer over NVLink is given no more of
// them than of others, where NCCL stores as much as that; flags between chunks cost what they do without.
inline constexpr Bytes kLargestMessage{1 << 30};

// The shape of a message's launch, before its bytes are cut over channels.
struct LaunchShape {
  int channels = 1;
  int threads = 0;  // of each CTA, the synchronising warp included
  [[nodiscard]] int warps() const { return threads / 32; }
};

// `bytes` as for TuningModel::select: the total over all ranks for all-gather and reduce-scatter.
[[nodiscard]] LaunchShape launch_shape(const TuningModel& model, Collective kind, Algo algo, Proto proto, Bytes bytes);

// The choice for a collective that NCCL tunes (choice_list.h), sized as nccl-tests sizes it; `selection` is what
// model.select() answered for it, or what a caller wants tried. A call of no bytes gets one empty share.
[[nodiscard]] Choice plan(const TuningModel& model, const CollectiveCall& call, const Selection& selection,
                          const UserBuffers& buffers = {});
[[nodiscard]] Choice plan(const TuningModel& model, const CollectiveCall& call);

}  // namespace weft::coll::nccl
