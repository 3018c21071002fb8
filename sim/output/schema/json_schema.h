// JSON Schema (draft 2020-12) of YAML files and of results, for editors and for checks outside Weft.
//
//   yaml_schema("scenario")           // of what explore.h finds
//   result_schema("run", {json, ...})  // of examples
//
// A schema knows keys, types, choices and what must be there. Ranges, names of devices and what two keys mean together are told
// by `weft check` alone.
#pragma once

#include <string>
#include <vector>

namespace weft::output {

[[nodiscard]] std::string yaml_schema(const std::string& kind);

// The schema of results like these. A key that all of them have is required; more keys may come with a later version.
[[nodiscard]] std::string result_schema(const std::string& title, const std::vector<std::string>& examples);

// Whether a schema that was written to a file is what this program would write.
[[nodiscard]] bool is_schema_of_this_version(const std::string& text);

}  // namespace weft::output
