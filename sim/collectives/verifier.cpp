#include "sim/collectives/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/collectives/symbolic_data.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr std::size_t kReportedWaits = 8;

// Steps are numbered in the order they ran.
using StepNumber = std::uint32_t;
constexpr StepNumber kNone = 0xFFFF'FFFF;

struct Lane {
  Rank rank = 0;
  int channel = 0;
  int lane = 0;
  std::int64_t next = 0;
  std::int64_t count = 0;
  StepNumber last = kNone;
};

struct Ran {
  std::uint32_t lane = 0;
  std::int64_t index = 0;
  std::array<StepNumber, 4> after{kNone, kNone, kNone, kNone};  // the step before it in its lane, the senders of its messages
};

struct Message {
  std::int64_t bytes = 0;
  Data data;
  StepNumber sender = kNone;
};

struct Connection {
  std::vector<Message> messages;
  std::size_t taken = 0;
  StepNumber last_send = kNone;
  StepNumber last_receive = kNone;

  [[nodiscard]] std::size_t waiting() const { return messages.size() - taken; }
  Message take() {
    Message message = std::move(messages[taken++]);
    if (taken == messages.size()) {
      messages.clear();
      taken = 0;
    }
    return message;
  }
};

// A step's use of the output or scratch buffer. The input is never written, so that reading it cannot clash.
struct Access {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Buffer buffer = Buffer::kOutput;
  bool writes = false;
  StepNumber step = kNone;
};

std::string_view to_string(Buffer buffer) {
  constexpr std::array<std::string_view, 3> kNames{"input", "output", "scratch"};
  return kNames[static_cast<std::size_t>(buffer)];
}

std::string to_string(const Chunk& chunk) { return fmt::format("{}[{}]", to_string(chunk.buffer), chunk.offset); }

class Verification {
 public:
  Verification(const Schedule& schedule, const CollectiveCall& call, const VerifyOptions& options)
      : schedule_{schedule}, call_{call}, slots_{static_cast<std::size_t>(options.fifo_slots)}, n_{schedule.ranks()} {
    WEFT_CHECK(options.fifo_slots >= 1);
    WEFT_CHECK(call.root >= 0 && call.root < n_);
    const CallSizes sizes = sizes_of(call, n_);
    const auto ranks = static_cast<std::size_t>(n_);
    buffers_.resize(3 * ranks);
    accesses_.resize(ranks);
    connections_.resize(ranks * ranks * static_cast<std::size_t>(schedule.channels()));
    for (Rank rank = 0; rank < n_; ++rank) {
      const bool only_root_reads = call.kind == Collective::kBroadcast || call.kind == Collective::kScatter;
      const bool only_root_writes = call.kind == Collective::kReduce || call.kind == Collective::kGather;
      input_bytes_.push_back(only_root_reads && rank != call.root ? 0 : sizes.input.count());
      output_bytes_.push_back(only_root_writes && rank != call.root ? 0 : sizes.output.count());
      const std::int64_t bytes = input_bytes_.back();
      if (bytes > 0) buffer(rank, Buffer::kInput).write(0, {{.bytes = bytes, .source = 0, .from = table_.one(rank)}});
      for (int channel = 0; channel < schedule.channels(); ++channel) {
        for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
          const std::int64_t count = schedule.step_count(rank, channel, lane);
          lanes_.push_back({.rank = rank, .channel = channel, .lane = lane, .next = 0, .count = count, .last = kNone});
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
  Connection& connection(int channel, Rank from, Rank to) {
    return connections_[static_cast<std::size_t>((static_cast<std::int64_t>(channel) * n_ + from) * n_ + to)];
  }

  bool fail(const std::string& message) {
    error_ = fmt::format("{} on {} ranks: {}", coll::to_string(call_.kind), n_, message);
    return false;
  }
  bool fail_at(const Lane& lane, const std::string& message) {
    return fail(fmt::format("rank {} channel {} lane {} step {}: {}", lane.rank, lane.channel, lane.lane, lane.next, message));
  }
  [[nodiscard]] std::string place(StepNumber number) const {
    const Ran& ran = ran_[number];
    const Lane& lane = lanes_[ran.lane];
    return fmt::format("rank {} channel {} lane {} step {}", lane.rank, lane.channel, lane.lane, ran.index);
  }

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
    for (const Peers& peers : {step.receive_from, step.send_to}) {
      for (const Rank* peer = peers.begin(); peer != peers.end(); ++peer) {
        if (*peer < 0 || *peer >= n_) return fail_at(lane, fmt::format("peer {} is not a rank", *peer));
        if (*peer == lane.rank) return fail_at(lane, "a message to or from itself");
        if (std::count(peers.begin(), peers.end(), *peer) > 1) return fail_at(lane, fmt::format("peer {} stands twice", *peer));
      }
    }
    if (step.receive_from.empty() && !step.use_source) return fail_at(lane, "neither receives nor reads anything");
    if (step.send_to.empty() && !step.store && step.bytes > Bytes{0})
      return fail_at(lane, "neither sends nor keeps its result");
    return (!step.use_source || in_bounds(lane, step.source, step.bytes)) &&
           (!step.store || (is_writable(lane, step.destination) && in_bounds(lane, step.destination, step.bytes)));
  }

  bool is_writable(const Lane& lane, const Chunk& chunk) {
    return chunk.buffer != Buffer::kInput || fail_at(lane, fmt::format("writes {}", to_string(chunk)));
  }

  bool in_bounds(const Lane& lane, const Chunk& chunk, Bytes bytes) {
    const auto rank = static_cast<std::size_t>(lane.rank);
    const std::int64_t end = chunk.offset + bytes.count();
    const bool outside = chunk.offset < 0 || (chunk.buffer == Buffer::kInput && end > input_bytes_[rank]) ||
                         (chunk.buffer == Buffer::kOutput && end > output_bytes_[rank]);
    return !outside || fail_at(lane, fmt::format("{} bytes at {} are outside the buffer", bytes.count(), to_string(chunk)));
  }

  bool can_run(const Lane& lane, const Step& step) {
    return std::all_of(step.receive_from.begin(), step.receive_from.end(),
                       [&](Rank from) { return connection(lane.channel, from, lane.rank).waiting() > 0; }) &&
           std::all_of(step.send_to.begin(), step.send_to.end(),
                       [&](Rank to) { return connection(lane.channel, lane.rank, to).waiting() < slots_; });
  }

  bool run_step(std::uint32_t lane_index, const Step& step) {
    Lane& lane = lanes_[lane_index];
    const auto number = static_cast<StepNumber>(ran_.size());
    ran_.push_back({.lane = lane_index, .index = lane.next, .after = {lane.last, kNone, kNone, kNone}});
    lane.last = number;

    Data result;
    bool first = true;
    std::size_t senders = 1;
    for (const Rank from : step.receive_from) {
      Connection& line = connection(lane.channel, from, lane.rank);
      Message message = line.take();
      ran_.back().after[senders++] = message.sender;
      if (message.bytes != step.bytes.count()) {
        return fail_at(lane, fmt::format("expects {} bytes from rank {}, which sent {} ({})", step.bytes.count(), from,
                                         message.bytes, place(message.sender)));
      }
      if (!in_order(lane, line.last_receive, number, "receives from", from)) return false;
      if (!merge(lane, result, std::move(message.data), first)) return false;
      first = false;
    }
    if (step.use_source) {
      Data source;
      if (const auto hole = buffer(lane.rank, step.source.buffer).read(step.source.offset, step.bytes.count(), source)) {
        return fail_at(lane, fmt::format("reads {}, which is undefined", to_string(Chunk{step.source.buffer, *hole})));
      }
      note_access(lane.rank, step.source, step.bytes, false, number);
      if (!merge(lane, result, std::move(source), first)) return false;
    }
    if (step.store) {
      const bool overlap = step.use_source && step.source.buffer == step.destination.buffer &&
                           step.source.offset != step.destination.offset &&
                           step.source.offset < step.destination.offset + step.bytes.count() &&
                           step.destination.offset < step.source.offset + step.bytes.count();
      if (overlap) return fail_at(lane, fmt::format("writes {} over its own source", to_string(step.destination)));
      buffer(lane.rank, step.destination.buffer).write(step.destination.offset, result);
      note_access(lane.rank, step.destination, step.bytes, true, number);
    }
    for (const Rank to : step.send_to) {
      Connection& line = connection(lane.channel, lane.rank, to);
      if (!in_order(lane, line.last_send, number, "sends to", to)) return false;
      line.messages.push_back({.bytes = step.bytes.count(), .data = result, .sender = number});
    }
    return true;
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
    if (before == kNone || comes_before(before, number)) return true;
    return fail_at(lane, fmt::format("{} rank {} in no fixed order with {}", does, peer, place(before)));
  }

  // Whether lane order and messages put step `a` before step `b`; a < b.
  bool comes_before(StepNumber a, StepNumber b) {
    if (ran_[a].lane == ran_[b].lane) return true;
    seen_.resize(ran_.size(), 0);
    ++searches_;
    std::vector<StepNumber> open{b};
    while (!open.empty()) {
      const StepNumber at = open.back();
      open.pop_back();
      for (const StepNumber before : ran_[at].after) {
        if (before == a) return true;
        if (before == kNone || before < a || seen_[before] == searches_) continue;
        seen_[before] = searches_;
        open.push_back(before);
      }
    }
    return false;
  }

  void note_access(Rank rank, const Chunk& chunk, Bytes bytes, bool writes, StepNumber number) {
    if (chunk.buffer == Buffer::kInput || bytes == Bytes{0}) return;
    accesses_[static_cast<std::size_t>(rank)].push_back(
        {.begin = chunk.offset, .end = chunk.offset + bytes.count(), .buffer = chunk.buffer, .writes = writes, .step = number});
  }

  bool fail_deadlock(const std::vector<std::uint32_t>& stuck) {
    std::string waits;
    for (std::size_t i = 0; i < std::min(stuck.size(), kReportedWaits); ++i) {
      const Lane& lane = lanes_[stuck[i]];
      const Step step = schedule_.step(lane.rank, lane.channel, lane.lane, lane.next);
      waits += fmt::format("{}rank {} channel {} lane {} step {} waits for", i == 0 ? "" : "; ", lane.rank, lane.channel,
                           lane.lane, lane.next);
      std::string_view separator = " ";
      for (const Rank from : step.receive_from) {
        if (connection(lane.channel, from, lane.rank).waiting() > 0) continue;
        waits += fmt::format("{}a message from rank {}", std::exchange(separator, " and "), from);
      }
      for (const Rank to : step.send_to) {
        if (connection(lane.channel, lane.rank, to).waiting() < slots_) continue;
        waits += fmt::format("{}a free slot to rank {}", std::exchange(separator, " and "), to);
      }
    }
    if (stuck.size() > kReportedWaits) waits += fmt::format("; and {} more", stuck.size() - kReportedWaits);
    return fail("deadlock: " + waits);
  }

  bool no_message_is_left() {
    for (int channel = 0; channel < schedule_.channels(); ++channel) {
      for (Rank from = 0; from < n_; ++from) {
        for (Rank to = 0; to < n_; ++to) {
          const Connection& line = connection(channel, from, to);
          if (line.waiting() == 0) continue;
          return fail(fmt::format("rank {} never receives what {} sent", to, place(line.messages[line.taken].sender)));
        }
      }
    }
    return true;
  }

  bool no_lanes_clash() {
    for (std::vector<Access>& accesses : accesses_) {
      std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
        return std::tie(a.buffer, a.begin, a.step, a.writes) < std::tie(b.buffer, b.begin, b.step, b.writes);
      });
      std::vector<Access> open;  // those that reach the current one
      for (const Access& access : accesses) {
        std::erase_if(open, [&](const Access& a) { return a.buffer != access.buffer || a.end <= access.begin; });
        for (const Access& other : open) {
          if (!access.writes && !other.writes) continue;
          const auto [first, second] = std::minmax(access.step, other.step);
          if (first == second || comes_before(first, second)) continue;
          return fail(fmt::format("{} and {} use {} in no fixed order", place(first), place(second),
                                  to_string(Chunk{access.buffer, access.begin})));
        }
        open.push_back(access);
      }
    }
    return true;
  }

  // What the collective leaves in the output of `rank`, a piece for each stretch of consecutive source bytes.
  Data expected(Rank rank) {
    const std::int64_t bytes = output_bytes_[static_cast<std::size_t>(rank)];
    const std::int64_t block = bytes / n_;
    Data data;
    switch (call_.kind) {
      case Collective::kAllReduce:
      case Collective::kReduce:
        data = {{.bytes = bytes, .source = 0, .from = table_.each_once(n_)}};
        break;
      case Collective::kReduceScatter:
        data = {{.bytes = bytes, .source = rank * bytes, .from = table_.each_once(n_)}};
        break;
      case Collective::kAllGather:
      case Collective::kGather:
        for (Rank from = 0; from < n_; ++from) data.push_back({.bytes = block, .source = 0, .from = table_.one(from)});
        break;
      case Collective::kAllToAll:
        for (Rank from = 0; from < n_; ++from)
          data.push_back({.bytes = block, .source = rank * block, .from = table_.one(from)});
        break;
      case Collective::kBroadcast:
        data = {{.bytes = bytes, .source = 0, .from = table_.one(call_.root)}};
        break;
      case Collective::kScatter:
        data = {{.bytes = bytes, .source = rank * bytes, .from = table_.one(call_.root)}};
        break;
      case Collective::kSendRecv:
        data = {{.bytes = bytes, .source = 0, .from = table_.one((rank + n_ - 1) % n_)}};
        break;
    }
    return data;
  }

  bool check_results() {
    for (Rank rank = 0; rank < n_; ++rank) {
      if (output_bytes_[static_cast<std::size_t>(rank)] == 0) continue;
      std::int64_t offset = 0;
      for (const Piece& wanted : expected(rank)) {
        Data found;
        if (const auto hole = buffer(rank, Buffer::kOutput).read(offset, wanted.bytes, found)) {
          return fail(fmt::format("rank {} ends with output[{}] undefined", rank, *hole));
        }
        std::int64_t within = 0;
        for (const Piece& piece : found) {
          if (piece.from != wanted.from || piece.source != wanted.source + within) {
            return fail(fmt::format("rank {} ends with output[{}] made of input[{}] of {}, not of input[{}] of {}", rank,
                                    offset + within, piece.source, table_.text(piece.from), wanted.source + within,
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
  std::size_t slots_;
  int n_;
  std::optional<std::string> error_;
  ContributorTable table_;
  std::vector<std::int64_t> input_bytes_;  // by rank: what it may read, write
  std::vector<std::int64_t> output_bytes_;
  std::vector<SymbolicBuffer> buffers_;  // three a rank
  std::vector<Lane> lanes_;
  std::vector<Connection> connections_;  // by channel, sender, receiver
  std::vector<Ran> ran_;
  std::vector<std::uint64_t> seen_;  // by step: the last search that came by
  std::uint64_t searches_ = 0;
  std::vector<std::vector<Access>> accesses_;
};

}  // namespace

std::optional<std::string> verify(const Schedule& schedule, const CollectiveCall& call, const VerifyOptions& options) {
  return Verification{schedule, call, options}.run();
}

}  // namespace weft::coll
