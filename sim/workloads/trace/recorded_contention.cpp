#include "sim/workloads/trace/recorded_contention.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::work {
namespace {

// A communication kernel that was resident on a rank's GPU.
struct Resident {
  Duration begin;
  Duration end;
  int blocks = 0;
};

KernelClass class_of_category(Category category) {
  if (category == Category::kGemm) return KernelClass::kGemm;
  if (category == Category::kAttention) return KernelClass::kAttention;
  return KernelClass::kMemory;
}

// By program: the messages' shorter side, by pair and order. A message's kernel that waits for its other end holds little up
// in the Replayer, which has it resident from when both are there.
class MessageTimes {
 public:
  explicit MessageTimes(const Trace& trace) {
    for (std::size_t r = 0; r < trace.program.ranks.size(); ++r) {
      const ProgramRank& table = trace.program.ranks[r];
      if (table.leader != static_cast<Rank>(r)) continue;
      const RankProgram& program = trace.program.programs[table.program];
      std::map<Pair, std::size_t> count;
      for (std::size_t i = 0; i < program.operations.size(); ++i) {
        const Operation& op = program.operations[i];
        if (op.kind != OpKind::kSend && op.kind != OpKind::kReceive) continue;
        const Rank own = static_cast<Rank>(r);
        const Rank peer = table.peers[op.slot];
        const Pair pair = op.kind == OpKind::kSend ? Pair{own, peer, op.tag} : Pair{peer, own, op.tag};
        std::vector<Duration>& times = shortest_[pair];
        const std::size_t k = count[pair]++;
        if (k >= times.size()) times.resize(k + 1, Duration::max());
        times[k] = std::min(times[k], trace.recorded[table.program][i].duration);
        places_[{r, i}] = {pair, k};
      }
    }
  }
  [[nodiscard]] Duration of(std::size_t rank, std::size_t op) const {
    const auto& [pair, k] = places_.at({rank, op});
    return shortest_.at(pair)[k];
  }

 private:
  using Pair = std::tuple<Rank, Rank, std::uint8_t>;
  std::map<Pair, std::vector<Duration>> shortest_;
  std::map<std::pair<std::size_t, std::size_t>, std::pair<Pair, std::size_t>> places_;
};

// Returns what the kernel would take alone. The time it had includes the gap before it, which is part of the operation.
Duration alone(const Operation& op, const RecordedTime& kernel, const std::vector<Resident>& residents,
               const ContentionCosts& costs) {
  const RecordedTime time{.start = kernel.start + kernel.duration - op.duration, .duration = op.duration, .blocks = 0};
  const Duration end = time.start + time.duration;
  double slowed_ps = 0;  // of the recorded time, beside communication
  double done_ps = 0;    // in it, of the time alone
  for (const Resident& each : residents) {
    if (each.begin >= end) break;
    if (each.end <= time.start) continue;
    // A GEMM that runs already is not slowed: the collective starts when it has ended.
    if (op.fills_gpu && each.begin > time.start) continue;
    if (op.weight_gradient) {
      const Duration rest = each.end - time.start;
      return std::max(Duration::from_ps(time.duration.ps() / 2), time.duration - rest);
    }
    const auto beside = static_cast<double>((std::min(end, each.end) - std::max(time.start, each.begin)).ps());
    slowed_ps += beside;
    done_ps += beside / slowdown_beside(costs, class_of_category(op.category), each.blocks);
  }
  const auto whole = static_cast<double>(time.duration.ps());
  slowed_ps = std::min(slowed_ps, whole);
  return Duration::whole_ps(whole - slowed_ps + std::min(done_ps, slowed_ps));
}

}  // namespace

Duration remove_contention(Trace& trace, const ContentionCosts& costs) {
  Duration removed;
  if (trace.recorded.empty()) return removed;
  const MessageTimes messages{trace};
  for (std::size_t r = 0; r < trace.program.ranks.size(); ++r) {
    const ProgramRank& table = trace.program.ranks[r];
    if (table.leader != static_cast<Rank>(r)) continue;
    RankProgram& program = trace.program.programs[table.program];
    const std::vector<RecordedTime>& recorded = trace.recorded[table.program];
    std::vector<Resident> residents;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      const bool message = op.kind == OpKind::kSend || op.kind == OpKind::kReceive;
      if (!message && op.kind != OpKind::kCollective) continue;
      const Duration end = recorded[i].start + recorded[i].duration;
      residents.push_back({message ? end - messages.of(r, i) : recorded[i].start, end,
                           recorded[i].blocks > 0 && !takes_its_time(op) ? recorded[i].blocks : kContentionCtas});
    }
    std::ranges::sort(residents, {}, &Resident::begin);
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      Operation& op = program.operations[i];
      if (op.kind != OpKind::kKernel || is_communication(op.category) || recorded[i].duration <= Duration{}) continue;
      const Duration own = alone(op, recorded[i], residents, costs);
      removed += op.duration - own;
      op.duration = own;
    }
  }
  return removed;
}

}  // namespace weft::work
