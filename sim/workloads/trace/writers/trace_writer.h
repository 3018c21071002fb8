// Formats that Programs are written to, by name. A writer is one file in writers/, one line in writers.def and one test.
//
//   const WrittenTrace written = trace_writer("goal").to_file(trace, out);
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/model_text.h"
#include "sim/workloads/trace/trace.h"

namespace weft::work {

struct WrittenTrace {
  std::size_t operations = 0;  // of all ranks' programs, those that are alike once
  std::vector<Diagnostic> findings = {};
};

struct TraceWriter {
  std::string_view name;     // snake_case, as `weft trace convert --to` says it
  std::string_view summary;  // one line, lower case
  std::string_view written;  // what a user has then: "Chakra execution traces"
  // One of the two: into a folder that is made, its files named after `stem`; or a file.
  WrittenTrace (*to_folder)(const Trace& trace, const std::filesystem::path& folder, const std::string& stem) = nullptr;
  WrittenTrace (*to_file)(const Trace& trace, std::ostream& out) = nullptr;
  ModelText model = {};                      // what is lost on the way
  std::string_view file = __builtin_FILE();  // that this object is written in
};

[[nodiscard]] std::span<const TraceWriter* const> trace_writers();
// ConfigError, with the nearest name, in place of null.
[[nodiscard]] const TraceWriter& trace_writer(std::string_view name);

// The writers, by the name of their objects.
namespace trace_builtin {
#define WEFT_TRACE_WRITER(name) extern const TraceWriter name;
#include "sim/workloads/trace/writers/writers.def"
}  // namespace trace_builtin

}  // namespace weft::work
