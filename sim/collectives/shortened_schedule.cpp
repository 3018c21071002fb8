#include "sim/collectives/shortened_schedule.h"

#include <algorithm>
#include <utility>

#include "sim/collectives/executor.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {
namespace {

std::int64_t most_loops(const Schedule& schedule) {
  std::int64_t most = 0;
  for (int channel = 0; channel < schedule.channels(); ++channel) most = std::max(most, schedule.loops(channel));
  return most;
}

class ShortenedSchedule final : public Schedule {
 public:
  ShortenedSchedule(std::shared_ptr<const Schedule> whole, std::int64_t fewer)
      : owned_{std::move(whole)}, whole_{*owned_}, most_{most_loops(whole_)}, fewer_{fewer} {}

  [[nodiscard]] int ranks() const override { return whole_.ranks(); }
  [[nodiscard]] int channels() const override { return whole_.channels(); }
  [[nodiscard]] int lanes(Rank rank, int channel) const override { return whole_.lanes(rank, channel); }
  [[nodiscard]] double warp_share(Rank rank, int channel, int lane) const override {
    return whole_.warp_share(rank, channel, lane);
  }
  [[nodiscard]] std::int64_t loops(int channel) const override {
    const std::int64_t loops = whole_.loops(channel);
    return is_long(loops) ? loops - fewer_ : loops;
  }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    return steps_of_loop(rank, channel, lane) * loops(channel);
  }
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const std::int64_t of_loop = steps_of_loop(rank, channel, lane);
    const bool in_last_loop = index >= (loops(channel) - 1) * of_loop;
    const std::int64_t left_out = whole_.loops(channel) - loops(channel);
    return whole_.step(rank, channel, lane, in_last_loop ? index + left_out * of_loop : index);
  }

 private:
  [[nodiscard]] bool is_long(std::int64_t loops) const { return 2 * loops > most_; }
  [[nodiscard]] std::int64_t steps_of_loop(Rank rank, int channel, int lane) const {
    const std::int64_t loops = whole_.loops(channel);
    return loops > 0 ? whole_.step_count(rank, channel, lane) / loops : 0;
  }

  std::shared_ptr<const Schedule> owned_;
  const Schedule& whole_;
  std::int64_t most_;
  std::int64_t fewer_;
};

// Which of `all` alike parts two runs keep that are `apart`: the longer one from twice as many on, so that what is left out is
// so many times the difference.
struct Kept {
  std::int64_t longer = 0;
  std::int64_t apart = 0;
  std::int64_t times = 0;
};
Kept kept_of(std::int64_t all, std::int64_t apart) {
  const std::int64_t times = (all - 2 * apart) / apart;
  return {.longer = all - times * apart, .apart = apart, .times = times};
}

// Channels start in step and drift apart: from so many steps of a lane on a loop takes what it takes in the middle.
constexpr std::int64_t kFewestSteps = 16;
constexpr std::int64_t kFewestHops = 8;

// Loops, at the least, until the first one has passed all of its edges.
std::int64_t filling_loops(const Schedule& schedule) {
  if (!schedule.has_fluid_flows() || schedule.fluid_flow_count() == 0) return 1;
  const FluidFlow flow = schedule.fluid_flow(0);
  return 1 + flow.fill_bytes.count() / std::max<std::int64_t>(flow.step_bytes.count(), 1);
}

// The steps of one loop, in the lane that has most.
std::int64_t longest_lane(const Schedule& schedule, std::int64_t loops) {
  std::int64_t most = 1;
  for (int channel = 0; channel < schedule.channels(); ++channel) {
    for (int lane = 0; lane < schedule.lanes(0, channel); ++lane)
      most = std::max(most, schedule.step_count(0, channel, lane) / loops);
  }
  return most;
}

// As many times `most_steps` may be taken where pipelines are long to fill: trees of very many ranks.
constexpr std::int64_t kMoreSteps = 5;

// Two runs of both have fewer than five times `apart` of the parts.
constexpr std::int64_t kRuns = 5;

}  // namespace

std::int64_t fewest_loops(const Schedule& schedule) {
  const std::int64_t most = most_loops(schedule);
  std::int64_t fewest = most;
  for (int channel = 0; channel < schedule.channels(); ++channel) {
    const std::int64_t loops = schedule.loops(channel);
    if (2 * loops > most) fewest = std::min(fewest, loops);
  }
  return fewest;
}

std::shared_ptr<const Schedule> without_loops(std::shared_ptr<const Schedule> schedule, std::int64_t fewer) {
  WEFT_CHECK(fewer >= 0 && (fewer == 0 || fewer < fewest_loops(*schedule)));
  if (fewer == 0) return schedule;
  std::unique_ptr<Schedule> own = schedule->with_fewer_loops(fewer);
  if (own != nullptr) return own;
  return std::make_shared<ShortenedSchedule>(std::move(schedule), fewer);
}

std::vector<Sample> samples_of(const std::shared_ptr<const Schedule>& schedule, std::uint64_t most_steps) {
  const std::int64_t loops = fewest_loops(*schedule);
  if (loops == 0) return {};
  const auto most = static_cast<std::int64_t>(most_steps);
  const auto steps_of = [&](std::int64_t hops) {  // of one loop
    const std::shared_ptr<const Schedule> shape = schedule->hops() > 0 ? schedule->with_hops(hops) : schedule;
    return static_cast<std::int64_t>(Executor::count_messages(*without_loops(shape, loops - 1), kMoreSteps * most_steps));
  };
  const auto in_loops = [&](const std::shared_ptr<const Schedule>& shape, std::int64_t apart, std::int64_t weight,
                            std::vector<Sample>& samples) {
    if (loops <= 2 * apart) {  // all of them
      samples.push_back({shape, weight});
      return;
    }
    const Kept kept = kept_of(loops, apart);
    samples.push_back({without_loops(shape, loops - kept.longer + kept.apart), -kept.times * weight});
    samples.push_back({without_loops(shape, loops - kept.longer), (kept.times + 1) * weight});
  };

  std::vector<Sample> samples;
  const std::int64_t of_loop = kRuns * std::max(steps_of(schedule->hops()), std::int64_t{1});
  const std::int64_t settled = std::max(filling_loops(*schedule), ceil_div(kFewestSteps, longest_lane(*schedule, loops)));
  const std::int64_t apart = std::max(most / of_loop, settled);
  const std::int64_t affordable = schedule->hops() > 0 ? most : kMoreSteps * most;
  if (loops > 2 * apart && apart <= affordable / of_loop) {
    in_loops(schedule, apart, 1, samples);
    return samples;
  }
  if (most >= of_loop || schedule->hops() == 0) return {};
  const std::int64_t runs = std::min<std::int64_t>(loops, 3);  // one loop and two, or all there are
  const std::int64_t ends = steps_of(0);
  if (ends >= most) return {};
  const std::int64_t hops_apart = (most / runs - 2 * ends) / (kRuns * (steps_of(1) - ends));
  if (hops_apart < kFewestHops || schedule->hops() <= 2 * hops_apart) return {};
  const Kept kept = kept_of(schedule->hops(), hops_apart);
  in_loops(schedule->with_hops(kept.longer - kept.apart), 1, -kept.times, samples);
  in_loops(schedule->with_hops(kept.longer), 1, kept.times + 1, samples);
  return samples;
}

}  // namespace weft::coll
