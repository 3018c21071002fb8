// The JSON of nccl-tests -J (models/nccl §8.4). Numbers may stand in quotes (the root does, padded with blanks).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/collectives/call.h"
#include "sim/core/words.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/nccl_tests_log.h"
#include "sim/measured/readers/nccl_tests_parser.h"
#include "sim/measured/readers/point_log.h"
#include "sim/measured/readers/text_lines.h"
#include "sim/scenario/collective_sweep.h"

namespace weft::measured::detail {
namespace {

using detail::Json;

constexpr std::size_t kMaxFileBytes = 64U << 20;  // per-iteration times of a long sweep stay below this
constexpr int kMaxDepth = 16;                     // nccl-tests nests five levels

std::string read_all(std::istream& input, const std::string& file) {
  std::string text;
  std::string chunk(1U << 16, '\0');
  while (input.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), input.gcount() > 0) {
    text.append(chunk, 0, static_cast<std::size_t>(input.gcount()));
    if (text.size() > kMaxFileBytes) {
      throw ConfigError({at_line(file, 0, fmt::format("JSON of more than {} MiB", kMaxFileBytes >> 20))});
    }
  }
  return text;
}

Location location_of(const std::string& text, std::size_t offset, const std::string& file) {
  offset = std::min(offset, text.size());
  const std::size_t line_start = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
  return {file, static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n')) + 1,
          static_cast<int>(std::min<std::size_t>(offset - line_start, std::numeric_limits<int>::max() - 1)) + 1};
}

// Reads values by path; a value that is missing or of another kind is an error naming the path.
class JsonReader {
 public:
  JsonReader(const std::string& file, LogErrors& errors) : file_{file}, errors_{errors} {}

  const Json& member(const Json& object, const std::string& path, const char* key, Json::value_t kind,
                     std::string_view expected) {
    static const Json kNothing;
    const auto found = object.is_object() ? object.find(key) : object.end();
    const std::string place = path.empty() ? std::string{key} : path + "." + key;
    if (!object.is_object() || found == object.end()) {
      error(fmt::format("{}: missing, expected {}", place, expected));
      return kNothing;
    }
    if (found->type() != kind) {
      error(fmt::format("{}: expected {}, got {}", place, expected, shown(*found)));
      return kNothing;
    }
    return *found;
  }

  double real(const Json& object, const std::string& path, const char* key, double min, double max, double otherwise) {
    const auto found = object.find(key);
    const std::optional<double> value = found == object.end() ? std::nullopt : number<double>(*found);
    if (value && *value >= min && *value <= max) return *value;
    error(fmt::format("{}.{}: expected a number from {} to {}, got {}", path, key, min, max,
                      found == object.end() ? std::string{"nothing"} : shown(*found)));
    return otherwise;
  }

  std::int64_t whole(const Json& object, const std::string& path, const char* key, std::int64_t min, std::int64_t max,
                     std::int64_t otherwise) {
    const auto found = object.find(key);
    if (found != object.end()) {
      if (const auto value = number<std::int64_t>(*found); value && *value >= min && *value <= max) return *value;
    }
    error(fmt::format("{}.{}: expected a whole number from {} to {}, got {}", path, key, min, max,
                      found == object.end() ? std::string{"nothing"} : shown(*found)));
    return otherwise;
  }

  static std::string text(const Json& object, const char* key, std::size_t limit) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? printable(trim(found->get_ref<const std::string&>()), limit) : "";
  }

  void error(std::string message) { errors_.add(at_line(file_, 0, std::move(message))); }

  template <class Number>
  static std::optional<Number> number(const Json& value) {
    if (value.is_string()) return number_from<Number>(trim(value.get_ref<const std::string&>()));
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return std::nullopt;
    }
    if (value.is_number_integer()) return static_cast<Number>(value.get<std::int64_t>());
    if constexpr (std::is_floating_point_v<Number>) {
      if (value.is_number()) return value.get<Number>();
    }
    return std::nullopt;
  }

  static std::string shown(const Json& value) {
    return printable(value.dump(-1, ' ', true, Json::error_handler_t::replace), 60);
  }

 private:
  const std::string& file_;
  LogErrors& errors_;
};

void read_settings(JsonReader& reader, const Json& root, NcclTestsLog& log) {
  const Json& config = reader.member(root, "", "config", Json::value_t::object, "the settings of the run");
  if (!config.is_object()) return;
  constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMaxCount = 1'000'000'000;
  const auto count = [&](const char* key, std::int64_t min, std::int64_t max, int otherwise) {
    return static_cast<int>(config.contains(key) ? reader.whole(config, "config", key, min, max, otherwise) : otherwise);
  };
  log.threads = static_cast<int>(reader.whole(config, "config", "nthreads", 1, kMaxPerProcess, 1));
  log.gpus_per_thread = static_cast<int>(reader.whole(config, "config", "ngpus", 1, kMaxPerProcess, 1));
  log.min_bytes = Bytes{reader.whole(config, "config", "minimum_bytes", 0, kMaxBytes, 0)};
  log.max_bytes = Bytes{reader.whole(config, "config", "maximum_bytes", 0, kMaxBytes, 0)};
  log.step.is_factor = config.contains("step_factor");
  const char* step = log.step.is_factor ? "step_factor" : "step_bytes";
  if (config.contains(step)) log.step.value = reader.whole(config, "config", step, 0, kMaxBytes, 0);
  log.iterations = count("iterations", 1, kMaxCount, log.iterations);
  log.warmup_iterations = count("warmup_iters", 0, kMaxCount, log.warmup_iterations);
  log.aggregated_iterations = count("aggregated_iterations", 1, kMaxCount, 1);
  log.graph_launches = count("graph", 0, kMaxCount, 0);

  const bool is_inside = config.contains("devices") || !root.contains("devices");
  const Json& devices = reader.member(is_inside ? config : root, is_inside ? "config" : "", "devices", Json::value_t::array,
                                      "the list of devices");
  if (!devices.is_array()) return;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string path = fmt::format("{}devices[{}]", is_inside ? "config." : "", i);
    if (!devices[i].is_object()) {
      reader.error(fmt::format("{}: expected a device, got {}", path, JsonReader::shown(devices[i])));
      continue;
    }
    log.devices.push_back({.rank = static_cast<Rank>(reader.whole(devices[i], path, "rank", 0, kMaxRanks, 0)),
                           .group = static_cast<int>(reader.whole(devices[i], path, "group", 0, kMaxRanks, 0)),
                           .host = JsonReader::text(devices[i], "hostname", 100),
                           .device = static_cast<int>(reader.whole(devices[i], path, "device", 0, kMaxRanks, 0)),
                           .bus_id = JsonReader::text(devices[i], "device_hex", 40),
                           .name = JsonReader::text(devices[i], "device_info", 100)});
  }
}

std::optional<NcclTestsTiming> read_half(JsonReader& reader, const Json& row, const std::string& path, const char* key,
                                         NcclTestsLog& log) {
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return std::nullopt;
  const std::string place = path + "." + key;
  if (!found->is_object()) {
    reader.error(fmt::format("{}: expected time and bandwidths, got {}", place, JsonReader::shown(*found)));
    return std::nullopt;
  }
  const bool is_cpu_time = found->contains("cpu_time");
  log.is_cpu_time = log.is_cpu_time || is_cpu_time;
  NcclTestsTiming timing;
  timing.time_us = reader.real(*found, place, is_cpu_time ? "cpu_time" : "time", 0, kMaxTimeUs, 0);
  // Bandwidths may be "nan" or infinite where nothing was moved.
  const auto bandwidth = [&](const char* name) {
    const auto value = found->find(name);
    return value == found->end() ? 0.0 : JsonReader::number<double>(*value).value_or(0.0);
  };
  timing.algbw_gigabytes_per_second = bandwidth("alg_bw");
  timing.busbw_gigabytes_per_second = bandwidth("bus_bw");
  if (const auto wrong = found->find("nwrong"); wrong != found->end()) timing.wrong = JsonReader::number<double>(*wrong);
  return timing;
}

void read_rows(JsonReader& reader, const Json& root, NcclTestsLog& log) {
  const Json& results = reader.member(root, "", "results", Json::value_t::array, "the list of rows");
  if (!results.is_array()) return;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < results.size() && i < kMaxRows; ++i) {
    const std::string path = fmt::format("results[{}]", i);
    const Json& row = results[i];
    if (!row.is_object()) {
      reader.error(fmt::format("{}: expected a row, got {}", path, JsonReader::shown(row)));
      continue;
    }
    NcclTestsRow result;
    result.bytes = Bytes{reader.whole(row, path, "size", 0, coll::kLargestCall.count(), 0)};
    result.count = reader.whole(row, path, "count", 0, kMax, 0);
    result.type = JsonReader::text(row, "type", 40);
    result.redop = JsonReader::text(row, "redop", 40);
    result.root = static_cast<int>(reader.whole(row, path, "root", -1, kMaxRanks, -1));
    result.out_of_place = read_half(reader, row, path, "out_of_place", log);
    result.in_place = read_half(reader, row, path, "in_place", log);
    log.rows.push_back(std::move(result));
  }
}

}  // namespace

NcclTestsLog read_nccl_tests_json(std::istream& input, const std::string& file) {
  const std::string text = read_all(input, file);
  Json root;
  try {
    root = Json::parse(text, [&file](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) throw ConfigError({at_line(file, 0, fmt::format("JSON nested over {} levels deep", kMaxDepth))});
      return true;
    });
  } catch (const Json::parse_error& e) {
    // nlohmann counts bytes from 1 and stands behind the byte it refuses.
    Diagnostic diagnostic{.where = location_of(text, e.byte == 0 ? 0 : e.byte - 1, file),
                          .message = e.byte > text.size() ? "the JSON ends before it is complete" : "not well-formed JSON",
                          .source_line = {},
                          .length = 1,
                          .note = e.byte > text.size() ? "nccl-tests completes the file when the run ends" : ""};
    throw ConfigError({std::move(diagnostic)});
  } catch (const Json::exception&) {
    throw ConfigError({at_line(file, 1, "not well-formed JSON: a number is out of range")});
  }
  if (!root.is_object() || (!root.contains("results") && !root.contains("config"))) {
    Diagnostic diagnostic = at_line(file, 1, "JSON, but not of nccl-tests: neither 'config' nor 'results' is there");
    diagnostic.note = "read are nccl-tests' logs and JSON";
    for (const MeasurementFormat* format : measurement_formats())
      diagnostic.note += fmt::format("; {} ({})", format->name, format->summary);
    throw ConfigError({std::move(diagnostic)});
  }

  NcclTestsLog log;
  log.file = file;
  LogErrors errors;
  JsonReader reader(file, errors);
  if (const auto args = root.find("args");
      args != root.end() && args->is_array() && !args->empty() && args->front().is_string()) {
    log.collective = scenario::nccl_tests_collective_name(args->front().get_ref<const std::string&>());
  }
  if (const auto env = root.find("env"); env != root.end() && env->is_array()) {
    for (const Json& entry : *env) {  // the whole environment of the process
      if (!entry.is_string()) continue;
      const std::string_view setting = entry.get_ref<const std::string&>();
      const std::size_t equals = setting.find('=');
      if (!setting.starts_with("NCCL_") || equals == std::string_view::npos) continue;
      add_env(log, setting.substr(0, equals), setting.substr(equals + 1), {file, 1, 1}, false);
    }
  }
  if (const auto version = root.find("nccl_version"); version != root.end()) log.library_version = JsonReader::shown(*version);
  read_settings(reader, root, log);
  read_rows(reader, root, log);
  finish_log(log, true, 0, errors);
  errors.throw_if_any();
  if (log.rows.empty()) log.warnings.push_back(at_line(file, 0, "the log holds no rows"));
  return log;
}

}  // namespace weft::measured::detail
