#include "sim/collectives/peer_costs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "sim/collectives/libraries.h"
#include "sim/collectives/protocols/protocol_params.h"

namespace weft::coll {
namespace {

constexpr Origin kTables{
    .source = ParamSource::kFitted,
    .reference =
        "two thirds of the shapes of vLLM 0.24's all-reduces in graphs on 2, 4 and 8 GPUs (ai-dynamo/aiconfigurator @ "
        "095f58a, validate/libraries/score.py)",
    .gpu = "H100"};
constexpr Origin kByEye{
    .source = ParamSource::kAssumed,
    .reference = "set by eye beside two thirds of the shapes of vLLM 0.24 in streams on H100, not by a fit"};
constexpr Origin kFence{.source = ParamSource::kAssumed,
                        .reference = "less than the 9.3 us fitted on A100; no two-shot of these GPUs may be fitted"};

Duration time_of(double bytes, double per_second) {
  return per_second > 0 ? Duration::nearest_ps(bytes / per_second * 1e12) : Duration{};
}

// Ways of messages one after another in the kernel's schedule: NCCL's estimate has them in it.
int ways_of(std::string_view kernel) {
  if (kernel == "RSxLD_AGxST") return 5;
  if (kernel == "RSxLDMC_AGxSTMC") return 4;
  return kernel.starts_with("AGx") ? 3 : 1;
}

}  // namespace

const ParamGroup<CustomAllReduceCosts> custom_all_reduce_costs{
    "libraries.custom_all_reduce",
    "custom all-reduces of vLLM, SGLang and TensorRT-LLM",
    {latency<CustomAllReduceCosts>("start", &CustomAllReduceCosts::start, kTables,
                                   "of a kernel, from its turn in the stream to its end, without data and links"),
     latency<CustomAllReduceCosts>("fence", &CustomAllReduceCosts::fence, kFence,
                                   "more of a two-shot: the barrier between its shots, which orders memory"),
     from_origin(
         param("load_rate", &CustomAllReduceCosts::load_rate, {.description = "most at which one peer's data are read"}),
         kTables),
     ratio<CustomAllReduceCosts>("port_share", &CustomAllReduceCosts::port_share, kTables,
                                 "of the rate of a GPU's NVLinks, what it reads of all peers"),
     latency<CustomAllReduceCosts>("host_cost", &CustomAllReduceCosts::host_cost, kByEye,
                                   "host time of a call in a stream, with a copy of its input by the caller")}};

const ParamGroup<SymmetricMemoryCosts> symmetric_memory_costs{
    "libraries.symmetric_memory",
    "all-reduces of PyTorch's symmetric memory",
    {latency<SymmetricMemoryCosts>("multimem_start", &SymmetricMemoryCosts::multimem_start, kTables,
                                   "of both copies and the kernel through the switch, without data and links"),
     latency<SymmetricMemoryCosts>("two_shot_start", &SymmetricMemoryCosts::two_shot_start, kTables,
                                   "of both copies and the two-shot kernel, likewise"),
     ratio<SymmetricMemoryCosts>("port_share", &SymmetricMemoryCosts::port_share, kTables,
                                 "of the rate of a GPU's NVLinks, what the kernel moves"),
     ratio<SymmetricMemoryCosts>("copy_share", &SymmetricMemoryCosts::copy_share,
                                 {.source = ParamSource::kAssumed, .reference = "as gpu.memory.contiguous_efficiency"},
                                 "of the memory's bandwidth, each of both copies")}};

PeerCosts::PeerCosts(const Profile& profile)
    : custom_{profile.get(custom_all_reduce_costs)}, symmetric_{profile.get(symmetric_memory_costs)} {
  constexpr const char* kStart = "gpu.copy.engine_start";
  constexpr const char* kLinks = "gpu.contention.collective_links";
  if (profile.knows(kStart)) engine_start_ = std::get<Duration>(profile.value(kStart));
  if (profile.knows(kLinks)) engine_links_ = std::get<double>(profile.value(kLinks));
}

StepCosts PeerCosts::of(const PeerCall& call) const {
  StepCosts costs;
  costs.rendezvous = false;
  costs.slots = 4;
  // Only what is given to peers takes the kernel's time: the lane that takes in waits for it.
  costs.memory = {.loads_at_once = true};
  const auto bytes = static_cast<double>(call.bytes.count());
  const auto peers = static_cast<double>(std::max(call.ranks - 1, 1));
  const Duration copy = time_of(2 * bytes, symmetric_.copy_share * call.memory_bytes_per_second);
  const double port = static_cast<double>(call.port.bits_per_second());
  if (call.kernel != nullptr) {
    take_kernel(call, costs);
    return costs;
  }
  if (call.algorithm == kNcclCopyEngine || call.algorithm == kNcclPut) {
    take_engines(call, costs);
    return costs;
  }
  double rate = 0;  // of one peer's data, or of a part that the switch adds up
  if (call.algorithm == "symmetric_memory") {
    const bool in_switch = call.protocol == kMultimem;
    costs.start = (in_switch ? symmetric_.multimem_start : symmetric_.two_shot_start) + 2 * copy;
    // A GPU's port carries its share of all parts and, of its own part, the sum. A step that sends to all ranks counts as one
    // each.
    const auto ranks = static_cast<double>(call.ranks);
    rate = symmetric_.port_share * port * (in_switch ? ranks / (ranks + 1) : 1 / peers);
  } else {
    costs.start = custom_.start + (call.protocol == kTwoShot ? custom_.fence : Duration{});
    if (!call.in_graph) costs.start = costs.start + copy;
    rate = static_cast<double>(custom_.load_rate.bits_per_second());
    if (port > 0) rate = std::min(rate, custom_.port_share * port / peers);
  }
  costs.rate = Bandwidth::from_bits_per_second(static_cast<std::int64_t>(rate));
  return costs;
}

// Copies and flags of a stream follow one another, each an engine's start after the one before. Those of a batch start once.
void PeerCosts::take_engines(const PeerCall& call, StepCosts& costs) const {
  const int peers = std::max(call.ranks - 1, 1);
  const bool is_put = call.algorithm == kNcclPut;
  const int flags = is_put || call.multicasts ? 1 : peers;
  const int copies = is_put || !call.in_graph ? 1 : peers;
  if (!is_put) costs.start = flags * engine_start_ + call.way;
  costs.start = costs.start + copies * engine_start_;
  costs.hop[static_cast<std::size_t>(Transport::kNvlink)] = flags * engine_start_ + call.way;
  // A link carries more of their data than of thread blocks' stores, whose rate is the link's.
  costs.wire_bytes = 1'000;
  costs.per_data_bytes = std::llround(1'000.0 * engine_links_);
}

Bandwidth PeerCosts::of_head(Collective kind, int ranks, Bandwidth port) const {
  const int chunks = ranks + (kind == Collective::kAllReduce ? 1 : 0);
  const double rate = symmetric_.port_share * static_cast<double>(port.bits_per_second()) / chunks;
  return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(rate));
}

void PeerCosts::take_kernel(const PeerCall& call, StepCosts& costs) const {
  const double port = static_cast<double>(call.port.bits_per_second()) / 8e6;  // bytes in a microsecond
  const double moving = call.kernel->moving_us(symmetric_.port_share * port);
  costs.rate = StepCosts::pace(call.to_peer, Duration::nearest_ps(moving * 1e6));
  const Duration start = Duration::nearest_ps(call.kernel->start_us * 1e6);
  costs.start = std::max(start - ways_of(call.kernel->name) * call.way, Duration{});
  if (call.copy_in == Duration{}) return;
  const auto bytes = static_cast<double>(call.bytes.count());
  costs.start = costs.start + call.copy_in + time_of(2 * bytes, symmetric_.copy_share * call.memory_bytes_per_second);
}

}  // namespace weft::coll
