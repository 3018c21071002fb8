// Imports a topology file of any kind: which one it is shows in its text, whatever the file is called.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/profile.h"
#include "sim/network/import/hints.h"
#include "sim/network/import/imported.h"

namespace weft::scenario {

// The command line says this of a machine that its file leaves open; empty or 0: not said.
struct TopologyHints {
  std::string gpu;       // "h200"
  std::string cpu;       // "sapphire_rapids"
  std::string nic_rate;  // "400 Gb/s"
  std::int64_t nvlinks = 0;

  [[nodiscard]] bool any() const { return !gpu.empty() || !cpu.empty() || !nic_rate.empty() || nvlinks > 0; }
};
// ConfigError for a name or a rate that is none.
[[nodiscard]] net::ImportHints import_hints(const TopologyHints& hints);

struct ImportedFile {
  net::Imported imported;
  std::string kind;     // "NCCL topology file", "matrix of nvidia-smi topo -m", "fat-tree topology file of htsim"
  std::string cluster;  // YAML, of a file that describes a fabric and no node
};

// ConfigError with every error of the file.
[[nodiscard]] ImportedFile import_topology(const std::string& file, const TopologyHints& hints, const Profile& profile);

// The YAML of a cluster of one such node (cluster_text.h), or of the fabric; and the same as a cluster's file.
[[nodiscard]] std::string cluster_text(const ImportedFile& imported, const std::string& file, const TopologyHints& hints,
                                       const Profile& profile);
[[nodiscard]] ConfigNode cluster_of_topology(const std::string& file, const TopologyHints& hints, const Profile& profile,
                                             Diagnostics& diagnostics);

}  // namespace weft::scenario
