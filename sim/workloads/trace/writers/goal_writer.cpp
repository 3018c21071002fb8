// GOAL text (models/workloads §5.6): a stream is a cpu, its order and the waits are `requires`.
#include <fmt/format.h>

#include <iterator>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/trace/writers/trace_writer.h"
#include "sim/workloads/trace/writers/writers.h"

namespace weft::work {
namespace {

constexpr std::size_t kWritePiece = std::size_t{1} << 20;

void append_rank(const Program& program, Rank rank, std::string& text, std::ostream& out) {
  const RankProgram& own = program.program_of(rank);
  const ProgramRank& table = program.ranks[static_cast<std::size_t>(rank)];
  std::vector<OpIndex> last(own.streams.size() + 1, kNoOp);
  auto to = std::back_inserter(text);
  fmt::format_to(to, "\nrank {} {{\n", rank);
  for (OpIndex i = 0; i < own.operations.size(); ++i) {
    const Operation& op = own.operations[i];
    if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) {
      const bool sends = op.kind == OpKind::kSend;
      fmt::format_to(to, "l{}: {} {}b {} {} tag {} cpu {}\n", i, sends ? "send" : "recv", op.bytes.count(),
                     sends ? "to" : "from", table.peers[op.slot], op.tag, op.stream);
    } else {
      WEFT_CHECK(op.kind == OpKind::kKernel || op.kind == OpKind::kMarker);
      fmt::format_to(to, "l{}: calc {} cpu {}\n", i, op.duration.ps() / 1'000, op.stream);
    }
    OpIndex& before = last[op.stream];
    if (before != kNoOp) fmt::format_to(to, "l{} requires l{}\n", i, before);
    for (const OpIndex wait : own.waits_of(op)) fmt::format_to(to, "l{} requires l{}\n", i, wait);
    before = i;
    if (text.size() > kWritePiece) {
      out << text;
      text.clear();
    }
  }
  text += "}\n";
}

}  // namespace

void write_goal(const Program& lowered, std::ostream& out) {
  std::string text = fmt::format("num_ranks {}\n", lowered.ranks.size());
  for (std::size_t r = 0; r < lowered.ranks.size(); ++r) append_rank(lowered, static_cast<Rank>(r), text, out);
  out << text;
}

namespace {

WrittenTrace write_lowered_goal(const Trace& trace, std::ostream& out) {
  LoweredProgram lowered = lower_to_messages(trace.program);
  write_goal(lowered.program, out);
  WrittenTrace written{.operations = 0, .findings = std::move(lowered.findings)};
  for (const RankProgram& each : lowered.program.programs) written.operations += each.operations.size();
  return written;
}

}  // namespace

const TraceWriter trace_builtin::goal_writer{
    .name = "goal",
    .summary = "a GOAL schedule for LogGOPSim and ATLAHS, collectives as messages",
    .written = "a GOAL schedule",
    .to_file = write_lowered_goal,
    .model = {.assumes = "A stream is a cpu; its order and the waits are `requires`. Collectives become the messages of "
                         "textbook algorithms: rings of one channel, pairwise all-to-all.",
              .leaves_out = {"write_goal: a step's reduction costs nothing, and launches, copies and storage take no time"},
              .sources = {"models/workloads §5.6"},
              .files = {"workloads/trace/writers/lower.cpp"}},
};

}  // namespace weft::work
