#include "sim/network/fabric_tiers.h"

#include <algorithm>
#include <limits>
#include <map>

namespace weft::net {
namespace {

constexpr std::uint32_t kNoPod = std::numeric_limits<std::uint32_t>::max();
constexpr double kRounding = 1e-9;

}  // namespace

FabricTiers::FabricTiers(const Topology& topology, const std::vector<bool>& hosts)
    : topology_{topology}, index_of_(topology.device_count(), 0), tier_(topology.fabric_switches().size(), -1) {
  const std::span<const DeviceId> switches = topology.fabric_switches();
  for (std::size_t i = 0; i < switches.size(); ++i) index_of_[switches[i].index()] = static_cast<std::uint32_t>(i);
  find_tiers();
  const int top = tier_.empty() ? 0 : *std::ranges::max_element(tier_);
  for (int tier = 0; tier < top; ++tier) add_tier(tier, hosts);
}

void FabricTiers::find_tiers() {
  const std::span<const DeviceId> switches = topology_.fabric_switches();
  std::vector<std::size_t> queue;
  std::vector<bool> is_cabled(topology_.device_count(), false);
  for (std::size_t i = 0; i < switches.size(); ++i) {
    for (const LinkId link : topology_.out_links(switches[i])) {
      const DeviceId to = topology_.link(link).to;
      if (topology_.host_of(to) < 0) continue;
      tier_[i] = 0;
      if (is_cabled[to.index()]) is_cabled_twice_ = has_choice_ = true;
      is_cabled[to.index()] = true;
    }
    if (tier_[i] == 0) queue.push_back(i);
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const int here = tier_[queue[head]];
    for (const LinkId link : topology_.out_links(switches[queue[head]])) {
      const DeviceId to = topology_.link(link).to;
      if (topology_.host_of(to) >= 0) continue;
      int& there = tier_[index_of_[to.index()]];
      if (there < 0) {
        there = here + 1;
        queue.push_back(index_of_[to.index()]);
      }
      // Leaves joined to each other, as in a torus or between groups of a dragonfly: no tree.
      if (there == here) {
        is_even_tree_ = false;
        has_choice_ = true;
      }
    }
  }
}

void FabricTiers::add_tier(int tier, const std::vector<bool>& hosts) {
  const std::span<const DeviceId> switches = topology_.fabric_switches();
  std::vector<std::uint32_t>& pods = pods_.emplace_back(switches.size(), kNoPod);
  std::vector<double>& capacities = capacities_.emplace_back();
  bool is_full = true;
  std::vector<std::map<std::uint32_t, double>> ways_up;  // by pod: what leads to which switch above
  for (std::size_t first = 0; first < switches.size(); ++first) {
    if (tier_[first] < 0 || tier_[first] > tier || pods[first] != kNoPod) continue;
    const auto pod = static_cast<std::uint32_t>(capacities.size());
    std::map<std::uint32_t, double>& up = ways_up.emplace_back();
    double below = 0;
    double above = 0;
    std::vector<std::size_t> queue{first};
    pods[first] = pod;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      std::size_t links_up = 0;
      for (const LinkId link : topology_.out_links(switches[queue[head]])) {
        const DeviceId to = topology_.link(link).to;
        const double rate = topology_.spec(link).capacity();
        if (const std::int32_t host = topology_.host_of(to); host >= 0) {
          if (hosts[static_cast<std::size_t>(host)]) below += rate;
          continue;
        }
        const std::uint32_t next = index_of_[to.index()];
        if (tier_[next] > tier) {
          up[next] += rate;
          above += rate;
          ++links_up;
        } else if (pods[next] == kNoPod) {
          pods[next] = pod;
          queue.push_back(next);
        }
      }
      has_choice_ = has_choice_ || links_up > 1;
    }
    capacities.push_back(above);
    if (above > 0 && above < below * (1 - kRounding)) is_full = false;
  }
  is_full_.push_back(is_full);
  // Those that a switch above joins must have the same ways up.
  std::vector<std::uint32_t> first_of(switches.size(), kNoPod);  // by switch above
  for (std::uint32_t pod = 0; pod < ways_up.size(); ++pod) {
    for (const auto& [above, rate] : ways_up[pod]) {
      std::uint32_t& first = first_of[above];
      if (first == kNoPod) first = pod;
      if (ways_up[first] != ways_up[pod]) is_even_tree_ = false;
    }
  }
}

}  // namespace weft::net
