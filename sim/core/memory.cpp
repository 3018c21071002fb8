#include "sim/core/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Notes {
  std::mutex mutex;
  std::array<HeldMemory, kMemoryKinds> most;
};

Notes& notes() {
  static Notes all;
  return all;
}

// A file that holds one number; "max" is none.
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in{file};
  std::uint64_t number = 0;
  return in >> number ? std::optional{number} : std::nullopt;
}

// Of lines "key number" or "key: number kB", the number.
std::optional<std::uint64_t> value_in(const fs::path& file, const std::string& key) {
  std::ifstream in{file};
  for (std::string word; in >> word; in.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::uint64_t number = 0;
    if (word == key) return in >> number ? std::optional{number} : std::nullopt;
  }
  return std::nullopt;
}

// What a group's limit leaves. Cached files make room.
std::optional<std::uint64_t> left_in(const fs::path& group, const char* limit, const char* usage, const char* cached) {
  const std::optional<std::uint64_t> most = number_in(group / limit);
  const std::optional<std::uint64_t> used = number_in(group / usage);
  if (!most || !used) return std::nullopt;
  const std::uint64_t held = *used - std::min(*used, value_in(group / "memory.stat", cached).value_or(0));
  return *most - std::min(*most, held);
}

void lessen(std::optional<std::uint64_t>& least, std::optional<std::uint64_t> other) {
  if (other) least = std::min(least.value_or(*other), *other);
}

}  // namespace

void note_memory(MemoryKind kind, HeldMemory held) {
  const std::lock_guard lock{notes().mutex};
  HeldMemory& most = notes().most[static_cast<std::size_t>(kind)];
  if (held.bytes > most.bytes) most = held;
}

HeldMemory most_held(MemoryKind kind) {
  const std::lock_guard lock{notes().mutex};
  return notes().most[static_cast<std::size_t>(kind)];
}

std::uint64_t resident_memory() {
  std::ifstream in{"/proc/self/statm"};
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  return in >> all >> resident ? resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

std::optional<std::uint64_t> available_memory(const fs::path& root) {
  std::optional<std::uint64_t> least = value_in(root / "proc/meminfo", "MemAvailable:");
  if (least) *least *= 1024;
  // Lines such as "0::/user.slice" (version 2) and "5:memory:/jobs/7". In a container the path may be the host's, so that the
  // groups above it are looked at too, up to the one that is mounted.
  std::ifstream groups{root / "proc/self/cgroup"};
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool second_version = controllers.empty();
    if (!second_version && (',' + controllers + ',').find(",memory,") == std::string::npos) continue;
    const fs::path mounted = root / (second_version ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    for (fs::path path = fs::path{line.substr(second + 1)}.relative_path();; path = path.parent_path()) {
      const fs::path group = path.empty() ? mounted : mounted / path;
      lessen(least, second_version ? left_in(group, "memory.max", "memory.current", "inactive_file")
                                   : left_in(group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"));
      if (path.empty()) break;
    }
  }
  return least;
}

}  // namespace weft
