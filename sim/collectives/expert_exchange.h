// DeepEP: how tokens of a mixture of experts go to the ranks of their experts (dispatch) and back (combine).
//
//   ExpertExchange exchange{machine, profile, devices};
//   const ExpertResult result = exchange.run({.tokens = 128, .hidden = 7168, .topk = 8, .experts = 256});
//
// Normal kernels send a token once to each rank that it visits; between nodes once to each node, over RDMA to the GPU of the
// sender's index, which hands it on over NVLink. Low-latency kernels send a copy for every expert visited, straight to its
// rank. Dispatch is in FP8 with scales or in BF16, combine in BF16.
//
// Model: every token visits `topk` experts of all, drawn alike or by popularity (ExpertCall::skew), and sizes are the expected
// ones. What a rank takes in costs its SMs nothing, so that only links and those that give feel popular experts.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/collectives/communicator.h"
#include "sim/collectives/executor.h"
#include "sim/collectives/expert_costs.h"
#include "sim/core/profile.h"
#include "sim/network/machine.h"

namespace weft::coll {

struct ExpertResult {
  ExpertCall call;
  Duration time;             // of one call, from its turn in the stream to the end of its last rank
  double ranks_visited = 0;  // by a token
  double nodes_visited = 0;
  double heaviest = 1.0;  // the most loaded rank's share over the mean
  Bytes token_bytes;      // of one copy
  Bytes over_nvlink;      // that a rank sends
  Bytes over_network;
  std::uint64_t messages = 0;
  std::uint64_t digest = 0;
};

class ExpertExchange final : private ExecutorListener {
 public:
  // ConfigError where the ranks are no GPUs or nodes have unequal numbers of them.
  ExpertExchange(net::Machine& machine, const Profile& profile, std::vector<DeviceId> devices);

  // ConfigError for a call that DeepEP would refuse: experts that ranks do not divide, more experts a token than there are.
  [[nodiscard]] ExpertResult run(const ExpertCall& call);
  [[nodiscard]] int ranks() const { return static_cast<int>(communicator_->ranks()); }
  [[nodiscard]] int nodes() const { return communicator_->nodes(); }

 private:
  void on_collective_done(Time at) override { done_ = at; }
  void on_collective_settled(Time) override {}

  net::Machine& machine_;
  ExpertCosts costs_;
  ExpertGpus gpus_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Executor> executor_;
  Time done_;
};

}  // namespace weft::coll
