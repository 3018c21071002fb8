// Text that is printed while a CapturedOutput (output_file.h) is there goes to it.
#pragma once

#include <string_view>

namespace weft {

// False: nothing is captured, and standard output is the place.
bool capture_text(std::string_view printed);

}  // namespace weft
