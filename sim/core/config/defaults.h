// Makes a registered model with every parameter at its default: one that a name alone has chosen.
#pragma once

#include <memory>

#include "sim/core/config/params.h"
#include "sim/core/registry.h"

namespace weft {

template <class I>
[[nodiscard]] std::unique_ptr<I> make_with_defaults(const Registration<I>& entry) {
  Diagnostics diagnostics;
  ParamReader defaults{ConfigNode::parse("{}", "defaults"), diagnostics};
  std::unique_ptr<I> made = entry.make(defaults);
  defaults.finish();
  diagnostics.throw_if_any();
  return made;
}

}  // namespace weft
