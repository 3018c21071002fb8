#include "sim/network/topology_shape.h"

#include <utility>

#include "sim/core/error.h"

namespace weft::net {

std::vector<std::uint32_t> fabric_ports(const HostTemplate& host) {
  std::vector<std::uint32_t> ports = host.of_kind(DeviceKind::kNic);
  if (ports.empty()) ports = host.of_kind(DeviceKind::kHost);
  return ports;
}

FabricSite::FabricSite(TopologyBuilder& builder, const FabricDemand& demand, std::uint32_t link, std::uint32_t uplink,
                       Forwarding forwarding)
    : builder_{&builder},
      demand_{demand},
      local_ports_{fabric_ports(*demand.host)},
      link_{link},
      uplink_{uplink},
      forwarding_{forwarding} {
  WEFT_CHECK(static_cast<std::int64_t>(local_ports_.size()) == demand.rails);
}

DeviceId FabricSite::port(std::int64_t node, std::int64_t rail) const {
  return builder_->device_of(static_cast<std::uint32_t>(node), local_ports_[static_cast<std::size_t>(rail)]);
}

DeviceId FabricSite::add_switch(std::string name, Labels labels) {
  return builder_->add_switch({std::move(name), DeviceKind::kSwitch, forwarding_, std::move(labels)});
}

void FabricSite::join_switches(DeviceId a, DeviceId b, std::int64_t cables) {
  for (std::int64_t i = 0; i < cables; ++i) builder_->add_cable(a, b, uplink_);
}

}  // namespace weft::net
