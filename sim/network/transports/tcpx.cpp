// GPUDirect-TCPX of Google: NCCL's sockets, with data received into GPU memory.
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/nic_transport.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr NicCosts kTcpx{
    .ll_latency = 18'500_ns, .ll128_latency = 18'500_ns, .simple_latency = 18'500_ns, .message_cost = 8'370_ns};

constexpr Origin kTcpxFit{.reference = "as tcpxo, which is the same interface of a newer NIC"};
constexpr NicOrigins kTcpxOrigins{.ll = kTcpxFit,
                                  .ll128 = kTcpxFit,
                                  .simple = kTcpxFit,
                                  .message = kTcpxFit,
                                  .rate = {.reference = "headers are all that is lost"}};

const auto tcpx_group = nic_group<kTcpx>("tcpx", "GPUDirect-TCPX", kTcpxOrigins);

}  // namespace

const Registration<NicTransport> tcpx_transport{
    .name = "tcpx",
    .summary = "GPUDirect-TCPX of Google (A3 High)",
    .make = [](ParamReader&) -> std::unique_ptr<NicTransport> {
      return std::make_unique<NicTransport>(NicTransport{.called = "TCPX",
                                                         .group = &tcpx_group,
                                                         .costs = &read_nic_costs<tcpx_group>,
                                                         .uncalibrated = "small messages may take half or twice as long"});
    },
    .model = kNicTransportText,
};

}  // namespace weft::net
