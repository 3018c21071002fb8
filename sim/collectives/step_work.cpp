#include "sim/collectives/step_work.h"

#include <algorithm>
#include <cstdint>

namespace weft::coll {
namespace {

// Sample k of many, spread evenly and in step with no period: multiples of the golden ratio.
std::int64_t spread(std::int64_t k, std::int64_t count) {
  const std::uint64_t turn = (static_cast<std::uint64_t>(k) * 0x9E37'79B9'7F4A'7C15) >> 33;  // 31 bits of a turn
  return static_cast<std::int64_t>(turn * static_cast<std::uint64_t>(std::min(count, std::int64_t{1} << 32)) >> 31);
}

}  // namespace

StepWork work_of(const Step& step) {
  const auto chunks = [&](const Peers& peers) {
    return step.is_spread() && !peers.empty() ? 1.0 : static_cast<double>(peers.size());
  };
  StepWork work{.received = chunks(step.receive_from),
                .sourced = (step.use_source ? 1.0 : 0.0) + (step.accumulate ? 1.0 : 0.0),
                .stored = step.store ? 1.0 : 0.0,
                .sent = chunks(step.send_to)};
  if (step.delivered) work.stored = 0;
  if (step.fetched) work.sent = 0;
  // Warps that neither keep nor send load nothing either.
  if ((step.delivered || step.fetched) && work.stored == 0 && work.sent == 0) work.received = work.sourced = 0;
  return work;
}

double effort_of(const StepCosts& costs, const Step& step) {
  if (!step.delivered && !step.fetched) return costs.effort(work_of(step));
  const StepWork work = work_of(step);
  return work.received + work.sourced + work.stored + work.sent > 0 ? costs.effort(work) : 0.0;
}

UsualStep usual_step(const Schedule& schedule, const StepCosts& costs) {
  if (costs.memory == MemoryCosts{}) return {};
  constexpr std::int64_t kSamples = 256;
  UsualStep most{.effort = 0.0};
  for (const Rank rank : {0, std::min(1, schedule.ranks() - 1), schedule.ranks() - 1}) {
    for (int lane = 0; lane < schedule.lanes(rank, 0); ++lane) {
      const std::int64_t count = schedule.step_count(rank, 0, lane);
      const std::int64_t samples = std::min(count, kSamples);
      double sum = 0.0;
      int sending = 0;
      int copying = 0;
      for (std::int64_t sample = 0; sample < samples; ++sample) {
        const Step step = schedule.step(rank, 0, lane, count > kSamples ? spread(sample, count) : sample);
        if (step.send_to.empty()) continue;
        sum += effort_of(costs, step);
        ++sending;
        if (step.copies() && !step.delivered) ++copying;
      }
      if (sending > 0 && sum / sending > most.effort)
        most = {.effort = sum / sending, .copies = static_cast<double>(copying) / sending};
    }
  }
  return most.effort > 0.0 ? most : UsualStep{};
}

}  // namespace weft::coll
