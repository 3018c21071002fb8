// EFA of AWS: libfabric's SRD under the plugin aws-ofi-nccl, which stripes a message over the ports of a GPU.
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/nic_transport.h"

namespace weft::net {
namespace {

using namespace literals;

// The plugin tells NCCL 75 us on p5 and p5e, 35 on later ones (aws-ofi-nccl, src/platform-aws.cpp, 2daf7d30).
constexpr NicCosts kEfa{
    .ll_latency = 25'800_ns, .ll128_latency = 45'200_ns, .simple_latency = 64'200_ns, .message_cost = 1'300_ns};

constexpr Origin kEfaFit{.source = ParamSource::kFitted,
                         .reference =
                             "fitted to every fourth size of a published all-reduce of two AWS p5.48xlarge (8 H100, four EFA "
                             "ports of 100 Gb/s a GPU); one set",
                         .gpu = "H100"};
constexpr NicOrigins kEfaOrigins{.ll = kEfaFit,
                                 .ll128 = kEfaFit,
                                 .simple = kEfaFit,
                                 .message = kEfaFit,
                                 .rate = {.reference = "headers are all that is lost"}};

const auto efa_group = nic_group<kEfa>("efa", "EFA, by aws-ofi-nccl", kEfaOrigins);

}  // namespace

const Registration<NicTransport> efa_transport{
    .name = "efa",
    .summary = "EFA of AWS, by aws-ofi-nccl; a NIC is the ports of a GPU together",
    .make = [](ParamReader&) -> std::unique_ptr<NicTransport> {
      return std::make_unique<NicTransport>(
          NicTransport{.called = "EFA", .group = &efa_group, .costs = &read_nic_costs<efa_group>, .plans_with = "75"});
    },
    .model = kNicTransportText,
};

}  // namespace weft::net
