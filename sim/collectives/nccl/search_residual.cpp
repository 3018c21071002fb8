#include "sim/collectives/nccl/search_residual.h"

#include <cmath>

namespace weft::coll::nccl {
namespace {

// NCCL rounds every remainder to a thousandth, and compares what comes out.
void subtract(float& left, float bandwidth) { left = std::round((left - bandwidth) * 1000) / 1000; }

bool is_intel(const net::CpuClass& cpu) { return cpu.arch == net::CpuArch::kX86 && cpu.vendor == net::CpuVendor::kIntel; }

}  // namespace

Residual::Residual(const System& system) : system_{system}, nics_(system.node_count(), 0.0F) {
  links_.reserve(system.link_count());
  for (LinkIndex l = 0; l < system.link_count(); ++l) links_.push_back(system.link(l).bandwidth);
  for (const NodeIndex net : system.nets()) nics_[net] = system.node(net).bandwidth;
}

bool Residual::take(NodeIndex from, NodeIndex to, float bandwidth) {
  const Path& path = system_.path(from, to);
  const std::size_t steps = follow(path, from, path.links.size(), bandwidth);
  if (steps == path.links.size()) return true;
  follow(path, from, steps, -bandwidth);
  return false;
}

void Residual::take_nic(NodeIndex net, float bandwidth) {
  const Node& taken = system_.node(net);
  for (const NodeIndex other : system_.nets()) {
    const Node& node = system_.node(other);
    if (node.asic == taken.asic && node.port == taken.port) nics_[other] -= bandwidth;
  }
}

std::size_t Residual::follow(const Path& path, NodeIndex from, std::size_t steps, float bandwidth) {
  const bool from_gpu = system_.node(from).type == NodeType::kGpu;
  // Copies between GPUs through an Intel root complex are cut into packets of 64 bytes (models/nccl §1.2).
  float pci = bandwidth;
  if (from_gpu && path.type == PathClass::kPhb) {
    for (const LinkIndex l : path.links) {
      const Node& node = system_.node(system_.link(l).to);
      if (node.type == NodeType::kCpu && is_intel(node.cpu)) pci = bandwidth * 6 / 5;
    }
  }
  for (std::size_t step = 0; step < steps; ++step) {
    const LinkIndex l = path.links[step];
    const Link& link = system_.link(l);
    const Node& to = system_.node(link.to);
    const float forward = link.type == LinkType::kPci ? pci : bandwidth;
    float backward = 0;
    // A NIC's writes into an older GPU cost it requests in the other direction; Power's NVLink to the CPU has one budget.
    if (to.type == NodeType::kGpu && to.sm < 80 && !from_gpu) backward += forward / 8;
    if (to.type == NodeType::kCpu && to.cpu.arch == net::CpuArch::kPower && link.type == LinkType::kNvl) backward += forward;
    if (links_[l] < forward || (backward != 0 && links_[link.reverse] < backward)) return step;
    subtract(links_[l], forward);
    if (backward != 0) subtract(links_[link.reverse], backward);
  }
  return steps;
}

}  // namespace weft::coll::nccl
