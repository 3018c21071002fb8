// What Weft's writer adds to Chakra nodes beside the attributes that others read, so that a Program comes back as it was.
//
//   metadata   "weft_streams": texts, names of the streams     "weft_resident": parameters, gradients, optimizer in bytes
//   node       "weft": the numbers of kFields                  "weft_waits": operations before it; ids are the operations'
//   places
//              "weft_memory": changes of resident bytes, in order
//
// Others need none of it: data_deps say the same, streams' order included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/workloads/program.h"
#include "sim/workloads/trace/chakra/chakra_file.h"

namespace weft::work::chakra {

[[nodiscard]] std::vector<std::int64_t> numbers_of(const Operation& op);
// The operation without name, waits and slot; a text that says what is wrong where the numbers make none.
[[nodiscard]] std::string operation_from(const std::vector<std::int64_t>& numbers, std::size_t streams, Operation& op);

}  // namespace weft::work::chakra
