// The packet memory of switches, counted twice: by ingress port and priority, where pauses come from, and by switch and egress
// queue, where drops come from (models/network §2.1, §2.3-§2.5). Arithmetic only: who sends the pause is the network's
// business.
//
// Model: a packet is counted from the moment a device has taken it in until its last bit has left; memory is not cut into
// cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/lazy_array.h"
#include "sim/network/packet_level/per_priority.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/partition.h"
#include "sim/network/topology.h"

namespace weft::net {

class Buffers {
 public:
  // Only devices of the part have memory here.
  Buffers(const Topology& topology, const PacketSettings& settings, PartView own = {});

  struct Admission {
    bool accepted = true;
    bool pause = false;  // the ingress has just gone over its threshold
  };
  // A packet of `size` that came over `link`: below its threshold an ingress of unbounded memory takes everything. False: it
  // has not been taken in.
  bool admits_plainly(LinkId link, int priority, std::int64_t size) {
    Ingress& ingress = ingresses_[link.index()];
    const std::int64_t used = ingress.used[priority] + size;
    if (used > ingress.plain_up_to) return false;
    ingress.used[priority] = used;
    count_in(ingress, size);
    return true;
  }
  // The same of any; `queued`: bytes of the queue that it joins.
  Admission admit(LinkId link, int priority, std::int64_t size, std::int64_t queued);
  // The same of a trimmed packet, whose queue may be twice as long (htsim's rule).
  Admission admit_header(LinkId link, int priority, std::int64_t size, std::int64_t queued);
  // It has left. True: the ingress may be resumed.
  bool release(LinkId link, int priority, std::int64_t size) {
    Ingress& ingress = ingresses_[link.index()];
    if (ingress.plain_up_to < 0 || (ingress.pausing & priority_bit(priority)) != 0) return release_any(link, priority, size);
    ingress.used[priority] -= size;
    ingress.total -= size;
    return false;
  }
  [[gnu::always_inline]] void prefetch(LinkId link) const { __builtin_prefetch(&ingresses_[link.index()]); }

  [[nodiscard]] std::int64_t ingress_bytes(LinkId link) const { return ingresses_[link.index()].total; }
  [[nodiscard]] std::int64_t peak_ingress_bytes(LinkId link) const { return ingresses_[link.index()].peak; }
  [[nodiscard]] bool pauses(LinkId link, int priority) const {
    return (ingresses_[link.index()].pausing & priority_bit(priority)) != 0;
  }
  [[nodiscard]] std::int64_t headroom(LinkId link) const;
  // Takes bytes that stay for ever, by link x kPriorities + priority. The first returns how much of each device's shared memory
  // they take; the second, whether an ingress that holds so many of them, and nothing else, would be resumed.
  [[nodiscard]] std::vector<std::int64_t> shared_of_held(const std::vector<std::int64_t>& held) const;
  [[nodiscard]] bool resumes_at(LinkId link, std::int64_t held, std::int64_t shared) const;
  void reset_peaks();

 private:
  struct alignas(64) Ingress {
    std::int64_t total = 0;
    std::int64_t peak = 0;
    std::uint32_t device = 0;
    PriorityMask pausing = 0;
    // Where memory and queues are unbounded and the threshold is fixed, ingresses know nothing of each other: that threshold.
    // Else -1.
    std::int64_t plain_up_to = -1;
    PerPriority<std::int64_t> used;      // reserve and shared memory
    PerPriority<std::int64_t> headroom;  // above the threshold
  };
  // A device's memory; not kept where nothing depends on it (Ingress::plain_up_to).
  struct Memory {
    const PfcSettings* pfc = nullptr;
    const SwitchSettings* switches = nullptr;
    std::int64_t capacity = 0;
    std::int64_t used = 0;    // all of it
    std::int64_t shared = 0;  // beyond the ingresses' reserves, headroom left out
  };

  static void count_in(Ingress& ingress, std::int64_t size) {
    ingress.total += size;
    ingress.peak = std::max(ingress.peak, ingress.total);
  }
  bool release_any(LinkId link, int priority, std::int64_t size);

  // Where `shared` bytes of the memory are taken.
  [[nodiscard]] static std::int64_t threshold(const Memory& memory, std::int64_t shared);
  [[nodiscard]] static std::int64_t shared_of(const Ingress& ingress, int priority, const PfcSettings& pfc);
  Admission admit_lossless(Ingress& ingress, LinkId link, int priority, std::int64_t size);

  const Topology& topology_;
  PartView own_;
  LazyArray<Ingress> ingresses_;  // by link
  LazyArray<Memory> memories_;    // by device

 public:
  static constexpr std::size_t kLinkBytes = sizeof(Ingress);
};

}  // namespace weft::net
