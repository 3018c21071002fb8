#include "sim/collectives/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/collectives/step_work.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {
namespace {

constexpr std::string_view kGrainNames[] = {"auto", "chunk", "fluid", "closed_form"};

// A loop has settled when one call's interval differs from the next one's by no more than this share.
constexpr double kSettled = 1e-3;
constexpr std::size_t kFewestCalls = 4;

bool has_peer(const Step& step) { return !step.receive_from.empty() || !step.send_to.empty(); }

// -1 to 1 by step: how a link happens to serve a thread block while it runs one step is the same in every run and every call,
// so it is no draw of the run's seed.
double service_of(Rank rank, int channel, std::int64_t step) {
  std::uint64_t x = static_cast<std::uint64_t>(rank) << 44 | static_cast<std::uint64_t>(channel) << 32;
  x = (x + static_cast<std::uint64_t>(step) + 1) * 0x9E37'79B9'7F4A'7C15;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9;  // splitmix64
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EB;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1.0;
}

}  // namespace

std::string_view to_string(Grain grain) { return kGrainNames[static_cast<std::size_t>(grain)]; }

std::optional<Grain> grain_from(std::string_view name) {
  const auto* const found = std::ranges::find(kGrainNames, name);
  if (found == std::end(kGrainNames)) return std::nullopt;
  return static_cast<Grain>(found - std::begin(kGrainNames));
}

Executor::Executor(Simulator& simulator, net::Fabric& fabric, const net::Router& router, const Communicator& communicator,
                   const ExecutorOptions& options)
    : simulator_{simulator},
      fabric_{fabric},
      router_{router},
      communicator_{communicator},
      options_{options},
      component_{simulator.add_component("collectives")} {
  // Model: where some pair of the first rank's host has no P2P, all calls start as through host memory.
  for (Rank rank = 1; rank < communicator.ranks() && !some_through_memory_; ++rank)
    some_through_memory_ = talks_through_memory(0, rank);
}

std::uint64_t Executor::count_messages(const Schedule& schedule, std::uint64_t limit) {
  std::uint64_t count = 0;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        count += static_cast<std::uint64_t>(schedule.step_count(rank, channel, lane));
        if (count > limit) return count;
      }
    }
  }
  return count;
}

void Executor::start(const Schedule& schedule, const StepCosts& costs, Grain grain, ExecutorListener& listener,
                     const LaunchPlan& launches) {
  WEFT_CHECK(!running());
  WEFT_CHECK(schedule.ranks() == communicator_.ranks() && schedule.channels() <= communicator_.channels());
  WEFT_CHECK((grain == Grain::kChunk || grain == Grain::kFluid) && launches.iterations >= 1);
  schedule_ = &schedule;
  nets_ = schedule.nets();
  listener_ = &listener;
  costs_ = costs;
  usual_ = usual_step(schedule, costs);
  port_loads_ = port_loads();
  port_queue_ = PortQueue{StepCosts::pace(Bytes{1 << 30}, costs.work(Bytes{1 << 30}, 1, usual_.effort)), costs.port,
                          static_cast<int>(std::ceil(schedule.channels() * port_loads_.most_inward()))};
  direct_store_ = direct_store();
  launches_ = launches;
  grain_ = grain;
  began_ = simulator_.now();
  finished_.assign(static_cast<std::size_t>(schedule.ranks()), simulator_.now());
  call_ends_.clear();
  if (observer_ != nullptr) observer_->on_loop(began_);
  if (grain == Grain::kChunk) {
    start_chunks();
  } else {
    start_fluid();
  }
  // Work that ends at once (nothing to move) is reported from the run loop, never from inside start().
  schedule_event({}, EventKind::kStart, kNone);
  unfinished_ += 1;
}

void Executor::schedule_event(Duration after, EventKind kind, std::uint32_t lane) {
  simulator_.schedule(simulator_.now() + after, Phase::kAction, component_, *this,
                      (static_cast<std::uint64_t>(kind) << 32) | lane);
}

void Executor::on_event(std::uint64_t payload) {
  const auto lane = static_cast<std::uint32_t>(payload);
  switch (static_cast<EventKind>(payload >> 32)) {
    case EventKind::kStart:
      if (grain_ == Grain::kChunk) {
        for (Rank rank = 0; rank < schedule_->ranks(); ++rank) start_call(rank);
      }
      --unfinished_;
      break;
    case EventKind::kLaneStart:
    case EventKind::kLaneContinue:
      lanes_[lane].state = LaneState::kWaiting;
      lanes_[lane].waits_from = simulator_.now();
      advance(lane);
      break;
    case EventKind::kSliceWork:
      work(lane);
      break;
    case EventKind::kSliceEnd:
      end_slice(lane);
      break;
    case EventKind::kFirstPass:
      ++connections_[lane].arrived;
      wake(connections_[lane].receiver);
      break;
    case EventKind::kProxy:
      queue_at_proxy(ProxySlice{at_proxy_[lane]});
      at_proxy_.give_back(lane);
      break;
  }
  drain();
  finish_if_done();
}

void Executor::finish_if_done() {
  if (unfinished_ == 0 && listener_ != nullptr) {
    ExecutorListener& listener = *listener_;
    listener_ = nullptr;
    settling_ = &listener;
    listener.on_collective_done(simulator_.now());
    settle_if_done();
  }
}

void Executor::settle_if_done() {
  if (unsent_ > 0 || settling_ == nullptr || running()) return;
  std::exchange(settling_, nullptr)->on_collective_settled(simulator_.now());
}

void Executor::start_chunks() {
  calls_ = launches_.iterations;
  ranks_left_.assign(static_cast<std::size_t>(calls_), schedule_->ranks());
  for (Connection& connection : connections_) {
    connection.arrived = connection.occupied = connection.whole = 0;
    connection.receiver = connection.sender = connection.follower = kNone;
  }
  lanes_.clear();
  first_lane_.clear();
  members_.assign(static_cast<std::size_t>(schedule_->ranks()), {});
  for (Rank rank = 0; rank < schedule_->ranks(); ++rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    member.first_lane = static_cast<std::uint32_t>(lanes_.size());
    std::int32_t block = 0;
    for (int channel = 0; channel < schedule_->channels(); ++channel) {
      first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
      bool talks = false;
      for (int lane = 0; lane < schedule_->lanes(rank, channel); ++lane) {
        Lane& made = lanes_.emplace_back();
        made.rank = rank;
        made.channel = channel;
        made.lane = lane;
        made.count = schedule_->step_count(rank, channel, lane);
        made.share = schedule_->warp_share(rank, channel, lane);
        made.block = block;
        talks = talks || (made.count > 0 && has_peer(schedule_->step(rank, channel, lane, 0)));
      }
      if (talks) ++block;
    }
    member.lane_count = static_cast<std::uint32_t>(lanes_.size()) - member.first_lane;
  }
  unfinished_ = static_cast<std::uint64_t>(schedule_->ranks());
}

void Executor::start_call(Rank rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  const Time issued = began_ + launches_.issued(rank, member.call);
  Duration wait = std::max(issued - simulator_.now(), Duration{}) + costs_.start;
  if (some_through_memory_) wait = wait + costs_.host_start;
  member.lanes_left = 0;
  for (std::uint32_t i = member.first_lane; i < member.first_lane + member.lane_count; ++i) {
    lanes_[i].next = 0;
    lanes_[i].slice = 0;
    lanes_[i].loaded = false;
    lanes_[i].state = lanes_[i].count > 0 ? LaneState::kIdle : LaneState::kDone;
    if (lanes_[i].count == 0) continue;
    ++member.lanes_left;
    schedule_event(wait + costs_.start_of(lanes_[i].block), EventKind::kLaneStart, i);
  }
  if (member.lanes_left == 0) end_call(rank);
}

void Executor::load(std::uint32_t index) {
  Lane& lane = lanes_[index];
  const Step before = lane.step;
  lane.step = schedule_->step(lane.rank, lane.channel, lane.lane, lane.next);
  lane.loaded = true;
  lane.slice = 0;
  lane.weight = 1.0 + costs_.service_spread * service_of(lane.rank, lane.channel, lane.next);
  // Most lanes have the same peers all along; then the connections stay.
  bool changed = lane.next == 0;
  if (changed || !(lane.step.receive_from == before.receive_from) ||
      lane.step.receive_connection != before.receive_connection) {
    changed = true;
    lane.receives.clear();
    for (const Rank peer : lane.step.receive_from)
      lane.receives.add(connection(peer, lane.rank, lane.channel, lane.step.receive_connection));
  }
  const bool receives = lane.receives.size() > 0;
  lane.effort = effort_of(lane.step, receives ? connections_[*lane.receives.begin()].transport : Transport::kNet);
  if (lane.next == 0 || !(lane.step.send_to == before.send_to) || lane.step.send_connection != before.send_connection) {
    changed = true;
    lane.sends.clear();
    for (const Rank peer : lane.step.send_to)
      lane.sends.add(connection(lane.rank, peer, lane.channel, lane.step.send_connection));
  }
  const bool in_switch = lane.step.receive_in_switch || lane.step.multicasts();
  const bool alike = before.receive_in_switch == lane.step.receive_in_switch && before.multicasts() == lane.step.multicasts();
  if (in_switch && (changed || !alike)) lane.switch_path = switch_path(lane);
  lane.in_network = in_switch && is_in_network(lane);
}

std::uint32_t Executor::lane_index(Rank rank, int channel, int lane) const {
  return first_lane_[flat_index(rank, schedule_->channels(), channel)] + static_cast<std::uint32_t>(lane);
}

// All that the lane's next slice needs is there; if not, the lane is noted where it will be woken.
bool Executor::can_start(std::uint32_t index) {
  Lane& lane = lanes_[index];
  if (lane.slice == 0 && lane.step.after.steps > 0) {
    Lane& other = lanes_[lane_index(lane.rank, lane.step.after.channel, lane.step.after.lane)];
    if (other.next < lane.step.after.steps) {
      if (!lane.follows) {  // what woke it may be something that an earlier step waited for
        lane.follows = true;
        lane.next_follower = other.first_follower;
        other.first_follower = index;
      }
      return false;
    }
  }
  for (const std::uint32_t from : lane.receives) {
    if (connections_[from].arrived > 0) continue;
    connections_[from].receiver = index;
    return false;
  }
  for (const std::uint32_t to : lane.sends) {
    if (connections_[to].occupied < costs_.slots) continue;
    connections_[to].sender = index;
    return false;
  }
  return true;
}

void Executor::advance(std::uint32_t index) {
  while (lanes_[index].state == LaneState::kWaiting) {
    if (lanes_[index].next == lanes_[index].count) {
      end_lane(index);
      return;
    }
    if (!lanes_[index].loaded) load(index);
    if (!can_start(index)) return;
    begin_slice(index);
  }
}

void Executor::begin_slice(std::uint32_t index) {
  Lane& lane = lanes_[index];
  for (const std::uint32_t from : lane.receives) --connections_[from].arrived;
  for (const std::uint32_t to : lane.sends) ++connections_[to].occupied;
  lane.state = LaneState::kBusy;
  lane.began = simulator_.now();
  const Bytes data = costs_.slice_bytes(lane.step.bytes, lane.slice);
  const bool moves = lane.effort > 0.0 || !(lane.step.delivered || lane.step.fetched);  // more than flags
  const Bytes of_peer = lane.step.is_spread() && moves ? lane.step.bytes_of_peer(0) : moves ? data : Bytes{};
  Duration before = costs_.before_slice(of_peer, lane.slice);
  // Warps that have stored all of a slice synchronise for the next one while the port still has it.
  if (lane.slice > 0) before = std::max(before - lane.held_at_port, Duration{});
  lane.held_at_port = {};
  if (lane.slice == 0 && data > Bytes{} && moves) {
    if (lane.step.reads_source()) before = before + costs_.far_wait;
    if (lane.step.copies() && !lane.step.delivered) before = before + costs_.copy_wait;
  }
  if (lane.step.is_spread())
    before = before + costs_.before_peers(std::max<int>(lane.step.send_to.size(), lane.step.receive_from.size()), of_peer);
  if (is_networks(lane)) before = {};
  if (!costs_.cut_through && uses_host_memory(lane))
    before = before + costs_.host_wait(data, lane.share, reads_host_memory(lane));
  if (data > Bytes{} && uses_port(lane)) lane.stores_from = simulator_.now() + before;
  lane.works_until = simulator_.now() + before + costs_.work(data, lane.share, lane.effort);
  if (before > Duration{}) {
    schedule_event(before, EventKind::kSliceWork, index);
  } else {
    work(index);
  }
}

// Returns the share of the thread block's warps whose lanes have a slice in hand: no more than all.
double Executor::busy_share(std::uint32_t index) const {
  const Lane& lane = lanes_[index];
  double share = 0;
  for (std::uint32_t i = index - static_cast<std::uint32_t>(lane.lane);
       share < 1.0 && i < lanes_.size() && lanes_[i].rank == lane.rank && lanes_[i].channel == lane.channel; ++i) {
    if (lanes_[i].state == LaneState::kBusy) share += lanes_[i].share;
  }
  return std::min(share, 1.0);
}

// How long the lane's warps take for `data`: faster from when other lanes of the block end the last of their slices.
// Model: lanes that have more to do after the slice in hand are as busy until then, and those that begin later cost nothing.
Duration Executor::busy_with(std::uint32_t index, Bytes data) {
  if (!costs_.takes_time(data)) return {};  // whoever else is busy: an exchange has as many lanes as ranks
  const Lane& lane = lanes_[index];
  const Time now = simulator_.now();
  double share = lane.share;
  others_.clear();
  for (std::uint32_t i = index - static_cast<std::uint32_t>(lane.lane);
       i < lanes_.size() && lanes_[i].rank == lane.rank && lanes_[i].channel == lane.channel; ++i) {
    const Lane& other = lanes_[i];
    if (i == index || other.state != LaneState::kBusy) continue;
    share += other.share;
    const bool is_last = other.next + 1 == other.count && other.slice + 1 >= costs_.slices;
    if (is_last && other.works_until > now) others_.emplace_back(other.works_until, other.share);
  }
  std::ranges::sort(others_);
  double left = 1.0;  // of the slice
  Time from = now;
  for (const auto& [until, freed] : others_) {
    const Duration rest = costs_.work(data, lane.share, lane.effort, std::min(share, 1.0));
    const double done = (until - from).seconds() / rest.seconds();
    if (done >= left) break;
    left -= done;
    from = until;
    share -= freed;
  }
  const Duration rest = costs_.work(data, lane.share, lane.effort, std::min(share, 1.0));
  if (left == 1.0) return rest;
  return from - now + Duration::from_ps(std::llround(left * static_cast<double>(rest.ps())));
}

void Executor::work(std::uint32_t index) {
  Lane& lane = lanes_[index];
  const Bytes data = costs_.slice_bytes(lane.step.bytes, lane.slice);
  // To a switch of its node: it is there for the head as soon as its flag is.
  const bool contributes = lane.step.contributes() && !lane.step.receive_in_switch && !contributes_to_network(lane);
  const bool sends = (lane.step.receive_in_switch || !lane.step.contributes()) && sends_itself(lane);
  const bool reads_host = reads_host_memory(lane);
  Duration busy = is_networks(lane) ? Duration{} : busy_with(index, data);
  if (costs_.cut_through && reads_host) busy = busy + costs_.host_wait(data, lane.share, true);
  if (sends) busy = busy + wait_at_port(lane, data, busy);
  lane.works_until = simulator_.now() + busy;
  if (sends || reads_host) {
    post_slice(index, data, busy);
    return;
  }
  if (contributes) {
    for (const std::uint32_t to : lane.sends) arrive(to);
    end_slice(index);
  } else if (busy > Duration{}) {
    schedule_event(busy, EventKind::kSliceEnd, index);
  } else {
    end_slice(index);
  }
}

// With cut-through: everything the slice receives has been delivered. If not, the lane is noted where it will be woken.
bool Executor::has_whole_input(std::uint32_t index) {
  for (const std::uint32_t from : lanes_[index].receives) {
    if (connections_[from].whole > 0) continue;
    connections_[from].follower = index;
    return false;
  }
  for (const std::uint32_t from : lanes_[index].receives) --connections_[from].whole;
  return true;
}

// Fewer warps meet sooner.
Duration Executor::gap_after(const Lane& lane) const {
  Duration gap = costs_.after_slice;
  if (costs_.operand_wait > Duration{} && lane.slice + 1 >= costs_.slices) {
    const Step next = schedule_->step(lane.rank, lane.channel, lane.lane, lane.next + 1);
    if (next.reads_source()) gap = gap + costs_.operand_wait;
  }
  return Duration::whole_ps(lane.share * static_cast<double>(gap.ps()));
}

void Executor::end_slice(std::uint32_t index) {
  Lane& lane = lanes_[index];
  if (costs_.cut_through && !has_whole_input(index)) {
    lane.state = LaneState::kEnding;
    return;
  }
  send_by_proxy(index);
  const bool is_last = lane.slice + 1 >= costs_.slices && lane.next + 1 == lane.count;
  const bool had_data = costs_.slice_bytes(lane.step.bytes, lane.slice) > Bytes{};
  const Duration gap = is_last || !had_data ? Duration{} : gap_after(lane);
  if (observer_ != nullptr) tell(lane, gap);
  for (const std::uint32_t from : lane.receives) {
    --connections_[from].occupied;
    wake(connections_[from].sender);
  }
  if (++lane.slice >= costs_.slices) {
    ++lane.next;
    lane.loaded = false;
    lane.slice = 0;
    for (std::uint32_t follower = lane.first_follower; follower != kNone;) {
      const std::uint32_t after = lanes_[follower].next_follower;
      lanes_[follower].follows = false;
      ready_.push_back(follower);
      follower = after;
    }
    lane.first_follower = kNone;
  }
  if (gap > Duration{}) {
    schedule_event(gap, EventKind::kLaneContinue, index);
    return;
  }
  lane.state = LaneState::kWaiting;
  lane.waits_from = simulator_.now();
  ready_.push_back(index);
}

void Executor::tell(const Lane& lane, Duration gap) const {
  const SliceSpan span{.rank = lane.rank,
                       .channel = lane.channel,
                       .lane = lane.lane,
                       .call = members_[static_cast<std::size_t>(lane.rank)].call,
                       .step = lane.next,
                       .slice = lane.slice,
                       .bytes = costs_.slice_bytes(lane.step.bytes, lane.slice),
                       .waited_from = lane.waits_from,
                       .began = lane.began,
                       .ended = simulator_.now(),
                       .synchronised = simulator_.now() + gap};
  observer_->on_slice(span, lane.step);
}

void Executor::end_lane(std::uint32_t index) {
  lanes_[index].state = LaneState::kDone;
  const Rank rank = lanes_[index].rank;
  if (--members_[static_cast<std::size_t>(rank)].lanes_left == 0) end_call(rank);
}

void Executor::end_call(Rank rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  finished_[static_cast<std::size_t>(rank)] = simulator_.now();
  const auto call = static_cast<std::size_t>(member.call++);
  if (--ranks_left_[call] == 0) call_ended(call);
  if (member.call < calls_) {
    start_call(rank);
  } else {
    --unfinished_;
  }
}

// Calls end in order: no rank starts a call before it has ended the one before.
void Executor::call_ended(std::size_t call) {
  call_ends_.push_back(simulator_.now());
  if (!launches_.settle || call + 1 < kFewestCalls) return;
  const auto interval = [&](std::size_t i) { return static_cast<double>((call_ends_[i] - call_ends_[i - 1]).ps()); };
  if (std::abs(interval(call) - interval(call - 1)) > kSettled * interval(call)) return;
  std::int32_t started = 0;
  for (const Member& member : members_) started = std::max(started, member.call + 1);
  calls_ = std::min(calls_, started);
}

// The mean of all intervals: ranks that go ahead into the next call make the first ones longer, and the last ones, which no
// call follows, as much shorter.
Duration Executor::pace() const {
  const auto intervals = static_cast<std::int64_t>(call_ends_.size()) - 1;
  return intervals < 1 ? Duration{} : Duration::from_ps((call_ends_.back() - call_ends_.front()).ps() / intervals);
}

void Executor::wake(std::uint32_t& lane) {
  if (lane == kNone) return;
  ready_.push_back(lane);
  lane = kNone;
}

void Executor::drain() {
  while (!ready_.empty()) {
    const std::uint32_t lane = ready_.back();
    ready_.pop_back();
    advance(lane);
  }
}

std::string Executor::blocked() const {
  std::string text;
  int named = 0;
  for (const Lane& lane : lanes_) {
    if (lane.next == lane.count) continue;
    if (++named > 16) return text + "  ...\n";
    text +=
        fmt::format("  rank {} channel {} lane {} step {} of {}:", lane.rank, lane.channel, lane.lane, lane.next, lane.count);
    if (lane.state == LaneState::kBusy) text += " sending";
    if (lane.step.after.steps > 0) {
      text += fmt::format(" waits for step {} of channel {} lane {}", lane.step.after.steps, lane.step.after.channel,
                          lane.step.after.lane);
    }
    for (const Rank peer : lane.step.receive_from) text += fmt::format(" waits for a message of rank {}", peer);
    for (const Rank peer : lane.step.send_to) text += fmt::format(" to send to rank {}", peer);
    text += '\n';
  }
  return text;
}

}  // namespace weft::coll
