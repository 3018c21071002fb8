// The tree behind ConfigNode: shared by the .cpp files of this folder, and nobody else's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/config/node.h"

namespace weft {
namespace detail {

inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
inline constexpr int kMaxDepth = 100;
inline constexpr std::size_t kMaxValues = 1'000'000;
inline constexpr std::size_t kMaxPendingBytes = std::size_t{4} << 20;  // of one text, or of the outermost brackets

// A text that values come from, and how it was reached.
struct SourceFile {
  std::string name;            // as errors print it
  std::filesystem::path path;  // where relative references start from: its parent folder
  std::string canonical;       // identity of a file on disk; empty for other texts
  std::string text;            // UTF-8, lines end in '\n'
  std::vector<std::size_t> line_starts;
  std::shared_ptr<const SourceFile> named_by;  // the file whose `extends` or reference led here
  bool has_lines = true;                       // false: a command-line option, located by its name alone

  [[nodiscard]] std::string_view line(int number) const;  // from 1, without its end
};

struct TreeValue;

// A value in its place: an item of a list (no key) or an entry of a map.
struct TreeEntry {
  std::string key;
  Mark key_mark;
  Mark value_mark;
  std::shared_ptr<const TreeValue> value;
};

struct TreeValue {
  ConfigNode::Kind kind = ConfigNode::Kind::kNull;
  bool quoted = false;
  std::string scalar;
  std::vector<TreeEntry> entries;
  std::vector<std::uint32_t> by_key;  // of maps: indices of entries in byte order of their keys
  std::size_t values = 1;             // this and all below, aliases expanded
  int height = 1;                     // levels, this included

  [[nodiscard]] const TreeEntry* find(std::string_view key) const;
  // Completes by_key, values and height once the entries stand. Keys must differ.
  void close();
};

// Characters of a UTF-8 text, as carets and editors count them.
[[nodiscard]] int characters(std::string_view text);

// A whole text: its top value, located.
struct Tree {
  std::shared_ptr<const TreeValue> value;
  Mark mark;
};

// Reads one YAML document, with every guard that node.h names. Throws ConfigError; `extends` is still a key like any other.
[[nodiscard]] Tree read_yaml(const std::shared_ptr<const SourceFile>& source);

// A source of `text` after the guards on bytes: UTF-8, control characters, tabs in indentation. Throws ConfigError.
[[nodiscard]] std::shared_ptr<const SourceFile> make_source(SourceFile source, std::string_view text);

[[nodiscard]] Diagnostic diagnostic_at(const Mark& mark, std::string message, std::string note);

// `over` laid over `base`: maps merge in the order of base, then new keys; everything else is replaced.
[[nodiscard]] std::shared_ptr<const TreeValue> merged(const std::shared_ptr<const TreeValue>& base,
                                                      const std::shared_ptr<const TreeValue>& over);

// Refuses trees past kMaxDepth and kMaxValues, as merging and overriding can make them.
void check_size(const TreeValue& value, const Mark& mark);

}  // namespace detail

// How the files of this folder make and take apart handles.
struct NodeAccess {
  static ConfigNode make(std::shared_ptr<const detail::TreeValue> value, detail::Mark value_mark, detail::Mark key_mark,
                         std::string path);
  static const std::shared_ptr<const detail::TreeValue>& value(const ConfigNode& node) { return node.value_; }
  static const detail::Mark& value_mark(const ConfigNode& node) { return node.value_mark_; }
  static const detail::Mark& key_mark(const ConfigNode& node) { return node.key_mark_; }
};

}  // namespace weft
