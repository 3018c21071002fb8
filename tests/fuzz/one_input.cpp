#include "tests/fuzz/one_input.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/trace/trace_format.h"
#include "tests/fuzz/targets.h"

namespace weft::fuzz {
namespace {

constexpr std::string_view kNextFile = "\n%%%%\n";
constexpr std::size_t kMostFiles = 4;

// In memory where that is possible: databases wait for their disk at every step.
std::filesystem::path folder_for_scratch() {
  constexpr const char* kInMemory = "/dev/shm";
  return ::access(kInMemory, W_OK) == 0 ? kInMemory : std::filesystem::temp_directory_path();
}

struct Folder {
  Folder() : path{folder_for_scratch() / ("weft_fuzz_" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

void write(const std::filesystem::path& file, std::string_view content) { std::ofstream{file, std::ios::binary} << content; }

void read_trace_input(const work::TraceFormat& reader, std::string_view input, const std::filesystem::path& folder) {
  const std::string_view head = input.substr(0, 4096);
  std::vector<std::filesystem::path> files;
  while (files.size() < kMostFiles) {
    const std::size_t end = input.find(kNextFile);
    const bool is_json = input.starts_with('{');
    files.push_back(folder / ("t." + std::to_string(files.size()) + (is_json ? ".json" : ".et")));
    write(files.back(), input.substr(0, end));
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + kNextFile.size());
  }
  work::TraceReadOptions options;
  options.max_bytes = std::uint64_t{16} << 20;
  options.max_operations = 100'000;
  options.max_ranks = 1'024;
  static_cast<void>(reader.recognises(files.front(), head));
  static_cast<void>(reader.read(files, options));
}

}  // namespace

std::vector<std::string_view> target_names() {
  std::vector<std::string_view> names;
  for (const Target& target : targets()) names.push_back(target.name);
  for (const work::TraceFormat* format : work::trace_formats()) names.push_back(format->name);
  return names;
}

Outcome read_input(std::string_view name, std::string_view input) {
  static const Folder folder;
  const auto target = std::ranges::find(targets(), name, &Target::name);
  try {
    if (target == targets().end()) {
      read_trace_input(work::trace_format(name), input, folder.path);
    } else {
      const std::filesystem::path file = folder.path / target->file;
      write(file, input);
      target->read(file);
    }
  } catch (const ConfigError&) {
    return Outcome::kRefused;
  }
  return Outcome::kRead;
}

}  // namespace weft::fuzz
