#include "sim/output/schema/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <variant>

#include "sim/core/config/quantity.h"
#include "sim/core/config/unit_names.h"
#include "sim/core/profile.h"
#include "sim/core/version.h"
#include "sim/output/schema/explore.h"
#include "sim/output/schema/key_shapes.h"
#include "sim/scenario/scenario.h"

namespace weft::output {
namespace {

using Json = nlohmann::ordered_json;

// Says who wrote a schema: that of another version may not fit.
std::string written_by() { return fmt::format("written by weft {} ({})", version(), commit()); }

constexpr std::string_view kDraft = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view kNumberPattern = "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?";

Json pattern_of(const std::string& text) { return {{"type", "string"}, {"pattern", "^" + text + "$"}}; }

Json with_units(const std::vector<std::string_view>& units) {
  std::string all;
  for (const std::string_view unit : units) all += (all.empty() ? "" : "|") + std::string{unit};
  return pattern_of(fmt::format("{} *({})", kNumberPattern, all));
}

Json number_or(Json text) { return {{"anyOf", {{{"type", "number"}}, std::move(text)}}}; }

// A name as YAML may read it: plain 1 and true are no strings there.
Json names_schema(const std::set<std::string>& names) {
  Json values = Json::array();
  for (const std::string& name : names) {
    values.push_back(name);
    if (const auto number = parse_integer(name)) values.push_back(*number);
    if (const auto truth = parse_bool(name)) values.push_back(*truth);
  }
  return {{"enum", std::move(values)}};
}

std::set<std::string> split(std::string_view list) {
  std::set<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = list.find(", ");
    names.emplace(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 2);
  }
  return names;
}

Json reference(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

// By the words of ParamReader, with _ for spaces.
Json scalar_definitions() {
  return {{"text", {{"type", {"string", "number", "boolean"}}}},
          {"true_or_false", {{"enum", {true, false, "true", "false"}}}},
          {"integer", {{"anyOf", {{{"type", "integer"}}, pattern_of("-?(0|[1-9][0-9]*)")}}}},
          {"number", number_or(pattern_of(std::string{kNumberPattern}))},
          {"ratio", number_or(pattern_of(fmt::format("{}( *%)?", kNumberPattern)))},
          {"duration", with_units(duration_units())},
          {"size", with_units(byte_units())},
          {"bandwidth", with_units(bandwidth_units())}};
}

// None: not a scalar.
std::optional<Json> scalar_schema(const std::string& type) {
  constexpr std::string_view kChoice = "choice of ";
  static const Json kDefinitions = scalar_definitions();
  const std::string name = type == "true or false" ? "true_or_false" : type;
  if (kDefinitions.contains(name)) return reference(name);
  if (type.starts_with(kChoice)) return names_schema(split(std::string_view{type}.substr(kChoice.size())));
  return std::nullopt;
}

// Keys that a user names have shapes of their own where they were read. All become one.
void unite(KeyShape& into, KeyShape& from) {
  into.types.insert(from.types.begin(), from.types.end());
  into.names.insert(from.names.begin(), from.names.end());
  into.readings += from.readings;
  into.was_read |= from.was_read;
  if (!from.kind.empty()) into.kind = from.kind;
  for (auto& [key, shape] : from.keys) {
    std::unique_ptr<KeyShape>& place = into.keys[key];
    if (place == nullptr) place = std::make_unique<KeyShape>();
    place->required += shape->required;
    place->asked_absent += shape->asked_absent;
    place->may_lack |= shape->may_lack;
    unite(*place, *shape);
  }
  if (from.items != nullptr) {
    if (into.items == nullptr) into.items = std::make_unique<KeyShape>();
    unite(*into.items, *from.items);
  }
}

void fold_user_keys(KeyShape& map) {
  const bool is_free = map.keys.contains(std::string{kAnyKey}) || (!map.was_read && !map.keys.empty());
  if (is_free) {
    map.others = std::make_unique<KeyShape>();
    for (auto at = map.keys.begin(); at != map.keys.end();) {
      if (at->second->asked_absent > 0) {
        ++at;
        continue;
      }
      if (at->first != kAnyKey) unite(*map.others, *at->second);
      at = map.keys.erase(at);
    }
  }
  for (auto& [key, shape] : map.keys) fold_user_keys(*shape);
  if (map.items != nullptr) fold_user_keys(*map.items);
  if (map.others != nullptr) fold_user_keys(*map.others);
}

Json value_schema(const KeyShape& shape);

void add_keys(const KeyShape& map, Json& schema) {
  if (!map.was_read && map.others == nullptr) return;
  Json properties = Json::object();
  for (const auto& [key, shape] : map.keys) properties[key] = value_schema(*shape);
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (map.others == nullptr) {
    schema["additionalProperties"] = false;
  } else {
    schema["additionalProperties"] = value_schema(*map.others);
  }
}

Json map_schema(const KeyShape& map) {
  Json schema{{"type", "object"}};
  add_keys(map, schema);
  return schema;
}

Json list_schema(const KeyShape& shape, const std::string& type) {
  Json schema{{"type", "array"}};
  if (shape.items != nullptr && shape.items->was_read) {
    schema["items"] = map_schema(*shape.items);
  } else if (const std::optional<Json> item = scalar_schema(type)) {
    schema["items"] = *item;
  }
  return schema;
}

// A value that is read as it stands may be anything, but a map in it that a reader reads has its keys.
Json any_schema(const KeyShape& shape) {
  Json schema = Json::object();
  if (!shape.names.empty()) schema["if"] = {{"type", "string"}}, schema["then"] = names_schema(shape.names);
  add_keys(shape, schema);
  if (shape.items != nullptr) schema["items"] = any_schema(*shape.items);
  return schema;
}

Json value_schema(const KeyShape& shape) {
  constexpr std::string_view kList = "list of ";
  if (!shape.kind.empty()) return {{"anyOf", {{{"type", {"string", "number"}}}, reference(shape.kind + "_keys")}}};
  if (shape.types.empty() || shape.types.contains("any")) {
    return any_schema(shape);
  }
  std::vector<Json> forms;
  const auto add = [&forms](Json form) {
    if (std::ranges::find(forms, form) == forms.end()) forms.push_back(std::move(form));
  };
  for (const std::string& type : shape.types) {
    if (type == "map" || type == "map or file") {
      add(map_schema(shape));
      if (type != "map") add({{"type", "string"}});
    } else if (type.starts_with(kList)) {
      add(list_schema(shape, type.substr(kList.size())));
    } else if (type == "text" && !shape.names.empty()) {
      add(names_schema(shape.names));
    } else if (std::optional<Json> scalar = scalar_schema(type)) {
      add(std::move(*scalar));
    }
  }
  Json schema = forms.size() == 1 ? std::move(forms.front()) : Json{{"anyOf", std::move(forms)}};
  if (shape.default_values.size() == 1 && *shape.default_values.begin() != "{}")
    schema["description"] = fmt::format("default: {}", *shape.default_values.begin());
  return schema;
}

// Only what must be there: apart from the rest, as a map laid over a base need not have it.
Json required_schema(const KeyShape& map) {
  Json schema = Json::object();
  Json required = Json::array();
  Json properties = Json::object();
  for (const auto& [key, shape] : map.keys) {
    if (map.readings > 0 && shape->required == map.readings && !shape->may_lack) required.push_back(key);
    if (!shape->kind.empty()) {
      if (!shape->is_laid_over) properties[key] = {{"if", {{"type", "object"}}}, {"then", reference(shape->kind)}};
      continue;
    }
    if (Json inner = required_schema(*shape); !inner.empty()) properties[key] = std::move(inner);
  }
  if (!required.empty()) schema["required"] = std::move(required);
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (map.items != nullptr) {
    if (Json inner = required_schema(*map.items); !inner.empty()) schema["items"] = std::move(inner);
  }
  if (map.others != nullptr) {
    if (Json inner = required_schema(*map.others); !inner.empty()) schema["additionalProperties"] = std::move(inner);
  }
  if (schema.empty() || !map.types.contains("map or file")) return schema;
  return {{"if", {{"required", {"extends"}}}}, {"else", std::move(schema)}};
}

Json parameter_value(const ParamInfo& info) {
  constexpr std::array<std::string_view, 5> kTypes{"duration", "size", "bandwidth", "number", "integer"};
  const std::string type{kTypes[info.default_value.index()]};
  if (type != "number") return *scalar_schema(type);
  if (info.unit.empty()) return *scalar_schema("ratio");
  return {{"anyOf", {*scalar_schema("ratio"), {{"type", "string"}, {"pattern", "^[0-9.eE+-]+ ?" + info.unit + "$"}}}}};
}

// Every parameter there is, with what it means.
Json parameters_schema(const KeyShape& one, Json& definitions) {
  Json properties = Json::object();
  definitions["parameter"] = map_schema(one);
  definitions["parameter"]["required"] = {"value", "source"};
  for (const ParamGroupBase* group : scenario::all_param_groups()) {
    for (const ParamInfo& info : group->infos()) {
      properties[info.key] = {
          {"description", info.description}, {"$ref", "#/$defs/parameter"}, {"properties", {{"value", parameter_value(info)}}}};
    }
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

// The keys of a whole file, and what must be among them.
void define(Json& definitions, const std::string& kind, KeyShape& root) {
  fold_user_keys(root);
  if (!root.was_read && root.items != nullptr) {  // a file that is a list
    definitions[kind] = {{"allOf", {list_schema(root, {}), required_schema(root)}}};
    return;
  }
  Json keys = map_schema(root);
  if (kind == "profile") {
    const auto parameters = root.keys.find("parameters");
    if (parameters != root.keys.end() && parameters->second->others != nullptr)
      keys["properties"]["parameters"] = parameters_schema(*parameters->second->others, definitions);
  }
  keys["properties"]["extends"] = {{"type", "string"}, {"description", "the file that this one is laid over"}};
  Json required = required_schema(root);
  if (kind == "profile" && required.contains("properties")) required["properties"].erase("parameters");
  if (kind == "cluster" || kind == "scenario") {
    // A map that is laid over such a file may name keys by their paths.
    Json changes = keys;
    changes["patternProperties"] = {{"[.\\[]", Json::object()}};
    definitions[kind + "_changes_keys"] = std::move(changes);
  }
  definitions[kind + "_keys"] = std::move(keys);
  Json whole = reference(kind + "_keys");
  if (!required.empty()) {
    whole["if"] = {{"anyOf", {{{"required", {"extends"}}}, {{"required", {"base"}}}}}};
    whole["then"] = true;
    whole["else"] = std::move(required);
  }
  definitions[kind] = std::move(whole);
}

// Says of each part that is a file of its own which kind it is; of what is laid over one, that it is a part of such a file.
void mark_parts(const std::string& kind, KeyShape& root) {
  const auto mark = [&root](std::string_view path, std::string of) {
    if (KeyShape* shape = find_shape(root, path)) shape->kind = std::move(of);
  };
  for (const PartOfItsOwn& one : parts_of_their_own()) {
    if (one.kind == kind) mark(one.path, std::string{one.part});
  }
  const auto mark_changes = [&](std::string_view path, std::string of) {
    mark(path, std::move(of));
    if (KeyShape* shape = find_shape(root, path)) shape->is_laid_over = true;
  };
  if (kind == "scenario" || kind == "goodput") mark_changes("overrides", "cluster_changes");
  if (kind == "sweep") mark_changes("set", "scenario_changes");
}

// Every result has these; what else it has, and what is in it, depends on what was asked.
constexpr std::string_view kHeadOfResults[] = {"version",       "commit",  "command",  "command_line", "seed",
                                               "configuration", "profile", "warnings", "digest",       "interrupted"};

// A key such as "workload.batch.micro" or "too many GPUs" stands for what the user asked, and the next result has others.
bool is_named_by_us(const std::string& key) {
  return key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
}

// The schema of one value of each kind in a list, of everything that some example has.
Json example_schema(const std::vector<const Json*>& values) {
  std::set<std::string> types;
  std::vector<const Json*> items;
  std::map<std::string, std::vector<const Json*>> members;
  std::vector<std::string> order;
  std::size_t objects = 0;
  for (const Json* value : values) {
    if (value->is_object()) {
      types.insert("object");
      ++objects;
      for (const auto& [key, member] : value->items()) {
        if (!is_named_by_us(key)) continue;
        if (!members.contains(key)) order.push_back(key);
        members[key].push_back(&member);
      }
    } else if (value->is_array()) {
      types.insert("array");
      for (const Json& item : *value) items.push_back(&item);
    } else if (value->is_number()) {
      types.insert("number");
    } else {
      types.insert(value->type_name());
    }
  }
  // Any value may be missing in the next result, and null stands for it; of one that no example has, nothing is known.
  if (types.size() == 1 && types.contains("null")) return Json::object();
  if (!types.contains("object") && !types.contains("array")) types.insert("null");
  Json schema = Json::object();
  if (types.size() == 1) schema["type"] = *types.begin();
  if (types.size() > 1) schema["type"] = types;
  if (!items.empty()) schema["items"] = example_schema(items);
  Json required = Json::array();
  for (const std::string& key : order) {
    if (members[key].size() == objects && std::ranges::find(kHeadOfResults, key) != std::end(kHeadOfResults))
      required.push_back(key);
    schema["properties"][key] = key == "configuration" ? Json::object() : example_schema(members[key]);
  }
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace

std::string yaml_schema(const std::string& kind) {
  KeyShapes shapes = explore(kind);
  Json definitions = scalar_definitions();
  for (const std::string& one : kinds_within(kind)) {
    mark_parts(one, shapes.of(one));
    define(definitions, one, shapes.of(one));
  }
  const Json schema{{"$schema", kDraft},
                    {"$comment", written_by()},
                    {"title", fmt::format("Weft: a file of kind {}", kind)},
                    {"$ref", "#/$defs/" + kind},
                    {"$defs", std::move(definitions)}};
  return schema.dump(1) + "\n";
}

bool is_schema_of_this_version(const std::string& text) { return text.find(written_by()) != std::string::npos; }

std::string result_schema(const std::string& title, const std::vector<std::string>& examples) {
  std::vector<Json> read;
  for (const std::string& example : examples) read.push_back(Json::parse(example));
  std::vector<const Json*> values;
  for (const Json& value : read) values.push_back(&value);
  Json schema{{"$schema", kDraft}, {"$comment", written_by()}, {"title", title}};
  schema.update(example_schema(values));
  return schema.dump(1) + "\n";
}

}  // namespace weft::output
