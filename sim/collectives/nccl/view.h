// NCCL's view of one communicator, made once for its settings: what the search found, how ranks are connected, what the tuning
// model believes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/collectives/communicator.h"
#include "sim/collectives/connection_nics.h"
#include "sim/collectives/nccl/connect.h"
#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/tuning.h"
#include "sim/core/ids.h"
#include "sim/network/topology.h"

namespace weft::coll::nccl {

// The release whose rules a communicator of these devices gets. Model: those before 2.25 were not built for sm100, and have
// there the rules of the first that was.
[[nodiscard]] NcclVersion version_on(const net::Topology& topology, std::span<const DeviceId> devices, NcclVersion asked);
// Says whose rules are used where those asked for are not; empty where they are.
[[nodiscard]] std::string release_note(const Settings& settings, NcclVersion used);

class View {
 public:
  // `devices[r]` holds rank r; all are GPUs. ConfigError as comm_info() and TuningModel have them.
  View(const net::Topology& topology, std::vector<DeviceId> devices, const Settings& settings);

  [[nodiscard]] const CommInfo& info() const { return info_; }
  [[nodiscard]] const TuningModel& model() const { return model_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }

  // Enough channels for every kernel of the communicator: collectives, NVLS, send and receive. Beyond the compute channels
  // rings and trees repeat.
  [[nodiscard]] int most_channels() const;
  [[nodiscard]] std::vector<RingOrder> rings() const;
  [[nodiscard]] std::vector<Tree> trees() const;
  [[nodiscard]] const std::shared_ptr<const ConnectionNics>& nics() const { return nics_; }

 private:
  Settings settings_;
  CommInfo info_;
  Connections connections_;
  std::shared_ptr<const ConnectionNics> nics_;
  TuningModel model_;
};

}  // namespace weft::coll::nccl
