// Switches work for the executor's lanes: over which ways they add up and copy, and what a proxy has the network's do.
#include <algorithm>
#include <utility>

#include "sim/collectives/executor.h"

namespace weft::coll {
namespace {

void add_way(net::Footprint& joined, const net::Footprint& one) {
  joined.paths.insert(joined.paths.end(), one.paths.begin(), one.paths.end());
  joined.usages.insert(joined.usages.end(), one.usages.begin(), one.usages.end());
  joined.latency = std::max(joined.latency, one.latency);
  joined.fill = std::max(joined.fill, one.fill);
  joined.fill_packet = std::max(joined.fill_packet, one.fill_packet);
}

// A resource that several ways use counts once.
std::vector<Usage> used_once(std::vector<Usage> usages) {
  std::ranges::sort(usages, {}, &Usage::resource);
  std::vector<Usage> once;
  for (const Usage& usage : usages) {
    if (once.empty() || once.back().resource != usage.resource) {
      once.push_back(usage);
    } else {
      once.back().usage = std::max(once.back().usage, usage.usage);
    }
  }
  return once;
}

}  // namespace

// Data that a switch adds up cross each member's links once and the head's once; so do data that it copies. The two follow each
// other, packet by packet. A head's own copy crosses its links to an NVSwitch and back once more (models/nccl §3.4). In the
// network the head stands for the switch, and its own part is in what it does for the others. A total that turns at the topmost
// switch has come to all when one way from rank to rank is over, which leads over that switch.
FootprintId Executor::switch_path(const Lane& lane) {
  const bool adds = lane.step.receive_in_switch;
  const bool copies = lane.step.multicasts();
  const bool turns = turns_at_top(lane);
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(lane.rank), static_cast<std::uint32_t>(lane.channel),
                                 (turns ? 4U : 0U) + (adds ? 2U : 0U) + (copies ? 1U : 0U)};
  if (adds) key.insert(key.end(), lane.step.receive_from.begin(), lane.step.receive_from.end());
  key.push_back(kNone);
  if (copies) key.insert(key.end(), lane.step.send_to.begin(), lane.step.send_to.end());
  const auto [known, is_new] = switch_paths_.try_emplace(std::move(key));
  if (!is_new) return known->second;

  net::Footprint up;
  net::Footprint down;
  Rank other = lane.rank;
  bool gives = false;  // its own copy
  bool takes = false;
  for (const Rank from : adds ? lane.step.receive_from : Peers{}) {
    gives = gives || from == lane.rank;
    if (from == lane.rank) continue;
    other = from;
    add_way(up, fabric_.footprint(path(from, lane.rank, lane.channel)));
  }
  for (const Rank to : copies ? lane.step.send_to : Peers{}) {
    takes = takes || to == lane.rank;
    if (to == lane.rank) continue;
    other = to;
    add_way(down, fabric_.footprint(path(lane.rank, to, lane.channel)));
  }
  net::Footprint joined = up;
  add_way(joined, down);
  joined.latency = turns ? std::max(up.latency, down.latency) : up.latency + down.latency;
  joined.fill = turns ? std::max(up.fill, down.fill) : up.fill + down.fill;
  joined.usages = used_once(std::move(joined.usages));
  if (other != lane.rank && transport(lane.rank, other) == Transport::kNvlink) {
    const DeviceId head = communicator_.device(lane.rank);
    const auto add_own = [&](Rank from, Rank to, bool out) {
      for (const Usage& usage : fabric_.footprint(path(from, to, lane.channel)).usages) {
        if (usage.resource.index() >= router_.topology().link_count()) continue;
        const net::Link& link = router_.topology().link(LinkId{usage.resource.value()});
        if ((out ? link.from : link.to) == head) joined.usages.push_back(usage);
      }
    };
    if (gives) add_own(lane.rank, other, true);
    if (takes) add_own(other, lane.rank, false);
    if (gives || takes) joined.paths.push_back({.source = head, .destination = head, .key = {}});
    joined.couple({});
  }
  known->second = fabric_.add_footprint(std::move(joined));
  return known->second;
}

// A step of which only the network's switches do anything, once all contributions are there.
bool Executor::is_networks(const Lane& lane) const { return lane.in_network && lane.step.receive_in_switch; }

// Says whether the step leaves data for the proxy that a switch of the network is to add up. A rank that gives to itself alone
// does so where its NIC stands for the switch.
bool Executor::contributes_to_network(const Lane& lane) const {
  if (costs_.rendezvous || !lane.step.contributes() || lane.step.is_spread()) return false;
  const Rank to = *lane.step.send_to.begin();
  return to == lane.rank || transport(lane.rank, to) == Transport::kNet;
}

// Whether the network's switches are who adds up or copies, and the rank has no part in it but to give: NCCL's network
// transport leaves that to a proxy, as it does sends.
bool Executor::is_in_network(const Lane& lane) const {
  if (costs_.rendezvous) return false;
  const auto is_net = [&](std::uint32_t connection) { return connections_[connection].transport == Transport::kNet; };
  if (!lane.step.receive_in_switch) return lane.step.multicasts() && std::ranges::any_of(lane.sends, is_net);
  return !lane.step.reads_source() && !lane.step.store && std::ranges::any_of(lane.receives, is_net);
}

// By a switch until whose end the lane is not free.
void Executor::post_in_switch(std::uint32_t index, net::Transfer transfer) {
  Lane& lane = lanes_[index];
  const bool multicast = lane.step.multicasts();
  const std::uint32_t list = deliveries_.take();
  deliveries_[list].assign(lane.sends.begin(), lane.sends.end());
  transfer.footprint = lane.switch_path;
  transfer.kind = multicast ? net::TransferKind::kMulticast : net::TransferKind::kReduce;
  transfer.extra_latency = hop_in_switch(lane);
  if (uses_fabric_switches(lane)) {
    const Bandwidth most = costs_.switch_rate;
    if (most > Bandwidth{} && (transfer.rate_cap == Bandwidth{} || most < transfer.rate_cap)) transfer.rate_cap = most;
    transfer.turns_at_top = turns_at_top(lane);
  }
  transfer.tag |= kManyConnections | list;
  lane.outstanding = 1;
  ++messages_;
  post(transfer);
}

bool Executor::uses_fabric_switches(const Lane& lane) const {
  const auto is_net = [&](std::uint32_t connection) {
    const Connection& one = connections_[connection];
    return one.from != one.to && one.transport == Transport::kNet;
  };
  return (lane.step.receive_in_switch && std::ranges::any_of(lane.receives, is_net)) ||
         (lane.step.multicasts() && std::ranges::any_of(lane.sends, is_net));
}

bool Executor::turns_at_top(const Lane& lane) const {
  return costs_.rendezvous && lane.step.receive_in_switch && lane.step.multicasts() && uses_fabric_switches(lane);
}

Duration Executor::hop_in_switch(const Lane& lane) const {
  Duration latest;
  if (lane.step.receive_in_switch) {
    for (const std::uint32_t from : lane.receives) latest = std::max(latest, hop(from));
  }
  if (lane.step.multicasts()) {
    for (const std::uint32_t to : lane.sends) latest = std::max(latest, hop(to));
  }
  return uses_fabric_switches(lane) ? latest + costs_.switch_latency : latest;
}

// As send_by_proxy, to all peers at once.
void Executor::send_in_network(std::uint32_t index) {
  const Lane& lane = lanes_[index];
  const std::uint32_t list = deliveries_.take();
  deliveries_[list].assign(lane.sends.begin(), lane.sends.end());
  const Bytes data = costs_.slice_bytes(lane.step.bytes, lane.slice);
  hand_to_proxy({.connection = *lane.sends.begin(),
                 .footprint = lane.switch_path,
                 .kind = lane.step.multicasts() ? net::TransferKind::kMulticast : net::TransferKind::kReduce,
                 .wire = costs_.on_wire(data),
                 .weight = lane.weight,
                 .cap = costs_.switch_rate,
                 .hop = hop_in_switch(lane),
                 .lane = index,
                 .to = kManyConnections | list});
}

}  // namespace weft::coll
