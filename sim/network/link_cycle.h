// Finds a cycle in a graph whose nodes are numbered from 0: of links that wait for each other.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::net {

// The nodes of the first cycle met from `roots` on, depth first, in order; empty: there is none. `next`: by node.
[[nodiscard]] std::vector<std::size_t> find_cycle(const std::vector<std::size_t>& roots,
                                                  const std::vector<std::vector<std::size_t>>& next);

}  // namespace weft::net
