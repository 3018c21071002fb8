// NCCL's topology file as a tree of elements, and the few tables of its vocabulary (models/nccl §1.1, §1.2). RCCL's files for
// AMD's GPUs are the same with version 2, a `gcn` at each GPU and `xgmi` links.
//
// Text to tree is safe on files from anywhere: no DOCTYPE or entity declaration, limits on size, elements and depth, and a
// located error for whatever is not well-formed. What the elements mean is the business of nccl_xml_reader.h and of NCCL's
// own view, sim/collectives/nccl/system.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/import/source_text.h"
#include "sim/network/topology.h"

namespace weft::net {

struct XmlElement {
  std::string name;
  Labels attributes;  // in file order
  std::vector<XmlElement> children;
  std::size_t offset = 0;  // of the element in the text it was read from

  [[nodiscard]] const std::string* find(std::string_view attribute) const;  // null: not given
  [[nodiscard]] const XmlElement* child(std::string_view element) const;    // the first of that name, or null
};

// The root element. ConfigError: not well-formed, or more than XML that describes a machine needs.
[[nodiscard]] XmlElement parse_xml(const SourceText& source);
// Indented by two spaces, as NCCL_TOPO_DUMP_FILE writes it, with a final newline.
[[nodiscard]] std::string to_text(const XmlElement& root);

constexpr std::size_t kMaxXmlElements = 100'000;
constexpr int kMaxXmlDepth = 64;

// NCCL takes a PCI class for one of these: the prefix decides.
enum class PciRole : std::uint8_t { kSwitch, kNvSwitch, kCpuBridge, kGpu, kNic };
[[nodiscard]] PciRole pci_role(std::string_view pci_class);

// NCCL's rate of one PCIe lane in units of 100 Mb/s, or nothing where it does not know the speed (and takes 60).
[[nodiscard]] std::optional<int> pcie_lane_rate(std::string_view link_speed);
constexpr int kDefaultPcieLaneRate = 60;
constexpr int kDefaultPcieLanes = 16;

// "0000:1b:00.0" as a number: the hexadecimal digits run together (0x1b000). Nothing where there are others.
[[nodiscard]] std::optional<std::uint64_t> bus_id_number(std::string_view bus_id);

// A whole number as written in an attribute: decimal, or hexadecimal after "0x".
[[nodiscard]] std::optional<std::int64_t> parse_attribute_integer(std::string_view text);

// NCCL's class of a processor, which decides its estimate of the link between sockets.
enum class CpuArch : std::uint8_t { kUnknown, kX86, kPower, kArm };
enum class CpuVendor : std::uint8_t { kUnknown, kIntel, kAmd, kZhaoxin };
enum class CpuModel : std::uint8_t { kUnknown, kBroadwell, kSkylake, kSapphireRapids, kEmeraldRapids, kYongfeng };
struct CpuClass {
  CpuArch arch = CpuArch::kUnknown;
  CpuVendor vendor = CpuVendor::kUnknown;
  CpuModel model = CpuModel::kUnknown;
};
[[nodiscard]] CpuClass cpu_class(const XmlElement& cpu);
// GB/s per direction between two sockets (models/nccl §1.2, since NCCL 2.24).
[[nodiscard]] double inter_socket_gigabytes_per_second(const CpuClass& cpu);

// One xGMI link between AMD's GPUs, by the `gcn` of an RCCL file ("gfx942", or "910" as older files have it).
struct XgmiLink {
  Bandwidth rate;                       // per direction
  double planned_gigabytes_per_second;  // RCCL's estimate
};
[[nodiscard]] XgmiLink xgmi_link(std::string_view gcn);
// The `gcn` that RCCL would write for GPUs with links of this rate.
[[nodiscard]] std::string_view gcn_of_xgmi_rate(Bandwidth rate);

// The NVSwitch that NCCL sees but cannot name, as NCCL itself writes it.
constexpr std::string_view kInvisibleNvSwitch = "fffffff:ff:ff.0";

}  // namespace weft::net
