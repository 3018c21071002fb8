#include "sim/network/host_memory.h"

#include <fmt/format.h>

namespace weft::net {
namespace {

constexpr const char* kChannels = "eight channels of DDR5-4800, 38.4 GB/s each, which a socket of the 4th-generation Xeon has";

Param<HostMemoryRates> rate(const char* name, Bandwidth HostMemoryRates::*member, const char* description) {
  return param<HostMemoryRates>(name, member,
                                {.min = Bandwidth::from_bytes_per_second(1'000'000'000),
                                 .max = Bandwidth::from_bytes_per_second(100'000'000'000'000),
                                 .source = ParamSource::kDatasheet,
                                 .reference = kChannels,
                                 .description = description});
}

}  // namespace

const ParamGroup<HostMemoryRates> host_memory_params{
    "network.host_memory",
    "a CPU's memory, as copies of its GPUs use it",
    {rate("read", &HostMemoryRates::read, "what all copies from it get together"),
     rate("write", &HostMemoryRates::write, "what all copies to it do"),
     param("pcie_share", &HostMemoryRates::pcie_share,
           {.unit = "ratio",
            .min = 0.1,
            .max = 1.0,
            .source = ParamSource::kLiterature,
            .reference = "models/nccl §1.2: NCCL charges PCIe links 1.2 times the flow on Intel hosts, for TLPs of 64 bytes",
            .description = "of a PCIe link's rate, what loads and stores of kernels reach in host memory"})}};

void HostMemory::load(DeviceId cpu, Way way, Footprint& loads) {
  const auto [at, is_new] = resources_.try_emplace(cpu);
  // Capacity and usage in picoseconds of the bus, a picosecond and a byte.
  if (is_new) at->second = fabric_.add_resource(fmt::format("host memory {}", cpu.value()), 1.0);
  const Bandwidth rate = way == Way::kRead ? rates_.read : rates_.write;
  Footprint share;
  share.usages = {{at->second, 1.0 / rate.bytes_per_ps()}};
  loads.couple(share);
}

}  // namespace weft::net
