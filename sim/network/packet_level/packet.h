// A packet, and the store that packets live in. Part of packet fidelity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::net {

// Bytes of a packet's payload where no link of the fabric says otherwise: inside hosts.
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
  kCredit,  // of a destination to a source (RCCC)
};
// The largest number of a packet within its queue pair.
inline constexpr std::int64_t kMostSequence = (std::int64_t{1} << 47) - 1;

constexpr bool carries_data(PacketKind kind) { return kind <= PacketKind::kCopy; }
constexpr bool is_of_group(PacketKind kind) { return kind == PacketKind::kReduce || kind == PacketKind::kCopy; }

// One cache line. `size` is what it takes on the wire of the link it is queued for or on.
struct Packet {
  Time at;    // on a wire: when the far end acts on it; in a queue: when it joined
  Time tail;  // when its last bit has passed the device that took in its head (cut-through); else in the past
  Time sent;  // of the data packet, by its source
  std::int64_t sequence : 48 = 0;  // within its queue pair; of an acknowledgement: what it acknowledges
  // RCCC, in full packets since the start, modulo 2^16. Of data: what its source asks for. Else: what is granted.
  std::uint64_t credit : 16 = 0;
  PacketId next = kNoPacket;  // behind it in its queue
  std::uint32_t flow = 0;     // queue pair
  std::uint32_t message = 0;
  std::int32_t payload = 0;  // bytes; of an acknowledgement: packets it stands for
  std::int32_t size = 0;
  LinkId ingress;  // over which it came to where it is; invalid at its source
  PacketKind kind = PacketKind::kData;
  std::uint8_t priority = 0;
  std::uint8_t hop = 0;     // links taken so far
  std::uint8_t stamps = 0;  // hops of telemetry so far
  bool marked : 1 = false;  // CE; of an acknowledgement: that of what it acknowledges
  bool last : 1 = false;    // of its message
  bool again : 1 = false;   // a retransmission
  bool asks : 1 = false;    // for an acknowledgement
  bool on_wire : 1 = false;
  bool lost : 1 = false;      // with its wire: what arrives is no packet any more
  bool counted : 1 = false;   // in the memory of the device that `ingress` leads to
  bool credited : 1 = false;  // `ingress` is owed credits for it
  bool trimmed : 1 = false;   // a switch has cut it to its header
  bool retried : 1 = false;   // lost on the link over which it comes, which sends it again (LLR)
  std::uint16_t by = 0;       // the leaf of its detour, or its entropy value (PacketRoutes)
};
static_assert(sizeof(Packet) == 64, "one cache line");

// Packets by index, in blocks that the system may map as one large page each, since a hop looks for packets all over them. The
// latest freed goes first. Nothing is allocated once as many have been alive at once.
class PacketStore {
 public:
  Packet& operator[](PacketId id) { return blocks_[id >> kShift].get()[id & (kBlock - 1)]; }
  const Packet& operator[](PacketId id) const { return blocks_[id >> kShift].get()[id & (kBlock - 1)]; }

  PacketId create() {
    ++live_;
    if (free_ == kNoPacket) return add();
    const PacketId id = free_;
    free_ = (*this)[id].next;
    return id;
  }
  void destroy(PacketId id) {
    (*this)[id].next = free_;
    free_ = id;
    --live_;
  }
  // Inlined whatever it costs: for the compiler a call that only prefetches has no effect, and it leaves it out.
  [[gnu::always_inline]] void prefetch(PacketId id) const {
    __builtin_prefetch(&(*this)[id == kNoPacket ? 0 : id]);  // no branch: it would often be mispredicted
  }
  [[nodiscard]] std::size_t live() const { return live_; }
  // Every id ever used is below it.
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  static constexpr unsigned kShift = 15;
  static constexpr std::size_t kBlock = std::size_t{1} << kShift;  // 2 MiB
  struct Free {
    void operator()(Packet* block) const;
  };

  PacketId add();

  std::vector<std::unique_ptr<Packet, Free>> blocks_;
  PacketId free_ = kNoPacket;
  PacketId used_ = 0;
  std::size_t live_ = 0;
};

}  // namespace weft::net
