#include "sim/collectives/nccl/graph_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "sim/core/error.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/import/source_text.h"

namespace weft::coll::nccl {
namespace {

using net::XmlElement;

constexpr int kMaxChannelsOfAFile = 64;

std::int64_t gpu_dev(const Node& gpu) { return static_cast<std::int64_t>(gpu.system) << 56 | gpu.dev; }

// NCCL reads a `dev` as hexadecimal, with or without "0x".
std::optional<std::int64_t> parse_dev(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

class Reader {
 public:
  Reader(const net::SourceText& source, const System& system) : source_{source}, system_{system} {}

  std::vector<Graph> read() {
    const XmlElement root = net::parse_xml(source_);
    std::vector<Graph> graphs;
    if (root.name != "graphs") fail(root, fmt::format("expected a <graphs> element, got <{}>", root.name));
    for (const XmlElement& child : root.children) {
      if (child.name != "graph") {
        fail(child, fmt::format("graphs: expected <graph>, got <{}>", child.name));
        continue;
      }
      graphs.push_back(graph(child));
    }
    if (!errors_.empty()) throw ConfigError(std::move(errors_));
    return graphs;
  }

 private:
  void fail(const XmlElement& at, std::string message) {
    errors_.push_back(source_.at(at.offset, std::move(message), static_cast<int>(at.name.size()) + 1));
  }

  std::string_view text(const XmlElement& element, std::string_view attribute) {
    const std::string* value = element.find(attribute);
    if (value != nullptr) return *value;
    fail(element, fmt::format("{}.{}: missing", element.name, attribute));
    return {};
  }

  int number(const XmlElement& element, std::string_view attribute, int least, int most) {
    if (element.find(attribute) == nullptr) {
      fail(element, fmt::format("{}.{}: missing", element.name, attribute));
      return least;
    }
    const std::string& given = *element.find(attribute);
    const auto value = net::parse_attribute_integer(given);
    if (value && *value >= least && *value <= most) return static_cast<int>(*value);
    fail(element,
         fmt::format("{}.{}: expected a whole number from {} to {}, got '{}'", element.name, attribute, least, most, given));
    return least;
  }

  float real(const XmlElement& element, std::string_view attribute) {
    const std::string_view given = text(element, attribute);
    float value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (element.find(attribute) == nullptr) return 0;
    if (error == std::errc{} && end == given.data() + given.size() && value >= 0 && value < 1e6F) return value;
    fail(element, fmt::format("{}.{}: expected a number of GB/s, got '{}'", element.name, attribute, given));
    return 0;
  }

  PathClass path_class(const XmlElement& element, std::string_view attribute) {
    const std::string_view given = text(element, attribute);
    for (int type = 0; type <= static_cast<int>(PathClass::kDis); ++type) {
      if (net::to_string(static_cast<PathClass>(type)) == given) return static_cast<PathClass>(type);
    }
    if (element.find(attribute) != nullptr) {
      fail(element,
           fmt::format("{}.{}: expected a class of paths (LOC, NVL, PIX, ...), got '{}'", element.name, attribute, given));
    }
    return PathClass::kLoc;
  }

  Graph graph(const XmlElement& element) {
    Graph result;
    result.kind = static_cast<GraphKind>(number(element, "id", 0, 4));
    result.pattern = static_cast<GraphPattern>(number(element, "pattern", 1, 6));
    result.cross_nic = number(element, "crossnic", 0, 2);
    result.bandwidth_intra = real(element, "speedintra");
    result.bandwidth_inter = real(element, "speedinter");
    if (element.find("latencyinter") != nullptr) result.latency_inter = real(element, "latencyinter");
    result.type_intra = path_class(element, "typeintra");
    result.type_inter = path_class(element, "typeinter");
    result.same_channels = number(element, "samechannels", 0, 1) == 1;
    const int channels = number(element, "nchannels", 0, kMaxChannelsOfAFile);
    if (channels != static_cast<int>(element.children.size())) {
      fail(element, fmt::format("graph.nchannels: {}, but {} channels follow", channels, element.children.size()));
    }
    for (const XmlElement& child : element.children) {
      if (child.name == "channel") {
        result.channels.push_back(channel(child, result));
      } else {
        fail(child, fmt::format("graph: expected <channel>, got <{}>", child.name));
      }
    }
    return result;
  }

  GraphChannel channel(const XmlElement& element, const Graph& graph) {
    GraphChannel result;
    for (const XmlElement& child : element.children) {
      if (child.name == "net") {
        const auto net = net_of(child);
        if (result.net_in && result.net_out) fail(child, "channel: more than two <net>");
        (result.net_in ? result.net_out : result.net_in) = net;
      } else if (child.name == "gpu") {
        const int rank = rank_of(child);
        if (rank >= 0 && std::ranges::find(result.gpus, rank) != result.gpus.end()) {
          fail(child, fmt::format("channel: GPU of rank {} stands there twice", rank));
        }
        result.gpus.push_back(rank);
      } else {
        fail(child, fmt::format("channel: expected <net> or <gpu>, got <{}>", child.name));
      }
    }
    const std::size_t expected = graph.kind == GraphKind::kNvls ? 1 : system_.gpus().size();
    // Files of NVLS graphs may list all GPUs; the first is the head.
    if (graph.kind == GraphKind::kNvls && result.gpus.size() > 1) result.gpus.erase(result.gpus.begin() + 1, result.gpus.end());
    if (result.gpus.size() != expected) {
      fail(element, fmt::format("channel: {} GPUs, expected {}", result.gpus.size(), expected));
    }
    if (system_.options().several_nodes && !(result.net_in && result.net_out)) {
      fail(element, "channel: expected two <net>, for the communicator spans several nodes");
    }
    if (!system_.options().several_nodes) result.net_in = result.net_out = std::nullopt;
    return result;
  }

  std::optional<NetId> net_of(const XmlElement& element) {
    const std::string_view given = text(element, "dev");
    const auto dev = parse_dev(given);
    const bool known =
        dev && std::ranges::any_of(system_.nets(), [&](NodeIndex net) { return net_id(system_.node(net)) == *dev; });
    if (!known && element.find("dev") != nullptr && system_.options().several_nodes) {
      fail(element, fmt::format("net.dev: no NIC {} on this node", given));
    }
    return dev;
  }

  int rank_of(const XmlElement& element) {
    if (const std::string* rank = element.find("rank")) {
      const auto value = net::parse_attribute_integer(*rank);
      for (const NodeIndex gpu : system_.gpus()) {
        if (value && system_.node(gpu).rank == *value) return system_.node(gpu).rank;
      }
      fail(element, fmt::format("gpu.rank: no GPU of rank {} on this node", *rank));
      return -1;
    }
    const std::string_view given = text(element, "dev");
    const auto dev = parse_dev(given);
    for (const NodeIndex gpu : system_.gpus()) {
      if (dev && gpu_dev(system_.node(gpu)) == *dev) return system_.node(gpu).rank;
    }
    if (element.find("dev") != nullptr) fail(element, fmt::format("gpu.dev: no GPU {} on this node", given));
    return -1;
  }

  const net::SourceText& source_;
  const System& system_;
  std::vector<Diagnostic> errors_;
};

std::string hexadecimal(std::int64_t value) { return value == 0 ? "0" : fmt::format("{:#x}", value); }

XmlElement element(std::string name, net::Labels attributes) {
  return {.name = std::move(name), .attributes = std::move(attributes), .children = {}, .offset = 0};
}

XmlElement channel_element(const GraphChannel& channel, const System& system) {
  XmlElement result = element("channel", {});
  const auto add_net = [&](const std::optional<NetId>& net) {
    if (net) result.children.push_back(element("net", {{"dev", hexadecimal(*net)}}));
  };
  add_net(channel.net_in);
  for (const int rank : channel.gpus) {
    const auto gpu = std::ranges::find(system.gpus(), rank, [&](NodeIndex g) { return system.node(g).rank; });
    WEFT_CHECK(gpu != system.gpus().end());
    net::Labels attributes{{"dev", hexadecimal(gpu_dev(system.node(*gpu)))}};
    if (system.options().version >= release(30, 3)) attributes.emplace_back("rank", fmt::format("{}", rank));
    result.children.push_back(element("gpu", std::move(attributes)));
  }
  add_net(channel.net_out);
  return result;
}

XmlElement graph_element(const Graph& graph, const System& system) {
  XmlElement result = element("graph", {{"id", fmt::format("{}", static_cast<int>(graph.kind))},
                                        {"pattern", fmt::format("{}", static_cast<int>(graph.pattern))},
                                        {"crossnic", fmt::format("{}", graph.cross_nic)},
                                        {"nchannels", fmt::format("{}", graph.channel_count())},
                                        {"speedintra", fmt::format("{:g}", graph.bandwidth_intra)},
                                        {"speedinter", fmt::format("{:g}", graph.bandwidth_inter)},
                                        {"latencyinter", fmt::format("{:g}", graph.latency_inter)},
                                        {"typeintra", std::string{net::to_string(graph.type_intra)}},
                                        {"typeinter", std::string{net::to_string(graph.type_inter)}},
                                        {"samechannels", graph.same_channels ? "1" : "0"}});
  for (const GraphChannel& channel : graph.channels) result.children.push_back(channel_element(channel, system));
  return result;
}

Graph not_searched(GraphKind kind, GraphPattern pattern) {
  return {.kind = kind, .pattern = pattern, .same_channels = false, .channels = {}};
}

}  // namespace

std::vector<Graph> read_graph_xml(std::string_view text, const std::string& file, const System& system) {
  const net::SourceText source{file, text};
  return Reader{source, system}.read();
}

std::vector<Graph> read_graph_xml_file(const std::string& path, const System& system) {
  return read_graph_xml(net::read_text_file(path), path, system);
}

std::string write_graph_xml(const NodeGraphs& graphs, const System& system) {
  XmlElement root = element("graphs", {{"version", "1"}});
  const auto add = [&](const Graph& graph) { root.children.push_back(graph_element(graph, system)); };
  add(graphs.ring);
  add(graphs.tree);
  add(graphs.collnet_direct.value_or(not_searched(GraphKind::kCollNetDirect, GraphPattern::kCollNetDirect)));
  add(graphs.collnet_chain.value_or(not_searched(GraphKind::kCollNetChain, GraphPattern::kTree)));
  add(graphs.nvls.value_or(not_searched(GraphKind::kNvls, GraphPattern::kNvls)));
  return net::to_text(root);
}

}  // namespace weft::coll::nccl
