#include "sim/network/packet_level/packet.h"

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace weft::net {

// One that no packet has had yet. What is not used of a block takes no memory where pages are small.
PacketId PacketStore::add() {
  if (used_ >> kShift == blocks_.size()) {
    constexpr std::size_t kBytes = kBlock * sizeof(Packet);
    void* const block = std::aligned_alloc(kBytes, kBytes);
    if (block == nullptr) throw std::bad_alloc{};
#ifdef __linux__
    madvise(block, kBytes, MADV_HUGEPAGE);  // a wish: without it all is the same, and slower
#endif
    blocks_.emplace_back(static_cast<Packet*>(block));
  }
  new (&(*this)[used_]) Packet;
  return used_++;
}

void PacketStore::Free::operator()(Packet* block) const { std::free(block); }

}  // namespace weft::net
