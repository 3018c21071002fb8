#include "sim/network/fabric_memory.h"

#include "sim/core/fair_share.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {

FabricMemory fabric_memory(Fidelity fidelity) {
  if (!has_packets(fidelity)) {
    return {.port = FlowFabric::kPortBytes, .usage = FlowFabric::kUsageBytes, .transfer = FlowFabric::kTransferBytes};
  }
  return {.port = PacketNetwork::kPortBytes,
          .usage = sizeof(Usage),
          .transfer = Transport::kQueuePairBytes,
          .message = Transport::kMessageBytes,
          .packet = PacketNetwork::kPacketBytes};
}

}  // namespace weft::net
