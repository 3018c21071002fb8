// NCCL's kernel of sends and receives: it runs LL or Simple, and a receiver keeps what it takes.
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

struct P2pCosts {
  Duration base_latency = 4'550_ns;      // of the kernel in Simple
  Duration ll_latency = 600_ns;          // more of LL's base_latency
  Duration host_hop_latency = 1'300_ns;  // in place of Simple's
  double direct_cost = 0.42;             // of keeping what is received, and StepCosts::direct
};

std::vector<Param<P2pCosts>> p2p_params() {
  using S = P2pCosts;
  return {
      latency<S>("base_latency", &S::base_latency, kDirect, "of a kernel, before its first step"),
      latency<S>("ll_latency", &S::ll_latency, kLlSteps, "more of LL's base_latency"),
      latency<S>("host_hop_latency", &S::host_hop_latency, kHostSend,
                 "until a peer through PCIe or host memory acts on a message, in place of Simple's"),
      ratio<S>("direct_cost", &S::direct_cost, kDirect,
               "of keeping what is received, in place of Simple's; of what a peer over NVLink stores, where ports are busy"),
  };
}

const ParamGroup<P2pCosts> p2p_costs{"collectives.p2p", "NCCL's send/recv kernel", p2p_params()};

class SendRecv final : public Protocol {
 public:
  SendRecv(const P2pCosts& of, std::unique_ptr<Protocol> ll, std::unique_ptr<Protocol> simple)
      : of_{of}, ll_{std::move(ll)}, simple_{std::move(simple)} {}

  void add(const KernelBlock& block, StepCosts& costs) const override {
    if (block.protocol == protocols::ll.name) {
      ll_->add(block, costs);
      costs.start += of_.ll_latency;
      return;
    }
    // One chunk is one slice, and channels serve peers of their own: they neither crowd nor start a step with loads of a chunk.
    KernelBlock alone = block;
    alone.warps = block.used_warps(nccl::kP2pWarps);
    alone.one_slice = true;
    alone.data.channels = 1;
    simple_->add(alone, costs);
    costs.start = of_.base_latency;
    costs.hop[static_cast<std::size_t>(Transport::kHost)] = of_.host_hop_latency;
    costs.thread_exponent = {};  // lanes share the block out for good
    costs.load_wait = {};
    costs.copy_wait = {};
    costs.memory.store = of_.direct_cost;
    costs.direct = of_.direct_cost;
  }

 private:
  P2pCosts of_;
  std::unique_ptr<Protocol> ll_;
  std::unique_ptr<Protocol> simple_;
};

}  // namespace

const ProtocolEntry protocols::sendrecv{"send/recv", p2p_costs, [](const Profile& profile) -> std::unique_ptr<Protocol> {
                                          return std::make_unique<SendRecv>(profile.get(p2p_costs), protocols::ll.make(profile),
                                                                            protocols::simple.make(profile));
                                        }};

}  // namespace weft::coll
