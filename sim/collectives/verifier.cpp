#include "sim/collectives/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collectives/buffer_uses.h"
#include "sim/collectives/connections.h"
#include "sim/collectives/expected_result.h"
#include "sim/collectives/step_order.h"
#include "sim/collectives/symbolic_data.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {
namespace {

constexpr std::size_t kReportedWaits = 8;

struct Lane {
  Rank rank = 0;
  int channel = 0;
  int lane = 0;
  std::int64_t next = 0;
  std::int64_t count = 0;
  StepNumber last = kNoStep;
  std::vector<StepNumber> done = {};  // by index
};

// Bytes of the output buffer.
struct OutputPart {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

std::string_view to_string(Buffer buffer) {
  constexpr std::array<std::string_view, 3> kNames{"input", "output", "scratch"};
  return kNames[static_cast<std::size_t>(buffer)];
}

const StepNames& default_names() {
  static const StepNames kNames;
  return kNames;
}

class Verification {
 public:
  Verification(const Schedule& schedule, const CollectiveCall& call, const VerifyOptions& options)
      : schedule_{schedule},
        call_{call},
        names_{options.names != nullptr ? *options.names : default_names()},
        slots_{static_cast<std::size_t>(options.fifo_slots)},
        n_{schedule.ranks()},
        connections_{n_, schedule.channels()},
        uses_{n_} {
    WEFT_CHECK(options.fifo_slots >= 1);
    WEFT_CHECK(call.root >= 0 && call.root < n_);
    const CallSizes sizes = sizes_of(call, n_);
    const auto ranks = static_cast<std::size_t>(n_);
    buffers_.resize(3 * ranks);
    named_by_.resize(ranks);
    for (Rank rank = 0; rank < n_; ++rank) {
      const bool only_root_reads = call.kind == Collective::kBroadcast || call.kind == Collective::kScatter;
      const bool only_root_writes = call.kind == Collective::kReduce || call.kind == Collective::kGather;
      const PairSizes* pairs = call.pairs.get();
      const std::int64_t input = pairs == nullptr ? sizes.input.count() : pairs->sent(rank);
      const std::int64_t output = pairs == nullptr ? sizes.output.count() : pairs->received(rank);
      input_bytes_.push_back(only_root_reads && rank != call.root ? 0 : input);
      output_bytes_.push_back(only_root_writes && rank != call.root ? 0 : output);
      place_input(rank);
      for (int channel = 0; channel < schedule.channels(); ++channel) {
        first_lanes_.push_back(static_cast<std::uint32_t>(lanes_.size()));
        for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
          const std::int64_t count = schedule.step_count(rank, channel, lane);
          lanes_.push_back({.rank = rank, .channel = channel, .lane = lane, .next = 0, .count = count, .last = kNoStep});
        }
      }
    }
  }

  std::optional<std::string> run() {
    if (run_steps() && no_message_is_left() && no_lanes_clash()) check_results();
    return error_;
  }

 private:
  SymbolicBuffer& buffer(Rank rank, Buffer which) {
    return buffers_[3 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(which)];
  }
  Connection& incoming(const Lane& lane, const Step& step, Rank from) {
    return connections_.between(lane.channel, step.receive_connection, from, lane.rank);
  }
  Connection& outgoing(const Lane& lane, const Step& step, Rank to) {
    return connections_.between(lane.channel, step.send_connection, lane.rank, to);
  }

  // In place (Schedule::in_place) all is in the output buffer, and the smaller of input and output is a part of the larger.
  void place_input(Rank rank) {
    const std::int64_t bytes = input_bytes_[static_cast<std::size_t>(rank)];
    std::int64_t& output_bytes = output_bytes_[static_cast<std::size_t>(rank)];
    const bool in_place = schedule_.in_place();
    const std::int64_t begin = in_place && bytes < output_bytes ? rank * bytes : 0;
    results_.push_back({.begin = in_place && output_bytes < bytes ? rank * output_bytes : 0, .bytes = output_bytes});
    if (bytes > 0) {
      buffer(rank, in_place ? Buffer::kOutput : Buffer::kInput)
          .write(begin, {{.bytes = bytes, .source = 0, .from = table_.one(rank)}});
    }
    if (!in_place) return;
    output_bytes = std::max(output_bytes, bytes);
    input_bytes_[static_cast<std::size_t>(rank)] = 0;
  }

  Lane& lane_at(Rank rank, const Progress& progress) {
    return lanes_[first_lanes_[flat_index(rank, schedule_.channels(), progress.channel)] +
                  static_cast<std::uint32_t>(progress.lane)];
  }
  bool reached(Rank rank, const Progress& progress) {
    return progress.steps == 0 || lane_at(rank, progress).next >= progress.steps;
  }

  bool fail(const std::string& message) {
    error_ = fmt::format("{} on {} ranks: {}", coll::to_string(call_.kind), n_, message);
    return false;
  }
  bool fail_at(const Lane& lane, const std::string& message) {
    return fail(fmt::format("{}: {}", place(lane, lane.next), message));
  }
  [[nodiscard]] std::string place(StepNumber number) const { return place(lanes_[order_.lane(number)], order_.index(number)); }
  [[nodiscard]] std::string place(const Lane& lane, std::int64_t index) const {
    return names_.step(lane.rank, lane.channel, lane.lane, index);
  }
  [[nodiscard]] std::string name(const Chunk& chunk) const { return names_.chunk(chunk); }

  bool run_steps() {
    std::vector<std::uint32_t> unfinished;
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].count > 0) unfinished.push_back(i);
    }
    for (bool progress = true; progress && !unfinished.empty();) {
      progress = false;
      for (const std::uint32_t i : unfinished) {
        Lane& lane = lanes_[i];
        while (lane.next < lane.count) {
          const Step step = schedule_.step(lane.rank, lane.channel, lane.lane, lane.next);
          if (!well_formed(lane, step)) return false;
          if (!can_run(lane, step)) break;
          if (!run_step(i, step)) return false;
          ++lane.next;
          progress = true;
        }
      }
      std::erase_if(unfinished, [&](std::uint32_t i) { return lanes_[i].next == lanes_[i].count; });
    }
    return unfinished.empty() || fail_deadlock(unfinished);
  }

  bool well_formed(const Lane& lane, const Step& step) {
    if (step.bytes < Bytes{0}) return fail_at(lane, "a negative number of bytes");
    if (step.receive_connection >= Connections::kPerPair || step.send_connection >= Connections::kPerPair)
      return fail_at(lane, fmt::format("a connection that is none of the {}", Connections::kPerPair));
    if (step.receive_in_switch && step.receive_from.empty()) return fail_at(lane, "a switch has nothing to add up");
    if (step.send_in_switch && step.send_to.empty()) return fail_at(lane, "a switch has nobody to send to");
    // From itself a rank may take what a switch has copied to it among others.
    if (!peers_are_right(lane, step.receive_from, true)) return false;
    if (!peers_are_right(lane, step.send_to, step.send_in_switch || step.receive_in_switch)) return false;
    if (!may_wait(lane, step.after)) return false;
    if (step.accumulate && !step.store) return fail_at(lane, "adds to its destination, but keeps nothing there");
    const bool only_waits = step.after.steps > 0 && step.bytes == Bytes{0} && step.send_to.empty() && !step.store;
    if (step.receive_from.empty() && !step.use_source && !only_waits)
      return fail_at(lane, "neither receives nor reads anything");
    if (step.send_to.empty() && !step.store && step.bytes > Bytes{0})
      return fail_at(lane, "neither sends nor keeps its result");
    if (step.is_spread()) return well_spread(lane, step);
    return (!step.use_source || in_bounds(lane, step.source, step.bytes)) &&
           (!step.store || (is_writable(lane, step.destination) && in_bounds(lane, step.destination, step.bytes)));
  }

  bool well_spread(const Lane& lane, const Step& step) {
    const bool scatters = step.use_source && !step.send_to.empty() && step.receive_from.empty() && !step.store;
    const bool gathers =
        step.store && !step.receive_from.empty() && step.send_to.empty() && !step.use_source && !step.accumulate;
    if (!scatters && !gathers) return fail_at(lane, "does more than scatter or gather");
    const int peers = scatters ? step.send_to.size() : step.receive_from.size();
    if (peers * step.peer_bytes < step.bytes) return fail_at(lane, "has more bytes than its peers take");
    if (peers > 1 && step.peer_offset < step.peer_bytes.count()) return fail_at(lane, "has chunks of peers that overlap");
    const Chunk& first = scatters ? step.source : step.destination;
    if (gathers && !is_writable(lane, first)) return false;
    for (int peer = 0; peer < peers; ++peer) {
      const Bytes bytes = step.bytes_of_peer(peer);
      if (bytes > Bytes{0} && !in_bounds(lane, chunk_of_peer(first, step, peer), bytes)) return false;
    }
    return true;
  }

  static Chunk chunk_of_peer(const Chunk& first, const Step& step, int peer) {
    return {first.buffer, first.offset + step.offset_of_peer(peer)};
  }

  bool peers_are_right(const Lane& lane, const Peers& peers, bool may_be_itself) {
    ++naming_;
    for (const Rank peer : peers) {
      if (peer < 0 || peer >= n_) return fail_at(lane, fmt::format("peer {} is not a rank", peer));
      if (peer == lane.rank && !may_be_itself) return fail_at(lane, "a message to or from itself");
      if (std::exchange(named_by_[static_cast<std::size_t>(peer)], naming_) == naming_)
        return fail_at(lane, fmt::format("peer {} stands twice", peer));
    }
    return true;
  }

  bool may_wait(const Lane& lane, const Progress& after) {
    if (after.steps == 0) return true;
    const bool exists = after.channel >= 0 && after.channel < schedule_.channels() && after.lane >= 0 &&
                        after.lane < schedule_.lanes(lane.rank, after.channel) && after.steps > 0 &&
                        after.steps <= lane_at(lane.rank, after).count;
    if (!exists) {
      return fail_at(lane, fmt::format("waits for {} steps of lane {} of channel {}, which are not there", after.steps,
                                       after.lane, after.channel));
    }
    return (after.channel != lane.channel || after.lane != lane.lane) || fail_at(lane, "waits for its own lane");
  }

  bool is_writable(const Lane& lane, const Chunk& chunk) {
    return chunk.buffer != Buffer::kInput || fail_at(lane, fmt::format("writes {}", name(chunk)));
  }

  bool in_bounds(const Lane& lane, const Chunk& chunk, Bytes bytes) {
    const auto rank = static_cast<std::size_t>(lane.rank);
    const std::int64_t end = chunk.offset + bytes.count();
    const bool outside = chunk.offset < 0 || (chunk.buffer == Buffer::kInput && end > input_bytes_[rank]) ||
                         (chunk.buffer == Buffer::kOutput && end > output_bytes_[rank]);
    return !outside || fail_at(lane, fmt::format("{} bytes at {} are outside the buffer", bytes.count(), name(chunk)));
  }

  bool can_run(const Lane& lane, const Step& step) {
    return reached(lane.rank, step.after) &&
           std::all_of(step.receive_from.begin(), step.receive_from.end(),
                       [&](Rank from) { return incoming(lane, step, from).waiting() > 0; }) &&
           std::all_of(step.send_to.begin(), step.send_to.end(),
                       [&](Rank to) { return outgoing(lane, step, to).waiting() < slots_; });
  }

  bool run_step(std::uint32_t lane_index, const Step& step) {
    Lane& lane = lanes_[lane_index];
    const StepNumber number = order_.add(lane_index, lane.next);
    order_.add_cause(lane.last);
    lane.last = number;
    lane.done.push_back(number);
    if (step.after.steps > 0)
      order_.add_cause(lane_at(lane.rank, step.after).done[static_cast<std::size_t>(step.after.steps - 1)]);

    if (step.is_spread()) return step.send_to.empty() ? gather(lane, step, number) : scatter(lane, step, number);
    Data result;
    bool first = true;
    for (const Rank from : step.receive_from) {
      std::optional<Data> received = receive(lane, step, number, from, step.bytes);
      if (!received || !merge(lane, result, *std::move(received), first)) return false;
      first = false;
    }
    if (step.use_source) {
      Data source;
      if (!read(lane, step.source, step.bytes, number, source)) return false;
      if (!merge(lane, result, std::move(source), first)) return false;
      first = false;
    }
    if (step.accumulate) {
      Data before;
      if (const auto hole =
              buffer(lane.rank, step.destination.buffer).read(step.destination.offset, step.bytes.count(), before))
        return fail_at(lane, fmt::format("adds to {}, which is undefined", name(Chunk{step.destination.buffer, *hole})));
      if (!merge(lane, result, std::move(before), first)) return false;
    }
    if (step.store) {
      const bool overlap = step.use_source && step.source.buffer == step.destination.buffer &&
                           step.source.offset != step.destination.offset &&
                           step.source.offset < step.destination.offset + step.bytes.count() &&
                           step.destination.offset < step.source.offset + step.bytes.count();
      if (overlap) return fail_at(lane, fmt::format("writes {} over its own source", name(step.destination)));
      keep(lane, step.destination, step.bytes, number, result);
    }
    return std::ranges::all_of(step.send_to, [&](Rank to) { return send(lane, step, number, to, step.bytes, result); });
  }

  bool scatter(const Lane& lane, const Step& step, StepNumber number) {
    int peer = 0;
    for (const Rank to : step.send_to) {
      const Bytes bytes = step.bytes_of_peer(peer);
      Data source;
      if (!read(lane, chunk_of_peer(step.source, step, peer++), bytes, number, source)) return false;
      if (!send(lane, step, number, to, bytes, source)) return false;
    }
    return true;
  }

  bool gather(const Lane& lane, const Step& step, StepNumber number) {
    int peer = 0;
    for (const Rank from : step.receive_from) {
      const Bytes bytes = step.bytes_of_peer(peer);
      const std::optional<Data> received = receive(lane, step, number, from, bytes);
      if (!received) return false;
      keep(lane, chunk_of_peer(step.destination, step, peer++), bytes, number, *received);
    }
    return true;
  }

  std::optional<Data> receive(const Lane& lane, const Step& step, StepNumber number, Rank from, Bytes bytes) {
    Connection& line = incoming(lane, step, from);
    Message message = line.take();
    order_.add_cause(message.sender);
    if (!fits(lane, step, from, bytes, message)) return std::nullopt;
    if (!in_order(lane, line.last_receive, number, "receives from", from)) return std::nullopt;
    return std::move(message.data);
  }

  bool read(const Lane& lane, const Chunk& from, Bytes bytes, StepNumber number, Data& data) {
    if (const auto hole = buffer(lane.rank, from.buffer).read(from.offset, bytes.count(), data))
      return fail_at(lane, fmt::format("reads {}, which is undefined", name(Chunk{from.buffer, *hole})));
    uses_.add(lane.rank, from, bytes, false, number);
    return true;
  }

  void keep(const Lane& lane, const Chunk& at, Bytes bytes, StepNumber number, const Data& data) {
    buffer(lane.rank, at.buffer).write(at.offset, data);
    uses_.add(lane.rank, at, bytes, true, number);
  }

  bool send(const Lane& lane, const Step& step, StepNumber number, Rank to, Bytes bytes, const Data& data) {
    Connection& line = outgoing(lane, step, to);
    if (!in_order(lane, line.last_send, number, "sends to", to)) return false;
    line.messages.push_back({.bytes = bytes.count(), .data = data, .sender = number, .to_be_added_up = step.contributes()});
    return true;
  }

  bool fits(const Lane& lane, const Step& step, Rank from, Bytes bytes, const Message& message) {
    if (message.bytes != bytes.count()) {
      return fail_at(lane, fmt::format("expects {} bytes from rank {}, which sent {} ({})", bytes.count(), from, message.bytes,
                                       place(message.sender)));
    }
    if (message.to_be_added_up == step.receive_in_switch) return true;
    return fail_at(
        lane, fmt::format("{} what rank {} sent {} ({})", message.to_be_added_up ? "takes by itself" : "has a switch add up",
                          from, message.to_be_added_up ? "for a switch to add up" : "past it", place(message.sender)));
  }

  bool merge(const Lane& lane, Data& result, Data&& more, bool first) {
    if (first) {
      result = std::move(more);
      return true;
    }
    const auto misaligned = add_data(result, more, table_);
    return !misaligned ||
           fail_at(lane, fmt::format("adds up different bytes of the inputs at byte {} of its chunk", *misaligned));
  }

  // The ends of a connection are used in one order only if each use comes before the next by itself.
  bool in_order(const Lane& lane, StepNumber& last, StepNumber number, std::string_view does, Rank peer) {
    const StepNumber before = std::exchange(last, number);
    if (before == kNoStep || order_.comes_before(before, number)) return true;
    return fail_at(lane, fmt::format("{} rank {} in no fixed order with {}", does, peer, place(before)));
  }

  bool fail_deadlock(const std::vector<std::uint32_t>& stuck) {
    std::string waits;
    for (std::size_t i = 0; i < std::min(stuck.size(), kReportedWaits); ++i) {
      const Lane& lane = lanes_[stuck[i]];
      const Step step = schedule_.step(lane.rank, lane.channel, lane.lane, lane.next);
      waits += fmt::format("{}{} waits for", i == 0 ? "" : "; ", place(lane, lane.next));
      std::string_view separator = " ";
      if (!reached(lane.rank, step.after)) {
        waits += std::exchange(separator, " and ");
        waits += place(lane_at(lane.rank, step.after), step.after.steps - 1);
      }
      for (const Rank from : step.receive_from) {
        if (incoming(lane, step, from).waiting() > 0) continue;
        waits += fmt::format("{}a message from rank {}", std::exchange(separator, " and "), from);
      }
      for (const Rank to : step.send_to) {
        if (outgoing(lane, step, to).waiting() < slots_) continue;
        waits += fmt::format("{}a free slot to rank {}", std::exchange(separator, " and "), to);
      }
    }
    if (stuck.size() > kReportedWaits) waits += fmt::format("; and {} more", stuck.size() - kReportedWaits);
    return fail("deadlock: " + waits);
  }

  bool no_message_is_left() {
    const auto left = connections_.first_left();
    return !left || fail(fmt::format("rank {} never receives what {} sent", left->to, place(left->sender)));
  }

  bool no_lanes_clash() {
    const auto clash = uses_.first_clash(order_);
    return !clash ||
           fail(fmt::format("{} and {} use {} in no fixed order", place(clash->first), place(clash->second), name(clash->at)));
  }

  bool check_results() {
    for (Rank rank = 0; rank < n_; ++rank) {
      const OutputPart& result = results_[static_cast<std::size_t>(rank)];
      if (result.bytes == 0) continue;
      std::int64_t offset = result.begin;
      for (const Piece& wanted : expected_result(call_, n_, rank, result.bytes, table_)) {
        Data found;
        if (const auto hole = buffer(rank, Buffer::kOutput).read(offset, wanted.bytes, found)) {
          return fail(fmt::format("rank {} ends with {} undefined", rank, name(Chunk{Buffer::kOutput, *hole})));
        }
        std::int64_t within = 0;
        for (const Piece& piece : found) {
          if (piece.from != wanted.from || piece.source != wanted.source + within) {
            return fail(fmt::format("rank {} ends with {} made of {} of {}, not of {} of {}", rank,
                                    name(Chunk{Buffer::kOutput, offset + within}), name(Chunk{Buffer::kInput, piece.source}),
                                    table_.text(piece.from), name(Chunk{Buffer::kInput, wanted.source + within}),
                                    table_.text(wanted.from)));
          }
          within += piece.bytes;
        }
        offset += wanted.bytes;
      }
    }
    return true;
  }

  const Schedule& schedule_;
  const CollectiveCall& call_;
  const StepNames& names_;
  std::size_t slots_;
  int n_;
  std::optional<std::string> error_;
  ContributorTable table_;
  std::vector<std::int64_t> input_bytes_;  // by rank: what it may read, write
  std::vector<std::int64_t> output_bytes_;
  std::vector<OutputPart> results_;      // by rank: where in the output buffer the result lies
  std::vector<SymbolicBuffer> buffers_;  // three a rank
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> first_lanes_;  // by rank and channel
  Connections connections_;
  StepOrder order_;
  std::vector<std::uint64_t> named_by_;  // by rank: the last list of peers that named it
  std::uint64_t naming_ = 0;
  BufferUses uses_;
};

}  // namespace

std::string StepNames::step(Rank rank, int channel, int lane, std::int64_t index) const {
  return fmt::format("rank {} channel {} lane {} step {}", rank, channel, lane, index);
}

std::string StepNames::chunk(const Chunk& chunk) const { return fmt::format("{}[{}]", to_string(chunk.buffer), chunk.offset); }

std::optional<std::string> verify(const Schedule& schedule, const CollectiveCall& call, const VerifyOptions& options) {
  return Verification{schedule, call, options}.run();
}

}  // namespace weft::coll
