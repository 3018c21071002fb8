#include "sim/output/schema/key_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/core/config/node.h"

namespace weft::output {
namespace {

constexpr std::array kParts{
    PartOfItsOwn{"sweep", "scenario", "scenario"},
    PartOfItsOwn{"scenario", "cluster", "cluster"},
    PartOfItsOwn{"scenario", "workload.model", "model"},
    PartOfItsOwn{"scenario", "workload.training_jobs.[].model", "model"},
    PartOfItsOwn{"scenario", "workload.inference.model", "model"},
    PartOfItsOwn{"goodput", "cluster", "cluster"},
    PartOfItsOwn{"goodput", "rates", "failure_rates"},
    PartOfItsOwn{"cluster", "node", "node"},
    PartOfItsOwn{"cluster", "profile", "profile"},
    PartOfItsOwn{"cluster", "gpu", "gpu"},
    PartOfItsOwn{"node", "devices.[].model", "gpu"},
};
// The words that paths of these kinds begin with.
constexpr std::array<std::string_view, 8> kRoots{"cluster", "node",  "gpu",           "model",
                                                 "prices",  "power", "failure_rates", "measurements"};

std::string joined_steps(const KeySteps& steps, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ".") + steps[i];
  return text;
}

KeyShape& below(KeyShape& shape, const std::string& step) {
  std::unique_ptr<KeyShape>& place = step == "[]" ? shape.items : shape.keys[step];
  if (place == nullptr) place = std::make_unique<KeyShape>();
  return *place;
}

}  // namespace

std::span<const PartOfItsOwn> parts_of_their_own() { return kParts; }

KeyShape* find_shape(KeyShape& root, std::string_view path) {
  KeyShape* shape = &root;
  while (shape != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string step{path.substr(0, dot)};
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    const auto found = shape->keys.find(step);
    shape = step == "[]" ? shape->items.get() : found == shape->keys.end() ? nullptr : found->second.get();
  }
  return shape;
}

void KeyShapes::begin(std::string kind, std::string file, bool sound) {
  kind_ = std::move(kind);
  file_ = std::move(file);
  sound_ = sound;
}

void KeyShapes::end(std::size_t built) {
  for (const auto& [path, asked] : maps_) add(path, asked, maps_.size() + built);
  for (const auto& [path, names] : names_) at(path).first->names.insert(names.begin(), names.end());
  maps_.clear();
  names_.clear();
  parents_.clear();
}

void KeyShapes::on_map(const ParamReader& reader) {
  note_tree(reader.node());
  // Two readers of one map each ask for a part, and let the other's keys pass as anything.
  std::map<std::string, Asked>& asked = maps_[reader.path()];
  for (const auto& [key, declaration] : reader.declared()) {
    parents_.try_emplace(reader.node().child_path(key), reader.path(), key);
    Asked& one = asked[key];
    if (one.declaration.type.empty() || one.declaration.type == "any") {
      const bool is_required = one.declaration.required || declaration.required;
      one.declaration = declaration;
      one.declaration.required = is_required;
    }
    one.is_there = reader.node().find(key).has_value();
  }
}

void KeyShapes::on_names(const std::string& path, std::span<const std::string> names) {
  names_.emplace_back(path, std::vector<std::string>(names.begin(), names.end()));
}

// A key may have dots in it, so that a path alone does not tell the steps to it.
void KeyShapes::note_tree(const ConfigNode& node) {
  const std::vector<std::string> keys = node.keys();
  for (std::size_t i = 0; i < node.size(); ++i) {
    const ConfigNode child = node[i];
    const bool is_new = parents_.try_emplace(child.path(), node.path(), node.is_map() ? keys[i] : "[]").second;
    if (is_new) note_tree(child);
  }
}

KeySteps KeyShapes::steps_to(const std::string& path) const {
  KeySteps steps;
  std::string rest = path;
  for (auto found = parents_.find(rest); found != parents_.end(); found = parents_.find(rest)) {
    steps.push_back(found->second.second);
    rest = found->second.first;
  }
  while (!rest.empty()) {
    const std::size_t dot = rest.find_last_of(".[");
    const std::size_t start = dot == std::string::npos ? 0 : dot;
    steps.push_back(rest[start] == '[' ? "[]" : rest.substr(start + (rest[start] == '.' ? 1 : 0)));
    rest.resize(start);
  }
  std::ranges::reverse(steps);
  return steps;
}

std::pair<KeyShape*, bool> KeyShapes::at(const std::string& path) {
  KeySteps steps = steps_to(path);
  std::string kind = kind_;
  if (!steps.empty() && std::ranges::find(kRoots, steps.front()) != kRoots.end()) {
    kind = steps.front();
    steps.erase(steps.begin());
  } else if (!steps.empty() && steps.front() == "profile" && kind_ != "gpu") {
    kind = "profile";
    steps.erase(steps.begin());
  }
  for (std::size_t i = 1; i <= steps.size(); ++i) {
    const auto part = std::ranges::find_if(
        kParts, [&](const PartOfItsOwn& one) { return one.kind == kind && one.path == joined_steps(steps, i); });
    if (part == kParts.end()) continue;
    kind = part->part;
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
  KeyShape* shape = &kinds_[kind];
  for (const std::string& step : steps) shape = &below(*shape, step);
  return {shape, kind == kind_};
}

void KeyShapes::add(const std::string& path, const std::map<std::string, Asked>& asked_keys, std::size_t size) {
  const auto [shape, is_own] = at(path);
  shape->was_read = true;
  if (sound_) ++shape->readings;
  if (is_own && sound_ && (shape->file.empty() || size < shape->file_size)) {
    shape->file_size = size;
    shape->file = file_;
    shape->path = path;
  }
  for (const auto& [name, asked] : asked_keys) {
    KeyShape& key = below(*shape, name);
    if (!sound_ && !key.types.empty() && asked.declaration.type == "any") continue;
    key.types.insert(asked.declaration.type);
    if (!asked.declaration.default_value.empty()) key.default_values.insert(asked.declaration.default_value);
    if (sound_ && asked.declaration.required) ++key.required;
    if (!asked.is_there) ++key.asked_absent;
  }
  if (sound_) return;
  for (auto& [name, key] : shape->keys)
    key->may_lack |= !asked_keys.contains(name) || !asked_keys.at(name).declaration.required;
}

}  // namespace weft::output
