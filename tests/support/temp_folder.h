// A folder of one test's own, removed with the object. Tests run side by side: a file under a fixed name would be
// another's too.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // mkdtemp

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace weft::test {

class TempFolder {
 public:
  explicit TempFolder(const std::string& prefix = "weft_") {
    std::string name = (std::filesystem::temp_directory_path() / (prefix + "XXXXXX")).string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr) << name;
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream{path_ / name, std::ios::binary} << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace weft::test
