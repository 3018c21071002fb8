#include "point.h"

#include <algorithm>
#include <charconv>

namespace weft::measure {

const char* to_string(PointSet set) {
  switch (set) {
    case PointSet::kQuick:
      return "quick";
    case PointSet::kFull:
      return "full";
    case PointSet::kFine:
      return "fine";
  }
  return "";
}

Point& Point::with(std::string_view key, std::string_view value) {
  parameters.emplace_back(key, value);
  return *this;
}

bool Point::has(std::string_view key) const {
  return std::any_of(parameters.begin(), parameters.end(), [key](const auto& entry) { return entry.first == key; });
}

std::string Point::text_of(std::string_view key, std::string_view otherwise) const {
  for (const auto& [name, value] : parameters) {
    if (name == key) return value;
  }
  return std::string{otherwise};
}

std::int64_t Point::number_of(std::string_view key, std::int64_t otherwise) const {
  const std::string text = text_of(key);
  std::int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string Point::id() const {
  std::string text = kind;
  for (const auto& [name, value] : parameters) text.append(" ").append(name).append("=").append(value);
  return text;
}

Point Point::parse(std::string_view id) {
  Point point;
  while (!id.empty()) {
    const std::string_view word = id.substr(0, id.find(' '));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      point.kind = word;
    } else {
      point.with(word.substr(0, equals), word.substr(equals + 1));
    }
    id.remove_prefix(std::min(word.size() + 1, id.size()));
  }
  return point;
}

}  // namespace weft::measure
