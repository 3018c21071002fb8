#include "sim/planning/step_program.h"

#include <fmt/format.h>

#include <cstddef>

#include "sim/network/builtin.h"
#include "sim/planning/cluster_gpu.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/replay/places.h"

namespace weft::plan {
namespace {

bool is_folded(const work::Program& program) {
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    if (program.ranks[r].leader != static_cast<Rank>(r)) return true;
  }
  return false;
}

}  // namespace

work::Program step_program(const Scenario& scenario, const work::TrainingSetup& setup, std::vector<std::string>& notes) {
  const net::Cluster& cluster = scenario.cluster;
  const work::KernelTimes times{cluster_gpu(cluster.topology, "a training step"), cluster.profile};
  const bool fold = scenario.simulation.fold && scenario.workload.jitter.is_none();
  work::Program program = work::training_program(setup, times, cluster.topology, fold);
  const std::string difference = work::difference_of_places(program, cluster.topology);
  if (!difference.empty()) {
    notes.push_back(fmt::format("every rank is simulated by itself: {}", difference));
    work::unfold(program);
  } else if (is_folded(program) && !net::make_routing_policy(cluster.routing)->spreads() &&
             cluster.topology.fabric_switches().size() > 1) {
    notes.push_back(
        fmt::format("under {} routing what ranks send that are not run by themselves collides with nothing "
                    "(weft explain folding; simulation: {{fold: false}} runs them all)",
                    cluster.routing));
  }
  return program;
}

}  // namespace weft::plan
