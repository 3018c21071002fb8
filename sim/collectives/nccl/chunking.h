// How large the steps of a channel are: FIFO slots, and the chunk that each algorithm takes for a message of some size
// (models/nccl §4.1, §4.3, §4.4).
#pragma once

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/tuning.h"

namespace weft::coll::nccl {

// Data bytes that one of the eight slots of a connection's FIFO holds: 512 KiB in Simple, 32 KiB in LL, 576000 B in LL128, or
// what NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE and NCCL_LL128_BUFFSIZE make of it.
[[nodiscard]] Bytes slot_data(const Settings& settings, Proto proto);

// Data must be cut at multiples of this: 512, 16 or 1920 B.
[[nodiscard]] Bytes grain(Proto proto);

// Slots that a chunk takes: 4 for rings that synchronise all ranks in Simple, else 1.
[[nodiscard]] int slots_per_chunk(Collective kind, Algo algo, Proto proto);

// True for the kinds that are laid over all their channels at once instead of channel by channel (models/nccl §4.6).
[[nodiscard]] bool runs_collnet(const CommInfo& comm, Algo algo);

// Heads among which each channel's data are divided: NVLS, NVLSTree, CollNetDirect; else 1.
[[nodiscard]] int heads_of(const CommInfo& comm, Algo algo);

// The chunk for `bytes` over `channels`: for what runs_collnet() the whole call over all its channels, else one channel's part
// and 1. Bytes are the total over all ranks for all-gather and reduce-scatter.
[[nodiscard]] Bytes chunk_of(const TuningModel& model, Collective kind, Algo algo, Proto proto, Bytes bytes, int channels);

}  // namespace weft::coll::nccl
