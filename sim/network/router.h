// The router: which links lead from a device towards a destination. One answer for both fidelities: packets take one of the
// next hops, flows turn the same answer into a footprint (the hashed path under ECMP, the weights under spray and adaptive).
//
// Inside a host a route is the best path class of NCCL (NVLink before PCIe before the sockets' link, models/nccl §1.3), spread
// over equal paths in proportion to their capacity, as the hardware interleaves addresses. Between hosts it leaves by the NIC
// nearest to the source GPU, follows equal-cost minimal paths over the fabric, and enters by the NIC nearest to the
// destination. A GPU with several NICs spreads every flow over them in proportion to what each carries, as libraries do that
// drive several rails; a flow may name its NICs instead (FlowKey), as NCCL's connections do. Where the fabric does not join two
// NICs (rail-only), the flow first goes over NVLink to the GPU on the destination's rail (PXN).
//
// Size: one table per node template, which routers of one topology may share, and for the fabric one interned set of links per
// (switch, leaf), made when first asked: O(switches x leaves), never paths by pairs of endpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/registry.h"
#include "sim/network/path_class.h"
#include "sim/network/routing/named_way.h"
#include "sim/network/topology.h"
#include "sim/network/transfer.h"

namespace weft::net {

class HostRoutes;
class FabricRoutes;
struct RouteFragment;

// One of the ways of a flow between hosts: from NIC to NIC.
struct NicWay {
  NicPair nics;
  double share = 1.0;  // of the flow's bytes; those of all its ways sum to 1
};

struct NextHop {
  LinkId link;
  double weight = 1.0;  // weights of one answer sum to 1
};

// A routing policy may look at these when it picks among equal-cost links at a switch.
struct RoutingChoice {
  DeviceId at;
  int tier = 0;  // 0: a leaf, which hosts hang on
  // Numbers of the ends (FabricRoutes::number_of).
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint64_t flow = 0;         // the flow's own entropy
  std::uint64_t switch_seed = 0;  // this device's
  std::uint64_t seed = 0;         // the same at all devices
  std::uint32_t destination_position =
      0;                     // of the destination below its leaf, counting from the fabric's first leaf (D-mod-K's number)
  std::uint32_t stride = 1;  // hosts below one switch of the tier beneath; 1 at a leaf
  std::uint32_t candidates = 1;
  std::span<const double> weights = {};  // of the candidates, where the policy asks for them (RoutingPolicy::weights)
};

// A policy that picks one link for a flow asks for this of each.
enum class LinkWeights : std::uint8_t {
  kEqual,     // nothing
  kCapacity,  // the payload it carries
  kStated,    // the `weight` of the link
};

// Packet fidelity may pick a link for every packet where a policy spreads.
enum class PerPacket : std::uint8_t {
  kNo,           // the flow's path, as pick() says
  kRandom,       // any of the candidates
  kEntropy,      // by a hash of the value that the packet carries
  kLeastQueued,  // the one with the fewest bytes in front of it
};

// Whether packets between hosts may go by a third leaf, which each draws at the first switch: on minimal ways to that leaf, on
// minimal ways from there. Where switches have groups (dragonfly), it lies in a group that is neither end's.
enum class Detour : std::uint8_t {
  kNever,
  kAlways,        // Valiant
  kWhereShorter,  // UGAL: where the queue there times the links of that way is below those of the minimal one
};

// How the links between switches are used. Implementations live in routing/, one file each.
class RoutingPolicy {
 public:
  virtual ~RoutingPolicy() = default;
  // True: traffic is spread over all candidates evenly. False: pick() names the one.
  [[nodiscard]] bool spreads() const { return per_packet() != PerPacket::kNo; }
  [[nodiscard]] virtual PerPacket per_packet() const { return PerPacket::kNo; }
  // Only of policies that choose per packet.
  [[nodiscard]] virtual Detour detour() const { return Detour::kNever; }
  [[nodiscard]] virtual LinkWeights weights() const { return LinkWeights::kEqual; }
  [[nodiscard]] virtual std::uint32_t pick(const RoutingChoice& choice) const;
};

class Router {
 public:
  // `seed` feeds the switches' own hash seeds. The topology must outlive the router. `hosts`: routes inside the topology's
  // hosts that are shared with other routers; null: its own.
  Router(const Topology& topology, std::unique_ptr<RoutingPolicy> policy, std::uint64_t seed,
         std::shared_ptr<const HostRoutes> hosts = nullptr);
  // For another thread, which asks at a few switches only. `known` has all distances (find_all_distances()) and its links do
  // not change.
  Router(const Router& known, std::unique_ptr<RoutingPolicy> policy, std::uint64_t seed);
  ~Router();

  void find_all_distances(int threads) const;

  // A flow's own way, as long as the router: the number that its key then has. Among links that would do alike the policy
  // picks, or a hash where the policy spreads. ConfigError: there is no such way.
  [[nodiscard]] std::uint32_t add_named_way(DeviceId source, DeviceId destination, NamedWay way, std::uint64_t entropy);

  // Links to take at `at` towards `destination`; empty: there is none, or `at` is the destination. Appends nothing else.
  void next_hops(DeviceId at, DeviceId source, DeviceId destination, FlowKey key, std::vector<NextHop>& out) const;

  // The footprint of a transfer from one endpoint to another; empty usages where both are the same device. ConfigError where
  // the destination cannot be reached, naming both. `read`: the receiver pulls, and requests load the opposite directions.
  [[nodiscard]] Footprint route(DeviceId source, DeviceId destination, FlowKey key, bool read = false) const;
  // The same; nothing where the destination cannot be reached.
  [[nodiscard]] std::optional<Footprint> find_route(DeviceId source, DeviceId destination, FlowKey key,
                                                    bool read = false) const;

  // How a flow between hosts is spread over NICs. Empty inside a host; ConfigError where the destination cannot be reached.
  [[nodiscard]] std::vector<NicWay> nic_ways(DeviceId source, DeviceId destination, FlowKey key) const;
  // The links of a fabric switch towards a NIC, which the router keeps: for packets, which choose among them themselves.
  [[nodiscard]] std::span<const LinkId> links_towards(DeviceId at, DeviceId nic) const;
  // The same towards a leaf; and how many links are on the way.
  [[nodiscard]] std::span<const LinkId> links_between(DeviceId at, DeviceId leaf) const;
  [[nodiscard]] int hops_between(DeviceId at, DeviceId leaf) const;
  // Switches that hosts hang on, in order.
  [[nodiscard]] std::span<const DeviceId> leaves() const;
  // A detour between two leaves may go by this one (Detour).
  [[nodiscard]] bool is_detour(DeviceId from, DeviceId by, DeviceId to) const;
  [[nodiscard]] const RoutingPolicy& policy() const;
  // Takes a link of the fabric out of all routes from now on, or back in. Links inside hosts have no other way round.
  void set_link_state(LinkId link, bool up);
  // Links will change their states: whoever keeps routes names their ends (Footprint::paths), so that they can be made anew.
  void expect_changes() { expects_changes_ = true; }
  [[nodiscard]] bool expects_changes() const { return expects_changes_; }
  // One direction of each cable that is out of all routes now, in order.
  [[nodiscard]] std::vector<LinkId> links_down() const;
  // Returns what closes the way that find_route() has found, or has not: "leaf0->spine1 is down". Nothing: it is open, or it is
  // no failure that closes it.
  [[nodiscard]] std::optional<std::string> what_cuts(const std::optional<Footprint>& way) const;

  // Class of the path between two devices (NET between hosts).
  [[nodiscard]] PathClass path_class(DeviceId source, DeviceId destination) const;
  [[nodiscard]] const Topology& topology() const;
  [[nodiscard]] const std::shared_ptr<const HostRoutes>& host_routes() const { return hosts_; }
  // The NICs a GPU uses, in order; none where it has no way to one. What is no GPU stands for itself, if flows end there.
  [[nodiscard]] std::vector<DeviceId> nics_of(DeviceId gpu) const;
  // The first fabric switch behind the first of them; invalid id where there is none, and of what is not a GPU.
  [[nodiscard]] DeviceId leaf_of(DeviceId gpu) const;
  // The CPU of the device's host that it reaches best: where its host memory is. Nothing: the host has none.
  [[nodiscard]] std::optional<DeviceId> host_memory(DeviceId device) const;

 private:
  // Where there is no way, `why` says so. Both between hosts only.
  [[nodiscard]] std::vector<NicWay> find_ways(DeviceId source, DeviceId destination, FlowKey key, std::string* why) const;
  [[nodiscard]] std::vector<NicWay> spread(const std::vector<DeviceId>& leaving, const std::vector<DeviceId>& entering) const;
  [[nodiscard]] double nic_capacity(DeviceId nic) const;
  [[nodiscard]] const RouteFragment* inside(DeviceId from, DeviceId to) const;
  void hops_inside(DeviceId at, const RouteFragment& way, std::vector<NextHop>& out) const;
  void hops_of_way(DeviceId at, DeviceId source, DeviceId destination, FlowKey key, const NicPair& nics,
                   std::vector<NextHop>& out) const;
  [[nodiscard]] std::optional<Footprint> find(DeviceId source, DeviceId destination, FlowKey key, bool read,
                                              std::string* why) const;

  struct OwnWay {
    DeviceId source;
    DeviceId destination;
    NamedWay way;
    std::uint64_t entropy = 0;
    FoundWay found;
  };
  void find_own_way(OwnWay& way) const;
  [[nodiscard]] const FoundWay& own_way(const FlowKey& key) const { return own_ways_[key.named_way - 1].found; }
  [[nodiscard]] std::optional<Footprint> along(Footprint footprint, const FoundWay& way, std::string* why) const;

  const Topology* topology_;
  std::vector<OwnWay> own_ways_;
  std::shared_ptr<const HostRoutes> hosts_;
  std::unique_ptr<FabricRoutes> fabric_;
  bool expects_changes_ = false;
};

}  // namespace weft::net
