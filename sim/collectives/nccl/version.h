// NCCL's releases as the user names them.
#pragma once

#include <string>
#include <string_view>

#include "sim/collectives/nccl/release.h"

namespace weft::coll::nccl {

// "2.28.9", "2.28.9+cuda13.0"; "2.28": its last patch. The newest release whose rules were read and that is not newer than the
// one named. ConfigError: no version, or older than 2.18.
[[nodiscard]] NcclVersion parse_version(std::string_view text);
// Says which rules stand in for those of a release that has none of its own; empty where it has.
[[nodiscard]] std::string stand_in_note(std::string_view text);

[[nodiscard]] std::string to_string(NcclVersion version);  // "2.28.9"
// "2.18.3, 2.18.5, ...": the releases whose rules were read.
[[nodiscard]] std::string known_releases();

}  // namespace weft::coll::nccl
