// Reads the matrix of `nvidia-smi topo -m` as a topology of one host, as specific as the matrix allows.
//
//   NV#        bonded NVLinks of a group of GPUs: through one NVSwitch where a GPU could not hold so many to each of the
//              others, direct links otherwise; two GPUs among others have a bridge
//   PIX, PXB   one PCIe switch; switches below a switch
//   PHB, NODE  through a CPU (one kCpu per NUMA node: host bridges of one node are not told apart)
//   SYS        another CPU
//
// Not in the matrix, so assumed, with a warning for each: the GPU's generation unless given, PCIe generation and width, the
// kind of CPU and of the link between sockets, the speed of NICs, and the PCIe class of GPUs between which the matrix shows
// NVLink.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/profile.h"
#include "sim/network/import/hints.h"
#include "sim/network/import/imported.h"

namespace weft::net {

// Throws ConfigError with every error found. Lines before the header are let pass, and so is what follows the matrix,
// from a line that begins with no device on.
[[nodiscard]] Imported import_nvidia_smi(std::string_view text, const std::string& file, const Profile& profile,
                                         const ImportHints& hints = {});

}  // namespace weft::net
