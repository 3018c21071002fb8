// Copies between GPUs and their hosts, and storage.
#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {

// Returns the loads of the rank's copy and of those it stands for, in one transfer. On hosts that are run, all of them load
// their links and storage; on the file system those elsewhere do, too.
FootprintId Replayer::loads_of_copy(std::uint32_t state, const Operation& op) {
  FootprintId& known = copy_loads_[{state, op.kind, op.slot}];
  if (known.valid()) return known;
  net::Footprint loads;
  std::int64_t ranks = 0;
  for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
    if (state_of_[r] != state) continue;
    ++ranks;
    const DeviceId gpu = device_of(static_cast<Rank>(r));
    const std::int32_t host = machine_.topology.host_of(gpu);
    if (host >= 0 && !hosts_run_[static_cast<std::size_t>(host)]) continue;
    storage_.load_host(op.kind, op.slot, gpu, loads);
  }
  if (op.kind == OpKind::kStorage && (op.slot & kFileSystem) != 0) {
    storage_.load_file_system(op.slot, static_cast<double>(ranks), loads);
  }
  known = machine_.fabric.add_footprint(std::move(loads));
  return known;
}

void Replayer::start_copy(std::uint32_t state, OpIndex index) {
  RankState& rank = states_[state];
  const Operation& op = rank.program->operations[index];
  const std::uint32_t at = new_moving();
  Moving& moving = *moving_[at];
  moving.members = {{state, index}};
  net::Transfer transfer;
  transfer.kind = net::TransferKind::kCoupled;
  transfer.footprint = loads_of_copy(state, op);
  transfer.bytes = op.bytes;
  transfer.tag = at;
  machine_.fabric.post(transfer, *this);
  if (!op.background) {
    rank.account(machine_.simulator.now());
    ++rank.moving[static_cast<std::size_t>(op.category)];
    return;
  }
  moving.background = true;
  moving.iteration = static_cast<int>(rank.iteration_ends.size());
  moving.since = machine_.simulator.now();
  rank.streams[op.stream].background = true;
  cause_ = {state, index};
  finish(state, index);
}

void Replayer::end_background(const Moving& moving) {
  const Member& member = moving.members.front();
  RankState& rank = states_[member.state];
  const Operation& op = rank.program->operations[member.op];
  const Time now = machine_.simulator.now();
  rank.account(now);
  rank.times.busy[static_cast<std::size_t>(op.category)] += now - moving.since;
  if (observer_ != nullptr) {
    observer_->on_operation({.rank = rank.rank,
                             .iteration = moving.iteration + skipped(),
                             .op = member.op,
                             .start = in_whole_run(moving.since),
                             .ready = in_whole_run(moving.since),
                             .end = in_whole_run(now)});
  }
  StreamState& stream = rank.streams[op.stream];
  stream.busy = false;
  stream.background = false;
  cause_ = {};
  try_streams(member.state);
}

}  // namespace weft::work
