// Meetings of ranks, and what they then put on the wire.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sim/core/error.h"
#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {

// A member of a collective, or an end of a message, is there. A collective's kernel holds its thread blocks while it waits for
// the others; a message's only once both ends are there.
void Replayer::arrive(std::uint32_t state, OpIndex index) {
  RankState& rank = states_[state];
  const Operation& op = rank.program->operations[index];
  rank.account(machine_.simulator.now());
  Meeting& meeting = meeting_of(rank, op);
  if (is_message(op.kind)) {
    ++rank.waiting_messages;
  } else {
    ++rank.waiting_collectives;
    hold(state, known_cost(meeting, op).cost->ctas);
  }
  const std::uint64_t call =
      rank.layout->sequence[index] + static_cast<std::uint64_t>(rank.iteration_ends.size()) * rank.layout->calls_like(op);
  WEFT_CHECK(call >= meeting.next);
  if (call - meeting.next >= meeting.calls.size()) meeting.calls.resize(call - meeting.next + 1);
  std::vector<Member>& members = meeting.calls[call - meeting.next];
  if (members.empty()) members.reserve(meeting.expected);
  members.push_back({state, index});
  begin_next_call(meeting);
  if (call == meeting.next && !meeting.busy) wait_in(state, index, meeting);
}

void Replayer::hold(std::uint32_t state, int ctas) {
  states_[state].held_ctas += ctas;
  retime(state);
}

Meeting& Replayer::meeting_of(RankState& rank, const Operation& op) {
  const std::uint32_t key = KnownMeeting::key_of(op);
  for (const KnownMeeting& known : rank.meetings) {
    if (known.key == key) return *known.meeting;
  }
  Meeting& meeting = find_meeting(rank, op);
  rank.meetings.push_back({key, &meeting});
  return meeting;
}

Meeting& Replayer::find_meeting(const RankState& rank, const Operation& op) {
  if (op.kind == OpKind::kCollective) {
    std::unique_ptr<Meeting>& group = groups_[rank.table->groups.at(op.slot)];
    if (group == nullptr) {
      group = std::make_unique<Meeting>();
      open_group(*group, rank, op);
    }
    return *group;
  }
  const Rank peer = program_.ranks[static_cast<std::size_t>(rank.table->peers.at(op.slot))].leader;
  const bool sends = op.kind == OpKind::kSend;
  std::unique_ptr<Meeting>& pair = pairs_[sends ? std::tuple{rank.rank, peer, op.tag} : std::tuple{peer, rank.rank, op.tag}];
  if (pair == nullptr) {
    pair = std::make_unique<Meeting>();
    open_pair(*pair, rank, op);
  }
  return *pair;
}

void Replayer::open_group(Meeting& meeting, const RankState& rank, const Operation& op) {
  const std::uint32_t id = rank.table->groups[op.slot];
  const Group& group = program_.groups[id];
  meeting.name = group.name;
  std::set<std::uint32_t> leaders;
  for (const Rank member : group.ranks) {
    meeting.devices.push_back(device_of(member));
    leaders.insert(state_of_[static_cast<std::size_t>(member)]);
  }
  meeting.expected = leaders.size();
  // Groups that followers of this rank form, where they touch a host that is run, or switches that may hold others up.
  std::set<std::uint32_t> known{id};
  for (const ProgramRank& follower : program_.ranks) {
    if (follower.leader != rank.rank || !known.insert(follower.groups.at(op.slot)).second) continue;
    std::vector<DeviceId> devices;
    for (const Rank member : program_.groups[follower.groups[op.slot]].ranks) devices.push_back(device_of(member));
    const bool touches =
        std::ranges::any_of(devices, [&](DeviceId device) { return is_run(machine_.topology.host_of(device)); });
    if (touches || (counts_all_ && !in_one_host(devices))) meeting.alike.push_back(std::move(devices));
  }
}

bool Replayer::in_one_host(const std::vector<DeviceId>& devices) const {
  const std::int32_t first = machine_.topology.host_of(devices.front());
  return std::ranges::all_of(devices, [&](DeviceId device) { return machine_.topology.host_of(device) == first; });
}

void Replayer::open_pair(Meeting& meeting, const RankState& rank, const Operation& op) {
  const bool sends = op.kind == OpKind::kSend;
  const auto ends = [&](Rank self, Rank peer) {
    const DeviceId here = device_of(self);
    const DeviceId there = device_of(peer);
    return sends ? std::vector{here, there} : std::vector{there, here};
  };
  const Rank peer = rank.table->peers[op.slot];
  meeting.expected = 2;
  meeting.devices = ends(rank.rank, peer);
  meeting.name = sends ? fmt::format("{} to {}", rank.rank, peer) : fmt::format("{} to {}", peer, rank.rank);
  for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
    const ProgramRank& follower = program_.ranks[r];
    if (follower.leader != rank.rank || static_cast<Rank>(r) == rank.rank) continue;
    std::vector<DeviceId> devices = ends(static_cast<Rank>(r), follower.peers.at(op.slot));
    const bool touches = is_run(machine_.topology.host_of(device_of(static_cast<Rank>(r))));
    if (touches || (counts_all_ && !in_one_host(devices))) meeting.alike.push_back(std::move(devices));
  }
}

// The calls of a communicator go on the wire one after another, each when all its members are there.
void Replayer::begin_next_call(Meeting& meeting) {
  if (meeting.busy || meeting.calls.empty() || meeting.calls.front().size() < meeting.expected) return;
  const Member last = meeting.calls.front().back();
  const std::uint32_t index = new_moving();
  Moving& moving = *moving_[index];
  moving.meeting = &meeting;
  moving.members = std::move(meeting.calls.front());
  meeting.calls.pop_front();
  ++meeting.next;
  meeting.busy = true;
  check_agreement(meeting, moving.members);

  Operation op = states_[last.state].program->operations[last.op];
  for (const Member& member : moving.members) {
    op.one_way = op.one_way && states_[member.state].program->operations[member.op].one_way;
  }
  KnownCost& known = known_cost(meeting, op);
  const GroupCost& cost = *known.cost;
  if (!known.loads.valid()) {
    known.loads = loads_of(meeting, op, cost);
    known.on_nvlinks = is_on_nvlinks(known.loads);
  }
  moving.takes_its_time = takes_its_time(op);
  moving.bytes = std::max(moving.takes_its_time ? Bytes{op.duration.ps() / 1'000} : op.bytes, Bytes{1});
  moving.clock = costs_.stretch_at(cost, slowest_clock(moving.members));
  moving.alone = Duration::nearest_ps(static_cast<double>(cost.alone.ps()) * moving.clock);
  moving.ctas = cost.ctas;
  moving.step = cost.step;
  moving.memory_share = memory_share(cost);
  moving.loads = known.loads;
  moving.on_nvlinks = known.on_nvlinks;
  const Time now = machine_.simulator.now();
  for (const Member& member : moving.members) {
    RankState& rank = states_[member.state];
    const Operation& its = rank.program->operations[member.op];
    end_first_step(meeting, member.state);
    rank.account(now);
    --(is_message(its.kind) ? rank.waiting_messages : rank.waiting_collectives);
    ++rank.moving[static_cast<std::size_t>(its.category)];
    rank.timing[member.op].ready = now;
    if (member.state != last.state) rank.timing[member.op].cause = states_[last.state].timing[last.op].cause;
    if (is_message(its.kind)) hold(member.state, cost.ctas);
  }
  // Whether compute runs beside it is seen once all of this instant has started.
  schedule_event(now + wake_links(moving), EventKind::kPost, index);
}

double Replayer::memory_share(const GroupCost& cost) const {
  const double rate = options_.sm_memory_rate * cost.ctas;
  return rate > 0 && cost.alone > Duration{} ? cost.memory_bytes / rate / cost.alone.seconds() : 0.0;
}

double Replayer::slowest_clock(const std::vector<Member>& members) const {
  double slowest = 1.0;
  for (const Member& member : members) {
    const RankClocks* const clocks = states_[member.state].clocks;
    if (clocks != nullptr) slowest = std::max(slowest, clocks->at(member.op));
  }
  return slowest;
}

void Replayer::check_agreement(const Meeting& meeting, const std::vector<Member>& members) const {
  const auto text = [&](const Member& member) {
    const RankState& rank = states_[member.state];
    const Operation& op = rank.program->operations[member.op];
    return fmt::format("rank {}: {} of {} B ('{}')", rank.rank,
                       op.kind == OpKind::kCollective ? coll::to_string(op.collective) : "a message", op.bytes.count(),
                       rank.program->names[op.name]);
  };
  const Operation& first = states_[members.front().state].program->operations[members.front().op];
  for (const Member& member : members) {
    const Operation& op = states_[member.state].program->operations[member.op];
    if (op.bytes == first.bytes && op.duration == first.duration && op.collective == first.collective &&
        op.element_size == first.element_size)
      continue;
    throw ConfigError(
        fmt::format("members of '{}' do not call the same: {}; {}", meeting.name, text(members.front()), text(member)));
  }
}

const GroupCost& Replayer::cost_between(const std::vector<DeviceId>& devices, const Operation& op) {
  if (takes_its_time(op)) {
    GroupCost& cost = own_times_[op.duration];
    cost.alone = op.duration;
    cost.ctas = kContentionCtas;  // as recorded_contention.h has it where blocks are not said
    return cost;
  }
  if (is_message(op.kind)) return costs_.message(devices[0], devices[1], op.bytes, op.one_way);
  return costs_.collective(devices, {.kind = op.collective, .bytes = op.bytes, .element_size = op.element_size});
}

KnownCost& Replayer::known_cost(Meeting& meeting, const Operation& op) {
  const KnownCost::Key key{op.collective, op.bytes, op.element_size, op.one_way, takes_its_time(op) ? op.duration : Duration{}};
  const auto known = std::ranges::find(meeting.costs, key, &KnownCost::key);
  if (known != meeting.costs.end()) return *known;
  return meeting.costs.emplace_back(KnownCost{.key = key, .cost = &cost_between(meeting.devices, op)});
}

// It joins switches, or a host that is run to them: on links of other hosts is what is on those of hosts that are.
bool Replayer::is_everybodys(LinkId link) const {
  const net::Link& its = machine_.topology.link(link);
  return std::ranges::all_of(std::array{its.from, its.to}, [&](DeviceId end) {
    const std::int32_t host = machine_.topology.host_of(end);
    return host < 0 || is_run(host);
  });
}

// The loads of a call and of those like it that other ranks make at the same time, on one transfer.
FootprintId Replayer::loads_of(const Meeting& meeting, const Operation& op, const GroupCost& cost) {
  FootprintId& known = loads_[{&meeting, &cost}];
  if (known.valid()) return known;
  net::Footprint all = cost.loads;
  for (const std::vector<DeviceId>& devices : meeting.alike) {
    // Run for itself where it lies otherwise within the hosts: what it loads there no other group shows.
    for (const Usage& usage : cost_between(devices, op).loads.usages) {
      if (!counts_all_ || is_everybodys(LinkId{usage.resource.value()})) all.usages.push_back(usage);
    }
  }
  net::Footprint sum;
  sum.couple(all);
  known = machine_.fabric.add_footprint(std::move(sum));
  return known;
}

void Replayer::post(std::uint32_t index) {
  Moving& moving = *moving_[index];
  for (const Member& member : moving.members) {
    moving.beside_compute = moving.beside_compute || states_[member.state].computes();
    moving.memory_full += states_[member.state].memory_kernels > 0 ? 1 : 0;
  }
  for (const Member& member : moving.members) send_first_steps(member.state);
  join(index);
  posted_.note(index);
  net::Transfer transfer;
  transfer.kind = net::TransferKind::kCoupled;
  transfer.footprint = moving.loads;
  transfer.bytes = moving.bytes;
  transfer.rate_cap = moving.pace = pace(moving);
  transfer.tag = index;
  moving.transfer = machine_.fabric.post(transfer, *this);
}

// Returns the rate that a call reaches beside those that are on its links now, and beside compute.
Bandwidth Replayer::pace(const Moving& moving) {
  std::vector<LinkTurns::Call> others;
  others.reserve(moving.beside.size());
  for (const std::uint32_t other : moving.beside) others.push_back(moving_[other]->call());
  // Model: what a collective takes longer beside compute holds what the clock costs it, as it was measured so.
  const double slowed =
      collective_slowdown(options_.contention, moving.beside_compute, moving.memory_full > 0, moving.memory_share);
  const double stretch =
      moving.takes_its_time ? 1.0 : std::max(slowed / moving.clock, 1.0) * (1 + turns_.delay(moving.call(), others));
  const double taken_ps = std::max(1.0, static_cast<double>(moving.alone.ps()) * stretch);
  return Bandwidth::from_bits_per_second(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(moving.bytes.count()) * 8e12 / taken_ps)));
}

void Replayer::set_pace(Moving& moving) {
  const Bandwidth now = pace(moving);
  if (now == moving.pace) return;
  moving.pace = now;
  machine_.fabric.set_rate_cap(moving.transfer, now);
}

// Slows the collectives that this one meets on NVLinks of its ranks' GPUs. Messages only share links.
void Replayer::join(std::uint32_t index) {
  Moving& moving = *moving_[index];
  const Member& first = moving.members.front();
  if (states_[first.state].program->operations[first.op].kind != OpKind::kCollective) return;
  for (const Member& member : moving.members) {
    for (const std::uint32_t other : states_[member.state].calls) {
      if (std::ranges::find(moving.beside, other) != moving.beside.end()) continue;
      const std::array met{moving_[other]->call()};
      if (turns_.delay(moving.call(), met) > 0) moving.beside.push_back(other);
    }
    states_[member.state].calls.push_back(index);
  }
  for (const std::uint32_t other : moving.beside) {
    moving_[other]->beside.push_back(index);
    set_pace(*moving_[other]);
  }
}

// It has ended: those that it slowed go on without it.
void Replayer::part(std::uint32_t index) {
  const Moving& moving = *moving_[index];
  for (const Member& member : moving.members) std::erase(states_[member.state].calls, index);
  for (const std::uint32_t other : moving.beside) {
    std::erase(moving_[other]->beside, index);
    set_pace(*moving_[other]);
  }
}

std::uint32_t Replayer::new_moving() {
  if (!free_moving_.empty()) {
    const std::uint32_t index = free_moving_.back();
    free_moving_.pop_back();
    *moving_[index] = {};
    return index;
  }
  moving_.push_back(std::make_unique<Moving>());
  posted_.resize(moving_.size());
  return static_cast<std::uint32_t>(moving_.size() - 1);
}

void Replayer::on_delivered(TransferId, std::uint64_t index) {
  if (moving_[index]->background) {
    const Moving ended = std::move(*moving_[index]);
    free_moving_.push_back(static_cast<std::uint32_t>(index));
    end_background(ended);
    settle();
    return;
  }
  if (moving_[index]->first_step) {
    on_first_step_sent(static_cast<std::uint32_t>(index));
    return;
  }
  for (const Member& member : moving_[index]->members) states_[member.state].fetch_lists();
  moving_[posted_.far(static_cast<std::uint32_t>(index))]->fetch();
  for (const Member& member : moving_[posted_.near(static_cast<std::uint32_t>(index))]->members) states_[member.state].fetch();
  part(static_cast<std::uint32_t>(index));
  Moving& moving = *moving_[index];
  Meeting* meeting = moving.meeting;
  const std::vector<Member> members = std::move(moving.members);
  const int ctas = moving.ctas;
  const bool on_nvlinks = moving.on_nvlinks;
  free_moving_.push_back(static_cast<std::uint32_t>(index));
  const Time now = machine_.simulator.now();
  for (const Member& member : members) {
    RankState& rank = states_[member.state];
    const Operation& op = rank.program->operations[member.op];
    rank.account(now);
    --rank.moving[static_cast<std::size_t>(op.category)];
    if (on_nvlinks) rank.links.end(now);
    hold(member.state, -ctas);
  }
  if (meeting != nullptr) {
    meeting->busy = false;
    begin_next_call(*meeting);
    // Those that came while the last call was on the wire.
    if (!meeting->busy && !meeting->calls.empty()) {
      for (const Member& member : meeting->calls.front()) wait_in(member.state, member.op, *meeting);
    }
  }
  for (const Member& member : members) {
    cause_ = {member.state, member.op};
    finish(member.state, member.op);
    try_streams(member.state);
    settle();
  }
}

void Replayer::on_aborted(TransferId, std::uint64_t index) {
  const Moving& moving = *moving_[index];
  const Member& member = moving.members.front();
  const RankState& rank = states_[member.state];
  throw ConfigError(fmt::format("'{}' of rank {} was cut by a failed link, and a training job does not survive that",
                                rank.program->names[rank.program->operations[member.op].name], rank.rank));
}

}  // namespace weft::work
