// Imports a topology file of either kind: which one it is shows in its text, whatever the file is called.
#pragma once

#include <string>

#include "sim/core/profile.h"
#include "sim/network/import/imported.h"

namespace weft::plan {

struct ImportedFile {
  net::Imported imported;
  std::string kind;  // "NCCL topology file", "matrix of nvidia-smi topo -m"
};

// `gpu` names the GPU of a matrix ("h200"), empty: guessed. ConfigError with every error of the file.
[[nodiscard]] ImportedFile import_topology(const std::string& file, const std::string& gpu, const Profile& profile);

}  // namespace weft::plan
