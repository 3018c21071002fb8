// NCCL's releases as the user names them.
#pragma once

#include <string_view>

#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

// "2.28.9", "2.28.9+cuda13.0", "2.28": the newest modelled release that is not newer. ConfigError: no version, or older
// than 2.18.
[[nodiscard]] NcclVersion parse_version(std::string_view text);
[[nodiscard]] std::string_view to_string(NcclVersion version);  // "2.28"

}  // namespace weft::coll::nccl
