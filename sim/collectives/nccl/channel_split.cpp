#include "sim/collectives/nccl/channel_split.h"

#include <algorithm>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll::nccl {
namespace {

constexpr std::int64_t kUnit = 16;

std::int64_t round_up(std::int64_t a, std::int64_t unit) { return ceil_div(a, unit) * unit; }

// The channel being filled, and the traffic it has.
struct Cursor {
  int channel = 0;
  std::int64_t traffic = 0;
};

// Cells on the first channel, on each of the channels after it, and on the last.
struct Cells {
  std::int64_t low = 0;
  std::int64_t each = 0;
  std::int64_t middle_channels = 0;
  std::int64_t high = 0;
};

Cells cells_of(std::int64_t cells, std::int64_t cell_traffic, std::int64_t channel_traffic, const Cursor& cursor,
               int max_channels, bool whole_cells_first) {
  Cells cut;
  cut.each = std::min(cells, ceil_div(channel_traffic, cell_traffic));
  const bool last = cursor.channel + 1 == max_channels;
  const std::int64_t room = channel_traffic - cursor.traffic;
  cut.low = last ? cells : std::min(cells, whole_cells_first ? room / cell_traffic : ceil_div(room, cell_traffic));
  cut.middle_channels = (cells - cut.low) / cut.each;
  cut.high = (cells - cut.low) % cut.each;
  if (cursor.channel + (cut.low > 0 ? 1 : 0) + cut.middle_channels + (cut.high > 0 ? 1 : 0) > max_channels) {
    // Rounding asks for more channels than there are: the rest is cut anew over those left.
    cut.middle_channels = max_channels - cursor.channel - 2;
    cut.each = (cells - cut.low) / (cut.middle_channels + 1);
    cut.high = cut.each + (cells - cut.low) % (cut.middle_channels + 1);
  }
  if (cut.high == 0 && cut.middle_channels > 0) {
    cut.high = cut.each;
    --cut.middle_channels;
  }
  return cut;
}

// Up to 2.21 a call has as much on each of its channels. Model: to 16 B; what the last loop over the channels does not fill,
// NCCL 2.18 and 2.19 cut by their chunk.
std::vector<std::vector<ChannelPart>> evenly(std::span<const SplitTask> tasks, int max_channels) {
  std::vector<std::vector<ChannelPart>> plan;
  for (const SplitTask& task : tasks) {
    plan.emplace_back();
    const std::int64_t channels = std::clamp(task.channels, 1, max_channels);
    const std::int64_t each = round_up(ceil_div(task.elements, channels), std::max<std::int64_t>(1, kUnit / task.element_size));
    std::int64_t left = task.elements;
    for (int c = 0; left > 0; ++c) {
      plan.back().push_back({.channel = c, .elements = std::min(left, each)});
      left -= plan.back().back().elements;
    }
  }
  return plan;
}

}  // namespace

std::int64_t split_ll_factor(NcclVersion version) { return rule(kSplit, version).ll_factor; }

std::vector<std::vector<ChannelPart>> split_over_channels(std::span<const SplitTask> tasks, int max_channels,
                                                          NcclVersion version) {
  WEFT_CHECK(max_channels >= 1);
  const Split& how = rule(kSplit, version);
  if (how.least == 0) return evenly(tasks, max_channels);
  std::int64_t channels = 0;
  std::int64_t traffic = 0;
  for (const SplitTask& task : tasks) {
    channels += task.channels;
    const std::int64_t own = task.traffic_per_byte * task.elements * task.element_size;
    traffic += how.cells ? std::max(how.least, own) : own;
  }
  channels = std::clamp<std::int64_t>(channels, 1, max_channels);
  const std::int64_t channel_traffic =
      how.rounds_up ? round_up(traffic / channels, kUnit) : std::max(how.least, traffic / channels);

  std::vector<std::vector<ChannelPart>> plan(tasks.size());
  Cursor cursor;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const SplitTask& task = tasks[t];
    if (task.elements <= 0) continue;
    const std::int64_t cell = how.cells ? round_up(ceil_div(how.least, task.traffic_per_byte), kUnit) : kUnit;
    const std::int64_t cell_traffic = cell * task.traffic_per_byte;
    const std::int64_t cell_elements = cell / task.element_size;
    if (cursor.traffic >= channel_traffic && cursor.channel + 1 < max_channels) cursor = {.channel = cursor.channel + 1};
    Cells cut = cells_of(ceil_div(task.elements * task.element_size, cell), cell_traffic, channel_traffic, cursor, max_channels,
                         !how.cells);
    if (cut.low == 0) {  // no room on the channel begun
      ++cursor.channel;
      cut.low = cut.middle_channels == 0 ? cut.high : cut.each;
      if (cut.middle_channels == 0) cut.high = 0;
      cut.middle_channels = std::max<std::int64_t>(0, cut.middle_channels - 1);
    }

    std::int64_t left = task.elements;
    const auto give = [&](std::int64_t cells) {
      const std::int64_t elements = std::min(left, cells * cell_elements);
      left -= elements;
      plan[t].push_back({.channel = cursor.channel + static_cast<int>(plan[t].size()), .elements = elements});
    };
    give(cut.low);
    for (std::int64_t m = 0; m < cut.middle_channels; ++m) give(cut.each);
    if (cut.high > 0) give(cut.high);
    WEFT_CHECK(left == 0);

    if (plan[t].size() == 1) {
      cursor.traffic += cut.low * cell_traffic;
    } else {
      cursor = {.channel = plan[t].back().channel, .traffic = cut.high * cell_traffic};
    }
  }
  return plan;
}

}  // namespace weft::coll::nccl
