// The file that measurements go to: whole lines, written at once, so that whatever stops the run leaves a readable file.
// Opening an earlier file to go on with drops what follows its last newline and tells which points it holds.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace weft::measure {

struct EarlierRun {
  bool has_header = false;
  std::set<std::string> done;  // ids of measured points
  long last_sequence = 0;
  std::size_t whole_bytes = 0;    // up to and with the last newline
  std::size_t dropped_bytes = 0;  // after it
};

// `content` of a measurement file, cut anywhere.
[[nodiscard]] EarlierRun scan_earlier_run(std::string_view content);

// The text of a string member of a line this program wrote, e.g. "id"; empty if absent. Takes the first `"key": "`.
[[nodiscard]] std::string string_member(std::string_view line, std::string_view key);

class MeasurementFile {
 public:
  // Opens `path` for writing, emptied, or, given `whole_bytes`, cut to that many. Throws std::system_error.
  explicit MeasurementFile(const std::string& path, std::size_t whole_bytes = 0);
  ~MeasurementFile();
  MeasurementFile(const MeasurementFile&) = delete;
  MeasurementFile& operator=(const MeasurementFile&) = delete;

  // Adds the newline.
  void write_line(std::string line);

 private:
  int descriptor_ = -1;
};

}  // namespace weft::measure
