#include "sim/measured/readers/point_log.h"

#include <fstream>

#include "sim/measured/readers/formats.h"
#include "sim/measured/readers/text_lines.h"

namespace weft::measured {
namespace {

std::ifstream open(const std::string& path) { return open_text(path, "a file of measurements"); }

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
