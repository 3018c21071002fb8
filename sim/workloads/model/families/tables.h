// Declares what families.def lists.
#pragma once

#include <span>

#include "sim/workloads/model/families/family.h"

namespace weft::work {

#define WEFT_MODEL_FAMILIES(name) [[nodiscard]] std::span<const Family> name();
#include "sim/workloads/model/families/families.def"

}  // namespace weft::work
