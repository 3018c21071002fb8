// RoCE: the IB plugin over Ethernet, and plugins that do the same.
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/nic_transport.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr NicCosts kRoce{.ll_latency = 20'300_ns, .ll128_latency = 25'500_ns, .simple_latency = 11'400_ns};

constexpr Origin kRoceFit{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to the 24 sizes of a published all-gather of two GCP A3 Ultra nodes (8 H200, 400 Gb/s RoCE a GPU, gIB)",
    .gpu = "H200"};
constexpr NicOrigins kRoceOrigins{.ll = kRoceFit,
                                  .ll128 = kRoceFit,
                                  .simple = kRoceFit,
                                  .message = {.reference = "part of the latencies"},
                                  .rate = {.reference = "headers are all that is lost"}};

const auto roce_group = nic_group<kRoce>("roce", "RoCE v2, by NCCL's own plugin or Google's gIB", kRoceOrigins);

}  // namespace

const Registration<NicTransport> roce_transport{
    .name = "roce",
    .summary = "RoCE v2 by NCCL's own plugin or one like it; the default where links are Ethernet",
    .make = [](ParamReader&) -> std::unique_ptr<NicTransport> {
      return std::make_unique<NicTransport>(
          NicTransport{.called = "RoCE", .group = &roce_group, .costs = &read_nic_costs<roce_group>});
    },
    .model = kNicTransportText,
};

}  // namespace weft::net
