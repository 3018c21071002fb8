#include "sim/network/packet_level/packet_fabric.h"

#include <limits>

#include "sim/core/error.h"

namespace weft::net {

class PacketNetwork {};
class Transport {};

namespace {
[[noreturn]] void not_there() { throw InternalError("packet fidelity is not there"); }
}  // namespace

PacketFabric::PacketFabric(Simulator&, const Router&, const PacketSettings&, std::uint64_t) { not_there(); }
PacketFabric::~PacketFabric() = default;
ResourceId PacketFabric::add_resource(std::string, double) { not_there(); }
std::string PacketFabric::resource_name(ResourceId) const { not_there(); }
double PacketFabric::capacity(ResourceId) const { not_there(); }
std::size_t PacketFabric::resource_count() const { not_there(); }
FootprintId PacketFabric::add_footprint(Footprint) { not_there(); }
const Footprint& PacketFabric::footprint(FootprintId) const { not_there(); }
TransferId PacketFabric::post(const Transfer&, TransferListener&) { not_there(); }
void PacketFabric::fail(ResourceId) { not_there(); }
ResourceCounters PacketFabric::counters(ResourceId) const { not_there(); }
const FabricTotals& PacketFabric::totals() const { not_there(); }
void PacketFabric::check_conservation() const { not_there(); }
void PacketFabric::set_transport(FootprintId, const FlowTransport&) { not_there(); }
void PacketFabric::add_drop_rule(const DropRule&) { not_there(); }
void PacketFabric::force_pause(const ForcedPause&) { not_there(); }
void PacketFabric::inject_cnp(FootprintId, Time) { not_there(); }
PortCounters PacketFabric::port(LinkId) const { not_there(); }
void PacketFabric::reset_peaks() { not_there(); }
std::int64_t PacketFabric::queued_bytes(LinkId) const { not_there(); }
std::int64_t PacketFabric::queued_bytes(LinkId, int) const { not_there(); }
std::int64_t PacketFabric::ingress_bytes(LinkId) const { not_there(); }
FlowCounters PacketFabric::flow(FootprintId) const { not_there(); }
double PacketFabric::flow_state(FootprintId, std::string_view) const { return std::numeric_limits<double>::quiet_NaN(); }
const std::vector<PauseRecord>& PacketFabric::pauses() const { not_there(); }
std::uint64_t PacketFabric::packet_hops() const { not_there(); }
std::optional<Deadlock> PacketFabric::deadlock() const { not_there(); }
std::string PacketFabric::blocked() const { not_there(); }

}  // namespace weft::net
