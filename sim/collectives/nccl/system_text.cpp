// The lines that NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH prints of a system, without their prefix.
#include <fmt/format.h>

#include <algorithm>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {
namespace {

constexpr std::uint64_t kLocalIdMask = 0x00FF'FFFF'FFFF'FFFF;

// NCCL's numbers for what a CPU is; -1 where it leaves a field unset.
std::string cpu_numbers(const net::CpuClass& cpu, NcclVersion version) {
  const int arch = cpu.arch == net::CpuArch::kX86     ? 1
                   : cpu.arch == net::CpuArch::kPower ? 2
                   : cpu.arch == net::CpuArch::kArm   ? 3
                                                      : -1;
  int vendor = -1;
  int model = -1;
  if (cpu.arch == net::CpuArch::kX86) vendor = static_cast<int>(cpu.vendor);
  if (cpu.vendor == net::CpuVendor::kIntel) {
    model = static_cast<int>(cpu.model);
    if (version < kFirstWithSapphireRapids) model = std::min(model, 2);
  } else if (cpu.model == net::CpuModel::kYongfeng) {
    model = 1;
  }
  return fmt::format("{}/{}/{}", arch, vendor, model);
}

}  // namespace

std::string System::name(NodeIndex node) const {
  const Node& n = nodes_[node];
  if (options_.version < NcclVersion::k2_21) return fmt::format("{}/{:X}", to_string(n.type), n.id);
  return fmt::format("{}/{:x}-{:x}", to_string(n.type), n.system, n.id & kLocalIdMask);
}

void System::describe_tree(std::string& out, NodeIndex node, std::optional<NodeIndex> from, std::string line) const {
  const Node& n = nodes_[node];
  const std::size_t indent = line.size();
  out += line + name(node);
  if (n.type == NodeType::kGpu) out += fmt::format(" ({})", n.rank);
  if (n.type == NodeType::kCpu) out += fmt::format(" ({})", cpu_numbers(n.cpu, options_.version));
  if (n.type == NodeType::kPci) out += fmt::format(" ({:x})", n.pci_device);
  out += '\n';
  for (const LinkIndex l : n.links) {
    const Link& link = links_[l];
    if (link.type == LinkType::kPci && link.to == from) continue;
    line = std::string(indent, ' ') + fmt::format("+ {}[{:2.1f}] - ", to_string(link.type), link.bandwidth);
    if (link.type == LinkType::kPci) {
      describe_tree(out, link.to, node, line);
      continue;
    }
    out += line + name(link.to);
    const Node& to = nodes_[link.to];
    if (to.type == NodeType::kNet) out += fmt::format(" ({}/{:x}/{}/{:f})", to.collnet ? 1 : 0, to.asic, to.port, to.bandwidth);
    out += '\n';
  }
}

std::string System::describe_paths(NodeIndex from) const {
  std::string line = name(from) + " :";
  for (const NodeType type : {NodeType::kGpu, NodeType::kNvs, NodeType::kCpu, NodeType::kNet}) {
    const bool any = std::ranges::any_of(of_type(type), [&](NodeIndex to) { return path(from, to).type != PathClass::kDis; });
    if (!any) continue;
    for (const NodeIndex to : of_type(type)) {
      const Path& p = path(from, to);
      line += options_.version < NcclVersion::k2_21
                  ? fmt::format("{} ({}/{:f}/{}) ", name(to), p.links.size(), p.bandwidth, net::to_string(p.type))
                  : fmt::format("{} ({}/{:.1f}/{}) ", name(to), p.links.size(), p.bandwidth, net::to_string(p.type));
    }
  }
  return line;
}

std::string System::describe() const {
  std::string out = fmt::format("=== System : maxBw {:2.1f} totalBw {:2.1f} ===\n", max_bandwidth_, total_bandwidth_);
  for (const NodeIndex cpu : of_type(NodeType::kCpu)) describe_tree(out, cpu, std::nullopt, "");
  out += "==========================================\n";
  for (const NodeIndex gpu : gpus()) out += describe_paths(gpu) + '\n';
  for (const NodeIndex net : nets()) out += describe_paths(net) + '\n';
  return out;
}

}  // namespace weft::coll::nccl
