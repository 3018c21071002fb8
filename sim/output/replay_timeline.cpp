#include "sim/output/replay_timeline.h"

#include <fmt/format.h>

#include <string>

#include "sim/core/digest.h"

namespace weft::output {

void ReplayTimeline::on_program(const work::Program& program) {
  program_ = &program;
  is_drawn_.assign(program.ranks.size(), false);
  std::size_t drawn = 0;
  for (std::size_t r = 0; r < program.ranks.size() && drawn < kMostRanksDrawn; ++r) {
    if (program.ranks[r].leader != static_cast<Rank>(r)) continue;
    is_drawn_[r] = true;
    ++drawn;
    trace_.name_process(r, fmt::format("rank {}", r));
    const work::RankProgram& of = program.program_of(static_cast<Rank>(r));
    for (std::size_t s = 0; s < of.streams.size(); ++s) trace_.name_thread(r, s, of.streams[s]);
  }
}

void ReplayTimeline::on_operation(const Span& span) {
  const auto process = static_cast<std::size_t>(span.rank);
  if (!is_drawn_[process]) return;
  const work::RankProgram& of = program_->program_of(span.rank);
  const work::Operation& op = of.operations[span.op];
  if (op.kind == work::OpKind::kMarker) return;
  const bool is_host = op.kind == work::OpKind::kHostDelay || op.kind == work::OpKind::kHostSync;
  const std::size_t thread = is_host ? of.streams.size() : op.stream;
  JsonWriter& args =
      trace_.begin_span(of.names[op.name], work::to_string(op.category), process, thread, span.start, span.end - span.start);
  args.field("iteration", span.iteration);
  if (op.microbatch >= 0) args.field("microbatch", op.microbatch);
  if (op.layer >= 0) args.field("layer", op.layer);
  if (op.bytes > Bytes{}) args.field("bytes", op.bytes.count());
  if (span.ready > span.start) args.key("waited_us").raw(us_text(span.ready - span.start));
  if (op.kind == work::OpKind::kCollective) {
    args.field("group", program_->groups[program_->ranks[process].groups[op.slot]].name);
  }
  trace_.end_span();
  if (op.kind == work::OpKind::kSend || op.kind == work::OpKind::kReceive) draw_arrow(span, op, thread);
}

void ReplayTimeline::draw_arrow(const Span& span, const work::Operation& op, std::size_t thread) {
  const Rank peer =
      program_->ranks[static_cast<std::size_t>(program_->ranks[static_cast<std::size_t>(span.rank)].peers[op.slot])].leader;
  if (!is_drawn_[static_cast<std::size_t>(peer)]) return;
  const bool sends = op.kind == work::OpKind::kSend;
  const Rank from = sends ? span.rank : peer;
  const Rank to = sends ? peer : span.rank;
  const std::uint64_t number = messages_[{from, to, op.tag}][sends ? 0 : 1]++;
  const std::uint64_t id = Digest{}.add(from).add(to).add(op.tag).add(number).value() >> 12;  // exact in a double
  const std::string name = "message";
  if (sends) {
    trace_.begin_arrow(name, id, static_cast<std::size_t>(from), thread, span.ready);
  } else {
    trace_.end_arrow(name, id, static_cast<std::size_t>(to), thread, span.end);
  }
}

}  // namespace weft::output
