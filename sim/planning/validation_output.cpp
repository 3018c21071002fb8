#include "sim/planning/validation_output.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string_view>

#include "sim/core/config/quantity.h"
#include "sim/core/version.h"
#include "sim/planning/json_writer.h"

namespace weft::plan {
namespace {

std::vector<std::string> fitted_keys(const Profile& profile, const std::string& calibration) {
  std::vector<std::string> keys;
  for (const std::string& key : profile.keys()) {
    if (profile.provenance(key).calibration == calibration) keys.push_back(key);
  }
  return keys;
}

std::string sizes_text(const std::vector<Bytes>& sizes) {
  std::string text;
  for (const Bytes size : sizes) text += (text.empty() ? "" : ", ") + to_string(size);
  return text.empty() ? "all sizes" : text;
}

void write_calibrations(JsonWriter& json, const Profile& profile) {
  json.key("calibrations").begin_array();
  for (const Calibration& calibration : profile.calibrations()) {
    json.begin_object().field("id", calibration.id).field("date", calibration.date).field("tool", calibration.tool);
    json.field("machine", calibration.machine).field("samples", calibration.samples).field("fit_error", calibration.fit_error);
    json.key("parameters").begin_array();
    for (const std::string& key : fitted_keys(profile, calibration.id)) json.value(key);
    json.end_array().key("training").begin_array();
    for (const Calibration::Training& training : calibration.training) {
      json.begin_object().field("file", training.file).field("digest", training.digest);
      json.field("collective", training.collective).field("ranks", training.ranks).key("bytes").begin_array();
      for (const Bytes size : training.bytes) json.value(size.count());
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{text};
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string{"\"\""} : std::string{c};
  return cell + '"';
}

std::string html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string percent(double fraction) { return fmt::format("{:.2f}", 100 * fraction); }

void write_summary_row(std::ostream& out, std::string_view name, std::string_view size, const ErrorSummary& summary) {
  const auto cell = [&](double value) { return summary.points == 0 ? std::string{"–"} : percent(value); };
  out << fmt::format("<tr><td class=l>{}<td class=l>{}<td>{}<td>{}<td>{}<td>{}<td>{}\n", html(name), html(size), summary.points,
                     cell(summary.median), cell(summary.geomean), cell(summary.p95), cell(summary.max));
}

void write_point_row(std::ostream& out, const ValidationPoint& point) {
  const auto error = relative_error(point);
  const Exclusion exclusion = exclusion_of(point);
  // Shades by size of the error, so that a bad region is seen before it is read.
  std::string_view shade;
  if (error && exclusion == Exclusion::kNone) {
    const double size = std::abs(*error);
    shade = size <= 0.02 ? " class=e0" : size <= 0.05 ? " class=e1" : size <= 0.15 ? " class=e2" : " class=e3";
  }
  out << fmt::format(
      "<tr{}><td class=l>{}<td>{}<td>{}<td class=l>{}<td class=l>{}<td class=l>{}<td>{}<td>{:.2f}<td>{}<td{}>{}<td "
      "class=l>{}\n",
      exclusion == Exclusion::kNone ? "" : " class=x", html(point.collective.empty() ? point.kind : point.collective),
      point.ranks, point.bytes.count(), point.in_place ? "in" : "out", html(point.algorithm), html(point.protocol),
      point.channels > 0 ? std::to_string(point.channels) : "–", point.measured_us,
      point.predicted_us ? fmt::format("{:.2f}", *point.predicted_us) : "–", shade,
      error ? fmt::format("{:+.2f}", 100 * *error) : "–", to_string(exclusion));
}

constexpr std::string_view kStyle =
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:.5em 0 1.5em;font-variant-numeric:tabular-nums}"
    "th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}th{border-bottom:2px solid #888}"
    ".l{text-align:left}.x{color:#888}.e0{background:#d9f0d3}.e1{background:#f0f5d5}.e2{background:#fdebc8}.e3{background:#"
    "f9cfc4}"
    ".bad{color:#a00;font-weight:bold}code{background:#f3f3f3;padding:0 .2em}";

}  // namespace

std::vector<std::string> calibration_lines(const Profile& profile) {
  std::vector<std::string> lines;
  for (const Calibration& calibration : profile.calibrations()) {
    std::string line =
        fmt::format("{}: {} fitted {} by {} on {} to ", calibration.id, fmt::join(fitted_keys(profile, calibration.id), ", "),
                    calibration.date, calibration.tool, calibration.machine);
    bool first = true;
    for (const Calibration::Training& training : calibration.training) {
      if (!first) line += "; ";
      first = false;
      line += fmt::format("{} ({}, {} ranks: {})", training.file, training.collective.empty() ? "all" : training.collective,
                          training.ranks, sizes_text(training.bytes));
    }
    lines.push_back(line + fmt::format("; fit error {}", to_string(Ratio{calibration.fit_error})));
  }
  return lines;
}

std::string validation_configuration(const net::Cluster& cluster, const std::vector<Measurement>& measurements,
                                     const PredictOptions& options) {
  std::ostringstream text;
  JsonWriter json{text, 0};
  json.begin_object().key("cluster").raw(cluster.resolved.to_json());
  json.key("measurements").begin_array();
  for (const Measurement& measurement : measurements) {
    json.begin_object().field("file", measurement.file).field("digest", digest_of(measurement.log));
    json.key("nccl").begin_object();
    for (const auto& [key, value] : measurement.settings) json.field(key, value);
    json.end_object().end_object();
  }
  json.end_array().field("fidelity", "flow").field("grain", coll::to_string(options.grain));
  json.field("shuffle_ties", options.shuffle_ties).end_object();
  json.finish();
  return text.str();
}

void write_validation_result(std::ostream& out, const ValidationOutput& output, bool with_points) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, output.header);
  write_calibrations(json, output.cluster.profile);
  json.key("missed").begin_array();
  for (const std::string& text : output.missed) json.value(text);
  json.end_array();
  const auto members = nlohmann::ordered_json::parse(to_json(output.report, -1));
  for (const auto& [key, value] : members.items()) {
    if (key != "points") {
      json.key(key).raw(value.dump());
    } else if (with_points) {
      json.key(key).begin_array();
      for (const auto& point : value) json.raw(point.dump());
      json.end_array();
    }
  }
  json.end_object();
  json.finish();
}

void write_points_csv(std::ostream& out, const ValidationReport& report) {
  out << "file,kind,collective,ranks,nodes,bytes,in_place,algorithm,protocol,channels,measured_us,predicted_us,relative_error,"
         "training,excluded\n";
  for (const ValidationPoint& point : report.points) {
    const auto error = relative_error(point);
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(point.file), point.kind, point.collective,
                       point.ranks, point.nodes, point.bytes.count(), point.in_place, point.algorithm, point.protocol,
                       point.channels, point.measured_us, point.predicted_us ? number_text(*point.predicted_us) : "",
                       error ? number_text(*error) : "", point.training, to_string(exclusion_of(point)));
  }
}

void write_validation_page(std::ostream& out, const ValidationOutput& output) {
  const ResultHeader& header = output.header;
  out << "<!doctype html>\n<html lang=en><meta charset=utf-8><title>weft validate: " << html(output.cluster.name)
      << "</title>\n";
  out << "<style>" << kStyle << "</style>\n<h1>Measured and predicted: " << html(output.cluster.name) << "</h1>\n";
  out << fmt::format("<p>weft {} ({}), <code>{}</code>\n", html(version()), html(commit()), html(header.command_line));
  for (const ProfileStatement& profile : header.profiles) {
    out << fmt::format("<p>Profile <b>{}</b>{}: {}\n", html(profile.name),
                       profile.file.empty() ? "" : " (" + html(profile.file) + ")", html(profile.stated_error));
  }
  for (const std::string& line : calibration_lines(output.cluster.profile)) out << "<p>Calibration " << html(line) << '\n';
  for (const std::string& text : output.missed) out << "<p class=bad>" << html(text) << '\n';

  out << "<h2>Absolute relative error of the points that count (%)</h2>\n<table>\n<tr><th class=l>of<th class=l>size<th>points"
         "<th>median<th>geomean<th>p95<th>max\n";
  write_summary_row(out, "all", "all", output.report.summary());
  for (const auto& [size, summary] : output.report.summary_by_size()) write_summary_row(out, "all", to_string(size), summary);
  const auto nested = output.report.summary_by_collective_and_size();
  for (const auto& [name, summary] : output.report.summary_by_collective()) {
    write_summary_row(out, name, "all", summary);
    for (const auto& [size, part] : nested.at(name)) write_summary_row(out, name, to_string(size), part);
  }
  for (const auto& [file, summary] : output.report.summary_by_file()) write_summary_row(out, file, "all", summary);
  out << "</table>\n";

  const std::string* file = nullptr;
  for (const ValidationPoint& point : output.report.points) {
    if (file == nullptr || *file != point.file) {
      if (file != nullptr) out << "</table>\n";
      file = &point.file;
      out << "<h2>" << html(point.file)
          << "</h2>\n<table>\n<tr><th class=l>collective<th>ranks<th>size (B)<th class=l>place<th class=l>algorithm"
             "<th class=l>protocol<th>channels<th>measured (us)<th>predicted (us)<th>error (%)<th class=l>left out\n";
    }
    write_point_row(out, point);
  }
  if (file != nullptr) out << "</table>\n";
  for (const std::string& warning : header.warnings) out << "<p class=x>" << html(warning) << '\n';
  out << "</html>\n";
}

}  // namespace weft::plan
