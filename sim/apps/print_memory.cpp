#include "sim/apps/print_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/apps/table.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/memory.h"
#include "sim/scenario/run_scenario.h"

namespace weft::apps {
namespace {

// Says what structures of each kind held when they held most.
std::string held_text() {
  std::string text;
  for (const auto& [kind, name] :
       {std::pair{MemoryKind::kRank, "ranks"}, std::pair{MemoryKind::kPort, "ports"},
        std::pair{MemoryKind::kTransfer, "live transfers"}, std::pair{MemoryKind::kPacket, "live packets"}}) {
    const HeldMemory held = most_held(kind);
    if (held.count > 0)
      text += fmt::format("{}{} {} of {}", text.empty() ? "" : ", ", held.count, name, short_bytes(held.each()));
  }
  return text.empty() ? "none counted" : text;
}

// A size with its unit: nobody means so many bytes.
std::optional<Bytes> memory_size(const std::string& text) {
  return text.find_first_not_of("0123456789.") == std::string::npos ? std::nullopt : parse_size(text);
}

}  // namespace

void add_memory_option(CLI::App& command, std::string& memory) {
  command
      .add_option("--memory", memory,
                  "Refuse a run that is predicted to hold more, and end one that comes to hold more; else what the machine has "
                  "left is the limit")
      ->each([](const std::string& text) {
        // From the first: reading and preparing may take more than the run.
        if (const auto size = memory_size(text); size && *size > Bytes{}) {
          limit_memory(static_cast<std::uint64_t>(size->count()));
        }
      })
      ->type_name("SIZE");
}

std::optional<std::uint64_t> memory_limit(const std::string& memory) {
  if (memory.empty()) return std::nullopt;
  const std::optional<Bytes> bytes = memory_size(memory);
  if (!bytes || *bytes <= Bytes{}) throw ConfigError(fmt::format("--memory: expected a size such as 8 GiB, got '{}'", memory));
  return static_cast<std::uint64_t>(bytes->count());
}

std::string predicted_line(const scenario::MemoryPlan& memory) {
  return fmt::format("# memory predicted {}\n", scenario::memory_text(memory));
}

std::string memory_line(const scenario::MemoryPlan& memory, std::size_t gpus) {
  const auto peak = static_cast<double>(scenario::peak_memory_bytes());
  return fmt::format("# memory held at most: {}; peak {}, {} per GPU; predicted / peak {:.2f}\n", held_text(),
                     short_bytes(peak), short_bytes(peak / static_cast<double>(std::max<std::size_t>(1, gpus))),
                     memory.total() / peak);
}

}  // namespace weft::apps
