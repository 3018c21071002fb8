#include "sim/network/packet_level/group_transfers.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"

namespace weft::net {
namespace {

constexpr std::uint32_t kNone = 0xFFFF'FFFF;
constexpr std::int64_t kPayload = kDefaultPayload;  // links count their own headers in it
constexpr std::size_t kMostTrees = 256;
// Events: the next packet of a message is due; the message is delivered.
constexpr std::uint64_t kDelivered = std::uint64_t{1} << 32;

}  // namespace

GroupTransfers::GroupTransfers(Simulator& simulator, PacketNetwork& network, const Router& router)
    : simulator_{simulator}, network_{network}, router_{router}, component_{simulator.add_component("groups")} {}

std::uint32_t GroupTransfers::group_of(const Transfer& transfer, const Footprint& paths, DeviceId root) {
  const FootprintId footprint = transfer.footprint;
  if (group_of_.size() <= footprint.index()) group_of_.resize(footprint.index() + 1, kNone);
  std::uint32_t& known = group_of_[footprint.index()];
  if (known != kNone) return known;
  Group group{.root = root, .has_root = false, .turns = transfer.turns_at_top, .members = {}, .trees = {}};
  for (const PathEnds& path : paths.paths) {
    const DeviceId member = path.source == root ? path.destination : path.source;
    WEFT_CHECK(path.source == root || path.destination == root);
    group.has_root = group.has_root || member == root;
    if (member == root || std::ranges::find(group.members, member, &Member::device) != group.members.end()) continue;
    FlowKey key{0, path.key.nics};
    if (path.source != root) std::swap(key.nics.leaving, key.nics.entering);
    group.members.push_back({member, key});
  }
  const Member& first = group.members.front();
  const std::size_t ways = std::max<std::size_t>(router_.nic_ways(root, first.device, first.key).size(), 1);
  std::vector<NextHop> hops;
  const bool spreads = router_.policy().spreads();
  const std::uint64_t entropy = spreads ? 0 : paths.paths.front().key.entropy;
  for (std::size_t way = 0; way < ways; ++way) {
    hops.clear();
    router_.next_hops(root, root, first.device, key_of_way(group, first, way), hops);
    WEFT_CHECK(!hops.empty());
    const std::size_t spread = spreads ? equal_links(group, way, hops.front().link) : 1;
    const std::size_t of_link = (std::max(spread, hops.size()) + hops.size() - 1) / hops.size();
    const std::size_t first_tree = group.trees.size();
    for (std::size_t variant = 0; variant < std::min(of_link * hops.size(), kMostTrees); ++variant)
      grow(group, variant, entropy, way, hops[variant % hops.size()].link);
    for (const NextHop& hop : hops) group.rate += router_.topology().spec(hop.link).capacity();
    for (std::size_t tree = first_tree; tree < group.trees.size(); ++tree)
      group.trees[tree].rate /= static_cast<double>(of_link);
  }
  groups_.push_back(std::move(group));
  known = static_cast<std::uint32_t>(groups_.size() - 1);
  return known;
}

// The most equal links of any switch of the fabric on the way to a member.
std::size_t GroupTransfers::equal_links(const Group& group, std::size_t way, LinkId first) const {
  const Topology& topology = router_.topology();
  std::size_t most = 1;
  std::vector<NextHop> hops;
  for (const Member& member : group.members) {
    const FlowKey key = key_of_way(group, member, way);
    for (DeviceId at = topology.link(first).to; at != member.device;) {
      if (topology.host_of(at) < 0) {
        const auto links = router_.links_towards(at, key.nics.entering);
        most = std::max(most, links.size());
        at = topology.link(links.front()).to;
      } else {
        hops.clear();
        router_.next_hops(at, group.root, member.device, key, hops);
        WEFT_CHECK(!hops.empty());
        at = topology.link(hops.front().link).to;
      }
    }
  }
  return most;
}

// Members may have fewer ways, or more.
FlowKey GroupTransfers::key_of_way(const Group& group, const Member& member, std::size_t way) const {
  const std::vector<NicWay> ways = router_.nic_ways(group.root, member.device, member.key);
  return ways.empty() ? member.key : FlowKey{0, ways[way % ways.size()].nics};
}

// From the root to every member. Switches of the fabric take the same one of their links for all members beyond it, so that the
// ways make a tree.
void GroupTransfers::grow(Group& group, std::size_t variant, std::uint64_t entropy, std::size_t way, LinkId first) {
  const Topology& topology = router_.topology();
  Tree tree;
  tree.rate = topology.spec(first).capacity();
  const auto node = [&](DeviceId device, LinkId from) {
    const auto [found, inserted] = tree.at.emplace(device.value(), static_cast<std::uint32_t>(tree.nodes.size()));
    if (inserted)
      tree.nodes.push_back({.device = device, .up = from.valid() ? topology.link(from).twin : LinkId{}, .down = {}});
    return found->second;
  };
  node(group.root, {});
  std::vector<NextHop> hops;
  for (const Member& end : group.members) {
    const DeviceId member = end.device;
    const FlowKey key = key_of_way(group, end, way);
    DeviceId at = group.root;
    while (at != member) {
      LinkId next;
      if (at == group.root) {
        next = first;
      } else if (topology.host_of(at) < 0) {
        const auto links = router_.links_towards(at, key.nics.entering);
        next = links[(variant + entropy) % links.size()];
      } else {
        hops.clear();
        router_.next_hops(at, group.root, member, key, hops);
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
  if (group.turns) {
    turn_at_top(tree);
  } else if (group.has_root) {
    tree.nodes[tree.at.at(topology.link(first).to.value())].joins_root = true;
  }
  group.trees.push_back(std::move(tree));
}

// Hangs the tree up at the fabric switch nearest to the middle of the longest way from its root, which becomes a member.
void GroupTransfers::turn_at_top(Tree& tree) const {
  const Topology& topology = router_.topology();
  const auto above = [&](const Node& node) { return tree.at.at(topology.link(node.up).to.value()); };
  std::vector<std::uint32_t> longest;  // from the member up
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (!tree.nodes[i].member) continue;
    std::vector<std::uint32_t> way{i};
    while (tree.nodes[way.back()].up.valid()) way.push_back(above(tree.nodes[way.back()]));
    if (way.size() > longest.size()) longest = std::move(way);
  }
  std::uint32_t top = kNone;
  for (std::size_t i = 0, least = longest.size(); i < longest.size(); ++i) {
    const std::size_t off = 2 * i > longest.size() - 1 ? 2 * i - (longest.size() - 1) : longest.size() - 1 - 2 * i;
    if (off >= least || topology.host_of(tree.nodes[longest[i]].device) >= 0) continue;
    least = off;
    top = longest[i];
  }
  WEFT_CHECK(top != kNone);
  tree.nodes.front().member = true;
  std::uint32_t below = top;
  for (LinkId up = std::exchange(tree.nodes[top].up, LinkId{}); up.valid();) {
    const LinkId back = topology.link(up).twin;
    const std::uint32_t next = tree.at.at(topology.link(up).to.value());
    std::erase(tree.nodes[next].down, back);
    tree.nodes[below].down.push_back(up);
    up = std::exchange(tree.nodes[next].up, back);
    below = next;
  }
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

void GroupTransfers::post(std::uint32_t id, const Footprint& paths, const Transfer& transfer) {
  const bool copies = transfer.kind == TransferKind::kMulticast;
  const DeviceId root = copies ? paths.paths.back().source : paths.paths.front().destination;
  const std::uint32_t index = messages_.take();
  const std::uint32_t group_id = group_of(transfer, paths, root);
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
  message.reduces =
      std::ranges::any_of(paths.paths, [&](const PathEnds& path) { return path.destination == root && path.source != root; });
  message.copies = copies;
  const auto takers = static_cast<std::int64_t>(group.members.size() + (group.has_root || group.turns ? 1 : 0));
  message.expected = message.count * (copies ? takers : 1);
  double rate = group.rate;
  if (transfer.rate_cap > Bandwidth{}) rate = std::min(rate, transfer.rate_cap.bytes_per_ps());
  const std::int64_t packet = std::min(kPayload, std::max<std::int64_t>(message.bytes, 1));
  message.gap = static_cast<std::int64_t>(static_cast<double>(packet) / rate);
  message.tree_of.reserve(static_cast<std::size_t>(message.count));
  message.last_of.assign(group.trees.size(), -1);
  for (std::int64_t k = 0; k < message.count; ++k) {
    const std::uint32_t tree = pick_tree(group);
    message.tree_of.push_back(static_cast<std::uint8_t>(tree));
    message.last_of[tree] = k;
  }
  for (std::size_t tree = 0; tree < group.trees.size(); ++tree) {
    if (message.last_of[tree] < 0) continue;
    const auto links = static_cast<std::int64_t>(group.trees[tree].nodes.front().down.size());
    message.unsent += message.reduces ? takers : links;
  }
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
  post(id, paths, transfer);
  return true;
}

PacketId GroupTransfers::make(std::uint32_t index, PacketKind kind, std::int64_t sequence, LinkId link) {
  const Message& message = messages_[index];
  const PacketId id = network_.packets().create();
  Packet& packet = network_.packets()[id];
  packet = {};
  packet.kind = kind;
  packet.message = index;
  packet.sequence = sequence & kMostSequence;
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
  const std::size_t number = messages_[index].tree_of[static_cast<std::size_t>(sequence)];
  const Tree& tree = group.trees[number];
  if (messages_[index].next < messages_[index].count) {
    simulator_.schedule(simulator_.now() + Duration::from_ps(messages_[index].gap), Phase::kAction, component_, *this, index);
  }
  const bool last = messages_[index].last_of[number] == sequence;
  if (!messages_[index].reduces) {
    copy_from(group, tree, tree.nodes.front(), index, sequence, {}, last);
    return;
  }
  const auto give = [&](LinkId link) {
    const PacketId packet = make(index, PacketKind::kReduce, sequence, link);
    network_.packets()[packet].flow = group.turns ? kNone : group.root.value();
    network_.packets()[packet].last = last;
    network_.enqueue(link, packet);
  };
  for (const Node& node : tree.nodes) {
    if (node.member) give(node.up);
  }
  if (group.has_root && !group.turns) give(tree.nodes.front().down.front());
}

void GroupTransfers::copy_from(const Group& group, const Tree& tree, const Node& node, std::uint32_t index,
                               std::int64_t sequence, Time tail, bool last) {
  const auto copy = [&](LinkId link, std::uint32_t end) {
    const PacketId packet = make(index, PacketKind::kCopy, sequence, link);
    network_.packets()[packet].flow = end;
    network_.packets()[packet].tail = tail;
    network_.packets()[packet].last = last;
    network_.enqueue(link, packet);
  };
  for (const LinkId link : node.down) {
    const DeviceId to = router_.topology().link(link).to;
    copy(link, tree.nodes[tree.at.at(to.value())].down.empty() ? to.value() : kNone);
  }
  if (node.joins_root) copy(node.up, group.root.value());
}

void GroupTransfers::in_switch(PacketId id, DeviceId device) {
  const Packet packet = network_.packets()[id];
  network_.packets().destroy(id);
  Message& message = messages_[packet.message];
  if (message.lost) return;
  const Group& group = groups_[message.group];
  const Tree& tree = group.trees[message.tree_of[static_cast<std::size_t>(packet.sequence)]];
  const std::uint32_t number = tree.at.at(device.value());
  const Node& node = tree.nodes[number];
  if (packet.kind == PacketKind::kCopy) {
    copy_from(group, tree, node, packet.message, packet.sequence, packet.tail, false);
    return;
  }
  const std::uint64_t key = static_cast<std::uint64_t>(packet.sequence) << 20 | number;
  std::uint32_t& branches = message.there[key];
  if (++branches < node.down.size() + (node.joins_root ? 1 : 0)) return;
  message.there.erase(key);
  if (!node.up.valid()) {
    copy_from(group, tree, node, packet.message, packet.sequence, packet.tail, false);
    return;
  }
  const PacketId sum = make(packet.message, PacketKind::kReduce, packet.sequence, node.up);
  network_.packets()[sum].flow = group.turns ? kNone : group.root.value();
  network_.packets()[sum].tail = packet.tail;
  network_.enqueue(node.up, sum);
}

void GroupTransfers::receive(PacketId id) {
  const Packet packet = network_.packets()[id];
  network_.packets().destroy(id);
  Message& message = messages_[packet.message];
  if (message.lost) return;
  if (packet.kind == PacketKind::kReduce && message.copies) {
    const Group& group = groups_[message.group];
    const Tree& tree = group.trees[message.tree_of[static_cast<std::size_t>(packet.sequence)]];
    copy_from(group, tree, tree.nodes.front(), packet.message, packet.sequence, {}, false);
    return;
  }
  if (--messages_[packet.message].expected > 0) return;
  const Duration extra = messages_[packet.message].extra;
  if (extra > Duration{}) {
    simulator_.schedule(simulator_.now() + extra, Phase::kAction, component_, *this, kDelivered | packet.message);
  } else {
    finish(packet.message);
  }
}

void GroupTransfers::left(std::uint32_t index) {
  Message& message = messages_[index];
  if (!message.lost && --message.unsent == 0) owner_->group_sent(message.id);
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
  } else {
    inject(index);
  }
}

}  // namespace weft::net
