// A fabric refuses these unless it can do them, or does them so unless it knows better.
#include "sim/network/fabric.h"

#include "sim/core/error.h"
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

void Fabric::mark_counters() { throw InternalError("this fabric does not repeat what it counted"); }

void Fabric::repeat_counted(std::int64_t /*times*/) { throw InternalError("this fabric does not repeat what it counted"); }

}  // namespace weft::net
