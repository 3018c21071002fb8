// A configuration file as a tree that knows file, line and column of every key and value. What the values mean is not its
// business: scalars are text here, and ParamReader (params.h) turns them into types.
//
//   const ConfigNode file = ConfigNode::load_file("configs/clusters/pod.yaml", "cluster");
//   const ConfigNode latency = *file.find("fabric")->find("links")->operator[](2).find("latency");
//   latency.scalar();      // "500 ns"
//   latency.path();        // "cluster.fabric.links[2].latency"
//   latency.location();    // configs/clusters/pod.yaml, 15, 16
//   const ConfigNode more = file.with_override("fabric.links[2].latency", "1 us", "--set");
//
// The YAML accepted is a strict subset, and each refusal is a ConfigError with its place: repeated keys, merge keys (<<), tags,
// several documents, tabs in indentation, anything but UTF-8, control characters, files over 64 MiB, a text or a value in
// brackets over 4 MiB, nesting over 100 levels, over 1,000,000 values with aliases expanded. `extends: base.yaml` at the top of
// a file (or of a map given where a file could be named) lays the file over its base: maps merge, everything else replaces,
// and `key: null` drops the key of the base.
//
// A handle is cheap to copy and keeps its tree alive; trees never change.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"

namespace weft {

namespace detail {
struct SourceFile;
struct TreeValue;

// Where something stands, with the text it stands in.
struct Mark {
  std::shared_ptr<const SourceFile> source;
  int line = 0;    // from 1; 0: the source has no lines (a command-line option)
  int column = 0;  // from 1, in characters
  int length = 1;  // characters to underline
};
}  // namespace detail

class NodeVisitor;

class ConfigNode {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };

  ConfigNode();  // a null that stands nowhere

  // `root` is what path() calls the top: "cluster" gives "cluster.fabric", empty gives "fabric". Both resolve `extends`.
  static ConfigNode load_file(const std::filesystem::path& file, std::string root = {});
  // Relative paths inside the text start from the folder of `file_name`, which need not exist.
  static ConfigNode parse(std::string_view text, const std::string& file_name, std::string root = {});

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == Kind::kNull; }
  [[nodiscard]] bool is_scalar() const { return kind() == Kind::kScalar; }
  [[nodiscard]] bool is_list() const { return kind() == Kind::kList; }
  [[nodiscard]] bool is_map() const { return kind() == Kind::kMap; }

  [[nodiscard]] const std::string& scalar() const;                           // the text; empty unless kScalar
  [[nodiscard]] bool quoted() const;                                         // the scalar stood in quotes or in a block
  [[nodiscard]] std::size_t size() const;                                    // items of a list, keys of a map, otherwise 0
  [[nodiscard]] ConfigNode operator[](std::size_t index) const;              // item of a list or value of a map, in file order
  [[nodiscard]] std::optional<ConfigNode> find(std::string_view key) const;  // absent, or not a map: nullopt
  [[nodiscard]] std::vector<std::string> keys() const;                       // of a map, in file order

  [[nodiscard]] Location location() const;      // of the value; of the key where the value is empty or an alias
  [[nodiscard]] Location key_location() const;  // of the key; of the value for items of lists and the top
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string child_path(std::string_view key) const;  // path() of the value under `key`
  [[nodiscard]] std::string source_line() const;
  [[nodiscard]] std::string file() const;  // name of the file the value stands in, as errors print it

  // A located error about the value or about its key; the message is printed as given (begin it with path()).
  [[nodiscard]] Diagnostic diagnostic(std::string message, std::string note = {}) const;
  [[nodiscard]] Diagnostic key_diagnostic(std::string message, std::string note = {}) const;
  [[noreturn]] void fail(std::string message, std::string note = {}) const;

  // A tree with one value laid over: a map over a map merges, all else replaces. `dotted_path` is relative to this node, as
  // "fabric.links[2].latency". Missing keys of maps are made; a scalar on the way that names a .yaml file is loaded in its
  // place; an index must exist. `value_text` is YAML. Errors, and the new value, are located at `origin` ("--set").
  [[nodiscard]] ConfigNode with_override(std::string_view dotted_path, std::string_view value_text,
                                         const std::string& origin) const;
  // The same with a value that has a place of its own.
  [[nodiscard]] ConfigNode with_value(std::string_view dotted_path, const ConfigNode& value) const;
  // Each key of `overrides` is a dotted path: {nodes: 4, fabric.leaf_ports: 32}.
  [[nodiscard]] ConfigNode with_overrides(const ConfigNode& overrides) const;

  // Text that parses back to the same tree, keys in tree order.
  [[nodiscard]] std::string to_yaml() const;
  // Plain true, false and numbers stay so; other scalars become strings.
  [[nodiscard]] std::string to_json() const;
  void visit(NodeVisitor& visitor) const;

 private:
  friend struct NodeAccess;
  std::shared_ptr<const detail::TreeValue> value_;
  detail::Mark value_mark_;
  detail::Mark key_mark_;
  std::string path_;
};

// ConfigNode::visit tells a visitor these, in tree order.
class NodeVisitor {
 public:
  virtual ~NodeVisitor() = default;
  virtual void on_null() = 0;
  virtual void on_scalar(const std::string& text, bool quoted) = 0;
  virtual void on_list_begin(std::size_t size) = 0;
  virtual void on_list_end() = 0;
  virtual void on_map_begin(std::size_t size) = 0;
  virtual void on_key(const std::string& key) = 0;
  virtual void on_map_end() = 0;
};

// Where a value may be a map or the path of a file that holds it (relative to the file that names it): the map. Its path()
// stays that of `node`. A file that is reached again through itself is an error that prints the chain.
[[nodiscard]] ConfigNode load_reference(const ConfigNode& node);

// The file a scalar names, relative to the file it stands in (matrices, traces: anything that is not our YAML). Throws a
// located ConfigError, with the nearest existing name, if it is not a readable file.
[[nodiscard]] std::filesystem::path referenced_file(const ConfigNode& node);

// "list", "map", "'text'" or "nothing": what an error says was found.
[[nodiscard]] std::string found_text(const ConfigNode& node);

// A scalar as it must be written in YAML to be read back as this text.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace weft
