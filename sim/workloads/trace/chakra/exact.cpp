#include "sim/workloads/trace/chakra/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "sim/workloads/trace/line_reader.h"

namespace weft::work::chakra {
namespace {

struct Field {
  std::string_view name;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::int64_t kByte = 255;
constexpr std::int64_t kShort = 32'767;
constexpr std::array<Field, 13> kFields = {{{"kind", 0, static_cast<std::int64_t>(OpKind::kMarker)},
                                            {"category", 0, kCategories - 1},
                                            {"stream", 0, kByte},
                                            {"collective", 0, static_cast<std::int64_t>(coll::Collective::kScatter)},
                                            {"element size", 1, kByte},
                                            {"tag", 0, kByte},
                                            {"flags", 0, 0xFF'FFFF},
                                            {"every", 0, kShort},
                                            {"microbatch", -1, kShort},
                                            {"layer", -1, kShort},
                                            {"slot", 0, 7},
                                            {"duration", 0, kLongestTask.ps()},
                                            {"bytes", 0, kLargestTask.count()}}};

bool same_operation(const RankProgram& a, const Operation& x, const RankProgram& b, const Operation& y) {
  return numbers_of(x) == numbers_of(y) && x.slot == y.slot && a.names[x.name] == b.names[y.name] &&
         std::ranges::equal(a.waits_of(x), b.waits_of(y));
}

bool same_memory(const MemoryChange& a, const MemoryChange& b) { return a.op == b.op && a.bytes == b.bytes; }

bool same_program(const RankProgram& a, const RankProgram& b) {
  if (a.streams != b.streams || a.operations.size() != b.operations.size()) return false;
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    if (!same_operation(a, a.operations[i], b, b.operations[i])) return false;
  }
  return a.resident.parameters == b.resident.parameters && a.resident.gradients == b.resident.gradients &&
         a.resident.optimizer == b.resident.optimizer && std::ranges::equal(a.memory, b.memory, same_memory);
}

// Groups of the same sizes and as many peers.
bool same_table(const Program& program, const ProgramRank& a, const ProgramRank& b) {
  const auto size = [&](std::uint32_t group) { return program.groups[group].ranks.size(); };
  return a.peers.size() == b.peers.size() && std::ranges::equal(a.groups, b.groups, {}, size, size);
}

}  // namespace

std::vector<std::int64_t> numbers_of(const Operation& op) {
  const bool is_copy = op.kind == OpKind::kCopy || op.kind == OpKind::kStorage;
  const int flags = (op.fills_gpu ? 1 : 0) + (op.weight_gradient ? 2 : 0) + (op.launched ? 4 : 0) + (op.background ? 8 : 0) +
                    (op.fills_memory ? 16 : 0) + (op.one_way ? 32 : 0) + (op.tensor_share << 8) + (op.memory_share << 16);
  return {static_cast<std::int64_t>(op.kind),
          static_cast<std::int64_t>(op.category),
          op.stream,
          static_cast<std::int64_t>(op.collective),
          op.element_size,
          op.tag,
          flags,
          op.every,
          op.microbatch,
          op.layer,
          is_copy ? op.slot : 0,
          op.duration.ps(),
          op.bytes.count()};
}

std::string operation_from(const std::vector<std::int64_t>& numbers, std::size_t streams, Operation& op) {
  if (numbers.size() != kFields.size()) return fmt::format("expected {} numbers, found {}", kFields.size(), numbers.size());
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const Field& field = kFields[i];
    if (numbers[i] < field.least || numbers[i] > field.most) {
      return fmt::format("{}: expected {} to {}, found {}", field.name, field.least, field.most, numbers[i]);
    }
  }
  if (static_cast<std::size_t>(numbers[2]) >= streams) return fmt::format("there is no stream {}", numbers[2]);
  op.kind = static_cast<OpKind>(numbers[0]);
  op.category = static_cast<Category>(numbers[1]);
  op.stream = static_cast<std::uint8_t>(numbers[2]);
  op.collective = static_cast<coll::Collective>(numbers[3]);
  op.element_size = static_cast<std::uint8_t>(numbers[4]);
  op.tag = static_cast<std::uint8_t>(numbers[5]);
  op.fills_gpu = (numbers[6] & 1) != 0;
  op.fills_memory = (numbers[6] & 16) != 0;
  op.weight_gradient = (numbers[6] & 2) != 0;
  op.launched = (numbers[6] & 4) != 0;
  op.background = (numbers[6] & 8) != 0;
  op.one_way = (numbers[6] & 32) != 0;
  op.tensor_share = static_cast<std::uint8_t>(numbers[6] >> 8);
  op.memory_share = static_cast<std::uint8_t>(numbers[6] >> 16);
  op.every = static_cast<std::uint16_t>(numbers[7]);
  op.microbatch = static_cast<std::int16_t>(numbers[8]);
  op.layer = static_cast<std::int16_t>(numbers[9]);
  op.slot = static_cast<std::uint16_t>(numbers[10]);
  op.duration = Duration::from_ps(numbers[11]);
  op.bytes = Bytes{numbers[12]};
  return {};
}

std::string recorded_from(const std::vector<std::int64_t>& numbers, RecordedTime& time) {
  if (numbers.size() != 3) return fmt::format("expected 3 numbers, found {}", numbers.size());
  const std::int64_t longest = kLongestTask.ps();
  if (numbers[0] < -longest || numbers[0] > longest) return fmt::format("{} ps is no start", numbers[0]);
  if (numbers[1] < 0 || numbers[1] > longest) return fmt::format("{} ps is no duration", numbers[1]);
  if (numbers[2] < 0 || numbers[2] > kShort) return fmt::format("{} is no number of thread blocks", numbers[2]);
  time = {.start = Duration::from_ps(numbers[0]),
          .duration = Duration::from_ps(numbers[1]),
          .blocks = static_cast<std::int16_t>(numbers[2])};
  return {};
}

std::vector<std::string> fold_ranks(Trace& trace, const std::vector<std::int64_t>& leaders) {
  Program& program = trace.program;
  std::vector<std::string> differ;
  for (std::size_t r = 0; r < leaders.size(); ++r) {
    const std::int64_t leader = leaders[r];
    if (leader < 0 || leader == static_cast<std::int64_t>(r)) continue;
    const auto at = static_cast<std::size_t>(leader);
    const bool leads = at < leaders.size() && (leaders[at] < 0 || leaders[at] == leader);
    if (leads && same_table(program, program.ranks[r], program.ranks[at]) &&
        same_program(program.programs[program.ranks[r].program], program.programs[program.ranks[at].program])) {
      program.ranks[r].leader = static_cast<Rank>(leader);
      program.ranks[r].program = program.ranks[at].program;
    } else {
      differ.push_back(fmt::format("rank {} is said to behave as rank {}, but does not: it is run by itself", r, leader));
    }
  }
  // Programs that nobody runs any more go.
  std::vector<RankProgram> kept;
  std::vector<std::vector<RecordedTime>> recorded;
  std::vector<std::uint32_t> place(program.programs.size(), 0);
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    if (program.ranks[r].leader != static_cast<Rank>(r)) continue;
    const std::uint32_t old = program.ranks[r].program;
    place[old] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(program.programs[old]));
    if (!trace.recorded.empty()) recorded.push_back(std::move(trace.recorded[old]));
  }
  for (ProgramRank& rank : program.ranks) rank.program = place[rank.program];
  program.programs = std::move(kept);
  trace.recorded = std::move(recorded);
  return differ;
}

}  // namespace weft::work::chakra
