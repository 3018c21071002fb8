#include "sim/workloads/replay/replayer.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/memory.h"
#include "sim/workloads/replay/fabric_places.h"
#include "sim/workloads/replay/replay_state.h"

namespace weft::work {
namespace {

// An event's payload: kind in 4 bits, generation in 28, index in 32.
constexpr std::uint32_t kGenerations = 0x0FFF'FFFF;

}  // namespace

Replayer::Replayer(net::Machine& machine, const Program& program, GroupCosts& costs, const net::LaunchTimings& launch,
                   const ReplayOptions& options, ReplayObserver* observer)
    : machine_{machine},
      program_{program},
      costs_{costs},
      options_{options},
      observer_{observer},
      component_{machine.simulator.add_component("replayer")},
      state_of_(program.ranks.size(), kNoState),
      hosts_run_(static_cast<std::size_t>(machine.topology.host_count()), false),
      groups_(program.groups.size()),
      turns_{machine.topology, machine.fabric},
      storage_{machine, options_.storage} {
  for (const RankProgram& each : program.programs) layouts_.push_back(std::make_unique<ProgramLayout>(each, launch.host_cost));
  std::size_t leaders = 0;
  std::size_t operations = 0;
  std::size_t streams = 0;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    if (program.ranks[r].leader != static_cast<Rank>(r)) continue;
    const std::uint32_t which = program.ranks[r].program;
    ++leaders;
    operations += program.programs[which].operations.size();
    streams += layouts_[which]->streams.size();
  }
  states_.reserve(leaders);
  kernels_.resize(leaders);
  timings_ = std::make_unique<TimingStore>(operations);
  streams_.resize(streams);
  std::size_t first_stream = 0;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const auto rank = static_cast<Rank>(r);
    if (program.ranks[r].leader != rank) continue;
    state_of_[r] = static_cast<std::uint32_t>(states_.size());
    const std::uint32_t which = program.ranks[r].program;
    const std::size_t its_operations = program.programs[which].operations.size();
    const std::size_t its_streams = layouts_[which]->streams.size();
    states_.emplace_back(rank, program, *layouts_[which], options_, timings_->take(its_operations),
                         std::span{streams_}.subspan(first_stream, its_streams));
    first_stream += its_streams;
    operations_total_ += its_operations * static_cast<std::uint64_t>(options_.iterations);
    if (!options_.clocks.empty()) states_.back().clocks = &options_.clocks.at(states_.size() - 1);
    const std::int32_t host = machine.topology.host_of(device_of(rank));
    if (host >= 0) hosts_run_[static_cast<std::size_t>(host)] = true;
  }
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const auto leader = static_cast<std::size_t>(program.ranks[r].leader);
    WEFT_CHECK(leader < program.ranks.size() && program.ranks[leader].leader == program.ranks[r].leader);
    state_of_[r] = state_of_[leader];
  }
  // Links of hosts that are not run are as those of hosts that are; links between switches are everybody's.
  counts_all_ = leaders < program.ranks.size() && switches_hold_up(program, machine.router);
  ranks_left_ = states_.size();
  ranks_behind_ = states_.size();
  // In fewer iterations none is left out (look_for_repetition).
  looks_ = options_.skip && options_.jitter.kernel == 0 && options_.iterations > 3;
  // An observer hears of operations in the order of their ends.
  runs_ahead_ = options_.run_ahead && observer_ == nullptr;
}

Replayer::~Replayer() {
  std::size_t bytes = 0;
  for (const RankState& rank : states_) {
    bytes += sizeof(RankState) + rank.program->operations.size() * RankState::kOperationBytes;
  }
  for (const RankProgram& each : program_.programs) bytes += each.operations.capacity() * sizeof(Operation);
  note_memory(MemoryKind::kRank, {states_.size(), bytes});
}

void Replayer::start() {
  if (observer_ != nullptr) observer_->on_program(program_);
  const Time at = std::max(machine_.simulator.now(), options_.start);
  for (std::uint32_t s = 0; s < states_.size(); ++s) {
    const std::size_t which = program_.ranks[static_cast<std::size_t>(states_[s].rank)].program;
    states_[s].links = LinkSleep{at - (options_.links_idle.empty() ? Duration{} : options_.links_idle.at(which))};
    schedule_event(at, EventKind::kBegin, s);
  }
}

void Replayer::schedule_event(Time at, EventKind kind, std::uint32_t index, std::uint32_t generation) {
  if (armed_ != kNoState) schedule_armed();
  const std::uint64_t payload =
      (static_cast<std::uint64_t>(kind) << 60) | (static_cast<std::uint64_t>(generation & kGenerations) << 32) | index;
  machine_.simulator.schedule(at, Phase::kAction, component_, *this, payload);
}

// Adds to the digest what an event will do; only the newest of a kernel's ends counts.
void Replayer::add_event(Digest& digest, std::uint64_t payload) const {
  const auto kind = static_cast<EventKind>(payload >> 60);
  const auto index = static_cast<std::uint32_t>(payload);
  const auto generation = static_cast<std::uint32_t>(payload >> 32) & kGenerations;
  digest.add(payload >> 60).add(index);
  if (kind == EventKind::kKernelEnd) digest.add((states_[index].generation & kGenerations) == generation);
}

void Replayer::on_event(std::uint64_t payload) {
  const auto generation = static_cast<std::uint32_t>(payload >> 32) & kGenerations;
  const auto index = static_cast<std::uint32_t>(payload);
  if (looks_ && ranks_behind_ == 0 && machine_.fabric.is_idle()) look_for_repetition(payload);
  cause_ = {};
  switch (static_cast<EventKind>(payload >> 60)) {
    case EventKind::kBegin:
      begin_iteration(index);
      break;
    case EventKind::kKernelEnd:
      states_[kernels_.far(index)].fetch();
      states_[kernels_.near(index)].fetch_lists();
      if ((states_[index].generation & kGenerations) == generation) end_kernels(index);
      break;
    case EventKind::kWake:
      try_streams(index);
      break;
    case EventKind::kPost:
      post(index);
      break;
    case EventKind::kHostEnd:
      end_host_operation(index);
      break;
    case EventKind::kMarkerEnd:
      cause_ = {index, generation};
      finish(index, generation);
      try_streams(index);
      break;
  }
  settle();
}

void Replayer::begin_iteration(std::uint32_t state) {
  states_[state].begin(machine_.simulator.now());
  if (states_[state].remaining == 0) {
    end_iteration(state);
    return;
  }
  advance_host(state);
  try_streams(state);
}

void Replayer::end_iteration(std::uint32_t state) {
  RankState& rank = states_[state];
  if (rank.iteration_ends.size() == boundary_) --ranks_behind_;
  rank.end(machine_.simulator.now());
  if (static_cast<int>(rank.iteration_ends.size()) == iterations_to_run()) {
    --ranks_left_;
  } else {
    schedule_event(machine_.simulator.now(), EventKind::kBegin, state);
  }
}

// The host reaches its next own operation, a delay or a wait for what it has launched: begins it where nothing is missing.
void Replayer::advance_host(std::uint32_t state) {
  RankState& rank = states_[state];
  if (rank.segment >= rank.layout->host_operations.size() || rank.host_busy) return;
  const OpIndex index = rank.layout->host_operations[rank.segment];
  const Operation& op = rank.program->operations[index];
  Time start = rank.host_base + rank.layout->issue_offset[index];
  for (const OpIndex wait : rank.program->waits_of(op)) {
    if (!rank.is_done(wait)) return;
    start = std::max(start, rank.timing[wait].end);
  }
  rank.host_busy = true;
  rank.timing[index] = {.start = start, .ready = start, .end = {}, .cause = cause_};
  schedule_event(std::max(machine_.simulator.now(), start + op.duration), EventKind::kHostEnd, state);
}

void Replayer::end_host_operation(std::uint32_t state) {
  RankState& rank = states_[state];
  const OpIndex index = rank.layout->host_operations[rank.segment];
  rank.host_busy = false;
  rank.host_base = machine_.simulator.now();
  ++rank.segment;
  cause_ = {state, index};
  finish(state, index);
  try_streams(state);
}

// The operation that was issued first goes first, of those that may start.
void Replayer::try_streams(std::uint32_t state) {
  RankState& rank = states_[state];
  while (rank.remaining > 0) {
    OpIndex first = kNoOp;
    for (StreamState& stream : rank.streams) {
      // Nearly all of several streams are held up.
      const bool is_held = stream.head == kNoOp || stream.blocked_by != kNoOp || (stream.busy && !stream.background);
      if (!is_held) first = std::min(first, startable(state, stream));
    }
    if (first == kNoOp) return;
    rank.streams[rank.program->operations[first].stream].busy = true;
    start_operation(state, first);
  }
}

// The head of the stream, where nothing else holds it up; else kNoOp.
OpIndex Replayer::startable(std::uint32_t state, StreamState& at) {
  const RankState& rank = states_[state];
  const OpIndex index = at.head;
  const Operation& op = rank.program->operations[index];
  // An operation that is not due does not wait for what is in the background.
  if (at.busy && rank.is_due(op)) return kNoOp;
  if (rank.layout->segment[index] > rank.segment) return kNoOp;  // behind a host operation
  for (const OpIndex wait : rank.program->waits_of(op)) {
    if (rank.is_done(wait)) continue;
    at.blocked_by = wait;
    return kNoOp;
  }
  if (rank.layout->segment[index] < rank.segment) return index;
  const Time issued = rank.host_base + rank.layout->issue_offset[index];
  if (issued <= machine_.simulator.now()) return index;
  if (at.woken_for != issued) schedule_event(issued, EventKind::kWake, state);
  at.woken_for = issued;
  return kNoOp;
}

void Replayer::start_operation(std::uint32_t state, OpIndex index) {
  RankState& rank = states_[state];
  const Operation& op = rank.program->operations[index];
  rank.start(index, machine_.simulator.now(), cause_);
  switch (op.kind) {
    case OpKind::kKernel:
      start_kernel(state, index);
      break;
    case OpKind::kCollective:
    case OpKind::kSend:
    case OpKind::kReceive:
      if (rank.fills_gpu > 0) {
        rank.draining.push_back(index);
      } else {
        arrive(state, index);
      }
      break;
    case OpKind::kCopy:
    case OpKind::kStorage:
      if (rank.is_due(op)) {
        start_copy(state, index);
      } else {
        finish(state, index);
      }
      break;
    case OpKind::kMarker:
      if (op.duration > Duration{}) {
        WEFT_CHECK(index <= kGenerations);
        schedule_event(machine_.simulator.now() + op.duration, EventKind::kMarkerEnd, state, index);
      } else {
        finish(state, index);
      }
      break;
    case OpKind::kHostDelay:
    case OpKind::kHostSync:
      WEFT_CHECK(false);  // these are in no stream
  }
}

// An operation of any kind has ended. What it held up is started by the caller's try_streams.
void Replayer::finish(std::uint32_t state, OpIndex index) {
  RankState& rank = states_[state];
  const Operation& op = rank.program->operations[index];
  const Time now = machine_.simulator.now();
  rank.finish(index, now);
  for (StreamState& stream : rank.streams) {
    if (stream.blocked_by == index) stream.blocked_by = kNoOp;
  }
  ++operations_done_;
  if (observer_ != nullptr && !(op.background && rank.is_due(op))) {
    observer_->on_operation({.rank = rank.rank,
                             .iteration = static_cast<int>(rank.iteration_ends.size()) + skipped(),
                             .op = index,
                             .start = in_whole_run(rank.timing[index].start),
                             .ready = in_whole_run(rank.timing[index].ready),
                             .end = in_whole_run(now)});
  }
  if (rank.remaining == 0) {
    end_iteration(state);
  } else {
    advance_host(state);
  }
}

void Replayer::start_kernel(std::uint32_t state, OpIndex index) {
  RankState& rank = states_[state];
  rank.start_kernel(index, machine_.simulator.now(), options_);
  arm_kernels(state);
  slow_calls(state, rank.program->operations[index].fills_memory && rank.memory_kernels++ == 0 ? 1 : 0);
}

// Compute runs beside the collectives of this rank now; `memory_full`: 1 where its memory is full from now on, -1 no longer.
void Replayer::slow_calls(std::uint32_t state, int memory_full) {
  for (const std::uint32_t call : states_[state].calls) {
    Moving& moving = *moving_[call];
    moving.memory_full += memory_full;
    if (!std::exchange(moving.beside_compute, true) || memory_full != 0) set_pace(moving);
  }
}

// One event is pending, for the kernel that ends or drains first. It takes its place among others of its instant as if it were
// scheduled here, and is once that is settled (settle): until then the kernels may change again.
void Replayer::arm_kernels(std::uint32_t state) {
  RankState& rank = states_[state];
  ++rank.generation;
  if (armed_ == state) armed_ = kNoState;
  Time first = Time::max();
  for (const RunningKernel& kernel : rank.kernels) first = std::min(first, kernel.holds_gpu ? kernel.drains() : kernel.end());
  if (first == Time::max()) return;
  if (armed_ != kNoState) schedule_armed();
  armed_ = state;
  armed_at_ = std::max(first, machine_.simulator.now());
}

void Replayer::schedule_armed() {
  const std::uint32_t state = std::exchange(armed_, kNoState);
  kernels_.note(state);
  schedule_event(armed_at_, EventKind::kKernelEnd, state, states_[state].generation);
}

// A rank has done all that it does at this instant.
void Replayer::settle() {
  if (armed_ == kNoState) return;
  if (runs_ahead_ && !looks_) armed_at_ = run_ahead(armed_, armed_at_);
  schedule_armed();
}

void Replayer::end_kernels(std::uint32_t state) {
  RankState& rank = states_[state];
  const Time now = machine_.simulator.now();
  rank.account(now);
  OpIndex drained = kNoOp;
  for (RunningKernel& kernel : rank.kernels) {
    if (!kernel.holds_gpu || kernel.drains() > now) continue;
    kernel.holds_gpu = false;
    kernel.drained = true;
    --rank.fills_gpu;
    drained = kernel.op;
  }
  std::vector<OpIndex>& ended = ended_;
  ended.clear();
  std::erase_if(rank.kernels, [&](const RunningKernel& kernel) {
    if (kernel.end() > now) return false;
    ended.push_back(kernel.op);
    return true;
  });
  for (const OpIndex index : ended) {
    const Operation& op = rank.program->operations[index];
    rank.end_kernel(op);
    if (op.fills_memory && --rank.memory_kernels == 0) slow_calls(state, -1);
  }
  arm_kernels(state);
  // Collectives that waited for the SMs take them before the next kernel does.
  if (rank.fills_gpu == 0 && !rank.draining.empty()) {
    std::vector<OpIndex> waiting;
    waiting.swap(rank.draining);
    for (const OpIndex index : waiting) {
      rank.timing[index] = {.start = now, .ready = now, .end = {}, .cause = {state, drained}};
      arrive(state, index);
    }
  }
  for (const OpIndex index : ended) {
    cause_ = {state, index};
    finish(state, index);
  }
  try_streams(state);
}

// The thread blocks that communication holds on this GPU have changed.
void Replayer::retime(std::uint32_t state) {
  RankState& rank = states_[state];
  if (rank.kernels.empty()) return;
  const Time now = machine_.simulator.now();
  for (RunningKernel& kernel : rank.kernels) {
    const auto passed = static_cast<double>((now - kernel.since).ps());
    kernel.remaining_ps = std::max(0.0, kernel.remaining_ps - passed * kernel.speed);
    kernel.since = now;
    if (kernel.has_second_wave && rank.held_ctas == 0) {
      kernel.has_second_wave = false;
      kernel.remaining_ps = std::min(kernel.remaining_ps, kernel.alone_ps);
    }
    // One that drains needs no more SMs than it has.
    if (!kernel.drained) kernel.speed = rank.speed(rank.program->operations[kernel.op], kernel, options_.contention);
  }
  arm_kernels(state);
}

}  // namespace weft::work
