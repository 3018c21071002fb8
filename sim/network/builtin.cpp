#include "sim/network/builtin.h"

#include <array>

#include "sim/network/host_memory.h"
#include "sim/network/launch_timings.h"
#include "sim/network/node_template.h"

namespace weft::net {

const Registry<LinkType>& link_types() {
  static constexpr std::array kEntries{
#define WEFT_LINK_TYPE(name) &name,
#include "sim/network/builtin.def"
  };
  static const Registry<LinkType> registry{"link type", kEntries};
  return registry;
}

const Registry<TopologyShape>& topology_shapes() {
  static constexpr std::array kEntries{
#define WEFT_TOPOLOGY(name) &name,
#include "sim/network/builtin.def"
  };
  static const Registry<TopologyShape> registry{"fabric type", kEntries};
  return registry;
}

ParamGroups network_param_groups() {
  ParamGroups groups;
  for (const Registration<LinkType>* entry : link_types().entries()) {
    if (const ParamGroupBase* group = find_link_type(entry->name)->group()) groups.push_back(group);
  }
  for (const Registration<NicTransport>* entry : nic_transports().entries())
    groups.push_back(find_nic_transport(entry->name)->group);
  groups.push_back(&host_forwarding_params);
  groups.push_back(&host_memory_params);
  groups.push_back(&launch_timings);
  return groups;
}

}  // namespace weft::net
