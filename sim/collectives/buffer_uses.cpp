#include "sim/collectives/buffer_uses.h"

#include <algorithm>
#include <tuple>

namespace weft::coll {

void BufferUses::add(Rank rank, const Chunk& chunk, Bytes bytes, bool writes, StepNumber step) {
  if (chunk.buffer == Buffer::kInput || bytes == Bytes{0}) return;
  uses_[static_cast<std::size_t>(rank)].push_back(
      {.begin = chunk.offset, .end = chunk.offset + bytes.count(), .buffer = chunk.buffer, .writes = writes, .step = step});
}

std::optional<BufferUses::Clash> BufferUses::first_clash(StepOrder& order) {
  for (std::vector<Use>& uses : uses_) {
    std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
      return std::tie(a.buffer, a.begin, a.step, a.writes) < std::tie(b.buffer, b.begin, b.step, b.writes);
    });
    std::vector<Use> open;  // those that reach the current one
    for (const Use& use : uses) {
      std::erase_if(open, [&](const Use& u) { return u.buffer != use.buffer || u.end <= use.begin; });
      for (const Use& other : open) {
        if (!use.writes && !other.writes) continue;
        const auto [first, second] = std::minmax(use.step, other.step);
        if (first != second && !order.comes_before(first, second)) return Clash{first, second, {use.buffer, use.begin}};
      }
      open.push_back(use);
    }
  }
  return std::nullopt;
}

}  // namespace weft::coll
