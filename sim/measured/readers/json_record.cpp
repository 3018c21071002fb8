#include "sim/measured/readers/json_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <iterator>
#include <utility>

#include "sim/workloads/trace/shallow_json.h"

namespace weft::measured::detail {
namespace {

constexpr double kMostWhole = 9e15;  // exact as a double
constexpr std::size_t kMostBytes = 64U << 20;

const Json kEmptyObject = Json::object();

}  // namespace

JsonRecord::JsonRecord(const Json& object, const std::string& file, int line, std::string path)
    : object_{object}, file_{file}, line_{line}, path_{std::move(path)} {
  if (!object_.is_object()) fail("expected a JSON object");
}

void JsonRecord::fail(const std::string& message) const {
  throw ConfigError({{.where = {file_, line_, line_ > 0 ? 1 : 0},
                      .message = path_.empty() ? message : fmt::format("{}: {}", path_, message),
                      .source_line = {},
                      .length = 1,
                      .note = {}}});
}

double JsonRecord::number(const char* key, double otherwise) const {
  if (!has(key)) return otherwise;
  const Json& value = object_[key];
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    fail(fmt::format("{}: expected a number, got {}", key, value.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return value.get<double>();
}

double JsonRecord::required_time(const char* key) const {
  const double value = number(key, -1);
  if (!(value > 0)) fail(fmt::format("{}: expected a time above 0", key));
  return value;
}

std::int64_t JsonRecord::whole(const char* key, std::int64_t otherwise) const {
  const double value = number(key, static_cast<double>(otherwise));
  if (value != std::floor(value) || std::abs(value) > kMostWhole) fail(fmt::format("{}: expected a whole number", key));
  return static_cast<std::int64_t>(value);
}

int JsonRecord::whole_within(const char* key, int otherwise, int least, int most) const {
  const std::int64_t value = whole(key, otherwise);
  if (value < least || value > most) fail(fmt::format("{}: expected {} to {}, got {}", key, least, most, value));
  return static_cast<int>(value);
}

Bytes JsonRecord::bytes(const char* key) const {
  const std::int64_t value = whole(key, 0);
  if (value < 0) fail(fmt::format("{}: expected a number of bytes, got {}", key, value));
  return Bytes{value};
}

bool JsonRecord::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!object_[key].is_boolean()) fail(fmt::format("{}: expected true or false", key));
  return object_[key].get<bool>();
}

std::string JsonRecord::text(const char* key, std::string_view otherwise) const {
  if (!has(key)) return std::string{otherwise};
  if (!object_[key].is_string()) fail(fmt::format("{}: expected a text", key));
  return object_[key].get<std::string>();
}

std::map<std::string, std::string> JsonRecord::texts(const char* key) const {
  std::map<std::string, std::string> result;
  if (!has(key)) return result;
  if (!object_[key].is_object()) fail(fmt::format("{}: expected an object of texts", key));
  for (const auto& [name, value] : object_[key].items()) {
    if (!value.is_string()) fail(fmt::format("{}.{}: expected a text", key, name));
    result[name] = value.get<std::string>();
  }
  return result;
}

JsonRecord JsonRecord::object(const char* key) const {
  return {has(key) ? object_[key] : kEmptyObject, file_, line_, path_.empty() ? key : fmt::format("{}.{}", path_, key)};
}

std::vector<JsonRecord> JsonRecord::objects(const char* key) const {
  std::vector<JsonRecord> result;
  if (!has(key)) return result;
  if (!object_[key].is_array()) fail(fmt::format("{}: expected a list", key));
  for (std::size_t i = 0; i < object_[key].size(); ++i)
    result.emplace_back(object_[key][i], file_, line_, fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, i));
  return result;
}

std::vector<double> JsonRecord::numbers(const char* key) const {
  std::vector<double> result;
  if (!has(key)) return result;
  if (!object_[key].is_array()) fail(fmt::format("{}: expected a list of numbers", key));
  for (const Json& value : object_[key]) {
    if (!value.is_number()) fail(fmt::format("{}: expected a list of numbers", key));
    result.push_back(value.get<double>());
  }
  return result;
}

std::vector<std::vector<int>> JsonRecord::lists_of_ints(const char* key) const {
  std::vector<std::vector<int>> result;
  if (!has(key)) return result;
  const auto wrong = [&] { fail(fmt::format("{}: expected a list of lists of whole numbers", key)); };
  if (!object_[key].is_array()) wrong();
  for (const Json& inner : object_[key]) {
    if (!inner.is_array()) wrong();
    result.emplace_back();
    for (const Json& value : inner) {
      if (!value.is_number_integer() || value.get<double>() < -1 || value.get<double>() > 1e6) wrong();
      result.back().push_back(value.get<int>());
    }
  }
  return result;
}

Json parse_json_file(std::istream& input, const std::string& file) {
  std::string text;
  std::string chunk(1U << 16, '\0');
  while (input.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), input.gcount() > 0) {
    text.append(chunk, 0, static_cast<std::size_t>(input.gcount()));
    if (text.size() > kMostBytes) throw ConfigError(fmt::format("{}: JSON of more than {} MiB", file, kMostBytes >> 20));
  }
  Json tree = work::shallow_json(text);
  if (!tree.is_discarded()) return tree;
  std::size_t byte = text.size();
  const char* note = "a file that is still being written, or was cut?";
  try {
    const auto keep_none = [](int, Json::parse_event_t, Json&) { return false; };
    [[maybe_unused]] const Json none = Json::parse(text, keep_none);
    byte = 0;
    note = "nested more deeply than any measurement";
  } catch (const Json::parse_error& error) {
    byte = std::min(error.byte, text.size());
  } catch (const Json::out_of_range&) {
    byte = 0;
    note = "a number in it is too large";
  }
  const auto at = static_cast<std::ptrdiff_t>(byte);
  const auto line = static_cast<int>(std::count(text.begin(), text.begin() + at, '\n')) + 1;
  throw ConfigError(
      {{.where = {file, line, 1}, .message = "this is no JSON from here on", .source_line = {}, .length = 1, .note = note}});
}

}  // namespace weft::measured::detail
