// Costs of a protocol to the thread block (CTA) of a channel, beyond the bytes on the links (models/nccl §4, §11). They are
// synchronisation, flags, fences, and the rates at which warps copy and reduce. Textbook algorithms run with the defaults:
// nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/collectives/shared_port.h"
#include "sim/core/units.h"

namespace weft::coll {

// How two ranks of a communicator are joined: by NCCL's P2P over NVLink (or Infinity Fabric), over PCIe or through host memory
// (P2P, SHM), or by its network transport.
enum class Transport : std::uint8_t { kNvlink, kHost, kNet };
[[nodiscard]] std::string_view to_string(Transport transport);

// A thread block's work in a step, per byte of its chunk. It reads operands from peers' messages and from its own memory, keeps
// results in its own memory, and sends.
struct StepWork {
  double received = 0;
  double sourced = 1;
  double stored = 0;
  double sent = 1;
};
// Each of these costs this share of a step that reads its own memory and sends; sending is the rest of it. All 0: every step
// costs one.
struct MemoryCosts {
  double receive = 0;
  double source = 0;
  double store = 0;
  double far = 0;  // more of an operand in its own memory that caches do not hold; what is stored meanwhile costs no more
  bool loads_at_once = false;  // a step waits for the longer of its loads, not for one after the other
  bool operator==(const MemoryCosts&) const = default;
};

struct StepCosts {
  // A kernel's start, until its first step. Its thread blocks do not start at once: the n-th of those that talk to a peer
  // starts log2(n) times `channel_start` later, as the last of n that start at random does.
  Duration start = {};
  Duration channel_start = {};
  // The start costs this much more where ranks talk through host memory.
  Duration host_start = {};
  // From the last byte to the moment the receiver acts on it, beyond the path's own latency; by transport.
  std::array<Duration, 3> hop = {};
  // Time of a GPU's proxy thread for each message that it has the network carry, one after another.
  Duration proxy = {};
  // Time of a slice with bytes, before them; from its end to the lane's next slice.
  Duration slice = {};
  Duration after_slice = {};
  // Time of a scatter or gather, before its bytes, for each of its peers; of less than `load_pass` in proportion.
  Duration peer_slice = {};
  // More of the last where messages cut through and the next step loads an operand of its own: it does so before it looks for
  // its message, so that a lane that waits for one anyway loses nothing.
  Duration operand_wait = {};
  // Before the bytes of a chunk's first slice too, of less than `load_pass` in proportion: the more warps have data, the longer
  // they wait for each other's loads and fences. Later slices have theirs under way by then.
  Duration load_wait = {};
  Bytes load_pass = {};
  // More before the bytes of a chunk's first slice where an operand in its own memory is not in the caches.
  Duration far_wait = {};
  // More before the bytes of a chunk's first slice, however many, in a step that keeps its one operand as it is (Step::copies).
  Duration copy_wait = {};
  // Data a whole thread block moves from its memory to a peer's; 0: no limit. Other steps: `memory`.
  Bandwidth rate = {};
  MemoryCosts memory = {};
  // Where peers over NVLink store into the receiver's own memory: what keeping that costs in place of memory.store where ports
  // are busy, and less where they are not (Executor::direct_store). 0: they do not.
  double direct = 0.0;
  // Data that a GPU's port to its peers carries, at which thread blocks queue (shared_port.h); 0: they do not.
  PortRate port = {};
  // Threads move data in passes of this, the last of them by those with data left; 0: in any amount. The first pass of a slice
  // costs this share of the others.
  Bytes pass = {};
  double first_pass = 1.0;
  // Where a share s of a block's warps is busy, a pass of each takes s^exponent of the time: warps wait less for each other.
  double thread_exponent = 0.0;
  // Bytes on the wire per byte of data: flags of LL and LL128.
  std::int64_t wire_bytes = 1;
  std::int64_t per_data_bytes = 1;
  // A lane that reads host memory waits this long for each of its loads but the first, and they bring this much together. A
  // load comes back after a round trip over PCIe, and the next one is issued then.
  Duration host_read = {};
  // Before a slice read from or written to host memory; of less than host_pass in proportion.
  Duration host_slice = {};
  Bytes host_pass = {};
  // Messages that the fabric's switches add up or copy (SHARP) move no faster than this, 0: than their links let them. They
  // take so much longer.
  Bandwidth switch_rate = {};
  Duration switch_latency = {};
  // Share of a PCIe link's rate that loads and stores of thread blocks reach in host memory.
  double pcie_share = 1.0;
  int slots = 2;   // slices a connection holds that the receiver has not taken
  int slices = 1;  // of a chunk, as far as each has `min_slice` bytes
  Bytes min_slice = {};
  // Links serve the blocks that share them unequally, step by step, by up to this share either way, so that channels which
  // start in phase drift apart (models/nccl_calibration, advice 5).
  double service_spread = 0.0;
  // Data carry their own flags (LL, LL128), so a receiver follows the sender pass by pass instead of waiting for a whole slice.
  bool cut_through = false;
  // A lane goes on when what it sent has been delivered, not when it has left: the alpha-beta model of textbooks.
  bool rendezvous = true;

  // Data of slice `index` of a chunk.
  [[nodiscard]] Bytes slice_bytes(Bytes chunk, int index) const;
  [[nodiscard]] Bytes on_wire(Bytes data) const;
  // Rate of data that links of `wire` carry.
  [[nodiscard]] Bandwidth data_rate(Bandwidth wire) const;
  // Rate of `wire` bytes that keep warps busy for so long; 0, no limit, where they cost nothing.
  [[nodiscard]] static Bandwidth pace(Bytes wire, Duration busy);
  // Returns a step's cost over that of a step that reads its own memory and sends.
  [[nodiscard]] double effort(const StepWork& work) const;
  // False: work() is 0, whoever is busy.
  [[nodiscard]] bool takes_time(Bytes data) const { return rate > Bandwidth{} && data.count() != 0; }
  // Time a lane with `share` of the thread block's warps is busy with `data`, while `busy_share` of them, its own included,
  // are.
  [[nodiscard]] Duration work(Bytes data, double share, double effort, double busy_share = 1.0) const;
  // Returns what a block moves with this share of its warps busy, over what it moves with all of them. Fewer warps wait less
  // for each other.
  [[nodiscard]] double blocks_worth(double share) const;
  // Before the bytes of a chunk's slice number `index`, of `data`.
  [[nodiscard]] Duration before_slice(Bytes data, int index) const;
  // Before the bytes of a scatter or gather that has `data` for each of so many peers, beside the above.
  [[nodiscard]] Duration before_peers(int peers, Bytes data) const;
  // Before the bytes of all slices of a chunk, where this share of the steps copies.
  [[nodiscard]] Duration before_slices(double copies) const;
  // From a kernel's start to that of its n-th thread block, from 0.
  [[nodiscard]] Duration start_of(int block) const;
  // Before a slice of `data` that lies in host memory on one side or both; `reads`: waits for its loads.
  [[nodiscard]] Duration host_wait(Bytes data, double share, bool reads) const;
  // Times of the SMs become `latency` times as long, moving data takes a thread block `rate` times as long.
  void slow_down(double latency, double rate);
  // Returns a message's cost beyond its bytes on path and thread block: for estimates of pipelines.
  [[nodiscard]] Duration message_overhead(Transport transport, double copies) const;

 private:
  [[nodiscard]] double part_of_pass(Bytes data) const;
};

}  // namespace weft::coll
