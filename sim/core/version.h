// Which Weft this is: every result file opens with it, so that a number can be traced to the code that computed it.
//
// The commit is the one that was built. Only version.cpp depends on it: a new commit recompiles that file and links again.
#pragma once

#include <string_view>

namespace weft {

// "0.2.0", as in CMakeLists.txt.
std::string_view version();

// The abbreviated commit, "1a2b3c4d5e"; with "-dirty" behind it where tracked files differed from it when this was built;
// "unknown" where the sources did not come from a git checkout.
std::string_view commit();

}  // namespace weft
