// A FlowFabric tells what it held when it held most, when it ends (sim/core/memory.h).
#include "sim/core/memory.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/flow_level/rerouting.h"

namespace weft::net {

FlowFabric::~FlowFabric() {
  std::size_t on_ports = 0;
  for (const ResourceState& resource : resources_) on_ports += resource.flows.capacity() * sizeof(Entry);
  std::size_t paths = footprints_.capacity() * sizeof(Footprint) + alone_.capacity() * sizeof(double) + bundles_.shape_bytes();
  for (const Footprint& path : footprints_) {
    paths += path.usages.capacity() * sizeof(Usage) + path.paths.capacity() * sizeof(PathEnds);
  }
  note_memory(MemoryKind::kPort, {bundles_.resource_count(), resources_.capacity() * kPortBytes});
  note_memory(MemoryKind::kTransfer,
              {totals_.peak_live, flows_.capacity() * sizeof(Flow) + heap_.capacity() * sizeof(HeapEntry) + on_ports + paths});
}

}  // namespace weft::net
