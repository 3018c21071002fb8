// Typed reading of a map of a configuration file: what is asked for is checked, what nobody asked for is an error, and all
// errors of a file are collected and thrown at once.
//
//   Diagnostics diagnostics;
//   ParamReader link{file, diagnostics};                               // file is a ConfigNode
//   const auto type = link.choice("type", {"ethernet", "infiniband"}, "ethernet");
//   const auto rate = link.required<Bandwidth>("rate", positive);
//   const auto latency = link.optional<Duration>("latency", 500_ns);
//   const auto mtu = link.optional<Bytes>("mtu", 4_KiB, between(64_B, 64_KiB));
//   link.finish();                                                     // leftover keys are errors
//   diagnostics.throw_if_any();                                        // one ConfigError with all of them
//
// After an error the default is returned (a value-initialised T where there is none), so that reading goes on; do not use what
// was read before throw_if_any(). A reader refers to its Diagnostics, which must outlive it. A reader that is dropped without
// finish() while no error was found is a bug of ours: throw_if_any() says so.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/units.h"

namespace weft {

// Errors and warnings in the making.
class Diagnostics {
 public:
  void error(Diagnostic diagnostic) { errors_.push_back(std::move(diagnostic)); }
  void warning(Diagnostic diagnostic) { warnings_.push_back(std::move(diagnostic)); }
  void absorb(const ConfigError& error);  // for code that throws on its own, such as load_reference
  void forgotten(std::string path) { forgotten_.push_back(std::move(path)); }

  [[nodiscard]] bool has_errors() const { return !errors_.empty(); }
  [[nodiscard]] const std::vector<Diagnostic>& errors() const { return errors_; }
  [[nodiscard]] const std::vector<Diagnostic>& warnings() const { return warnings_; }

  // Throws ConfigError with every error, ordered by place within each file, files in the order they came up.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
  std::vector<std::string> forgotten_;
};

// The values a parameter may take. Made by at_least(), at_most(), between() and positive; Duration, Bytes, Bandwidth and Ratio
// are at least 0 unless a range says otherwise.
template <class T>
struct Range {
  std::optional<T> min;
  std::optional<T> max;
  bool above_min = false;  // min itself is refused
};

namespace detail {
template <class U>
struct RangeMaker {
  std::optional<U> min, max;
  template <class T>
  constexpr operator Range<T>() const {  // NOLINT: at_least(1) serves an int64 and a double parameter alike
    Range<T> range;
    if (min) range.min = static_cast<T>(*min);
    if (max) range.max = static_cast<T>(*max);
    return range;
  }
};
struct Positive {
  template <class T>
  constexpr operator Range<T>() const {  // NOLINT
    return Range<T>{.min = T{}, .max = {}, .above_min = true};
  }
};
}  // namespace detail

template <class U>
constexpr detail::RangeMaker<U> at_least(U min) {
  return {min, {}};
}
template <class U>
constexpr detail::RangeMaker<U> at_most(U max) {
  return {{}, max};
}
template <class U>
constexpr detail::RangeMaker<U> between(U min, U max) {
  return {min, max};
}
inline constexpr detail::Positive positive;  // more than 0; reads as a word: NOLINT(readability-identifier-naming)

// T: std::string, bool, std::int64_t, double, Duration, Bytes, Bandwidth, Ratio.
class ParamReader {
 public:
  // A key that was asked for: for "keys here", the configuration reference and the schema.
  struct Declaration {
    std::string type;           // "duration", "list of size", "map", "choice of a, b"
    std::string default_value;  // as text; empty: none
    bool required = false;
  };

  // Anything but a map is an error here, and the reader then stays silent.
  ParamReader(ConfigNode node, Diagnostics& diagnostics);
  ParamReader(ParamReader&& other) noexcept;
  ParamReader& operator=(ParamReader&&) = delete;
  ParamReader(const ParamReader&) = delete;
  ParamReader& operator=(const ParamReader&) = delete;
  ~ParamReader();

  // Does not count as reading it; but the key is one of "keys here" from then on.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const ConfigNode& node() const { return node_; }
  [[nodiscard]] const std::string& path() const { return node_.path(); }
  [[nodiscard]] Diagnostics& diagnostics() { return *diagnostics_; }

  template <class T>
  T required(std::string_view key, std::type_identity_t<Range<T>> range = {});
  template <class T>
  T optional(std::string_view key, std::type_identity_t<T> default_value, std::type_identity_t<Range<T>> range = {});
  // Absent: nullopt, for where no default says "not given".
  template <class T>
  std::optional<T> optional(std::string_view key, std::type_identity_t<Range<T>> range = {});

  // One of `names`. The form without a default makes the key required (and returns the first name after an error).
  std::string choice(std::string_view key, const std::vector<std::string>& names);
  std::string choice(std::string_view key, const std::vector<std::string>& names, std::string_view default_value);
  template <class E>
  E choice(std::string_view key, std::initializer_list<std::pair<std::string_view, E>> names, E default_value);

  template <class T>
  std::vector<T> list(std::string_view key, std::type_identity_t<Range<T>> range = {});  // absent: empty
  template <class T>
  std::vector<T> required_list(std::string_view key, std::type_identity_t<Range<T>> range = {});

  ParamReader map(std::string_view key);                          // required
  std::optional<ParamReader> optional_map(std::string_view key);  // absent: nullopt
  ParamReader map_or_empty(std::string_view key);                 // absent: as if it were {}
  std::vector<ParamReader> maps(std::string_view key);            // a list of maps; absent: empty
  std::vector<ParamReader> required_maps(std::string_view key);

  // A map, or the path of a file that holds it (load_reference).
  ParamReader map_or_file(std::string_view key);
  std::optional<ParamReader> optional_map_or_file(std::string_view key);

  // The value as it stands, whatever it is; its keys are then the caller's to check.
  ConfigNode raw(std::string_view key);  // absent: an error, and a null
  std::optional<ConfigNode> optional_raw(std::string_view key);

  // Located at the value of `key` (at the map if it is absent) and prefixed with its path.
  void error(std::string_view key, std::string_view message, std::string note = {});
  void warning(std::string_view key, std::string_view message, std::string note = {});
  void error_here(std::string_view message, std::string note = {});
  void warning_here(std::string_view message, std::string note = {});

  // Reports every key that was not asked for. Once, after the last key was read. A key that only has() looked for is let pass
  // where an error was found in the meantime: reading may have ended before its turn.
  void finish();

  [[nodiscard]] const std::map<std::string, Declaration, std::less<>>& declared() const { return declared_; }

 private:
  struct Silent {};
  ParamReader(Silent, ConfigNode node, Diagnostics& diagnostics);

  void declare(std::string_view key, std::string type, std::string default_value, bool is_required);
  std::optional<ConfigNode> take(std::string_view key, std::string_view type, std::string_view expectation,
                                 std::string default_value, bool is_required);
  std::vector<ConfigNode> take_list(std::string_view key, std::string_view type, bool is_required);
  std::optional<std::string> take_choice(std::string_view key, const std::vector<std::string>& names, std::string default_value,
                                         bool is_required);
  std::vector<ParamReader> readers(std::string_view key, bool is_required);
  ParamReader from_file(const ConfigNode& node);
  ParamReader absent(std::string_view key);
  [[nodiscard]] Diagnostic at(std::string_view key, std::string_view message, std::string note) const;
  template <class T>
  std::vector<T> read_list(std::string_view key, const Range<T>& range, bool is_required);
  template <class T>
  std::optional<T> read(const ConfigNode& node, const Range<T>& range);

  ConfigNode node_;
  Diagnostics* diagnostics_;
  bool silent_ = false;
  bool finished_ = false;
  std::map<std::string, Declaration, std::less<>> declared_;
  mutable std::set<std::string, std::less<>> looked_for_;  // by has()
  std::size_t errors_before_ = 0;                          // of the diagnostics, when this reader was made
};

template <class E>
E ParamReader::choice(std::string_view key, std::initializer_list<std::pair<std::string_view, E>> names, E default_value) {
  std::vector<std::string> texts;
  std::string default_text;
  for (const auto& [text, value] : names) {
    texts.emplace_back(text);
    if (value == default_value) default_text = text;
  }
  const std::string chosen = choice(key, texts, default_text);
  for (const auto& [text, value] : names) {
    if (text == chosen) return value;
  }
  return default_value;
}

}  // namespace weft
