#include "controller.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "host_facts.h"
#include "run_log.h"
#include "worker_process.h"

namespace weft::measure {
namespace {

constexpr double kStartTimeoutS = 90;  // CUDA and NCCL on many GPUs
constexpr double kPointTimeoutS = 45;
constexpr double kStartReserveS = 5;    // a worker is not started for less
constexpr double kPointReserveS = 1.5;  // a point is not begun with less
constexpr int kMostStarts = 3;          // of a group, if its workers fail

struct Facts {
  NodeFacts node;
  std::string machine;
};

Facts parse_facts(const std::string& line, std::string machine) {
  Facts facts{.node = {}, .machine = std::move(machine)};
  std::istringstream words{line};
  words >> facts.node.gpus >> facts.node.memory_bytes;
  for (std::string pair; words >> pair;) {
    const std::size_t arrow = pair.find('>');
    facts.node.peers.emplace_back(std::stoi(pair.substr(0, arrow)), std::stoi(pair.substr(arrow + 1)));
  }
  return facts;
}

Facts ask_facts(const Options& options) {
  WorkerProcess worker{{.kind = "inventory", .hostname = options.hostname}, {}};
  const auto first = worker.receive(kStartTimeoutS);
  if (!first || first->starts_with("!")) {
    throw UsageError("no GPU to measure: " + (first ? first->substr(1) : std::string{"CUDA did not answer"}));
  }
  return parse_facts(*first, worker.receive(kStartTimeoutS).value_or("{}"));
}

std::string beside(const std::string& output, const char* suffix) {
  std::filesystem::path path = std::filesystem::absolute(output);
  path.replace_extension(suffix);
  return path.string();
}

// Names of NCCL's dumps go into the machine object, which ends in '}'.
std::string with_dumps(std::string machine, const Options& options) {
  machine.pop_back();
  const auto name = [&](const char* suffix) {
    return std::filesystem::path{beside(options.output, suffix)}.filename().string();
  };
  return machine + ", \"nccl_topology\": \"" + name(".topology.xml") + "\", \"nccl_graph\": \"" + name(".graph.xml") + "\"}";
}

std::string title_of(const Group& group) {
  std::string title = to_string(group.worker);
  if (group.worker != Worker::kDevice) title += " of " + std::to_string(group.ranks) + " GPUs, " + to_string(group.layout);
  for (const auto& [name, value] : group.env) title += " " + name + "=" + value;
  return title;
}

class Run {
 public:
  Run(const Options& options, Plan plan, RunLog& log, Environment outer, std::int64_t memory_bytes)
      : options_{options},
        plan_{std::move(plan)},
        log_{log},
        outer_{std::move(outer)},
        memory_bytes_{memory_bytes},
        planned_{plan_.points()} {}

  int go() {
    for (Group& group : plan_.groups) {
      if (!time_for(kStartReserveS)) break;
      std::fprintf(stderr, "%6.1f s  %s: %zu points\n", log_.elapsed_s(), title_of(group).c_str(), group.points.size());
      for (int starts = 0; starts < kMostStarts && !group.points.empty() && time_for(kStartReserveS); ++starts) serve(group);
      if (time_for(0) && !group.points.empty()) log_.skip(title_of(group), "its worker failed several times");
    }
    const bool all = log_.measured() + refused_ >= planned_;
    const char* reason = interrupted() ? "interrupted" : all || time_for(kStartReserveS) ? "finished" : "budget";
    log_.end(reason, planned_);
    std::fprintf(stderr, "%6.1f s  %s: %zu of %zu points in %s\n", log_.elapsed_s(), reason, log_.measured(), planned_,
                 options_.output.c_str());
    if (std::string_view{reason} == "budget") std::fputs("          --resume goes on with the rest\n", stderr);
    return interrupted() ? kInterrupted : kDone;
  }

 private:
  [[nodiscard]] bool time_for(double seconds) const { return !interrupted() && log_.elapsed_s() + seconds < options_.budget(); }

  [[nodiscard]] Environment environment_of(const Group& group) const {
    Environment env = group.env;
    if (group.dumps_topology) {
      env.emplace_back("NCCL_TOPO_DUMP_FILE", beside(options_.output, ".topology.xml"));
      env.emplace_back("NCCL_GRAPH_DUMP_FILE", beside(options_.output, ".graph.xml"));
    }
    return env;
  }

  [[nodiscard]] std::int64_t buffer_bytes(const Group& group) const {
    std::int64_t largest = 1 << 20;
    for (const Point& point : group.points) largest = std::max(largest, point.number_of("bytes"));
    if (group.worker == Worker::kOverlap) largest *= 2;  // two collectives at once
    return std::min(largest, memory_bytes_ / 3);
  }

  // Measures the group's points from the back, until one fails with the worker, or time is up.
  void serve(Group& group) {
    WorkerProcess worker{{.kind = to_string(group.worker),
                          .layout = group.layout,
                          .ranks = group.ranks,
                          .buffer_bytes = buffer_bytes(group),
                          .target_us = options_.point_target_us()},
                         environment_of(group)};
    const std::optional<std::string> ready = worker.receive(kStartTimeoutS);
    if (!ready || *ready != "ready") {
      if (!interrupted()) log_.skip(title_of(group), ready ? ready->substr(1) : "its worker did not start");
      worker.kill();
      return;
    }
    while (!group.points.empty() && time_for(kPointReserveS)) {
      const Point point = std::move(group.points.back());
      group.points.pop_back();
      const std::optional<std::string> answer = worker.send(point.id()) ? worker.receive(kPointTimeoutS) : std::nullopt;
      if (!answer && interrupted()) break;
      if (answer && !answer->starts_with("!")) {
        log_.point(point, *answer, record_environment(group));
        continue;
      }
      ++refused_;
      log_.skip(point.kind, answer ? answer->substr(1) : "the worker failed or gave no answer", point.id());
      if (!answer) return worker.kill();
    }
    if (interrupted()) worker.kill();
  }

  [[nodiscard]] std::optional<Environment> record_environment(const Group& group) const {
    if (group.worker == Worker::kDevice) return std::nullopt;
    return merged(outer_, group.env);
  }

  const Options& options_;
  Plan plan_;
  RunLog& log_;
  Environment outer_;
  std::int64_t memory_bytes_;
  std::size_t planned_;
  std::size_t refused_ = 0;
};

}  // namespace

int measure_node(const Options& options) {
  watch_interrupts();
  const Facts facts = ask_facts(options);
  RunLog log{options};
  const Environment outer = nccl_environment();
  Plan plan = make_plan(facts.node, outer);
  plan = part_of(std::move(plan), options.points);
  remove_done(plan, log.done());
  shuffle(plan, options.seed);
  const bool dumps =
      std::any_of(plan.groups.begin(), plan.groups.end(), [](const Group& group) { return group.dumps_topology; });
  log.begin(dumps ? with_dumps(facts.machine, options) : facts.machine, outer, plan.points());
  for (const Skip& skip : plan.skips) {
    log.skip(skip.what, skip.reason);
    std::fprintf(stderr, "skipped: %s (%s)\n", skip.what.c_str(), skip.reason.c_str());
  }
  for (const std::string& path : options.perftest) log.perftest(path);
  if (options.perftest.empty()) log.skip("NICs", rdma_devices().empty() ? "no RDMA device" : "no --perftest logs given");
  return Run{options, std::move(plan), log, outer, facts.node.memory_bytes}.go();
}

}  // namespace weft::measure
