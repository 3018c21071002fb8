#include "sim/collectives/expert_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/collectives/expert_schedule.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/network/gpu_spec.h"

namespace weft::coll {
namespace {

Bandwidth nvlinks_of(const net::Topology& topology, DeviceId gpu) {
  std::int64_t rate = 0;
  for (const LinkId link : topology.out_links(gpu)) {
    const net::LinkSpec& spec = topology.spec(link);
    if (spec.type.starts_with("nvlink")) rate += spec.rate.bits_per_second();
  }
  return Bandwidth::from_bits_per_second(rate);
}

void check(const ExpertCall& call, const ExpertGpus& gpus) {
  if (call.tokens < 1) throw ConfigError(fmt::format("tokens: expected 1 or more, got {}", call.tokens));
  if (call.hidden < 128 || call.hidden % 128 != 0)
    throw ConfigError(fmt::format("hidden: expected a multiple of 128, as FP8's scales are for, got {}", call.hidden));
  if (call.experts < 1 || call.experts % gpus.ranks != 0)
    throw ConfigError(fmt::format("experts: expected as many on each of {} ranks, got {}", gpus.ranks, call.experts));
  if (call.topk < 1 || call.topk > call.experts)
    throw ConfigError(fmt::format("topk: expected 1 to {} experts, got {}", call.experts, call.topk));
  if (call.skew < 0 || call.skew > 10) throw ConfigError(fmt::format("skew: expected 0 to 10, got {}", call.skew));
  if (call.skew > 0 && call.node_limit > 0)
    throw ConfigError("skew: with a node limit tokens choose nodes first; how popular these are is not known");
  if (call.sms < 2 || call.sms % 2 != 0)
    throw ConfigError(fmt::format("sms: expected an even number, for half of them send and half receive, got {}", call.sms));
  if (call.node_limit < 0 || (call.node_limit > 0 && call.topk > call.experts / gpus.nodes * call.node_limit))
    throw ConfigError(fmt::format("node limit: {} nodes have fewer than {} experts", call.node_limit, call.topk));
}

}  // namespace

ExpertExchange::ExpertExchange(net::Machine& machine, const Profile& profile, std::vector<DeviceId> devices)
    : machine_{machine}, costs_{profile} {
  for (const DeviceId device : devices) {
    if (machine.topology.kind(device) != net::DeviceKind::kGpu)
      throw ConfigError("DeepEP's kernels run on GPUs; the cluster's hosts have none");
  }
  const auto ranks = static_cast<int>(devices.size());
  const net::GpuSpec* gpu = machine.topology.gpu(devices.front());
  gpus_ = {
      .ranks = ranks, .nodes = 1, .sms = gpu == nullptr ? 0 : gpu->sms, .port = nvlinks_of(machine.topology, devices.front())};
  communicator_ = std::make_unique<Communicator>(machine.topology, std::move(devices), rank_order_rings(ranks, 1));
  gpus_.nodes = communicator_->nodes();
  for (int node = 0; node < gpus_.nodes; ++node) {
    if (static_cast<int>(communicator_->node_ranks(node).size()) * gpus_.nodes != ranks)
      throw ConfigError("DeepEP has as many ranks on each node");
  }
  executor_ = std::make_unique<Executor>(machine.simulator, machine.fabric, machine.router, *communicator_, ExecutorOptions{});
}

ExpertResult ExpertExchange::run(const ExpertCall& call) {
  check(call, gpus_);
  ExpertResult result;
  result.call = call;
  const double bytes = copy_bytes(call);
  result.token_bytes = Bytes{static_cast<std::int64_t>(bytes)};
  result.ranks_visited = ranks_visited(call, gpus_);
  result.nodes_visited = nodes_visited(call, gpus_);
  const bool is_normal = call.kernels == ExpertKernels::kNormal;
  ExpertLoads loads;
  if (call.skew > 0) {
    loads = expert_loads(call, gpus_);
    if (is_normal) {
      result.ranks_visited = loads.ranks_visited;
      result.nodes_visited = loads.nodes_visited;
    }
    result.heaviest = std::ranges::max(loads.ranks);
  }
  const auto all = [&](double copies) { return std::llround(static_cast<double>(call.tokens) * copies * bytes); };
  const double each = (is_normal ? result.ranks_visited : static_cast<double>(call.topk)) / gpus_.ranks;
  // A low-latency copy is a message of its own, put by the GPU.
  const std::int64_t messages_to_a_rank = is_normal ? 0 : std::llround(static_cast<double>(call.tokens) * each);
  const ExpertBytes moved{
      .near = all(each),
      .handed = is_normal ? all(each) : 0,
      .far = all(is_normal ? result.nodes_visited / gpus_.nodes : each) + messages_to_a_rank * costs_.network_message.count(),
      .direct = !is_normal,
      .collects = call.step == ExpertStep::kCombine,
      .ranks = std::move(loads.ranks),
      .nodes = std::move(loads.nodes)};
  const ExpertSchedule schedule{*communicator_, moved};
  const int far_ranks = is_normal ? gpus_.nodes - 1 : gpus_.ranks - gpus_.node_ranks();
  result.over_nvlink = Bytes{schedule.near_bytes()};
  result.over_network = Bytes{far_ranks * (moved.far - messages_to_a_rank * costs_.network_message.count())};

  StepCosts costs;
  costs.rendezvous = false;
  costs.slots = 4;
  costs.memory = {.loads_at_once = true};  // taking in costs nothing but the wait for it
  costs.start = costs_.start(call, bytes);
  costs.rate = StepCosts::pace(result.over_nvlink, costs_.least(call, gpus_, bytes, result.ranks_visited));
  const Time begin = machine_.simulator.now();
  const std::uint64_t messages = executor_->messages();
  executor_->start(schedule, costs, Grain::kChunk, *this, LaunchPlan{});
  machine_.simulator.run();
  if (machine_.simulator.stopped()) return result;
  machine_.fabric.check_conservation();
  result.messages = executor_->messages() - messages;
  Digest digest;
  for (Rank rank = 0; rank < gpus_.ranks; ++rank) digest.add(executor_->finished(rank) - begin);
  result.digest = digest.value();
  result.time = done_ - begin;
  return result;
}

}  // namespace weft::coll
