// Inference on a few H100 that hang on one switch, with textbook collectives: what a test shows is the engines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/runner.h"
#include "sim/network/builtin.h"
#include "sim/workloads/inference/engine_memory.h"
#include "sim/workloads/inference/inference_reader.h"
#include "sim/workloads/inference/request_source.h"
#include "sim/workloads/inference/serving.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "tests/support/topologies.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work::test {

using namespace weft::literals;

inline Profile serving_profile() {
  ParamGroups groups = net::network_param_groups();
  for (const ParamGroupBase* group : coll::collective_param_groups()) groups.push_back(group);
  for (const ParamGroupBase* group : kernel_param_groups()) groups.push_back(group);
  groups.push_back(&serving_costs);
  return Profile::defaults(groups);
}

// `count` requests of one size, all at 0.
inline std::vector<Request> alike(std::size_t count, std::int64_t prompt, std::int64_t output) {
  return std::vector<Request>(count, Request{Time{}, prompt, output});
}

// A cache of `blocks` blocks, and nothing else.
inline EngineMemory blocks_only(std::int64_t blocks) {
  EngineMemory memory;
  memory.blocks = blocks;
  return memory;
}

// A run to its end.
struct ServingRun {
  ServingRun(const InferenceSetup& served, std::vector<Request> requests, std::int64_t blocks, std::int64_t decode_blocks = 0,
             Bandwidth rate = 400_Gbps, ServingObserver* observer = nullptr)
      : setup{served},
        topology{weft::testing::star(std::max(2, setup.gpus()), rate, 0_us)},
        machine{topology, "ecmp", 1},
        costs{topology, "ecmp", 1, profile, {}},
        serving{machine, setup, std::move(requests), kernels, profile, costs, {blocks_only(blocks), blocks_only(decode_blocks)},
                1} {
    if (observer != nullptr) serving.observe(*observer);
    serving.start();
    machine.simulator.run();
    serving.check_conservation();
    machine.fabric.check_conservation();
  }
  // Returns the time of an engine's step by itself.
  StepTime step(const StepMix& mix) {
    const std::vector<DeviceId>& all = topology.endpoints();
    StepTimes times{setup,   setup.plan, kernels,
                    profile, costs,      std::vector<DeviceId>(all.begin(), all.begin() + setup.plan.engine_gpus())};
    return times.of(mix);
  }
  [[nodiscard]] const std::vector<RequestRecord>& records() const { return serving.records(); }

  InferenceSetup setup;
  Profile profile = serving_profile();
  KernelTimes kernels{gpu_spec("h100_sxm"), profile};
  net::Topology topology;
  net::Machine machine;
  GroupCosts costs;
  Serving serving;
};

inline InferenceSetup on_one_gpu(const std::string& model) {
  InferenceSetup setup;
  setup.model = shipped_model(model);
  return setup;
}

}  // namespace weft::work::test
