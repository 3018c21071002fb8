#include "measurement_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>

namespace weft::measure {

std::string string_member(std::string_view line, std::string_view key) {
  const std::string opening = "\"" + std::string{key} + "\": \"";
  const std::size_t found = line.find(opening);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + opening.size();
  const std::size_t end = line.find('"', begin);
  return end == std::string_view::npos ? std::string{} : std::string{line.substr(begin, end - begin)};
}

namespace {

long sequence_of(std::string_view line) {
  constexpr std::string_view kOpening = "\"sequence\": ";
  const std::size_t found = line.find(kOpening);
  long sequence = 0;
  if (found != std::string_view::npos) {
    std::from_chars(line.data() + found + kOpening.size(), line.data() + line.size(), sequence);
  }
  return sequence;
}

}  // namespace

EarlierRun scan_earlier_run(std::string_view content) {
  EarlierRun run;
  const std::size_t last = content.rfind('\n');
  run.whole_bytes = last == std::string_view::npos ? 0 : last + 1;
  run.dropped_bytes = content.size() - run.whole_bytes;
  content = content.substr(0, run.whole_bytes);
  while (!content.empty()) {
    const std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(line.size() + 1);
    run.has_header = run.has_header || line.starts_with("{\"weft_measurements\": 1,");
    run.last_sequence = std::max(run.last_sequence, sequence_of(line));
    const bool measured = line.find("\"median_us\": ") != std::string_view::npos;
    if (measured) run.done.insert(string_member(line, "id"));
  }
  return run;
}

MeasurementFile::MeasurementFile(const std::string& path, std::size_t whole_bytes) {
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  // A terminal or another thing that is no file cannot be cut and need not be.
  if (ftruncate(descriptor_, static_cast<off_t>(whole_bytes)) == 0) lseek(descriptor_, 0, SEEK_END);
}

MeasurementFile::~MeasurementFile() { close(descriptor_); }

void MeasurementFile::write_line(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::system_error(errno, std::generic_category(), "cannot write the measurements");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace weft::measure
