#include "sim/scenario/recompute_as_needed.h"

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/cluster_gpu.h"
#include "sim/scenario/step_program.h"
#include "sim/scenario/training_run.h"

namespace weft::scenario {

work::TrainingSetup recomputing(work::TrainingSetup setup, std::int64_t layers) {
  setup.plan.recompute_as_needed = false;
  setup.plan.recompute = layers == 0 ? work::Recompute::kNone : work::Recompute::kFull;
  setup.plan.recompute_layers = layers;
  return setup;
}

std::int64_t fewest_recomputed_layers(const Scenario& scenario, const work::TrainingSetup& setup) {
  const net::Topology& topology = scenario.cluster.topology;
  const double capacity = gpu_memory(topology, cluster_gpu(topology, "a training step"));
  const auto fits = [&](std::int64_t layers) {
    std::vector<std::string> notes;
    const work::Program program = step_program(scenario, recomputing(setup, layers), notes);
    return static_cast<double>(work::peak_in_order(program)) + kReservedBytes <= capacity;
  };
  // It does not fit with `few` layers; with `many` it does, or that is all there are.
  if (fits(0)) return 0;
  std::int64_t few = 0;
  std::int64_t many = work::most_layers_of_a_chunk(setup);
  while (many - few > 1) {
    const std::int64_t middle = few + (many - few) / 2;
    (fits(middle) ? many : few) = middle;
  }
  return many;
}

work::TrainingSetup with_needed_recomputation(const Scenario& scenario, const work::TrainingSetup& setup) {
  if (!setup.plan.recompute_as_needed) return setup;
  return recomputing(setup, fewest_recomputed_layers(scenario, setup));
}

}  // namespace weft::scenario
