// The run as one of several ranks that mpirun started: rank 0 plans and writes, all measure.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <set>
#include <string>

#include "controller.h"
#include "cuda_check.h"
#include "host_facts.h"
#include "inventory.h"
#include "run_log.h"
#include "timing.h"
#include "worker.h"
#include "worker_process.h"

namespace weft::measure {
namespace {

// Hosts, told apart by their names' hashes; 48 bits pass through a double whole.
int count_nodes(Team& team) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::size_t hash = std::hash<std::string>{}(name.data()) & 0xffffffffffffU;
  const std::vector<double> hashes = team.gather(static_cast<double>(hash));
  return static_cast<int>(std::set<double>(hashes.begin(), hashes.end()).size());
}

// Rank 0's side of the conversation: points until the budget ends, answers into the file.
class MpiRun {
 public:
  MpiRun(const Options& options, RunLog& log, Group group, Environment env)
      : options_{options}, log_{log}, group_{std::move(group)}, env_{std::move(env)}, planned_{group_.points.size()} {}

  std::string next() {
    if (group_.points.empty() || interrupted() || log_.elapsed_s() > options_.budget()) return {};
    current_ = std::move(group_.points.back());
    group_.points.pop_back();
    return current_.id();
  }
  void answer(const std::string& text) {
    if (text == "ready") return;
    if (text.starts_with("!")) {
      log_.skip(current_.kind, text.substr(1), current_.id());
    } else {
      log_.point(current_, text, env_);
    }
  }
  void end() { log_.end(interrupted() ? "interrupted" : group_.points.empty() ? "finished" : "budget", planned_); }

 private:
  const Options& options_;
  RunLog& log_;
  Group group_;
  Environment env_;
  std::size_t planned_;
  Point current_;
};

}  // namespace

int measure_under_mpi(const Options& options, const MpiPlace& place) {
  if (options.points == PointSet::kFine) throw UsageError("--fine forces NCCL's settings, which mpirun's environment has here");
  const std::unique_ptr<Team> team = make_mpi_team();
  watch_interrupts();
  const Inventory inventory = take_inventory(options.hostname);
  if (place.local_rank >= inventory.node.gpus) throw UsageError("more ranks than GPUs on a node");
  check(cudaSetDevice(place.local_rank), "device");
  set_point_target_us(options.point_target_us());
  const LayoutNumbers layout{.processes = team->size(), .nodes = count_nodes(*team)};
  const std::int64_t memory = -static_cast<std::int64_t>(team->maximum(-static_cast<double>(inventory.node.memory_bytes)));
  std::int64_t buffer_bytes = 1 << 20;
  std::unique_ptr<RunLog> log;
  std::unique_ptr<MpiRun> run;
  Plan plan = make_mpi_plan(team->size(), memory);
  for (const Point& point : plan.groups.front().points) buffer_bytes = std::max(buffer_bytes, point.number_of("bytes"));
  if (team->rank() == 0) {
    log = std::make_unique<RunLog>(options);
    plan = part_of(std::move(plan), options.points);
    remove_done(plan, log->done());
    shuffle(plan, options.seed);
    log->begin(inventory.machine, nccl_environment(), plan.points());
    for (const Skip& skip : plan.skips) log->skip(skip.what, skip.reason);
    run = std::make_unique<MpiRun>(options, *log, plan.groups.empty() ? Group{} : std::move(plan.groups.front()),
                                   nccl_environment());
  }
  const Conversation conversation{.next = [&run] { return run->next(); },
                                  .answer = [&run](const std::string& text) { run->answer(text); }};
  serve_team(*team, {place.local_rank}, layout, false, buffer_bytes, conversation);
  if (run) run->end();
  return interrupted() ? kInterrupted : kDone;
}

}  // namespace weft::measure
