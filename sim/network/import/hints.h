// A user says this of a machine that its topology file or matrix leaves open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::net {

struct ImportHints {
  std::optional<int> sm = {};              // compute capability x 10 of its GPUs; absent: guessed, or as the file says
  std::string gcn = {};                    // of AMD's GPUs, in place of `sm`
  std::int64_t nvlinks = 0;                // of every GPU, into one NVSwitch, where a file says nothing of its GPUs
  std::optional<Bandwidth> nic_rate = {};  // of NICs without a speed
  Labels cpu = {};                         // of CPUs without a vendor: arch, vendor, familyid and modelid, as NCCL names them

  [[nodiscard]] bool names_gpu() const { return sm || !gcn.empty(); }
};

// A kind of CPU that NCCL tells from others by name ("sapphire_rapids", "amd"), empty if unknown. `cpu_names()` lists them.
[[nodiscard]] Labels cpu_named(std::string_view name);
[[nodiscard]] std::string cpu_names();

}  // namespace weft::net
