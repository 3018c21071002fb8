// NCCL's kernel of sends and receives: LL, or slices as in Simple that a receiver takes out of its own memory.
#include <memory>
#include <utility>
#include <vector>

#include "sim/collectives/nccl/p2p_plan.h"
#include "sim/collectives/protocols/protocol_params.h"

namespace weft::coll {
namespace {

using namespace literals;

constexpr Origin kHostSend{.source = ParamSource::kFitted,
                           .reference =
                               "send/recv through host memory on 2 x H200 (validate/measured/h200x2_full.jsonl): 128 KiB 20.5 "
                               "us, 128 MiB at 21.1 GB/s",
                           .gpu = "H200"};
constexpr Origin kDirect{.source = ParamSource::kFitted,
                         .reference = "send/recv with 1 to 16 channels on 2 x H200 (validate/measured/h200x2_full.jsonl)",
                         .gpu = "H200"};

struct P2pCosts : SliceCosts {
  P2pCosts();
  double direct_cost = 0.42;     // StepCosts::direct
  Duration ll_latency = 600_ns;  // more of LL's base_latency
};

P2pCosts::P2pCosts()
    : SliceCosts{{.base_latency = 5'800_ns,
                  .hop_latency = 800_ns,
                  .host_hop_latency = 1'300_ns,
                  .net_hop_latency = 10_us,
                  .host_read = 550_ns,
                  .channel_rate = gigabytes(41),
                  .receive_cost = 0.1,
                  .source_cost = 0.24,
                  .store_cost = 0.33},
                 800_ns,
                 200_ns,
                 2_us} {}

std::vector<Param<P2pCosts>> p2p_params() {
  std::vector<Param<P2pCosts>> params = protocol_params<P2pCosts>(kDirect);
  add_slices(params);
  cite(params, {"host_hop_latency", "store_cost"}, kHostSend);
  params.push_back(ratio<P2pCosts>("direct_cost", &P2pCosts::direct_cost, kDirect,
                                   "of what a peer over NVLink stores, where ports are busy, in place of store_cost"));
  params.push_back(latency<P2pCosts>("ll_latency", &P2pCosts::ll_latency, kLlSteps, "more of LL's base_latency in send/recv"));
  return params;
}

const ParamGroup<P2pCosts> p2p_costs{"collectives.p2p", "NCCL's send/recv kernel", p2p_params()};

class SendRecv final : public Protocol {
 public:
  SendRecv(const P2pCosts& of, std::unique_ptr<Protocol> ll) : of_{of}, ll_{std::move(ll)} {}

  void add(const KernelBlock& block, StepCosts& costs) const override {
    if (block.protocol == protocols::ll.name) {
      ll_->add(block, costs);
      costs.start += of_.ll_latency;
      return;
    }
    of_.add_to(costs);
    costs.far_wait = Duration::whole_ps(block.far_ps);
    constexpr std::int64_t kLoadBytesPerWarp = 4 * 16 * 32;  // four loads of 16 bytes by each thread (models/nccl §4.1)
    costs.host_pass = Bytes{block.used_warps(nccl::kP2pWarps) * kLoadBytesPerWarp};
    costs.direct = of_.direct_cost;
  }

 private:
  P2pCosts of_;
  std::unique_ptr<Protocol> ll_;
};

}  // namespace

const ProtocolEntry protocols::sendrecv{"send/recv", p2p_costs, [](const Profile& profile) -> std::unique_ptr<Protocol> {
                                          return std::make_unique<SendRecv>(profile.get(p2p_costs),
                                                                            protocols::ll.make(profile));
                                        }};

}  // namespace weft::coll
