#include "sim/core/config/node.h"

#include <algorithm>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/config/tree.h"
#include "sim/core/printable.h"

namespace weft {
namespace detail {

const TreeEntry* TreeValue::find(std::string_view key) const {
  const auto at = std::lower_bound(by_key.begin(), by_key.end(), key, [this](std::uint32_t index, std::string_view wanted) {
    return entries[index].key < wanted;
  });
  return at != by_key.end() && entries[*at].key == key ? &entries[*at] : nullptr;
}

void TreeValue::close() {
  values = 1;
  height = 1;
  for (const TreeEntry& entry : entries) {
    values += entry.value->values;
    height = std::max(height, entry.value->height + 1);
  }
  if (kind != ConfigNode::Kind::kMap) return;
  by_key.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) by_key[i] = static_cast<std::uint32_t>(i);
  std::sort(by_key.begin(), by_key.end(), [this](std::uint32_t a, std::uint32_t b) { return entries[a].key < entries[b].key; });
}

std::shared_ptr<const TreeValue> merged(const std::shared_ptr<const TreeValue>& base,
                                        const std::shared_ptr<const TreeValue>& over) {
  if (base->kind != ConfigNode::Kind::kMap || over->kind != ConfigNode::Kind::kMap) return over;
  auto result = std::make_shared<TreeValue>();
  result->kind = ConfigNode::Kind::kMap;
  for (const TreeEntry& entry : base->entries) {
    const TreeEntry* replacement = over->find(entry.key);
    if (replacement == nullptr) {
      result->entries.push_back(entry);
    } else if (replacement->value->kind != ConfigNode::Kind::kNull) {
      result->entries.push_back(*replacement);
      result->entries.back().value = merged(entry.value, replacement->value);
    }
  }
  for (const TreeEntry& entry : over->entries) {
    if (base->find(entry.key) == nullptr) result->entries.push_back(entry);
  }
  result->close();
  return result;
}

void check_size(const TreeValue& value, const Mark& mark) {
  if (value.height > kMaxDepth) {
    throw ConfigError({diagnostic_at(mark, "nested deeper than " + std::to_string(kMaxDepth) + " levels", {})});
  }
  if (value.values > kMaxValues) throw ConfigError({diagnostic_at(mark, "more than 1,000,000 values, aliases expanded", {})});
}

namespace {

Location location_of(const Mark& mark) {
  Location location;
  if (!mark.source) return location;
  location.file = mark.source->name;
  if (mark.source->has_lines) {
    location.line = mark.line;
    location.column = mark.column;
  }
  return location;
}

const std::shared_ptr<const TreeValue>& null_value() {
  static const std::shared_ptr<const TreeValue> value = std::make_shared<TreeValue>();
  return value;
}

}  // namespace
}  // namespace detail

ConfigNode NodeAccess::make(std::shared_ptr<const detail::TreeValue> value, detail::Mark value_mark, detail::Mark key_mark,
                            std::string path) {
  ConfigNode node;
  node.value_ = std::move(value);
  node.value_mark_ = std::move(value_mark);
  node.key_mark_ = std::move(key_mark);
  node.path_ = std::move(path);
  return node;
}

ConfigNode::ConfigNode() : value_{detail::null_value()} {}

ConfigNode::Kind ConfigNode::kind() const { return value_->kind; }
const std::string& ConfigNode::scalar() const { return value_->scalar; }
bool ConfigNode::quoted() const { return value_->quoted; }
std::size_t ConfigNode::size() const { return value_->entries.size(); }

ConfigNode ConfigNode::operator[](std::size_t index) const {
  WEFT_CHECK(index < size());
  const detail::TreeEntry& entry = value_->entries[index];
  return NodeAccess::make(entry.value, entry.value_mark, entry.key_mark,
                          is_map() ? child_path(entry.key) : path_ + '[' + std::to_string(index) + ']');
}

std::optional<ConfigNode> ConfigNode::find(std::string_view key) const {
  if (!is_map()) return std::nullopt;
  const detail::TreeEntry* entry = value_->find(key);
  if (entry == nullptr) return std::nullopt;
  return NodeAccess::make(entry->value, entry->value_mark, entry->key_mark, child_path(key));
}

std::vector<std::string> ConfigNode::keys() const {
  std::vector<std::string> keys;
  if (!is_map()) return keys;
  keys.reserve(size());
  for (const detail::TreeEntry& entry : value_->entries) keys.push_back(entry.key);
  return keys;
}

Location ConfigNode::location() const { return detail::location_of(value_mark_); }
Location ConfigNode::key_location() const { return detail::location_of(key_mark_); }

std::string ConfigNode::child_path(std::string_view key) const {
  return path_.empty() ? std::string{key} : path_ + '.' + std::string{key};
}

std::string ConfigNode::source_line() const { return diagnostic({}).source_line; }
std::string ConfigNode::file() const { return location().file; }

Diagnostic ConfigNode::diagnostic(std::string message, std::string note) const {
  Diagnostic diagnostic = detail::diagnostic_at(value_mark_, std::move(message), std::move(note));
  diagnostic.key = path_;
  return diagnostic;
}

Diagnostic ConfigNode::key_diagnostic(std::string message, std::string note) const {
  Diagnostic diagnostic = detail::diagnostic_at(key_mark_, std::move(message), std::move(note));
  diagnostic.key = path_;
  return diagnostic;
}

void ConfigNode::fail(std::string message, std::string note) const {
  throw ConfigError({diagnostic(std::move(message), std::move(note))});
}

std::string found_text(const ConfigNode& node) {
  switch (node.kind()) {
    case ConfigNode::Kind::kNull:
      return "nothing";
    case ConfigNode::Kind::kList:
      return "a list";
    case ConfigNode::Kind::kMap:
      return "a map";
    case ConfigNode::Kind::kScalar:
      break;
  }
  // A whole pasted text helps nobody; cut between characters of UTF-8.
  constexpr std::size_t kShown = 80;
  std::string text = node.scalar();
  if (text.size() > kShown) {
    std::size_t end = kShown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text = text.substr(0, end) + "...";
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "'" + printable(text) + "'";
}

}  // namespace weft
