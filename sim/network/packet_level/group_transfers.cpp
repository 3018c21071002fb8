#include "sim/network/packet_level/group_transfers.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"

namespace weft::net {
namespace {

constexpr std::uint32_t kNone = 0xFFFF'FFFF;
constexpr std::int64_t kPayload = kDefaultPayload;  // links count their own headers in it
// Events: the next packet of a message is due; the last one has been sent; the message is delivered.
constexpr std::uint64_t kSent = std::uint64_t{1} << 32;
constexpr std::uint64_t kDelivered = std::uint64_t{2} << 32;

}  // namespace

GroupTransfers::GroupTransfers(Simulator& simulator, PacketNetwork& network, const Router& router)
    : simulator_{simulator}, network_{network}, router_{router}, component_{simulator.add_component("groups")} {}

std::uint32_t GroupTransfers::group_of(FootprintId footprint, const Footprint& paths, DeviceId root) {
  if (group_of_.size() <= footprint.index()) group_of_.resize(footprint.index() + 1, kNone);
  std::uint32_t& known = group_of_[footprint.index()];
  if (known != kNone) return known;
  Group group{.root = root, .members = {}, .trees = {}};
  for (const PathEnds& path : paths.paths) {
    const DeviceId member = path.source == root ? path.destination : path.source;
    WEFT_CHECK(path.source == root || path.destination == root);
    if (std::ranges::find(group.members, member) == group.members.end()) group.members.push_back(member);
  }
  std::vector<NextHop> hops;
  router_.next_hops(root, root, group.members.front(), {}, hops);
  WEFT_CHECK(!hops.empty());
  for (std::size_t variant = 0; variant < hops.size(); ++variant) grow(group, variant, hops[variant].link);
  groups_.push_back(std::move(group));
  known = static_cast<std::uint32_t>(groups_.size() - 1);
  return known;
}

// From the root to every member. Switches of the fabric take the same one of their links for all members beyond it, so that the
// ways make a tree.
void GroupTransfers::grow(Group& group, std::size_t variant, LinkId first) {
  const Topology& topology = router_.topology();
  Tree tree;
  tree.rate = topology.spec(first).capacity();
  group.rate += tree.rate;
  const auto node = [&](DeviceId device, LinkId from) {
    const auto [found, inserted] = tree.at.emplace(device.value(), static_cast<std::uint32_t>(tree.nodes.size()));
    if (inserted)
      tree.nodes.push_back({.device = device, .up = from.valid() ? topology.link(from).twin : LinkId{}, .down = {}});
    return found->second;
  };
  node(group.root, {});
  std::vector<NextHop> hops;
  for (const DeviceId member : group.members) {
    DeviceId at = group.root;
    while (at != member) {
      LinkId next;
      if (at == group.root) {
        next = first;
      } else if (topology.host_of(at) < 0) {
        const auto links = router_.links_towards(at, router_.entry_nic(group.root, member));
        next = links[variant % links.size()];
      } else {
        hops.clear();
        router_.next_hops(at, group.root, member, {}, hops);
        WEFT_CHECK(!hops.empty());
        next = hops.front().link;
      }
      const std::uint32_t parent = node(at, {});
      at = topology.link(next).to;
      node(at, next);
      std::vector<LinkId>& down = tree.nodes[parent].down;
      if (std::ranges::find(down, next) == down.end()) down.push_back(next);
    }
    tree.nodes[tree.at[member.value()]].member = true;
  }
  group.trees.push_back(std::move(tree));
}

// The tree that is furthest behind its share, by the rates of the root's links.
std::uint32_t GroupTransfers::pick_tree(Group& group) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < group.trees.size(); ++i) {
    group.trees[i].share += group.trees[i].rate / group.rate;
    if (group.trees[i].share > group.trees[best].share) best = i;
  }
  group.trees[best].share -= 1.0;
  return static_cast<std::uint32_t>(best);
}

void GroupTransfers::post(std::uint32_t id, FootprintId footprint, const Footprint& paths, const Transfer& transfer) {
  const bool copies = transfer.kind == TransferKind::kMulticast;
  const DeviceId root = copies ? paths.paths.back().source : paths.paths.front().destination;
  const std::uint32_t index = messages_.take();
  const std::uint32_t group_id = group_of(footprint, paths, root);
  Group& group = groups_[group_id];
  Message& message = messages_[index];
  message = {};
  message.group = group_id;
  message.id = id;
  message.transfer = transfer;
  message.bytes = transfer.bytes.count();
  message.count = std::max<std::int64_t>((message.bytes + kPayload - 1) / kPayload, 1);
  message.extra = transfer.extra_latency;
  message.priority = transfer.priority;
  message.reduces = std::ranges::any_of(paths.paths, [&](const PathEnds& path) { return path.destination == root; });
  message.copies = copies;
  message.expected = message.count * (copies ? static_cast<std::int64_t>(group.members.size()) : 1);
  double rate = group.rate;
  if (transfer.rate_cap > Bandwidth{}) rate = std::min(rate, transfer.rate_cap.bytes_per_ps());
  const std::int64_t packet = std::min(kPayload, std::max<std::int64_t>(message.bytes, 1));
  message.gap = static_cast<std::int64_t>(static_cast<double>(packet) / rate);
  message.tree_of.reserve(static_cast<std::size_t>(message.count));
  for (std::int64_t k = 0; k < message.count; ++k) message.tree_of.push_back(static_cast<std::uint8_t>(pick_tree(group)));
  inject(index);
}

std::uint32_t GroupTransfers::lost(std::uint32_t index) {
  if (std::exchange(messages_[index].lost, true)) return kNone;
  lost_.push_back(index);
  return messages_[index].id;
}

bool GroupTransfers::restart(std::uint32_t id, const std::vector<Footprint>& footprints) {
  const auto found = std::ranges::find_if(lost_, [&](std::uint32_t index) { return messages_[index].id == id; });
  WEFT_CHECK(found != lost_.end());
  const Transfer transfer = messages_[*found].transfer;
  const Footprint& paths = footprints[transfer.footprint.index()];
  try {
    for (const PathEnds& path : paths.paths) static_cast<void>(router_.route(path.source, path.destination, path.key));
  } catch (const ConfigError&) {
    return false;
  }
  lost_.erase(found);
  post(id, transfer.footprint, paths, transfer);
  return true;
}

PacketId GroupTransfers::make(std::uint32_t index, PacketKind kind, std::int64_t sequence, LinkId link) {
  const Message& message = messages_[index];
  const PacketId id = network_.packets().create();
  Packet& packet = network_.packets()[id];
  packet = {};
  packet.kind = kind;
  packet.message = index;
  packet.sequence = sequence;
  packet.payload = static_cast<std::int32_t>(std::min(kPayload, message.bytes - sequence * kPayload));
  packet.size = network_.wire_size(link, packet.payload);
  packet.priority = message.priority;
  packet.sent = simulator_.now();
  return id;
}

// One packet of every sender into its queue; the next ones a beat later.
void GroupTransfers::inject(std::uint32_t index) {
  const std::int64_t sequence = messages_[index].next++;
  const Group& group = groups_[messages_[index].group];
  const Tree& tree = group.trees[messages_[index].tree_of[static_cast<std::size_t>(sequence)]];
  const bool last = messages_[index].next == messages_[index].count;
  if (!last || !messages_[index].reduces) {
    simulator_.schedule(simulator_.now() + Duration::from_ps(messages_[index].gap), Phase::kAction, component_, *this,
                        last ? kSent | index : index);
  }
  if (messages_[index].reduces) {
    for (const Node& node : tree.nodes) {
      if (!node.member) continue;
      const PacketId packet = make(index, PacketKind::kReduce, sequence, node.up);
      network_.packets()[packet].flow = group.root.value();
      network_.enqueue(node.up, packet);
    }
    return;
  }
  copy_from(tree, tree.nodes.front(), index, sequence);
}

void GroupTransfers::copy_from(const Tree& tree, const Node& node, std::uint32_t index, std::int64_t sequence) {
  for (const LinkId link : node.down) {
    const DeviceId to = router_.topology().link(link).to;
    const PacketId packet = make(index, PacketKind::kCopy, sequence, link);
    const Node& next = tree.nodes[tree.at.at(to.value())];
    network_.packets()[packet].flow = next.down.empty() ? to.value() : kNone;
    network_.enqueue(link, packet);
  }
}

void GroupTransfers::in_switch(PacketId id, DeviceId device) {
  const Packet packet = network_.packets()[id];
  network_.packets().destroy(id);
  Message& message = messages_[packet.message];
  if (message.lost) return;
  const Tree& tree = groups_[message.group].trees[message.tree_of[static_cast<std::size_t>(packet.sequence)]];
  const std::uint32_t number = tree.at.at(device.value());
  const Node& node = tree.nodes[number];
  if (packet.kind == PacketKind::kCopy) {
    copy_from(tree, node, packet.message, packet.sequence);
    return;
  }
  const std::uint64_t key = static_cast<std::uint64_t>(packet.sequence) << 20 | number;
  std::uint32_t& branches = message.there[key];
  if (++branches < node.down.size()) return;
  message.there.erase(key);
  const PacketId sum = make(packet.message, PacketKind::kReduce, packet.sequence, node.up);
  network_.packets()[sum].flow = groups_[message.group].root.value();
  network_.enqueue(node.up, sum);
}

void GroupTransfers::receive(PacketId id) {
  const Packet packet = network_.packets()[id];
  network_.packets().destroy(id);
  Message& message = messages_[packet.message];
  if (message.lost) return;
  if (packet.kind == PacketKind::kReduce) {
    const bool last = ++message.reduced == message.count;
    const std::uint32_t owner_id = message.id;
    if (message.copies) {
      const Tree& tree = groups_[message.group].trees[message.tree_of[static_cast<std::size_t>(packet.sequence)]];
      copy_from(tree, tree.nodes.front(), packet.message, packet.sequence);
      if (last) owner_->group_sent(owner_id);
      return;
    }
    if (last) owner_->group_sent(owner_id);
  }
  if (--messages_[packet.message].expected > 0) return;
  const Duration extra = messages_[packet.message].extra;
  if (extra > Duration{}) {
    simulator_.schedule(simulator_.now() + extra, Phase::kAction, component_, *this, kDelivered | packet.message);
  } else {
    finish(packet.message);
  }
}

void GroupTransfers::finish(std::uint32_t index) {
  const std::uint32_t id = messages_[index].id;
  messages_.give_back(index);
  owner_->group_delivered(id);
}

void GroupTransfers::on_event(std::uint64_t payload) {
  const auto index = static_cast<std::uint32_t>(payload);
  if (messages_[index].lost) return;
  if ((payload & kDelivered) != 0) {
    finish(index);
  } else if ((payload & kSent) != 0) {
    owner_->group_sent(messages_[index].id);
  } else {
    inject(index);
  }
}

}  // namespace weft::net
