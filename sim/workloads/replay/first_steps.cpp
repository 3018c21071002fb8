// Members of collectives send their first steps before the others are there.
//
// Model: a kernel whose peers have not begun sends what its buffers at the next rank take, and a ring's first chunk of every
// channel fits there. Meanwhile other collectives share its NVLinks with it (link_turns.h). Its own call takes no less for
// that: the member that comes last still has all of its steps to send. Of no call but rings is this known, and where a link
// leads to is left out: the first step fills the links that leave the GPU.
//
// Source: two runs on 2 x H200 (validate/measured/h200x2_two_communicators*.json, "large waits"): an all-reduce of 34 MB, 132
// us alone, beside one of 45, 67 or 90 MB that began with it on one of the GPUs only takes 59 to 68, 82 to 91 and 105 to 115 us
// longer: what half of the other takes on the link. Where that one began 150 us before, it takes no longer.
#include <algorithm>

#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {

// In the call of the communicator that is next, and none is on the wire. The first step is there only while it is beside
// others: most wait with nothing beside them.
void Replayer::wait_in(std::uint32_t state, OpIndex op, Meeting& meeting) {
  if (is_message(states_[state].program->operations[op].kind)) return;
  states_[state].first_steps.push_back({.meeting = &meeting, .op = op, .since = machine_.simulator.now()});
  if (!states_[state].calls.empty()) send_first_steps(state);
}

// All of them, as from now on something is beside them.
void Replayer::send_first_steps(std::uint32_t state) {
  RankState& rank = states_[state];
  const Time now = machine_.simulator.now();
  for (std::size_t i = 0; i < rank.first_steps.size(); ++i) {
    FirstStep& step = rank.first_steps[i];
    if (step.moving != kNoState) continue;
    const LinkTurns::Call& call = first_step_of(state, *step.meeting, rank.program->operations[step.op]);
    const Duration passed = now - step.since;
    if (passed >= call.alone) {
      rank.first_steps.erase(rank.first_steps.begin() + static_cast<std::ptrdiff_t>(i--));
      continue;
    }
    step.moving = new_moving();
    Moving& moving = *moving_[step.moving];
    moving.first_step = true;
    moving.members = {{state, step.op}};
    moving.loads = call.loads;
    moving.bytes = call.bytes;
    moving.alone = call.alone;
    moving.step = call.step;
    join(step.moving);
    // Its bytes are counted when its call is posted: here it takes time only.
    if (!no_links_.valid()) no_links_ = machine_.fabric.add_footprint({});
    net::Transfer transfer;
    transfer.kind = net::TransferKind::kCoupled;
    transfer.footprint = no_links_;
    const double left = 1 - static_cast<double>(passed.ps()) / static_cast<double>(call.alone.ps());
    transfer.bytes = std::max(Bytes{1}, Bytes{static_cast<std::int64_t>(static_cast<double>(call.bytes.count()) * left)});
    transfer.rate_cap = moving.pace = pace(moving);
    transfer.tag = step.moving;
    moving.transfer = machine_.fabric.post(transfer, *this);
  }
}

// The others are there.
void Replayer::end_first_step(const Meeting& meeting, std::uint32_t state) {
  std::vector<FirstStep>& steps = states_[state].first_steps;
  const auto at = std::ranges::find(steps, &meeting, &FirstStep::meeting);
  if (at == steps.end()) return;
  if (at->moving != kNoState) {
    part(at->moving);
    // The rest of its transfer delays nothing.
    moving_[at->moving]->members.clear();
    moving_[at->moving]->beside.clear();
  }
  steps.erase(at);
}

void Replayer::on_first_step_sent(std::uint32_t index) {
  const Moving& moving = *moving_[index];
  if (!moving.members.empty()) {
    part(index);
    std::erase_if(states_[moving.members.front().state].first_steps,
                  [&](const FirstStep& step) { return step.moving == index; });
  }
  free_moving_.push_back(index);
}

// Takes no time where none is known.
const LinkTurns::Call& Replayer::first_step_of(std::uint32_t state, Meeting& meeting, const Operation& op) {
  const GroupCost& cost = *known_cost(meeting, op).cost;
  const auto [at, is_new] = first_steps_.try_emplace({state, &cost});
  LinkTurns::Call& call = at->second;
  if (!is_new || cost.step <= 0) return call;
  const DeviceId own = device_of(states_[state].rank);
  net::Footprint leaving;
  double longest_ps = 0;
  for (const Usage& usage : cost.loads.usages) {
    const std::uint32_t link = usage.resource.value();
    if (link >= machine_.topology.link_count() || machine_.topology.link(LinkId{link}).from != own) continue;
    leaving.usages.push_back(usage);
    const double bytes = usage.usage * static_cast<double>(op.bytes.count()) * cost.step;
    longest_ps = std::max(longest_ps, bytes / machine_.fabric.capacity(usage.resource));
  }
  if (leaving.usages.empty()) return call;
  call.bytes = std::max(Bytes{1}, Bytes{static_cast<std::int64_t>(static_cast<double>(op.bytes.count()) * cost.step)});
  call.alone = Duration::whole_ps(longest_ps);
  call.step = 1;
  call.loads = machine_.fabric.add_footprint(std::move(leaving));
  return call;
}

}  // namespace weft::work
