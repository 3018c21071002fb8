// Lists of devices and links as they stand in YAML: shared by node templates and custom fabrics.
//
//   devices: [{name: gpu0..7, kind: gpu, sm: 90}, {name: nvswitch0..3, kind: nvswitch, ports: 64}]
//   links:
//     - {between: [gpu0..7, nvswitch0..3], type: nvlink4, width: 4}                 # every one with every one (pairing: all)
//     - {between: [gpu0..7, pcie0..7], type: pcie5, lanes: 16, pairing: zip}        # first with first, second with second
//     - {between: [nic0..7, pcie0..3], type: pcie5, lanes: 16, pairing: block}      # first two with first, next two with
//     second
//     - {between: [gpu0..3], type: infinity_fabric, pairing: ring}                  # of one set: mesh, ring, chain
//
// `direction: one_way` is a link from the first side to the second, and from each to the next in a ring or a chain; fabrics
// only.
//
// `weight: 3` is a link's part of flows that a policy weighs (routing/ecmp.cpp); fabrics only too.
//
// A side of `between` is a name, a range or a list of those. Labels of a range are one value for all or a list, one each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/profile.h"
#include "sim/network/gpu_spec.h"
#include "sim/network/topology.h"

namespace weft::net {

// Device labels that YAML may state, with the names under which importers and exporters know them. `model` is a number for a
// CPU (as NCCL prints family and model), for a GPU what read_gpu() takes, and a name for everything else. A GPU whose data
// sheet is known has `sm` or `gcn` from there where it states neither.
//   sm rank dev family model numa rail plane port maxconn tray  numbers
//   arch vendor bus_id guid host_hash affinity module net_name   text
//   gcn device subsystem_vendor subsystem_device                 text, as NCCL's topology file has it
//   gdr coll                                                      true or false
//   speed                                                         bandwidth of a NIC
//   memory                                                        size of a GPU's or host's memory
[[nodiscard]] std::span<const std::string_view> device_label_keys();

struct ListedDevice {
  TemplateDevice device;
  std::int64_t ports = 0;       // 0: not counted
  ConfigNode node;              // its entry
  bool states_latency = false;  // else device.forwarding.latency is the link type's
};

// One entry of `links:`, with the pairs it makes as indices that `resolve` gave.
struct ListedLinks {
  ConfigNode node;
  LinkSpec spec;
  bool one_way = false;  // from the first of each pair to the second
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cables;
};

inline constexpr std::size_t kMaxListedDevices = 100'000;
inline constexpr std::size_t kMaxListedCables = 4'000'000;

// An error at `node` that names its place in the file.
void report(Diagnostics& diagnostics, const ConfigNode& node, std::string_view message, std::string note = {});

// Gives a GPU this data sheet, and the labels that follow from it.
void set_gpu(TemplateDevice& device, std::shared_ptr<const GpuSpec> gpu);

// The map's `devices`, expanded, in order. Reports unknown kinds, repeated names, names that cannot be told from other words.
[[nodiscard]] std::vector<ListedDevice> read_devices(ParamReader& params, std::span<const DeviceKind> kinds);

// The map's `links`. `resolve` turns a name into an index; `known` are the names to suggest when it does not.
using ResolveName = std::function<std::optional<std::uint32_t>(std::string_view)>;
[[nodiscard]] std::vector<ListedLinks> read_links(ParamReader& params, const Profile& profile, const ResolveName& resolve,
                                                  std::span<const std::string> known);

// Reports links that join more ports than a device has. `first` is the index of devices[0]; indices outside are not counted.
void check_ports(std::span<const ListedDevice> devices, std::uint32_t first, std::span<const ListedLinks> links,
                 Diagnostics& diagnostics);

}  // namespace weft::net
