// A fabric refuses these unless it can do them.
#include "sim/network/fabric.h"

#include "sim/core/error.h"

namespace weft::net {

void Fabric::cut_short(TransferId /*transfer*/) { throw InternalError("this fabric cannot cut a transfer short"); }

void Fabric::set_rate_cap(TransferId /*transfer*/, Bandwidth /*cap*/) {
  throw InternalError("this fabric cannot change the pace of a transfer");
}

void Fabric::mark_counters() { throw InternalError("this fabric does not repeat what it counted"); }

void Fabric::repeat_counted(std::int64_t /*times*/) { throw InternalError("this fabric does not repeat what it counted"); }

}  // namespace weft::net
