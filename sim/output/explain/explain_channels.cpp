#include "sim/output/explain/explain_channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/collectives/nccl/comm_info.h"
#include "sim/collectives/nccl/graph_text.h"
#include "sim/collectives/nccl/graph_xml.h"
#include "sim/collectives/nccl/version.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/json_writer.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/import/nccl_xml_writer.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/configuration_text.h"

namespace weft::output {
namespace {

namespace nccl = coll::nccl;

nccl::NodeGraphs graphs_of(const nccl::CommInfo& info) {
  if (!info.node_graphs.empty()) return info.node_graphs.front();
  return {.ring = info.ring,
          .tree = info.tree,
          .collnet_chain = info.collnet_chain,
          .collnet_direct = info.collnet_direct,
          .nvls = info.nvls_graph};
}

void collect_ranks(net::XmlElement& element, std::vector<std::pair<std::int64_t, net::XmlElement*>>& found) {
  if (const std::string* rank = element.name == "gpu" ? element.find("rank") : nullptr)
    found.emplace_back(net::parse_attribute_integer(*rank).value_or(0), &element);
  for (net::XmlElement& child : element.children) collect_ranks(child, found);
}

// A file of one node of a job has the job's ranks: here they count from 0 in that order. The `most` first GPUs keep theirs,
// which hides the others from NCCL. Returns how many there are.
int number_gpus(net::XmlElement& root, std::optional<int> most) {
  std::vector<std::pair<std::int64_t, net::XmlElement*>> gpus;
  collect_ranks(root, gpus);
  std::ranges::sort(gpus, {}, &std::pair<std::int64_t, net::XmlElement*>::first);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    net::Labels& attributes = gpus[i].second->attributes;
    const auto rank = std::ranges::find(attributes, "rank", &std::pair<std::string, std::string>::first);
    if (most && std::cmp_greater_equal(i, *most)) {
      attributes.erase(rank);
    } else {
      rank->second = fmt::format("{}", i);
    }
  }
  return static_cast<int>(gpus.size());
}

std::vector<std::vector<Rank>> equal_nodes(int nodes, int per_node) {
  std::vector<std::vector<Rank>> ranks(static_cast<std::size_t>(nodes));
  for (int n = 0; n < nodes; ++n) {
    for (int i = 0; i < per_node; ++i) ranks[static_cast<std::size_t>(n)].push_back(n * per_node + i);
  }
  return ranks;
}

std::string net_name(const nccl::System& system, nccl::NetId net) {
  const bool several_hosts = std::ranges::any_of(
      system.nets(), [&](nccl::NodeIndex n) { return system.node(n).system != system.node(system.nets().front()).system; });
  if (!several_hosts) return fmt::format("net{}", nccl::net_device(net));
  return fmt::format("net{}.{}", nccl::net_host(net), nccl::net_device(net));
}

std::string graph_by_rank(const char* name, const nccl::Graph& graph, const nccl::System& system) {
  std::string text = fmt::format(
      "{:<6} pattern {} crossNic {} nCh {:2} bwIntra {:.2f} bwInter {:.2f} typeIntra {} typeInter {} same {}\n", name,
      static_cast<int>(graph.pattern), graph.cross_nic, graph.channel_count(), graph.bandwidth_intra, graph.bandwidth_inter,
      net::to_string(graph.type_intra), net::to_string(graph.type_inter), graph.same_channels ? 1 : 0);
  for (int c = 0; c < graph.channel_count(); ++c) {
    const nccl::GraphChannel& channel = graph.channels[static_cast<std::size_t>(c)];
    text += fmt::format("   ch{:2}:", c);
    if (channel.net_in) text += " " + net_name(system, *channel.net_in);
    for (const int gpu : channel.gpus) text += fmt::format(" {}", gpu);
    if (channel.net_out) text += " " + net_name(system, *channel.net_out);
    text += '\n';
  }
  return text;
}

// Name, and the graph if it was searched, in NCCL's order of printing.
std::vector<std::pair<const char*, const nccl::Graph*>> searched(const nccl::NodeGraphs& graphs) {
  std::vector<std::pair<const char*, const nccl::Graph*>> list{{"ring", &graphs.ring}, {"tree", &graphs.tree}};
  if (graphs.collnet_chain) list.emplace_back("collnet_chain", &*graphs.collnet_chain);
  if (graphs.collnet_direct) list.emplace_back("collnet_direct", &*graphs.collnet_direct);
  if (graphs.nvls) list.emplace_back("nvls", &*graphs.nvls);
  return list;
}

void write_graph(JsonWriter& json, const char* name, const nccl::Graph& graph) {
  json.begin_object().field("graph", name).field("pattern", static_cast<int>(graph.pattern));
  json.field("cross_nic", graph.cross_nic).field("channels", graph.channel_count());
  json.field("bandwidth_intra_GBps", static_cast<double>(graph.bandwidth_intra));
  json.field("bandwidth_inter_GBps", static_cast<double>(graph.bandwidth_inter));
  json.field("type_intra", net::to_string(graph.type_intra)).field("type_inter", net::to_string(graph.type_inter));
  json.field("same_channels", graph.same_channels);
  json.key("orders").begin_array();
  for (const nccl::GraphChannel& channel : graph.channels) {
    json.begin_object();
    if (channel.net_in) json.field("net_in", *channel.net_in);
    json.key("gpus").begin_array();
    for (const int gpu : channel.gpus) json.value(gpu);
    json.end_array();
    if (channel.net_out) json.field("net_out", *channel.net_out);
    json.end_object();
  }
  json.end_array().end_object();
}

std::uint64_t digest_of(const nccl::Connections& connections) {
  Digest digest;
  for (const coll::RingOrder& ring : connections.rings) {
    for (const Rank rank : ring) digest.add(rank);
  }
  for (const coll::Tree& tree : connections.trees) {
    for (const coll::TreeLinks& links : tree) {
      digest.add(links.up);
      for (const Rank child : links.down) digest.add(child);
    }
  }
  return digest.value();
}

}  // namespace

ChannelReport explain_channels(const std::filesystem::path& file, const ChannelQuestion& question, Diagnostics& diagnostics) {
  scenario::Overrides overrides = question.overrides;
  if (question.nodes) overrides.sets.emplace_back("nodes", fmt::format("{}", *question.nodes));
  net::Cluster cluster = scenario::load_cluster(file, overrides, diagnostics);
  const nccl::Settings settings = scenario::nccl_settings(cluster, overrides);
  scenario::ParticipantOptions who{.nodes = question.nodes};
  if (question.gpus) who = {.nodes = static_cast<int>(cluster.topology.host_count()), .gpus_per_thread = question.gpus};
  const std::vector<DeviceId> devices = scenario::participants(cluster.topology, who).devices;
  nccl::CommInfo info =
      nccl::comm_info(cluster.topology, devices, settings, nccl::version_on(cluster.topology, devices, settings.version()));
  const net::XmlElement xml = nccl::node_xml(cluster.topology, devices, 0);
  nccl::NodeGraphs graphs = graphs_of(info);
  nccl::Connections connections = nccl::connect(info, nccl::node_ranks(cluster.topology, devices));
  const bool several_nodes = info.nodes > 1;
  return {.subject = cluster.name,
          .system = nccl::System{xml, nccl::system_options(settings, info.version, several_nodes)},
          .info = std::move(info),
          .graphs = std::move(graphs),
          .connections = std::move(connections),
          .configuration = cluster.resolved.to_json(),
          .profiles = {scenario::profile_statement(cluster)}};
}

ChannelReport explain_channels_of_xml(const std::string& file, const ChannelQuestion& question, Diagnostics& diagnostics) {
  scenario::Overrides overrides = question.overrides;
  nccl::Settings settings;
  for (const auto& [key, value] : overrides.nccl) settings.set(key, value);
  const int nodes = question.nodes.value_or(1);
  if (nodes < 1 || nodes > net::kMaxNodes) {
    throw ConfigError(fmt::format("--nodes: expected from 1 to {} nodes, got {}", net::kMaxNodes, nodes));
  }
  const Profile profile = Profile::defaults(scenario::all_param_groups());
  net::Imported imported = scenario::import_topology(file, question.hints, profile).imported;
  for (Diagnostic& warning : imported.warnings) diagnostics.warning(std::move(warning));
  const auto& devices = imported.topology.host_template(0).devices;
  if (std::ranges::any_of(devices, [](const net::TemplateDevice& d) { return net::find_label(d.labels, "gcn") != nullptr; })) {
    diagnostics.warning(
        {.where = {},
         .message = fmt::format("{}: AMD's GPUs: NCCL's search stands for RCCL's, with RCCL's bandwidth of a link; "
                                "RCCL's own tables of known machines are left out",
                                file),
         .source_line = {},
         .note = {}});
  }
  net::XmlElement xml = net::nccl_xml_tree(imported.topology);
  const int gpus = number_gpus(xml, question.gpus);
  if (question.gpus && *question.gpus > gpus)
    throw ConfigError(fmt::format("-g: expected {} GPUs, but {} has {}", *question.gpus, file, gpus));
  const nccl::SystemOptions options = nccl::system_options(settings, settings.version(), nodes > 1);
  nccl::System system{xml, options};
  const auto per_node = static_cast<int>(system.gpus().size());
  nccl::CommInfo info = nccl::comm_info(xml, nodes, settings, settings.version());
  nccl::NodeGraphs graphs = graphs_of(info);
  nccl::Connections connections = nccl::connect(info, equal_nodes(nodes, per_node));
  return {.subject = file,
          .system = std::move(system),
          .info = std::move(info),
          .graphs = std::move(graphs),
          .connections = std::move(connections),
          .configuration = "null",
          .profiles = {}};
}

std::string channels_text(const ChannelReport& report) {
  const nccl::CommInfo& info = report.info;
  std::string text = fmt::format("# {}: NCCL {}, {} rank{} on {} node{}\n", report.subject, nccl::to_string(info.version),
                                 info.ranks, info.ranks == 1 ? "" : "s", info.nodes, info.nodes == 1 ? "" : "s");
  const auto graphs = searched(report.graphs);
  for (const auto& [name, graph] : graphs) text += nccl::graph_lines(*graph, report.system);
  text += nccl::ring_lines(report.connections);
  for (Rank rank = 0; rank < info.ranks; ++rank) text += nccl::tree_line(report.connections, rank);
  text += nccl::channel_count_line(info);
  text += fmt::format("# the same by rank: a node's {} GPUs, maxBw {:.2f} totalBw {:.2f}\n", report.system.gpus().size(),
                      report.system.max_bandwidth(), report.system.total_bandwidth());
  for (const auto& [name, graph] : graphs) text += graph_by_rank(name, *graph, report.system);
  text += fmt::format("coll channels {} nvls channels {} (search nHeads {}) nvlsChunk {} treeMax {} minNetBw {:.1f}\n",
                      info.channels, info.nvls_channels, info.nvls_graph ? info.nvls_graph->channel_count() : 0,
                      info.nvls_chunk.count(), info.nvls_tree_max_chunk.count(), info.min_net_bandwidth);
  text += fmt::format("p2p channels {}, per peer {}\n", info.p2p_channels, info.p2p_channels_per_peer);
  return text;
}

std::string channels_graph_xml(const ChannelReport& report) { return nccl::write_graph_xml(report.graphs, report.system); }

void write_channels(std::ostream& out, ResultHeader header, const ChannelReport& report) {
  header.digest = digest_of(report.connections);
  header.configuration = report.configuration;
  header.profiles = report.profiles;
  const nccl::CommInfo& info = report.info;
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("nccl_version", nccl::to_string(info.version)).field("ranks", info.ranks).field("nodes", info.nodes);
  json.field("channels", info.channels).field("nvls_channels", info.nvls_channels);
  json.field("nvls_chunk_bytes", info.nvls_chunk.count()).field("nvls_tree_max_chunk_bytes", info.nvls_tree_max_chunk.count());
  json.field("p2p_channels", info.p2p_channels).field("p2p_channels_per_peer", info.p2p_channels_per_peer);
  json.field("min_net_GBps", static_cast<double>(info.min_net_bandwidth));
  json.key("graphs").begin_array();
  for (const auto& [name, graph] : searched(report.graphs)) write_graph(json, name, *graph);
  json.end_array();
  json.key("rings").begin_array();
  for (const coll::RingOrder& ring : report.connections.rings) {
    json.begin_array();
    for (const Rank rank : ring) json.value(rank);
    json.end_array();
  }
  json.end_array();
  json.key("trees").begin_array();  // the parent of every rank, by channel
  for (const coll::Tree& tree : report.connections.trees) {
    json.begin_array();
    for (const coll::TreeLinks& links : tree) json.value(links.up);
    json.end_array();
  }
  json.end_array().end_object();
  json.finish();
}

}  // namespace weft::output
