// How much of its time a job that fails and restarts spends on work that counts: by events, and by the closed forms.
//
// The job works for `interval`, stops for `blocking` to take a checkpoint, and goes on; the checkpoint can be restored `drain`
// later. A failure may come at any moment, in a checkpoint or a restart too. It throws the job back to the last checkpoint that
// can be restored, and `restart` later it goes on from there.
//
//   Young 1974:  best interval = sqrt(2 d M);  useful = t/(t+d) x (1 - (R + (t+d)/2)/M)       (models/workloads §7.1; §8, 32)
//   Daly 2006:   useful = t / (M e^(R/M) (e^((t+d)/M) - 1)), exact for failures at a constant rate and no drain;
//                best interval = sqrt(2 d M) (1 + sqrt(d/2M)/3 + (d/2M)/9) - d
//
// t interval, d blocking, R restart, M mean time to failure. Plain arithmetic; nothing here knows of clusters.
//
// Model: there is always a spare for what broke; a restart takes the same time whatever broke and however far the job was; all
// of a restart's time is lost to the job.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/planning/reliability/long_time.h"

namespace weft::plan {

struct CheckpointPlan {
  LongTime interval = {};  // of work between two checkpoints
  LongTime blocking = {};  // that the job stands still for each
  LongTime drain = {};     // after that, until it can be restored: an asynchronous write
};

[[nodiscard]] LongTime young_interval(LongTime blocking, LongTime mttf);
[[nodiscard]] LongTime daly_interval(LongTime blocking, LongTime mttf);
// May fall below 0 where failures come faster than restarts: the form is of first order.
[[nodiscard]] double young_useful(const CheckpointPlan& plan, LongTime restart, LongTime mttf);
[[nodiscard]] double daly_useful(const CheckpointPlan& plan, LongTime restart, LongTime mttf);

struct GoodputInput {
  CheckpointPlan checkpoint;
  LongTime restart = {};
  LongTime mttf = {};
  LongTime length = {};  // of wall-clock time, simulated `runs` times
  int runs = 100;
  std::uint64_t seed = 1;
};

// Shares of wall-clock time; they add up to 1.
struct Goodput {
  double useful = 0;
  double checkpoints = 0;  // blocked by them
  double redone = 0;       // work that a failure undid
  double restarts = 0;
  double useful_error = 0;  // standard error of the mean of `useful` over the runs
  double failures = 0;      // mean of a run
  std::int64_t events = 0;
};
[[nodiscard]] Goodput simulate_goodput(const GoodputInput& input);

struct IntervalPoint {
  LongTime interval = {};
  Goodput simulated;
  double daly = 0;
  double young = 0;
};
// The useful share at intervals around the best, the same failures for all; intervals below the drain are left out.
[[nodiscard]] std::vector<IntervalPoint> interval_curve(const GoodputInput& input);

}  // namespace weft::plan
