// Routes over the fabric between hosts: equal-cost next hops per (switch, leaf), interned. Part of the router.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/network/router.h"
#include "sim/network/routing/host_routes.h"
#include "sim/network/topology.h"

namespace weft::net {

class FabricRoutes {
 public:
  // `shared`: another's of the same topology, which knows all distances; null: its own.
  FabricRoutes(const Topology& topology, std::unique_ptr<RoutingPolicy> policy, std::uint64_t seed,
               const FabricRoutes* shared = nullptr);
  ~FabricRoutes();

  // A flow, where a hash decides.
  struct Flow {
    DeviceId source;  // endpoints
    DeviceId destination;
    FlowKey key;
  };

  [[nodiscard]] bool joined(DeviceId nic_a, DeviceId nic_b) const;
  // From NIC to NIC, uplink and downlink included; links are global ids. Only for joined NICs.
  [[nodiscard]] RouteFragment route(DeviceId nic_a, DeviceId nic_b, const Flow& flow) const;
  // The same answer hop by hop: at NIC a, or at a switch of the fabric.
  void next_hops(DeviceId at, DeviceId nic_b, const Flow& flow, std::vector<NextHop>& out) const;
  // All equal-cost links of a switch towards a NIC; they stay where they are.
  [[nodiscard]] std::span<const LinkId> links_towards(DeviceId at, DeviceId nic) const;
  // As of the router.
  [[nodiscard]] std::span<const LinkId> links_between(DeviceId at, DeviceId leaf) const;
  [[nodiscard]] int hops_between(DeviceId at, DeviceId leaf) const;
  [[nodiscard]] std::span<const DeviceId> leaves() const { return leaves_; }
  [[nodiscard]] bool is_detour(DeviceId from, DeviceId by, DeviceId to) const;
  [[nodiscard]] const RoutingPolicy& policy() const { return *policy_; }
  // All distances, by so many threads. From then on they are only read, until a link fails or is back.
  void find_all_distances(int threads) const;
  // One of several links that leave `at`, as the policy picks; by a hash where it spreads.
  [[nodiscard]] LinkId pick(DeviceId at, std::span<const LinkId> candidates, const Flow& flow) const;
  [[nodiscard]] bool is_open(LinkId link) const { return is_up(link); }
  // Takes a link out of all routes, or back in.
  void set_link_state(LinkId link, bool up);
  [[nodiscard]] std::vector<LinkId> links_down() const;  // one direction of each cable

 private:
  struct Graph;
  using SwitchIndex = std::uint32_t;  // among the topology's fabric switches

  // Links between switches of different groups first: a minimal route of a dragonfly crosses one such link, whatever shorter
  // way there is through a third group (Kim et al., 2008). All routes of one distance have as many links.
  struct Distance {
    std::int32_t global = 0;
    std::int32_t hops = 0;
    auto operator<=>(const Distance&) const = default;
  };
  static constexpr Distance kNotJoined{0x7FFF'FFFF, 0x7FFF'FFFF};

  [[nodiscard]] std::uint32_t set_between(SwitchIndex from, SwitchIndex leaf) const;  // its id
  [[nodiscard]] Distance distance(SwitchIndex from, SwitchIndex leaf) const;
  void find_distances(SwitchIndex leaf) const;
  // To a leaf, over a link to a switch so far from it.
  [[nodiscard]] Distance one_more(SwitchIndex from, SwitchIndex to, Distance there) const {
    return {there.global + (group_[from] == group_[to] ? 0 : 1), there.hops + 1};
  }
  void build_graph();
  [[nodiscard]] bool is_up(LinkId link) const {
    return (failed_.empty() || !failed_[link.index()]) && !topology_->is_absent(link);
  }
  [[nodiscard]] std::uint32_t intern(const std::vector<LinkId>& links) const;  // a set's id
  [[nodiscard]] std::uint32_t set_towards(SwitchIndex at, DeviceId nic) const;
  [[nodiscard]] std::vector<LinkId> usable_uplinks(DeviceId nic_a, DeviceId nic_b) const;
  // Out of a host, and where packets go by queues, in proportion to what each carries: an even split would leave a wider one
  // idle (models/network §7 K26). A switch whose packets draw their links gives each of them as many.
  void spread(DeviceId at, std::span<const LinkId> candidates, std::vector<NextHop>& out) const;
  void select(DeviceId at, int tier, std::span<const LinkId> candidates, DeviceId nic_b, const Flow& flow,
              std::vector<NextHop>& out) const;
  [[nodiscard]] RouteFragment walk(DeviceId nic_a, DeviceId nic_b, const Flow& flow) const;
  // An even share by every leaf that a detour may go by; nothing where there is none.
  [[nodiscard]] std::optional<RouteFragment> walk_detours(DeviceId nic_a, DeviceId nic_b) const;
  void number_devices();
  // A hash knows a device by this. It stays as it is under other names, where a node template lists its devices in another
  // order, and where hosts and switches are added behind the others: of a host's device it is the host and the place among its
  // kind there, of a switch the tier and the place in that.
  [[nodiscard]] std::uint32_t number_of(DeviceId device) const;

  const Topology* topology_;
  std::unique_ptr<RoutingPolicy> policy_;
  std::uint64_t seed_;
  std::unique_ptr<Graph> graph_;
  std::vector<bool> failed_;           // by link; empty: none
  std::vector<SwitchIndex> index_of_;  // device -> switch index
  std::vector<int> tier_;              // by switch
  std::vector<std::int32_t> group_;    // by switch; one for all that state none
  bool has_groups_ = false;
  std::vector<DeviceId> leaves_;
  std::vector<std::uint32_t> stride_;               // by tier
  std::vector<std::uint32_t> position_;             // NIC device -> D-mod-K number; indexed by device id
  std::vector<std::vector<std::uint32_t>> places_;  // by host template and local device: among its kind
  std::vector<std::uint32_t> switch_numbers_;
  // By leaf, empty until asked for, and switch. A set is found when it is first asked for: of most leaves and switches it never
  // is. The sets of one that shares distances, which is asked at a few switches only, are by switch, then leaf.
  mutable std::vector<std::vector<std::uint32_t>> tables_;
  bool by_switch_ = false;
  using Distances = std::vector<std::vector<Distance>>;
  std::shared_ptr<Distances> distances_;
  mutable std::vector<std::vector<LinkId>> sets_;
  mutable std::map<std::vector<LinkId>, std::uint32_t> set_ids_;
  mutable std::unordered_map<std::uint64_t, std::uint32_t>
      near_sets_;  // by switch and NIC: a leaf's downlinks, NICs of two leaves
  // By leaves and by the kinds of the links between them and the NICs, where the policy spreads.
  using SpreadKey = std::array<std::uint32_t, 4>;
  mutable std::map<SpreadKey, RouteFragment> spread_cache_;
};

}  // namespace weft::net
