#include "sim/collectives/nccl/channel_split.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll::nccl {
namespace {

constexpr std::int64_t kUnit = 16;

// Bytes of traffic below which a channel is not worth starting. 32 KiB in 2.30 (models/nccl §4.6); with the same formula the
// logs of 2.28.9 show 16 KiB: an all-reduce of 512 KiB in LL runs there on 24 channels, where 32 KiB would make it 22.
std::int64_t least_traffic(NcclVersion version) { return version >= NcclVersion::k2_30 ? 32768 : 16384; }

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
               int max_channels) {
  Cells cut;
  cut.each = std::min(cells, ceil_div(channel_traffic, cell_traffic));
  const bool last = cursor.channel + 1 == max_channels;
  cut.low = last ? cells : std::min(cells, ceil_div(channel_traffic - cursor.traffic, cell_traffic));
  cut.middle_channels = (cells - cut.low) / cut.each;
  cut.high = (cells - cut.low) % cut.each;
  if (cursor.channel + 1 + cut.middle_channels + (cut.high > 0 ? 1 : 0) > max_channels) {
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

}  // namespace

std::vector<std::vector<ChannelPart>> split_over_channels(std::span<const SplitTask> tasks, int max_channels,
                                                          NcclVersion version) {
  WEFT_CHECK(max_channels >= 1);
  const std::int64_t least = least_traffic(version);
  std::int64_t channels = 0;
  std::int64_t traffic = 0;
  for (const SplitTask& task : tasks) {
    channels += task.channels;
    traffic += std::max(least, task.traffic_per_byte * task.elements * task.element_size);
  }
  channels = std::clamp<std::int64_t>(channels, 1, max_channels);
  const std::int64_t channel_traffic = round_up(traffic / channels, kUnit);

  std::vector<std::vector<ChannelPart>> plan(tasks.size());
  Cursor cursor;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const SplitTask& task = tasks[t];
    if (task.elements <= 0) continue;
    const std::int64_t cell = round_up(ceil_div(least, task.traffic_per_byte), kUnit);
    const std::int64_t cell_traffic = cell * task.traffic_per_byte;
    const std::int64_t cell_elements = cell / task.element_size;
    if (cursor.traffic >= channel_traffic && cursor.channel + 1 < max_channels) cursor = {.channel = cursor.channel + 1};
    const Cells cut =
        cells_of(ceil_div(task.elements * task.element_size, cell), cell_traffic, channel_traffic, cursor, max_channels);

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
