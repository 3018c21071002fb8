// Logs of nccl-tests among the test data, and texts read as such a log.
#pragma once

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "sim/measured/readers/nccl_tests_log.h"
#include "sim/network/import/source_text.h"

namespace weft::measured {

inline std::string read_file(const std::filesystem::path& path) { return net::read_text_file(path.string()); }

inline std::vector<std::filesystem::path> files_of(const std::string& folder, const std::string& extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(WEFT_TEST_DATA) / folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline NcclTestsLog parse(const std::string& text, const std::string& name = "test.log") {
  std::istringstream input(text);
  return read_nccl_tests_log(input, name);
}

}  // namespace weft::measured
