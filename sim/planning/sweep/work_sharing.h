// Runs the points of a sweep that are still to do: on threads of this process, and on those of other processes where it is one
// of several (messenger.h). One process and one thread of it writes; which thread ran what leaves no trace in the results.
//
//   rank 0: hands out points, lowest first, to its own threads and to whoever asks; commits rows as they come
//   others: ask for as many points as their threads can take, and send rows back, or the mistake that keeps them from it
//   end:    rank 0 dismisses the others, and each says goodbye as the last it sends: nothing is under way when MPI ends
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/planning/sweep/database.h"
#include "sim/planning/sweep/messenger.h"
#include "sim/planning/sweep/point_run.h"

namespace weft::plan {

struct SweepProgress {
  std::uint64_t done = 0;      // rows there are, those of earlier runs included
  std::uint64_t refused = 0;   // of this run
  std::uint64_t finished = 0;  // of this run
  std::uint64_t total = 0;
};

struct SweepRunOptions {
  std::filesystem::path file;  // of the sweep: each thread reads it for itself
  scenario::Overrides overrides = {};
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;                               // set: keep what is finished and end
  std::function<void(const SweepProgress&)> on_progress = [](auto&) {};  // on the calling thread, some times a second
};

// Rank 0, or the only process. Returns how far it came; less than all only after `stop`. InternalError of any thread.
SweepProgress run_sweep_points(const SweepRunOptions& options, const SweepPlan& plan, SweepDatabase& database,
                               Messenger* messenger = nullptr);
// Every other rank: works until rank 0 dismisses it.
void serve_sweep_points(const SweepRunOptions& options, const SweepPlan& plan, Messenger& messenger);
// Every other rank that cannot: rank 0 throws it as a ConfigError, unless it ends by itself first. Returns when dismissed.
void report_mistake(const std::string& mistake, Messenger& messenger);
// Rank 0, at the end, whatever it was. Waits for the goodbyes, but not once `stop` is set: who was to send them may be gone.
void dismiss_others(Messenger& messenger, const std::atomic<bool>& stop);

}  // namespace weft::plan
