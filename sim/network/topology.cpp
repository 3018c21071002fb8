#include "sim/network/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <charconv>
#include <map>
#include <utility>

#include "sim/core/error.h"

namespace weft::net {

namespace {

using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property, boost::no_property,
                                               std::uint32_t, std::uint32_t>;

}  // namespace

// The frozen graph: Boost's compressed rows answer graph questions; `links` lists link ids in the same edge order, so that the
// links out of a device are one contiguous span.
struct Topology::Graph {
  Csr csr;
  std::vector<LinkId> links;
  std::vector<std::uint32_t> first_out;  // device -> first position in `links`
};

std::string_view to_string(DeviceKind kind) {
  constexpr std::string_view kNames[] = {"gpu", "nvswitch", "pcie_switch", "cpu", "nic", "switch", "host", "storage"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<std::uint32_t> HostTemplate::of_kind(DeviceKind kind) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind == kind) found.push_back(i);
  }
  return found;
}

std::optional<std::uint32_t> HostTemplate::find(std::string_view device_name) const {
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].name == device_name) return i;
  }
  return std::nullopt;
}

Topology::Topology() = default;
Topology::~Topology() = default;
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;

std::uint32_t Topology::local(DeviceId device) const {
  const std::int32_t host = host_of(device);
  WEFT_CHECK(host >= 0);
  return device.value() - hosts_[static_cast<std::size_t>(host)].first_device;
}

const Forwarding& Topology::forwarding(DeviceId device) const {
  const std::int32_t host = host_of(device);
  if (host < 0) return switches_[switch_index_[device.index()]].forwarding;
  return template_of_host(static_cast<std::size_t>(host)).devices[local(device)].forwarding;
}

const std::string* find_label(const Labels& labels, std::string_view key) {
  const auto found = std::ranges::find(labels, key, &std::pair<std::string, std::string>::first);
  return found == labels.end() ? nullptr : &found->second;
}

const Labels& Topology::labels(DeviceId device) const {
  const std::int32_t host = host_of(device);
  if (host < 0) return switches_[switch_index_[device.index()]].labels;
  return template_of_host(static_cast<std::size_t>(host)).devices[local(device)].labels;
}

const GpuSpec* Topology::gpu(DeviceId device) const {
  const std::int32_t host = host_of(device);
  return host < 0 ? nullptr : template_of_host(static_cast<std::size_t>(host)).devices[local(device)].gpu.get();
}

std::string Topology::name(DeviceId device) const {
  const std::int32_t host = host_of(device);
  if (host < 0) return switches_[switch_index_[device.index()]].name;
  const HostTemplate& host_template = template_of_host(static_cast<std::size_t>(host));
  // A bare host is its own host: "h3", not "n3.h".
  if (host_template.devices.size() == 1) return fmt::format("{}{}", host_template.devices[0].name, host);
  return fmt::format("n{}.{}", host, host_template.devices[local(device)].name);
}

std::optional<DeviceId> Topology::find(std::string_view name) const {
  const auto host_number = [&](std::string_view digits) -> std::optional<std::size_t> {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value >= hosts_.size()) return std::nullopt;
    return value;
  };
  if (const auto dot = name.find('.'); name.starts_with('n') && dot != std::string_view::npos) {
    if (const auto host = host_number(name.substr(1, dot - 1))) {
      if (const auto found = template_of_host(*host).find(name.substr(dot + 1))) return device_of(*host, *found);
    }
  }
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    if (switches_[i].name == name) return fabric_switches_[i];
  }
  if (const auto digits = name.find_first_of("0123456789"); digits != std::string_view::npos) {
    if (const auto host = host_number(name.substr(digits))) {
      const HostTemplate& host_template = template_of_host(*host);
      if (host_template.devices.size() == 1 && host_template.devices[0].name == name.substr(0, digits))
        return device_of(*host, 0);
    }
  }
  // The only host's devices may go by their short name.
  if (hosts_.size() == 1) {
    if (const auto found = templates_[hosts_[0].host_template].find(name)) return device_of(0, *found);
  }
  return std::nullopt;
}

std::string Topology::name(LinkId link) const {
  const Link& l = links_[link.index()];
  std::string text = fmt::format("{}->{}", name(l.from), name(l.to));
  int parallel = 0;
  int position = 0;
  for (const LinkId other : out_links(l.from)) {
    if (links_[other.index()].to != l.to) continue;
    if (other == link) position = parallel;
    ++parallel;
  }
  if (parallel > 1) text += fmt::format("#{}", position);
  return text;
}

std::span<const LinkId> Topology::out_links(DeviceId device) const {
  const std::uint32_t first = graph_->first_out[device.index()];
  return {graph_->links.data() + first, graph_->first_out[device.index() + 1] - first};
}

std::span<const LinkId> Topology::uplinks(DeviceId nic) const {
  // Links outside hosts are made after all links inside, so they end the device's row.
  const std::span<const LinkId> out = out_links(nic);
  const auto first = std::ranges::find_if(out, [&](LinkId link) { return host_of(links_[link.index()].to) != host_of(nic); });
  return {first, out.end()};
}

std::vector<bool> Topology::reachable_from(DeviceId from) const {
  std::vector<bool> reached(devices_.size(), false);
  std::vector<boost::default_color_type> color(devices_.size(), boost::white_color);
  const auto color_map = boost::make_iterator_property_map(color.begin(), boost::get(boost::vertex_index, graph_->csr));
  boost::breadth_first_search(graph_->csr, from.value(), boost::color_map(color_map));
  for (std::size_t i = 0; i < color.size(); ++i) reached[i] = color[i] == boost::black_color;
  return reached;
}

TopologyBuilder::TopologyBuilder() : topology_{new Topology} {}
TopologyBuilder::~TopologyBuilder() = default;

std::uint32_t TopologyBuilder::add_spec(LinkSpec spec) {
  auto& specs = topology_->specs_;
  const auto found = std::ranges::find(specs, spec);
  if (found != specs.end()) return static_cast<std::uint32_t>(found - specs.begin());
  specs.push_back(std::move(spec));
  return static_cast<std::uint32_t>(specs.size() - 1);
}

std::uint32_t TopologyBuilder::add_template(HostTemplate host_template) {
  topology_->templates_.push_back(std::move(host_template));
  return static_cast<std::uint32_t>(topology_->templates_.size() - 1);
}

std::uint32_t TopologyBuilder::add_host(std::uint32_t host_template) {
  Topology& t = *topology_;
  WEFT_CHECK(t.switches_.empty());
  const HostTemplate& tmpl = t.templates_[host_template];
  const auto host = static_cast<std::uint32_t>(t.hosts_.size());
  const auto first_device = static_cast<std::uint32_t>(t.devices_.size());
  const auto first_link = static_cast<std::uint32_t>(t.links_.size());
  t.hosts_.push_back({host_template, first_device, first_link});
  bool has_gpu = false;
  for (const TemplateDevice& device : tmpl.devices) {
    const DeviceId id = DeviceId::from_index(t.devices_.size());
    t.devices_.push_back({static_cast<std::int32_t>(host), device.kind});
    has_gpu |= device.kind == DeviceKind::kGpu;
    if (device.kind == DeviceKind::kGpu) t.endpoints_.push_back(id);
  }
  if (!has_gpu) {
    for (std::uint32_t i = 0; i < tmpl.devices.size(); ++i) {
      if (tmpl.devices[i].kind == DeviceKind::kHost) t.endpoints_.push_back(DeviceId{first_device + i});
    }
  }
  for (const TemplateLink& link : tmpl.links) {
    t.links_.push_back(
        {DeviceId{first_device + link.from}, DeviceId{first_device + link.to}, link.spec, LinkId{first_link + link.twin}});
  }
  return host;
}

DeviceId TopologyBuilder::add_switch(TemplateDevice device) {
  Topology& t = *topology_;
  const DeviceId id = DeviceId::from_index(t.devices_.size());
  t.devices_.push_back({-1, device.kind});
  t.fabric_switches_.push_back(id);
  t.switches_.push_back(std::move(device));
  return id;
}

void TopologyBuilder::set_switch_reduction(const SwitchReduction& reduction) { topology_->switch_reduction_ = reduction; }

LinkId TopologyBuilder::add_cable(DeviceId a, DeviceId b, std::uint32_t spec, bool one_way) {
  Topology& t = *topology_;
  const LinkId there = LinkId::from_index(t.links_.size());
  const LinkId back = LinkId::from_index(t.links_.size() + 1);
  t.links_.push_back({a, b, spec, back});
  t.links_.push_back({b, a, spec, there});
  if (one_way || !t.absent_.empty()) t.absent_.resize(t.links_.size(), false);
  if (one_way) t.absent_[back.index()] = true;
  return there;
}

DeviceId TopologyBuilder::device_of(std::uint32_t host, std::uint32_t local) const { return topology_->device_of(host, local); }
const HostTemplate& TopologyBuilder::template_of_host(std::uint32_t host) const { return topology_->template_of_host(host); }
std::size_t TopologyBuilder::host_count() const { return topology_->host_count(); }

Topology TopologyBuilder::freeze() && {
  Topology& t = *topology_;
  t.switch_index_.assign(t.devices_.size(), 0);
  for (std::size_t i = 0; i < t.fabric_switches_.size(); ++i)
    t.switch_index_[t.fabric_switches_[i].index()] = static_cast<std::uint32_t>(i);

  auto graph = std::make_unique<Topology::Graph>();
  graph->first_out.assign(t.devices_.size() + 1, 0);
  for (const Link& link : t.links_) ++graph->first_out[link.from.index() + 1];
  for (std::size_t i = 1; i < graph->first_out.size(); ++i) graph->first_out[i] += graph->first_out[i - 1];
  graph->links.resize(t.links_.size());
  std::vector<std::uint32_t> next(graph->first_out.begin(), graph->first_out.end() - 1);
  for (std::size_t i = 0; i < t.links_.size(); ++i) graph->links[next[t.links_[i].from.index()]++] = LinkId::from_index(i);

  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  edges.reserve(t.links_.size());
  for (const LinkId link : graph->links)
    edges.emplace_back(t.links_[link.index()].from.value(), t.links_[link.index()].to.value());
  graph->csr = Csr(boost::edges_are_sorted, edges.begin(), edges.end(), static_cast<std::uint32_t>(t.devices_.size()));
  t.graph_ = std::move(graph);
  return std::move(t);
}

}  // namespace weft::net
