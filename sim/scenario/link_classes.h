// By which class of links communication went that a GPU waited for: inside its node or between nodes.
//
// Model: an axis of parallelism (tensor, data, ...) counts as the slowest class that any of its groups crosses: tensor
// parallelism over two nodes is all network, though most of its bytes stay on NVLink.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/core/units.h"
#include "sim/scenario/training_run.h"
#include "sim/workloads/training/training.h"

namespace weft::scenario {

enum class LinkClass : std::uint8_t { kNvlink, kPcie, kNetwork };
inline constexpr std::size_t kLinkClasses = 3;
[[nodiscard]] std::string_view to_string(LinkClass link_class);  // "NVLink", "PCIe", "network"

using ByLinkClass = std::array<Duration, kLinkClasses>;

// Returns the class that joins the GPUs of a node: NVLink (or Infinity Fabric) where the first one has such a link, else PCIe.
[[nodiscard]] LinkClass node_class(const net::Topology& topology);

// Averages over all ranks in the last iteration of a training step of this plan on this cluster.
[[nodiscard]] ByLinkClass exposed_by_link(const work::TrainingSetup& setup, const net::Topology& topology,
                                          const TrainingResult& result);

}  // namespace weft::scenario
