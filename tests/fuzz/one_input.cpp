#include "tests/fuzz/one_input.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::fuzz {
namespace {

constexpr std::string_view kNextFile = "\n%%%%\n";
constexpr std::size_t kMostFiles = 4;

struct Folder {
  Folder() : path{std::filesystem::temp_directory_path() / ("weft_fuzz_" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

}  // namespace

Outcome read_input(std::string_view format, std::string_view input) {
  static const Folder folder;
  std::vector<std::filesystem::path> files;
  while (files.size() < kMostFiles) {
    const std::size_t end = input.find(kNextFile);
    const bool is_json = input.starts_with('{');
    files.push_back(folder.path / ("t." + std::to_string(files.size()) + (is_json ? ".json" : ".et")));
    std::ofstream{files.back(), std::ios::binary} << input.substr(0, end);
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + kNextFile.size());
  }
  work::TraceReadOptions options;
  options.max_bytes = std::uint64_t{16} << 20;
  options.max_operations = 100'000;
  options.max_ranks = 1'024;
  const work::TraceFormat& reader = work::trace_format(format);
  try {
    static_cast<void>(reader.recognises(files.front(), input.substr(0, 4096)));
    static_cast<void>(reader.read(files, options));
  } catch (const ConfigError&) {
    return Outcome::kRefused;
  }
  return Outcome::kRead;
}

}  // namespace weft::fuzz
