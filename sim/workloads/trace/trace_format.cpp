#include "sim/workloads/trace/trace_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/workloads/trace/input_stream.h"
#include "sim/workloads/trace/named.h"

namespace weft::work {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{1} << 16;

std::string known_formats() {
  std::string text;
  for (const TraceFormat* format : trace_formats()) {
    text += fmt::format("{}'{}' ({})", text.empty() ? "formats: " : ", ", format->name, format->summary);
  }
  return text;
}

Diagnostic about(const std::filesystem::path& file, std::string message, std::string note) {
  return {.where = {.file = file.string()}, .message = std::move(message), .source_line = {}, .note = std::move(note)};
}

// The format of one file; null where none fits.
const TraceFormat* recognised(const std::filesystem::path& file) {
  const std::string head = read_head(file, kHeadBytes);
  const auto formats = trace_formats();
  const auto found = std::ranges::find_if(formats, [&](const TraceFormat* format) { return format->recognises(file, head); });
  return found == formats.end() ? nullptr : *found;
}

// What a user may mean by a folder: all regular files in it but hidden ones, by name.
void add_folder(const std::filesystem::path& folder, std::vector<std::filesystem::path>& files) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.')) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  if (found.empty()) throw ConfigError(std::vector{about(folder, "no files in this folder", {})});
  files.insert(files.end(), found.begin(), found.end());
}

std::vector<std::filesystem::path> expanded(std::span<const std::filesystem::path> files_and_folders) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& each : files_and_folders) {
    std::error_code ignored;
    if (std::filesystem::is_directory(each, ignored)) {
      add_folder(each, files);
    } else {
      files.push_back(each);
    }
  }
  if (files.empty()) throw ConfigError("no trace files were given");
  return files;
}

const TraceFormat& common_format(std::span<const std::filesystem::path> files) {
  const TraceFormat* common = nullptr;
  std::vector<Diagnostic> errors;
  for (const std::filesystem::path& file : files) {
    const TraceFormat* format = recognised(file);
    if (format == nullptr) {
      errors.push_back(about(file, "not a trace or workload file of any known format", known_formats()));
    } else if (common == nullptr || format->along_with == common->name) {
      common = format;
    } else if (format != common && common->along_with != format->name) {
      errors.push_back(about(file,
                             fmt::format("is of format '{}', and '{}' is of '{}': traces of one format at a time", format->name,
                                         files.front().string(), common->name),
                             {}));
    }
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return *common;
}

}  // namespace

std::span<const TraceFormat* const> trace_formats() {
  static const std::vector<const TraceFormat*> kFormats{
#define WEFT_TRACE_FORMAT(name) &trace_builtin::name,
#include "sim/workloads/trace/formats.def"
  };
  return kFormats;
}

const TraceFormat& trace_format(std::string_view name) {
  return find_named(trace_formats(), name, fmt::format("no trace format '{}'", name));
}

Trace read_trace(std::span<const std::filesystem::path> files_and_folders, const TraceReadOptions& options) {
  const std::vector<std::filesystem::path> files = expanded(files_and_folders);
  const TraceFormat& format = options.format.empty() ? common_format(files) : trace_format(options.format);
  Trace trace = format.read(files, options);
  trace.format = format.name;
  return trace;
}

}  // namespace weft::work
