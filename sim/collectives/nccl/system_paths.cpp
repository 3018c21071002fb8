// How NCCL finds its way between GPUs, CPUs and NICs (models/nccl §1.3): a breadth-first search back from every target, then
// the detours, through the CPU where direct access is not allowed and through another GPU where that is the better way to a
// NIC.
#include <algorithm>
#include <utility>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/search.h"
#include "sim/collectives/nccl/system.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

// The class of a path over one link of this type. What lies between a NIC and its port does not count.
PathClass class_of(LinkType type) {
  switch (type) {
    case LinkType::kLoc:
    case LinkType::kNet:
      return PathClass::kLoc;
    case LinkType::kNvl:
      return PathClass::kNvl;
    case LinkType::kC2c:
      return PathClass::kC2c;
    case LinkType::kPci:
      return PathClass::kPix;
    case LinkType::kSys:
      return PathClass::kSys;
  }
  return PathClass::kDis;
}

// A NIC on the CPU that a GPU reaches by C2C.
PathClass merged_class(PathClass a, PathClass b, NcclVersion version) {
  if (version >= kFirstWithP2cClass && std::max(a, b) == PathClass::kPhb && std::min(a, b) == PathClass::kC2c)
    return PathClass::kP2c;
  return std::max(a, b);
}

bool is_power_of_two(std::size_t value) { return (value & (value - 1)) == 0; }

// The low bits of `value`, as many as `power_of_two` counts, in reverse order.
std::size_t mirror_bits(std::size_t value, std::size_t power_of_two) {
  std::size_t mirror = 0;
  for (std::size_t bit = 1, mirrored = power_of_two >> 1; bit < power_of_two; bit <<= 1, mirrored >>= 1) {
    if ((value & bit) != 0) mirror |= mirrored;
  }
  return mirror;
}

}  // namespace

void System::set_paths_to(NodeIndex base) {
  path_ref(base, base) = {.type = PathClass::kLoc, .bandwidth = kLocalBandwidth, .links = {}};
  std::vector<NodeIndex> frontier{base};
  std::vector<NodeIndex> next;
  while (!frontier.empty()) {
    next.clear();
    for (const NodeIndex node : frontier) {
      const Path& here = path(node, base);
      for (const LinkIndex l : nodes_[node].links) {
        const Link& link = links_[l];
        const NodeIndex remote = link.to;
        const NodeType remote_type = nodes_[remote].type;
        // A GPU is passed through only from NVLink to NVLink, and only the first on the way.
        if (node != base && nodes_[node].type == NodeType::kGpu &&
            (!options_.nvb || link.type != LinkType::kNvl || remote_type != NodeType::kGpu || here.links.size() > 1)) {
          continue;
        }
        const float bandwidth = std::min(here.bandwidth, link.bandwidth);
        PathClass type = class_of(link.type);
        if (nodes_[node].type == NodeType::kPci && remote_type == NodeType::kPci) type = PathClass::kPxb;
        if (link.type == LinkType::kPci && (nodes_[node].type == NodeType::kCpu || remote_type == NodeType::kCpu))
          type = PathClass::kPhb;
        if (nodes_[node].type == NodeType::kGpu && here.type == PathClass::kNvl && type == PathClass::kNvl)
          type = PathClass::kNvb;
        type = std::max(here.type, type);

        Path& there = path_ref(remote, base);
        bool better = false;
        if (options_.version >= kFirstByClass) {
          better = type < there.type ||
                   (type == there.type && (bandwidth > there.bandwidth ||
                                           (bandwidth == there.bandwidth && there.links.size() > here.links.size() + 1)));
        } else {
          better = (there.bandwidth == 0 || there.links.size() > here.links.size()) && there.bandwidth < bandwidth;
        }
        if (!better) continue;
        there.links.assign(1, link.reverse);
        there.links.insert(there.links.end(), here.links.begin(), here.links.end());
        there.bandwidth = bandwidth;
        there.type = type;
        if (std::ranges::find(next, remote) == next.end()) next.push_back(remote);
      }
    }
    std::swap(frontier, next);
  }
}

void System::join_paths(NodeIndex from, NodeIndex over, NodeIndex to) {
  const Path& first = path(from, over);
  const Path& second = path(over, to);
  Path joined;
  joined.links = first.links;
  joined.links.insert(joined.links.end(), second.links.begin(), second.links.end());
  joined.type = nodes_[over].type == NodeType::kGpu ? PathClass::kPxn : merged_class(first.type, second.type, options_.version);
  joined.bandwidth = std::min(first.bandwidth, second.bandwidth);
  path_ref(from, to) = std::move(joined);
}

void System::compute_paths() {
  for (const NodeType type : {NodeType::kCpu, NodeType::kGpu, NodeType::kNet, NodeType::kNvs}) {
    for (const NodeIndex node : of_type(type)) set_paths_to(node);
  }
  for (const NodeIndex to : gpus()) {
    for (const NodeIndex from : gpus()) {
      if (!p2p_allowed(from, to)) join_paths(from, local_cpu(to), to);
    }
  }
  if (options_.version >= kFirstWithP2cClass) {
    // A NIC on the CPU that a GPU reaches over C2C is close, if none is closer.
    for (const NodeIndex gpu : gpus()) {
      const NodeIndex cpu = local_cpu(gpu);
      for (const NodeIndex net : local(gpu, NodeType::kNet)) {
        if (merged_class(path(gpu, cpu).type, path(net, cpu).type, options_.version) != PathClass::kP2c) continue;
        path_ref(gpu, net).type = std::min(PathClass::kP2c, path(gpu, net).type);
        path_ref(net, gpu).type = std::min(PathClass::kP2c, path(net, gpu).type);
      }
    }
  }
  const PathClass relay_limit = options_.version >= kFirstWithC2cRelays ? PathClass::kP2c : PathClass::kPxb;
  const bool any_relay = options_.version < kFirstRelaysByGdr;
  for (const NodeIndex net : nets()) {
    for (const NodeIndex gpu : gpus()) {
      if (options_.pxn) {
        const auto relay = local_gpu(net);
        if (relay && *relay != gpu && path(*relay, net).type <= relay_limit && (any_relay || gdr_allowed(*relay, net, true)) &&
            path(*relay, gpu).type <= PathClass::kNvl && nodes_[*relay].system == nodes_[gpu].system &&
            (path(*relay, net).bandwidth > path(gpu, net).bandwidth || path(gpu, net).type > PathClass::kPxn)) {
          // Only on the way out: what arrives, arrives at the GPU's own NIC.
          join_paths(gpu, *relay, net);
        }
      }
      if (path(gpu, net).type < PathClass::kPhb && !gdr_allowed(gpu, net, false)) {
        const NodeIndex cpu = local_cpu(gpu);
        join_paths(net, cpu, gpu);
        join_paths(gpu, cpu, net);
      }
    }
  }
  for (const NodeIndex net : nets()) nodes_[net].local_gpu = local_gpu(net).value_or(gpus().front());
}

std::vector<NodeIndex> System::local(NodeIndex from, NodeType type) const {
  std::vector<NodeIndex> found;
  float most = 0;
  PathClass closest = PathClass::kDis;
  for (const NodeIndex to : of_type(type)) {
    const Path& p = path(from, to);
    if (p.bandwidth > most || (p.bandwidth == most && p.type < closest)) {
      most = p.bandwidth;
      closest = p.type;
      found.clear();
    }
    if (p.bandwidth == most && p.type == closest && p.type != PathClass::kDis) found.push_back(to);
  }
  return found;
}

std::optional<NodeIndex> System::local_net(NodeIndex gpu, int channel) const {
  const std::vector<NodeIndex> nics = local(gpu, NodeType::kNet);
  if (nics.empty()) return std::nullopt;
  const std::size_t sharing = std::max<std::size_t>(local(nics.front(), NodeType::kGpu).size(), 1);
  const std::size_t per_gpu = (nics.size() + sharing - 1) / sharing;
  auto first = static_cast<std::size_t>(nodes_[gpu].dev);
  if (options_.version >= kFirstOfSharedNics) first %= sharing;
  if (is_power_of_two(nics.size())) first = mirror_bits(first, nics.size());
  return nics[(first + static_cast<std::size_t>(channel) % per_gpu) % nics.size()];
}

std::optional<NodeIndex> System::local_gpu(NodeIndex net) const {
  const std::vector<NodeIndex> candidates = local(net, NodeType::kGpu);
  for (int channel = 0; channel < max_channels(options_.version); ++channel) {
    for (const NodeIndex gpu : candidates) {
      if (local_net(gpu, channel) == net) return gpu;
    }
  }
  return std::nullopt;
}

NodeIndex System::local_cpu(NodeIndex gpu) const {
  std::optional<NodeIndex> closest;
  for (const NodeIndex cpu : of_type(NodeType::kCpu)) {
    const std::size_t hops = path(gpu, cpu).links.size();
    if (hops > 0 && (!closest || hops < path(gpu, *closest).links.size())) closest = cpu;
  }
  WEFT_CHECK(closest.has_value());  // every GPU of the XML stands below a `cpu`
  return *closest;
}

bool System::p2p_allowed(NodeIndex a, NodeIndex b) const { return path(a, b).type <= p2p_level(); }

PathClass System::p2p_level() const {
  const net::CpuClass& cpu = nodes_[of_type(NodeType::kCpu).front()].cpu;
  const bool amd = cpu.arch == net::CpuArch::kX86 && cpu.vendor == net::CpuVendor::kAmd;
  const bool far =
      options_.version >= kFirstWithoutFarP2p ? amd && gpus().size() <= 2 : amd || cpu.arch == net::CpuArch::kPower;
  return options_.p2p_level.value_or(far ? PathClass::kSys : PathClass::kPxb);
}

NodeIndex System::relay_gpu(NodeIndex gpu, NodeIndex net) const {
  if (path(gpu, net).type != PathClass::kPxn) return gpu;
  for (const LinkIndex l : path(gpu, net).links) {
    if (nodes_[links_[l].to].type == NodeType::kGpu) return links_[l].to;
  }
  return gpu;
}

bool System::gdr_allowed(NodeIndex gpu, NodeIndex net, bool read) const {
  if (!nodes_[gpu].gdr || !nodes_[net].gdr) return false;
  const bool reads_anyway = nodes_[gpu].sm >= 80 && options_.version >= kFirstThatReadsByAmpere;
  if (read && !reads_anyway && gpus().size() > 1) {
    // Before Ampere reads share PCIe with the peers' copies, unless those go over NVLink.
    const bool nvlink =
        std::ranges::any_of(gpus(), [&](NodeIndex peer) { return peer != gpu && path(gpu, peer).type == PathClass::kNvl; });
    if (!nvlink) return false;
  }
  const PathClass level =
      options_.gdr_level.value_or(options_.version >= kFirstWithP2cClass ? PathClass::kP2c : PathClass::kPxb);
  return path(relay_gpu(gpu, net), net).type <= level;
}

}  // namespace weft::coll::nccl
