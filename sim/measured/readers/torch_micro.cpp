// Reads micro.json: one-process microbenchmarks by PyTorch (kernel launch, GEMMs, memory-bound kernels, attention, copies).
// Times are [median, shortest, longest] in microseconds; copy patterns state the bandwidth of all copies together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/measured/readers/formats.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/nccl_tests_parser.h"

namespace weft::measured {
namespace {

using detail::Json;
using detail::JsonRecord;

constexpr std::int64_t kBf16 = 2;
constexpr std::int64_t kPatternBytes = 256 * detail::kMiB;  // of each copy of a pattern

bool recognises_torch_micro(std::string_view head) {
  // Whichever of its blocks comes first.
  constexpr std::array<std::string_view, 7> kBlocks{
      "\"cpu_us_per_torch_op\"",     "\"memory\"",   "\"attention\"", "\"h2d\"", "\"p2p\"",
      "\"p2p_patterns_GBps_total\"", "\"gemm_bf16\""};
  const bool has_times = head.find("\"us\"") != head.npos || head.find("_us\"") != head.npos ||
                         head.find("_us_") != head.npos || head.find("GBps") != head.npos;
  return head.starts_with('{') && has_times && head.find("\"results\"") == head.npos && head.find("\"config\"") == head.npos &&
         std::ranges::any_of(kBlocks, [&](std::string_view block) { return head.find(block) != head.npos; });
}

void take_times(const JsonRecord& record, const char* key, MeasuredPoint& point) {
  const std::vector<double> times = record.numbers(key);
  if (times.size() != 3 || !(times[0] > 0)) record.fail(fmt::format("{}: expected [median, shortest, longest]", key));
  point.median_us = times[0];
  point.low_us = times[1];
  point.high_us = times[2];
}

class MicroReader {
 public:
  MicroReader(const Json& json, const std::string& file) : root_{json, file, 0} { log_.file = file; }
  PointLog read();

 private:
  void launch();
  void gemms();
  void memory();
  void attention();
  void host_copies();
  void peer_copies();
  MeasuredPoint& add(const char* kind, std::string what) {
    MeasuredPoint& point = log_.points.emplace_back();
    point.kind = kind;
    point.what = std::move(what);
    point.type = "bf16";
    point.host_us = host_us_;
    return point;
  }

  JsonRecord root_;
  PointLog log_;
  double host_us_ = 0;
};

void MicroReader::launch() {
  if (!root_.has("launch")) return;
  const JsonRecord launch = root_.object("launch");
  host_us_ = launch.number("cpu_us_per_torch_op", 0);
  add("launch", "framework").median_us = launch.required_time("cpu_us_per_torch_op");
  const std::vector<double> graph = launch.numbers("graph_us_per_node_of_100");
  if (graph.size() == 3) {
    MeasuredPoint& node = add("launch", "graph_node");
    node.count = 100;
    node.median_us = graph[0];
    node.low_us = graph[1];
    node.high_us = graph[2];
  }
}

void MicroReader::gemms() {
  for (const JsonRecord& row : root_.objects("gemm_bf16")) {
    MeasuredPoint& point = add("gemm", "gemm");
    point.sustained = true;  // timed in loops of nothing else
    point.m = row.dimension("m");
    point.n = row.dimension("n");
    point.k = row.dimension("k");
    take_times(row, "us", point);
  }
}

void MicroReader::memory() {
  for (const JsonRecord& row : root_.objects("memory")) {
    const std::string op = row.text("op");
    MeasuredPoint& point = add("memory", op);
    point.n = row.dimension("rows");
    point.k = row.dimension("h");
    const double mib = row.number("mib", 0);
    if (mib < 0 || mib > detail::kMostMib) row.fail(fmt::format("mib: expected 0 to {}, got {:g}", detail::kMostMib, mib));
    point.elements = point.n > 0 ? point.n * point.k : std::llround(mib * static_cast<double>(detail::kMiB)) / kBf16;
    const std::int64_t tensors = op == "add" ? 3 : 2;  // read and written
    point.bytes = Bytes{tensors * kBf16 * point.elements};
    take_times(row, "us", point);
  }
}

void MicroReader::attention() {
  for (const JsonRecord& row : root_.objects("attention")) {
    for (const bool backward : {false, true}) {
      MeasuredPoint& point = add("attention", backward ? "flash, forward and backward" : "flash");
      point.m = point.n = row.dimension("seq");
      point.k = row.dimension("d");
      point.batch = row.dimension("b", 1) * row.dimension("heads", 1);
      point.causal = row.flag("causal", false);
      point.backward = backward;
      take_times(row, backward ? "fwd_bwd_us" : "fwd_us", point);
    }
  }
}

void MicroReader::host_copies() {
  for (const JsonRecord& row : root_.objects("host")) {
    const std::string direction = row.text("dir");
    MeasuredPoint& point = add("copy", "copy_engine");
    point.pattern = direction;
    const int gpus = row.whole_within("gpus", 1, 0, detail::kMaxPerProcess);
    for (int gpu = 0; gpu < gpus; ++gpu)
      point.transfers.emplace_back(direction == "h2d" ? kHostMemory : gpu, direction == "h2d" ? gpu : kHostMemory);
    if (row.has("GBps_total")) {
      point.bytes = Bytes{row.whole_within("mib_each", 0, 0, detail::kMostMib) * detail::kMiB};
      point.median_us = static_cast<double>(gpus * point.bytes.count()) / row.required_time("GBps_total") / 1e3;
    } else {
      point.bytes = Bytes{row.whole_within("kib", 0, 0, detail::kMostKib) * detail::kKiB};
      take_times(row, "us", point);
    }
  }
}

void MicroReader::peer_copies() {
  for (const JsonRecord& row : root_.objects("p2p")) {
    MeasuredPoint& point = add("copy", "copy_engine");
    point.pattern = "peer";
    point.transfers = {
        {row.whole_within("src", 0, 0, detail::kMaxPerProcess), row.whole_within("dst", 0, 0, detail::kMaxPerProcess)}};
    point.bytes = Bytes{row.whole_within("kib", 0, 0, detail::kMostKib) * detail::kKiB};
    take_times(row, "us", point);
  }
  const JsonRecord patterns = root_.object("p2p_patterns_GBps_total");
  const int gpus = root_.whole_within("n", 0, 0, detail::kMaxPerProcess);
  const auto pattern = [&](const char* key, const char* name, std::vector<std::pair<int, int>> transfers) {
    if (!patterns.has(key)) return;
    MeasuredPoint& point = add("copy", "copy_engine");
    point.pattern = name;
    point.bytes = Bytes{kPatternBytes};
    point.median_us =
        static_cast<double>(transfers.size()) * static_cast<double>(kPatternBytes) / patterns.required_time(key) / 1e3;
    point.transfers = std::move(transfers);
  };
  std::vector<std::pair<int, int>> ring;
  std::vector<std::pair<int, int>> all;
  for (int i = 0; i < gpus; ++i) {
    ring.emplace_back(i, (i + 1) % gpus);
    for (int j = 0; j < gpus; ++j) {
      if (i != j) all.emplace_back(i, j);
    }
  }
  pattern("0>1", "peer", {{0, 1}});
  pattern("0<>1", "bidirectional", {{0, 1}, {1, 0}});
  pattern("0>1,2>3", "disjoint", {{0, 1}, {2, 3}});
  pattern("ring", "ring", std::move(ring));
  pattern("incast to 0", "incast", {{1, 0}, {2, 0}, {3, 0}});
  pattern("outcast from 0", "outcast", {{0, 1}, {0, 2}, {0, 3}});
  pattern("all to all", "all_to_all", std::move(all));
}

PointLog MicroReader::read() {
  log_.gpu = root_.text("gpu");
  const std::vector<double> version = root_.numbers("nccl");
  if (version.size() == 3) log_.nccl_version = fmt::format("{:.0f}.{:.0f}.{:.0f}", version[0], version[1], version[2]);
  launch();
  gemms();
  memory();
  attention();
  host_copies();
  peer_copies();
  log_.digest = Digest{}.add(root_.json().dump()).hex();
  return std::move(log_);
}

}  // namespace

const MeasurementFormat torch_micro_format{
    .name = "micro.json",
    .summary = "microbenchmarks by PyTorch: launch, GEMM, memory-bound kernels, attention, copies",
    .recognises = recognises_torch_micro,
    .read = [](std::istream& input, const std::string& file) {
      const Json json = detail::parse_json_file(input, file);
      return MicroReader{json, file}.read();
    }};

}  // namespace weft::measured
