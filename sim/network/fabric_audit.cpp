#include "sim/network/fabric_audit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/network/max_flow.h"

namespace weft::net {
namespace {

constexpr double kMostSteps = 3e8;  // a second or two
constexpr std::uint32_t kNone = 0xFFFF'FFFF;

// The fabric as switches and hosts, numbered: hosts first.
class Graph {
 public:
  struct Cable {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    LinkId link;  // from -> to; a host is always `from`
  };

  explicit Graph(const Topology& topology) : hosts_{static_cast<std::uint32_t>(topology.host_count())} {
    std::vector<std::uint32_t> node(topology.device_count(), kNone);
    for (const DeviceId device : topology.fabric_switches()) {
      node[device.index()] = static_cast<std::uint32_t>(hosts_ + switches_.size());
      switches_.push_back(device);
    }
    for (std::size_t i = 0; i < topology.link_count(); ++i) {
      const LinkId id = LinkId::from_index(i);
      const Link& link = topology.link(id);
      const std::uint32_t to = node[link.to.index()];
      if (to == kNone) continue;
      const std::int32_t host = topology.host_of(link.from);
      const bool is_host = host >= 0;
      if (!is_host && id.index() > link.twin.index()) continue;
      cables_.push_back({is_host ? static_cast<std::uint32_t>(host) : node[link.from.index()], to, id});
    }
    at_.resize(hosts_ + switches_.size());
    for (std::uint32_t i = 0; i < cables_.size(); ++i) {
      at_[cables_[i].from].push_back(i);
      at_[cables_[i].to].push_back(i);
    }
  }

  [[nodiscard]] std::uint32_t hosts() const { return hosts_; }
  [[nodiscard]] std::size_t size() const { return at_.size(); }
  [[nodiscard]] const std::vector<DeviceId>& switches() const { return switches_; }
  [[nodiscard]] const std::vector<Cable>& cables() const { return cables_; }
  [[nodiscard]] const std::vector<std::uint32_t>& cables_at(std::uint32_t node) const { return at_[node]; }
  [[nodiscard]] std::uint32_t other(std::uint32_t cable, std::uint32_t node) const {
    return cables_[cable].from == node ? cables_[cable].to : cables_[cable].from;
  }
  [[nodiscard]] bool is_host(std::uint32_t node) const { return node < hosts_; }

  // Links between a switch and the nearest host.
  [[nodiscard]] std::vector<int> tiers() const {
    std::vector<int> tier(size(), -1);
    std::vector<std::uint32_t> wave;
    for (std::uint32_t host = 0; host < hosts_; ++host) {
      for (const std::uint32_t cable : at_[host]) reach(cables_[cable].to, 0, tier, wave);
    }
    for (std::size_t i = 0; i < wave.size(); ++i) {
      for (const std::uint32_t cable : at_[wave[i]]) {
        if (const std::uint32_t to = other(cable, wave[i]); !is_host(to)) reach(to, tier[wave[i]] + 1, tier, wave);
      }
    }
    return tier;
  }

  // Hosts that are not among the most that still hang together by switches, without this switch and this cable.
  [[nodiscard]] std::int64_t cut_off(std::uint32_t without_switch, std::uint32_t without_cable) const {
    std::vector<std::uint32_t> seen(size(), 0);  // by node: 1 + the part it was last met in
    std::uint32_t part = 0;
    std::int64_t most = 0;
    std::vector<std::uint32_t> wave;
    for (std::uint32_t first = hosts_; first < size(); ++first) {
      if (first == without_switch || seen[first] != 0) continue;
      ++part;
      std::int64_t hosts = 0;
      wave.assign(1, first);
      seen[first] = part;
      for (std::size_t i = 0; i < wave.size(); ++i) {
        for (const std::uint32_t cable : at_[wave[i]]) {
          const std::uint32_t to = other(cable, wave[i]);
          if (cable == without_cable || to == without_switch || seen[to] == part) continue;
          seen[to] = part;
          if (is_host(to)) {
            ++hosts;
          } else {
            wave.push_back(to);
          }
        }
      }
      most = std::max(most, hosts);
    }
    return static_cast<std::int64_t>(hosts_) - most;
  }

  // Cables between switches that no other way goes round (Tarjan, 1974).
  [[nodiscard]] std::vector<std::uint32_t> bridges() const {
    struct Frame {
      std::uint32_t node;
      std::uint32_t by;  // the cable it was met over
      std::size_t tried = 0;
    };
    std::vector<std::uint32_t> order(size(), 0);
    std::vector<std::uint32_t> low(size(), 0);
    std::uint32_t met = 0;
    std::vector<std::uint32_t> found;
    for (std::uint32_t root = hosts_; root < size(); ++root) {
      if (order[root] != 0) continue;
      std::vector<Frame> path{{root, kNone}};
      order[root] = low[root] = ++met;
      while (!path.empty()) {
        Frame& top = path.back();
        if (top.tried == at_[top.node].size()) {
          const Frame done = top;
          path.pop_back();
          if (path.empty()) continue;
          low[path.back().node] = std::min(low[path.back().node], low[done.node]);
          if (low[done.node] > order[path.back().node]) found.push_back(done.by);
          continue;
        }
        const std::uint32_t cable = at_[top.node][top.tried++];
        const std::uint32_t to = other(cable, top.node);
        if (cable == top.by || is_host(to)) continue;
        if (order[to] != 0) {
          low[top.node] = std::min(low[top.node], order[to]);
        } else {
          order[to] = low[to] = ++met;
          path.push_back({to, cable});
        }
      }
    }
    return found;
  }

 private:
  static void reach(std::uint32_t node, int distance, std::vector<int>& tier, std::vector<std::uint32_t>& wave) {
    if (tier[node] >= 0) return;
    tier[node] = distance;
    wave.push_back(node);
  }

  std::uint32_t hosts_;
  std::vector<DeviceId> switches_;
  std::vector<Cable> cables_;
  std::vector<std::vector<std::uint32_t>> at_;  // cables by node
};

std::vector<TierBandwidth> tier_bandwidths(const Graph& graph, const Topology& topology) {
  const std::vector<int> tier = graph.tiers();
  std::vector<TierBandwidth> tiers;
  for (std::uint32_t node = graph.hosts(); node < graph.size(); ++node) {
    if (tier[node] < 0) continue;
    TierBandwidth own{.switches = 1, .down = {}, .up = {}, .sideways = {}};
    for (const std::uint32_t cable : graph.cables_at(node)) {
      const std::uint32_t to = graph.other(cable, node);
      const int there = graph.is_host(to) ? -1 : tier[to];
      Bandwidth& sum = there < tier[node] ? own.down : there > tier[node] ? own.up : own.sideways;
      sum = sum + topology.spec(graph.cables()[cable].link).rate;
    }
    const auto index = static_cast<std::size_t>(tier[node]);
    if (tiers.size() <= index) tiers.resize(index + 1);
    TierBandwidth& worst = tiers[index];
    const std::int64_t switches = worst.switches + 1;
    if (switches == 1 || own.oversubscription() > worst.oversubscription()) worst = own;
    worst.switches = switches;
  }
  return tiers;
}

std::string stem_of(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  return name.substr(0, digits == std::string::npos ? 0 : digits + 1);
}

std::vector<SinglePoints> single_points(const Graph& graph, const Topology& topology) {
  std::map<std::string, SinglePoints> found;
  const auto add = [&](const std::string& name, const std::string& example, std::int64_t hosts) {
    if (hosts <= 0) return;
    SinglePoints& points = found[name];
    if (points.count++ == 0) points.example = example;
    points.name = name;
    points.hosts = std::max(points.hosts, hosts);
  };
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
    const std::string name = topology.name(graph.switches()[i]);
    add(stem_of(name), name, graph.cut_off(graph.hosts() + i, kNone));
  }
  for (std::uint32_t host = 0; host < graph.hosts(); ++host) {
    if (graph.cables_at(host).size() == 1) add("cable", topology.name(graph.cables()[graph.cables_at(host)[0]].link), 1);
  }
  for (const std::uint32_t cable : graph.bridges())
    add("cable", topology.name(graph.cables()[cable].link), graph.cut_off(kNone, cable));
  std::vector<SinglePoints> points;
  for (auto& [name, one] : found) points.push_back(std::move(one));
  return points;
}

}  // namespace

FabricAudit audit_fabric(const Topology& topology) {
  FabricAudit audit;
  if (topology.fabric_switches().empty() || topology.host_count() == 0) return audit;
  const Graph graph{topology};
  audit.tiers = tier_bandwidths(graph, topology);
  const double steps = static_cast<double>(graph.switches().size()) * static_cast<double>(graph.cables().size());
  audit.has_single_points = steps <= kMostSteps;
  if (audit.has_single_points) audit.single_points = single_points(graph, topology);
  audit.half = static_cast<std::int64_t>(graph.hosts() / 2);
  // The hosts of each half are one node: no host passes anything on.
  const auto count = static_cast<std::uint32_t>(graph.switches().size());
  MaxFlow flow{count + 2};
  const auto node_of = [&](std::uint32_t node) {
    if (!graph.is_host(node)) return node - graph.hosts();
    return static_cast<std::int64_t>(node) < audit.half ? count : count + 1;
  };
  for (const Graph::Cable& cable : graph.cables()) {
    const Bandwidth rate = topology.spec(cable.link).rate;
    const auto bits = [&](LinkId link) { return topology.is_absent(link) ? 0 : rate.bits_per_second(); };
    flow.add(node_of(cable.from), node_of(cable.to), bits(cable.link), bits(topology.link(cable.link).twin));
    if (node_of(cable.from) == count && !topology.is_absent(cable.link)) audit.half_bandwidth = audit.half_bandwidth + rate;
  }
  audit.bisection = Bandwidth::from_bits_per_second(flow.between(count, count + 1));
  return audit;
}

}  // namespace weft::net
