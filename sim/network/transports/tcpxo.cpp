// GPUDirect-TCPXO of Google: messages by a daemon of the host over TCP, data between NIC and GPU memory.
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/nic_transport.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr NicCosts kTcpxo{
    .ll_latency = 18'500_ns, .ll128_latency = 18'500_ns, .simple_latency = 18'500_ns, .message_cost = 8'370_ns};

constexpr Origin kTcpxoFit{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to every fourth size of a published all-reduce of two GCP a3-megagpu-8g (8 H100, 200 Gb/s a GPU); one set",
    .gpu = "H100"};
// The plugin is run in Simple only.
constexpr Origin kAsSimple{.reference = "as in Simple: Google's settings leave the plugin no other protocol"};
constexpr NicOrigins kTcpxoOrigins{.ll = kAsSimple,
                                   .ll128 = kAsSimple,
                                   .simple = kTcpxoFit,
                                   .message = kTcpxoFit,
                                   .rate = {.reference = "headers are all that is lost"}};

const auto tcpxo_group = nic_group<kTcpxo>("tcpxo", "GPUDirect-TCPXO", kTcpxoOrigins);

}  // namespace

const Registration<NicTransport> tcpxo_transport{
    .name = "tcpxo",
    .summary = "GPUDirect-TCPXO of Google (A3 Mega)",
    .make = [](ParamReader&) -> std::unique_ptr<NicTransport> {
      return std::make_unique<NicTransport>(
          NicTransport{.called = "TCPXO", .group = &tcpxo_group, .costs = &read_nic_costs<tcpxo_group>});
    },
    .model = kNicTransportText,
};

}  // namespace weft::net
