// Whether the parts of an MSCCL program fit each other: connections, message counts, dependencies, buffers. Private to the
// reader.
#pragma once

#include <vector>

#include "sim/collectives/msccl/program.h"
#include "sim/core/error.h"
#include "sim/network/import/source_text.h"

namespace weft::coll::msccl {

// Every error, located in `source`, from which `program` was read. Ids and peers are known to exist.
[[nodiscard]] std::vector<Diagnostic> check_links(const Program& program, const net::SourceText& source);

}  // namespace weft::coll::msccl
