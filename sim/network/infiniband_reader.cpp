#include "sim/network/infiniband_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/config/quantity.h"
#include "sim/network/numbered_map.h"

namespace weft::net {
namespace {

constexpr std::int64_t kWeightUnit = 64;    // bytes, of an entry's weight
constexpr std::int64_t kLimitUnit = 4'096;  // bytes, of high_limit
constexpr std::int64_t kUnlimited = 255;    // of high_limit
constexpr std::size_t kMostEntries = 64;    // of a table
constexpr std::int64_t kLevels = 16;

std::vector<LaneTables::Entry> read_table(ParamReader& section, std::string_view key) {
  std::vector<LaneTables::Entry> table;
  bool serves = false;
  const std::size_t errors_before = section.diagnostics().errors().size();
  for (ParamReader& entry : section.maps(key)) {
    const auto lane = entry.required<std::int64_t>("vl", between(0, kPriorities - 1));
    const auto weight = entry.required<std::int64_t>("weight", between(0, 255));
    entry.finish();
    table.push_back({static_cast<std::uint8_t>(lane), weight * kWeightUnit});
    serves |= weight > 0;
  }
  if (!table.empty() && !serves && section.diagnostics().errors().size() == errors_before)
    section.error(key, "no entry has a weight above 0: the table would never send");
  if (table.size() > kMostEntries) section.error(key, fmt::format("a table has at most 64 entries, not {}", table.size()));
  return table;
}

}  // namespace

void read_lane_tables(ParamReader& switches, SwitchSettings& settings) {
  std::optional<ParamReader> section = switches.optional_map("vl_arbitration");
  if (!section) {
    if (settings.scheduling == Scheduling::kLanes && settings.lanes.high.empty() && settings.lanes.low.empty()) {
      switches.error("scheduling", "virtual lanes are arbitrated by tables, which are not given",
                     "state vl_arbitration: {low: [{vl: 0, weight: 64}, {vl: 1, weight: 64}]}");
    }
    return;
  }
  if (settings.scheduling != Scheduling::kLanes) {
    switches.error("vl_arbitration", "has no effect with this scheduling", "state scheduling: vl_arbitration");
  }
  settings.lanes.high = read_table(*section, "high");
  settings.lanes.low = read_table(*section, "low");
  const auto limit = section->optional<std::int64_t>("high_limit", 0, between(0, 255));
  settings.lanes.high_limit = limit == kUnlimited ? std::numeric_limits<std::int64_t>::max() : limit * kLimitUnit;
  if (section->has("high_limit") && (settings.lanes.high.empty() || settings.lanes.low.empty())) {
    section->error("high_limit", "has no effect without entries in both tables");
  }
  if (settings.lanes.high.empty() && settings.lanes.low.empty()) {
    section->error_here("expected entries under 'high' or 'low', such as {vl: 0, weight: 64}");
  }
  section->finish();
}

void read_service_levels(ParamReader& fabric, PacketSettings& settings) {
  const NumberedMap expected{.what = "service levels to virtual lanes",
                             .example = "{0: 0, 1: 1}",
                             .number = "a service level of 0 to 15",
                             .value = "a virtual lane of 0 to 7",
                             .numbers = kLevels};
  std::array<std::int16_t, kLevels> lanes;
  lanes.fill(-1);
  const bool is_stated = read_numbered_map(fabric, "service_levels", expected, [&](std::size_t level, const std::string& text) {
    const auto lane = parse_integer(text);
    if (!lane || *lane < 0 || *lane >= kPriorities) return false;
    lanes[level] = static_cast<std::int16_t>(*lane);
    return true;
  });
  if (is_stated) settings.lane_of_level = lanes;
}

FecnSettings read_fecn(ParamReader& section, FecnSettings settings) {
  if (const std::optional<ConfigNode> written = section.optional_raw("threshold")) {
    const auto weight = written->is_scalar() ? parse_integer(written->scalar()) : std::nullopt;
    const auto size = written->is_scalar() ? parse_bytes(written->scalar()) : std::nullopt;
    if (weight && *weight >= 0 && *weight <= 15) {
      settings.weight = static_cast<int>(*weight);
      settings.threshold.reset();
    } else if (!weight && size && size->count() >= 0) {
      settings.threshold = size;
    } else {
      section.error("threshold",
                    fmt::format("expected a weight of 0 to 15 or a size such as '20 kB', got {}", found_text(*written)));
    }
  }
  settings.marking_rate = section.optional<std::int64_t>("marking_rate", settings.marking_rate, between(0, 65'535));
  settings.packet_size = section.optional<Bytes>("packet_size", settings.packet_size);
  settings.victims = section.optional<bool>("victim_mask", settings.victims);
  return settings;
}

int read_lane(ParamReader& item, const PacketSettings* settings) {
  const auto priority = static_cast<int>(item.optional<std::int64_t>("priority", 0, between(0, kPriorities - 1)));
  if (!item.has("service_level")) return priority;
  if (item.has("priority")) item.error("priority", "the service level says which lane it is");
  const auto level = item.required<std::int64_t>("service_level", between(0, 15));
  if (settings == nullptr || level < 0 || level >= kLevels) return 0;
  const int lane = settings->lane_of_level[static_cast<std::size_t>(level)];
  if (lane < 0) {
    item.error("service_level", fmt::format("the fabric gives service level {} no virtual lane", level),
               fmt::format("state fabric.service_levels: {{{}: 0}}, with the others", level));
  }
  return std::max(lane, 0);
}

}  // namespace weft::net
