#include "sim/network/fidelity.h"

#include <algorithm>

namespace weft::net {

const std::vector<std::string>& fidelity_names() {
  static const std::vector<std::string> names{"flow", "packet", "hybrid"};
  return names;
}

std::string_view to_string(Fidelity fidelity) { return fidelity_names()[static_cast<std::size_t>(fidelity)]; }

std::optional<Fidelity> fidelity_from(std::string_view name) {
  const std::vector<std::string>& names = fidelity_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Fidelity>(found - names.begin());
}

}  // namespace weft::net
