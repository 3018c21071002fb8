// Trees with some values replaced: `--set key.path=value` and `overrides:`. A tree never changes, so the values on the way to
// the replaced one are made anew and all others shared.
#include <charconv>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/core/config/layers.h"
#include "sim/core/config/node.h"
#include "sim/core/config/tree.h"

namespace weft {
namespace {

using detail::Mark;
using detail::Tree;
using detail::TreeEntry;
using detail::TreeValue;
using Kind = ConfigNode::Kind;

class Replacement {
 public:
  Replacement(std::string_view path, const ConfigNode& value)
      : whole_path_{path},
        value_{NodeAccess::value(value), NodeAccess::value_mark(value)},
        key_mark_{NodeAccess::key_mark(value)} {}

  // `tree` with the replacement at `rest`, which begins with a key, or with '[' after a key; `at` is the path so far.
  Tree apply(const Tree& tree, std::string_view rest, const std::string& at, int depth = 0) {
    if (rest.empty()) return {detail::merged(tree.value, value_.value), value_.mark};
    if (depth > detail::kMaxDepth) fail("the path has more than 100 parts");
    if (rest.front() == '[') return apply_to_item(tree, rest, at, depth);
    if (depth > 0) {
      if (rest.front() != '.') fail("expected '.' or '[' before '" + std::string{rest} + "'");
      rest.remove_prefix(1);
    }
    return apply_to_key(tree, rest, at, depth);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw ConfigError({detail::diagnostic_at(key_mark_, "cannot set '" + std::string{whole_path_} + "': " + problem, {})});
  }

  Tree apply_to_item(const Tree& tree, std::string_view rest, const std::string& at, int depth) {
    if (tree.value->kind != Kind::kList) fail(describe(at) + " is not a list");
    const std::size_t close = rest.find(']');
    std::size_t index = 0;
    const std::string_view digits = rest.substr(1, close == std::string_view::npos ? close : close - 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (close == std::string_view::npos || error != std::errc{} || end != digits.data() + digits.size()) {
      fail("an index is a number in brackets, as in links[2]");
    }
    const std::size_t size = tree.value->entries.size();
    if (index >= size) {
      const std::string range = size == 0   ? "no items"
                                : size == 1 ? "1 item (0)"
                                            : std::to_string(size) + " items (0 to " + std::to_string(size - 1) + ")";
      fail(describe(at) + " has " + range);
    }
    auto copy = std::make_shared<TreeValue>(*tree.value);
    TreeEntry& entry = copy->entries[index];
    const Tree changed =
        apply({entry.value, entry.value_mark}, rest.substr(close + 1), at + std::string{rest.substr(0, close + 1)}, depth + 1);
    entry.value = changed.value;
    entry.value_mark = changed.mark;
    copy->close();
    return {std::move(copy), tree.mark};
  }

  Tree apply_to_key(Tree tree, std::string_view rest, const std::string& at, int depth) {
    if (const ConfigNode named = NodeAccess::make(tree.value, tree.mark, tree.mark, at); names_yaml_file(named)) {
      const ConfigNode loaded = load_reference(named);
      tree = {NodeAccess::value(loaded), NodeAccess::value_mark(loaded)};
    }
    if (tree.value->kind != Kind::kMap && tree.value->kind != Kind::kNull) {
      fail(describe(at) + " is " + (tree.value->kind == Kind::kList ? "a list" : "'" + tree.value->scalar + "'") +
           ", not a map");
    }
    const std::string_view key = first_key(*tree.value, rest);
    if (key.empty()) fail("a key is missing in the path");
    auto copy = std::make_shared<TreeValue>(*tree.value);
    copy->kind = Kind::kMap;
    const TreeEntry* known = tree.value->find(key);
    const std::size_t index =
        known != nullptr ? static_cast<std::size_t>(known - tree.value->entries.data()) : copy->entries.size();
    if (known == nullptr) {
      copy->entries.push_back({std::string{key}, key_mark_, value_.mark, std::make_shared<TreeValue>()});
    }
    TreeEntry& entry = copy->entries[index];
    const std::string next = at.empty() ? std::string{key} : at + '.' + std::string{key};
    const std::string_view further = rest.substr(key.size());
    const Tree changed = apply({entry.value, entry.value_mark}, further, next, depth + 1);
    entry.value = changed.value;
    entry.value_mark = changed.mark;
    if (further.empty()) entry.key_mark = key_mark_;
    copy->close();
    return {std::move(copy), tree.mark};
  }

  // The longest key of the map that `rest` begins with (keys of profiles hold dots), otherwise up to the next '.' or '['.
  static std::string_view first_key(const TreeValue& map, std::string_view rest) {
    std::string_view best;
    for (const TreeEntry& entry : map.entries) {
      const std::size_t length = entry.key.size();
      const bool fits = rest.starts_with(entry.key) && (rest.size() == length || rest[length] == '.' || rest[length] == '[');
      if (fits && length > best.size()) best = rest.substr(0, length);
    }
    return best.empty() ? rest.substr(0, rest.find_first_of(".[")) : best;
  }

  static std::string describe(const std::string& at) { return at.empty() ? std::string{"the top"} : "'" + at + "'"; }

  std::string_view whole_path_;
  Tree value_;
  Mark key_mark_;
};

}  // namespace

ConfigNode ConfigNode::with_value(std::string_view dotted_path, const ConfigNode& value) const {
  Replacement replacement{dotted_path, value};
  if (dotted_path.empty()) value.fail("an empty key path cannot be set");
  const Tree changed = replacement.apply({value_, value_mark_}, dotted_path, {});
  detail::check_size(*changed.value, NodeAccess::value_mark(value));
  return NodeAccess::make(changed.value, changed.mark, key_mark_, path_);
}

ConfigNode ConfigNode::with_override(std::string_view dotted_path, std::string_view value_text,
                                     const std::string& origin) const {
  detail::SourceFile source;
  source.name = origin;
  source.has_lines = false;
  const auto shared = detail::make_source(std::move(source), value_text);
  const bool blank = value_text.find_first_not_of(' ') == std::string_view::npos;
  const bool null = blank || value_text == "null" || value_text == "~";
  const Tree tree = null ? Tree{std::make_shared<TreeValue>(), Mark{shared, 0, 0, 1}} : detail::read_yaml(shared);
  return with_value(dotted_path, NodeAccess::make(tree.value, tree.mark, tree.mark, std::string{dotted_path}));
}

ConfigNode ConfigNode::with_overrides(const ConfigNode& overrides) const {
  if (!overrides.is_map()) overrides.fail(overrides.path() + ": expected a map, got " + found_text(overrides));
  ConfigNode result = *this;
  const std::vector<std::string> paths = overrides.keys();
  std::vector<Diagnostic> wrong;
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    try {
      result = result.with_value(paths[i], overrides[i]);
    } catch (const ConfigError& error) {
      wrong.insert(wrong.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!wrong.empty()) throw ConfigError(std::move(wrong));
  return result;
}

}  // namespace weft
