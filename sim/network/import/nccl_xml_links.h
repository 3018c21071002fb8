// The links of an NCCL topology file: PCIe to the parent, NVLink, C2C and peers, sockets. Private to import/.
#pragma once

#include "sim/core/profile.h"
#include "sim/network/import/nccl_xml_checks.h"
#include "sim/network/import/nccl_xml_devices.h"
#include "sim/network/topology.h"

namespace weft::net {

// Into `devices.host`, which may get an NVSwitch as its last device. ConfigError, with all that `checks` holds, where the two
// ends of a link do not agree.
void add_links(XmlDevices& devices, TopologyBuilder& builder, const Profile& profile, XmlChecks& checks);

}  // namespace weft::net
