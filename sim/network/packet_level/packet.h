// A packet, and the store that packets live in. Part of packet fidelity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::net {

// Of a packet's payload where no link of the fabric says otherwise: inside hosts.
inline constexpr std::int32_t kDefaultPayload = 4096;

using PacketId = std::uint32_t;
inline constexpr PacketId kNoPacket = 0xFFFF'FFFF;
inline constexpr std::uint64_t kBitPicoseconds = 8'000'000'000'000;  // a byte's bits times the picoseconds of a second

enum class PacketKind : std::uint8_t {
  kData,
  kReduce,  // of a group (group_transfers.h): `flow` is the device where it ends
  kCopy,
  kAck,
  kNak,
  kCnp,
};
constexpr bool carries_data(PacketKind kind) { return kind <= PacketKind::kCopy; }
constexpr bool is_of_group(PacketKind kind) { return kind == PacketKind::kReduce || kind == PacketKind::kCopy; }

// One cache line. `size` is what it takes on the wire of the link it is queued for or on.
struct Packet {
  Time at;                    // on a wire: when the far end acts on it; in a queue: when it joined
  Time tail;                  // when its last bit is where its head has been taken in (cut-through); else in the past
  Time sent;                  // of the data packet, by its source
  std::int64_t sequence = 0;  // within its queue pair; of an acknowledgement: what it acknowledges
  PacketId next = kNoPacket;  // behind it in its queue or on its wire
  std::uint32_t flow = 0;     // queue pair
  std::uint32_t message = 0;
  std::int32_t payload = 0;  // bytes; of an acknowledgement: packets it stands for
  std::int32_t size = 0;
  LinkId ingress;  // over which it came to where it is; invalid at its source
  PacketKind kind = PacketKind::kData;
  std::uint8_t priority = 0;
  std::uint8_t hop = 0;     // links taken so far
  bool marked = false;      // CE; of an acknowledgement: that of what it acknowledges
  bool last = false;        // of its message
  bool again = false;       // a retransmission
  bool asks = false;        // for an acknowledgement
  std::uint8_t stamps = 0;  // hops of telemetry so far
};
static_assert(sizeof(Packet) == 64, "one cache line");

// Packets by index, in slabs; the latest freed first. Nothing is allocated once as many have been alive at once.
class PacketStore {
 public:
  Packet& operator[](PacketId id) { return slabs_[id >> kShift][id & (kSlab - 1)]; }
  const Packet& operator[](PacketId id) const { return slabs_[id >> kShift][id & (kSlab - 1)]; }

  PacketId create() {
    if (free_ == kNoPacket) add_slab();
    const PacketId id = free_;
    free_ = (*this)[id].next;
    ++live_;
    return id;
  }
  void destroy(PacketId id) {
    (*this)[id].next = free_;
    free_ = id;
    --live_;
  }
  void prefetch(PacketId id) const {
    if (id != kNoPacket) __builtin_prefetch(&(*this)[id]);
  }
  [[nodiscard]] std::size_t live() const { return live_; }
  // Every id is below it: the size of what runs beside the store.
  [[nodiscard]] std::size_t capacity() const { return slabs_.size() << kShift; }

 private:
  static constexpr unsigned kShift = 10;
  static constexpr std::size_t kSlab = std::size_t{1} << kShift;
  struct alignas(64) Aligned {
    Packet packets[kSlab];
  };

  void add_slab() {
    const auto first = static_cast<PacketId>(capacity());
    aligned_.push_back(std::make_unique<Aligned>());
    slabs_.push_back(aligned_.back()->packets);
    for (std::size_t i = kSlab; i-- > 0;) {
      slabs_.back()[i].next = free_;
      free_ = first + static_cast<PacketId>(i);
    }
  }

  std::vector<Packet*> slabs_;
  std::vector<std::unique_ptr<Aligned>> aligned_;
  PacketId free_ = kNoPacket;
  std::size_t live_ = 0;
};

}  // namespace weft::net
