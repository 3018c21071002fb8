// JSON that others wrote, as a tree of nlohmann's. What walks or frees such a tree calls itself a level down, so that deep
// nesting would end the program; no tool nests deeply.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace weft::work {

inline constexpr int kMostJsonLevels = 64;

// is_discarded(): no JSON, with a number that no double holds, or nested deeper.
template <class Json = nlohmann::json>
[[nodiscard]] Json shallow_json(std::string_view text, int most_levels = kMostJsonLevels) {
  bool is_deep = false;
  const auto look = [&](int depth, typename Json::parse_event_t, Json&) {
    is_deep |= depth > most_levels;
    return !is_deep;
  };
  Json tree = Json::parse(text.begin(), text.end(), look, false);
  return is_deep ? Json(Json::value_t::discarded) : tree;
}

}  // namespace weft::work
