// Writes JSON objects on one line, members in the order given. The runner has no JSON library to lean on.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::measure {

[[nodiscard]] std::string json_string(std::string_view text);
// The fewest digits that read back the same, after rounding to four decimals (a tenth of a nanosecond in microseconds).
// Numbers that are not finite become null.
[[nodiscard]] std::string json_number(double value);

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text) { return add_raw(key, json_string(text)); }
  JsonObject& add(std::string_view key, const std::string& text) { return add(key, std::string_view{text}); }
  JsonObject& add(std::string_view key, const char* text) { return add(key, std::string_view{text}); }
  JsonObject& add(std::string_view key, double value) { return add_raw(key, json_number(value)); }
  JsonObject& add(std::string_view key, bool truth) { return add_raw(key, truth ? "true" : "false"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonObject& add(std::string_view key, T value) {
    return add_raw(key, std::to_string(value));
  }
  JsonObject& add(std::string_view key, const std::vector<int>& values);
  JsonObject& add(std::string_view key, const std::vector<double>& values);
  JsonObject& add(std::string_view key, const std::vector<std::pair<int, int>>& pairs);
  JsonObject& add(std::string_view key, const JsonObject& object) { return add_raw(key, object.text()); }
  // `json` is one JSON value.
  JsonObject& add_raw(std::string_view key, std::string_view json);

  // The members without the braces, to go on elsewhere; the whole object.
  [[nodiscard]] const std::string& members() const { return members_; }
  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

// `[a, b]` of values that are JSON already.
[[nodiscard]] std::string json_array(const std::vector<std::string>& values);

}  // namespace weft::measure
