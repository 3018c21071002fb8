// Memory: what this process holds, what the machine has left, and what structures held when they held most.
//
// Structures note what they hold where they end, or have grown to their most; what is asked for is of the process, as its peak
// is: of each kind the largest single one, say the fabric with most ports of all that ran. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

namespace weft {

enum class MemoryKind : std::uint8_t {
  kPort,      // a link of a fabric: its counters, shares, queues
  kTransfer,  // in flight, or a queue pair: with its place on every link, and all paths there are
  kPacket,    // in flight
  kRank,      // that is simulated: times and causes of an iteration's operations, and the operations
};
inline constexpr std::size_t kMemoryKinds = 4;

struct HeldMemory {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of all of them
  [[nodiscard]] double each() const { return count == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(count); }
};
void note_memory(MemoryKind kind, HeldMemory held);
[[nodiscard]] HeldMemory most_held(MemoryKind kind);

// Bytes of this process in memory now; 0: not known.
[[nodiscard]] std::uint64_t resident_memory();

// Bytes that may still be taken: what Linux counts as available (MemAvailable), or what is left below a limit of the control
// groups (versions 1 and 2) that this process is in, whichever is less. Nothing: neither is known. `root`: where /proc and /sys
// are, for tests.
[[nodiscard]] std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

// Ends this program, with exit status 2 and the reason, where it comes to hold more memory than it may: what limit_memory()
// allows, else what the machine had left when this was made, less a share for others. Files that are not finished are removed.
// It looks every few milliseconds from a thread of its own, whatever the others do. One at a time; main makes it.
class MemoryWatch {
 public:
  MemoryWatch();
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

 private:
  std::jthread thread_;
};
// From now on: bytes, as the user allows them.
void limit_memory(std::uint64_t bytes);

// Says what is being done, for that reason, with how much of it is done: so much more would be needed. Of several at a time the
// first is told. `what`: a literal, "reading the trace".
class MemoryPhase {
 public:
  explicit MemoryPhase(const char* what);
  ~MemoryPhase();
  MemoryPhase(const MemoryPhase&) = delete;
  MemoryPhase& operator=(const MemoryPhase&) = delete;
  void tell(std::uint64_t done, std::uint64_t total) const;

 private:
  bool told_;  // by the watch
};

// "1.2 GiB".
[[nodiscard]] std::string memory_size_text(double bytes);

}  // namespace weft
