#include "sim/workloads/replay/link_sleep.h"

#include <algorithm>

#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {

bool Replayer::is_on_nvlinks(FootprintId loads) {
  const auto [at, is_new] = on_nvlinks_.try_emplace(loads, false);
  if (is_new) {
    at->second = std::ranges::any_of(machine_.fabric.footprint(loads).usages, [&](const Usage& usage) {
      const std::uint32_t link = usage.resource.value();
      return link < machine_.topology.link_count() && machine_.topology.spec(LinkId{link}).type.starts_with("nvlink");
    });
  }
  return at->second;
}

// How long a call whose last member is there now waits for links. They are in use from now on.
Duration Replayer::wake_links(Moving& moving) {
  if (!moving.on_nvlinks) return {};
  const Time now = machine_.simulator.now();
  // In the order in which they came.
  const std::vector<Member>& members = moving.members;
  const auto came = [&](const Member& member) { return states_[member.state].timing[member.op].start; };
  const Member& first = members.front();
  const bool receives = states_[first.state].program->operations[first.op].kind == OpKind::kReceive;
  Time woken = now;
  if (members.size() > 1 && !receives) {
    const Time before = came(members[members.size() - 2]);
    if (now - before < LinkSleep::kAfter) woken = before;
  }
  const auto asleep = std::ranges::count_if(members, [&](const Member& m) { return states_[m.state].links.sleeps(woken); });
  for (const Member& member : members) states_[member.state].links.begin();
  const bool answers = now - came(first) >= LinkSleep::kAfter;
  const Duration each = answers ? LinkSleep::kWake + LinkSleep::kAnswers : LinkSleep::kWake;
  return std::max(Duration{}, std::min<std::int64_t>(2, asleep) * each - (now - woken));
}

}  // namespace weft::work
