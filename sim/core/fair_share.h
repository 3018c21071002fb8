// Weighted max-min fairness: pure arithmetic that serves the flow fabric, devices and storage (models/network §6.1).
//
//   resources l = 0..R-1     capacity[l] > 0, in units of the caller
//   flows     f = 0..F-1     weight w[f] > 0, rate cap[f] (kNoCap: none), priority, usage u[f][l] > 0 of the resources it needs
//   sought    rates r[f]:    sum over f of u[f][l] r[f] <= capacity[l] for every l, and max-min fair in r[f] / w[f]: no flow's
//                            r/w can grow without shrinking one that has no more. A flow of higher priority sees only its own
//                            class and those above it; what they leave is shared by the next class (strict priority).
//
// Method: progressive filling. All unfixed flows grow together at r = w s until a resource is exhausted, at
// s = remaining[l] / sum of u w over its unfixed flows, or a flow meets its cap; those flows are fixed, and so on. Cost:
// O(entries log resources). Resources whose levels agree to a few ulps are taken as one level, so that symmetric flows get
// bit-identical rates, and so finish at the same picosecond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/core/ids.h"

namespace weft {

// How much of a resource a flow takes per unit it moves.
struct Usage {
  ResourceId resource;
  double usage = 1.0;

  friend bool operator==(const Usage&, const Usage&) = default;
};

struct FairShareFlow {
  std::span<const Usage> usages;
  double weight = 1.0;
  double cap = std::numeric_limits<double>::infinity();
  std::uint8_t priority = 0;  // higher goes first
  double rate = 0.0;          // the answer; a flow without usages and cap gets infinity
};

class FairShareSolver {
 public:
  static constexpr double kNoCap = std::numeric_limits<double>::infinity();

  ResourceId add_resource(double capacity);
  void set_capacity(ResourceId resource, double capacity) { capacity_[resource.index()] = capacity; }
  [[nodiscard]] double capacity(ResourceId resource) const { return capacity_[resource.index()]; }
  [[nodiscard]] std::size_t resource_count() const { return capacity_.size(); }

  // Solves for `flows` as the only flows of the resources they name. Allocates only while its scratch space grows.
  void solve(std::span<FairShareFlow> flows);

 private:
  struct HeapEntry {
    double level;
    std::uint32_t local;  // resource, numbered as met
  };
  void solve_class(std::span<FairShareFlow> flows, std::span<const std::uint32_t> members);

  std::vector<double> capacity_;
  // Scratch, by global resource: local number of the resource in this call, valid where stamp_ == round_.
  std::vector<std::uint32_t> local_;
  std::vector<std::uint64_t> stamp_;
  std::uint64_t round_ = 0;
  // Scratch, by local resource.
  std::vector<double> remaining_;
  std::vector<double> rounding_;
  std::vector<double> demand_;  // sum of usage x weight of unfixed flows
  std::vector<std::uint32_t> unfixed_;
  std::vector<std::uint32_t> first_flow_;  // CSR: resource -> flows
  std::vector<std::uint32_t> flow_of_;
  std::vector<HeapEntry> heap_;
  std::vector<std::uint32_t> order_;
  std::vector<char> fixed_;
};

}  // namespace weft
