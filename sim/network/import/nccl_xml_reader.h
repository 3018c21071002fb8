// Reads NCCL's topology file (NCCL_TOPO_DUMP_FILE; models/nccl §1.1), or RCCL's, as a topology of one host. A file with places
// of GPUs only (NCCL_TOPO_FILE of a cloud) is completed by what the user says (nccl_xml_completion.h).
//
//   const Imported h200 = import_nccl_xml_file("topo_4gpu.xml", profile);
//   h200.topology.find("gpu0");                         // a GPU of NVML index 0
//   export_nccl_xml(h200.topology);                     // the same file again, see nccl_xml_writer.h
//
// A `cpu` is a kCpu, a `pci` a kPcieSwitch, or with a `gpu` in it a kGpu ("gpu<dev>"), or with a `nic` in it a kNic
// ("nic<dev>"). All NVSwitch targets are one kNvSwitch, as NCCL has it. A file of several OS hosts (a rack-scale NVLink domain)
// is one host of ours, its GPUs numbered through. Every element and attribute stays in the labels:
//
//   labels of a device   ("element", "pci"), ("busid", ...), ..., ("element", "gpu"), ("dev", "0"), ("sm", "90"), ...
//   labels of a link     ("element", "nvlink"), ("position", "0"), ("target", ...), ("count", "18"), ...   on the direction out
//   of the GPU labels of the host   ("element", "system"), ("version", "1"), then ("raw 0/2", "<...>") for what NCCL ignores,
//   by its place
//
// Model: what NCCL leaves out of its graph (a GPU without rank, an NVSwitch's own PCI function, an NVLink to a GPU that is not
// in the file) is kept for export but is no device or link of the topology.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/profile.h"
#include "sim/network/import/hints.h"
#include "sim/network/import/imported.h"
#include "sim/network/import/nccl_xml.h"

namespace weft::net {

// Throws ConfigError with every error of the file. `file` names it in messages; rates and latencies are those of the link types
// under `profile`.
[[nodiscard]] Imported import_nccl_xml(std::string_view text, const std::string& file, const Profile& profile,
                                       const ImportHints& hints = {});
[[nodiscard]] Imported import_nccl_xml_file(const std::string& path, const Profile& profile, const ImportHints& hints = {});

// The key that separates the elements in a device's or link's labels, and that of a link's element's place among its siblings.
constexpr std::string_view kElementLabel = "element";
constexpr std::string_view kPositionLabel = "position";
// Elements back from labels: one for each kElementLabel, in order; `offset` is the place, or kNoPosition.
constexpr std::size_t kNoPosition = static_cast<std::size_t>(-1);
[[nodiscard]] std::vector<XmlElement> elements_of(const Labels& labels);

}  // namespace weft::net
