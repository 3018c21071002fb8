#include "sim/apps/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/scenario/collective_sweep.h"

namespace weft::apps {
namespace {

constexpr std::string_view kHalves = "#                                                              out-of-place";
constexpr std::string_view kNames =
    "#       size         count      type   redop    root     time   algbw   busbw        algo   proto  channels";
constexpr std::string_view kUnits = "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)";

// Three significant digits, or all of a whole number that has more.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size == 0 || size >= 99.95) return fmt::format("{:.0f}", value);
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string scaled(double value, double step, const auto& units) {
  std::size_t i = 0;
  // 999.5 is the first to be written with four digits.
  while (i + 1 < units.size() && std::abs(value) >= step - 0.5) {
    value /= step;
    ++i;
  }
  const std::string number = i == 0 && value == std::floor(value) ? fmt::format("{:.0f}", value) : three_digits(value);
  return units[i].empty() ? number : fmt::format("{} {}", number, units[i]);
}

std::string row_text(const coll::CollectiveResult& point, std::string_view type) {
  const coll::Collective kind = point.call.kind;
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {}  {}  {}  {:>10}  {:>6}  {:>8}", point.sizes.reported.count(),
                     point.sizes.count, type, scenario::redop_of(point.call), scenario::has_root(kind) ? point.call.root : -1,
                     fit_number(point.time.us(), 7), fit_number(point.algorithm_bandwidth_gbps(), 6),
                     fit_number(point.bus_bandwidth_gbps(), 6), point.choice.algorithm,
                     point.choice.protocol.empty() ? "-" : point.choice.protocol, point.choice.channels);
}

}  // namespace

std::string fit_number(double value, std::size_t width) {
  for (const int decimals : {2, 1, 0}) {
    const std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:{}.1e}", value, width);
}

std::string short_count(double count) {
  static constexpr std::array<std::string_view, 5> kUnitsOfCount{"", "k", "M", "G", "T"};
  return scaled(count, 1'000, kUnitsOfCount);
}

std::string short_time(Duration duration) {
  static constexpr std::array<std::string_view, 5> kUnitsOfTime{"ps", "ns", "us", "ms", "s"};
  return scaled(static_cast<double>(duration.ps()), 1'000, kUnitsOfTime);
}

std::string short_bytes(double bytes) {
  static constexpr std::array<std::string_view, 5> kUnitsOfBytes{"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(bytes, 1'024, kUnitsOfBytes);
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string host_line(Duration held, Duration step) {
  return fmt::format("# the host held up the GPU for {} of {} ms of the traced step ({:.1f} %)\n", milliseconds(held),
                     milliseconds(step), 100 * held.seconds() / std::max(1e-12, step.seconds()));
}

std::string size_text(std::int64_t bytes) { return bytes > 0 ? std::to_string(bytes) : "-"; }

std::string milliseconds(Duration duration) { return fmt::format("{:.3f}", duration.us() / 1e3); }

std::string sweep_columns() { return fmt::format("{}\n{}\n{}\n", kHalves, kNames, kUnits); }

std::string sweep_row(const coll::CollectiveResult& point, std::string_view type) { return row_text(point, type) + '\n'; }

std::string mixed_columns() { return fmt::format("{}\n{}   ranks    calls  collective\n{}\n", kHalves, kNames, kUnits); }

std::string mixed_row(const coll::CollectiveResult& point, std::string_view type, std::int64_t calls) {
  return fmt::format("{}  {:>6}  {:>7}  {}\n", row_text(point, type), point.ranks, calls, coll::name_of(point.call));
}

void Table::add_column(std::string title, Align align) { columns_.push_back({printable(title), align}); }

void Table::add_row(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const std::vector<std::string>& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  const auto line = [&](std::string_view lead, const auto& cell) {
    std::string text{lead};
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) text += "  ";
      text += columns_[c].align == Align::kLeft ? fmt::format("{:<{}}", cell(c), widths[c])
                                                : fmt::format("{:>{}}", cell(c), widths[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
  };
  std::string text = line("# ", [&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const std::vector<std::string>& row : rows_)
    text += line("  ", [&](std::size_t c) -> const std::string& { return row[c]; });
  return text;
}

}  // namespace weft::apps
