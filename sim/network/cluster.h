// A cluster: hosts of one node template, the fabric between them, and the profile of their hardware, loaded from YAML.
//
//   name: DGX H100 SuperPOD
//   description: ...
//   profile: ../profiles/h100_sxm.yaml        # or the profile itself; absent: every parameter at its declared default
//   nodes: 32
//   node: {type: dgx_h100}                    # a template by name, a file, or {devices, links} themselves (node_template.h)
//   gpu: h200_sxm                             # in place of the template's GPUs: a name, a file, or a data sheet (gpu_spec.h)
//   nic: {transport: roce}                    # what carries NCCL's messages (nic_transport.h); absent: by the type of links
//   fabric:                                   # may be absent where there is one node
//     type: rail_optimized_fat_tree           # topology_shapes(); its own keys stand here too
//     link: {type: infiniband, rate: 400 Gb/s, latency: 150 ns}
//     uplink: {...}                           # between switches; absent: as `link`
//     routing: adaptive                       # ecmp (default), adaptive, spray, static, d_mod_k, valiant, ugal
//     switch: {latency: 200 ns, forwarding: cut_through, header: 64 B}
//     pfc, ecn, credits, transport: {...}     # of packet fidelity (packet_settings_reader.h)
//   nccl: {ALGO: Ring}                        # environment of NCCL, with or without NCCL_
//
// A template is looked for as ../nodes/NAME.yaml beside the cluster's folder, then among the shipped ones (find_config.h).
//
// Model: the fabric of a single node is read and checked, but not built, as nothing would cross it; a custom one is built
// always.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/profile.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/topology.h"

namespace weft::net {

struct Cluster {
  std::string name;
  std::string description;
  Topology topology;
  Profile profile;
  std::string routing;                      // a name of `weft list routing`, or a map as text: make_routing_policy()
  PacketSettings packet;                    // what packet fidelity needs beyond the topology
  std::map<std::string, std::string> nccl;  // without NCCL_
  ConfigNode resolved;                      // the file with profile and template in place: enough to load it again
};

struct LoadOptions {
  std::optional<std::filesystem::path> profile = {};  // in place of the one the cluster names
  ParamGroups groups = {};                            // of all layers; empty: of this layer only
};

// The same file with the template that `node` names written in its place where one of the key paths reaches into it
// ("node.links[0].width"), so that they can be set. ConfigError: an unknown template.
[[nodiscard]] ConfigNode with_template_for(const ConfigNode& cluster, std::span<const std::string> key_paths);

// Larger clusters are refused before anything is allocated.
inline constexpr std::int64_t kMaxNodes = 200'000;
inline constexpr std::int64_t kMaxGpus = 2'000'000;
inline constexpr std::int64_t kMaxFabricSwitches = 2'000'000;
inline constexpr std::int64_t kMaxLinks = 400'000'000;

// Every error goes to `diagnostics`. What is returned then is for further checks only: its devices and links are those that are
// meant, as the errors lie elsewhere. Nothing where it cannot be told which those are.
[[nodiscard]] std::optional<Cluster> read_cluster(const ConfigNode& node, const LoadOptions& options, Diagnostics& diagnostics);
// Throws ConfigError with every error found; warnings stay in `diagnostics`.
[[nodiscard]] Cluster load_cluster(const ConfigNode& node, const LoadOptions& options, Diagnostics& diagnostics);
[[nodiscard]] Cluster load_cluster(const std::filesystem::path& file, const LoadOptions& options, Diagnostics& diagnostics);

}  // namespace weft::net
