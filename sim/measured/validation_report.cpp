#include "sim/measured/validation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/core/portable_math.h"
#include "sim/measured/point_kind.h"

namespace weft::measured {
namespace {

using namespace weft::literals;
using OrderedJson = nlohmann::ordered_json;  // keys in the order written

const std::string& group_of(const ValidationPoint& point) {
  const PointKind* kind = find_point_kind(point.kind);
  return kind != nullptr && kind->group != nullptr ? kind->group(point) : point.kind;
}

// The summaries of the points that count, by what `key_of` says of each.
template <class Key, class KeyOf>
std::map<Key, ErrorSummary> summarize_by(const std::vector<ValidationPoint>& points, KeyOf key_of) {
  std::map<Key, std::vector<double>> errors;
  for (const ValidationPoint& point : points) {
    std::vector<double>& group = errors[key_of(point)];  // a group with no counted point is shown with 0 points
    if (exclusion_of(point) == Exclusion::kNone) group.push_back(std::abs(*relative_error(point)));
  }
  std::map<Key, ErrorSummary> summaries;
  for (auto& [key, group] : errors) summaries.emplace(key, summarize(std::move(group)));
  return summaries;
}

OrderedJson number_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);  // JSON has no infinity
}

OrderedJson summary_json(const ErrorSummary& summary) {
  const auto value = [&summary](double number) { return summary.points == 0 ? OrderedJson(nullptr) : number_json(number); };
  return {{"points", summary.points},
          {"median", value(summary.median)},
          {"geomean", value(summary.geomean)},
          {"p95", value(summary.p95)},
          {"max", value(summary.max)}};
}

OrderedJson point_json(const ValidationPoint& point) {
  const Exclusion exclusion = exclusion_of(point);
  const std::optional<double> error = relative_error(point);
  const OrderedJson predicted = point.predicted_us ? number_json(*point.predicted_us) : OrderedJson(nullptr);
  return {{"file", point.file},
          {"kind", point.kind},
          {"collective", point.collective},
          {"ranks", point.ranks},
          {"nodes", point.nodes},
          {"bytes", point.bytes.count()},
          {"algorithm", point.algorithm},
          {"protocol", point.protocol},
          {"channels", point.channels},
          {"time_us", predicted},
          {"algbw_GBps", number_json(point.algbw_gigabytes_per_second)},
          {"busbw_GBps", number_json(point.busbw_gigabytes_per_second)},
          {"in_place", point.in_place},
          {"measured_us", number_json(point.measured_us)},
          {"predicted_us", predicted},
          {"predicted_sd", point.predicted_sd ? number_json(*point.predicted_sd) : OrderedJson(nullptr)},
          {"relative_error", error ? number_json(*error) : OrderedJson(nullptr)},
          {"training", point.training},
          {"configuration", point.configuration},
          {"flops", point.flops > 0 ? OrderedJson(point.flops) : OrderedJson(nullptr)},
          {"measured_low_us", point.measured_low_us > 0 ? OrderedJson(point.measured_low_us) : OrderedJson(nullptr)},
          {"measured_high_us", point.measured_high_us > 0 ? OrderedJson(point.measured_high_us) : OrderedJson(nullptr)},
          {"not_modelled", point.not_modelled.empty() ? OrderedJson(nullptr) : OrderedJson(point.not_modelled)},
          {"excluded", exclusion == Exclusion::kNone ? OrderedJson(nullptr) : OrderedJson(to_string(exclusion))}};
}

std::string dash_if_empty(const std::string& text) { return text.empty() ? "-" : text; }

std::string summary_header(std::string_view title, std::size_t width) {
  return fmt::format(
      "#\n# {:<{}}  {:<9}  {:>6}  {:>7}  {:>7}  {:>7}  {:>7}\n# {:<{}}  {:<9}  {:>6}  {:>7}  {:>7}  {:>7}  {:>7}\n", title,
      width, "size", "points", "median", "geomean", "p95", "max", "", width, "", "", "(%)", "(%)", "(%)", "(%)");
}

std::string summary_row(std::string_view name, std::size_t width, std::string_view size, const ErrorSummary& summary) {
  const auto percent = [&summary](double value) {
    return summary.points == 0 ? std::string{"-"} : fmt::format("{:.2f}", 100 * value);
  };
  return fmt::format("  {:<{}}  {:<9}  {:>6}  {:>7}  {:>7}  {:>7}  {:>7}\n", name, width, size, summary.points,
                     percent(summary.median), percent(summary.geomean), percent(summary.p95), percent(summary.max));
}

}  // namespace

std::string_view to_string(Exclusion exclusion) {
  switch (exclusion) {
    case Exclusion::kNone:
      return "";
    case Exclusion::kInPlace:
      return "in place";
    case Exclusion::kZeroBytes:
      return "0 bytes";
    case Exclusion::kDebugLog:
      return "debug log";
    case Exclusion::kCpuTime:
      return "cpu time";
    case Exclusion::kUnsteady:
      return "unsteady";
    case Exclusion::kNotPredicted:
      return "not modelled";
    case Exclusion::kTraining:
      return "training";
  }
  return "";
}

Exclusion exclusion_of(const ValidationPoint& point) {
  if (point.in_place) return Exclusion::kInPlace;
  const PointKind* kind = find_point_kind(point.kind);
  const Exclusion own = kind != nullptr && kind->exclusion != nullptr ? kind->exclusion(point) : Exclusion::kNone;
  if (own != Exclusion::kNone) return own;
  if (point.has_debug_output) return Exclusion::kDebugLog;
  if (point.is_cpu_time) return Exclusion::kCpuTime;
  if (!relative_error(point)) return Exclusion::kNotPredicted;
  return point.training ? Exclusion::kTraining : Exclusion::kNone;
}

std::optional<double> relative_error(const ValidationPoint& point) {
  if (!point.predicted_us || !(point.measured_us > 0)) return std::nullopt;
  return *point.predicted_us / point.measured_us - 1;
}

ErrorSummary summarize(std::vector<double> errors) {
  ErrorSummary summary{.points = errors.size()};
  if (errors.empty()) return summary;
  std::sort(errors.begin(), errors.end());
  const std::size_t n = errors.size();
  summary.median = n % 2 == 1 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
  summary.p95 = errors[(95 * n + 99) / 100 - 1];
  summary.max = errors.back();
  if (errors.front() > 0) {
    double logarithms = 0;  // in ascending order, so that the sum does not depend on the order of the points
    for (const double error : errors) logarithms += portable_log(error);
    summary.geomean = portable_exp(logarithms / static_cast<double>(n));
  }
  return summary;
}

ErrorSummary summary_of(const std::vector<ValidationPoint>& points) {
  std::vector<double> errors;
  for (const ValidationPoint& point : points) {
    if (const auto error = relative_error(point)) errors.push_back(std::abs(*error));
  }
  return summarize(std::move(errors));
}

SizeClass size_class_of(Bytes bytes) {
  if (bytes < 2_MiB) return SizeClass::kBelow2MiB;
  return bytes <= 32_MiB ? SizeClass::k2To32MiB : SizeClass::kAbove32MiB;
}

std::string_view to_string(SizeClass size_class) {
  switch (size_class) {
    case SizeClass::kBelow2MiB:
      return "< 2 MiB";
    case SizeClass::k2To32MiB:
      return "2-32 MiB";
    case SizeClass::kAbove32MiB:
      return "> 32 MiB";
  }
  return "";
}

ErrorSummary ValidationReport::summary() const {
  const auto all = summarize_by<bool>(points, [](const ValidationPoint&) { return true; });
  return all.empty() ? ErrorSummary{} : all.begin()->second;
}

std::map<std::string, ErrorSummary> ValidationReport::uncertainty_by_kind() const {
  std::map<std::string, std::vector<double>> sds;
  for (const ValidationPoint& point : points) {
    if (point.predicted_sd) sds[point.kind].push_back(*point.predicted_sd);
  }
  std::map<std::string, ErrorSummary> summaries;
  for (auto& [kind, values] : sds) summaries[kind] = summarize(std::move(values));
  return summaries;
}

std::map<std::string, ErrorSummary> ValidationReport::summary_by_collective() const {
  return summarize_by<std::string>(points, group_of);
}

std::map<std::string, ErrorSummary> ValidationReport::summary_by_file() const {
  return summarize_by<std::string>(points, [](const ValidationPoint& point) { return point.file; });
}

std::map<SizeClass, ErrorSummary> ValidationReport::summary_by_size() const {
  return summarize_by<SizeClass>(points, [](const ValidationPoint& point) { return size_class_of(point.bytes); });
}

std::map<std::string, std::map<SizeClass, ErrorSummary>> ValidationReport::summary_by_collective_and_size() const {
  using Key = std::pair<std::string, SizeClass>;
  std::map<std::string, std::map<SizeClass, ErrorSummary>> nested;
  for (const auto& [key, summary] : summarize_by<Key>(points, [](const ValidationPoint& point) {
         return Key{group_of(point), size_class_of(point.bytes)};
       })) {
    nested[key.first][key.second] = summary;
  }
  return nested;
}

std::vector<std::string> ValidationReport::missed(const ErrorLimits& limits) const {
  const ErrorSummary errors = summary();
  std::vector<std::string> texts;
  const auto check = [&](std::string_view name, double found, const std::optional<double>& limit) {
    if (!limit) return;
    if (errors.points == 0) {
      texts.push_back(fmt::format("{} is not known: no point counts (limit {:g} %)", name, 100 * *limit));
    } else if (!(found <= *limit)) {
      texts.push_back(fmt::format("{} is {:.2f} %, over the limit of {:g} %", name, 100 * found, 100 * *limit));
    }
  };
  check("median error", errors.median, limits.max_median);
  check("95th percentile of the error", errors.p95, limits.max_p95);
  check("largest error", errors.max, limits.max_error);
  return texts;
}

std::string points_table(const ValidationReport& report) {
  std::string text;
  const std::string* file = nullptr;
  for (const ValidationPoint& point : report.points) {
    if (file == nullptr || *file != point.file) {
      if (file != nullptr) text += "#\n";
      file = &point.file;
      text += fmt::format("# {}\n# {:<14}  {:>5}  {:>12}  {:<5}  {:<13}  {:<8}  {:>8}  {:>10}  {:>10}  {:>8}\n", point.file,
                          point.kind == "collective" ? "collective" : "kind", "ranks", "size", "place", "algorithm", "protocol",
                          "channels", "measured", "predicted", "error");
      text += fmt::format("# {:<14}  {:>5}  {:>12}  {:<5}  {:<13}  {:<8}  {:>8}  {:>10}  {:>10}  {:>8}\n", "", "", "(B)", "",
                          "", "", "", "(us)", "(us)", "(%)");
    }
    const std::optional<double> error = relative_error(point);
    std::string line =
        fmt::format("  {:<14}  {:>5}  {:>12}  {:<5}  {:<13}  {:<8}  {:>8}  {:>10.2f}  {:>10}  {:>8}  {}", group_of(point),
                    point.ranks, point.bytes.count(), point.in_place ? "in" : "out", dash_if_empty(point.algorithm),
                    dash_if_empty(point.protocol), point.channels > 0 ? std::to_string(point.channels) : "-", point.measured_us,
                    point.predicted_us ? fmt::format("{:.2f}", *point.predicted_us) : "-",
                    error ? fmt::format("{:+.2f}", 100 * *error) : "-", to_string(exclusion_of(point)));
    // In-place rows of a training file were in the fit too.
    if (point.training && exclusion_of(point) != Exclusion::kTraining) line += ", training";
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string summary_table(const ValidationReport& report) {
  std::map<Exclusion, std::size_t> counts;
  for (const ValidationPoint& point : report.points) ++counts[exclusion_of(point)];
  std::string text = fmt::format("# {} points: {} counted", report.points.size(), counts[Exclusion::kNone]);
  for (const auto& [exclusion, count] : counts) {
    if (exclusion != Exclusion::kNone) text += fmt::format(", {} {}", count, to_string(exclusion));
  }
  text += '\n';

  const auto by_file = report.summary_by_file();
  const auto by_collective = report.summary_by_collective();
  std::size_t width = 10;
  for (const auto& [file, summary] : by_file) width = std::max(width, file.size());
  for (const auto& [name, summary] : by_collective) width = std::max(width, name.size());

  text += summary_header("file", width);
  for (const auto& [file, summary] : by_file) text += summary_row(file, width, "all", summary);
  text += summary_header("collective", width);
  const auto nested = report.summary_by_collective_and_size();
  for (const auto& [name, summary] : by_collective) {
    text += summary_row(name, width, "all", summary);
    for (const auto& [size_class, part] : nested.at(name)) text += summary_row("", width, to_string(size_class), part);
  }
  text += summary_header("all", width);
  text += summary_row("all", width, "all", report.summary());
  for (const auto& [size_class, part] : report.summary_by_size()) text += summary_row("", width, to_string(size_class), part);
  for (const auto& [kind, known] : report.uncertainty_by_kind()) {
    text += fmt::format(
        "# one standard error of what calibrations make of {}: {} predictions, median {:.2f} %, 95th percentile {:.2f} %\n",
        kind, known.points, 100 * known.median, 100 * known.p95);
  }
  return text;
}

std::string to_json(const ValidationReport& report, int indent) {
  OrderedJson json{{"points", OrderedJson::array()}, {"summary", summary_json(report.summary())}};
  for (const ValidationPoint& point : report.points) json["points"].push_back(point_json(point));
  for (const char* key : {"summary_by", "summary_by_file", "summary_by_size", "summary_by_collective_and_size"}) {
    json[key] = OrderedJson::object();
  }
  for (const auto& [name, summary] : report.summary_by_collective()) json["summary_by"][name] = summary_json(summary);
  for (const auto& [file, summary] : report.summary_by_file()) json["summary_by_file"][file] = summary_json(summary);
  for (const auto& [size_class, summary] : report.summary_by_size()) {
    json["summary_by_size"][std::string{to_string(size_class)}] = summary_json(summary);
  }
  for (const auto& [name, parts] : report.summary_by_collective_and_size()) {
    for (const auto& [size_class, summary] : parts) {
      json["summary_by_collective_and_size"][name][std::string{to_string(size_class)}] = summary_json(summary);
    }
  }
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace weft::measured
