// Names written as ranges: "gpu0..3", or "gpu0..gpu3", is gpu0, gpu1, gpu2, gpu3; "n0..1.nic0..1" is n0.nic0, n0.nic1, n1.nic0,
// n1.nic1 (the last range counts fastest).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::net {

struct NameRange {
  std::vector<std::string> names;
  std::string error;  // empty: fine; else what is wrong, to follow the path of the value
};

// At most `limit` names; the count is checked before any is made.
[[nodiscard]] NameRange expand_names(std::string_view text, std::size_t limit);

}  // namespace weft::net
