// Members of a JSON object that a measuring program wrote, by name, with errors that say where.
//
// Unknown members are ignored: programs add to their output. What is there must be of the right kind.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"
#include "sim/measured/readers/point_log.h"

namespace weft::measured::detail {

using Json = nlohmann::json;

// Programs that write "kib" and "mib" mean these factors.
inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;

inline constexpr int kMostKib = 1 << 30;  // 1 TiB, more than any GPU has
inline constexpr int kMostMib = 1 << 20;
inline constexpr int kMostElements = 1 << 30;  // along one dimension of a kernel
inline constexpr int kMostCalls = 100'000;     // in a row, of a measured point

class JsonRecord {
 public:
  // `object` must outlive this. `line`: 0 where the file is one object.
  JsonRecord(const Json& object, const std::string& file, int line, std::string path = {});

  [[noreturn]] void fail(const std::string& message) const;
  [[nodiscard]] bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
  // Finite; `otherwise` where it is absent.
  [[nodiscard]] double number(const char* key, double otherwise) const;
  [[nodiscard]] double required_time(const char* key) const;  // above 0
  [[nodiscard]] std::int64_t whole(const char* key, std::int64_t otherwise) const;
  // From `least` to `most`, which an int holds.
  [[nodiscard]] int whole_within(const char* key, int otherwise, int least, int most) const;
  // Elements along one dimension of a kernel: two of them multiply without loss.
  [[nodiscard]] std::int64_t dimension(const char* key, int otherwise = 0) const {
    return whole_within(key, otherwise, 0, kMostElements);
  }
  [[nodiscard]] Bytes bytes(const char* key) const;  // 0 or more
  [[nodiscard]] bool flag(const char* key, bool otherwise) const;
  [[nodiscard]] std::string text(const char* key, std::string_view otherwise = {}) const;
  [[nodiscard]] std::map<std::string, std::string> texts(const char* key) const;
  [[nodiscard]] JsonRecord object(const char* key) const;
  [[nodiscard]] std::vector<JsonRecord> objects(const char* key) const;  // of an array
  [[nodiscard]] std::vector<double> numbers(const char* key) const;
  [[nodiscard]] std::vector<std::vector<int>> lists_of_ints(const char* key) const;
  [[nodiscard]] const Json& json() const { return object_; }
  [[nodiscard]] int line() const { return line_; }

 private:
  const Json& object_;
  const std::string& file_;
  int line_;
  std::string path_;
};

// The whole file as one value; ConfigError, located, where it is none.
[[nodiscard]] Json parse_json_file(std::istream& input, const std::string& file);

}  // namespace weft::measured::detail
