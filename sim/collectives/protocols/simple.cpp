// NCCL's Simple protocol: data in slices, and a flag when a slice is whole.
#include <memory>
#include <vector>

#include "sim/collectives/protocols/protocol_params.h"

namespace weft::coll {
namespace {

using namespace literals;

constexpr Origin kFineSimple{
    .source = ParamSource::kFitted,
    .reference =
        "rings in Simple of one and eight channels on 2 x H200 in CUDA graphs, up to 2 MiB a channel, fitted "
        "(validate/measured/h200x2_fine.jsonl)",
    .gpu = "H200"};
constexpr Origin kCrowding{
    .source = ParamSource::kMeasured,
    .reference =
        "all-gathers of 512 MiB on 2 and 4 x H200 and 2 x H100, four runs: over one channel's, times as many channels, 4 take "
        "1.015 to 1.022 and 8 take 1.039 to 1.052 (validate/measured/h200x2_full.jsonl and others)",
    .gpu = "H200"};

struct SimpleCosts : SliceCosts {
  SimpleCosts();
  Duration block_latency = 1'350_ns;  // more of base_latency, for a block of 512 threads
  Duration load_latency = 580_ns;     // StepCosts::load_wait
  Duration copy_latency = 1'200_ns;   // StepCosts::copy_wait
  double crowding = 0.005;            // of n channels each takes (n - 1) times this longer
};

SimpleCosts::SimpleCosts()
    : SliceCosts{{.base_latency = 6'630_ns,
                  .hop_latency = 1'350_ns,
                  .host_hop_latency = 4'200_ns,
                  .host_read = 550_ns,
                  .channel_rate = gigabytes(42),
                  .receive_cost = 0.17,
                  .source_cost = 0.24,
                  .store_cost = 0.7},
                 1'500_ns,
                 200_ns,
                 2_us} {}

// Steps of Simple cost what probe kernels take on 2 x H200. One block of 512 threads sends 42, adds and sends 35.9, copies and
// sends 25.2, adds, copies and sends 22.9 GB/s. No log with default channels tells this, for there the links are full. NCCL
// with one and four channels has a store at 0.60 to 0.72 of a send. NCCL 2.28 with one channel on 4 x H200 gives the costs in
// LL128, and those of blocks of fewer warps in Simple (half of them 0.94 of the rate). There a step of 4 to 16 MiB takes 30
// (send), 40 (add and send), 45 (copy and send), 53 (pass on) and 34 (receive) ps a byte, in reduce_scatter, all_gather, reduce
// and broadcast.
std::vector<Param<SimpleCosts>> simple_params() {
  std::vector<Param<SimpleCosts>> params = protocol_params<SimpleCosts>(kFineSimple);
  add_host_memory(params);
  add_operands(params);
  params.push_back(
      ratio<SimpleCosts>("source_cost", &SimpleCosts::source_cost, kMemory, "of an operand in its own memory, likewise"));
  add_slices(params);
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

const ParamGroup<SimpleCosts> simple_costs{"collectives.simple", "NCCL's Simple protocol", simple_params()};

constexpr int kLoadsAtOnce = 4;

class Simple final : public Protocol {
 public:
  explicit Simple(const SimpleCosts& of) : of_{of} {}

  void add(const KernelBlock& block, StepCosts& costs) const override {
    of_.add_to(costs);
    costs.thread_exponent = 1.0;  // bytes, whoever moves them
    costs.far_wait = Duration::whole_ps(block.far_ps);
    costs.host_pass = Bytes{block.used_warps(kSimpleWarps) * kLoadsAtOnce * kBytesOfALoad};
    costs.start += block.part(of_.block_latency, kSimpleWarps);
    costs.load_wait = of_.load_latency;
    costs.load_pass = Bytes{kSimpleWarps * kBytesOfALoad};
    costs.copy_wait = of_.copy_latency;
    const double crowd = 1.0 / (1.0 + of_.crowding * (block.data.channels - 1));
    costs.rate =
        Bandwidth::from_bits_per_second(static_cast<std::int64_t>(static_cast<double>(costs.rate.bits_per_second()) * crowd));
    if (block.one_slice) return;
    costs.slices = 2;  // of at least 32 KiB (models/nccl §4.2, §4.3)
    costs.min_slice = 32_KiB;
    costs.slots = 4;
  }

 private:
  SimpleCosts of_;
};

}  // namespace

const ProtocolEntry protocols::simple{"Simple", simple_costs, [](const Profile& profile) -> std::unique_ptr<Protocol> {
                                        return std::make_unique<Simple>(profile.get(simple_costs));
                                      }};

}  // namespace weft::coll
