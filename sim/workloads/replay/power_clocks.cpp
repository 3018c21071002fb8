// Clocks that power leaves, from the iteration that was run at full clock.
//
// Each rank's kernels and calls load its GPU from when they start to when they end; the loop's period is that of the slowest
// rank. A kernel keeps the clock that it starts at, which the window before it allows.
//
// Model: kernels that power slows take longer, and so does the loop, but its loads are spread as at full clock: at a duty of
// 0.9 the slow-down comes out 0.4 % lower. A call moves its bytes through HBM twice, an all-reduce four times.
#include <algorithm>

#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {
namespace {

double hbm_passes(const Operation& op) { return op.collective == coll::Collective::kAllReduce ? 4 : 2; }

PowerLoad loaded_by(const Operation& op, const OperationTiming& timing, const StepPower& power) {
  if (op.kind == OpKind::kKernel) {
    if (op.tensor_share > 0 || op.memory_share > 0) return load_of(op);
    if (op.category == Category::kGemm) return {.tensor = power.gemm_share};
    if (op.category == Category::kAttention) return {.tensor = power.attention_share};
    return {};
  }
  const double seconds = (timing.end - timing.ready).seconds();
  if (op.kind != OpKind::kCollective && !is_message(op.kind)) return {};
  if (seconds <= 0 || power.hbm_bytes_per_second <= 0) return {};
  const double bytes = static_cast<double>(op.bytes.count()) * hbm_passes(op);
  return {.memory = std::min(1.0, bytes / (power.hbm_bytes_per_second * seconds))};
}

RankClocks rank_clocks(const RankState& rank, double iteration, const StepPower& power) {
  const std::vector<Operation>& operations = rank.program->operations;
  const auto at = [&](Time time) { return static_cast<double>((time - rank.began).ps()); };
  PowerTimeline timeline{iteration, static_cast<double>(power.gpu.costs.window.ps())};
  double tensor_ps = 0;
  for (OpIndex i = 0; i < operations.size(); ++i) {
    if (operations[i].background || !rank.is_done(i)) continue;
    const OperationTiming& timing = rank.timing[i];
    const PowerDraw draw = draw_of(power.gpu.costs, loaded_by(operations[i], timing, power));
    if (draw.tensor > 0 || draw.memory > 0) timeline.add(at(timing.ready), at(timing.end), draw);
  }
  const std::vector<double> slowdowns = timeline.slowdowns(power.gpu);
  RankClocks clocks;
  if (std::ranges::max(slowdowns) == 1.0) return clocks;
  std::vector<std::uint16_t> by_bin;
  for (const double slowdown : slowdowns)
    by_bin.push_back(static_cast<std::uint16_t>((slowdown - 1) * RankClocks::kSteps + 0.5));
  clocks.beyond.resize(operations.size());
  double slowed_ps = 0;
  for (OpIndex i = 0; i < operations.size(); ++i) {
    if (operations[i].background || !rank.is_done(i)) continue;
    clocks.beyond[i] = by_bin[timeline.bin_of(at(rank.timing[i].ready))];
    if (!is_tensor(operations[i].category)) continue;
    const double taken = at(rank.timing[i].end) - at(rank.timing[i].ready);
    tensor_ps += taken;
    slowed_ps += taken * clocks.at(i);
  }
  if (tensor_ps > 0) clocks.mean = slowed_ps / tensor_ps;
  return clocks;
}

}  // namespace

std::vector<RankClocks> Replayer::clocks_under(const StepPower& power) const {
  double iteration = 0;
  for (const RankState& rank : states_)
    iteration = std::max(iteration, static_cast<double>((rank.iteration_ends.back() - rank.began).ps()));
  std::vector<RankClocks> clocks;
  for (const RankState& rank : states_) clocks.push_back(rank_clocks(rank, iteration, power));
  return clocks;
}

}  // namespace weft::work
