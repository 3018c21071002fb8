// Node templates: what is inside a host (GPUs, NVSwitches, PCIe tree, sockets, NICs), read from YAML.
//
//   kind: node
//   name: dgx_h100
//   description: 8 H100 behind 4 NVSwitches
//   devices: [...]        # wiring.h
//   links: [...]
//
// GPUs name their data sheet, `model: h100_sxm` (gpu_spec.h). A bare host is a template of one device of kind `host`. Not here:
// how hosts are joined (topology_shape.h, cluster.h).
#pragma once

#include <memory>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::net {

// How the inside of a host passes packets on, beyond what its link types say.
struct HostForwarding {
  Duration root_complex_latency = Duration::from_ns(300);  // PCIe peer-to-peer through a CPU
};
extern const ParamGroup<HostForwarding> host_forwarding_params;

// Reads a template; specs of its links are interned in `builder`, to which it is not added. `name` serves where the node states
// none. Errors go to `diagnostics`; the result is then unfit for use.
[[nodiscard]] HostTemplate read_node_template(const ConfigNode& node, const std::string& name, const Profile& profile,
                                              TopologyBuilder& builder, Diagnostics& diagnostics);

// Puts other GPUs in the place of a template's own: their labels and memory are gone, its links stay.
void replace_gpus(HostTemplate& host, const std::shared_ptr<const GpuSpec>& gpu);

}  // namespace weft::net
