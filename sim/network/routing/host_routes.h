// Routes inside a host, per node template: the best path class, spread over its equal shortest paths. Part of the router.
//
// They depend on the topology alone and are found when first asked for. Routers of one topology may share them, on any threads:
// among 72 GPUs in one host they take longer to find than most collectives to simulate.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/network/path_class.h"
#include "sim/network/routing/path_cost.h"
#include "sim/network/topology.h"

namespace weft::net {

// A piece of a route: usage of links (local to the template here, global in the fabric) and what it costs.
struct RouteFragment {
  std::vector<std::pair<std::uint32_t, double>> links;  // ascending
  PathCost cost;                                        // of the longest way
  PathClass path_class = PathClass::kDis;
};

class HostRoutes {
 public:
  explicit HostRoutes(const Topology& topology);

  // From one device of a host of `host_template` to another of the same host; nullptr: not connected inside the host. The
  // answer stays where it is.
  [[nodiscard]] const RouteFragment* find(std::uint32_t host_template, std::uint32_t from, std::uint32_t to) const;
  // Local indices of the NICs a GPU uses, none where PCIe joins it to none: those nearest to it over PCIe, by class and hops.
  // GPUs to which the same are nearest share them out: each has as many, rounded up, and starts where the one before it ends.
  [[nodiscard]] std::span<const std::uint32_t> nics_of(std::uint32_t host_template, std::uint32_t gpu) const;
  // The first GPU whose ways to and from its NICs take what this one's take, and that is as far from the other NICs: to other
  // hosts the two are the same.
  [[nodiscard]] std::uint32_t alike(std::uint32_t host_template, std::uint32_t gpu) const;

 private:
  struct Table;
  struct Paths;
  [[nodiscard]] Paths direct(const HostTemplate& host_template, const Table& table, std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] RouteFragment compute(const HostTemplate& host_template, const Table& table, std::uint32_t from,
                                      std::uint32_t to) const;
  Table& with_nics(std::uint32_t host_template) const;
  void find_nics(std::uint32_t host_template, Table& table) const;
  void find_alike(std::uint32_t host_template, Table& table) const;

  const Topology* topology_;
  struct Table {
    std::vector<std::vector<std::uint32_t>> out;  // device -> local links
    std::unordered_map<std::uint64_t, RouteFragment> fragments;
    std::vector<std::vector<std::uint32_t>> nics;  // by device
    std::vector<std::uint32_t> alike;              // by device; empty: nobody asked yet
    bool nics_known = false;
  };
  mutable std::mutex mutex_;       // of fragments
  mutable std::mutex nics_mutex_;  // of the rest that is found later
  mutable std::vector<Table> tables_;
};

}  // namespace weft::net
