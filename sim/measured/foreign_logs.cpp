#include "sim/measured/foreign_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "sim/measured/predict.h"
#include "sim/scenario/scenario.h"

namespace weft::measured {
namespace {

// "NVIDIA A100-SXM4-80GB" is {"nvidia", "a100", "sxm4", "80gb"}.
std::vector<std::string> name_parts(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      parts.back() += static_cast<char>(std::tolower(byte));
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

// Whether "2.28.9+cuda13.0" is what "2.28.9" or "2.28" asks for.
bool is_release(std::string_view ran, std::string_view asked) {
  return ran.starts_with(asked) && (ran.size() == asked.size() || !has_digit(ran.substr(asked.size(), 1)));
}

Diagnostic about(const std::string& file, std::string message, std::string note) {
  return {.where = {file, 0, 0}, .message = std::move(message), .source_line = {}, .length = 1, .note = std::move(note)};
}

// The first device whose name differs, as the log has it; empty: none.
std::string foreign_gpu(const NcclTestsLog& log, std::string_view model) {
  const auto found = std::ranges::find_if(
      log.devices, [&](const NcclTestsDevice& device) { return !device.name.empty() && !is_gpu_model(device.name, model); });
  return found == log.devices.end() ? std::string{} : found->name;
}

}  // namespace

bool is_gpu_model(std::string_view makers_name, std::string_view model) {
  const std::vector<std::string> found = name_parts(makers_name);
  // The part that identifies the model ends with its first number: "rtx", "4090" of rtx_4090; "a100" of a100_sxm_40gb.
  for (const std::string& part : name_parts(model)) {
    if (std::ranges::find(found, part) == found.end()) return false;
    if (has_digit(part)) return true;
  }
  return true;
}

std::vector<Diagnostic> warn_of_foreign_logs(const net::Cluster& cluster, const MeasurementSet& set) {
  std::vector<Diagnostic> warnings;
  const std::string model{cluster.topology.endpoints().empty()
                              ? std::string_view{}
                              : net::label_of(cluster.topology.labels(cluster.topology.endpoints().front()), "model")};
  const auto asked = scenario::nccl_settings(cluster, {}).find("VERSION");
  const auto warn_of_gpu = [&](const std::string& file, const std::string& gpu) {
    warnings.push_back(about(file, fmt::format("measured on {}, but the GPUs of cluster '{}' are {}", gpu, cluster.name, model),
                             "the errors below compare two machines"));
  };
  for (const Measurement& measurement : set.measurements) {
    if (const std::string gpu = foreign_gpu(measurement.log, model); !model.empty() && !gpu.empty()) {
      warn_of_gpu(measurement.file, gpu);
    }
    const std::string ran = release_of(measurement.log);
    if (!ran.empty() && asked && !is_release(ran, *asked)) {
      warnings.push_back(about(measurement.file,
                               fmt::format("NCCL {} ran, but cluster '{}' asks for {}", ran, cluster.name, *asked),
                               "the cluster's release is predicted; remove its 'version' to predict the one that ran"));
    }
  }
  for (const PointLog& log : set.points) {
    const auto is_told = [&](const Measurement& measurement) {
      return measurement.file == log.file && !foreign_gpu(measurement.log, model).empty();
    };
    if (model.empty() || log.gpu.empty() || is_gpu_model(log.gpu, model) || std::ranges::any_of(set.measurements, is_told))
      continue;
    warn_of_gpu(log.file, log.gpu);
  }
  return warnings;
}

}  // namespace weft::measured
