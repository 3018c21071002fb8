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

}  // namespace weft
