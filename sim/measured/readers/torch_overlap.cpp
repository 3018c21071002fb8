// Reads overlap.json: four processes with collectives alone, beside GEMMs and copies, and on two communicators, by PyTorch.
// Every entry says in words what ran ("all_reduce with gemm"), and how long each of its streams took on each rank.
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/measured/readers/formats.h"
#include "sim/measured/readers/json_record.h"

namespace weft::measured {
namespace {

using detail::Json;
using detail::JsonRecord;

constexpr int kGemm = 8192;
constexpr std::int64_t kCopied = 1 << 30;  // of each copy, read and written again

bool recognises_torch_overlap(std::string_view head) {
  return head.starts_with('[') && head.find("\"what\"") != head.npos && head.find("\"us\"") != head.npos;
}

using Groups = std::vector<std::vector<int>>;

// By word, and by size of the message where several ranks take part.
OverlapPart collective(std::string op, std::int64_t bytes, int calls, Groups groups = {}) {
  OverlapPart part;
  part.op = std::move(op);
  part.bytes = Bytes{bytes};
  part.type = "bf16";
  part.calls = calls;
  part.groups = std::move(groups);
  return part;
}

OverlapPart gemms(int calls) {
  OverlapPart part;
  part.op = "gemm";
  part.type = "bf16";
  part.m = part.n = part.k = kGemm;
  part.calls = calls;
  return part;
}

OverlapPart copies(int calls) {
  OverlapPart part;
  part.op = "copy";
  part.bytes = Bytes{kCopied};
  part.type = "bf16";
  part.calls = calls;
  return part;
}

// Returns the parts that the words name; nothing where the words are others.
std::optional<std::pair<std::string, std::vector<OverlapPart>>> parts_of(const std::string& what, std::int64_t bytes, int calls,
                                                                         int n, int ranks) {
  const Groups pairs{{0, 1}, {2, 3}};
  const Groups cross{{0, 2}, {1, 3}};
  const auto made = [](std::string name, std::vector<OverlapPart> parts) {
    return std::optional{std::pair{std::move(name), std::move(parts)}};
  };
  if (what == "all_reduce alone") return made("collective_alone", {collective("all_reduce", bytes, calls)});
  if (what == "all_to_all alone") return made("collective_alone", {collective("alltoall", bytes, calls)});
  if (what.starts_with("all_gather alone")) return made("collective_alone", {collective("all_gather", bytes * ranks, calls)});
  if (what.starts_with("reduce_scatter alone"))
    return made("collective_alone", {collective("reduce_scatter", bytes * ranks, calls)});
  if (what == "two all_reduce on two communicators")
    return made("two_communicators", {collective("all_reduce", bytes, calls), collective("all_reduce", bytes, calls)});
  if (what == "all_reduce in pairs 01 23") return made("pairs", {collective("all_reduce", bytes, calls, pairs)});
  if (what == "pairs 01 23 and cross 02 13 at once") {
    return made("pairs_and_cross",
                {collective("all_reduce", bytes, calls, pairs), collective("all_reduce", bytes, calls, cross)});
  }
  if (what == "gemm 8192 alone") return made("gemm_alone", {gemms(n)});
  if (what == "all_reduce with gemm") return made("collective_with_gemm", {collective("all_reduce", bytes, calls), gemms(n)});
  if (what == "copy 1GiB alone") return made("copy_alone", {copies(n)});
  if (what == "all_reduce with copy 1GiB")
    return made("collective_with_copy", {collective("all_reduce", bytes, calls), copies(n)});
  if (what == "all_reduce in CUDA graph") return made("collective_in_graph", {collective("all_reduce", bytes, calls)});
  return std::nullopt;
}

// Returns the slowest rank's time of each stream.
std::vector<double> slowest(const JsonRecord& row, int& ranks) {
  std::vector<double> times;
  if (!row.has("us") || !row.json()["us"].is_array()) row.fail("us: expected a list of times by rank");
  ranks = static_cast<int>(row.json()["us"].size());
  for (const Json& of_rank : row.json()["us"]) {
    if (!of_rank.is_array()) row.fail("us: expected a list of times by rank");
    times.resize(std::max(times.size(), of_rank.size()));
    for (std::size_t i = 0; i < of_rank.size(); ++i) {
      if (!of_rank[i].is_number()) row.fail("us: expected numbers");
      times[i] = std::max(times[i], of_rank[i].get<double>());
    }
  }
  return times;
}

void add_row(const JsonRecord& row, PointLog& log) {
  MeasuredPoint point;
  point.kind = "overlap";
  point.what = row.text("what");
  const std::vector<double> times = slowest(row, point.ranks);
  const std::int64_t bytes =
      row.has("bytes") ? row.bytes("bytes").count() : row.whole_within("mib", 0, 0, detail::kMostMib) * detail::kMiB;
  const int calls = row.whole_within("calls", 1, 1, detail::kMostCalls);
  const int n = row.whole_within("n", 1, 1, detail::kMostCalls);
  if (auto known = parts_of(point.what, bytes, calls, n, point.ranks)) {
    point.what = std::move(known->first);
    point.parts = std::move(known->second);
    if (point.parts.size() != times.size()) row.fail(fmt::format("us: expected {} times of each rank", point.parts.size()));
    for (std::size_t i = 0; i < times.size(); ++i) point.parts[i].median_us = times[i];
    point.bytes = point.parts.front().bytes;
  }
  for (const double time : times) point.median_us = std::max(point.median_us, time);
  if (!(point.median_us > 0)) row.fail("us: expected times above 0");
  log.points.push_back(std::move(point));
}

PointLog read_torch_overlap(std::istream& input, const std::string& file) {
  const Json json = detail::parse_json_file(input, file);
  PointLog log;
  log.file = file;
  for (std::size_t i = 0; i < json.size(); ++i) add_row({json[i], file, 0, fmt::format("[{}]", i)}, log);
  log.digest = Digest{}.add(json.dump()).hex();
  return log;
}

}  // namespace

const MeasurementFormat torch_overlap_format{.name = "overlap.json",
                                             .summary = "collectives beside GEMMs, copies and each other, by PyTorch",
                                             .recognises = recognises_torch_overlap,
                                             .read = read_torch_overlap};

}  // namespace weft::measured
