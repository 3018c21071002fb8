#include "sim/collectives/costs.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collectives/nccl/p2p_plan.h"
#include "sim/core/portable_math.h"

namespace weft::coll {
namespace {

constexpr Origin kNotes{.source = ParamSource::kFitted, .reference = "models/nccl_calibration §1 (4 x H200)", .gpu = "H200"};
constexpr Origin kHostProbe{
    .source = ParamSource::kMeasured,
    .reference =
        "probe kernels on 2 x H200 with PCIe 5 x16: a flag through pinned host memory takes 1.8 to 2.1 us, a read 1.05 us",
    .gpu = "H200"};
constexpr Origin kLl128Start{
    .source = ParamSource::kFitted,
    .reference =
        "rings and trees in LL128 on 2 and 4 x H200, fitted (quick points of validate/measured/h200x2_quick.jsonl, "
        "h200x4_quick.jsonl); NCCL's tuning plans 2.1 times LL's (models/nccl §5.1: LL 6.6, LL128 14.0 us)",
    .gpu = "H200"};
constexpr Origin kLlNet{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to five sizes of 128 B to 128 KiB on two nodes of 8 H100 (validate/published/all_reduce/h100_2_nodes.txt); "
        "NCCL's own plans have 2.7 to 5 us (models/nccl §6.3)",
    .gpu = "H100"};
constexpr Origin kLl128Net{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to 256 KiB to 1 MiB on four nodes of 8 H100 (validate/published/all_reduce/h100_4_nodes.txt): from compute "
        "capability "
        "9.0 on a fence reaches the system before the proxy is told (NCCL 2.28, src/device/prims_ll128.h), on older GPUs the "
        "device, "
        "where NCCL plans with 4 us (models/nccl §5.1)",
    .gpu = "H100"};
constexpr Origin kMemory{.source = ParamSource::kFitted,
                         .reference = "probe kernels (Simple) and NCCL 2.28 with one channel (LL128, source_cost) on H200",
                         .gpu = "H200"};
constexpr Origin kLoads{.source = ParamSource::kFitted,
                        .reference =
                            "small reduce_scatter in LL128 takes 1.5 to 2.5 us longer than all_gather on 4 x H200 "
                            "(validate/measured/h200x4_quick.jsonl)",
                        .gpu = "H200"};
constexpr Origin kCrowding{
    .source = ParamSource::kMeasured,
    .reference =
        "all-gathers of 512 MiB on 2 and 4 x H200 and 2 x H100, four runs: over one channel's, times as many channels, 4 take "
        "1.015 to 1.022 and 8 take 1.039 to 1.052 (validate/measured/h200x2_full.jsonl and others)",
    .gpu = "H200"};
constexpr Origin kFar{
    .source = ParamSource::kFitted,
    .reference =
        "all-reduces of 1 to 8 MiB on 4 x H200: those of nccl-tests, whose calls walk through memory, take 13 to 18 % (LL), 2 "
        "to "
        "7 % (LL128) and 3 to 4 % (Simple) longer than on the same buffers, from 32 MiB up 0 to 1 % (tests/data/h200x4, "
        "validate/measured/h200x4_full.jsonl); 200 ns is between what all-reduces (260) and reduce_scatters (125) of 64 MiB in "
        "LL "
        "want; the cache is half of the L2, what one of its partitions holds",
    .gpu = "H200"};
constexpr Origin kLlSteps{
    .source = ParamSource::kFitted,
    .reference =
        "rings, trees and send/recv in LL on 2 and 4 x H200, fitted (quick points of validate/measured/h200x2_quick.jsonl, "
        "h200x4_quick.jsonl)",
    .gpu = "H200"};
constexpr Origin kLlThreads{.source = ParamSource::kFitted,
                            .reference =
                                "broadcasts of 512 KiB over 4 x H100 on one channel in LL, NCCL 2.28.9 in CUDA graphs: blocks "
                                "of 3, 4, 8 and 16 warps take "
                                "207, 166, 103 and 80 us, 0.29, 0.31, 0.38 and 0.57 us a pass; least squares of the logarithms",
                            .gpu = "H100"};
constexpr Origin kFineSimple{
    .source = ParamSource::kFitted,
    .reference =
        "rings in Simple of one and eight channels on 2 x H200 in CUDA graphs, up to 2 MiB a channel, fitted "
        "(validate/measured/h200x2_fine.jsonl)",
    .gpu = "H200"};
constexpr Origin kChannels{.source = ParamSource::kFitted,
                           .reference =
                               "rings in Simple of 1 to 24 channels on 2 x H100 in CUDA graphs, 32 KiB a channel "
                               "(validate/measured/h100x2_fine.jsonl, "
                               "h100x2_fine_channels.jsonl): with 2, 4, 8, 16 and 24 all-reduces take 0.7, 1.0, 1.7, 1.8 and "
                               "1.9 us longer than with one, "
                               "reduce_scatters 0.6, 0.8, 1.3, 1.6 and 1.4 us",
                           .gpu = "H100"};
constexpr Origin kHostSend{.source = ParamSource::kFitted,
                           .reference =
                               "send/recv through host memory on 2 x H200 (validate/measured/h200x2_full.jsonl): 128 KiB 20.5 "
                               "us, 128 MiB at 21.1 GB/s",
                           .gpu = "H200"};
constexpr Origin kDirect{.source = ParamSource::kFitted,
                         .reference = "send/recv with 1 to 16 channels on 2 x H200 (validate/measured/h200x2_full.jsonl)",
                         .gpu = "H200"};
constexpr Origin kPublishedH100{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to six of fourteen sizes of a published NVLS all-reduce of 8 H100 (validate/published/all_reduce/h100_dgx.txt)",
    .gpu = "H100"};
constexpr Origin kHwLat{.source = ParamSource::kLiterature, .reference = "models/nccl §5.1: what NCCL's own tuning plans with"};

constexpr Origin kHostLoads{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to NCCL 2.28 on 2 x H200 with P2P off and one channel: LL 32 KiB 18.7 us, 2 MiB 788 us; Simple 128 KiB 41 us, "
        "512 KiB 65.5 us, 8 MiB 614 us, 128 MiB 9.75 ms",
    .gpu = "H200"};

Bandwidth gigabytes(double per_second) { return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(per_second * 8e9)); }

template <class S>
Param<S> latency(const char* name, Duration S::*member, const Origin& from, const char* description) {
  return from_origin(param<S>(name, member, {.max = 1_ms, .description = description}), from);
}

template <class S>
Param<S> ratio(const char* name, double S::*member, const Origin& from, const char* description) {
  return from_origin(param<S>(name, member, {.unit = "ratio", .min = 0.0, .max = 2.0, .description = description}), from);
}

// Steps of Simple cost what probe kernels take on 2 x H200. One block of 512 threads sends 42, adds and sends 35.9, copies and
// sends 25.2, adds, copies and sends 22.9 GB/s. No log with default channels tells this, for there the links are full. NCCL
// with one and four channels has a store at 0.60 to 0.72 of a send. NCCL 2.28 with one channel on 4 x H200 gives the costs in
// LL128, and those of blocks of fewer warps in Simple (half of them 0.94 of the rate). There a step of 4 to 16 MiB takes 30
// (send), 40 (add and send), 45 (copy and send), 53 (pass on) and 34 (receive) ps a byte, in reduce_scatter, all_gather, reduce
// and broadcast.
//
// In LL each thread of a pass handles 8 bytes: it issues its loads, waits for the last of them and stores (NCCL 2.28,
// src/device/prims_ll.h), so that a step waits for its message or its own operand, whichever takes longer. A pass of fewer
// warps is hardly shorter, the first one of a message excepted. Rings alone would be met as well by loads one after another,
// but trees between two GPUs, where 5 warps of 16 only receive, would be 30 % fast so. The result is kept element by element:
// eight stores where bytes are copied, as all_gather and broadcast do whatever the type, two where floats are added up. With
// one channel, which nothing was fitted to, 1 MiB on 2 x H200 takes 130 us in all_gather and 152 in all_reduce
// (validate/measured/h200x2_nccl_clocks.json), here 10 and 4 % less.
//
// The same fields for each protocol. Latencies of NVLink and rates were fitted on H200; those through host memory and network
// are NCCL's own plans where nothing was measured.
template <class S>
std::vector<Param<S>> protocol_params(const Origin& base) {
  const auto rate = [](const char* name, Bandwidth S::*member, const char* description) {
    return from_origin(param<S>(name, member, {.description = description}), kNotes);
  };
  return {
      latency<S>("base_latency", &S::base_latency, base, "of a kernel, before its first step"),
      latency<S>("channel_latency", &S::channel_latency, kNotes,
                 "how much later the n-th channel starts than the first, over log2(n)"),
      latency<S>("hop_latency", &S::hop_latency, kNotes, "until a peer over NVLink acts on a message"),
      latency<S>("host_hop_latency", &S::host_hop_latency, kHostProbe, "until a peer through PCIe or host memory does"),
      latency<S>("net_hop_latency", &S::net_hop_latency, kHwLat, "until a peer over the network does, beyond the fabric's own"),
      latency<S>("slice_latency", &S::slice_latency, kNotes, "synchronisation before the bytes of a slice"),
      latency<S>("empty_slice_latency", &S::empty_slice_latency, kNotes, "the same of a slice without bytes"),
      latency<S>("step_gap", &S::step_gap, kNotes, "from the end of a slice with data to the next"),
      rate("channel_rate", &S::channel_rate, "most that one channel's thread block reads and sends"),
      ratio<S>("receive_cost", &S::receive_cost, kMemory,
               "of a peer's message as operand, over the cost of a step that reads and sends"),
      ratio<S>("source_cost", &S::source_cost, kMemory, "of an operand in its own memory, likewise"),
      ratio<S>("store_cost", &S::store_cost, kMemory, "of keeping the result in its own memory, likewise"),
      latency<S>("host_read", &S::host_read, kHostLoads, "between the loads of a thread block in host memory"),
      latency<S>("host_slice", &S::host_slice, kHostLoads, "before the bytes of a slice in host memory"),
      ratio<S>("thread_exponent", &S::thread_exponent, kNotes, "how much faster a pass is with fewer threads"),
      ratio<S>("first_pass", &S::first_pass, kNotes, "cost of a slice's first pass over that of the next"),
  };
}

// Parameters of LL and LL128.
template <class S>
std::vector<Param<S>> cut_through_params(const Origin& base) {
  std::vector<Param<S>> params = protocol_params<S>(base);
  params.push_back(latency<S>("load_latency", &S::load_latency, kLoads, "more of step_gap, before an operand of one's own"));
  return params;
}

// Gives parameters a source of their own.
template <class S>
void cite(std::vector<Param<S>>& params, std::initializer_list<std::string_view> keys, const Origin& from) {
  for (Param<S>& of : params) {
    if (std::ranges::find(keys, std::string_view{of.info.key}) != keys.end()) of = from_origin(std::move(of), from);
  }
}

std::vector<Param<SimpleCosts>> simple_params() {
  std::vector<Param<SimpleCosts>> params = protocol_params<SimpleCosts>(kFineSimple);
  cite(params, {"channel_latency"}, kChannels);
  cite(params, {"hop_latency", "slice_latency"}, kFineSimple);
  params.push_back(latency<SimpleCosts>("block_latency", &SimpleCosts::block_latency, kFineSimple,
                                        "more of base_latency for thread blocks of 512 threads, of fewer in proportion"));
  params.push_back(latency<SimpleCosts>("copy_latency", &SimpleCosts::copy_latency, kFineSimple,
                                        "more of slice_latency, once a chunk, where a step keeps its one operand as it is"));
  params.push_back(latency<SimpleCosts>("load_latency", &SimpleCosts::load_latency, kFineSimple,
                                        "more of slice_latency where every warp has data, of less in proportion"));
  params.push_back(ratio<SimpleCosts>("crowding", &SimpleCosts::crowding, kCrowding,
                                      "how much longer a channel takes for its bytes, for each channel beside it"));
  return params;
}

std::vector<Param<LlCosts>> ll_params() {
  std::vector<Param<LlCosts>> params = cut_through_params<LlCosts>(kNotes);
  cite(params,
       {"base_latency", "hop_latency", "step_gap", "first_pass", "channel_rate", "receive_cost", "source_cost", "store_cost"},
       kLlSteps);
  cite(params, {"thread_exponent"}, kLlThreads);
  cite(params, {"net_hop_latency"}, kLlNet);
  params.push_back(latency<LlCosts>("block_latency", &LlCosts::block_latency, kLlSteps,
                                    "more of base_latency for thread blocks of 512 threads, of fewer in proportion"));
  for (Param<LlCosts>& of : params) {
    if (of.info.key == "store_cost")
      of.info.description = "of keeping the result byte by byte, likewise; of larger elements less";
  }
  return params;
}

std::vector<Param<Ll128Costs>> ll128_params() {
  std::vector<Param<Ll128Costs>> params = cut_through_params<Ll128Costs>(kLl128Start);
  cite(params, {"net_hop_latency"}, kLl128Net);
  params.push_back(latency<Ll128Costs>("block_latency", &Ll128Costs::block_latency, kLl128Start,
                                       "more of base_latency for thread blocks of 640 threads, of fewer in proportion"));
  params.push_back(
      latency<Ll128Costs>("small_block_gap", &Ll128Costs::small_block_gap, kLl128Start,
                          "more of step_gap for thread blocks of 320 threads; larger ones have less of it, those of 640 none"));
  return params;
}

std::vector<Param<P2pCosts>> p2p_params() {
  std::vector<Param<P2pCosts>> params = protocol_params<P2pCosts>(kDirect);
  cite(params, {"channel_latency"}, kChannels);
  cite(params, {"host_hop_latency", "store_cost"}, kHostSend);
  params.push_back(ratio<P2pCosts>("direct_cost", &P2pCosts::direct_cost, kDirect,
                                   "of what a peer over NVLink stores, where ports are busy, in place of store_cost"));
  params.push_back(latency<P2pCosts>("ll_latency", &P2pCosts::ll_latency, kLlSteps, "more of LL's base_latency in send/recv"));
  return params;
}

void apply(StepCosts& costs, const ProtocolCosts& of) {
  costs.start = of.base_latency;
  costs.channel_start = of.channel_latency;
  costs.hop = {of.hop_latency, of.host_hop_latency, of.net_hop_latency};
  costs.slice = of.slice_latency;
  costs.empty_slice = of.empty_slice_latency;
  costs.after_slice = of.step_gap;
  costs.rate = of.channel_rate;
  costs.memory = {.receive = of.receive_cost, .source = of.source_cost, .store = of.store_cost};
  costs.thread_exponent = of.thread_exponent;
  costs.first_pass = of.first_pass;
  costs.host_read = of.host_read;
  costs.host_slice = of.host_slice;
}

Bandwidth scaled(Bandwidth rate, double by) {
  return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(static_cast<double>(rate.bits_per_second()) * by));
}

}  // namespace

SimpleCosts::SimpleCosts()
    : ProtocolCosts{.base_latency = 6'630_ns,
                    .channel_latency = 200_ns,
                    .hop_latency = 1'350_ns,
                    .host_hop_latency = 4'200_ns,
                    .net_hop_latency = 10_us,
                    .slice_latency = 1'500_ns,
                    .empty_slice_latency = 300_ns,
                    .step_gap = {},
                    .channel_rate = gigabytes(42),
                    .receive_cost = 0.17,
                    .source_cost = 0.24,
                    .store_cost = 0.7,
                    .thread_exponent = 0.9,
                    .host_read = 550_ns,
                    .host_slice = 2_us} {}

LlCosts::LlCosts()
    : ProtocolCosts{.base_latency = 3'900_ns,
                    .channel_latency = {},
                    .hop_latency = 490_ns,
                    .host_hop_latency = 2'100_ns,
                    .net_hop_latency = 4'600_ns,
                    .slice_latency = 50_ns,
                    .empty_slice_latency = 50_ns,
                    .step_gap = 700_ns,
                    .channel_rate = gigabytes(18.3),
                    .receive_cost = 1.07,
                    .source_cost = 0.5,
                    .store_cost = 0.63,
                    .thread_exponent = 0.44,
                    .host_read = 750_ns,
                    .first_pass = 0.43} {}

Ll128Costs::Ll128Costs()
    : ProtocolCosts{.base_latency = 6'800_ns,
                    .channel_latency = {},
                    .hop_latency = 600_ns,
                    .host_hop_latency = 2'500_ns,
                    .net_hop_latency = 6'800_ns,
                    .slice_latency = 50_ns,
                    .empty_slice_latency = 50_ns,
                    .step_gap = 1'300_ns,
                    .channel_rate = gigabytes(31),
                    .receive_cost = 0.35,
                    .source_cost = 0.3,
                    .store_cost = 0.69,
                    .thread_exponent = 0.5,
                    .host_read = 750_ns,
                    .first_pass = 0.6} {}

P2pCosts::P2pCosts()
    : ProtocolCosts{.base_latency = 5'800_ns,
                    .channel_latency = 200_ns,
                    .hop_latency = 800_ns,
                    .host_hop_latency = 1'300_ns,
                    .net_hop_latency = 10_us,
                    .slice_latency = 800_ns,
                    .empty_slice_latency = 300_ns,
                    .step_gap = {},
                    .channel_rate = gigabytes(41),
                    .receive_cost = 0.1,
                    .source_cost = 0.24,
                    .store_cost = 0.33,
                    .host_read = 550_ns,
                    .host_slice = 2_us} {}

const ParamGroup<SimpleCosts> simple_costs{"collectives.simple", "NCCL's Simple protocol", simple_params()};
const ParamGroup<LlCosts> ll_costs{"collectives.ll", "NCCL's LL protocol", ll_params()};
const ParamGroup<Ll128Costs> ll128_costs{"collectives.ll128", "NCCL's LL128 protocol", ll128_params()};
const ParamGroup<P2pCosts> p2p_costs{"collectives.p2p", "NCCL's send/recv kernel", p2p_params()};

const ParamGroup<InSwitchCosts> in_switch_costs{
    "collectives.in_switch",
    "NVLS and CollNet kernels",
    {
        param("base_latency", &InSwitchCosts::base_latency,
              {.max = 1_ms, .description = "of a kernel, before its first step; as Simple"}),
        param("hop_latency", &InSwitchCosts::hop_latency, {.max = 1_ms, .description = "as Simple"}),
        latency<InSwitchCosts>("slice_latency", &InSwitchCosts::slice_latency, kPublishedH100,
                               "before the bytes of a slice, which a scatter or gather has for all heads at once"),
        latency<InSwitchCosts>("peer_latency", &InSwitchCosts::peer_latency,
                               {.source = ParamSource::kLiterature,
                                .reference = "published NVLS all-reduces of 2 to 8 H100 (nccl issue 1455) show none",
                                .gpu = "H100"},
                               "of a scatter or gather, for each head"),
        param("net_hop_latency", &InSwitchCosts::net_hop_latency, {.max = 1_ms, .description = "as Simple"}),
        param("channel_rate", &InSwitchCosts::channel_rate,
              {.source = kPublishedH100.source,
               .reference = std::string{kPublishedH100.reference},
               .description = "most that one channel's thread block moves; of NVLS, scatter and gather have 7 of 20 parts each",
               .gpu = std::string{kPublishedH100.gpu}}),
    }};

const ParamGroup<ChannelCosts> channel_costs{
    "collectives.channels",
    "what a communicator's channels have in common",
    {param("cache", &ChannelCosts::cache,
           {.min = 1_KiB,
            .source = kFar.source,
            .reference = std::string{kFar.reference},
            .description = "of a rank's input and output, what is read near by; of half as much again nothing is",
            .gpu = std::string{kFar.gpu}}),
     param("far_latency", &ChannelCosts::far_latency,
           {.max = 100_us,
            .source = kFar.source,
            .reference = std::string{kFar.reference},
            .description = "more of a load from memory that is not: in each pass of LL and LL128, once a chunk in Simple",
            .gpu = std::string{kFar.gpu}}),
     param("service_spread", &ChannelCosts::service_spread,
           {.unit = "ratio",
            .min = 0.0,
            .max = 0.9,
            .source = ParamSource::kFitted,
            .reference = "models/nccl_calibration §3.5: channels that start in phase drift apart",
            .description = "how unequally links serve channels, either way of the mean",
            .gpu = "H200"}),
     param("pcie_share", &ChannelCosts::pcie_share,
           {.unit = "ratio",
            .min = 0.1,
            .max = 1.0,
            .source = ParamSource::kLiterature,
            .reference = "models/nccl §1.2: NCCL charges PCIe links 1.2 times the flow on Intel hosts, for TLPs of 64 bytes",
            .description = "of a PCIe link's rate, what loads and stores of thread blocks reach in host memory"}),
     latency<ChannelCosts>(
         "host_start", &ChannelCosts::host_start, kHostProbe,
         "of a kernel that talks through host memory: counters read there at its start, writes flushed at its end"),
     param("launch_cost", &ChannelCosts::launch_cost,
           {.max = 1_ms, .description = "of the host for each channel of a kernel, beyond device.launch.host_cost"})}};

// 84 kinds of calls of all protocols, 1 KiB to 256 MiB, at 1.5 to 1.98 GHz: with this share and rates that go as the clock,
// what they take at 1.5 GHz over what they take at 1.98 is predicted within 3.5 and 4.1 % (root mean square) in two runs,
// without within 16 %. One channel, which no link limits, takes 0.8 to 1.17 of one over the clock.
constexpr Origin kClocksSeen{
    .source = ParamSource::kFitted,
    .reference = "2 x H200: validate/replay/nccl_clocks.py, validate/measured/h200x2_nccl_clocks*.json",
    .gpu = "H200"};

const ParamGroup<ClockCosts> clock_costs{
    "collectives.clock",
    "NCCL where the clock of the SMs is low",
    {param("latency_share", &ClockCosts::latency_share,
           {.unit = "ratio",
            .min = 0.0,
            .max = 2.0,
            .source = kClocksSeen.source,
            .reference = std::string{kClocksSeen.reference},
            .description = "of the latencies of kernels and of peers over NVLink, what goes as one over the clock",
            .gpu = std::string{kClocksSeen.gpu}})}};

ParamGroups collective_param_groups() {
  return {&simple_costs, &ll_costs, &ll128_costs, &p2p_costs, &in_switch_costs, &channel_costs, &clock_costs};
}

CollectiveCosts::CollectiveCosts(const Profile& profile)
    : simple{profile.get(simple_costs)},
      ll{profile.get(ll_costs)},
      ll128{profile.get(ll128_costs)},
      p2p{profile.get(p2p_costs)},
      switched{profile.get(in_switch_costs)},
      channels{profile.get(channel_costs)},
      clock{profile.get(clock_costs)} {}

// Constants of this function: models/nccl §4.1 (slots, lines, threads), §4.2 (slices of at least 32 KiB), §4.3 (steps of a
// chunk).
StepCosts CollectiveCosts::of(std::string_view protocol, int warps, bool one_slice, bool is_p2p, const CallData& data) const {
  StepCosts costs;
  costs.rendezvous = false;
  costs.service_spread = channels.service_spread;
  costs.pcie_share = channels.pcie_share;
  costs.host_start = channels.host_start;
  costs.slots = 8;
  const double of_cache = static_cast<double>(data.buffers.count()) / static_cast<double>(channels.cache.count());
  const double far = static_cast<double>(channels.far_latency.ps()) * std::clamp(of_cache - 0.5, 0.0, 1.0);
  const auto used_warps = [&](int most) { return warps > 0 ? std::min(warps, most) : most; };
  const auto of_block = [&](Duration latency, int most_warps) {
    return Duration::from_ps(latency.ps() * used_warps(most_warps) / most_warps);
  };
  const auto passes = [&](const ProtocolCosts& of, int most_warps, std::int64_t bytes_per_warp) {
    const int used = used_warps(most_warps);
    const double share = static_cast<double>(used) / most_warps;
    // A pass of `share` of the threads takes share^exponent of the time, so data moves at share^(1 - exponent) of the rate.
    costs.pass = Bytes{used * bytes_per_warp};
    costs.host_pass = costs.pass;
    costs.rate = scaled(of.channel_rate, portable_pow(share, 1.0 - of.thread_exponent));
    costs.memory.far = far * costs.rate.bytes_per_ps() / static_cast<double>(costs.pass.count());
    return share;
  };
  constexpr int kLlWarps = 16;
  constexpr int kLl128Warps = 20;
  if (protocol == "LL") {
    apply(costs, ll);
    costs.cut_through = true;
    costs.operand_wait = ll.load_latency;
    costs.wire_bytes = 2;
    const double share = passes(ll, kLlWarps, 32 * 8);
    costs.start += of_block(ll.block_latency, kLlWarps);
    // The first pass of LL waits for no loads but those of the hop: its cost is loads and stores, in proportion to the warps.
    costs.first_pass *= portable_pow(share, 1.0 - ll.thread_exponent);
    costs.memory.store = ll.store_cost / static_cast<double>(data.element);
    costs.memory.loads_at_once = true;
    if (is_p2p) costs.start += p2p.ll_latency;
  } else if (protocol == "LL128") {
    apply(costs, ll128);
    costs.cut_through = true;
    costs.operand_wait = ll128.load_latency;
    costs.wire_bytes = 16;
    costs.per_data_bytes = 15;
    passes(ll128, kLl128Warps, 1920);
    costs.start += of_block(ll128.block_latency, kLl128Warps);
    costs.after_slice += 2 * (ll128.small_block_gap - of_block(ll128.small_block_gap, kLl128Warps));
  } else {
    apply(costs, is_p2p ? static_cast<const ProtocolCosts&>(p2p) : simple);
    costs.far_wait = Duration::whole_ps(far);
    constexpr std::int64_t kLoadBytesPerWarp = 4 * 16 * 32;  // four loads of 16 bytes by each thread (models/nccl §4.1)
    constexpr std::int64_t kBytesPerWarp = 16 * 32;          // one of them
    constexpr int kBlockWarps = 16;
    costs.host_pass = Bytes{used_warps(is_p2p ? nccl::kP2pWarps : kBlockWarps) * kLoadBytesPerWarp};
    if (is_p2p) {
      costs.direct = p2p.direct_cost;
    } else {
      costs.start += of_block(simple.block_latency, kBlockWarps);
      costs.load_wait = simple.load_latency;
      costs.load_pass = Bytes{kBlockWarps * kBytesPerWarp};
      costs.copy_wait = simple.copy_latency;
      costs.rate = scaled(costs.rate, 1.0 / (1.0 + simple.crowding * (data.channels - 1)));
    }
    if (!one_slice && !is_p2p) {
      costs.slices = 2;
      costs.min_slice = 32_KiB;
      costs.slots = 4;
    }
  }
  return costs;
}

StepCosts CollectiveCosts::in_switch() const {
  StepCosts costs;
  costs.rendezvous = false;
  costs.service_spread = channels.service_spread;
  costs.slots = 8;
  costs.start = switched.base_latency;
  costs.hop = {switched.hop_latency, switched.hop_latency, switched.net_hop_latency};
  costs.slice = switched.slice_latency;
  costs.peer_slice = switched.peer_latency;
  costs.rate = switched.channel_rate;
  return costs;
}

void CollectiveCosts::slow_down(StepCosts& costs, double slowdown) const {
  costs.slow_down(1.0 + clock.latency_share * (slowdown - 1.0), slowdown);
}

}  // namespace weft::coll
