#include "perftest.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

namespace weft::measure {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char letter : line) {
    if (letter != ' ' && letter != '\t' && letter != '\r') {
      word += letter;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

enum class Column { kBytes, kIterations, kPeak, kAverage, kMin, kMax, kTypical, kMean, kP99, kOther };

// A table's title line says its columns, and how many GB/s the bandwidth's unit is.
struct Titles {
  std::vector<Column> columns;
  double unit_GBps = 1;
};

double unit_of(std::string_view title) {
  const std::size_t open = title.find('[');
  const std::string_view unit = open == std::string_view::npos ? std::string_view{} : title.substr(open + 1);
  if (unit.starts_with("Gb")) return 1.0 / 8;
  if (unit.starts_with("GiB")) return 1.073741824;
  return 1.048576e-3;  // perftest's MB and MiB are both 2^20 bytes
}

// `BW peak[MB/sec]` and `99% percentile[usec]` are two words each: a word without a bracket leads the next one.
Titles read_titles(const std::vector<std::string>& words) {
  static const std::map<std::string_view, Column> kNames{{"#bytes", Column::kBytes},      {"#iterations", Column::kIterations},
                                                         {"BWpeak", Column::kPeak},       {"BWaverage", Column::kAverage},
                                                         {"t_min", Column::kMin},         {"t_max", Column::kMax},
                                                         {"t_typical", Column::kTypical}, {"t_avg", Column::kMean},
                                                         {"99%percentile", Column::kP99}};
  Titles titles;
  std::string lead;
  for (const std::string& word : words) {
    const bool counts = word.front() == '#';
    if (!counts && word.find('[') == std::string::npos) {
      lead += word;
      continue;
    }
    const std::string name = lead + word.substr(0, word.find('['));
    lead.clear();
    const auto found = kNames.find(name);
    titles.columns.push_back(found == kNames.end() ? Column::kOther : found->second);
    if (name == "BWaverage") titles.unit_GBps = unit_of(word);
  }
  return titles;
}

std::optional<PerftestRow> read_row(const Titles& titles, const std::vector<std::string>& words) {
  if (titles.columns.empty() || words.size() < 3) return std::nullopt;
  PerftestRow row;
  for (std::size_t i = 0; i < std::min(words.size(), titles.columns.size()); ++i) {
    char* end = nullptr;
    const double value = std::strtod(words[i].c_str(), &end);
    if (end == words[i].c_str() || *end != '\0') return std::nullopt;
    switch (titles.columns[i]) {
      case Column::kBytes:
        row.bytes = static_cast<std::int64_t>(value);
        break;
      case Column::kIterations:
        row.iterations = static_cast<std::int64_t>(value);
        break;
      case Column::kPeak:
        row.peak_GBps = value * titles.unit_GBps;
        break;
      case Column::kAverage:
        row.GBps = value * titles.unit_GBps;
        break;
      case Column::kMin:
        row.min_us = value;
        break;
      case Column::kMax:
        row.max_us = value;
        break;
      case Column::kTypical:
        row.median_us = value;
        break;
      case Column::kMean:
        row.mean_us = value;
        break;
      case Column::kP99:
        row.p99_us = value;
        break;
      case Column::kOther:
        break;
    }
  }
  return row.bytes > 0 ? std::optional{row} : std::nullopt;
}

// "RDMA_Write BW Test" is ib_write_bw, "Send Latency Test" ib_send_lat; "RDMA_Write Bidirectional BW Test" too.
std::string tool_of(std::string_view line) {
  if (line.find(" Test") == std::string_view::npos) return {};
  const bool latency = line.find("Latency") != std::string_view::npos;
  if (!latency && line.find("BW") == std::string_view::npos) return {};
  for (const auto& [title, verb] : {std::pair{"RDMA_Write", "write"}, {"RDMA_Read", "read"}, {"Send", "send"}}) {
    if (line.find(title) != std::string_view::npos) return std::string{"ib_"} + verb + (latency ? "_lat" : "_bw");
  }
  return {};
}

std::string device_of(std::string_view line) {
  constexpr std::string_view kKey = "Device";
  const std::vector<std::string> words = words_of(line);
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i] == kKey && words[i + 1] == ":") return words[i + 2];
  }
  return {};
}

}  // namespace

PerftestLog read_perftest(std::string_view text) {
  PerftestLog log;
  Titles titles;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (log.tool.empty()) log.tool = tool_of(line);
    if (log.device.empty()) log.device = device_of(line);
    if (line.find("cuda") != std::string_view::npos || line.find("CUDA") != std::string_view::npos) log.gpu_direct = true;
    if (words.front() == "#bytes") {
      titles = read_titles(words);
    } else if (const auto row = read_row(titles, words)) {
      log.rows.push_back(*row);
    }
  }
  return log;
}

}  // namespace weft::measure
