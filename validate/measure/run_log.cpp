#include "run_log.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "host_facts.h"
#include "json_line.h"
#include "perftest.h"

namespace weft::measure {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

JsonObject env_json(const Environment& env) {
  JsonObject json;
  for (const auto& [name, value] : env) json.add(name, value);
  return json;
}

std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw UsageError("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void add_if(JsonObject& record, const char* key, const std::optional<double>& value) {
  if (value) record.add(key, *value);
}

}  // namespace

Environment merged(Environment outer, const Environment& inner) {
  for (const auto& [name, value] : inner) {
    const auto found =
        std::find_if(outer.begin(), outer.end(), [&name = name](const auto& entry) { return entry.first == name; });
    if (found == outer.end()) {
      outer.emplace_back(name, value);
    } else {
      found->second = value;
    }
  }
  std::sort(outer.begin(), outer.end());
  return outer;
}

RunLog::RunLog(const Options& options) : options_{options}, begin_s_{now_s()} {
  const bool exists = std::filesystem::is_regular_file(options.output) && std::filesystem::file_size(options.output) > 0;
  if (exists && !options.resume && !options.force) {
    throw UsageError(options.output + " exists; --resume goes on with it, --force overwrites it");
  }
  if (exists && options.resume) {
    earlier_ = scan_earlier_run(content_of(options.output));
    if (!earlier_.has_header && earlier_.whole_bytes > 0) throw UsageError(options.output + " is no measurement file");
  }
  file_ = std::make_unique<MeasurementFile>(options.output, earlier_.whole_bytes);
  sequence_ = earlier_.last_sequence;
  if (earlier_.dropped_bytes > 0) {
    std::fprintf(stderr, "%s: its last line was cut; it is dropped\n", options.output.c_str());
  }
}

double RunLog::elapsed_s() const { return now_s() - begin_s_; }

void RunLog::write(JsonObject& record) { file_->write_line(record.text()); }

void RunLog::begin(const std::string& machine, const Environment& env, std::size_t planned) {
  JsonObject record;
  if (!earlier_.has_header) record.add("weft_measurements", 1);
  record.add("kind", earlier_.has_header ? "resume" : "header").add("sequence", earlier_.has_header ? ++sequence_ : 0);
  record.add("tool", "weft-measure").add("tool_version", WEFT_MEASURE_VERSION).add("set", to_string(options_.points));
  record.add("date", utc_now()).add("seed", options_.seed).add("budget_s", options_.budget()).add("planned", planned);
  record.add("env", env_json(env)).add_raw("machine", machine);
  write(record);
}

void RunLog::point(const Point& point, const std::string& members, const std::optional<Environment>& env) {
  JsonObject record;
  record.add("kind", point.kind).add("sequence", ++sequence_).add("id", point.id());
  record.add("set", to_string(point.set)).add("at_s", elapsed_s());
  if (env) record.add("env", env_json(*env));
  file_->write_line("{" + record.members() + ", " + members + "}");
  ++measured_;
}

void RunLog::skip(const std::string& what, const std::string& reason, const std::string& id) {
  JsonObject record;
  record.add("kind", "skip").add("sequence", ++sequence_).add("what", what).add("reason", reason);
  if (!id.empty()) record.add("id", id);
  write(record);
}

void RunLog::end(const char* reason, std::size_t planned) {
  JsonObject record;
  record.add("kind", "end").add("sequence", ++sequence_).add("reason", reason).add("measured", measured_);
  record.add("planned", planned).add("elapsed_s", elapsed_s());
  write(record);
}

void RunLog::perftest(const std::string& path) {
  const PerftestLog log = read_perftest(content_of(path));
  if (log.rows.empty()) throw UsageError(path + " holds no table of a perftest program");
  for (const PerftestRow& row : log.rows) {
    JsonObject record;
    const std::string id = "nic tool=" + log.tool + " device=" + log.device + " bytes=" + std::to_string(row.bytes);
    record.add("kind", "nic").add("sequence", ++sequence_).add("id", id).add("set", "full");
    record.add("tool", log.tool).add("device", log.device).add("bytes", row.bytes).add("iterations", row.iterations);
    add_if(record, "GBps", row.GBps);
    add_if(record, "peak_GBps", row.peak_GBps);
    add_if(record, "min_us", row.min_us);
    add_if(record, "max_us", row.max_us);
    add_if(record, "median_us", row.median_us);
    add_if(record, "mean_us", row.mean_us);
    add_if(record, "p99_us", row.p99_us);
    write(record.add("gpu_direct", log.gpu_direct));
  }
}

}  // namespace weft::measure
