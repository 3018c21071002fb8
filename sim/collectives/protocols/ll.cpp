// NCCL's LL protocol: every 4 bytes of data carry a flag of 4, and a receiver follows pass by pass.
#include <memory>
#include <vector>

#include "sim/collectives/protocols/protocol_params.h"
#include "sim/core/portable_math.h"

namespace weft::coll {
namespace {

using namespace literals;

struct LlCosts : CutThroughCosts {
  LlCosts();
};

LlCosts::LlCosts()
    : CutThroughCosts{{.base_latency = 3'900_ns,
                       .hop_latency = 490_ns,
                       .host_hop_latency = 2'100_ns,
                       .host_read = 750_ns,
                       .channel_rate = gigabytes(18.3),
                       .receive_cost = 1.07,
                       .store_cost = 0.63},
                      740_ns,
                      750_ns,
                      0.43} {}

// In LL each thread of a pass handles 8 bytes: it issues its loads, waits for the last of them and stores (NCCL 2.28,
// src/device/prims_ll.h), so that a step waits for its message or its own operand, whichever takes longer. A pass of fewer
// warps is hardly shorter, the first one of a message excepted. Rings alone would be met as well by loads one after another,
// but trees between two GPUs, where 5 warps of 16 only receive, would be 30 % fast so. The result is kept element by element:
// eight stores where bytes are copied, as all_gather and broadcast do whatever the type, two where floats are added up. With
// one channel, which nothing was fitted to, 1 MiB on 2 x H200 takes 130 us in all_gather and 152 in all_reduce
// (validate/measured/h200x2_nccl_clocks.json), here 10 and 4 % less.
std::vector<Param<LlCosts>> ll_params() {
  std::vector<Param<LlCosts>> params = protocol_params<LlCosts>(kNotes);
  add_host_memory(params);
  add_operands(params);
  add_cut_through(params, kLlSteps, "more of base_latency for thread blocks of 512 threads, of fewer in proportion");
  cite(params, {"base_latency", "hop_latency", "channel_rate", "receive_cost", "store_cost"}, kLlSteps);
  for (Param<LlCosts>& of : params) {
    if (of.info.key == "store_cost")
      of.info.description = "of keeping the result byte by byte, likewise; of larger elements less";
  }
  return params;
}

const ParamGroup<LlCosts> ll_costs{"collectives.ll", "NCCL's LL protocol", ll_params()};

constexpr ProtocolShape kLlShape{.warps = 16, .bytes_per_warp = 32 * 8, .wire_bytes = 2, .per_data_bytes = 1};

class Ll final : public Protocol {
 public:
  Ll(const LlCosts& of, const PassCosts& passes) : of_{of}, passes_{passes} {}

  void add(const KernelBlock& block, StepCosts& costs) const override {
    const int warps = block.used_warps(kLlShape.warps);
    of_.add_to(kLlShape, block, passes_.thread_exponent, costs);
    costs.channel_start = passes_.start_latency;
    costs.memory.source = of_.receive_cost / 2;  // a load of its own waits half as long as one of a message with its flags
    // The first pass waits for no loads but those of the hop: its cost is loads and stores, in proportion to the warps.
    costs.first_pass *= portable_pow(static_cast<double>(warps) / kLlShape.warps, 1.0 - passes_.thread_exponent);
    costs.memory.store = of_.store_cost / static_cast<double>(block.data.element);
    costs.memory.loads_at_once = true;
  }

 private:
  LlCosts of_;
  PassCosts passes_;
};

}  // namespace

const ProtocolEntry protocols::ll{"LL", ll_costs, [](const Profile& profile) -> std::unique_ptr<Protocol> {
                                    return std::make_unique<Ll>(profile.get(ll_costs), profile.get(pass_costs));
                                  }};

}  // namespace weft::coll
