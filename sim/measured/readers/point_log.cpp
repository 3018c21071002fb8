#include "sim/measured/readers/point_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/core/error.h"
#include "sim/core/used_files.h"
#include "sim/measured/readers/formats.h"

namespace weft::measured {
namespace {

std::ifstream open(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw ConfigError(fmt::format("'{}' is a folder, expected a file of measurements", path));
  std::ifstream input = open_input(path);
  if (!input) throw ConfigError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return input;
}

}  // namespace

const std::vector<const MeasurementFormat*>& measurement_formats() {
  static const std::vector<const MeasurementFormat*> formats{
#define WEFT_FORMAT(name) &name,
#include "sim/measured/readers/formats.def"
#undef WEFT_FORMAT
  };
  return formats;
}

const MeasurementFormat* format_of(const std::string& path) {
  std::ifstream input = open(path);
  std::string head(kFormatHead, '\0');
  input.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(input.gcount()));
  for (const MeasurementFormat* format : measurement_formats()) {
    if (format->recognises(head)) return format;
  }
  return nullptr;
}

PointLog read_points(const MeasurementFormat& format, const std::string& path) {
  std::ifstream input = open(path);
  PointLog log = format.read(input, path);
  log.file = path;
  log.format = format.name;
  return log;
}

}  // namespace weft::measured
