#include "sim/workloads/training/weave.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"

namespace weft::work {
namespace {

// First operations of the pieces of [first, last), and `last`.
std::vector<OpIndex> pieces(const RankProgram& program, OpIndex first, OpIndex last) {
  std::vector<OpIndex> cuts = {first};
  for (OpIndex i = first; i < last; ++i) {
    const Operation& op = program.operations[i];
    if (op.stream != 0) continue;
    const auto waits = program.waits_of(op);
    const bool waits_for_tokens = std::any_of(waits.begin(), waits.end(), [&](OpIndex wait) {
      return wait >= first && program.operations[wait].category == Category::kCommExpert;
    });
    if (waits_for_tokens) cuts.push_back(i);
  }
  cuts.push_back(last);
  return cuts;
}

}  // namespace

std::vector<OpIndex> weave(RankProgramBuilder& builder, OpIndex begin, OpIndex middle) {
  RankProgram& program = builder.program();
  const auto end = static_cast<OpIndex>(program.operations.size());
  WEFT_CHECK(begin <= middle && middle <= end);
  const std::vector<OpIndex> first = pieces(program, begin, middle);
  const std::vector<OpIndex> second = pieces(program, middle, end);

  std::vector<OpIndex> order;  // old indices
  order.reserve(end - begin);
  for (std::size_t piece = 0; piece + 1 < std::max(first.size(), second.size()); ++piece) {
    for (const std::vector<OpIndex>* cuts : {&first, &second}) {
      if (piece + 1 >= cuts->size()) continue;
      for (OpIndex i = (*cuts)[piece]; i < (*cuts)[piece + 1]; ++i) order.push_back(i);
    }
  }
  std::vector<OpIndex> to(order.size());
  std::vector<Operation> moved;
  moved.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    to[order[i] - begin] = begin + static_cast<OpIndex>(i);
    moved.push_back(program.operations[order[i]]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    Operation& op = moved[i];
    std::uint16_t kept = 0;
    for (std::uint16_t w = 0; w < op.wait_count; ++w) {
      OpIndex wait = program.waits[op.first_wait + w];
      if (order[i] >= middle && wait >= begin && wait < middle) continue;
      follow(wait, begin, to);
      program.waits[op.first_wait + kept++] = wait;
    }
    op.wait_count = kept;
  }
  std::copy(moved.begin(), moved.end(), program.operations.begin() + begin);
  for (MemoryChange& change : program.memory) follow(change.op, begin, to);
  builder.find_last();
  return to;
}

}  // namespace weft::work
