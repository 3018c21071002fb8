#include "sim/network/nic_transport.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "sim/core/config/defaults.h"
#include "sim/core/config/reading_watch.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"

namespace weft::net {
namespace {

// The label of a NIC that carries the name.
constexpr std::string_view kTransport = "transport";

void set_label(Labels& labels, std::string_view key, std::string_view value) {
  for (auto& [name, text] : labels) {
    if (name != key) continue;
    text = value;
    return;
  }
  labels.emplace_back(key, value);
}

}  // namespace

const Registry<NicTransport>& nic_transports() {
  static const Registration<NicTransport>* const kBuiltin[] = {
#define WEFT_NIC_TRANSPORT(name) &name,
#include "sim/network/builtin.def"
  };
  static const Registry<NicTransport> registry{"NIC transport", kBuiltin};
  return registry;
}

const NicTransport* find_nic_transport(std::string_view name) {
  static const auto made = [] {
    std::map<std::string_view, std::unique_ptr<NicTransport>> all;
    for (const Registration<NicTransport>* entry : nic_transports().entries())
      all.emplace(entry->name, make_with_defaults(*entry));
    return all;
  }();
  const auto found = made.find(name);
  return found == made.end() ? nullptr : found->second.get();
}

std::string read_nic(ParamReader& nic, HostTemplate& host) {
  const std::string name = nic.optional<std::string>("transport", "");
  note_names(nic.node().child_path("transport"), nic_transports().names());
  const std::optional<Bandwidth> speed = nic.optional<Bandwidth>("speed", positive);
  nic.finish();
  const NicTransport* transport = find_nic_transport(name);
  if (nic.has("transport") && transport == nullptr) {
    nic.error("transport", nic_transports().unknown(name), nic_transports().note(name));
    return {};
  }
  if (host.of_kind(DeviceKind::kNic).empty()) nic.error_here(fmt::format("node template '{}' has no NIC", host.name));
  for (const std::uint32_t index : host.of_kind(DeviceKind::kNic)) {
    Labels& labels = host.devices[index].labels;
    if (speed) set_label(labels, "speed", to_string(*speed));
    if (transport == nullptr) continue;
    set_label(labels, kTransport, name);
    if (!transport->plans_with.empty()) set_label(labels, "latency", transport->plans_with);
    if (!transport->gpu_direct) set_label(labels, "gdr", "false");
  }
  if (transport != nullptr && !transport->uncalibrated.empty()) {
    nic.warning("transport", fmt::format("no measurement calibrates '{}': {}", name, transport->uncalibrated));
  }
  return name;
}

std::string_view default_nic_transport(std::string_view link_type) {
  return link_type == ethernet.name ? roce_transport.name : ib_transport.name;
}

std::string_view nic_transport_of(const Topology& topology, DeviceId device) {
  std::string_view name;
  std::string_view link_type;
  if (const std::int32_t at = topology.host_of(device); at >= 0) {
    const auto host = static_cast<std::size_t>(at);
    for (const std::uint32_t nic : topology.template_of_host(host).of_kind(DeviceKind::kNic)) {
      const DeviceId self = topology.device_of(host, nic);
      if (name.empty()) name = label_of(topology.labels(self), kTransport);
      const auto uplinks = topology.uplinks(self);
      if (link_type.empty() && !uplinks.empty()) link_type = topology.spec(uplinks.front()).type;
    }
  }
  return name.empty() ? default_nic_transport(link_type) : name;
}

NicCosts nic_costs(const Topology& topology, DeviceId device, const Profile& profile) {
  const NicTransport* transport = find_nic_transport(nic_transport_of(topology, device));
  WEFT_CHECK(transport != nullptr);
  return transport->costs(profile);
}

}  // namespace weft::net
