#include "sim/scenario/step_program.h"

#include <fmt/format.h>

#include "sim/core/memory.h"
#include "sim/network/builtin.h"
#include "sim/network/router.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/replay/places.h"

namespace weft::scenario {

work::Program step_program(const Scenario& scenario, const work::TrainingSetup& setup, std::vector<std::string>& notes) {
  const MemoryPhase making{"making the program of the training step"};
  const net::Cluster& cluster = scenario.cluster;
  const work::KernelTimes times{cluster_gpu(cluster.topology, "a training step"), cluster.profile};
  const bool fold = scenario.simulation.fold && scenario.workload.jitter.is_none();
  work::Program program = work::training_program(setup, times, cluster.topology, fold);
  const net::Router router{cluster.topology, net::make_routing_policy(cluster.routing), scenario.simulation.seed};
  const std::string difference = work::difference_of_places(program, router);
  if (!difference.empty()) {
    notes.push_back(fmt::format("every rank is simulated by itself: {}", difference));
    work::unfold(program);
  }
  return program;
}

}  // namespace weft::scenario
