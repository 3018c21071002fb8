#include "json_line.h"

#include <array>
#include <charconv>
#include <cmath>

namespace weft::measure {

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (code < 0x20) {
      out += "\\u00";
      out += kHex[code >> 4U];
      out += kHex[code & 0xFU];
    } else {
      out += letter;
    }
  }
  return out + '"';
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  const double rounded = std::abs(value) < 1e11 ? std::round(value * 1e4) / 1e4 : value;
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), rounded == 0 ? 0.0 : rounded);
  return {digits.data(), end.ptr};
}

std::string json_array(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ", ";
    out += value;
  }
  return out + "]";
}

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
  if (!members_.empty()) members_ += ", ";
  members_ += json_string(key);
  members_ += ": ";
  members_ += json;
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<int>& values) {
  std::vector<std::string> texts;
  for (const int value : values) texts.push_back(std::to_string(value));
  return add_raw(key, json_array(texts));
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(json_number(value));
  return add_raw(key, json_array(texts));
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<std::pair<int, int>>& pairs) {
  std::vector<std::string> texts;
  for (const auto& [first, second] : pairs) {
    texts.push_back(json_array({std::to_string(first), std::to_string(second)}));
  }
  return add_raw(key, json_array(texts));
}

}  // namespace weft::measure
