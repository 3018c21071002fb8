// The catalog lists what users choose by name: registries of all layers, shipped configurations, parameters of profiles. `weft
// list` prints it. A registered model also says what it assumes, which `weft explain` prints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/model_text.h"
#include "sim/core/profile.h"

namespace weft::scenario {

struct CatalogKind {
  std::string_view name;  // "link_types"
  std::string_view what;  // "types of links: `type` of a link"
};

struct CatalogEntry {
  std::string name;
  std::string summary;  // one line
};

struct RegisteredModel {
  std::string_view kind;  // of the catalog
  std::string_view name;
  std::string_view summary;
  const ModelText* text;
  std::string_view file;  // that it is registered in, relative to sim/
};

// Every model that is registered with its text, by kind and name.
[[nodiscard]] std::vector<RegisteredModel> registered_models();

// In the order in which they are listed.
[[nodiscard]] std::span<const CatalogKind> catalog_kinds();

// The kind's own name for "link_types", "link_type" or "Link_Types"; ConfigError with the nearest for anything else.
[[nodiscard]] std::string_view catalog_kind(std::string_view name);

// Entries in byte order of their names; `kind` as catalog_kind() gives it. Reads the shipped files where the kind is one of
// files.
[[nodiscard]] std::vector<CatalogEntry> catalog(std::string_view kind);

// The profile of that file, or the shipped one of that name; ConfigError with the nearest name.
[[nodiscard]] Profile find_profile(const std::string& file_or_name);

}  // namespace weft::scenario
