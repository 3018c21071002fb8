// Which bytes of a rank's buffers each step reads and writes, and which steps do so in no fixed order. Private to the verifier.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/collectives/schedule.h"
#include "sim/collectives/step_order.h"

namespace weft::coll {

class BufferUses {
 public:
  explicit BufferUses(int ranks) : uses_(static_cast<std::size_t>(ranks)) {}

  // The input is never written, so that reading it cannot clash.
  void add(Rank rank, const Chunk& chunk, Bytes bytes, bool writes, StepNumber step);

  // Two steps of one rank, one of which at least writes, that share a byte and may run in either order.
  struct Clash {
    StepNumber first = kNoStep;
    StepNumber second = kNoStep;
    Chunk at;
  };
  [[nodiscard]] std::optional<Clash> first_clash(StepOrder& order);

 private:
  struct Use {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Buffer buffer = Buffer::kOutput;
    bool writes = false;
    StepNumber step = kNoStep;
  };
  std::vector<std::vector<Use>> uses_;  // by rank
};

}  // namespace weft::coll
