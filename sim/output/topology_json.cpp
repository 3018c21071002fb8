#include "sim/output/topology_json.h"

#include <cmath>

#include "sim/core/digest.h"
#include "sim/core/json_writer.h"

namespace weft::output {
namespace {

void write_route(JsonWriter& json, const net::Topology& topology, const scenario::RouteView& route) {
  json.key("route").begin_object();
  json.field("path_class", net::to_string(route.path_class));
  json.field("latency_ns", route.footprint.latency_of(route.footprint.fill_packet).ns());
  json.field("rate_GBps", route.bytes_per_ps * 1e3);
  if (route.bottleneck.valid()) {
    json.field("bottleneck", topology.name(route.bottleneck));
  } else {
    json.null_field("bottleneck");
  }
  json.key("hops").begin_array();
  for (std::size_t hop = 0; hop < route.hops.size(); ++hop) {
    for (const scenario::RouteLink& link : route.hops[hop]) {
      const net::LinkSpec& spec = topology.spec(link.link);
      json.begin_object();
      json.field("hop", hop + 1).field("link", topology.name(link.link)).field("type", spec.type);
      json.field("rate_GBps", spec.rate.gigabytes_per_second()).field("weight", link.weight).field("usage", link.usage);
      json.end_object();
    }
  }
  json.end_array();
  json.key("footprint").begin_array();
  for (const Usage& usage : route.footprint.usages) {
    json.begin_object();
    json.field("link", topology.name(LinkId{usage.resource.value()})).field("usage", usage.usage);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::uint64_t topology_digest(const net::Topology& topology) {
  Digest digest;
  for (std::size_t i = 0; i < topology.device_count(); ++i) {
    digest.add(static_cast<std::int64_t>(topology.kind(DeviceId::from_index(i))));
  }
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const net::Link& link = topology.link(LinkId::from_index(i));
    const net::LinkSpec& spec = topology.spec(LinkId::from_index(i));
    digest.add(static_cast<std::int64_t>(link.from.value())).add(static_cast<std::int64_t>(link.to.value()));
    digest.add(spec.rate.bits_per_second()).add(spec.latency);
    digest.add(static_cast<std::int64_t>(std::llround(spec.efficiency * 1e9)));
  }
  return digest.value();
}

void write_topology(std::ostream& out, const ResultHeader& header, const net::Topology& topology,
                    const scenario::TopologySummary& summary, const scenario::RouteView* route,
                    const std::function<void(JsonWriter&)>& more) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.key("hosts").begin_array();
  for (const auto& [name, count] : summary.hosts) json.begin_object().field("node", name).field("count", count).end_object();
  json.end_array();
  json.key("devices").begin_object();
  for (const auto& [kind, count] : summary.devices) json.field(net::to_string(kind), count);
  json.end_object();
  json.key("switches").begin_array();
  for (const scenario::SwitchCount& count : summary.switches) {
    json.begin_object().field("name", count.name).field("tier", count.tier).field("count", count.switches);
    json.field("ports_used", count.ports).end_object();
  }
  json.end_array();
  json.key("links").begin_array();
  for (const scenario::CableCount& cable : summary.cables) {
    json.begin_object()
        .field("type", cable.spec.type)
        .field("width", cable.spec.width)
        .field("where", cable.in_hosts ? "host" : "fabric");
    json.field("cables", cable.cables).field("rate_GBps", cable.spec.rate.gigabytes_per_second());
    json.field("payload_GBps", cable.spec.capacity() * 1e3).field("latency_ns", cable.spec.latency.ns()).end_object();
  }
  json.end_array();
  json.field("endpoints", summary.endpoints).field("all_devices", summary.all_devices).field("all_cables", summary.all_cables);
  if (route != nullptr) write_route(json, topology, *route);
  if (more) more(json);
  json.end_object();
  json.finish();
}

void write_routes(JsonWriter& json, const net::Topology& topology, const scenario::RouteList& list) {
  json.key("routes").begin_array();
  for (const scenario::ListedRoute& route : list.routes) {
    json.begin_object();
    if (!list.are_pairs) json.field("flow", route.flow);
    json.field("from", topology.name(route.ends.source)).field("to", topology.name(route.ends.destination));
    json.field("named", route.is_named).field("latency_ns", route.latency.ns());
    json.key("places").begin_array();
    for (const std::vector<DeviceId>& place : route.places) {
      json.begin_array();
      for (const DeviceId device : place) json.value(topology.name(device));
      json.end_array();
    }
    json.end_array();
    json.key("links").begin_array();
    for (const Usage& usage : route.links) {
      if (usage.resource.index() >= topology.link_count()) continue;
      json.begin_object().field("name", topology.name(LinkId{usage.resource.value()})).field("share", usage.usage).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
  json.field("routes_left_out", list.left_out);
  json.key("link_loads").begin_array();
  for (std::size_t i = 0; i < list.loads.size(); ++i) {
    if (list.loads[i] <= 0) continue;
    json.begin_object().field("name", topology.name(LinkId::from_index(i))).field("flows", list.loads[i]).end_object();
  }
  json.end_array();
}

void write_audit(JsonWriter& json, const net::Topology& topology, const net::FabricAudit& audit,
                 const std::optional<std::vector<LinkId>>& cycle) {
  if (audit.tiers.empty()) return;
  json.key("tiers").begin_array();
  for (const net::TierBandwidth& tier : audit.tiers) {
    json.begin_object().field("switches", tier.switches).field("down_gbps", tier.down.gbps()).field("up_gbps", tier.up.gbps());
    json.field("sideways_gbps", tier.sideways.gbps());
    if (tier.up > Bandwidth{}) json.field("oversubscription", tier.oversubscription());
    json.end_object();
  }
  json.end_array();
  json.field("bisection_gbps", audit.bisection.gbps()).field("half_of_hosts_gbps", audit.half_bandwidth.gbps());
  json.key("single_points");
  if (!audit.has_single_points) {
    json.null();
  } else {
    json.begin_array();
    for (const net::SinglePoints& one : audit.single_points) {
      json.begin_object().field("name", one.name).field("count", one.count).field("example", one.example);
      json.field("hosts", one.hosts).end_object();
    }
    json.end_array();
  }
  json.key("buffer_cycle");
  if (!cycle) {
    json.null();
    return;
  }
  json.begin_array();
  for (const LinkId link : *cycle) json.value(topology.name(link));
  json.end_array();
}

}  // namespace weft::output
