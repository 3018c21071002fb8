#include "sim/workloads/program_calls.h"

#include <set>
#include <utility>

namespace weft::work {

std::vector<SlotCall> calls_of(const RankProgram& program) {
  std::set<SlotCall> calls;
  for (const Operation& op : program.operations) {
    if (takes_its_time(op)) continue;
    if (op.kind == OpKind::kCollective) {
      calls.insert({op.kind, op.slot, op.collective, op.bytes.count(), op.element_size});
    } else if (op.kind == OpKind::kSend) {
      calls.insert({op.kind, op.slot, coll::Collective::kSendRecv, op.bytes.count(), 1});
    }
  }
  return {calls.begin(), calls.end()};
}

std::vector<CallOfGroup> calls_of_large_groups(const Program& program, std::size_t members) {
  std::vector<std::vector<SlotCall>> by_program;
  for (const RankProgram& each : program.programs) by_program.push_back(calls_of(each));
  std::vector<CallOfGroup> calls;
  std::set<std::pair<std::uint32_t, SlotCall>> known;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const ProgramRank& rank = program.ranks[r];
    if (rank.leader != static_cast<Rank>(r)) continue;
    for (SlotCall each : by_program[rank.program]) {
      if (each.kind != OpKind::kCollective || each.slot >= rank.groups.size()) continue;
      const std::uint32_t group = rank.groups[each.slot];
      if (program.groups[group].ranks.size() < members) continue;
      each.slot = 0;  // ranks may have one group in different slots
      if (!known.insert({group, each}).second) continue;
      calls.push_back({group, {.kind = each.collective, .bytes = Bytes{each.bytes}, .element_size = each.element_size}});
    }
  }
  return calls;
}

}  // namespace weft::work
