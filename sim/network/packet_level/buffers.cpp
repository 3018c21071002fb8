#include "sim/network/packet_level/buffers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::net {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

Buffers::Buffers(const Topology& topology, const PacketSettings& settings, PartView own)
    : topology_{topology}, own_{own}, ingresses_{topology.link_count()}, memories_{topology.device_count()} {
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    const DeviceId device = DeviceId::from_index(i);
    if (!own_.has(device)) continue;
    Memory& memory = memories_.make(i);
    memory.pfc = &settings.pfc_of(device);
    memory.switches = &settings.switches_of(device);
    memory.capacity = memory.switches->buffer ? memory.switches->buffer->count() : kUnbounded;
  }
  for (std::size_t i = 0; i < ingresses_.size(); ++i) {
    const DeviceId device = topology.link(LinkId::from_index(i)).to;
    if (!own_.has(device)) continue;
    const Memory& memory = memories_[device.index()];
    const bool plain = !memory.switches->buffer && !memory.switches->queue_limit && !memory.pfc->dynamic;
    Ingress& ingress = ingresses_.make(i);
    ingress.device = device.value();
    ingress.plain_up_to = plain ? memory.pfc->xoff.count() : -1;
  }
}

// Dynamic: alpha x what is free of the memory that ports share, as Choudhury and Hahne have it (models/network §2.4).
std::int64_t Buffers::threshold(const Memory& memory, std::int64_t shared) {
  if (!memory.pfc->dynamic) return memory.pfc->xoff.count();
  return static_cast<std::int64_t>(memory.pfc->alpha *
                                   static_cast<double>(std::max<std::int64_t>(memory.capacity - shared, 0)));
}

std::int64_t Buffers::shared_of(const Ingress& ingress, int priority, const PfcSettings& pfc) {
  const std::int64_t used = ingress.used[priority];
  return pfc.dynamic ? std::max<std::int64_t>(used - pfc.reserved.count(), 0) : used;
}

std::int64_t Buffers::headroom(LinkId link) const {
  const PfcSettings& pfc = *memories_[ingresses_[link.index()].device].pfc;
  if (!pfc.compute_headroom) return pfc.headroom ? pfc.headroom->count() : kUnbounded;
  // models/network §2.5: the cable's bytes both ways, a packet that the peer has begun, the peer's response, the frame itself
  // and a packet that the frame waits for. Besides, the packet that crosses the threshold, which is above it too, and what the
  // device has received and still looks at: it is not counted yet.
  const LinkSpec& spec = topology_.spec(link);
  const Duration delay = 2 * spec.latency + pfc.response + topology_.forwarding(topology_.link(link).to).latency;
  const std::int64_t packets = pfc.frame > Bytes{} ? 3 : 2;
  return static_cast<std::int64_t>(std::ceil(spec.rate.bytes_per_ps() * static_cast<double>(delay.ps()))) +
         packets * (spec.packet + spec.overhead).count() + pfc.frame.count();
}

// Above the threshold a packet goes to the headroom, and the ingress pauses. With a static threshold the packet that crosses it
// still counts as below, as in the conventions of models/network §7: pause where bytes > X_off after a packet.
Buffers::Admission Buffers::admit_lossless(Ingress& ingress, LinkId link, int priority, std::int64_t size) {
  Memory& memory = memories_[ingress.device];
  const PfcSettings& pfc = *memory.pfc;
  const std::int64_t limit = threshold(memory, memory.shared);
  // An empty ingress is not paused: nothing of it could leave and resume it.
  const Admission refused{.accepted = false, .pause = ingress.used[priority] + ingress.headroom[priority] > 0};
  if (!pfc.dynamic) {
    if (ingress.used[priority] + size > limit && ingress.used[priority] + size - limit > headroom(link)) return refused;
    ingress.used[priority] += size;
    return {.accepted = true, .pause = ingress.used[priority] > limit};
  }
  const std::int64_t reserved = pfc.reserved.count();
  const std::int64_t before = shared_of(ingress, priority, pfc);
  const std::int64_t after = std::max<std::int64_t>(ingress.used[priority] + size - reserved, 0);
  if (ingress.headroom[priority] == 0 && (after == 0 || after <= limit)) {
    ingress.used[priority] += size;
    memory.shared += after - before;
    return {.accepted = true, .pause = after > 0 && after >= threshold(memory, memory.shared)};
  }
  if (ingress.headroom[priority] + size > headroom(link)) return refused;
  ingress.headroom[priority] += size;
  return {.accepted = true, .pause = true};
}

Buffers::Admission Buffers::admit(LinkId link, int priority, std::int64_t size, std::int64_t queued) {
  Ingress& ingress = ingresses_[link.index()];
  Memory& memory = memories_[ingress.device];
  const SwitchSettings& switches = *memory.switches;
  if (memory.used + size > memory.capacity) return {.accepted = false};
  if (switches.queue_limit && queued + size > switches.queue_limit->count()) return {.accepted = false};
  Admission admission;
  if ((memory.pfc->priorities & priority_bit(priority)) != 0) {
    admission = admit_lossless(ingress, link, priority, size);
    if ((ingress.pausing & priority_bit(priority)) != 0) {
      admission.pause = false;
    } else if (admission.pause) {
      ingress.pausing |= priority_bit(priority);
    }
    if (!admission.accepted) return admission;
  } else {
    if (switches.egress_alpha > 0 && memory.capacity != kUnbounded &&
        static_cast<double>(queued + size) > switches.egress_alpha * static_cast<double>(memory.capacity - memory.used)) {
      return {.accepted = false};
    }
    ingress.used[priority] += size;
  }
  if (ingress.plain_up_to < 0) memory.used += size;
  count_in(ingress, size);
  return admission;
}

Buffers::Admission Buffers::admit_header(LinkId link, int priority, std::int64_t size, std::int64_t queued) {
  const SwitchSettings& switches = *memories_[ingresses_[link.index()].device].switches;
  const std::int64_t limit = switches.queue_limit ? switches.queue_limit->count() : 0;
  return admit(link, priority, size, std::max<std::int64_t>(queued - limit, 0));
}

bool Buffers::release_any(LinkId link, int priority, std::int64_t size) {
  Ingress& ingress = ingresses_[link.index()];
  Memory& memory = memories_[ingress.device];
  if (ingress.plain_up_to < 0) memory.used -= size;
  ingress.total -= size;
  const PfcSettings& pfc = *memory.pfc;
  if ((pfc.priorities & priority_bit(priority)) == 0) {
    ingress.used[priority] -= size;
    return false;
  }
  // Headroom is given back first, then what is shared, then the reserve (models/network §2.5).
  const std::int64_t from_headroom = std::min(ingress.headroom[priority], size);
  ingress.headroom[priority] -= from_headroom;
  const std::int64_t before = shared_of(ingress, priority, pfc);
  ingress.used[priority] -= size - from_headroom;
  const std::int64_t after = shared_of(ingress, priority, pfc);
  if (pfc.dynamic) memory.shared += after - before;
  if ((ingress.pausing & priority_bit(priority)) == 0) return false;
  const bool resume = pfc.dynamic ? ingress.headroom[priority] == 0 &&
                                        (after == 0 || after + pfc.hysteresis.count() <= threshold(memory, memory.shared))
                                  : ingress.used[priority] <= pfc.xon.count();
  if (resume) ingress.pausing &= static_cast<PriorityMask>(~priority_bit(priority));
  return resume;
}

std::vector<std::int64_t> Buffers::shared_of_held(const std::vector<std::int64_t>& held) const {
  std::vector<std::int64_t> shared(memories_.size(), 0);
  for (std::size_t i = 0; i < held.size(); ++i) {
    const std::uint32_t device = ingresses_[i / kPriorities].device;
    shared[device] += std::max<std::int64_t>(held[i] - memories_[device].pfc->reserved.count(), 0);
  }
  return shared;
}

bool Buffers::resumes_at(LinkId link, std::int64_t held, std::int64_t shared) const {
  const Memory& memory = memories_[ingresses_[link.index()].device];
  const PfcSettings& pfc = *memory.pfc;
  if (!pfc.dynamic) return held <= pfc.xon.count();
  const std::int64_t beyond = std::max<std::int64_t>(held - pfc.reserved.count(), 0);
  return beyond == 0 || beyond + pfc.hysteresis.count() <= threshold(memory, shared);
}

void Buffers::reset_peaks() {
  for (std::size_t i = 0; i < ingresses_.size(); ++i) {
    if (own_.has(topology_.link(LinkId::from_index(i)).to)) ingresses_[i].peak = ingresses_[i].total;
  }
}

}  // namespace weft::net
