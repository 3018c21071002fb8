// The models of the collectives layer that can be chosen by name, from builtin.def.
#pragma once

#include <memory>
#include <string_view>

#include "sim/collectives/algorithm.h"
#include "sim/core/registry.h"

namespace weft::coll {

// A namespace of their own: `ring` and `direct` are also what variables are called.
namespace builtin {
#define WEFT_ALGORITHM(name) extern const Registration<Algorithm> name;
#include "sim/collectives/builtin.def"
}  // namespace builtin

[[nodiscard]] const Registry<Algorithm>& algorithms();

// The algorithm of that name with all its parameters at their defaults. The name must be registered.
[[nodiscard]] std::unique_ptr<Algorithm> make_algorithm(std::string_view name);

}  // namespace weft::coll
