// Classes of a path inside a host, best first, with NCCL's and nvidia-smi's names (models/nccl §1.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::net {

enum class PathClass : std::uint8_t {
  kLoc,  // the same device
  kNvl,  // NVLink, direct or through NVSwitch
  kNvb,  // two NVLink hops through a third GPU
  kC2c,  // NVLink-C2C
  kPix,  // at most one PCIe switch
  kPxb,  // several PCIe switches, no root complex
  kP2c,  // GPU, C2C, CPU, PCIe, NIC
  kPxn,  // a NIC reached through another GPU over NVLink
  kPhb,  // through a CPU's root complex
  kSys,  // across sockets
  kNet,  // through the network
  kDis,  // disconnected
};

constexpr std::string_view to_string(PathClass path_class) {
  constexpr std::string_view kNames[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
  return kNames[static_cast<std::size_t>(path_class)];
}

}  // namespace weft::net
