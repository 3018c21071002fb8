#include "sim/network/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/config/reading_watch.h"
#include "sim/core/config/shipped_file.h"
#include "sim/core/memory.h"
#include "sim/network/builtin.h"
#include "sim/network/gpu_spec.h"
#include "sim/network/link_type.h"
#include "sim/network/nic_transport.h"
#include "sim/network/node_template.h"
#include "sim/network/packet_settings_reader.h"
#include "sim/network/topology_shape.h"
#include "sim/network/uec_reader.h"
#include "sim/network/wiring.h"

namespace weft::net {
namespace {

// Bytes of a device and of a directed link of a frozen topology, with their rows in the graph.
constexpr double kDeviceBytes = 24;
constexpr double kLinkBytes = 40;
// The program itself takes as much: whoever reads a small cluster is not asked what the machine has left.
constexpr double kAlwaysLeft = 16 << 20;

std::string size_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

struct LoadedProfile {
  Profile profile;
  ConfigNode node;  // null: there is none
};

LoadedProfile load_profile(ParamReader& params, const LoadOptions& options, const ParamGroups& groups) {
  const std::optional<ConfigNode> named = params.optional_raw("profile");
  try {
    if (options.profile) {
      ConfigNode node = ConfigNode::load_file(file_or_shipped(*options.profile, "profiles"), "profile");
      return {Profile::from_node(node, groups), node};
    }
    if (named) {
      ConfigNode node = load_reference(*named);
      return {Profile::from_node(node, groups), node};
    }
  } catch (const ConfigError& error) {
    params.diagnostics().absorb(error);
  }
  return {Profile::defaults(groups), {}};
}

struct NamedTemplate {
  ConfigNode node;  // the map with devices and links; null after an error
  std::string name;
};

// A template named in `type`.
NamedTemplate find_template(const ConfigNode& type, Diagnostics& diagnostics) {
  const std::string& name = type.scalar();
  if (!type.is_scalar() || name.empty()) {
    report(diagnostics, type, fmt::format("expected the name of a node template, got {}", found_text(type)));
    return {};
  }
  try {
    if (name.ends_with(".yaml") || name.ends_with(".yml") || name.find('/') != std::string::npos) {
      return {load_reference(type), std::filesystem::path{name}.stem().string()};
    }
    const std::filesystem::path beside = std::filesystem::path{type.file()}.parent_path() / ".." / "nodes";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(beside / (name + ".yaml"), ignored)) {
      return {ConfigNode::load_file((beside / (name + ".yaml")).lexically_normal(), "node"), name};
    }
    if (const auto shipped = find_config(std::filesystem::path{"nodes"} / (name + ".yaml"))) {
      return {ConfigNode::load_file(*shipped, "node"), name};
    }
    std::vector<std::filesystem::path> folders{beside};
    for (const std::filesystem::path& folder : config_folders()) folders.push_back(folder / "nodes");
    report(diagnostics, type, fmt::format("unknown node template '{}'", name),
           did_you_mean(name, yaml_stems(folders), "templates here") + "; one of your own is a file: node: mine.yaml");
  } catch (const ConfigError& error) {
    diagnostics.absorb(error);
  }
  return {};
}

NamedTemplate resolve_template(ParamReader& params) {
  const ConfigNode written = params.raw("node");
  if (written.is_null()) return {};
  if (written.is_scalar()) return find_template(written, params.diagnostics());
  if (const auto type = written.find("type"); written.is_map() && type) {
    ParamReader named{written, params.diagnostics()};
    static_cast<void>(named.raw("type"));
    named.finish();
    return find_template(*type, params.diagnostics());
  }
  return {written, "node"};
}

// A map laid over a map merges, so {type: ...} goes first.
ConfigNode with_template(const ConfigNode& cluster, const ConfigNode& written) {
  return cluster.with_override("node", "null", "resolved").with_value("node", written);
}

// Puts the text of GPUs' files in place of the paths that a template names them by.
ConfigNode with_gpus_of_files(ConfigNode cluster) {
  const std::optional<ConfigNode> devices = cluster.find("node")->find("devices");
  for (std::size_t i = 0; devices && i < devices->size(); ++i) {
    const std::optional<ConfigNode> model = (*devices)[i].find("model");
    if (!model || !model->is_scalar() || !model->scalar().ends_with(".yaml")) continue;
    cluster = cluster.with_value(fmt::format("node.devices[{}].model", i), load_reference(*model));
  }
  return cluster;
}

struct FabricSpec {
  std::unique_ptr<TopologyShape> shape;
  std::string type;
  LinkSpec link;
  LinkSpec uplink;
  Forwarding forwarding;
  std::string routing = "ecmp";
  SwitchReduction reduction;
  PacketSettings packet;
};

// `nic`: the transport of hosts' NICs; empty: that of the link's type.
FabricSpec read_fabric(ParamReader& fabric, std::string_view nic, const Profile& profile) {
  FabricSpec read;
  read.type = fabric.required<std::string>("type");
  note_names(fabric.node().child_path("type"), topology_shapes().names());
  const Registration<TopologyShape>* entry = topology_shapes().find(read.type);
  if (entry == nullptr) {
    // The type decides which keys there are, so the others are let pass.
    if (!read.type.empty()) fabric.error("type", topology_shapes().unknown(read.type), topology_shapes().note(read.type));
    for (const std::string& key : fabric.node().keys()) static_cast<void>(fabric.optional_raw(key));
    fabric.finish();
    return read;
  }
  read.shape = entry->make(fabric);

  const auto read_link = [&](ParamReader link) {
    const bool states_share = link.node().find("efficiency").has_value();
    LinkSpec spec = read_link_spec(link, profile);
    link.finish();
    const NicTransport* transport = find_nic_transport(nic.empty() ? default_nic_transport(spec.type) : nic);
    if (!states_share && transport != nullptr) spec.efficiency *= transport->costs(profile).rate_share;
    return spec;
  };
  std::string link_type;
  if (!read.shape->states_links() || fabric.has("link")) {
    read.link = read_link(fabric.map("link"));
    link_type = read.link.type;
  } else if (const auto links = fabric.node().find("links"); links && links->is_list() && links->size() > 0) {
    if (const auto type = (*links)[0].find("type")) link_type = type->scalar();
  }
  read.uplink = fabric.has("uplink") ? read_link(fabric.map("uplink")) : read.link;
  if (const auto stated = fabric.node().find("routing"); stated && stated->is_map()) {
    ParamReader routing = fabric.map("routing");
    static_cast<void>(read_routing_policy(routing));
    read.routing = stated->to_json();
    if (const auto by = stated->find("weights");
        by && by->is_scalar() && by->scalar() == "links" && !read.shape->states_links()) {
      fabric.error("routing", "only links of a custom fabric state a weight", "weights: capacity goes by what links carry");
    }
  } else {
    const auto policies = routing_policies().names();
    read.routing = fabric.choice("routing", {policies.begin(), policies.end()}, default_routing(fabric.node()));
  }

  const LinkType* type = find_link_type(link_type);
  ParamReader forwarding = fabric.map_or_empty("switch");
  read.forwarding.latency =
      forwarding.optional<Duration>("latency", type == nullptr ? Duration{} : type->switch_latency(profile));
  read.forwarding.store_and_forward =
      forwarding.choice<bool>("forwarding", {{"cut_through", false}, {"store_and_forward", true}}, false);
  read.forwarding.header = forwarding.optional<Bytes>("header", Bytes{64}, at_least(Bytes{1}));
  if (std::optional<ParamReader> sharp = fabric.optional_map("sharp")) {
    read.reduction.rate = sharp->optional<Bandwidth>("rate", Bandwidth{}, positive);
    read.reduction.latency = sharp->optional<Duration>("latency", Duration{});
    sharp->finish();
  }
  read.packet = read_packet_settings(fabric, forwarding);
  check_routing(fabric, read.routing, read.packet.transport);
  forwarding.finish();
  fabric.finish();
  return read;
}

// Refuses what is too large, by counts alone.
void check_size(ParamReader& params, std::int64_t nodes, const HostTemplate& host, const FabricSize& fabric) {
  const auto gpus = static_cast<std::int64_t>(host.of_kind(DeviceKind::kGpu).size());
  // In double: the product of what a file may say does not fit 64 bits.
  const double count = static_cast<double>(nodes);
  const double devices = count * static_cast<double>(host.devices.size()) + static_cast<double>(fabric.switches);
  const double links = count * static_cast<double>(host.links.size()) + 2 * static_cast<double>(fabric.cables);
  const double bytes = devices * kDeviceBytes + links * kLinkBytes;
  const std::string memory = size_text(bytes);
  if (nodes > kMaxNodes) {
    params.error("nodes", fmt::format("{} nodes are over the limit of {}; their topology would take about {} of memory", nodes,
                                      kMaxNodes, memory));
  } else if (gpus > 0 && nodes > kMaxGpus / gpus) {
    params.error("nodes",
                 fmt::format("{} nodes of {} GPUs are over the limit of {} GPUs; their topology would take about {} of "
                             "memory",
                             nodes, gpus, kMaxGpus, memory));
  } else if (fabric.switches > kMaxFabricSwitches) {
    params.error("fabric", fmt::format("{} switches are over the limit of {}; the topology would take about {} of memory",
                                       fabric.switches, kMaxFabricSwitches, memory));
  } else if (links > static_cast<double>(kMaxLinks)) {
    params.error("nodes", fmt::format("{:.0f} links are over the limit of {}; the topology would take about {} of memory",
                                      links, kMaxLinks, memory));
  } else if (bytes < kAlwaysLeft) {
    return;
  } else if (const auto left = available_memory(); left && bytes > static_cast<double>(*left)) {
    params.error("nodes", fmt::format("the topology would take about {} of memory, and {} are left on this machine", memory,
                                      size_text(static_cast<double>(*left))));
  }
}

// A NIC that is slower than the cable it is given would send faster than it can.
void warn_about_nic_speed(ParamReader& params, const HostTemplate& host, const LinkSpec& link) {
  for (const std::uint32_t index : host.of_kind(DeviceKind::kNic)) {
    const TemplateDevice& nic = host.devices[index];
    for (const auto& [key, value] : nic.labels) {
      const auto speed = key == "speed" ? parse_bandwidth(value) : std::nullopt;
      if (!speed || *speed >= link.rate) continue;
      params.warning("fabric", fmt::format("links of {} join '{}' of {}; the links' rate counts", to_string(link.rate),
                                           nic.name, to_string(*speed)));
      return;
    }
  }
}

void check_reachable(const Topology& topology, const ConfigNode& node, Diagnostics& diagnostics) {
  const std::vector<DeviceId>& endpoints = topology.endpoints();
  if (endpoints.size() < 2) return;
  const std::vector<bool> reached = topology.reachable_from(endpoints.front());
  std::string names;
  std::size_t count = 0;
  std::optional<DeviceId> first;
  for (const DeviceId endpoint : endpoints) {
    if (reached[endpoint.index()]) continue;
    if (!first) first = endpoint;
    if (++count <= 8) names += (names.empty() ? "" : ", ") + topology.name(endpoint);
  }
  if (!first) return;
  if (count > 8) names += fmt::format(" and {} more", count - 8);
  const std::string path = node.path().empty() ? "cluster" : node.path();
  const std::string message =
      fmt::format("{}: disconnected GPUs: no path from {} to {}", path, topology.name(endpoints.front()), names);
  // In the inside of a host where one host falls apart, otherwise in the fabric.
  const bool inside = topology.host_of(*first) == topology.host_of(endpoints.front());
  const std::optional<ConfigNode> cause = node.find(inside ? "node" : "fabric");
  diagnostics.error(cause ? cause->key_diagnostic(message) : node.diagnostic(message));
}

std::map<std::string, std::string> read_nccl(ParamReader& params) {
  std::map<std::string, std::string> settings;
  const std::optional<ConfigNode> written = params.optional_raw("nccl");
  if (!written) return settings;
  if (!written->is_map()) {
    report(params.diagnostics(), *written, fmt::format("expected a map of NCCL settings, got {}", found_text(*written)));
    return settings;
  }
  const std::vector<std::string> keys = written->keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ConfigNode value = (*written)[i];
    if (!value.is_scalar()) {
      report(params.diagnostics(), value, fmt::format("expected a single value, got {}", found_text(value)));
      continue;
    }
    const std::string key = keys[i].starts_with("NCCL_") ? keys[i].substr(5) : keys[i];
    if (!settings.emplace(key, value.scalar()).second) {
      params.diagnostics().error(value.key_diagnostic(fmt::format("{}: NCCL_{} is set twice", value.path(), key)));
    }
  }
  return settings;
}

// The hosts, and the fabric that joins their ports.
void build(TopologyBuilder& builder, const FabricSpec& fabric, const FabricDemand& demand) {
  const std::uint32_t host_template = builder.add_template(*demand.host);
  for (std::int64_t i = 0; i < demand.nodes; ++i) builder.add_host(host_template);
  if (fabric.shape == nullptr || demand.rails == 0 || (demand.nodes == 1 && !fabric.shape->states_links())) return;
  const bool stated = fabric.link.type.empty();
  const std::uint32_t link = stated ? 0 : builder.add_spec(fabric.link);
  const std::uint32_t uplink = stated ? 0 : builder.add_spec(fabric.uplink);
  FabricSite site{builder, demand, link, uplink, fabric.forwarding};
  fabric.shape->build(site);
  builder.set_switch_reduction(fabric.reduction);
}

}  // namespace

ConfigNode with_template_for(const ConfigNode& cluster, std::span<const std::string> key_paths) {
  const bool reaches_in = std::ranges::any_of(
      key_paths, [](const std::string& path) { return path.starts_with("node.") && !path.starts_with("node.type"); });
  const std::optional<ConfigNode> written = cluster.find("node");
  if (!reaches_in || !written) return cluster;
  const std::optional<ConfigNode> type = written->is_map() ? written->find("type") : written;
  if (!type) return cluster;
  Diagnostics diagnostics;
  const NamedTemplate named = find_template(*type, diagnostics);
  diagnostics.throw_if_any();
  return with_template(cluster, named.node);
}

std::optional<Cluster> read_cluster(const ConfigNode& node, const LoadOptions& options, Diagnostics& diagnostics) {
  ParamReader params{node, diagnostics};
  if (!node.is_map()) return std::nullopt;
  static_cast<void>(params.choice("kind", {"cluster"}, "cluster"));
  static_cast<void>(params.choice("ci", {"run", "check_only"}, "run"));
  std::string name = params.optional<std::string>("name", std::filesystem::path{node.file()}.stem().string());
  std::string description = params.optional<std::string>("description", "");
  const ParamGroups groups = options.groups.empty() ? network_param_groups() : options.groups;
  LoadedProfile loaded = load_profile(params, options, groups);
  const Profile& profile = loaded.profile;
  std::map<std::string, std::string> nccl = read_nccl(params);

  // Errors above say nothing of devices and links, those from here on do.
  const std::size_t errors_before = diagnostics.errors().size();
  const auto is_known = [&] { return diagnostics.errors().size() == errors_before; };
  const std::int64_t nodes = params.optional<std::int64_t>("nodes", 1, at_least(1));
  TopologyBuilder builder;
  const NamedTemplate named = resolve_template(params);
  HostTemplate host;
  if (!named.node.is_null()) host = read_node_template(named.node, named.name, profile, builder, diagnostics);
  std::shared_ptr<const GpuSpec> gpu;
  if (const std::optional<ConfigNode> written = params.optional_raw("gpu")) {
    gpu = read_gpu(*written, diagnostics);
    if (gpu != nullptr) replace_gpus(host, gpu);
    if (is_known() && host.of_kind(DeviceKind::kGpu).empty()) {
      params.error("gpu", fmt::format("node template '{}' has no GPUs", host.name));
    }
  }

  std::string transport;
  if (std::optional<ParamReader> nic = params.optional_map("nic")) transport = read_nic(*nic, host);

  FabricSpec fabric;
  if (std::optional<ParamReader> reader = params.optional_map_or_file("fabric")) {
    fabric = read_fabric(*reader, transport, profile);
  } else if (nodes > 1) {
    params.error("nodes", fmt::format("{} nodes need a fabric to join them", nodes));
  }
  params.finish();
  if (!is_known()) return std::nullopt;

  check_size(params, nodes, host, {});
  if (!is_known()) return std::nullopt;
  const FabricDemand demand{
      .nodes = nodes, .rails = static_cast<std::int64_t>(fabric_ports(host).size()), .host = &host, .profile = &profile};
  if (fabric.shape != nullptr) {
    if (demand.rails == 0 && (nodes > 1 || fabric.shape->states_links())) {
      params.error("fabric", fmt::format("node template '{}' has no NIC to join a fabric with", host.name));
      return std::nullopt;
    }
    if (demand.rails > 0) {
      const FabricSize size = fabric.shape->plan(demand, diagnostics);
      check_size(params, nodes, host, size);
      if (!fabric.link.type.empty()) warn_about_nic_speed(params, host, fabric.link);
    }
    if (!is_known()) return std::nullopt;
  }

  build(builder, fabric, demand);
  Topology topology = std::move(builder).freeze();
  check_reachable(topology, node, diagnostics);
  if (const auto written = node.find("fabric")) place_own_settings(*written, topology, diagnostics, fabric.packet);

  ConfigNode resolved = with_gpus_of_files(with_template(node, named.node));
  if (gpu != nullptr) resolved = resolved.with_override("gpu", "null", "resolved").with_value("gpu", gpu->node);
  if (!loaded.node.is_null()) {
    resolved = resolved.with_override("profile", "null", "resolved").with_value("profile", loaded.node);
  }
  return Cluster{.name = std::move(name),
                 .description = std::move(description),
                 .topology = std::move(topology),
                 .profile = std::move(loaded.profile),
                 .routing = std::move(fabric.routing),
                 .packet = std::move(fabric.packet),
                 .nccl = std::move(nccl),
                 .resolved = std::move(resolved)};
}

Cluster load_cluster(const ConfigNode& node, const LoadOptions& options, Diagnostics& diagnostics) {
  std::optional<Cluster> cluster = read_cluster(node, options, diagnostics);
  diagnostics.throw_if_any();
  return std::move(*cluster);
}

Cluster load_cluster(const std::filesystem::path& file, const LoadOptions& options, Diagnostics& diagnostics) {
  return load_cluster(ConfigNode::load_file(file, "cluster"), options, diagnostics);
}

}  // namespace weft::net
