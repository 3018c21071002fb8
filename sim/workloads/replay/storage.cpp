#include "sim/workloads/replay/storage.h"

#include <fmt/format.h>

#include <optional>

#include "sim/core/error.h"

namespace weft::work {
namespace {

constexpr std::int32_t kAllHosts = -1;

Bandwidth rate_of(const StorageRates& rates, std::uint16_t slot) { return (slot & kInwards) != 0 ? rates.read : rates.write; }

void require(bool has, const char* what) {
  if (!has) throw ConfigError(fmt::format("a program that uses {} needs workload.storage.{}", what, what));
}

}  // namespace

ResourceId StorageDevices::resource(const std::string& name, std::int32_t host, std::uint16_t slot, Bandwidth rate) {
  const auto key = static_cast<std::uint16_t>(slot & ~kGpuDirect);
  const auto [at, is_new] = resources_.try_emplace({host, key});
  if (is_new) {
    at->second = machine_.fabric.add_resource(fmt::format("{} {}", name, (slot & kInwards) != 0 ? "read" : "write"),
                                              rate.bytes_per_ps());
  }
  return at->second;
}

void StorageDevices::load_host(OpKind kind, std::uint16_t slot, DeviceId gpu, net::Footprint& loads) {
  const std::int32_t host = machine_.topology.host_of(gpu);
  if (kind == OpKind::kCopy || (slot & kGpuDirect) != 0) {
    const std::optional<DeviceId> memory = host < 0 ? std::nullopt : machine_.router.host_memory(gpu);
    if (!memory) {
      throw ConfigError(fmt::format("copies to and from {} need a CPU in its node", machine_.topology.name(gpu)));
    }
    const bool inwards = (slot & kInwards) != 0;
    loads.couple(inwards ? machine_.router.route(*memory, gpu, {}) : machine_.router.route(gpu, *memory, {}));
  }
  if (kind == OpKind::kCopy) return;
  const bool shared = (slot & kFileSystem) != 0;
  if (shared && storage_.per_node == Bandwidth{}) return;
  if (!shared) require(storage_.local.exists(), "local");
  const ResourceId at = shared ? resource(fmt::format("host {} to file system", host), host, slot, storage_.per_node)
                               : resource(fmt::format("host {} storage", host), host, slot, rate_of(storage_.local, slot));
  net::Footprint share;
  share.usages = {{at, 1.0}};
  loads.couple(share);
}

void StorageDevices::load_file_system(std::uint16_t slot, double ranks, net::Footprint& loads) {
  require(storage_.file_system.exists(), "file_system");
  net::Footprint share;
  share.usages = {{resource("file system", kAllHosts, slot, rate_of(storage_.file_system, slot)), ranks}};
  loads.couple(share);
}

}  // namespace weft::work
