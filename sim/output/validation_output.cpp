#include "sim/output/validation_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string_view>

#include "sim/core/config/quantity.h"
#include "sim/core/csv_field.h"
#include "sim/core/json_writer.h"

namespace weft::output {
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

std::string validation_configuration(const net::Cluster& cluster, const std::vector<measured::Measurement>& measurements,
                                     const measured::PredictOptions& options) {
  std::ostringstream text;
  JsonWriter json{text, 0};
  json.begin_object().key("cluster").raw(cluster.resolved.to_json());
  json.key("measurements").begin_array();
  for (const measured::Measurement& measurement : measurements) {
    json.begin_object().field("file", measurement.file).field("digest", measured::digest_of(measurement.log));
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
  const auto members = nlohmann::ordered_json::parse(measured::to_json(output.report, -1));
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

void write_points_csv(std::ostream& out, const measured::ValidationReport& report) {
  out << "file,kind,collective,ranks,nodes,bytes,in_place,algorithm,protocol,channels,measured_us,predicted_us,relative_error,"
         "training,excluded\n";
  for (const measured::ValidationPoint& point : report.points) {
    const auto error = measured::relative_error(point);
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(point.file), point.kind, point.collective,
                       point.ranks, point.nodes, point.bytes.count(), point.in_place, point.algorithm, point.protocol,
                       point.channels, point.measured_us, point.predicted_us ? number_text(*point.predicted_us) : "",
                       error ? number_text(*error) : "", point.training, to_string(measured::exclusion_of(point)));
  }
}

}  // namespace weft::output
