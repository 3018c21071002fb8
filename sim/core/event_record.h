// The pushes and pops of a run as a file, so that queues can be compared on what Weft really does (tests/bench).
//
// Format, little-endian on every machine: the eight bytes "WEFTEVQ1"; a push is its time in picoseconds and its order, 8 bytes
// each; a pop is eight bytes 0xFF. Targets and payloads are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/event_queue.h"
#include "sim/core/output_file.h"
#include "sim/core/units.h"

namespace weft {

class EventRecorder {
 public:
  // ConfigError if the file cannot be made.
  explicit EventRecorder(const std::string& path);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void push(const Event& event);
  void pop();

 private:
  void put(std::uint64_t word);
  void flush();

  OutputFile file_;
  std::vector<char> buffer_;
};

struct QueueOperation {
  bool is_push = false;
  Time time;                // of a push
  std::uint64_t order = 0;  // of a push
};

// ConfigError if the file cannot be read, is none of ours, or ends in the middle of an operation.
[[nodiscard]] std::vector<QueueOperation> read_event_record(const std::string& path);

}  // namespace weft
