#include "sim/core/version.h"

#include "sim/core/version_strings.h"  // made at build time, see cmake/WeftVersion.cmake

namespace weft {

std::string_view version() { return kVersionString; }

std::string_view commit() { return kCommitString; }

}  // namespace weft
