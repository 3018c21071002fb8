#include "sim/collectives/protocols/protocol.h"

#include "sim/core/portable_math.h"

namespace weft::coll {
namespace {

constexpr Origin kThreads{.source = ParamSource::kFitted,
                          .reference =
                              "broadcasts of 512 KiB over 4 x H100 on one channel in LL, NCCL 2.28.9 in CUDA graphs: blocks "
                              "of 3, 4, 8 and 16 warps take "
                              "207, 166, 103 and 80 us, 0.29, 0.31, 0.38 and 0.57 us a pass; least squares of the logarithms",
                          .gpu = "H100"};

}  // namespace

const ParamGroup<PassCosts> pass_costs{
    "collectives.passes",
    "LL and LL128, whose threads move data in passes",
    {from_origin(
         param("thread_exponent", &PassCosts::thread_exponent,
               {.unit = "ratio", .min = 0.0, .max = 2.0, .description = "how much faster a pass is with fewer threads"}),
         kThreads),
     param("start_latency", &PassCosts::start_latency,
           {.max = Duration::from_us(1'000),
            .source = ParamSource::kFitted,
            .reference = "H200's small calls take as long on one channel as on many (models/nccl_calibration)",
            .description = "how much later the n-th channel starts than the first, over log2(n)",
            .gpu = "H200"})}};

std::span<const ProtocolEntry* const> all_protocols() {
  static const ProtocolEntry* const kEntries[] = {
#define WEFT_PROTOCOL(name) &protocols::name,
#include "sim/collectives/protocols/protocols.def"
  };
  return kEntries;
}

void ProtocolCosts::add_to(StepCosts& costs) const {
  costs.start = base_latency;
  costs.hop = {hop_latency, host_hop_latency};
  costs.rate = channel_rate;
  costs.memory = {.receive = receive_cost, .source = source_cost, .store = store_cost};
  costs.host_read = host_read;
}

// A pass of a share of the threads takes share^exponent of the time, so data moves at share^(1 - exponent) of the rate.
void CutThroughCosts::add_to(const ProtocolShape& shape, const KernelBlock& block, double thread_exponent,
                             StepCosts& costs) const {
  ProtocolCosts::add_to(costs);
  const int warps = block.used_warps(shape.warps);
  costs.thread_exponent = thread_exponent;
  costs.start += Duration::from_ps(block_latency.ps() * warps / shape.warps);
  costs.after_slice = step_gap;
  costs.first_pass = first_pass;
  costs.cut_through = true;
  costs.wire_bytes = shape.wire_bytes;
  costs.per_data_bytes = shape.per_data_bytes;
  costs.pass = Bytes{warps * shape.bytes_per_warp};
  costs.host_pass = costs.pass;
  const double slower = portable_pow(static_cast<double>(warps) / shape.warps, 1.0 - thread_exponent);
  costs.rate =
      Bandwidth::from_bits_per_second(static_cast<std::int64_t>(static_cast<double>(channel_rate.bits_per_second()) * slower));
  costs.memory.far = block.far_ps * costs.rate.bytes_per_ps() / static_cast<double>(costs.pass.count());
}

void SliceCosts::add_to(StepCosts& costs) const {
  ProtocolCosts::add_to(costs);
  costs.slice = slice_latency;
  costs.channel_start = channel_latency;
  costs.host_slice = host_slice;
}

}  // namespace weft::coll
