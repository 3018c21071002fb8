#include "sim/planning/reliability/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/portable_math.h"
#include "sim/core/random.h"

namespace weft::plan {
namespace {

// One job on its own clock.
class GoodputRun {
 public:
  GoodputRun(const GoodputInput& input, int number)
      : input_{input}, failures_{input.seed, fmt::format("goodput/run{}", number)}, next_failure_{next_after({})} {}

  void go() {
    bool restarting = false;
    while (now_ < input_.length) {
      if (restarting && !spend(input_.restart, restarts)) continue;
      restarting = false;
      if (!spend(input_.checkpoint.interval, progress)) {
        restarting = true;
        continue;
      }
      if (!spend(input_.checkpoint.blocking, checkpoints)) {
        restarting = true;
        continue;
      }
      if (now_ >= durable_at_) safe_ = in_flight_;
      in_flight_ = progress;
      durable_at_ = now_ + input_.checkpoint.drain;
    }
  }

  // Wall-clock time by what it was spent on. Progress is what no failure has undone.
  LongTime progress;
  LongTime checkpoints;
  LongTime redone;
  LongTime restarts;
  std::int64_t failures = 0;
  std::int64_t events = 0;

 private:
  LongTime next_after(LongTime now) { return now + LongTime::from_seconds(failures_.exponential(input_.mttf.seconds())); }

  // Lets `duration` pass, or as much of it as comes before a failure or the end, and counts it. False: a failure cut it short.
  bool spend(LongTime duration, LongTime& counter) {
    ++events;
    const LongTime until = std::min(now_ + duration, input_.length);
    if (next_failure_ >= until) {
      counter += until - now_;
      now_ = until;
      return true;
    }
    counter += next_failure_ - now_;
    now_ = next_failure_;
    ++failures;
    if (now_ >= durable_at_) safe_ = in_flight_;
    redone += progress - safe_;
    progress = safe_;
    in_flight_ = safe_;
    durable_at_ = now_;
    next_failure_ = next_after(now_);
    return false;
  }

  const GoodputInput& input_;
  RandomStream failures_;
  LongTime next_failure_;
  LongTime now_;
  LongTime safe_;       // work that a restart finds
  LongTime in_flight_;  // work of the newest checkpoint, safe from durable_at_ on
  LongTime durable_at_;
};

}  // namespace

LongTime young_interval(LongTime blocking, LongTime mttf) {
  return LongTime::from_seconds(std::sqrt(2 * blocking.seconds() * mttf.seconds()));
}

LongTime daly_interval(LongTime blocking, LongTime mttf) {
  if (blocking.seconds() >= 2 * mttf.seconds()) return mttf;  // the form's other branch
  const double x = blocking.seconds() / (2 * mttf.seconds());
  const double seconds =
      std::sqrt(2 * blocking.seconds() * mttf.seconds()) * (1 + std::sqrt(x) / 3 + x / 9) - blocking.seconds();
  return LongTime::from_seconds(std::max(seconds, 1e-6));
}

double young_useful(const CheckpointPlan& plan, LongTime restart, LongTime mttf) {
  const double interval = plan.interval.seconds();
  const double period = interval + plan.blocking.seconds();
  return interval / period * (1 - (restart.seconds() + period / 2) / mttf.seconds());
}

double daly_useful(const CheckpointPlan& plan, LongTime restart, LongTime mttf) {
  const double m = mttf.seconds();
  const double period = (plan.interval.seconds() + plan.blocking.seconds()) / m;
  return plan.interval.seconds() / (m * portable_exp(restart.seconds() / m) * (portable_exp(period) - 1));
}

Goodput simulate_goodput(const GoodputInput& input) {
  WEFT_CHECK(input.runs > 0 && input.length.us() > 0 && input.checkpoint.interval.us() > 0);
  Goodput mean;
  double squares = 0;
  const double length = input.length.seconds();
  for (int i = 0; i < input.runs; ++i) {
    GoodputRun run{input, i};
    run.go();
    const double useful = run.progress.seconds() / length;
    mean.useful += useful;
    squares += useful * useful;
    mean.checkpoints += run.checkpoints.seconds() / length;
    mean.redone += run.redone.seconds() / length;
    mean.restarts += run.restarts.seconds() / length;
    mean.failures += static_cast<double>(run.failures);
    mean.events += run.events;
  }
  const double runs = input.runs;
  for (double* share : {&mean.useful, &mean.checkpoints, &mean.redone, &mean.restarts, &mean.failures}) *share /= runs;
  const double variance = runs > 1 ? std::max(0.0, squares / runs - mean.useful * mean.useful) * runs / (runs - 1) : 0;
  mean.useful_error = std::sqrt(variance / runs);
  return mean;
}

std::vector<IntervalPoint> interval_curve(const GoodputInput& input) {
  // Factors of sqrt(2) to either side of the closed form's best: the optimum is flat, and 1.4 is as fine as it shows.
  constexpr int kSteps = 5;
  const double best = daly_interval(input.checkpoint.blocking, input.mttf).seconds();
  std::vector<IntervalPoint> points;
  for (int step = -kSteps; step <= kSteps; ++step) {
    GoodputInput at = input;
    at.checkpoint.interval = LongTime::from_seconds(best * portable_exp2(step / 2.0));
    if (at.checkpoint.interval < input.checkpoint.drain || at.checkpoint.interval.us() <= 0) continue;
    points.push_back({at.checkpoint.interval, simulate_goodput(at), daly_useful(at.checkpoint, at.restart, at.mttf),
                      young_useful(at.checkpoint, at.restart, at.mttf)});
  }
  return points;
}

}  // namespace weft::plan
