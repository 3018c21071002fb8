// The links of an NCCL topology file: PCIe to the parent, NVLink, C2C and peers, sockets; NVLinks by a GPU's compute
// capability, as other importers know them too. Private to import/.
#pragma once

#include "sim/core/profile.h"
#include "sim/network/import/nccl_xml_checks.h"
#include "sim/network/import/nccl_xml_devices.h"
#include "sim/network/topology.h"

namespace weft::net {

// Into `devices.host`, which may get an NVSwitch as its last device. ConfigError, with all that `checks` holds, where the two
// ends of a link do not agree.
void add_links(XmlDevices& devices, TopologyBuilder& builder, const Profile& profile, XmlChecks& checks);

// `count` bonded NVLinks of a GPU of compute capability `sm` (models/nccl §1.2).
[[nodiscard]] LinkSpec nvlinks_of(std::int64_t sm, std::int64_t count, const Profile& profile);

// The link between two CPUs by what NCCL plans with (models/nccl §1.2). The types carry that value as raw rate times efficiency
// (models/network §1.5); where none of them has it, the link states it itself.
[[nodiscard]] LinkSpec socket_link_of(const CpuClass& cpu, const Profile& profile);

}  // namespace weft::net
