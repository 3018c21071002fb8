// NCCL's LL128 protocol: every 120 bytes of data carry a flag of 8, and a receiver follows pass by pass.
#include <memory>
#include <variant>
#include <vector>

#include "sim/collectives/protocols/protocol_params.h"

namespace weft::coll {
namespace {

using namespace literals;

constexpr Origin kLl128Start{
    .source = ParamSource::kFitted,
    .reference =
        "rings and trees in LL128 on 2 and 4 x H200, fitted (quick points of validate/measured/h200x2_quick.jsonl, "
        "h200x4_quick.jsonl); NCCL's tuning plans 2.1 times LL's (models/nccl §5.1: LL 6.6, LL128 14.0 us)",
    .gpu = "H200"};

struct Ll128Costs : CutThroughCosts {
  Ll128Costs();
  Duration load_latency = 700_ns;  // StepCosts::operand_wait
};

Ll128Costs::Ll128Costs()
    : CutThroughCosts{
          {.base_latency = 6'800_ns, .hop_latency = 600_ns, .channel_rate = gigabytes(31)}, 3'500_ns, 1'350_ns, 0.6} {}

std::vector<Param<Ll128Costs>> ll128_params() {
  std::vector<Param<Ll128Costs>> params = protocol_params<Ll128Costs>(kLl128Start);
  params.push_back(latency<Ll128Costs>("load_latency", &Ll128Costs::load_latency, kLoads,
                                       "more of step_gap, before an operand of one's own"));
  add_cut_through(params, kLl128Start, "more of base_latency for thread blocks of 640 threads, of fewer in proportion");
  return params;
}

const ParamGroup<Ll128Costs> ll128_costs{"collectives.ll128", "NCCL's LL128 protocol", ll128_params()};

constexpr ProtocolShape kLl128Shape{.warps = 20, .bytes_per_warp = 1920, .wire_bytes = 16, .per_data_bytes = 15};

// Model: operands cost LL128 what they cost Simple, and host memory what it costs LL.
Ll128Costs costs_of(const Profile& profile) {
  Ll128Costs of = profile.get(ll128_costs);
  of.receive_cost = std::get<double>(profile.value("collectives.simple.receive_cost"));
  of.source_cost = std::get<double>(profile.value("collectives.simple.source_cost"));
  of.store_cost = std::get<double>(profile.value("collectives.simple.store_cost"));
  of.host_hop_latency = std::get<Duration>(profile.value("collectives.ll.host_hop_latency"));
  of.host_read = std::get<Duration>(profile.value("collectives.ll.host_read"));
  return of;
}

class Ll128 final : public Protocol {
 public:
  Ll128(const Ll128Costs& of, const PassCosts& passes) : of_{of}, passes_{passes} {}

  void add(const KernelBlock& block, StepCosts& costs) const override {
    of_.add_to(kLl128Shape, block, passes_.thread_exponent, costs);
    costs.channel_start = passes_.start_latency;
    costs.operand_wait = of_.load_latency;
  }

 private:
  Ll128Costs of_;
  PassCosts passes_;
};

}  // namespace

const ProtocolEntry protocols::ll128{"LL128", ll128_costs, [](const Profile& profile) -> std::unique_ptr<Protocol> {
                                       return std::make_unique<Ll128>(costs_of(profile), profile.get(pass_costs));
                                     }};

}  // namespace weft::coll
