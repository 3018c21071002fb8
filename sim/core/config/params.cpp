#include "sim/core/config/params.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>

#include "sim/core/config/nearest.h"
#include "sim/core/config/reading_watch.h"
#include "sim/core/config/tree.h"

namespace weft {
namespace {

// Says for each type its name, what is expected of its text, and how it is read.
template <class T>
struct Reading;

template <>
struct Reading<std::string> {
  static constexpr std::string_view kName = "text";
  static constexpr std::string_view kExpected = "a text";
  static std::optional<std::string> parse(std::string_view text) { return std::string{text}; }
  static std::string text(const std::string& value) { return value; }
  static std::string hint(std::string_view) { return {}; }
};

template <>
struct Reading<bool> {
  static constexpr std::string_view kName = "true or false";
  static constexpr std::string_view kExpected = "true or false";
  static std::optional<bool> parse(std::string_view text) { return parse_bool(text); }
  static std::string text(bool value) { return value ? "true" : "false"; }
  static std::string hint(std::string_view text) {
    constexpr std::string_view kWords[] = {"on", "off", "yes", "no", "y", "n", "true", "false"};
    std::string lower{text};
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_word = std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
    return is_word ? "only the words true and false are read so" : "";
  }
};

std::string zero_hint(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool leading_zero = text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  return leading_zero ? "a leading zero is refused: some programs read 010 as 8" : "";
}

// A number and a unit, of which `parse` reads one: where it does not read the text, the number is out of its range.
template <class Parse>
bool is_number_with(std::string_view text, const Parse& parse) {
  const std::size_t unit = text.find_first_not_of("+-.0123456789eE ");
  if (unit == std::string_view::npos) return false;
  std::string_view number = text.substr(0, unit);
  while (number.ends_with(' ')) number.remove_suffix(1);
  return parse_number(number) && parse("1 " + std::string{text.substr(unit)});
}

template <>
struct Reading<std::int64_t> {
  static constexpr std::string_view kName = "integer";
  static constexpr std::string_view kExpected = "an integer such as '8'";
  static std::optional<std::int64_t> parse(std::string_view text) { return parse_integer(text); }
  static std::string text(std::int64_t value) { return std::to_string(value); }
  static std::string hint(std::string_view text) { return zero_hint(text); }
};

template <>
struct Reading<double> {
  static constexpr std::string_view kName = "number";
  static constexpr std::string_view kExpected = "a number such as '0.5'";
  static std::optional<double> parse(std::string_view text) { return parse_number(text); }
  static std::string text(double value) { return number_text(value); }
  static std::string hint(std::string_view text) { return zero_hint(text); }
};

template <>
struct Reading<Ratio> {
  static constexpr std::string_view kName = "ratio";
  static constexpr std::string_view kExpected = "a ratio such as '0.05' or '5 %'";
  static std::optional<Ratio> parse(std::string_view text) {
    const auto value = parse_ratio(text);
    return value ? std::optional{Ratio{*value}} : std::nullopt;
  }
  static std::string text(Ratio value) { return to_string(value); }
  static std::string hint(std::string_view text) { return zero_hint(text); }
};

template <>
struct Reading<Duration> {
  static constexpr std::string_view kName = "duration";
  static constexpr std::string_view kExpected = "a duration such as '500 ns'";
  static std::optional<Duration> parse(std::string_view text) { return parse_duration(text); }
  static std::string text(Duration value) { return to_string(value); }
  static std::string hint(std::string_view text) {
    return is_number_with(text, parse_duration) ? "simulated time ends after 106 days, 2^63 ps" : zero_hint(text);
  }
};

template <>
struct Reading<Bytes> {
  static constexpr std::string_view kName = "size";
  static constexpr std::string_view kExpected = "a size such as '64 KiB'";
  static std::optional<Bytes> parse(std::string_view text) { return parse_bytes(text); }
  static std::string text(Bytes value) { return to_string(value); }
  static std::string hint(std::string_view text) {
    if (is_number_with(text, parse_bytes)) return "sizes are whole bytes, at most 4 EiB, 2^62 of them";
    if (parse_number(text) && zero_hint(text).empty()) return "a size has a unit: 4096 B, 64 KiB or 1 GB";
    if (!text.ends_with('b')) return zero_hint(text);
    return "b is bits, B is bytes; sizes are in bytes";
  }
};

template <>
struct Reading<Bandwidth> {
  static constexpr std::string_view kName = "bandwidth";
  static constexpr std::string_view kExpected = "a bandwidth such as '400 Gb/s'";
  static std::optional<Bandwidth> parse(std::string_view text) { return parse_bandwidth(text); }
  static std::string text(Bandwidth value) { return to_string(value); }
  static std::string hint(std::string_view text) {
    const bool has_unit = text.find_first_of("bB") != std::string_view::npos;
    return has_unit ? "case matters: Gb/s (or Gbps) counts bits, GB/s counts bytes" : zero_hint(text);
  }
};

template <class T>
constexpr bool kIsQuantity =
    std::is_same_v<T, Duration> || std::is_same_v<T, Bytes> || std::is_same_v<T, Bandwidth> || std::is_same_v<T, Ratio>;

// Returns what is wrong with a value's place in its range; empty: nothing.
template <class T>
std::string range_problem(const T& value, const Range<T>& range) {
  if constexpr (kIsQuantity<T>) {
    if (!range.min && value < T{}) return "must not be negative";
  }
  const bool below = range.min && (range.above_min ? value <= *range.min : value < *range.min);
  if (!below && !(range.max && value > *range.max)) return {};
  if (range.min && range.max && !range.above_min) {
    return "expected between " + Reading<T>::text(*range.min) + " and " + Reading<T>::text(*range.max);
  }
  if (below) return (range.above_min ? "expected more than " : "expected at least ") + Reading<T>::text(*range.min);
  return "expected at most " + Reading<T>::text(*range.max);
}

std::string prefixed(const std::string& path, std::string_view message) {
  return path.empty() ? std::string{message} : path + ": " + std::string{message};
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

void Diagnostics::absorb(const ConfigError& error) {
  errors_.insert(errors_.end(), error.diagnostics().begin(), error.diagnostics().end());
}

void Diagnostics::throw_if_any() const {
  if (errors_.empty()) {
    if (forgotten_.empty()) return;
    throw InternalError("ParamReader::finish() was never called for '" + forgotten_.front() + "'");
  }
  std::vector<std::string> files;
  const auto rank = [&files](const Diagnostic& d) {
    return std::find(files.begin(), files.end(), d.where.file) - files.begin();
  };
  for (const Diagnostic& error : errors_) {
    if (std::find(files.begin(), files.end(), error.where.file) == files.end()) files.push_back(error.where.file);
  }
  std::vector<std::size_t> order(errors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [this, &rank](std::size_t a, std::size_t b) {
    const auto place = [&](std::size_t i) {
      return std::tuple(rank(errors_[i]), errors_[i].where.line, errors_[i].where.column, i);
    };
    return place(a) < place(b);
  });
  std::vector<Diagnostic> sorted;
  for (const std::size_t i : order) sorted.push_back(errors_[i]);
  throw ConfigError(std::move(sorted));
}

ParamReader::ParamReader(ConfigNode node, Diagnostics& diagnostics)
    : node_{std::move(node)}, diagnostics_{&diagnostics}, errors_before_{diagnostics.errors().size()} {
  if (node_.is_map()) return;
  silent_ = true;
  diagnostics_->error(node_.diagnostic(prefixed(node_.path(), "expected a map, got " + found_text(node_))));
}

ParamReader::ParamReader(Silent, ConfigNode node, Diagnostics& diagnostics)
    : node_{std::move(node)}, diagnostics_{&diagnostics}, silent_{true} {}

ParamReader::ParamReader(ParamReader&& other) noexcept
    : node_{std::move(other.node_)},
      diagnostics_{other.diagnostics_},
      silent_{other.silent_},
      finished_{std::exchange(other.finished_, true)},
      declared_{std::move(other.declared_)},
      looked_for_{std::move(other.looked_for_)},
      errors_before_{other.errors_before_} {}

ParamReader::~ParamReader() {
  if (!silent_ && !finished_) diagnostics_->forgotten(node_.path());
}

bool ParamReader::has(std::string_view key) const {
  if (!looked_for_.contains(key)) looked_for_.emplace(key);
  return node_.find(key).has_value();
}

Diagnostic ParamReader::at(std::string_view key, std::string_view message, std::string note) const {
  const std::string text = prefixed(node_.child_path(key), message);
  if (const auto value = node_.find(key)) return value->diagnostic(text, std::move(note));
  Diagnostic absent = node_.key_diagnostic(text, std::move(note));
  absent.key = node_.child_path(key);
  return absent;
}

void ParamReader::declare(std::string_view key, std::string type, std::string default_value, bool is_required) {
  declared_.insert_or_assign(std::string{key}, Declaration{std::move(type), std::move(default_value), is_required});
}

std::optional<ConfigNode> ParamReader::take(std::string_view key, std::string_view type, std::string_view expectation,
                                            std::string default_value, bool is_required) {
  declare(key, std::string{type}, std::move(default_value), is_required);
  if (silent_) return std::nullopt;
  auto value = node_.find(key);
  if (!value && is_required) {
    const std::string note = expectation.empty() ? std::string{} : "expected " + std::string{expectation};
    Diagnostic missing = node_.key_diagnostic(prefixed(node_.path(), "missing key '" + std::string{key} + "'"), note);
    missing.key = node_.child_path(key);
    diagnostics_->error(std::move(missing));
  }
  return value;
}

template <class T>
std::optional<T> ParamReader::read(const ConfigNode& node, const Range<T>& range) {
  const auto refuse = [&](const std::string& message, std::string note) {
    diagnostics_->error(node.diagnostic(prefixed(node.path(), message + ", got " + found_text(node)), std::move(note)));
    return std::nullopt;
  };
  const std::string expected = "expected " + std::string{Reading<T>::kExpected};
  if (!node.is_scalar()) return refuse(expected, {});
  std::optional<T> value = Reading<T>::parse(node.scalar());
  if (!value) return refuse(expected, Reading<T>::hint(node.scalar()));
  if (const std::string problem = range_problem(*value, range); !problem.empty()) return refuse(problem, {});
  if constexpr (std::is_same_v<T, Duration>) {
    if (is_longest_time(value->ps())) note_time_given(value->ps(), node.diagnostic(prefixed(node.path(), node.scalar())));
  }
  return value;
}

// Ranges and defaults are given on the spot: NOLINTBEGIN(performance-unnecessary-value-param)
template <class T>
T ParamReader::required(std::string_view key, std::type_identity_t<Range<T>> range) {
  const auto node = take(key, Reading<T>::kName, Reading<T>::kExpected, {}, true);
  return node ? read<T>(*node, range).value_or(T{}) : T{};
}

template <class T>
T ParamReader::optional(std::string_view key, std::type_identity_t<T> default_value, std::type_identity_t<Range<T>> range) {
  const auto node = take(key, Reading<T>::kName, {}, Reading<T>::text(default_value), false);
  return node ? read<T>(*node, range).value_or(default_value) : default_value;
}

template <class T>
std::optional<T> ParamReader::optional(std::string_view key, std::type_identity_t<Range<T>> range) {
  const auto node = take(key, Reading<T>::kName, {}, {}, false);
  return node ? read<T>(*node, range) : std::nullopt;
}

std::vector<ConfigNode> ParamReader::take_list(std::string_view key, std::string_view type, bool is_required) {
  std::vector<ConfigNode> items;
  const auto node = take(key, "list of " + std::string{type}, "a list", {}, is_required);
  if (!node) return items;
  if (!node->is_list()) {
    error(key, "expected a list, got " + found_text(*node));
    return items;
  }
  items.reserve(node->size());
  for (std::size_t i = 0; i < node->size(); ++i) items.push_back((*node)[i]);
  return items;
}

template <class T>
std::vector<T> ParamReader::read_list(std::string_view key, const Range<T>& range, bool is_required) {
  std::vector<T> values;
  for (const ConfigNode& item : take_list(key, Reading<T>::kName, is_required)) {
    if (auto value = read<T>(item, range)) values.push_back(std::move(*value));
  }
  return values;
}

template <class T>
std::vector<T> ParamReader::list(std::string_view key, std::type_identity_t<Range<T>> range) {
  return read_list<T>(key, range, false);
}

template <class T>
std::vector<T> ParamReader::required_list(std::string_view key, std::type_identity_t<Range<T>> range) {
  return read_list<T>(key, range, true);
}
// NOLINTEND(performance-unnecessary-value-param)

std::optional<std::string> ParamReader::take_choice(std::string_view key, const std::vector<std::string>& names,
                                                    std::string default_value, bool is_required) {
  const std::string list = joined(names);
  const auto node = take(key, "choice of " + list, "one of " + list, std::move(default_value), is_required);
  if (!node) return std::nullopt;
  if (!node->is_scalar()) {
    error(key, "expected one of " + list + ", got " + found_text(*node));
    return std::nullopt;
  }
  if (std::find(names.begin(), names.end(), node->scalar()) != names.end()) return node->scalar();
  error(key, "unknown value " + found_text(*node), did_you_mean(node->scalar(), names, "choices"));
  return std::nullopt;
}

std::string ParamReader::choice(std::string_view key, const std::vector<std::string>& names) {
  return take_choice(key, names, {}, true).value_or(names.empty() ? std::string{} : names.front());
}

std::string ParamReader::choice(std::string_view key, const std::vector<std::string>& names, std::string_view default_value) {
  return take_choice(key, names, std::string{default_value}, false).value_or(std::string{default_value});
}

ParamReader ParamReader::map(std::string_view key) {
  const auto node = take(key, "map", "a map", {}, true);
  if (node) return {*node, *diagnostics_};
  return absent(key);
}

// Stands for what is missing or refused already: reads as defaults, without further errors.
ParamReader ParamReader::absent(std::string_view key) {
  return {Silent{}, NodeAccess::make(NodeAccess::value(ConfigNode{}), {}, {}, node_.child_path(key)), *diagnostics_};
}

std::optional<ParamReader> ParamReader::optional_map(std::string_view key) {
  const auto node = take(key, "map", {}, {}, false);
  if (!node) return std::nullopt;
  return std::optional<ParamReader>{std::in_place, *node, *diagnostics_};
}

ParamReader ParamReader::map_or_empty(std::string_view key) {
  if (const auto node = take(key, "map", {}, "{}", false)) return {*node, *diagnostics_};
  auto empty = std::make_shared<detail::TreeValue>();
  empty->kind = ConfigNode::Kind::kMap;
  // Errors about the absent map are located at the one it is absent from.
  ConfigNode node =
      NodeAccess::make(std::move(empty), NodeAccess::value_mark(node_), NodeAccess::key_mark(node_), node_.child_path(key));
  if (silent_) return {Silent{}, std::move(node), *diagnostics_};
  return {std::move(node), *diagnostics_};
}

std::vector<ParamReader> ParamReader::readers(std::string_view key, bool is_required) {
  std::vector<ParamReader> result;
  for (const ConfigNode& item : take_list(key, "map", is_required)) result.emplace_back(item, *diagnostics_);
  return result;
}

std::vector<ParamReader> ParamReader::maps(std::string_view key) { return readers(key, false); }
std::vector<ParamReader> ParamReader::required_maps(std::string_view key) { return readers(key, true); }

ParamReader ParamReader::from_file(const ConfigNode& node) {
  try {
    return {load_reference(node), *diagnostics_};
  } catch (const ConfigError& error) {
    diagnostics_->absorb(error);
    return {Silent{}, node, *diagnostics_};
  }
}

ParamReader ParamReader::map_or_file(std::string_view key) {
  const auto node = take(key, "map or file", "a map or the path of a file that holds one", {}, true);
  return node ? from_file(*node) : absent(key);
}

std::optional<ParamReader> ParamReader::optional_map_or_file(std::string_view key) {
  const auto node = take(key, "map or file", {}, {}, false);
  if (!node) return std::nullopt;
  return from_file(*node);
}

ConfigNode ParamReader::raw(std::string_view key) {
  if (auto node = take(key, "any", {}, {}, true)) return std::move(*node);
  return NodeAccess::make(NodeAccess::value(ConfigNode{}), NodeAccess::value_mark(node_), NodeAccess::key_mark(node_),
                          node_.child_path(key));
}

std::optional<ConfigNode> ParamReader::optional_raw(std::string_view key) { return take(key, "any", {}, {}, false); }

void ParamReader::error(std::string_view key, std::string_view message, std::string note) {
  if (!silent_) diagnostics_->error(at(key, message, std::move(note)));
}

void ParamReader::warning(std::string_view key, std::string_view message, std::string note) {
  if (!silent_) diagnostics_->warning(at(key, message, std::move(note)));
}

void ParamReader::error_here(std::string_view message, std::string note) {
  if (!silent_) diagnostics_->error(node_.key_diagnostic(prefixed(node_.path(), message), std::move(note)));
}

void ParamReader::warning_here(std::string_view message, std::string note) {
  if (!silent_) diagnostics_->warning(node_.key_diagnostic(prefixed(node_.path(), message), std::move(note)));
}

void ParamReader::finish() {
  finished_ = true;
  if (silent_) return;
  if (ReadingWatch* watch = reading_watch()) watch->on_map(*this);
  const bool is_whole = diagnostics_->errors().size() == errors_before_;
  std::set<std::string, std::less<>> known = looked_for_;
  for (const auto& [key, declaration] : declared_) known.insert(key);
  const std::vector<std::string> keys = node_.keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (declared_.contains(keys[i]) || (!is_whole && known.contains(keys[i]))) continue;
    std::vector<std::string> others{known.begin(), known.end()};
    std::erase(others, keys[i]);
    const std::string where = node_.path().empty() ? std::string{} : " in " + node_.path();
    diagnostics_->error(
        node_[i].key_diagnostic("unknown key '" + keys[i] + "'" + where, did_you_mean(keys[i], others, "keys here")));
  }
}

#define WEFT_READS(T)                                                             \
  template T ParamReader::required<T>(std::string_view, Range<T>);                \
  template T ParamReader::optional<T>(std::string_view, T, Range<T>);             \
  template std::optional<T> ParamReader::optional<T>(std::string_view, Range<T>); \
  template std::vector<T> ParamReader::list<T>(std::string_view, Range<T>);       \
  template std::vector<T> ParamReader::required_list<T>(std::string_view, Range<T>);

WEFT_READS(std::string)
WEFT_READS(bool)
WEFT_READS(std::int64_t)
WEFT_READS(double)
WEFT_READS(Ratio)
WEFT_READS(Duration)
WEFT_READS(Bytes)
WEFT_READS(Bandwidth)

#undef WEFT_READS

}  // namespace weft
