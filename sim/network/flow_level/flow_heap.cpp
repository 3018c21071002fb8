// The heap of moving flows by when they finish at their present rates.
#include <algorithm>

#include "sim/network/flow_level/flow_fabric.h"

namespace weft::net {

void FlowFabric::heap_update(std::uint32_t index, Time finish) {
  const std::uint32_t position = flows_[index].heap_position;
  if (position == kNowhere) {
    flows_[index].heap_position = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back({finish, index});
    sift_up(flows_[index].heap_position);
    return;
  }
  const bool earlier = finish < heap_[position].finish;
  heap_[position].finish = finish;
  if (earlier) {
    sift_up(position);
  } else {
    sift_down(position);
  }
}

void FlowFabric::heap_remove(std::uint32_t index) {
  const std::uint32_t position = flows_[index].heap_position;
  if (position == kNowhere) return;
  flows_[index].heap_position = kNowhere;
  const HeapEntry last = heap_.back();
  heap_.pop_back();
  if (last.index == index) return;
  place(position, last);
  sift_up(position);
  sift_down(flows_[last.index].heap_position);
}

void FlowFabric::heap_rebuild() {
  if (heap_.size() < 2) return;
  for (auto position = static_cast<std::uint32_t>((heap_.size() - 2) / 4 + 1); position-- > 0;) sift_down(position);
}

void FlowFabric::sift_up(std::uint32_t position) {
  const HeapEntry entry = heap_[position];
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / 4;
    if (!finishes_before(entry, heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, entry);
}

void FlowFabric::sift_down(std::uint32_t position) {
  const HeapEntry entry = heap_[position];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  while (true) {
    const std::uint32_t first = 4 * position + 1;
    if (first >= size) break;
    std::uint32_t best = first;
    for (std::uint32_t child = first + 1; child < std::min(first + 4, size); ++child) {
      if (finishes_before(heap_[child], heap_[best])) best = child;
    }
    if (!finishes_before(heap_[best], entry)) break;
    place(position, heap_[best]);
    position = best;
  }
  place(position, entry);
}

}  // namespace weft::net
