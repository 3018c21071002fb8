// Makes a registered model with every parameter at its default: one that a name alone has chosen.
#pragma once

#include <memory>

#include "sim/core/config/params.h"
#include "sim/core/registry.h"

namespace weft {

template <class I>
[[nodiscard]] std::unique_ptr<I> make_with_defaults(const Registration<I>& entry) {
  Diagnostics diagnostics;
  static const ConfigNode kNothing = ConfigNode::parse("{}", "defaults");
  ParamReader defaults{kNothing, diagnostics};
  std::unique_ptr<I> made = entry.make(defaults);
  defaults.finish();
  diagnostics.throw_if_any();
  return made;
}

}  // namespace weft
