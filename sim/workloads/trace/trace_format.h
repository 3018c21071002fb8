// Formats of traces and workload files, by name. A format is one file in formats/, one line in formats.def and one test.
//
//   const Trace trace = read_trace(files, {});            // finds the format, or options.format names it
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/model_text.h"
#include "sim/workloads/trace/trace.h"

namespace weft::work {

struct TraceReadOptions {
  std::string format = {};  // empty: recognised from the files
  bool mix_jobs = false;    // takes files together that are not of one job
  // Refused beyond these, before memory goes.
  std::uint64_t max_bytes = std::uint64_t{64} << 30;  // of one file, unpacked
  std::uint64_t max_operations = 500'000'000;         // of all ranks
  std::uint32_t max_ranks = 1'048'576;
};

struct TraceFormat {
  std::string_view name;     // snake_case: "kineto", "chakra", "goal"
  std::string_view summary;  // one line, lower case
  // Whether a file looks like one: its name, and its first bytes (up to 64 KiB, unpacked).
  bool (*recognises)(const std::filesystem::path& file, std::string_view head) = nullptr;
  // Files in the order given; a format of one file per rank says in its own way which rank a file is.
  // ConfigError, located, for whatever is wrong with them.
  Trace (*read)(std::span<const std::filesystem::path> files, const TraceReadOptions& options) = nullptr;
  // Another format whose files may be given along with its own, and which it reads with them; empty: none.
  std::string_view along_with = {};
  ModelText model = {};                      // what it concludes from the files, and what it leaves out
  std::string_view file = __builtin_FILE();  // that this object is written in
};

[[nodiscard]] std::span<const TraceFormat* const> trace_formats();
// ConfigError, with the nearest name, in place of null.
[[nodiscard]] const TraceFormat& trace_format(std::string_view name);
// Folders stand for the traces in them, by name. ConfigError where files of two formats are mixed or none fits.
[[nodiscard]] Trace read_trace(std::span<const std::filesystem::path> files_and_folders, const TraceReadOptions& options);

// The formats, by the name of their objects.
namespace trace_builtin {
#define WEFT_TRACE_FORMAT(name) extern const TraceFormat name;
#include "sim/workloads/trace/formats.def"
}  // namespace trace_builtin

}  // namespace weft::work
