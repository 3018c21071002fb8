#include "sim/core/memory.h"

#include <fmt/format.h>
#include <signal.h>  // NOLINT: pthread_sigmask is POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>

#include "sim/core/output_file.h"

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

// Returns the number of the line "key number" or "key: number kB".
std::optional<std::uint64_t> value_in(const fs::path& file, const std::string& key) {
  std::ifstream in{file};
  for (std::string word; in >> word; in.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::uint64_t number = 0;
    if (word == key) return in >> number ? std::optional{number} : std::nullopt;
  }
  return std::nullopt;
}

// Returns what a group's limit leaves. Cached files make room.
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

namespace {

constexpr std::chrono::milliseconds kLook{5};
// The program with its libraries and a small input holds less. Limits below that are for predictions, which say what is needed.
constexpr std::uint64_t kOwn = std::uint64_t{32} << 20;
// One part of what is left stays for others: a machine that has given all it has ends programs without a word.
constexpr std::uint64_t kPartsForOthers = 16;

struct Watched {
  std::atomic<std::uint64_t> machine = 0;  // bytes; 0: no limit is known
  std::atomic<std::uint64_t> allowed = 0;  // by the user; 0: nothing is said
  std::atomic<const char*> phase = nullptr;
  std::atomic<std::uint64_t> held_before = 0;  // the phase
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> total = 0;
};

Watched& watched() {
  static Watched one;
  return one;
}

std::string needs_text(std::uint64_t held) {
  const Watched& now = watched();
  const char* const phase = now.phase;
  if (phase == nullptr) return fmt::format("more than {} would be needed", memory_size_text(static_cast<double>(held)));
  const auto done = static_cast<double>(now.done);
  const auto total = static_cast<double>(now.total);
  if (done <= 0 || total <= done) {
    return fmt::format("more than {} would be needed: it was {}", memory_size_text(static_cast<double>(held)), phase);
  }
  const auto before = static_cast<double>(now.held_before);
  const double all = before + std::max(0.0, static_cast<double>(held) - before) * total / done;
  return fmt::format("about {} would be needed: it was {}, and {:.0f} % was done", memory_size_text(all), phase,
                     100 * done / total);
}

[[noreturn]] void end_for_memory(std::uint64_t held, std::uint64_t allowed) {
  remove_unfinished();
  const std::string text = fmt::format(
      "error: out of memory: this command holds {}, and {}\nnote: {}; --memory SIZE, where a command has it, says otherwise\n",
      memory_size_text(static_cast<double>(held)),
      allowed > 0 ? fmt::format("--memory allows {}", memory_size_text(static_cast<double>(allowed)))
                  : std::string{"the machine has no more to give"},
      needs_text(held));
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  _exit(2);
}

void look() {
  const std::uint64_t allowed = watched().allowed;
  const std::uint64_t most = allowed > 0 ? allowed : watched().machine.load();
  if (most == 0) return;
  if (const std::uint64_t held = resident_memory(); held > std::max(most, kOwn)) end_for_memory(held, allowed);
}

}  // namespace

MemoryWatch::MemoryWatch() {
  if (const std::optional<std::uint64_t> left = available_memory()) {
    watched().machine = resident_memory() + *left - *left / kPartsForOthers;
  }
  // Signals go to the thread that works.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    thread_ = std::jthread{[](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any ended;
      std::unique_lock lock{mutex};
      while (!ended.wait_for(lock, stop, kLook, [&] { return stop.stop_requested(); })) look();
    }};
  } catch (const std::system_error&) {
    // No thread is to be had: memory is not watched, as without a limit.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MemoryWatch::~MemoryWatch() = default;

void limit_memory(std::uint64_t bytes) { watched().allowed = bytes; }

MemoryPhase::MemoryPhase(const char* what) {
  const char* none = nullptr;
  told_ = watched().phase.compare_exchange_strong(none, what);
  if (!told_) return;
  watched().held_before = resident_memory();
  tell(0, 0);
}

MemoryPhase::~MemoryPhase() {
  if (told_) watched().phase = nullptr;
}

void MemoryPhase::tell(std::uint64_t done, std::uint64_t total) const {
  if (!told_) return;
  watched().done = done;
  watched().total = total;
}

std::string memory_size_text(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

}  // namespace weft
