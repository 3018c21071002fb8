#include "sim/network/link_cycle.h"

#include <algorithm>
#include <cstdint>

namespace weft::net {

std::vector<std::size_t> find_cycle(const std::vector<std::size_t>& roots, const std::vector<std::vector<std::size_t>>& next) {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Frame {
    std::size_t node;
    std::size_t tried = 0;
  };
  std::vector<State> state(next.size(), State::kNew);
  for (const std::size_t root : roots) {
    if (state[root] != State::kNew) continue;
    std::vector<Frame> path{{root}};
    state[root] = State::kOpen;
    while (!path.empty()) {
      const std::size_t node = path.back().node;
      if (path.back().tried == next[node].size()) {
        state[node] = State::kDone;
        path.pop_back();
        continue;
      }
      const std::size_t to = next[node][path.back().tried++];
      if (state[to] == State::kNew) {
        state[to] = State::kOpen;
        path.push_back({to});
      } else if (state[to] == State::kOpen) {
        std::vector<std::size_t> cycle;
        for (auto at = std::ranges::find(path, to, &Frame::node); at != path.end(); ++at) cycle.push_back(at->node);
        return cycle;
      }
    }
  }
  return {};
}

}  // namespace weft::net
