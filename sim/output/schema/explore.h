// Finds what files of every kind may say, by reading: the shipped files, and then copies of them with one change each, such as
// another name where one of several is chosen, or a section that no shipped file has. Nothing is run.
#pragma once

#include <string>
#include <vector>

#include "sim/output/schema/key_shapes.h"

namespace weft::output {

// Kinds of YAML files, as check_file.h has them, each after those that are parts of it; and lists of measured logs.
[[nodiscard]] const std::vector<std::string>& schema_kinds();

// The shapes of a kind and of all that may stand in its files. ConfigError: there are no shipped files.
[[nodiscard]] KeyShapes explore(const std::string& kind);
// Kinds that may stand in files of this one, itself included.
[[nodiscard]] std::vector<std::string> kinds_within(const std::string& kind);

}  // namespace weft::output
