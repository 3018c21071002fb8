#include "sim/collectives/msccl/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/collectives/msccl/program.h"
#include "sim/collectives/verifier.h"
#include "sim/core/error.h"
#include "sim/network/import/xml_text.h"

namespace weft::coll {
namespace {

using msccl::Op;

std::string_view xml_name(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "allreduce";
    case Collective::kAllGather:
      return "allgather";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kReduce:
      return "reduce";
    case Collective::kAllToAll:
      return "alltoall";
    case Collective::kGather:
      return "gather";
    case Collective::kScatter:
      return "scatter";
    case Collective::kSendRecv:
      break;
  }
  throw ConfigError(fmt::format("MSCCL XML has no collective like {}", to_string(collective)));
}

// A step of the schedule that another waits for.
struct Wait {
  std::size_t lane = 0;
  std::int64_t step = 0;
};
struct XmlStep {
  Op op = Op::kNop;
  Chunk source = {};
  Chunk destination = {};
  Bytes bytes = {};
  std::vector<Wait> wait = {};  // none or one
  bool waited_for = false;
};
struct XmlBlock {
  Rank send = -1;
  Rank receive = -1;
  int channel = 0;
  std::vector<XmlStep> steps;
};
struct Position {
  std::size_t block = 0;
  std::size_t step = 0;
};
struct ScheduleLane {
  int channel = 0;
  int lane = 0;
  std::vector<Position> done;  // by step of the schedule: the last step it became
};

// One rank's threadblocks.
class GpuWriter {
 public:
  GpuWriter(const Schedule& schedule, Rank rank, std::int64_t unit) : schedule_{schedule}, rank_{rank}, unit_{unit} {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      const std::size_t first_block = blocks_.size();
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        lanes_.push_back({.channel = channel, .lane = lane, .done = {}});
        add_lane(lanes_.size() - 1);
      }
      if (blocks_.size() - first_block > msccl::kMaxBlocksPerChannel) {
        throw ConfigError(fmt::format("rank {} channel {} needs {} threadblocks, MSCCL runs {} at most", rank, channel,
                                      blocks_.size() - first_block, msccl::kMaxBlocksPerChannel));
      }
    }
    mark_waits();
  }

  [[nodiscard]] std::string text(std::int64_t input_chunks, std::int64_t output_chunks, bool output_is_input) const {
    std::int64_t scratch = 0;
    std::string blocks;
    for (std::size_t id = 0; id < blocks_.size(); ++id) {
      const XmlBlock& block = blocks_[id];
      blocks +=
          fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", id, block.send, block.receive, block.channel);
      for (std::size_t i = 0; i < block.steps.size(); ++i) {
        const XmlStep& step = block.steps[i];
        const msccl::OpTraits& op = msccl::traits(step.op);
        for (const auto& [used, chunk] : {std::pair{op.reads_source, step.source}, std::pair{op.stores, step.destination}}) {
          if (used && chunk.buffer == Buffer::kScratch)
            scratch = std::max(scratch, (chunk.offset + step.bytes.count()) / unit_);
        }
        const Position wait = step.wait.empty() ? Position{} : position(step.wait.front());
        const std::string waits =
            step.wait.empty() ? "depid=\"-1\" deps=\"-1\"" : fmt::format("depid=\"{}\" deps=\"{}\"", wait.block, wait.step);
        blocks += fmt::format("      <step s=\"{}\" type=\"{}\" {} {} cnt=\"{}\" {} hasdep=\"{}\"/>\n", i, op.name,
                              place("src", op.reads_source, step.source, output_is_input),
                              place("dst", op.stores, step.destination, output_is_input), step.bytes.count() / unit_, waits,
                              step.waited_for ? 1 : 0);
      }
      blocks += "    </tb>\n";
    }
    return fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n{}  </gpu>\n", rank_, input_chunks,
                       output_chunks, scratch, blocks);
  }

 private:
  [[nodiscard]] std::string place(std::string_view which, bool used, const Chunk& chunk, bool output_is_input) const {
    if (!used) return fmt::format("{0}buf=\"i\" {0}off=\"-1\"", which);
    const Buffer buffer = output_is_input && chunk.buffer == Buffer::kOutput ? Buffer::kInput : chunk.buffer;
    constexpr std::array<char, 3> kNames{'i', 'o', 's'};
    return fmt::format("{0}buf=\"{1}\" {0}off=\"{2}\"", which, kNames[static_cast<std::size_t>(buffer)], chunk.offset / unit_);
  }

  [[noreturn]] void refuse(const ScheduleLane& lane, std::int64_t index, std::string_view why) const {
    throw ConfigError(fmt::format("MSCCL XML cannot say {}: {}", StepNames{}.step(rank_, lane.channel, lane.lane, index), why));
  }

  // The threadblocks of a lane, chosen so that each connection has one: first for the steps that receive and send.
  void add_blocks(const ScheduleLane& lane, std::size_t first_block) {
    const std::int64_t count = schedule_.step_count(rank_, lane.channel, lane.lane);
    for (const bool both : {true, false}) {
      for (std::int64_t i = 0; i < count; ++i) {
        const Step step = schedule_.step(rank_, lane.channel, lane.lane, i);
        if (step.receive_from.size() > 1 || step.send_to.size() > 1) refuse(lane, i, "it has several peers at once");
        const Rank send = step.send_to.empty() ? -1 : *step.send_to.begin();
        const Rank receive = step.receive_from.empty() ? -1 : *step.receive_from.begin();
        const bool has_both = send >= 0 && receive >= 0;
        if (has_both != both || (send < 0 && receive < 0)) continue;
        const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(first_block);
        if (std::any_of(begin, blocks_.end(), [&](const XmlBlock& b) { return fits(b, send, receive); })) continue;
        claim(lane, i, true, send);
        claim(lane, i, false, receive);
        // A lane is one sequence, so that a threadblock may take any sends and any receives of it.
        const auto room = std::find_if(begin, blocks_.end(), [&](const XmlBlock& b) {
          return (send < 0 || b.send < 0) && (receive < 0 || b.receive < 0);
        });
        XmlBlock& block = room != blocks_.end() ? *room : blocks_.emplace_back();
        block.channel = lane.channel;
        if (send >= 0) block.send = send;
        if (receive >= 0) block.receive = receive;
      }
    }
    if (blocks_.size() == first_block && count > 0)
      blocks_.push_back({.send = -1, .receive = -1, .channel = lane.channel, .steps = {}});
  }
  static bool fits(const XmlBlock& block, Rank send, Rank receive) {
    return (send < 0 || block.send == send) && (receive < 0 || block.receive == receive);
  }
  void claim(const ScheduleLane& lane, std::int64_t index, bool sends, Rank peer) {
    if (peer >= 0 && !claimed_.insert({lane.channel, sends, peer}).second)
      refuse(lane, index, fmt::format("the connection {} rank {} has another threadblock", sends ? "to" : "from", peer));
  }

  void add_lane(std::size_t lane_index) {
    const ScheduleLane lane = lanes_[lane_index];
    const std::size_t first_block = blocks_.size();
    add_blocks(lane, first_block);
    const std::int64_t count = schedule_.step_count(rank_, lane.channel, lane.lane);
    std::size_t block = first_block;  // steps without peers stay where the lane is
    for (std::int64_t i = 0; i < count; ++i) {
      const Step step = schedule_.step(rank_, lane.channel, lane.lane, i);
      const Rank send = step.send_to.empty() ? -1 : *step.send_to.begin();
      const Rank receive = step.receive_from.empty() ? -1 : *step.receive_from.begin();
      std::vector<Wait> waits;
      if (send >= 0 || receive >= 0) {
        const std::size_t before = std::exchange(block, first_block);
        while (!fits(blocks_[block], send, receive)) ++block;
        if (i > 0 && block != before) waits.push_back({lane_index, i - 1});
      }
      if (step.after.steps > 0) waits.push_back({lane_of(step.after), step.after.steps - 1});
      add_step(lane, i, step, block, waits);
    }
  }

  // Lanes are numbered as they come; those of later channels are not there yet.
  [[nodiscard]] std::size_t lane_of(const Progress& progress) const {
    std::size_t index = 0;
    for (int channel = 0; channel < progress.channel; ++channel)
      index += static_cast<std::size_t>(schedule_.lanes(rank_, channel));
    return index + static_cast<std::size_t>(progress.lane);
  }

  void add_step(const ScheduleLane& lane, std::int64_t index, const Step& step, std::size_t block_index,
                std::vector<Wait>& waits) {
    std::vector<XmlStep>& steps = blocks_[block_index].steps;
    // All but the last dependency in front, each with a nop.
    for (; waits.size() > 1; waits.erase(waits.begin())) steps.push_back({.op = Op::kNop, .wait = {waits.front()}});
    for (const Op op : ops(lane, index, step)) {
      const std::int64_t most = msccl::kMaxCount * unit_;
      std::int64_t moved = 0;
      do {
        const std::int64_t bytes = std::min(step.bytes.count() - moved, most);
        const Chunk destination{step.destination.buffer, step.destination.offset + moved};
        const Chunk source = step.use_source ? Chunk{step.source.buffer, step.source.offset + moved} : destination;
        steps.push_back({.op = op, .source = source, .destination = destination, .bytes = Bytes{bytes}, .wait = waits});
        waits.clear();
        moved += bytes;
      } while (moved < step.bytes.count());
    }
    if (steps.size() > msccl::kMaxSteps)
      refuse(lane, index, fmt::format("its threadblock has more than {} steps", msccl::kMaxSteps));
    lanes_.back().done.push_back({block_index, steps.size() - 1});
  }

  [[nodiscard]] std::vector<Op> ops(const ScheduleLane& lane, std::int64_t index, const Step& step) const {
    const bool receives = !step.receive_from.empty();
    const bool sends = !step.send_to.empty();
    if (step.receive_in_switch || step.send_in_switch) refuse(lane, index, "a switch does it");
    if (step.receive_connection != 0 || step.send_connection != 0)
      refuse(lane, index, "it uses a second connection of its ranks");
    if (!receives && !sends && !step.store) return {Op::kNop};
    if (step.bytes == Bytes{0}) refuse(lane, index, "it moves no bytes; choose a size that is cut evenly");
    if (step.accumulate && step.use_source && receives) refuse(lane, index, "it adds up three chunks");
    const bool reduces = receives && (step.use_source || step.accumulate);
    if (!receives) {
      if (step.accumulate && sends) refuse(lane, index, "it adds up and sends without receiving");
      if (step.accumulate) return {Op::kReduce};
      if (!sends) return {Op::kCopy};
      return step.store ? std::vector{Op::kCopy, Op::kSend} : std::vector{Op::kSend};
    }
    if (!sends) return {reduces ? Op::kReceiveReduceCopy : Op::kReceive};
    if (!step.store && !reduces) refuse(lane, index, "it passes on what it neither keeps nor adds to");
    if (!step.store) return {Op::kReceiveReduceSend};
    return {reduces ? Op::kReceiveReduceCopySend : Op::kReceiveCopySend};
  }

  [[nodiscard]] Position position(const Wait& wait) const {
    return lanes_[wait.lane].done[static_cast<std::size_t>(wait.step)];
  }

  void mark_waits() {
    for (const XmlBlock& block : std::vector<XmlBlock>{blocks_}) {
      for (const XmlStep& step : block.steps) {
        for (const Wait& wait : step.wait) {
          const Position at = position(wait);
          blocks_[at.block].steps[at.step].waited_for = true;
        }
      }
    }
  }

  const Schedule& schedule_;
  Rank rank_;
  std::int64_t unit_;  // bytes of a chunk
  std::vector<ScheduleLane> lanes_;
  std::vector<XmlBlock> blocks_;
  std::set<std::tuple<int, bool, Rank>> claimed_;  // channel, sends, peer
};

// The largest number of bytes that divides `vector` and every offset and size.
std::int64_t common_unit(const Schedule& schedule, std::int64_t vector) {
  std::int64_t unit = vector;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        for (std::int64_t i = 0; i < schedule.step_count(rank, channel, lane); ++i) {
          const Step step = schedule.step(rank, channel, lane, i);
          unit = std::gcd(unit, step.bytes.count());
          if (step.use_source) unit = std::gcd(unit, step.source.offset);
          if (step.store) unit = std::gcd(unit, step.destination.offset);
        }
      }
    }
  }
  return unit;
}

}  // namespace

std::string export_msccl(const Schedule& schedule, const CollectiveCall& call, const MscclExport& options) {
  const std::string_view collective = xml_name(call.kind);
  if (schedule.channels() > msccl::kMaxChannels)
    throw ConfigError(
        fmt::format("the schedule has {} channels, MSCCL runs {} at most", schedule.channels(), msccl::kMaxChannels));
  const CallSizes sizes = sizes_of(call, schedule.ranks());
  const bool per_rank = call.kind == Collective::kGather || call.kind == Collective::kScatter;
  const std::int64_t vector = (per_rank ? std::min(sizes.input, sizes.output) : std::max(sizes.input, sizes.output)).count();
  if (vector == 0) throw ConfigError("a call of no bytes gives no MSCCL algorithm");
  const std::int64_t one = std::gcd(sizes.input.count(), sizes.output.count());
  const std::int64_t unit = common_unit(schedule, one);
  if (unit % call.element_size != 0)
    throw ConfigError(fmt::format("the chunks of the schedule have only {} bytes in common, less than an element", unit));
  const bool in_place = schedule.in_place();
  std::string name;
  net::append_escaped(name, options.name);
  std::string text = fmt::format(
      "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" inplace=\"{}\" "
      "outofplace=\"{}\" minBytes=\"0\" maxBytes=\"0\">\n",
      name, options.protocol, schedule.channels(), vector / unit, schedule.ranks(), collective, in_place ? 1 : 0,
      in_place ? 0 : 1);
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    const GpuWriter gpu{schedule, rank, unit};
    text += gpu.text(sizes.input.count() / unit, sizes.output.count() / unit, in_place && sizes.output < sizes.input);
  }
  text += "</algo>\n";
  return text;
}

}  // namespace weft::coll
