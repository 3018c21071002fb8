// Declarations of parameters that protocols have in common, and where their values are from.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collectives/protocols/protocol.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::coll {

inline constexpr Origin kNotes{
    .source = ParamSource::kFitted, .reference = "models/nccl_calibration §1 (4 x H200)", .gpu = "H200"};
inline constexpr Origin kHostProbe{
    .source = ParamSource::kMeasured,
    .reference =
        "probe kernels on 2 x H200 with PCIe 5 x16: a flag through pinned host memory takes 1.8 to 2.1 us, a read 1.05 us",
    .gpu = "H200"};
inline constexpr Origin kMemory{
    .source = ParamSource::kFitted,
    .reference = "probe kernels (Simple) and NCCL 2.28 with one channel (LL128, source_cost) on H200",
    .gpu = "H200"};
inline constexpr Origin kHostLoads{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to NCCL 2.28 on 2 x H200 with P2P off and one channel: LL 32 KiB 18.7 us, 2 MiB 788 us; Simple 128 KiB 41 us, "
        "512 KiB 65.5 us, 8 MiB 614 us, 128 MiB 9.75 ms",
    .gpu = "H200"};

inline constexpr Origin kLoads{.source = ParamSource::kFitted,
                               .reference =
                                   "small reduce_scatter in LL128 takes 1.5 to 2.5 us longer than all_gather on 4 x H200 "
                                   "(validate/measured/h200x4_quick.jsonl)",
                               .gpu = "H200"};
inline constexpr Origin kLlSteps{
    .source = ParamSource::kFitted,
    .reference =
        "rings, trees and send/recv in LL on 2 and 4 x H200, fitted (quick points of validate/measured/h200x2_quick.jsonl, "
        "h200x4_quick.jsonl)",
    .gpu = "H200"};
inline constexpr Origin kChannels{
    .source = ParamSource::kFitted,
    .reference =
        "rings in Simple of 1 to 24 channels on 2 x H100 in CUDA graphs, 32 KiB a channel "
        "(validate/measured/h100x2_fine.jsonl, "
        "h100x2_fine_channels.jsonl): with 2, 4, 8, 16 and 24 all-reduces take 0.7, 1.0, 1.7, 1.8 and "
        "1.9 us longer than with one, "
        "reduce_scatters 0.6, 0.8, 1.3, 1.6 and 1.4 us",
    .gpu = "H100"};

inline Bandwidth gigabytes(double per_second) {
  return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(per_second * 8e9));
}

template <class S>
Param<S> latency(const char* name, Duration S::*member, const Origin& from, const char* description) {
  return from_origin(param<S>(name, member, {.max = 1_ms, .description = description}), from);
}

template <class S>
Param<S> ratio(const char* name, double S::*member, const Origin& from, const char* description) {
  return from_origin(param<S>(name, member, {.unit = "ratio", .min = 0.0, .max = 2.0, .description = description}), from);
}

// The same fields for each protocol. Latencies of NVLink and rates were fitted on H200; those through host memory
// are NCCL's own plans where nothing was measured. The network's are its transport's (sim/network/nic_transport.h).
template <class S>
std::vector<Param<S>> protocol_params(const Origin& base) {
  const auto rate = [](const char* name, Bandwidth S::*member, const char* description) {
    return from_origin(param<S>(name, member, {.description = description}), kNotes);
  };
  return {
      latency<S>("base_latency", &S::base_latency, base, "of a kernel, before its first step"),
      latency<S>("hop_latency", &S::hop_latency, kNotes, "until a peer over NVLink acts on a message"),
      rate("channel_rate", &S::channel_rate, "most that one channel's thread block reads and sends"),
  };
}

template <class S>
void add_host_memory(std::vector<Param<S>>& params) {
  params.push_back(
      latency<S>("host_hop_latency", &S::host_hop_latency, kHostProbe, "until a peer through PCIe or host memory does"));
  params.push_back(latency<S>("host_read", &S::host_read, kHostLoads, "between the loads of a thread block in host memory"));
}

// A step takes this besides, over the cost of one that reads and sends.
template <class S>
void add_operands(std::vector<Param<S>>& params) {
  params.push_back(ratio<S>("receive_cost", &S::receive_cost, kMemory,
                            "of a peer's message as operand, over the cost of a step that reads and sends"));
  params.push_back(ratio<S>("store_cost", &S::store_cost, kMemory, "of keeping the result in its own memory, likewise"));
}

template <class S>
void add_cut_through(std::vector<Param<S>>& params, const Origin& from, const char* block) {
  params.push_back(latency<S>("block_latency", &S::block_latency, from, block));
  params.push_back(latency<S>("step_gap", &S::step_gap, from, "from the end of a slice with data to the next"));
  params.push_back(ratio<S>("first_pass", &S::first_pass, from, "cost of a slice's first pass over that of the next"));
}

template <class S>
void add_slices(std::vector<Param<S>>& params) {
  params.push_back(latency<S>("slice_latency", &S::slice_latency, kNotes, "synchronisation before the bytes of a slice"));
  params.push_back(latency<S>("channel_latency", &S::channel_latency, kChannels,
                              "how much later the n-th channel starts than the first, over log2(n)"));
  params.push_back(latency<S>("host_slice", &S::host_slice, kHostLoads, "before the bytes of a slice in host memory"));
}

// Gives parameters a source of their own.
template <class S>
void cite(std::vector<Param<S>>& params, std::initializer_list<std::string_view> keys, const Origin& from) {
  for (Param<S>& of : params) {
    if (std::ranges::find(keys, std::string_view{of.info.key}) != keys.end()) of = from_origin(std::move(of), from);
  }
}

}  // namespace weft::coll
