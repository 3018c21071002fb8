// The switches between hosts by tier: what hangs together below a tier, and whether the links above can hold it up.
//
// Tier 0 are the switches that NICs are cabled to, tier t + 1 those one hop further from them. A pod of tier t is what hangs
// together by switches of tiers up to t: a leaf by itself, then leaves with their spines, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/topology.h"

namespace weft::net {

class FabricTiers {
 public:
  // `hosts`: by host, whether it sends at all; those that do not load nothing.
  FabricTiers(const Topology& topology, const std::vector<bool>& hosts);

  // Links join neighbouring tiers only, and pods that hang together above have the same links up: spread traffic loads the
  // links of a pod evenly.
  [[nodiscard]] bool is_even_tree() const { return is_even_tree_; }
  // As much leads up from each pod of the tier as its hosts can send: spread over an even tree, that never holds them up.
  [[nodiscard]] bool is_full(std::size_t tier) const { return is_full_[tier]; }
  // Some NIC is cabled to several ports.
  [[nodiscard]] bool is_cabled_twice() const { return is_cabled_twice_; }
  // From some switch several links lead up, or from some NIC: which one a flow takes that is not spread is its routing's
  // choice.
  [[nodiscard]] bool has_choice() const { return has_choice_; }

  // Tiers that have links up.
  [[nodiscard]] std::size_t tiers() const { return pods_.size(); }
  [[nodiscard]] std::size_t pod_count(std::size_t tier) const { return capacities_[tier].size(); }
  // The pod of a tier that a switch is in.
  [[nodiscard]] std::uint32_t pod(std::size_t tier, DeviceId a_switch) const {
    return pods_[tier][index_of_[a_switch.index()]];
  }
  // Bytes per picosecond up from it.
  [[nodiscard]] double capacity(std::size_t tier, std::uint32_t pod) const { return capacities_[tier][pod]; }

 private:
  void find_tiers();
  void add_tier(int tier, const std::vector<bool>& hosts);

  const Topology& topology_;
  std::vector<std::uint32_t> index_of_;           // among the fabric's switches, by device
  std::vector<int> tier_;                         // by switch
  std::vector<std::vector<std::uint32_t>> pods_;  // by tier and switch; of switches above the tier none
  std::vector<std::vector<double>> capacities_;   // by tier and pod
  std::vector<bool> is_full_;                     // by tier
  bool is_even_tree_ = true;
  bool is_cabled_twice_ = false;
  bool has_choice_ = false;
};

}  // namespace weft::net
