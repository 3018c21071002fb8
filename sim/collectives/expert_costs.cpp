#include "sim/collectives/expert_costs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/core/portable_math.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {
namespace {

using namespace literals;

constexpr Origin kDeepEpTables{
    .source = ParamSource::kFitted,
    .reference =
        "two thirds of the shapes of DeepEP on one node of 8 GPUs, SGLang 0.5.12 (ai-dynamo/aiconfigurator @ 095f58a, "
        "validate/libraries/score.py)",
    .gpu = "H100"};

constexpr int kSteps = 2;
constexpr const char* kStepNames[kSteps] = {"dispatch_", "combine_"};

struct NormalPair {
  NormalCosts of[kSteps] = {{.start = 24_us,
                             .start_of_hidden = {},
                             .token = 43_ns,
                             .copy = 32_ns,
                             .channel_rate = Bandwidth::from_bits_per_second(483'000'000'000),
                             .port_share = 0.63},
                            {.start = 21_us,
                             .start_of_hidden = 4_us,
                             .token = 124_ns,
                             .copy = 9_ns,
                             .channel_rate = Bandwidth::from_bits_per_second(570'000'000'000),
                             .port_share = 0.65}};
};
struct LowLatencyPair {
  LowLatencyCosts of[kSteps] = {
      {.start = 8_us, .start_of_experts = 1'200_ns, .start_of_bytes = 2'500_ns, .port_share = 0.58, .token = 450_ns},
      {.start = 8'300_ns, .start_of_experts = 440_ns, .start_of_bytes = 2'400_ns, .port_share = 0.49, .token = 180_ns}};
  Bytes network_message{1300};
};

template <class Pair, class Costs, class T>
Param<Pair> of_step(int step, const char* name, T Costs::*member, ParamSpec<T> spec) {
  return from_origin(param_at<Pair, T>(
                         std::string{kStepNames[step]} + name,
                         [step, member](Pair& pair) -> T& { return pair.of[step].*member; }, std::move(spec)),
                     kDeepEpTables);
}
template <class Pair, class Costs>
Param<Pair> time_of_step(int step, const char* name, Duration Costs::*member, const char* description) {
  return of_step<Pair, Costs, Duration>(step, name, member, {.max = 1_ms, .description = description});
}
template <class Pair, class Costs>
Param<Pair> share_of_step(int step, double Costs::*member) {
  return of_step<Pair, Costs, double>(
      step, "port_share", member, {.unit = "ratio", .min = 0.01, .max = 1.0, .description = "of the rate of a GPU's NVLinks"});
}

std::vector<Param<NormalPair>> normal_params() {
  std::vector<Param<NormalPair>> all;
  for (int step = 0; step < kSteps; ++step) {
    all.push_back(time_of_step<NormalPair>(step, "start", &NormalCosts::start, "of a call"));
    all.push_back(time_of_step<NormalPair>(step, "start_of_hidden", &NormalCosts::start_of_hidden,
                                           "more of a call for each 1024 of the hidden size"));
    all.push_back(time_of_step<NormalPair>(step, "token", &NormalCosts::token,
                                           "of a channel (two SMs) for a token, for each 1024 of the hidden size"));
    all.push_back(time_of_step<NormalPair>(step, "copy", &NormalCosts::copy, "of a channel for a copy, beside its bytes"));
    all.push_back(of_step<NormalPair, NormalCosts, Bandwidth>(step, "channel_rate", &NormalCosts::channel_rate,
                                                              {.description = "at which a channel moves copies"}));
    all.push_back(share_of_step<NormalPair>(step, &NormalCosts::port_share));
  }
  return all;
}

std::vector<Param<LowLatencyPair>> low_latency_params() {
  std::vector<Param<LowLatencyPair>> all;
  for (int step = 0; step < kSteps; ++step) {
    all.push_back(time_of_step<LowLatencyPair>(step, "start", &LowLatencyCosts::start, "of a call"));
    all.push_back(time_of_step<LowLatencyPair>(step, "start_of_experts", &LowLatencyCosts::start_of_experts,
                                               "more of a call for each 100 experts of all ranks"));
    all.push_back(time_of_step<LowLatencyPair>(step, "start_of_bytes", &LowLatencyCosts::start_of_bytes,
                                               "more of a call for each 10,000 bytes of a copy"));
    all.push_back(share_of_step<LowLatencyPair>(step, &LowLatencyCosts::port_share));
    all.push_back(time_of_step<LowLatencyPair>(step, "token", &LowLatencyCosts::token,
                                               "of an SM for each token but its first and each 1000 of the hidden size"));
  }
  all.push_back(
      param("network_message", &LowLatencyPair::network_message,
            {.max = 1_MiB,
             .source = ParamSource::kFitted,
             .reference = "DeepEP's README: low-latency dispatch of 64 ranks on H800 takes 173 us, 28 ns a message more "
                          "than at the rate of its NICs",
             .description = "what a message costs a NIC beside its data, in bytes at its rate",
             .gpu = "H800"}));
  return all;
}

const ParamGroup<NormalPair> normal_group{"libraries.deepep_normal", "DeepEP's normal kernels", normal_params()};
const ParamGroup<LowLatencyPair> low_latency_group{"libraries.deepep_low_latency", "DeepEP's low-latency kernels",
                                                   low_latency_params()};

std::size_t index_of_step(const ExpertCall& call) { return call.step == ExpertStep::kDispatch ? 0 : 1; }

// Nodes from which a token's experts are, and how many experts these have.
int limited_nodes(const ExpertCall& call, const ExpertGpus& gpus) {
  return call.node_limit > 0 ? std::min(call.node_limit, gpus.nodes) : gpus.nodes;
}
double visits_of(int experts, int topk, int part) {
  double none = 1.0;
  for (int i = 0; i < topk; ++i) none *= std::max(0.0, static_cast<double>(experts - part - i)) / (experts - i);
  return 1.0 - none;
}
double visits_of_nodes(const ExpertCall& call, const ExpertGpus& gpus, int part) {
  return visits_of(call.experts / gpus.nodes * limited_nodes(call, gpus), call.topk, part);
}

}  // namespace

ExpertCosts::ExpertCosts(const Profile& profile) {
  const NormalPair of_normal = profile.get(normal_group);
  const LowLatencyPair of_low_latency = profile.get(low_latency_group);
  for (int step = 0; step < kSteps; ++step) {
    normal[step] = of_normal.of[step];
    low_latency[step] = of_low_latency.of[step];
  }
  network_message = of_low_latency.network_message;
}

ParamGroups expert_param_groups() { return {&normal_group, &low_latency_group}; }

double copy_bytes(const ExpertCall& call) {
  if (call.step == ExpertStep::kCombine)
    return 2.0 * call.hidden + (call.kernels == ExpertKernels::kNormal ? 4.0 * call.topk : 0);
  const double data = call.fp8_dispatch ? call.hidden + call.hidden / 128 * 4 : 2.0 * call.hidden;
  return data + (call.kernels == ExpertKernels::kNormal ? 12.0 * call.topk : 16.0);
}

double nodes_visited(const ExpertCall& call, const ExpertGpus& gpus) {
  return limited_nodes(call, gpus) * visits_of_nodes(call, gpus, call.experts / gpus.nodes);
}

double ranks_visited(const ExpertCall& call, const ExpertGpus& gpus) {
  return limited_nodes(call, gpus) * gpus.node_ranks() * visits_of_nodes(call, gpus, call.experts / gpus.ranks);
}

ExpertLoads expert_loads(const ExpertCall& call, const ExpertGpus& gpus) {
  std::vector<double> popular;
  double all = 0;
  for (int k = 1; k <= call.experts; ++k) all += popular.emplace_back(portable_pow(k, -call.skew));
  const auto loads = [&](int parts, int ranks_of_part, bool by_copies) {
    std::vector<double> of(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part) {
      double mass = 0;
      double copies = 0;
      for (int expert = 0; expert < call.experts; ++expert) {
        if (expert % gpus.ranks / ranks_of_part != part) continue;
        const double share = popular[static_cast<std::size_t>(expert)] / all;
        mass += share;
        copies += std::min(1.0, call.topk * share);
      }
      double none = 1.0;
      for (int i = 0; i < call.topk; ++i) none *= std::max(0.0, 1.0 - mass * call.experts / (call.experts - i));
      of[static_cast<std::size_t>(part)] = by_copies ? copies : 1.0 - none;
    }
    return of;
  };
  const auto over_mean = [](std::vector<double>& of, double& sum) {
    for (const double load : of) sum += load;
    for (double& load : of) load = load * static_cast<double>(of.size()) / sum;
  };
  const bool by_copies = call.kernels == ExpertKernels::kLowLatency;
  ExpertLoads found{.ranks = loads(gpus.ranks, 1, by_copies), .nodes = loads(gpus.nodes, gpus.node_ranks(), by_copies)};
  over_mean(found.ranks, found.ranks_visited);
  over_mean(found.nodes, found.nodes_visited);
  return found;
}

Duration ExpertCosts::start(const ExpertCall& call, double bytes) const {
  if (call.kernels == ExpertKernels::kNormal) {
    const NormalCosts& of = normal[index_of_step(call)];
    return of.start + Duration::nearest_ps(static_cast<double>(of.start_of_hidden.ps()) * call.hidden / 1024);
  }
  const LowLatencyCosts& of = low_latency[index_of_step(call)];
  return of.start + Duration::nearest_ps(static_cast<double>(of.start_of_experts.ps()) * call.experts / 100 +
                                         static_cast<double>(of.start_of_bytes.ps()) * bytes / 10'000);
}

// DeepEP, csrc/kernels/intranode.cu: half of the SMs send, half receive. internode_ll.cu: warps of an SM serve a group of
// experts, ceil(experts / SMs) of them, so that few experts occupy as few SMs, and an SM takes every so-many-th token.
Duration ExpertCosts::least(const ExpertCall& call, const ExpertGpus& gpus, double bytes, double visits) const {
  const std::size_t step = index_of_step(call);
  const auto tokens = static_cast<double>(call.tokens);
  const double port = gpus.port.bytes_per_ps();
  double of_sms = 0;
  double share = 0;
  double near = 0;  // copies of a token that cross the rank's NVLinks
  if (call.kernels == ExpertKernels::kNormal) {
    const NormalCosts& of = normal[step];
    const double copies = visits * bytes / of.channel_rate.bytes_per_ps();
    const double token = static_cast<double>(of.token.ps()) * call.hidden / 1024 + visits * static_cast<double>(of.copy.ps());
    of_sms = tokens * (token + copies) / (call.sms / 2);
    share = of.port_share;
    near = visits * (gpus.node_ranks() - 1) / gpus.node_ranks();
  } else {
    const LowLatencyCosts& of = low_latency[step];
    const int device_sms = gpus.sms > 0 ? gpus.sms : 132;
    const std::int64_t group = ceil_div(call.experts, device_sms);
    const std::int64_t sms = ceil_div(call.experts, group);
    const auto more = static_cast<double>(ceil_div(call.tokens, sms) - 1);
    of_sms = more * static_cast<double>(of.token.ps()) * call.hidden / 1000;
    share = of.port_share;
    near = static_cast<double>(call.topk) * (gpus.node_ranks() - 1) / gpus.ranks;
  }
  const double of_port = port > 0 ? tokens * near * bytes / (share * port) : 0.0;
  return Duration::nearest_ps(std::max(of_sms, of_port));
}

}  // namespace weft::coll
