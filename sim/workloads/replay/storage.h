// Where checkpoints and training data lie: drives in each node, and a file system that all nodes share.
//
// Model: storage has no latency, and a network of its own: rates of the node, of the file system and of a node's share of it
// are its only limits.
//
// Model: GPUDirect Storage loads the way between the GPU and its host's nearest CPU, where the drives are taken to be.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "sim/core/units.h"
#include "sim/network/machine.h"
#include "sim/network/transfer.h"
#include "sim/workloads/program.h"

namespace weft::work {

struct StorageRates {
  Bandwidth write = {};  // 0: there is none
  Bandwidth read = {};
  [[nodiscard]] bool exists() const { return write > Bandwidth{}; }
};

struct Storage {
  StorageRates local = {};        // of each node
  StorageRates file_system = {};  // of all nodes together
  Bandwidth per_node = {};        // of the file system, each way; 0: no limit of its own
};

// Storage as resources of a machine's fabric, added when they are first used.
class StorageDevices {
 public:
  StorageDevices(net::Machine& machine, const Storage& storage) : machine_{machine}, storage_{storage} {}

  // Adds to `loads` what each byte of a kCopy or kStorage with this slot takes on the links and storage of the GPU's host. A
  // ConfigError says what the host lacks.
  void load_host(OpKind kind, std::uint16_t slot, DeviceId gpu, net::Footprint& loads);
  // The same on the file system, of `ranks` ranks together.
  void load_file_system(std::uint16_t slot, double ranks, net::Footprint& loads);

 private:
  ResourceId resource(const std::string& name, std::int32_t host, std::uint16_t slot, Bandwidth rate);

  net::Machine& machine_;
  const Storage& storage_;
  std::map<std::tuple<std::int32_t, std::uint16_t>, ResourceId> resources_;  // by host (-1: of all) and slot
};

}  // namespace weft::work
