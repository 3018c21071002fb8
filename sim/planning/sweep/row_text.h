// A row of results as the text of a message, and back.
#pragma once

#include <string>
#include <string_view>

#include "sim/planning/sweep/point_run.h"

namespace weft::plan {

[[nodiscard]] std::string to_message(const PointRow& row);
[[nodiscard]] PointRow row_of_message(std::string_view text);  // InternalError for what to_message has not made

}  // namespace weft::plan
