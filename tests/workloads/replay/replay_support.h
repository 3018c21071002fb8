// The parameters of the layers that a replay stands on.
#pragma once

#include "sim/collectives/costs.h"
#include "sim/network/builtin.h"

namespace weft::work::test {

inline ParamGroups groups() {
  ParamGroups all = net::network_param_groups();
  for (const ParamGroupBase* group : coll::collective_param_groups()) all.push_back(group);
  return all;
}

}  // namespace weft::work::test
