// The largest flow from one node of a graph to another (Dinic, 1970). Whole capacities, so that the answer is exact.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::net {

class MaxFlow {
 public:
  explicit MaxFlow(std::uint32_t nodes) : edges_of_(nodes) {}
  // A cable, with what it carries each way.
  void add(std::uint32_t a, std::uint32_t b, std::int64_t capacity, std::int64_t back);
  // Once.
  [[nodiscard]] std::int64_t between(std::uint32_t source, std::uint32_t sink);

 private:
  struct Edge {
    std::uint32_t to = 0;
    std::int64_t left = 0;
  };
  [[nodiscard]] bool find_levels(std::uint32_t source, std::uint32_t sink);
  [[nodiscard]] std::int64_t push_one(std::uint32_t source, std::uint32_t sink);

  std::vector<Edge> edges_;  // of a cable one after the other
  std::vector<std::vector<std::uint32_t>> edges_of_;
  std::vector<std::int32_t> level_;
  std::vector<std::size_t> tried_;
};

}  // namespace weft::net
