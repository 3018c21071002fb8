// Files and folders that are not finished, for the handler of a signal, which may neither allocate nor lock. For those who
// write them (output_file.h, output_folder.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

namespace weft::detail {

class Unfinished {
 public:
  // Where `path` was put; null: it is too long or there are too many, and a signal leaves it behind.
  static Unfinished* add(const std::string& path);
  // All of them, a folder with the files in it. Async-signal-safe.
  static void remove_all();
  void forget();

 private:
  static constexpr std::size_t kLongest = 4096;
  static constexpr std::size_t kPlaces = 16;
  static std::array<Unfinished, kPlaces>& places();

  std::atomic_flag taken_;
  std::atomic<bool> filled_ = false;
  std::array<char, kLongest> path_{};
};

}  // namespace weft::detail
