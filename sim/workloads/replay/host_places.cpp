#include "sim/workloads/replay/host_places.h"

#include <algorithm>

namespace weft::work {
namespace {

using net::DeviceKind;

constexpr std::uint32_t kEndOfRing = 0xFFFF'FFFF;

}  // namespace

const HostPlaces::Standing& HostPlaces::of(std::uint32_t host_template, std::uint32_t local) const {
  const auto [at, is_new] = standings_.try_emplace({host_template, local});
  if (is_new) at->second = find(host_template, local);
  return at->second;
}

HostPlaces::Standing HostPlaces::find(std::uint32_t host_template, std::uint32_t local) const {
  const net::HostTemplate& host = topology_.host_template(host_template);
  Standing standing;
  if (host.devices[local].kind != DeviceKind::kGpu) return standing;
  auto& [switches, near, far, nics] = standing.rings;
  std::vector<std::uint32_t> kind{host_template};  // specs of links, and kinds of what they lead to
  for (const net::TemplateLink& link : host.links) {
    if (link.from != local) continue;
    const DeviceKind other = host.devices[link.to].kind;
    if (other == DeviceKind::kGpu) return standing;
    if (other == DeviceKind::kNvSwitch) switches.push_back(link.to);
    if (other == DeviceKind::kPcieSwitch || other == DeviceKind::kCpu) near.push_back(link.to);
    kind.insert(kind.end(), {static_cast<std::uint32_t>(other), link.spec});
  }
  if (switches.empty()) return standing;
  kind.push_back(kEndOfRing);
  for (const std::uint32_t beside : near) {
    if (host.devices[beside].kind != DeviceKind::kPcieSwitch) continue;
    for (const net::TemplateLink& link : host.links) {
      if (link.from != beside || host.devices[link.to].kind != DeviceKind::kCpu) continue;
      far.push_back(link.to);
      kind.push_back(link.spec);
    }
  }
  kind.push_back(kEndOfRing);
  // GPUs of one CPU may all leave by each of its NICs.
  for (const std::uint32_t beside : near) {
    for (const net::TemplateLink& link : host.links) {
      if (link.from == beside && host.devices[link.to].kind == DeviceKind::kNic) nics.push_back(link.to);
    }
  }
  const auto used = routes_.nics_of(host_template, local);
  if (nics.empty()) nics.assign(used.begin(), used.end());
  if (!used.empty()) kind.push_back(routes_.alike(host_template, local));
  kind.push_back(static_cast<std::uint32_t>(nics.size()));
  standing.kind = kinds_.try_emplace(kind, static_cast<std::int32_t>(kinds_.size())).first->second;
  return standing;
}

}  // namespace weft::work
