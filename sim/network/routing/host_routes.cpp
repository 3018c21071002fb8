#include "sim/network/routing/host_routes.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "sim/core/error.h"

namespace weft::net {
namespace {

using LocalPath = std::vector<std::uint32_t>;  // local links in order

// Enough for every node we know (18 switches, two tiers of 6 in a DGX-2); a stranger graph is cut here rather than explode.
constexpr std::size_t kMaxPaths = 4096;

bool is_gpu_fabric(DeviceKind kind) { return kind == DeviceKind::kGpu || kind == DeviceKind::kNvSwitch; }

// NVLink and its like: a link both of whose ends are GPUs or NVSwitches.
bool is_gpu_link(const HostTemplate& t, const TemplateLink& link) {
  return is_gpu_fabric(t.devices[link.from].kind) && is_gpu_fabric(t.devices[link.to].kind);
}

// All shortest paths over links that `usable` admits, through devices that `transit` admits.
std::vector<LocalPath> shortest_paths(const HostTemplate& t, const std::vector<std::vector<std::uint32_t>>& out,
                                      std::uint32_t from, std::uint32_t to, const auto& usable, const auto& transit) {
  // Distances from the source by breadth-first search; then walk back from the destination along decreasing distance.
  constexpr int kFar = std::numeric_limits<int>::max();
  std::vector<int> distance(t.devices.size(), kFar);
  std::vector<std::uint32_t> queue{from};
  distance[from] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t device = queue[head];
    if (device != from && !transit(t.devices[device].kind)) continue;
    for (const std::uint32_t l : out[device]) {
      const TemplateLink& link = t.links[l];
      if (!usable(link) || distance[link.to] != kFar) continue;
      distance[link.to] = distance[device] + 1;
      queue.push_back(link.to);
    }
  }
  std::vector<LocalPath> paths;
  if (distance[to] == kFar) return paths;
  LocalPath path;
  const auto extend = [&](const auto& self, std::uint32_t device) -> void {
    if (device == to) {
      paths.push_back(path);
      return;
    }
    if (device != from && !transit(t.devices[device].kind)) return;
    for (const std::uint32_t l : out[device]) {
      const TemplateLink& link = t.links[l];
      if (!usable(link) || distance[link.to] != distance[device] + 1 || distance[link.to] > distance[to] ||
          paths.size() >= kMaxPaths) {
        continue;
      }
      path.push_back(l);
      self(self, link.to);
      path.pop_back();
    }
  };
  extend(extend, from);
  return paths;
}

// Class of a path that leaves the GPU fabric (models/nccl §1.3).
PathClass classify(const HostTemplate& t, const Topology& topology, const LocalPath& path) {
  int cpus = 0;
  int pcie_switches = 0;
  bool c2c = false;
  bool pcie = false;
  const auto count = [&](std::uint32_t device) {
    cpus += t.devices[device].kind == DeviceKind::kCpu ? 1 : 0;
    pcie_switches += t.devices[device].kind == DeviceKind::kPcieSwitch ? 1 : 0;
  };
  count(t.links[path.front()].from);
  for (const std::uint32_t l : path) {
    count(t.links[l].to);
    const std::string& type = topology.spec_at(t.links[l].spec).type;
    c2c |= type == "c2c";
    pcie |= type.starts_with("pcie");
  }
  if (cpus >= 2) return PathClass::kSys;
  if (cpus == 1) {
    if (c2c) return pcie ? PathClass::kP2c : PathClass::kC2c;
    return PathClass::kPhb;
  }
  return pcie_switches >= 2 ? PathClass::kPxb : PathClass::kPix;
}

bool bridges(DeviceKind kind) { return kind == DeviceKind::kPcieSwitch || kind == DeviceKind::kCpu; }

}  // namespace

// Equal shortest paths of the best class; none: the two are not connected.
struct HostRoutes::Paths {
  std::vector<LocalPath> paths;
  PathClass path_class = PathClass::kDis;
};

HostRoutes::HostRoutes(const Topology& topology) : topology_{&topology} {
  for (std::size_t host = 0; host < topology.host_count(); ++host) {
    const std::uint32_t index = topology.host(host).host_template;
    if (tables_.size() <= index) tables_.resize(index + 1);
    Table& table = tables_[index];
    const HostTemplate& t = topology.host_template(index);
    if (!table.out.empty()) continue;
    table.out.resize(t.devices.size());
    for (std::uint32_t l = 0; l < t.links.size(); ++l) table.out[t.links[l].from].push_back(l);
  }
}

const RouteFragment* HostRoutes::find(std::uint32_t host_template, std::uint32_t from, std::uint32_t to) const {
  Table& table = tables_[host_template];
  const std::uint64_t key = (std::uint64_t{from} << 32) | to;
  std::unique_lock lock{mutex_};
  auto found = table.fragments.find(key);
  if (found == table.fragments.end()) {
    // Two threads may find the same route, and the first is kept.
    lock.unlock();
    RouteFragment fragment = compute(topology_->host_template(host_template), table, from, to);
    lock.lock();
    found = table.fragments.emplace(key, std::move(fragment)).first;
  }
  return found->second.path_class == PathClass::kDis ? nullptr : &found->second;
}

HostRoutes::Paths HostRoutes::direct(const HostTemplate& t, const Table& table, std::uint32_t from, std::uint32_t to) const {
  const auto gpu_link = [&](const TemplateLink& link) { return is_gpu_link(t, link); };
  if (is_gpu_fabric(t.devices[from].kind) && is_gpu_fabric(t.devices[to].kind)) {
    std::vector<LocalPath> paths =
        shortest_paths(t, table.out, from, to, gpu_link, [](DeviceKind kind) { return kind == DeviceKind::kNvSwitch; });
    if (!paths.empty()) return {std::move(paths), PathClass::kNvl};
    paths = shortest_paths(t, table.out, from, to, gpu_link, [](DeviceKind kind) { return kind == DeviceKind::kGpu; });
    // NCCL admits one intermediate GPU.
    if (!paths.empty() && paths[0].size() == 2) return {std::move(paths), PathClass::kNvb};
  }
  std::vector<LocalPath> paths = shortest_paths(
      t, table.out, from, to, [&](const TemplateLink& link) { return !is_gpu_link(t, link); }, bridges);
  const PathClass path_class = paths.empty() ? PathClass::kDis : classify(t, *topology_, paths[0]);
  return {std::move(paths), path_class};
}

RouteFragment HostRoutes::compute(const HostTemplate& t, const Table& table, std::uint32_t from, std::uint32_t to) const {
  RouteFragment fragment;
  if (from == to) {
    fragment.path_class = PathClass::kLoc;
    return fragment;
  }
  const auto gpu_link = [&](const TemplateLink& link) { return is_gpu_link(t, link); };
  const auto other_link = [&](const TemplateLink& link) { return !is_gpu_link(t, link); };
  auto [paths, path_class] = direct(t, table, from, to);
  fragment.path_class = path_class;
  // A NIC that is far over PCIe but near to an NVLink peer is reached through that peer (PXN, models/nccl §1.3).
  if (t.devices[from].kind == DeviceKind::kGpu && t.devices[to].kind == DeviceKind::kNic &&
      fragment.path_class > PathClass::kPxn) {
    // GPUs and NICs beside each other are dealt out: each NIC has a relay of its own as far as there are enough.
    const auto near = [&](std::uint32_t gpu, std::uint32_t nic) {
      const Paths way = gpu == from ? Paths{} : direct(t, table, gpu, nic);
      return way.paths.empty() || way.path_class > PathClass::kP2c ? std::pair{PathClass::kDis, std::size_t{0}}
                                                                   : std::pair{way.path_class, way.paths.front().size()};
    };
    std::pair best{PathClass::kDis, std::size_t{0}};
    std::vector<std::uint32_t> relays;
    for (const std::uint32_t gpu : t.of_kind(DeviceKind::kGpu)) {
      const auto distance = near(gpu, to);
      if (distance.first == PathClass::kDis || distance > best) continue;
      if (distance < best) relays.clear();
      best = distance;
      if (!shortest_paths(t, table.out, from, gpu, gpu_link, [](DeviceKind kind) {
             return kind == DeviceKind::kNvSwitch;
           }).empty())
        relays.push_back(gpu);
    }
    if (!relays.empty()) {
      std::size_t count = 0;
      std::size_t place = 0;
      for (const std::uint32_t nic : t.of_kind(DeviceKind::kNic)) {
        if (near(relays.front(), nic) != best) continue;
        if (nic == to) place = count;
        ++count;
      }
      const std::uint32_t relay = relays[place * relays.size() / count];
      const std::vector<LocalPath> last = shortest_paths(t, table.out, relay, to, other_link, bridges);
      std::vector<LocalPath> first =
          shortest_paths(t, table.out, from, relay, gpu_link, [](DeviceKind kind) { return kind == DeviceKind::kNvSwitch; });
      for (LocalPath& path : first) path.insert(path.end(), last[0].begin(), last[0].end());
      paths = std::move(first);
      fragment.path_class = PathClass::kPxn;
    }
  }

  // Each path carries a share in proportion to its narrowest link, so that a 5/4/4/5 split over four switches loads all links
  // alike (models/network §7 K26), and the two relays of a hybrid cube mesh are both used to the full (K27).
  std::vector<double> capacity;
  double total = 0;
  for (const LocalPath& path : paths) {
    double narrowest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t l : path) narrowest = std::min(narrowest, topology_->spec_at(t.links[l].spec).capacity());
    capacity.push_back(narrowest);
    total += narrowest;
  }
  std::vector<double> usage(t.links.size(), 0.0);
  for (std::size_t p = 0; p < paths.size(); ++p) {
    PathCost cost;
    for (const std::uint32_t l : paths[p]) {
      usage[l] += capacity[p] / total;
      cost.join(t.devices[t.links[l].from].forwarding, PathCost{topology_->spec_at(t.links[l].spec)});
    }
    if (cost.is_longer_than(fragment.cost)) fragment.cost = cost;
  }
  for (std::uint32_t l = 0; l < usage.size(); ++l) {
    if (usage[l] > 0) fragment.links.emplace_back(l, usage[l]);
  }
  return fragment;
}

std::span<const std::uint32_t> HostRoutes::nics_of(std::uint32_t host_template, std::uint32_t gpu) const {
  return with_nics(host_template).nics[gpu];
}

HostRoutes::Table& HostRoutes::with_nics(std::uint32_t host_template) const {
  Table& table = tables_[host_template];
  const std::lock_guard lock{nics_mutex_};
  if (!table.nics_known) find_nics(host_template, table);
  table.nics_known = true;
  return table;
}

std::uint32_t HostRoutes::alike(std::uint32_t host_template, std::uint32_t gpu) const {
  Table& table = with_nics(host_template);
  const std::lock_guard lock{nics_mutex_};
  if (table.alike.empty()) find_alike(host_template, table);
  return table.alike[gpu];
}

void HostRoutes::find_alike(std::uint32_t host_template, Table& table) const {
  const HostTemplate& t = topology_->host_template(host_template);
  table.alike.resize(t.devices.size());
  std::iota(table.alike.begin(), table.alike.end(), 0U);
  const std::vector<std::uint32_t> nics = t.of_kind(DeviceKind::kNic);
  // Link specs and shares of the way out and of the way in, latencies, and classes of the ways to all NICs.
  using Ways = std::tuple<std::vector<std::pair<std::uint32_t, double>>, std::vector<std::int64_t>, std::vector<PathClass>>;
  std::vector<std::pair<Ways, std::uint32_t>> met;
  for (const std::uint32_t g : t.of_kind(DeviceKind::kGpu)) {
    if (table.nics[g].empty()) continue;
    Ways ways;
    auto& [links, latencies, classes] = ways;
    for (const std::uint32_t own : table.nics[g]) {
      for (const RouteFragment* way : {find(host_template, g, own), find(host_template, own, g)}) {
        if (way == nullptr) continue;
        const auto first = static_cast<std::ptrdiff_t>(links.size());
        for (const auto& [link, usage] : way->links) links.emplace_back(t.links[link].spec, usage);
        std::sort(links.begin() + first, links.end());
        latencies.insert(latencies.end(), {way->cost.latency().ps(), way->cost.fill().ps(), way->cost.packet().count()});
      }
    }
    for (const std::uint32_t nic : nics) classes.push_back(direct(t, table, g, nic).path_class);
    std::ranges::sort(classes);
    const auto same = std::ranges::find(met, ways, [](const auto& each) { return each.first; });
    if (same == met.end()) {
      met.emplace_back(std::move(ways), g);
    } else {
      table.alike[g] = same->second;
    }
  }
}

// By the way over PCIe: the one back takes it even where the one out is shorter over a peer's NVLink (PXN).
void HostRoutes::find_nics(std::uint32_t host_template, Table& table) const {
  const HostTemplate& t = topology_->host_template(host_template);
  const std::vector<std::uint32_t> gpus = t.of_kind(DeviceKind::kGpu);
  std::vector<std::vector<std::uint32_t>> nearest(t.devices.size());
  for (const std::uint32_t g : gpus) {
    std::pair<PathClass, std::size_t> best{PathClass::kDis, 0};
    for (const std::uint32_t nic : t.of_kind(DeviceKind::kNic)) {
      const Paths found = direct(t, table, g, nic);
      if (found.paths.empty()) continue;
      const std::pair distance{found.path_class, found.paths.front().size()};
      if (distance > best) continue;
      if (distance < best) nearest[g].clear();
      best = distance;
      nearest[g].push_back(nic);
    }
  }
  table.nics.assign(t.devices.size(), {});
  for (const std::uint32_t g : gpus) {
    const std::vector<std::uint32_t>& shared = nearest[g];
    if (shared.empty()) continue;
    const auto is_same = [&](std::uint32_t other) { return nearest[other] == shared; };
    const auto sharing = static_cast<std::size_t>(std::ranges::count_if(gpus, is_same));
    const auto before = static_cast<std::size_t>(std::count_if(gpus.begin(), std::ranges::find(gpus, g), is_same));
    const std::size_t each = (shared.size() + sharing - 1) / sharing;
    for (std::size_t i = 0; i < each; ++i) table.nics[g].push_back(shared[(before * each + i) % shared.size()]);
  }
}

}  // namespace weft::net
