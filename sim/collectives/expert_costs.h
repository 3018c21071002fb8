// Costs of DeepEP's kernels beside their bytes on the links, and what a call moves.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/step_costs.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::coll {

enum class ExpertKernels : std::uint8_t { kNormal, kLowLatency };
enum class ExpertStep : std::uint8_t { kDispatch, kCombine };

struct ExpertCall {
  ExpertKernels kernels = ExpertKernels::kNormal;
  ExpertStep step = ExpertStep::kDispatch;
  std::int64_t tokens = 4096;  // of a rank
  int hidden = 7168;
  int topk = 8;
  int experts = 256;   // of all ranks
  int sms = 24;        // of normal kernels
  int node_limit = 0;  // nodes that a token visits at most (group-limited gating); 0: any
  bool fp8_dispatch = true;
  double skew = 0;  // the k-th most popular expert is drawn in proportion to 1 / k^skew; 0: all alike
};

// How likely a token visits each rank and node (low latency: copies that it sends there), and these over their means.
struct ExpertLoads {
  std::vector<double> ranks;
  std::vector<double> nodes;
  double ranks_visited = 0;
  double nodes_visited = 0;
};

// The ranks of a call.
struct ExpertGpus {
  int ranks = 1;
  int nodes = 1;
  int sms = 0;          // of a GPU
  Bandwidth port = {};  // its NVLinks together
  [[nodiscard]] int node_ranks() const { return ranks / nodes; }
};

// One direction of normal kernels.
struct NormalCosts {
  Duration start;            // of a call
  Duration start_of_hidden;  // more of it for each 1024 of `hidden`
  Duration token;            // a channel's time for a token, for each 1024 of `hidden`
  Duration copy;             // its time for a copy, beside the bytes
  Bandwidth channel_rate;    // of copies; a channel is two SMs, one sends and one receives
  double port_share = 1.0;   // of the rate of a GPU's NVLinks
};
// One direction of low-latency kernels.
struct LowLatencyCosts {
  Duration start;
  Duration start_of_experts;  // more of it for each 100 experts
  Duration start_of_bytes;    // more of it for each 10,000 bytes of a copy
  double port_share = 1.0;
  Duration token;  // of an SM that has several tokens, for each but its first and each 1000 of `hidden`
};
struct ExpertCosts {
  explicit ExpertCosts(const Profile& profile);

  // `bytes`: of a copy; `visits`: ranks that a token visits.
  [[nodiscard]] Duration start(const ExpertCall& call, double bytes) const;
  // The least time in which a rank's SMs and NVLinks move what it sends.
  [[nodiscard]] Duration least(const ExpertCall& call, const ExpertGpus& gpus, double bytes, double visits) const;

  NormalCosts normal[2];  // by ExpertStep
  LowLatencyCosts low_latency[2];
  Bytes network_message{1300};  // what a message of low latency costs a NIC beside its data, in bytes at its rate
};
[[nodiscard]] ParamGroups expert_param_groups();

// Bytes of a copy: FP8 has a scale for each 128 elements; with it go indices and weights (normal) or a header (low latency).
[[nodiscard]] double copy_bytes(const ExpertCall& call);
// How likely a token visits one of `part` of the experts.
[[nodiscard]] double visits(const ExpertCall& call, int part);
// Nodes and ranks that a token visits, on average.
[[nodiscard]] double nodes_visited(const ExpertCall& call, const ExpertGpus& gpus);
[[nodiscard]] double ranks_visited(const ExpertCall& call, const ExpertGpus& gpus);
// Where experts are not alike: the most popular is rank 0's, the next rank 1's, and so on, dealt out in turn. All tokens draw
// from the same popularity, without regard to nodes.
[[nodiscard]] ExpertLoads expert_loads(const ExpertCall& call, const ExpertGpus& gpus);

}  // namespace weft::coll
