// The memory of a CPU, where copies to and from its GPUs meet.
//
//   HostMemory memory{machine.fabric, profile.get(host_memory_params)};
//   memory.load(cpu, HostMemory::Way::kRead, footprint);   // of a copy from host memory: what each of its bytes takes there
//
// Model: reading and writing share one bus, r / read + w / write <= 1, whatever their pattern, and whichever of a host's CPUs a
// copy goes through, the buffer is that CPU's. Only copies load it: the buffers through which NCCL's kernels talk stay in the
// CPU's caches (4 x H200: all-reduces of 8 MiB through host memory move 245 GB/s in and out of it, where copies of 256 MiB get
// 163; validate/measured/h200x4_full.jsonl).
#pragma once

#include <map>

#include "sim/core/ids.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/network/fabric.h"
#include "sim/network/transfer.h"

namespace weft::net {

// All copies together get this much of it, each way alone; group `network.host_memory` of a profile.
struct HostMemoryRates {
  Bandwidth read = Bandwidth::from_bytes_per_second(307'200'000'000);
  Bandwidth write = Bandwidth::from_bytes_per_second(307'200'000'000);
  double pcie_share = 1 / 1.2;  // of a PCIe link's rate, what loads and stores of kernels reach there
};
extern const ParamGroup<HostMemoryRates> host_memory_params;

class HostMemory {
 public:
  enum class Way { kRead, kWrite };

  HostMemory(Fabric& fabric, const HostMemoryRates& rates) : fabric_{fabric}, rates_{rates} {}

  // Adds to `loads` what each byte takes of the memory of `cpu`.
  void load(DeviceId cpu, Way way, Footprint& loads);

 private:
  Fabric& fabric_;
  HostMemoryRates rates_;
  std::map<DeviceId, ResourceId> resources_;
};

}  // namespace weft::net
