// Packets and signals that cross from one part of a fabric into another (parted_fabric.h). A box belongs to a pair of parts. In
// a window one thread writes one side of it, and another empties the other side, so that no lock is needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/congestion.h"
#include "sim/network/packet_level/packet.h"
#include "sim/network/partition.h"

namespace weft::net {

// Something happened that parts on their own cannot answer for: the run must be done again in one part.
class CannotRunInParts : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A packet that has come, and when it acts.
struct DuePacket {
  Time at;
  PacketId packet = kNoPacket;
};
// In the order of their times; of one time in the order that they have. `room` is written over.
void sort_due(std::vector<DuePacket>& due, std::vector<DuePacket>& room);

struct PacketLetter {
  Time at;
  Packet packet;
  bool free_control = false;  // takes no links: it is for the queue pair at once
};
// A pause or a credit for a port (PacketNetwork).
struct SignalLetter {
  Time at;
  std::uint64_t payload = 0;
  bool pause = false;
};

struct alignas(64) MailBox {
  std::vector<PacketLetter> packets;
  std::vector<HopTelemetry> stamps;  // of those packets, Packet::stamps each
  std::vector<SignalLetter> signals;

  void clear() {
    packets.clear();
    stamps.clear();
    signals.clear();
  }
};

// All boxes of a fabric.
class MailRoom {
 public:
  explicit MailRoom(std::size_t parts) : parts_{parts}, boxes_(2 * parts * parts) {}
  // Written in this window.
  [[nodiscard]] MailBox& box(std::uint64_t window, std::size_t from, std::size_t to) {
    return boxes_[((window & 1) * parts_ + to) * parts_ + from];
  }
  [[nodiscard]] std::size_t parts() const { return parts_; }

 private:
  std::size_t parts_;
  std::vector<MailBox> boxes_;
};

// One part's desk: what it sends in the present window.
class PartMail {
 public:
  PartMail(MailRoom& room, const Partition& partition, std::size_t self) : room_{room}, partition_{partition}, self_{self} {}

  [[nodiscard]] PartView part() const { return {&partition_, self_}; }
  [[nodiscard]] bool is_here(DeviceId device) const { return partition_.of(device) == self_; }
  void begin(std::uint64_t window, Time end) {
    window_ = window;
    end_ = end;
    earliest_ = Time::max();
  }
  [[nodiscard]] Time earliest() const { return earliest_; }  // of what was sent in this window

  void send(DeviceId to, Time at, const Packet& packet, std::span<const HopTelemetry> stamps, bool free_control) {
    MailBox& box = box_of(to, at);
    box.packets.push_back({at, packet, free_control});
    box.stamps.insert(box.stamps.end(), stamps.begin(), stamps.end());
  }
  void send(DeviceId to, Time at, std::uint64_t payload, bool pause) { box_of(to, at).signals.push_back({at, payload, pause}); }

 private:
  MailBox& box_of(DeviceId to, Time at) {
    WEFT_CHECK(at >= end_);  // else the lookahead was too long
    earliest_ = std::min(earliest_, at);
    return room_.box(window_, self_, partition_.of(to));
  }

  MailRoom& room_;
  const Partition& partition_;
  std::size_t self_;
  std::uint64_t window_ = 0;
  Time end_;
  Time earliest_ = Time::max();
};

}  // namespace weft::net
