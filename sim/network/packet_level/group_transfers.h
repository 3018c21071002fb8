// Reductions and multicasts in switches, packet by packet: what NVLS, SHARP and multicast do (models/network §1.3, §4).
//
// A group has a root and members, joined by trees of links: one tree for each of the root's own links, so that packets are
// striped over the planes of an NVSwitch domain, and for each of the ways between the NICs of hosts; and as many as a switch of
// the fabric has equal links where routing spreads over them. In a reduction every member sends its packet k up the tree, a
// switch passes one on when all of its branches have brought theirs, and the root gets one. In a multicast the root sends
// packet k and switches copy it. Where a transfer is both (an all-reduce step of NVLS), the root sends on what it receives at
// once. A root that is a member too, by a path to itself, has a branch of its own at the switch beside it. Where the transfer
// turns at the top (SHARP), the switch in the middle of the longest way is who adds up last and copies first, and the root is a
// member like the others.
//
// Model: members and root put packets in their queues at the pace of the transfer's rate cap, or of the root's links, and wait
// for no window; a switch gives the credits of what it adds up or copies back at once, and adds up in no time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/core/reused_places.h"
#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/router.h"

namespace weft::net {

class GroupTransfers final : private EventTarget {
 public:
  GroupTransfers(Simulator& simulator, PacketNetwork& network, const Router& router);

  // Starts message `id` over its footprint's `paths`. The listener hears of it under that id.
  void post(std::uint32_t id, const Footprint& paths, const Transfer& transfer);

  class Owner {
   public:
    virtual void group_sent(std::uint32_t id) = 0;
    virtual void group_delivered(std::uint32_t id) = 0;

   protected:
    ~Owner() = default;
  };
  void set_owner(Owner& owner) { owner_ = &owner; }

  // A packet of a group is at a device that is not its end, or at its end.
  void in_switch(PacketId packet, DeviceId device);
  void receive(PacketId packet);
  // The last packet of message `message` on one of its sources' links has left it.
  void left(std::uint32_t message);
  // A packet of a group message is lost: the message's id, unless it was known. What of it is still on the way counts no more.
  std::uint32_t lost(std::uint32_t message);
  // Starts message `id`, of which a packet is lost, anew; false: its ends are not joined. `footprints`: those posted on.
  bool restart(std::uint32_t id, const std::vector<Footprint>& footprints);
  // Trees are made anew for what is posted from now on: links have failed, or are back.
  void forget() { group_of_.clear(); }

 private:
  struct Node {
    DeviceId device;
    LinkId up;                 // towards the root; invalid at the root
    std::vector<LinkId> down;  // towards members
    bool member = false;
    bool joins_root = false;  // who is a member too: one more branch, by `up`
  };
  struct Tree {
    std::vector<Node> nodes;                              // the root first
    std::unordered_map<std::uint32_t, std::uint32_t> at;  // device -> node
    double rate = 0;                                      // its part of the root's link, bytes per picosecond
    double share = 0;                                     // of packets so far, weighted
  };
  struct Member {
    DeviceId device;
    FlowKey key;  // of what comes from the root
  };
  struct Group {
    DeviceId root;
    bool has_root = false;        // as a member
    bool turns = false;           // at the top of each tree
    std::vector<Member> members;  // others
    std::vector<Tree> trees;
    double rate = 0;
  };
  struct Message {
    std::uint32_t group = 0;
    std::uint32_t id = 0;
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    std::int64_t next = 0;      // packet put into queues next
    std::int64_t expected = 0;  // arrivals left
    std::int64_t unsent = 0;    // links of sources that the last packet has not left
    std::int64_t gap = 0;       // ps from one packet to the next
    Duration extra;
    Transfer transfer;  // as posted
    std::uint8_t priority = 0;
    bool lost = false;  // another one stands for it
    bool reduces = false;
    bool copies = false;
    std::vector<std::uint8_t> tree_of;                       // by packet
    std::vector<std::int64_t> last_of;                       // packet, by tree; -1: none
    std::unordered_map<std::uint64_t, std::uint32_t> there;  // by packet and node: branches that have come
  };

  void on_event(std::uint64_t payload) override;
  std::uint32_t group_of(const Transfer& transfer, const Footprint& paths, DeviceId root);
  [[nodiscard]] FlowKey key_of_way(const Group& group, const Member& member, std::size_t way) const;
  void grow(Group& group, std::size_t variant, std::uint64_t entropy, std::size_t way, LinkId first);
  void turn_at_top(Tree& tree) const;
  [[nodiscard]] std::size_t equal_links(const Group& group, std::size_t way, LinkId first) const;
  std::uint32_t pick_tree(Group& group);
  void inject(std::uint32_t message);
  PacketId make(std::uint32_t message, PacketKind kind, std::int64_t sequence, LinkId link);
  // `tail`: of what is copied, as a packet's.
  void copy_from(const Group& group, const Tree& tree, const Node& node, std::uint32_t message, std::int64_t sequence,
                 Time tail, bool last);
  void finish(std::uint32_t message);

  Simulator& simulator_;
  PacketNetwork& network_;
  const Router& router_;
  ComponentId component_;
  Owner* owner_ = nullptr;
  std::vector<std::uint32_t> lost_;      // messages that are to be started anew
  std::vector<std::uint32_t> group_of_;  // by footprint
  std::vector<Group> groups_;
  ReusedPlaces<Message> messages_;
};

}  // namespace weft::net
