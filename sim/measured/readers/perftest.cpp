// Reads what perftest's programs print (ib_write_bw, ib_read_lat, ...): one row per message size, bandwidth or latency.
#include <fmt/format.h>

#include <istream>
#include <optional>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/measured/readers/formats.h"
#include "sim/measured/readers/text_lines.h"

namespace weft::measured {
namespace {

bool recognises_perftest(std::string_view head) {
  return head.find("#bytes") != head.npos && head.find("#iterations") != head.npos;
}

// The columns of a table, from its title line: "BW average[Gb/sec]" is two words, "t_typical[usec]" one.
struct Columns {
  std::optional<std::size_t> bandwidth;
  std::optional<std::size_t> typical;
  double unit_gigabytes_per_second = 0;
};

double unit_of_title(std::string_view title) {
  if (title.find("[Gb/sec]") != title.npos) return 0.125;
  if (title.find("[GiB/sec]") != title.npos) return 1.073741824;
  return 1.048576e-3;  // perftest's MB and MiB are both 2^20 bytes
}

Columns columns_of(std::string_view line) {
  Columns columns;
  std::size_t column = 0;
  bool leads = false;  // "BW", "99%": the first half of a title
  for (const Word& word : words_of(line)) {
    if (word.text == "BW" || word.text == "99%" || word.text == "99.9%") {
      leads = true;
      continue;
    }
    if (word.text.starts_with("average[") && leads) {
      columns.bandwidth = column;
      columns.unit_gigabytes_per_second = unit_of_title(word.text);
    }
    if (word.text.starts_with("t_typical[")) columns.typical = column;
    leads = false;
    ++column;
  }
  return columns;
}

PointLog read_perftest(std::istream& input, const std::string& file) {
  PointLog log;
  log.file = file;
  Digest digest;
  LineReader lines{input, file};
  std::string tool = "perftest";
  std::optional<Columns> columns;
  while (lines.next()) {
    const std::string_view line = lines.text();
    digest.add(line);
    const std::vector<Word> words = words_of(line);
    if (words.empty()) continue;
    if (words[0].text == "#bytes") {
      columns = columns_of(line);
      continue;
    }
    // "RDMA_Write BW Test" stands above the table.
    if (words.size() >= 3 && words[2].text == "Test" && (words[1].text == "BW" || words[1].text == "Latency"))
      tool = fmt::format("{} {}", words[0].text, words[1].text == "BW" ? "bandwidth" : "latency");
    if (!columns) continue;
    const auto bytes = number_from<std::int64_t>(words[0].text);
    if (!bytes) {
      columns.reset();
      continue;
    }
    const auto number = [&](std::optional<std::size_t> column) {
      return column && *column < words.size() ? number_from<double>(words[*column].text) : std::nullopt;
    };
    MeasuredPoint point;
    point.kind = "nic";
    point.what = tool;
    point.line = lines.number();
    point.bytes = Bytes{*bytes};
    if (const auto rate = number(columns->bandwidth); rate && *rate > 0) {
      point.median_us = static_cast<double>(*bytes) / (*rate * columns->unit_gigabytes_per_second) / 1e3;
    } else if (const auto typical = number(columns->typical); typical && *typical > 0) {
      point.median_us = *typical;
    } else {
      log.warnings.push_back({.where = {file, lines.number(), 1},
                              .message = "the row is not whole: left out",
                              .source_line = {},
                              .length = 1,
                              .note = {}});
      continue;
    }
    log.points.push_back(std::move(point));
  }
  log.digest = digest.hex();
  return log;
}

}  // namespace

const MeasurementFormat perftest_format{.name = "perftest",
                                        .summary = "bandwidth or latency of NICs: ib_write_bw, ib_write_lat and their like",
                                        .recognises = recognises_perftest,
                                        .read = read_perftest};

}  // namespace weft::measured
