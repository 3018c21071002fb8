// Reads NVIDIA's nvbandwidth, its text and its JSON (-j): matrices of bandwidths in GB/s, one copy of a cell at a time.
//
// The program does not print how much it copied; it is taken to be its default, 512 MiB. Tests whose cells are measured with
// others running, and latencies, become points without transfers, which no model covers.
#include <fmt/format.h>

#include <array>
#include <istream>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/measured/readers/formats.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/text_lines.h"

namespace weft::measured {
namespace {

using detail::Json;
using detail::JsonRecord;

constexpr std::int64_t kBufferBytes = 512LL << 20;  // nvbandwidth's default

bool recognises_nvbandwidth(std::string_view head) {
  return head.find("nvbandwidth Version") != head.npos || (head.starts_with('{') && head.find("\"nvbandwidth\"") != head.npos);
}

// The name of a test says what it copies; its end, _ce or _sm, says the engine.
struct Test {
  std::string_view name;
  std::string_view pattern;
  bool from_host = false;
  bool to_host = false;
  bool column_to_row = false;
};
constexpr std::array kTests{Test{.name = "host_to_device_memcpy", .pattern = "h2d", .from_host = true},
                            Test{.name = "device_to_host_memcpy", .pattern = "d2h", .to_host = true},
                            Test{.name = "device_to_device_memcpy_read", .pattern = "peer", .column_to_row = true},
                            Test{.name = "device_to_device_memcpy_write", .pattern = "peer"}};

void add_cell(PointLog& log, const std::string& test, int row, int column, double value, int line) {
  if (!(value > 0)) return;
  MeasuredPoint point;
  point.kind = "copy";
  point.pattern = test;
  point.line = line;
  point.bytes = Bytes{kBufferBytes};
  point.median_us = static_cast<double>(kBufferBytes) / value / 1e3;
  const bool by_kernel = test.ends_with("_sm");
  point.what = by_kernel ? "sm" : "copy_engine";
  const std::string stem = test.size() > 3 ? test.substr(0, test.size() - 3) : test;
  for (const Test& known : kTests) {
    if (known.name != stem) continue;
    point.pattern = known.pattern;
    if (known.from_host)
      point.transfers = {{kHostMemory, column}};
    else if (known.to_host)
      point.transfers = {{column, kHostMemory}};
    else
      point.transfers = {known.column_to_row ? std::pair{column, row} : std::pair{row, column}};
  }
  log.points.push_back(std::move(point));
}

std::optional<double> cell_value(std::string_view text) { return number_from<double>(trim(text)); }

PointLog read_json(std::istream& input, const std::string& file) {
  const Json json = detail::parse_json_file(input, file);
  PointLog log;
  log.file = file;
  const JsonRecord root = JsonRecord{json, file, 0}.object("nvbandwidth");
  for (const JsonRecord& test : root.objects("testcases")) {
    const std::string name = test.text("name");
    if (!test.has("bandwidth_matrix")) {
      log.skipped.push_back(fmt::format("{}: {}", name, test.text("status", "no bandwidths")));
      continue;
    }
    const Json& matrix = test.json()["bandwidth_matrix"];
    for (std::size_t r = 0; r < matrix.size(); ++r) {
      for (std::size_t c = 0; c < matrix[r].size(); ++c) {
        const Json& cell = matrix[r][c];
        const auto value = cell.is_string()   ? cell_value(cell.get_ref<const std::string&>())
                           : cell.is_number() ? std::optional{cell.get<double>()}
                                              : std::nullopt;
        if (value) add_cell(log, name, static_cast<int>(r), static_cast<int>(c), *value, 0);
      }
    }
  }
  log.digest = Digest{}.add(json.dump()).hex();
  return log;
}

// "Running NAME.", a title, the columns' numbers, a row a line, "SUM NAME 443.2".
PointLog read_text(std::istream& input, const std::string& file) {
  PointLog log;
  log.file = file;
  Digest digest;
  LineReader lines{input, file};
  std::string test;
  bool in_matrix = false;
  bool is_bandwidth = false;
  while (lines.next()) {
    const std::vector<Word> words = words_of(lines.text());
    digest.add(lines.text());
    if (words.empty()) {
      in_matrix = false;
    } else if (words[0].text == "Running" && words.size() == 2) {
      test = words[1].text;
      if (test.ends_with('.')) test.pop_back();
      in_matrix = is_bandwidth = false;
    } else if (lines.text().find("(GB/s)") != std::string_view::npos) {
      is_bandwidth = true;
    } else if (words[0].text == "SUM") {
      is_bandwidth = false;
    } else if (is_bandwidth && !in_matrix) {
      in_matrix = true;  // the columns' numbers
    } else if (is_bandwidth) {
      const auto row = number_from<int>(words[0].text);
      for (std::size_t i = 1; row && i < words.size(); ++i) {
        if (const auto value = cell_value(words[i].text))
          add_cell(log, test, *row, static_cast<int>(i) - 1, *value, lines.number());
      }
    }
  }
  log.digest = digest.hex();
  return log;
}

PointLog read_nvbandwidth(std::istream& input, const std::string& file) {
  return input.peek() == '{' ? read_json(input, file) : read_text(input, file);
}

}  // namespace

const MeasurementFormat nvbandwidth_format{.name = "nvbandwidth",
                                           .summary = "copies between host and GPUs, text or JSON",
                                           .recognises = recognises_nvbandwidth,
                                           .read = read_nvbandwidth};

}  // namespace weft::measured
