#include "sim/workloads/trace/writers/trace_writer.h"

#include <fmt/format.h>

#include "sim/workloads/trace/named.h"

namespace weft::work {

std::span<const TraceWriter* const> trace_writers() {
  static const std::vector<const TraceWriter*> kWriters{
#define WEFT_TRACE_WRITER(name) &trace_builtin::name,
#include "sim/workloads/trace/writers/writers.def"
  };
  return kWriters;
}

const TraceWriter& trace_writer(std::string_view name) {
  return find_named(trace_writers(), name, fmt::format("no format '{}' is written", name));
}

}  // namespace weft::work
