// A point to measure: a kind and named parameters. Its text, `gemm m=128 n=4096 k=4096 type=bf16`, names it in the file, tells
// a worker what to do, and tells --resume what is done.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::measure {

// --full holds every point of --quick; those of --fine are in neither.
enum class PointSet : std::uint8_t { kQuick, kFull, kFine };
[[nodiscard]] const char* to_string(PointSet set);

struct Point {
  std::string kind;
  std::vector<std::pair<std::string, std::string>> parameters;
  PointSet set = PointSet::kFull;  // the smallest one that holds it

  Point& with(std::string_view key, std::string_view value);
  Point& with(std::string_view key, const char* value) { return with(key, std::string_view{value}); }
  Point& with(std::string_view key, std::int64_t value) { return with(key, std::string_view{std::to_string(value)}); }

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string text_of(std::string_view key, std::string_view otherwise = {}) const;
  // 0 or `otherwise` for what is absent or no number.
  [[nodiscard]] std::int64_t number_of(std::string_view key, std::int64_t otherwise = 0) const;

  [[nodiscard]] std::string id() const;
  [[nodiscard]] static Point parse(std::string_view id);
};

}  // namespace weft::measure
