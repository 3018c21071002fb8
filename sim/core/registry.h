// Models are chosen by name in a configuration: a model's Registration, and the Registry of all models of one kind.
//
// A registration is a const object in the model's own .cpp file; the kind's builtin.def lists them, its builtin.cpp makes the
// registry from that list. No object registers itself: a linker drops such objects from static libraries in silence.
//
//   const Registration<Algorithm>* const kBuiltin[] = {&ring_all_reduce, &tree_all_reduce};
//   const Registry<Algorithm> algorithms{"algorithm", kBuiltin};
//
// `weft list`, `weft explain`, the error that names the choices and the configuration reference all read the registry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/model_text.h"

namespace weft {

class ParamReader;  // sim/core/config/params.h

template <class I>
struct Registration {
  std::string_view name;     // snake_case, as written in YAML
  std::string_view summary;  // one line, lower case
  std::unique_ptr<I> (*make)(ParamReader& params) = nullptr;
  ModelText model = {};                      // what it assumes, leaves out and cites
  std::string_view file = __builtin_FILE();  // that this object is written in
};

template <class I>
class Registry {
 public:
  // `kind` is the word an error uses: "algorithm", "fabric type". Two entries of one name are a bug of ours.
  Registry(std::string_view kind, std::span<const Registration<I>* const> entries)
      : kind_{kind}, entries_(entries.begin(), entries.end()) {
    std::sort(entries_.begin(), entries_.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    for (const Registration<I>* entry : entries_) {
      WEFT_CHECK(!entry->name.empty() && entry->make != nullptr);
      WEFT_CHECK(names_.empty() || names_.back() != entry->name);
      names_.emplace_back(entry->name);
    }
  }

  // nullptr where there is none; the user then gets unknown() and note().
  [[nodiscard]] const Registration<I>* find(std::string_view name) const {
    const auto at = std::lower_bound(names_.begin(), names_.end(), name);
    return at != names_.end() && *at == name ? entries_[static_cast<std::size_t>(at - names_.begin())] : nullptr;
  }

  [[nodiscard]] std::string_view kind() const { return kind_; }
  // Both in the order of names.
  [[nodiscard]] std::span<const std::string> names() const { return names_; }
  [[nodiscard]] std::span<const Registration<I>* const> entries() const { return entries_; }

  // Message and note of the diagnostic for a name that is not there.
  [[nodiscard]] std::string unknown(std::string_view name) const {
    return "unknown " + std::string{kind_} + " '" + std::string{name} + "'";
  }
  [[nodiscard]] std::string note(std::string_view name) const { return did_you_mean(name, names_, "choices"); }

 private:
  std::string_view kind_;
  std::vector<const Registration<I>*> entries_;
  std::vector<std::string> names_;
};

}  // namespace weft
