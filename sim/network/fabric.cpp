// A fabric refuses these unless it can do them, or does them so unless it knows better.
#include "sim/network/fabric.h"

#include "sim/core/error.h"
#include "sim/network/packet_level/faults.h"
#include "sim/network/packet_probe.h"
#include "sim/network/router.h"

namespace weft::net {

void Fabric::cut_short(TransferId /*transfer*/) { throw InternalError("this fabric cannot cut a transfer short"); }

void Fabric::set_rate_cap(TransferId /*transfer*/, Bandwidth /*cap*/) {
  throw InternalError("this fabric cannot change the pace of a transfer");
}

double Fabric::moved_bytes(TransferId /*transfer*/) const {
  throw InternalError("packets are counted by queue pair, not by transfer");
}

void Fabric::set_link_state(Router& router, std::span<const LinkId> links, bool up, bool /*returns*/) {
  for (const LinkId link : links) router.set_link_state(link, up);
  for (const LinkId link : links) {
    const ResourceId resource{link.value()};
    if (up) {
      restore(resource);
    } else {
      fail(resource);
    }
  }
}

void Fabric::add_drop_rule(const DropRule& /*rule*/) { throw InternalError("this fabric has no packets to drop"); }

void Fabric::force_pause(const ForcedPause& /*pause*/) { throw InternalError("this fabric has no packets to pause"); }

void Fabric::inject_cnp(FootprintId /*flow*/, Time /*at*/) { throw InternalError("this fabric has no queue pairs to notify"); }

const PacketProbe& Fabric::probe() const {
  static const PacketProbe none;
  return none;
}

double Fabric::wire_bytes(LinkId link) const { return counters(ResourceId{link.value()}).bytes; }

double Fabric::utilization(LinkId link, double bytes, Duration /*busy*/, Duration window) const {
  return bytes / (capacity(ResourceId{link.value()}) * static_cast<double>(window.ps()));
}

void Fabric::mark_counters() { throw InternalError("this fabric does not repeat what it counted"); }

void Fabric::repeat_counted(std::int64_t /*times*/) { throw InternalError("this fabric does not repeat what it counted"); }

}  // namespace weft::net
