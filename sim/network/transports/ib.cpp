// NCCL's own IB plugin over InfiniBand: RDMA writes into the receiver's buffer (models/nccl §6.4).
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/nic_transport.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr NicCosts kIb{.ll_latency = 4'600_ns, .ll128_latency = 6'800_ns, .simple_latency = 10_us};

constexpr NicOrigins kIbOrigins{
    .ll = {.source = ParamSource::kFitted,
           .reference =
               "fitted to five sizes of 128 B to 128 KiB on two nodes of 8 H100 "
               "(validate/published/all_reduce/h100_2_nodes.txt); NCCL's own plans have 2.7 to 5 us (models/nccl §6.3)",
           .gpu = "H100"},
    .ll128 = {.source = ParamSource::kFitted,
              .reference =
                  "fitted to 256 KiB to 1 MiB on four nodes of 8 H100 (validate/published/all_reduce/h100_4_nodes.txt): from "
                  "compute capability 9.0 on a fence reaches the system before the proxy is told (NCCL 2.28, "
                  "src/device/prims_ll128.h), on older GPUs the device, where NCCL plans with 4 us (models/nccl §5.1)",
              .gpu = "H100"},
    .simple = {.source = ParamSource::kLiterature, .reference = "models/nccl §5.1: what NCCL's own tuning plans with"},
    .message = {.reference = "part of the latencies"},
    .rate = {.reference = "headers are all that is lost"}};

const auto ib_group = nic_group<kIb>("ib", "InfiniBand, by NCCL's own plugin", kIbOrigins);

}  // namespace

const Registration<NicTransport> ib_transport{
    .name = "ib",
    .summary = "InfiniBand, by NCCL's own plugin; the default",
    .make = [](ParamReader&) -> std::unique_ptr<NicTransport> {
      return std::make_unique<NicTransport>(
          NicTransport{.called = "InfiniBand", .group = &ib_group, .costs = &read_nic_costs<ib_group>});
    },
    .model = kNicTransportText,
};

}  // namespace weft::net
