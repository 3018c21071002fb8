// Which elements of an NCCL topology file are devices, and what NCCL leaves out of its graph. Private to import/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/network/import/nccl_xml_checks.h"
#include "sim/network/link_type.h"
#include "sim/network/topology.h"

namespace weft::net {

inline constexpr std::uint32_t kNoDevice = 0xFFFF'FFFF;
// More than any GPU has; they bound the width and rate of a link.
inline constexpr std::int64_t kMostNvlinks = kMaxLinkWidth;
inline constexpr std::int64_t kMostC2cMegabytesPerSecond = 10'000'000;

// A device and the element that it was made from.
struct PlacedElement {
  const XmlElement* element = nullptr;
  const XmlElement* gpu = nullptr;
  std::uint32_t parent = kNoDevice;
  std::int64_t system = 0;  // which OS host
  std::vector<std::size_t> path;
};

struct XmlDevices {
  HostTemplate host;                                                       // devices, named and labelled; no links
  std::vector<PlacedElement> placed;                                       // by device
  std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t> by_bus;  // OS host and bus id -> device
  std::vector<std::pair<std::vector<std::size_t>, std::string>> raw;       // place in the file, text

  // For export only. `why` becomes a warning, unless it is empty.
  void keep_raw(const XmlElement& element, const std::vector<std::size_t>& path, const std::string& why, XmlChecks& checks);
};

// NVLinks, and xGMI links of RCCL's files.
[[nodiscard]] bool is_gpu_link(const XmlElement& element);
// The element and its attributes. `position`: its place among its siblings, where the order of links does not tell.
void append_labels(Labels& labels, const XmlElement& element, std::optional<std::size_t> position = {});

// Errors are left with `checks`; ConfigError where the file is none of NCCL's.
[[nodiscard]] XmlDevices place_devices(const XmlElement& system, const std::string& name, XmlChecks& checks);

}  // namespace weft::net
