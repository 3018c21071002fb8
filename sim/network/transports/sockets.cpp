// TCP sockets of the kernel: NCCL copies through host memory (models/nccl §6.4).
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/nic_transport.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr NicCosts kSockets{
    .ll_latency = 18'500_ns, .ll128_latency = 18'500_ns, .simple_latency = 18'500_ns, .message_cost = 8'370_ns};

constexpr Origin kSocketsFit{.reference = "as tcpxo, the slowest that is measured"};
constexpr NicOrigins kSocketsOrigins{.ll = kSocketsFit,
                                     .ll128 = kSocketsFit,
                                     .simple = kSocketsFit,
                                     .message = kSocketsFit,
                                     .rate = {.reference = "headers are all that is lost"}};

const auto sockets_group = nic_group<kSockets>("sockets", "TCP sockets, by NCCL's own plugin", kSocketsOrigins);

}  // namespace

const Registration<NicTransport> sockets_transport{
    .name = "sockets",
    .summary = "TCP sockets, by NCCL's own plugin, through host memory",
    .make = [](ParamReader&) -> std::unique_ptr<NicTransport> {
      return std::make_unique<NicTransport>(
          NicTransport{.called = "sockets",
                       .group = &sockets_group,
                       .costs = &read_nic_costs<sockets_group>,
                       .gpu_direct = false,
                       .uncalibrated = "small messages may take half or twice as long, and large ones longer"});
    },
    .model = kNicTransportText,
};

}  // namespace weft::net
