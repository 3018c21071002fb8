// A cluster in which one thing is better, for the question which one buys most.
//
//   network_rate       every link of the fabric 10 % faster       network_latency   they and their switches 10 % quicker
//   nvlink_rate        the same inside hosts                      nvlink_latency
//   pcie_rate                                                      pcie_latency
//   socket_rate        links between CPUs
//   gpu_speed          tensor cores reach 10 % more               hbm_speed         memory-bound kernels do
//   library_latency    NCCL's own latencies 10 % shorter          launch_cost       the host launches 10 % quicker
//
// Made from the cluster's resolved file with other values in it, and loaded as any file is, so that NCCL's choices follow. The
// topology has the same devices and links in the same order.
//
// Model: GPU and memory speed are the efficiencies that kernels reach, up to their allowed maximum; a PCIe link's rate is its
// efficiency, and of one that has no overhead to lose nothing is better.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/network/cluster.h"

namespace weft::scenario {

[[nodiscard]] const std::vector<std::string_view>& what_if_names();

// `better` 0.1: rates and speeds x 1.1, latencies and costs x 0.9. Nothing where the cluster has no such thing, or where it is
// at its limit already.
[[nodiscard]] std::optional<net::Cluster> with_better(const net::Cluster& cluster, std::string_view name, double better);

}  // namespace weft::scenario
