#include "sim/workloads/trace/writers/trace_writer.h"

#include <fmt/format.h>

#include "sim/core/config/nearest.h"

namespace weft::work {

std::span<const TraceWriter* const> trace_writers() {
  static const std::vector<const TraceWriter*> kWriters{
#define WEFT_TRACE_WRITER(name) &trace_builtin::name,
#include "sim/workloads/trace/writers/writers.def"
  };
  return kWriters;
}

const TraceWriter& trace_writer(std::string_view name) {
  std::vector<std::string> names;
  for (const TraceWriter* writer : trace_writers()) {
    if (writer->name == name) return *writer;
    names.emplace_back(writer->name);
  }
  throw ConfigError(std::vector{Diagnostic{.where = {},
                                           .message = fmt::format("no format '{}' is written", name),
                                           .source_line = {},
                                           .note = did_you_mean(name, names, "formats")}});
}

}  // namespace weft::work
