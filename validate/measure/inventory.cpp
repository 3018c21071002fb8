#include "inventory.h"

#include <algorithm>
#include <limits>

#include "clock.h"
#include "cuda_check.h"
#include "host_facts.h"

namespace weft::measure {
namespace {

void add_versions(JsonObject& machine, const Nvml& nvml) {
  int driver = 0;
  int runtime = 0;
  int nccl = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  ncclGetVersion(&nccl);
  const std::string name = nvml.driver_version();
  if (!name.empty()) machine.add("driver", name);
  machine.add("cuda_driver", driver).add("cuda_runtime", runtime).add("cublaslt", cublasLtGetVersion()).add("nccl", nccl);
}

std::string gpu_json(int index, const Nvml& nvml) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "device");
  const std::string pci = pci_of(index);
  JsonObject gpu;
  gpu.add("index", index).add("name", properties.name).add("pci", pci).add("sms", properties.multiProcessorCount);
  gpu.add("memory_bytes", properties.totalGlobalMem).add("l2_bytes", properties.l2CacheSize);
  gpu.add("compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor));
  gpu.add("copy_engines", properties.asyncEngineCount);
  const BoardFacts board = nvml.board(pci);
  const ClockReading clocks = nvml.clocks(pci);
  if (board.max_sm_mhz) gpu.add("max_sm_mhz", *board.max_sm_mhz);
  if (board.max_memory_mhz) gpu.add("max_memory_mhz", *board.max_memory_mhz);
  if (clocks.sm_mhz) gpu.add("sm_mhz", *clocks.sm_mhz);
  if (clocks.memory_mhz) gpu.add("memory_mhz", *clocks.memory_mhz);
  if (board.power_limit_w) gpu.add("power_limit_w", *board.power_limit_w);
  if (clocks.temperature_c) gpu.add("temperature_c", *clocks.temperature_c);
  if (board.nvlinks) gpu.add("nvlinks", *board.nvlinks);
  return gpu.text();
}

std::vector<std::pair<int, int>> peer_pairs(int gpus) {
  std::vector<std::pair<int, int>> pairs;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      int can = 0;
      if (from != to) check(cudaDeviceCanAccessPeer(&can, from, to), "peer access");
      if (can != 0) pairs.emplace_back(from, to);
    }
  }
  return pairs;
}

std::int64_t least_free_memory(int gpus) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (int gpu = 0; gpu < gpus; ++gpu) {
    std::size_t available = 0;
    std::size_t total = 0;
    check(cudaSetDevice(gpu), "device");
    check(cudaMemGetInfo(&available, &total), "device memory");
    least = std::min(least, available);
  }
  return static_cast<std::int64_t>(least);
}

}  // namespace

Inventory take_inventory(bool with_hostname) {
  int gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&gpus);
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
  if (gpus == 0) throw std::runtime_error("CUDA sees no device");
  const Nvml nvml;
  Inventory inventory;
  inventory.node = {.gpus = gpus, .peers = peer_pairs(gpus), .memory_bytes = least_free_memory(gpus)};
  JsonObject machine;
  add_host_facts(machine, with_hostname);
  add_versions(machine, nvml);
  std::vector<std::string> boards;
  for (int gpu = 0; gpu < gpus; ++gpu) boards.push_back(gpu_json(gpu, nvml));
  machine.add_raw("gpus", json_array(boards)).add("peer_access", inventory.node.peers);
  inventory.machine = machine.text();
  return inventory;
}

}  // namespace weft::measure
