#include "sim/core/event_record.h"

#include <iterator>
#include <ostream>
#include <string_view>

#include "sim/core/error.h"
#include "sim/core/used_files.h"

namespace weft {
namespace {

constexpr std::string_view kMagic = "WEFTEVQ1";
constexpr std::uint64_t kPop = ~std::uint64_t{0};  // no time: times have 63 bits
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

}  // namespace

EventRecorder::EventRecorder(const std::string& path) : file_{path} {
  buffer_.reserve(kBufferBytes);
  buffer_.assign(kMagic.begin(), kMagic.end());
}

// A failed write leaves no file.
EventRecorder::~EventRecorder() {
  flush();
  try {
    file_.commit();
  } catch (const ConfigError&) {  // NOLINT(bugprone-empty-catch): a destructor cannot tell it
  }
}

void EventRecorder::push(const Event& event) {
  put(static_cast<std::uint64_t>(event.time.ps()));
  put(event.order);
}

void EventRecorder::pop() { put(kPop); }

void EventRecorder::put(std::uint64_t word) {
  if (buffer_.size() + 8 > kBufferBytes) flush();
  for (int shift = 0; shift < 64; shift += 8) buffer_.push_back(static_cast<char>((word >> shift) & 0xFF));
}

void EventRecorder::flush() {
  file_.stream().write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

std::vector<QueueOperation> read_event_record(const std::string& path) {
  std::ifstream file = open_input(path);
  if (!file) throw ConfigError("cannot read '" + path + "'");
  const std::string bytes{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  if (!std::string_view{bytes}.starts_with(kMagic)) throw ConfigError("'" + path + "' is not an event record");

  std::size_t at = kMagic.size();
  const auto take = [&] {
    if (bytes.size() - at < 8) throw ConfigError("'" + path + "' ends in the middle of an operation");
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    at += 8;
    return word;
  };
  std::vector<QueueOperation> operations;
  while (at < bytes.size()) {
    const std::uint64_t first = take();
    QueueOperation operation;
    if (first != kPop) {
      operation.is_push = true;
      operation.time = Time::from_ps(static_cast<std::int64_t>(first));
      operation.order = take();
    }
    operations.push_back(operation);
  }
  return operations;
}

}  // namespace weft
