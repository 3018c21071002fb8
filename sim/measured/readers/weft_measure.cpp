// Reads what `weft measure` writes (docs/measurement_format.md): JSON lines, one whole record each. A line counts if it ends in
// a newline, so that a file cut at any byte is read up to its last whole record, with a warning.
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <map>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/measured/point_kind.h"
#include "sim/measured/readers/formats.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/nccl_tests_parser.h"
#include "sim/measured/readers/text_lines.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/workloads/trace/shallow_json.h"

namespace weft::measured {
namespace {

using detail::Json;
using detail::JsonRecord;

constexpr int kVersion = 1;
constexpr std::string_view kOpening = "{\"weft_measurements\"";

// A file cut within these bytes is one too, of no record.
bool recognises_weft_measure(std::string_view head) {
  const std::size_t end = head.find('\n');
  if (end == head.npos && !head.empty() && kOpening.starts_with(head)) return true;
  return head.starts_with('{') && head.substr(0, end).find("\"weft_measurements\"") != head.npos;
}

// "22809" is 2.28.9 (nccl.h: major x 10000 + minor x 100 + patch).
std::string nccl_version(std::int64_t code) {
  return code < 10'000 ? std::string{} : fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

class MeasureReader {
 public:
  explicit MeasureReader(const std::string& file) { log_.file = file; }
  PointLog read(std::istream& input);

 private:
  void header(const JsonRecord& record);
  void take(const JsonRecord& record);
  void collective(const JsonRecord& record);
  MeasuredPoint point(const JsonRecord& record, const PointKind& kind) const;
  // Full clock of the first GPU's SMs over the one that the record states.
  double slowdown(const JsonRecord& record) const;
  void warn(int line, std::string message) {
    log_.warnings.push_back(
        {.where = {log_.file, line, 0}, .message = std::move(message), .source_line = {}, .length = 1, .note = {}});
  }

  PointLog log_;
  Digest digest_;
  bool ended_ = false;
  double full_mhz_ = 0;
  // By id and by what tells logs apart: a point measured again replaces the earlier one.
  std::map<std::string, std::size_t> points_by_id_;
  std::map<std::string, std::size_t> logs_by_key_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> rows_by_id_;
  std::vector<NcclTestsDevice> devices_;
};

void MeasureReader::header(const JsonRecord& record) {
  const std::int64_t version = record.whole("weft_measurements", 0);
  if (version != kVersion) record.fail(fmt::format("weft_measurements: this reads version {}, got {}", kVersion, version));
  const JsonRecord machine = record.object("machine");
  log_.nccl_version = nccl_version(machine.whole("nccl", 0));
  for (const JsonRecord& gpu : machine.objects("gpus")) {
    NcclTestsDevice device;
    device.device = gpu.whole_within("index", 0, 0, detail::kMaxRanks);
    device.rank = static_cast<Rank>(device.device);
    device.host = machine.text("hostname", "node");
    device.bus_id = gpu.text("pci");
    device.name = gpu.text("name");
    if (log_.gpu.empty()) log_.gpu = device.name;
    if (devices_.empty()) full_mhz_ = gpu.number("max_sm_mhz", 0);
    devices_.push_back(std::move(device));
  }
}

double MeasureReader::slowdown(const JsonRecord& record) const {
  const double mhz = record.object("clock").number("sm_mhz", 0);
  return mhz > 0 ? std::max(full_mhz_ / mhz, 1.0) : 1.0;
}

MeasuredPoint MeasureReader::point(const JsonRecord& record, const PointKind& kind) const {
  MeasuredPoint point;
  point.kind = kind.name;
  point.line = record.line();
  point.record_set = record.text("set");
  point.median_us = kind.states_time ? record.required_time("median_us") : record.number("median_us", 0);
  point.low_us = record.number("p25_us", 0);
  point.high_us = record.number("p75_us", 0);
  point.slowdown = slowdown(record);
  point.bytes = record.bytes("bytes");
  point.type = record.text("type");
  point.env = record.texts("env");
  for (const char* key : {"what", "op", "method", "case", "tool", "engine"}) {
    if (point.what.empty()) point.what = record.text(key);
  }
  point.m = record.dimension("m");
  point.n = record.dimension(record.has("n") ? "n" : "rows");
  point.k = record.dimension(record.has("k") ? "k" : "columns");
  point.batch = record.dimension("batch", 1);
  point.elements = record.whole("elements", 0);
  point.count = std::max<std::int64_t>(record.whole("nodes", 1), record.whole("threads", 1));
  point.sustained = record.flag("sustained", false);
  point.graph = record.text("launch") == "graph";
  if (kind.read != nullptr) kind.read(record, point);
  return point;
}

// Points that differ in nothing but their size make up one log of nccl-tests.
void MeasureReader::collective(const JsonRecord& record) {
  const std::string name = record.text("collective");
  if (record.text("check") == "wrong") {
    warn(record.line(),
         fmt::format("{} of {} B gave wrong data when it was measured: left out", name, record.whole("bytes", 0)));
    return;
  }
  const JsonRecord layout = record.object("layout");
  const std::map<std::string, std::string> env = record.texts("env");
  const bool graph = record.text("launch") == "graph";
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", name, record.whole("ranks", 0), layout.json().dump(), graph, record.text("set"),
                  record.text("type"), record.json().contains("env") ? record.json()["env"].dump() : "",
                  record.json().contains("gpus") ? record.json()["gpus"].dump() : "");
  const auto [known, is_new] = logs_by_key_.try_emplace(key, log_.collectives.size());
  if (is_new) {
    NcclTestsLog log;
    log.file = log_.file;
    log.collective = name == "pair" ? std::string{"pair"} : scenario::nccl_tests_collective_name(name);
    if (log.collective.empty()) record.fail(fmt::format("collective: nothing is known of '{}'", name));
    log.threads = layout.whole_within("threads", 1, 1, detail::kMaxRanks);
    log.gpus_per_thread = layout.whole_within("gpus_per_thread", 1, 1, detail::kMaxRanks);
    log.processes = layout.whole_within("processes", 1, 1, detail::kMaxRanks);
    log.ranks = record.whole_within("ranks", 0, 0, detail::kMaxRanks);
    log.nodes = record.whole_within("nodes", 1, 1, detail::kMaxRanks);
    log.graph_launches = graph ? 1 : 0;
    log.same_buffers = true;
    log.library_version = log_.nccl_version;
    log.env = env;
    Rank rank = 0;
    for (const double gpu : record.numbers("gpus")) {
      for (NcclTestsDevice device : devices_) {
        if (device.device != static_cast<int>(gpu)) continue;
        device.rank = rank++;
        log.devices.push_back(std::move(device));
      }
    }
    log_.collectives.push_back(std::move(log));
    log_.collective_sets.push_back(record.text("set"));
  }
  NcclTestsLog& log = log_.collectives[known->second];
  NcclTestsRow row;
  row.bytes = record.bytes("bytes");
  row.count = record.whole("count", 0);
  row.type = record.text("type", "float");
  row.communicator = record.whole_within("communicator", 1, 0, detail::kMaxRanks);
  row.redop = record.text("redop", "none");
  row.root = record.whole_within("root", -1, -1, detail::kMaxRanks);
  row.iterations = record.whole_within("inner", 1, 1, detail::kMostCalls);
  row.host_us = record.number("host_us", 0);
  row.slowdown = slowdown(record);
  row.line = record.line();
  NcclTestsTiming timing;
  timing.time_us = record.required_time("median_us");
  timing.algbw_gigabytes_per_second = record.number("algbw_GBps", 0);
  timing.busbw_gigabytes_per_second = record.number("busbw_GBps", 0);
  (record.flag("in_place", false) ? row.in_place : row.out_of_place) = timing;
  const auto [place, fresh] = rows_by_id_.try_emplace(record.text("id"), known->second, log.rows.size());
  if (!fresh && place->second.first == known->second) {
    log.rows[place->second.second] = std::move(row);
  } else {
    log.rows.push_back(std::move(row));
  }
}

void MeasureReader::take(const JsonRecord& record) {
  const std::string kind = record.text("kind");
  if (kind == "skip") {
    const std::string what = record.text("what");
    log_.skipped.push_back(fmt::format("{}: {}", what, record.text("reason", "not measured")));
  } else if (kind == "end") {
    ended_ = true;
    if (const std::string reason = record.text("reason"); reason != "finished") {
      warn(record.line(), fmt::format("the run ended early ({}): {} of {} points were measured", reason,
                                      record.whole("measured", 0), record.whole("planned", 0)));
    }
  } else if (kind == "resume") {
    ended_ = false;
  } else if (kind == "collective") {
    collective(record);
  } else if (const PointKind* known_kind = find_point_kind(kind); known_kind != nullptr && known_kind->predict != nullptr) {
    MeasuredPoint measured = point(record, *known_kind);
    const std::string id = record.text("id");
    const auto [known, is_new] =
        points_by_id_.try_emplace(id.empty() ? fmt::format("#{}", record.line()) : id, log_.points.size());
    if (is_new)
      log_.points.push_back(std::move(measured));
    else
      log_.points[known->second] = std::move(measured);
  } else {
    warn(record.line(), fmt::format("records of kind '{}' are not known here: left out", kind));
  }
}

PointLog MeasureReader::read(std::istream& input) {
  LineReader lines{input, log_.file};
  bool has_header = false;
  bool cut = false;
  while (lines.next()) {
    if (!lines.terminated()) {
      cut = true;
      warn(lines.number(), has_header ? "the file ends within a record: read up to the last whole one"
                                      : "the file ends within its first line: no record is whole");
      break;
    }
    if (lines.text().empty()) continue;
    const Json json = work::shallow_json(lines.text());
    const JsonRecord record{json, log_.file, lines.number()};
    if (!has_header) {
      header(record);
      has_header = true;
      continue;
    }
    digest_.add(lines.text());
    take(record);
  }
  if (!ended_ && !cut) warn(lines.number(), "the run did not end: what it had measured is read");
  for (NcclTestsLog& log : log_.collectives) {
    std::stable_sort(log.rows.begin(), log.rows.end(),
                     [](const NcclTestsRow& a, const NcclTestsRow& b) { return a.bytes < b.bytes; });
  }
  log_.digest = digest_.hex();
  return std::move(log_);
}

}  // namespace

const MeasurementFormat weft_measure_format{
    .name = "weft measure",
    .summary = "JSON lines of `weft measure`: all kinds of points",
    .recognises = recognises_weft_measure,
    .read = [](std::istream& input, const std::string& file) { return MeasureReader{file}.read(input); }};

}  // namespace weft::measured
