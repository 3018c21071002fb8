// Looking up an entry of a registry of pointers by its name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/config/nearest.h"
#include "sim/core/error.h"

namespace weft::work {

// ConfigError with `message` and the nearest names, or all of them, where there is none.
template <class T>
const T& find_named(std::span<const T* const> entries, std::string_view name, std::string message) {
  std::vector<std::string> names;
  for (const T* entry : entries) {
    if (entry->name == name) return *entry;
    names.emplace_back(entry->name);
  }
  throw ConfigError(std::vector{
      Diagnostic{.where = {}, .message = std::move(message), .source_line = {}, .note = did_you_mean(name, names, "formats")}});
}

}  // namespace weft::work
