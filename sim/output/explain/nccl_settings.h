// `weft explain` says this of NCCL's environment variables, one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::output {

// A line on the variable, with or without "NCCL_" and in any case; empty for what NCCL does not know.
[[nodiscard]] std::string nccl_setting_meaning(std::string_view name);
// "NCCL_ALGO" and the others.
[[nodiscard]] std::vector<std::string> nccl_setting_names();

}  // namespace weft::output
