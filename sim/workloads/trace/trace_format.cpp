#include "sim/workloads/trace/trace_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/workloads/trace/input_stream.h"
#include "sim/workloads/trace/named.h"

namespace weft::work {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{1} << 16;
constexpr std::size_t kMostNamed = 4;

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

// Files that people take for traces and are not read, by what stands near their beginning.
struct OtherFile {
  std::string_view words;
  std::string_view name;
  std::string_view instead;
};
constexpr OtherFile kOtherFiles[] = {
    {"comm_type,comm_group", "a workload of AICB for its own runner",
     "AICB's workloads for SimAI, tables of layers in text, are read (workload/simAI)"},
    {"train_iter:", "AICB's times of computation", "AICB's workloads for SimAI, tables of layers in text, are read"},
    {"\"scheduling-policy\"", "ASTRA-sim's configuration of a system", "its workloads are read: folders of .et files, or text"},
    {"\"npus_count\"", "ASTRA-sim's configuration of a network", "its workloads are read: folders of .et files, or text"},
    {"<algo", "an algorithm in MSCCL's XML", "weft collective --msccl runs it"},
    {"MPI_Init:", "a trace of liballprof", "ATLAHS' Schedgen makes GOAL text of it, which is read"}};

// "PyTorch's execution trace of schema 1.0.1"; empty where the head is of none that old.
std::string old_execution_trace(std::string_view head) {
  const std::size_t key = head.find("\"schema\"");
  if (key == std::string_view::npos || head.find("\"nodes\"") == std::string_view::npos) return {};
  const std::size_t open = head.find('"', key + 8);
  const std::size_t close = open == std::string_view::npos ? open : head.find('"', open + 1);
  if (close == std::string_view::npos || close - open > 40) return {};
  return fmt::format("PyTorch's execution trace of schema {}", head.substr(open + 1, close - open - 1));
}

Diagnostic unknown_file(const std::filesystem::path& file) {
  const std::string head = read_head(file, kHeadBytes);
  if (head.empty()) return about(file, "an empty file", {});
  if (const std::string ending = file.extension().string(); ending == ".nsys-rep" || ending == ".qdrep") {
    return about(file, "a report of Nsight Systems, which only its own program reads",
                 fmt::format("'nsys export --type sqlite {}' makes a file of it that is read", file.string()));
  }
  if (const std::string old = old_execution_trace(head); !old.empty()) {
    return about(file, fmt::format("{}, which is not read", old),
                 "from schema 1.0.2-chakra.0.0.4 on they are read, each with the profile of its rank; PyTorch 2.2 and later "
                 "write those");
  }
  for (const OtherFile& other : kOtherFiles) {
    if (head.find(other.words) != std::string::npos)
      return about(file, fmt::format("{}, which is no trace", other.name), std::string{other.instead});
  }
  return about(file, "not a trace or workload file of any known format", known_formats());
}

// The format of one file; null where none fits.
const TraceFormat* recognised(const std::filesystem::path& file) {
  const std::string head = read_head(file, kHeadBytes);
  const auto formats = trace_formats();
  const auto found = std::ranges::find_if(formats, [&](const TraceFormat* format) { return format->recognises(file, head); });
  return found == formats.end() ? nullptr : *found;
}

// A user may mean this by a folder: the traces among its regular files, but hidden ones, by name. Others are said.
void add_folder(const std::filesystem::path& folder, std::vector<std::filesystem::path>& files,
                std::vector<Diagnostic>& findings) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.')) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  if (found.empty()) throw ConfigError(std::vector{about(folder, "no files in this folder", {})});
  std::vector<std::filesystem::path> others;
  const auto is_other = [](const std::filesystem::path& file) { return recognised(file) == nullptr; };
  std::ranges::copy_if(found, std::back_inserter(others), is_other);
  if (!others.empty() && others.size() < found.size()) {
    std::erase_if(found, [&](const std::filesystem::path& file) { return std::ranges::find(others, file) != others.end(); });
    std::string names;
    for (std::size_t i = 0; i < std::min(others.size(), kMostNamed); ++i)
      names += fmt::format("{}'{}'", i == 0 ? "" : ", ", others[i].filename().string());
    if (others.size() > kMostNamed) names += fmt::format(" and {} more", others.size() - kMostNamed);
    findings.push_back(about(folder, fmt::format("files that are no traces are passed over: {}", names), {}));
  }
  files.insert(files.end(), found.begin(), found.end());
}

std::vector<std::filesystem::path> expanded(std::span<const std::filesystem::path> files_and_folders,
                                            std::vector<Diagnostic>& findings) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& each : files_and_folders) {
    std::error_code ignored;
    if (std::filesystem::is_directory(each, ignored)) {
      add_folder(each, files, findings);
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
      errors.push_back(unknown_file(file));
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
  std::vector<Diagnostic> passed_over;
  const std::vector<std::filesystem::path> files = expanded(files_and_folders, passed_over);
  const TraceFormat& format = options.format.empty() ? common_format(files) : trace_format(options.format);
  Trace trace = format.read(files, options);
  trace.format = format.name;
  trace.findings.insert(trace.findings.begin(), passed_over.begin(), passed_over.end());
  return trace;
}

}  // namespace weft::work
