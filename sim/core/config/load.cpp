// Files: reading them, laying one over another (`extends`), and following a value that names one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "sim/core/config/find_config.h"
#include "sim/core/config/kept_files.h"
#include "sim/core/config/layers.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/node.h"
#include "sim/core/config/tree.h"
#include "sim/core/used_files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using detail::Mark;
using detail::SourceFile;
using detail::Tree;
using detail::TreeEntry;
using detail::TreeValue;
using Kind = ConfigNode::Kind;

enum class Names { kYaml, kAny };

std::string shown(const fs::path& path) { return path.lexically_normal().generic_string(); }

std::string identity_of(const fs::path& path) {
  std::error_code error;
  const fs::path result = fs::canonical(path, error);
  return error ? std::string{} : result.generic_string();
}

// The value that names a file; none for a file named on the command line.
struct Referrer {
  const ConfigNode* node = nullptr;

  [[noreturn]] void fail(const fs::path& path, const std::string& problem, std::string note) const {
    if (node != nullptr) {
      const std::string prefix = node->path().empty() ? std::string{} : node->path() + ": ";
      node->fail(prefix + "cannot read '" + shown(path) + "': " + problem, std::move(note));
    }
    Diagnostic diagnostic;
    diagnostic.where.file = shown(path);
    diagnostic.message = "cannot read this file: " + problem;
    diagnostic.note = std::move(note);
    throw ConfigError({std::move(diagnostic)});
  }

  [[nodiscard]] std::shared_ptr<const SourceFile> source() const {
    return node != nullptr ? NodeAccess::value_mark(*node).source : nullptr;
  }
};

// Keys whose value may be the name of a shipped configuration in place of a path, and the folder of these.
struct ShippedKind {
  std::string_view key;
  const char* folder;
};
constexpr std::array kShippedKinds{ShippedKind{"cluster", "clusters"}, ShippedKind{"profile", "profiles"},
                                   ShippedKind{"model", "models"}};

// The folder where `node` may name a shipped configuration; null: it names a file only.
const char* shipped_folder(const ConfigNode& node) {
  const std::string& name = node.scalar();
  if (name.empty() || fs::path{name}.has_parent_path() || fs::path{name}.has_extension()) return nullptr;
  const std::string& path = node.path();
  const std::string_view key = std::string_view{path}.substr(path.rfind('.') + 1);
  const auto* kind = std::ranges::find(kShippedKinds, key, &ShippedKind::key);
  return kind == kShippedKinds.end() ? nullptr : kind->folder;
}

// Names the files that stand beside a missing one.
std::string neighbours(const fs::path& path, Names names) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  std::error_code error;
  if (!fs::is_directory(folder, error)) return "there is no folder '" + shown(folder) + "'";
  std::vector<std::string> files;
  for (fs::directory_iterator entry{folder, error}, end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::string extension = entry->path().extension().string();
    if (names == Names::kYaml && extension != ".yaml" && extension != ".yml") continue;
    if (entry->is_regular_file(ignored)) files.push_back(entry->path().filename().string());
  }
  return did_you_mean(path.filename().string(), files, "files in '" + shown(folder) + "'");
}

// Where an installation has the file that a checkout has as configs/...; empty: nowhere.
std::string installed_note(const fs::path& path) {
  if (path.is_absolute() || path.begin() == path.end() || *path.begin() != "configs") return {};
  const std::optional<fs::path> shipped = find_config(path.lexically_relative("configs"));
  return shipped ? "the shipped one is '" + shown(*shipped) + "'" : std::string{};
}

void check_file(const fs::path& path, const Referrer& referrer, Names names) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    const char* shipped = referrer.node != nullptr ? shipped_folder(*referrer.node) : nullptr;
    if (shipped != nullptr) {
      referrer.fail(path, fmt::format("no such file, and none of the shipped {} by this name", shipped),
                    did_you_mean(referrer.node->scalar(), config_names(shipped), fmt::format("shipped {}", shipped)));
    }
    const std::string installed = installed_note(path);
    referrer.fail(path, "no such file", installed.empty() ? neighbours(path, names) : installed);
  }
  if (status.type() == fs::file_type::directory) referrer.fail(path, "it is a folder", {});
  // A device or pipe may never end.
  if (!fs::is_regular_file(status)) referrer.fail(path, error ? error.message() : "it is not a regular file", {});
}

std::string read_text(const fs::path& path, const Referrer& referrer) {
  if (std::optional<std::string> given = given_text(path)) return *std::move(given);
  check_file(path, referrer, Names::kYaml);
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (!error && size > detail::kMaxFileBytes) {
    referrer.fail(path, "it has " + std::to_string(size) + " bytes, more than 64 MiB",
                  "large data belong into files of their own kind");
  }
  std::ifstream stream = open_input(path);
  if (!stream) referrer.fail(path, "it cannot be opened", {});
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) referrer.fail(path, "reading failed", {});
  return std::move(text).str();
}

void check_cycle(const fs::path& path, const std::string& identity, const Referrer& referrer) {
  std::vector<std::string> chain;  // innermost first
  bool cycle = false;
  for (const SourceFile* file = referrer.source().get(); file != nullptr && !cycle; file = file->named_by.get()) {
    chain.push_back(file->name);
    cycle = !identity.empty() && file->canonical == identity;
  }
  if (cycle) {
    std::string text;
    for (auto name = chain.rbegin(); name != chain.rend(); ++name) text += *name + " -> ";
    referrer.fail(path, "it is part of a cycle", "the chain is " + text + shown(path));
  }
  if (chain.size() >= static_cast<std::size_t>(detail::kMaxDepth))
    referrer.fail(path, "files name each other over more than 100 levels", {});
}

// The path a scalar names: relative to the folder of the file it stands in, or a shipped configuration where no file has the
// name.
fs::path named_path(const ConfigNode& node) {
  const auto& source = NodeAccess::value_mark(node).source;
  const fs::path named{node.scalar()};
  fs::path path = source ? source->path.parent_path() / named : named;
  std::error_code ignored;
  if (const char* shipped = shipped_folder(node); shipped != nullptr && !fs::exists(path, ignored)) {
    if (const auto file = find_config(fs::path{shipped} / (node.scalar() + ".yaml"))) return *file;
  }
  return path;
}

using KeptTrees = std::map<std::string, Tree>;  // by name: files it names are found from there

std::unique_ptr<KeptTrees>& kept_trees() {
  thread_local std::unique_ptr<KeptTrees> kept;
  return kept;
}

Tree read_tree(const fs::path& path, const Referrer& referrer) {
  const std::string identity = identity_of(path);
  check_cycle(path, identity, referrer);
  if (kept_trees() != nullptr) {
    if (const auto found = kept_trees()->find(shown(path)); found != kept_trees()->end()) return found->second;
  }
  SourceFile source;
  source.name = shown(path);
  source.path = path;
  source.canonical = identity;
  source.named_by = referrer.source();
  const std::string text = read_text(path, referrer);
  Tree tree = detail::read_yaml(detail::make_source(std::move(source), text));
  if (kept_trees() != nullptr) kept_trees()->emplace(shown(path), tree);
  return tree;
}

// A map without its `extends`, after the files it extends; any other value alone. `path` is the key path of the value.
std::vector<Tree> layers_of(const Tree& tree, const std::string& path) {
  if (tree.value->kind != Kind::kMap || tree.value->find("extends") == nullptr) return {tree};
  const ConfigNode base_name = *NodeAccess::make(tree.value, tree.mark, tree.mark, path).find("extends");
  if (!base_name.is_scalar() || base_name.scalar().empty()) {
    base_name.fail(base_name.path() + ": expected the path of a file, got " + found_text(base_name));
  }
  std::vector<Tree> layers = layers_of(read_tree(named_path(base_name), Referrer{&base_name}), {});
  if (layers.back().value->kind != Kind::kMap) {
    base_name.fail(base_name.path() + ": expected a file that holds a map, '" + shown(named_path(base_name)) +
                   "' holds something else");
  }
  auto over = std::make_shared<TreeValue>();
  over->kind = Kind::kMap;
  for (const TreeEntry& entry : tree.value->entries) {
    if (entry.key != "extends") over->entries.push_back(entry);
  }
  over->close();
  layers.push_back({std::move(over), tree.mark});
  return layers;
}

// Each of the layers laid over those before it.
Tree together(const std::vector<Tree>& layers) {
  Tree result = layers.front();
  for (std::size_t i = 1; i < layers.size(); ++i) {
    result = {detail::merged(result.value, layers[i].value), layers[i].mark};
    detail::check_size(*result.value, result.mark);
  }
  return result;
}

Tree resolve_extends(const Tree& tree, const std::string& path) { return together(layers_of(tree, path)); }

Tree load_tree(const fs::path& path, const Referrer& referrer) { return resolve_extends(read_tree(path, referrer), {}); }

// The map, or what the file holds that the value names.
Tree referenced_tree(const ConfigNode& node) {
  if (node.is_map()) return {NodeAccess::value(node), NodeAccess::value_mark(node)};
  if (!node.is_scalar() || node.scalar().empty()) {
    node.fail(node.path() + ": expected a map or the path of a file that holds one, got " + found_text(node));
  }
  return read_tree(named_path(node), Referrer{&node});
}

std::vector<ConfigNode> nodes_of(std::vector<Tree> trees, const std::string& path) {
  std::vector<ConfigNode> nodes;
  for (Tree& tree : trees) nodes.push_back(NodeAccess::make(std::move(tree.value), tree.mark, tree.mark, path));
  return nodes;
}

}  // namespace

KeptFiles::KeptFiles() { kept_trees() = std::make_unique<KeptTrees>(); }
KeptFiles::~KeptFiles() { kept_trees().reset(); }

ConfigNode ConfigNode::load_file(const fs::path& file, std::string root) {
  Tree tree = load_tree(file, Referrer{});
  return NodeAccess::make(std::move(tree.value), tree.mark, tree.mark, std::move(root));
}

ConfigNode ConfigNode::parse(std::string_view text, const std::string& file_name, std::string root) {
  SourceFile source;
  source.name = file_name;
  source.path = file_name;
  source.canonical = identity_of(file_name);
  Tree tree = resolve_extends(detail::read_yaml(detail::make_source(std::move(source), text)), {});
  return NodeAccess::make(std::move(tree.value), tree.mark, tree.mark, std::move(root));
}

ConfigNode load_reference(const ConfigNode& node) {
  Tree tree = resolve_extends(referenced_tree(node), node.is_map() ? node.path() : std::string{});
  const Mark key_mark = node.is_map() ? NodeAccess::key_mark(node) : tree.mark;
  return NodeAccess::make(std::move(tree.value), tree.mark, key_mark, node.path());
}

bool names_yaml_file(const ConfigNode& node) {
  if (!node.is_scalar()) return false;
  const std::string extension = named_path(node).extension().string();
  return extension == ".yaml" || extension == ".yml";
}

std::vector<ConfigNode> load_layers(const fs::path& file) { return nodes_of(layers_of(read_tree(file, Referrer{}), {}), {}); }

std::vector<ConfigNode> load_layers(const ConfigNode& node) {
  return nodes_of(layers_of(referenced_tree(node), node.is_map() ? node.path() : std::string{}), node.path());
}

ConfigNode laid_over(const ConfigNode& base, const ConfigNode& over) {
  const Tree tree = together(
      {{NodeAccess::value(base), NodeAccess::value_mark(base)}, {NodeAccess::value(over), NodeAccess::value_mark(over)}});
  return NodeAccess::make(tree.value, tree.mark, NodeAccess::key_mark(base), base.path());
}

ConfigNode without_key(const ConfigNode& map, std::string_view key) {
  if (!map.find(key)) return map;
  auto rest = std::make_shared<TreeValue>();
  rest->kind = Kind::kMap;
  for (const TreeEntry& entry : NodeAccess::value(map)->entries) {
    if (entry.key != key) rest->entries.push_back(entry);
  }
  rest->close();
  return NodeAccess::make(std::move(rest), NodeAccess::value_mark(map), NodeAccess::key_mark(map), map.path());
}

fs::path referenced_file(const ConfigNode& node) {
  if (!node.is_scalar() || node.scalar().empty()) {
    node.fail(node.path() + ": expected the path of a file, got " + found_text(node));
  }
  const fs::path path = named_path(node);
  check_file(path, Referrer{&node}, Names::kAny);
  return path;
}

}  // namespace weft
