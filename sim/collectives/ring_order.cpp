#include "sim/collectives/ring_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/core/error.h"

namespace weft::coll {
namespace {

// Vertices a search may visit. Eight GPUs need some hundreds; what is not found within this is given up.
constexpr std::int64_t kSearchBudget = 200'000;

using Path = std::vector<int>;

// Finds `wanted` disjoint Hamiltonian cycles by extending one path at a time, in lexicographic order.
class CycleSearch {
 public:
  CycleSearch(LinkCounts links, int wanted) : left_{std::move(links)}, wanted_{static_cast<std::size_t>(wanted)} {}

  bool run() {
    path_ = {0};
    on_path_.assign(static_cast<std::size_t>(left_.size()), false);
    on_path_[0] = true;
    return extend();
  }
  [[nodiscard]] std::vector<Path> cycles() && { return std::move(found_); }

 private:
  bool extend() {
    if (++visited_ > kSearchBudget) return false;
    const int last = path_.back();
    if (static_cast<int>(path_.size()) == left_.size()) return close();
    for (int next = 1; next < left_.size(); ++next) {
      if (on_path_[static_cast<std::size_t>(next)] || left_.between(last, next) == 0) continue;
      step_to(next);
      if (extend()) return true;
      step_back();
    }
    return false;
  }

  bool close() {
    // Of a cycle's two directions one is enough, and of equal sets of cycles the sorted one.
    if (left_.between(path_.back(), 0) == 0 || path_[1] > path_.back()) return false;
    if (!found_.empty() && path_ < found_.back()) return false;
    left_.add(path_.back(), 0, -1);
    found_.push_back(path_);
    if (found_.size() == wanted_) return true;
    if (enough_left()) {
      const Path path = std::exchange(path_, {0});
      const std::vector<bool> on_path = std::exchange(on_path_, std::vector<bool>(path.size(), false));
      on_path_[0] = true;
      if (extend()) return true;
      path_ = path;
      on_path_ = on_path;
    }
    found_.pop_back();
    left_.add(path_.back(), 0, 1);
    return false;
  }

  // Every cycle still to find takes two links of each vertex.
  [[nodiscard]] bool enough_left() const {
    for (int i = 0; i < left_.size(); ++i) {
      if (left_.degree(i) < 2 * static_cast<int>(wanted_ - found_.size())) return false;
    }
    return true;
  }

  void step_to(int next) {
    left_.add(path_.back(), next, -1);
    path_.push_back(next);
    on_path_[static_cast<std::size_t>(next)] = true;
  }
  void step_back() {
    on_path_[static_cast<std::size_t>(path_.back())] = false;
    const int last = path_.back();
    path_.pop_back();
    left_.add(path_.back(), last, 1);
  }

  LinkCounts left_;
  std::size_t wanted_;
  std::vector<Path> found_;
  Path path_;
  std::vector<bool> on_path_;
  std::int64_t visited_ = 0;
};

// The first path from `from` to `to` through all vertices, in lexicographic order.
class PathSearch {
 public:
  PathSearch(const LinkCounts& links, int to)
      : links_{links}, to_{to}, on_path_(static_cast<std::size_t>(links.size()), false) {}

  std::optional<Path> run(int from) {
    path_ = {from};
    on_path_[static_cast<std::size_t>(from)] = true;
    if (!extend()) return std::nullopt;
    return path_;
  }

 private:
  bool extend() {
    if (++visited_ > kSearchBudget) return false;
    if (static_cast<int>(path_.size()) == links_.size()) return path_.back() == to_;
    if (path_.back() == to_) return false;
    for (int next = 0; next < links_.size(); ++next) {
      if (on_path_[static_cast<std::size_t>(next)] || links_.between(path_.back(), next) == 0) continue;
      on_path_[static_cast<std::size_t>(next)] = true;
      path_.push_back(next);
      if (extend()) return true;
      path_.pop_back();
      on_path_[static_cast<std::size_t>(next)] = false;
    }
    return false;
  }

  const LinkCounts& links_;
  int to_;
  Path path_;
  std::vector<bool> on_path_;
  std::int64_t visited_ = 0;
};

// Ranks of each host, hosts in the order of their first rank.
std::vector<std::vector<Rank>> ranks_by_host(const net::Topology& topology, std::span<const DeviceId> devices) {
  std::vector<std::vector<Rank>> hosts;
  std::vector<std::size_t> place(topology.host_count(), SIZE_MAX);
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const std::int32_t host = topology.host_of(devices[rank]);
    WEFT_CHECK(host >= 0);
    std::size_t& at = place[static_cast<std::size_t>(host)];
    if (at == SIZE_MAX) {
      at = hosts.size();
      hosts.emplace_back();
    }
    hosts[at].push_back(static_cast<Rank>(rank));
  }
  return hosts;
}

// Direct links between GPUs of one host, in units of the slowest of them.
LinkCounts direct_links(const net::Topology& topology, std::span<const DeviceId> devices, const std::vector<Rank>& host) {
  struct Direct {
    int i;
    int j;
    std::int64_t rate;
  };
  std::vector<Direct> found;
  std::int64_t slowest = INT64_MAX;
  for (std::size_t i = 0; i < host.size(); ++i) {
    const DeviceId gpu = devices[static_cast<std::size_t>(host[i])];
    for (const LinkId link : topology.out_links(gpu)) {
      for (std::size_t j = i + 1; j < host.size(); ++j) {
        if (topology.link(link).to != devices[static_cast<std::size_t>(host[j])]) continue;
        const std::int64_t rate = topology.spec(link).rate.bits_per_second();
        found.push_back({static_cast<int>(i), static_cast<int>(j), rate});
        slowest = std::min(slowest, rate);
      }
    }
  }
  LinkCounts links{static_cast<int>(host.size())};
  for (const Direct& direct : found) links.add(direct.i, direct.j, static_cast<int>(direct.rate / slowest));
  return links;
}

RingOrder order_of(const std::vector<Rank>& host, const Path& path) {
  RingOrder order;
  for (const int i : path) order.push_back(host[static_cast<std::size_t>(i)]);
  return order;
}

std::vector<RingOrder> rings_of_one_host(const std::vector<Rank>& host, const LinkCounts& links, int channels) {
  std::vector<Path> rings;
  for (const Path& cycle : disjoint_cycles(links)) {
    rings.push_back(cycle);
    rings.push_back(cycle);
    std::reverse(rings.back().begin() + 1, rings.back().end());
  }
  if (rings.empty()) {
    rings.emplace_back(host.size());
    std::iota(rings.back().begin(), rings.back().end(), 0);
  }
  std::vector<RingOrder> orders;
  for (int c = 0; c < channels; ++c) orders.push_back(order_of(host, rings[static_cast<std::size_t>(c) % rings.size()]));
  return orders;
}

// Path through the GPUs of a host from `rail` to the next rail. On a mesh it goes over direct links, as long as there are such
// paths, and takes them out of `unused`, so that the next one looks for others first.
Path path_between_rails(const LinkCounts& links, LinkCounts& unused, int rail) {
  const int g = links.size();
  const int end = (rail + 1) % g;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (const auto path = PathSearch{unused, end}.run(rail)) {
      for (std::size_t i = 0; i + 1 < path->size(); ++i) unused.add((*path)[i], (*path)[i + 1], -1);
      return *path;
    }
    unused = links;
  }
  Path path;  // rail, rail - 1, ..., rail + 1
  for (int i = 0; i < g; ++i) path.push_back((rail - i + g) % g);
  return path;
}

std::vector<RingOrder> rings_of_hosts(const std::vector<std::vector<Rank>>& hosts, const std::vector<LinkCounts>& links,
                                      int channels) {
  const int g = static_cast<int>(hosts.front().size());
  std::vector<RingOrder> orders(static_cast<std::size_t>(channels));
  std::vector<Path> paths;  // of each pair of channels; the same in hosts that are alike
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    if (h == 0 || links[h] != links[h - 1]) {
      paths.clear();
      LinkCounts unused = links[h];
      for (int first = 0; first < channels; first += 2) paths.push_back(path_between_rails(links[h], unused, first % g));
    }
    for (int first = 0; first < channels; first += 2) {
      const Path& path = paths[static_cast<std::size_t>(first / 2)];
      const Path back{path.rbegin(), path.rend()};
      for (int c = first; c < std::min(first + 2, channels); ++c) {
        const RingOrder part = order_of(hosts[h], (h % 2 == 0) == (c == first) ? path : back);
        RingOrder& order = orders[static_cast<std::size_t>(c)];
        order.insert(order.end(), part.begin(), part.end());
      }
    }
  }
  return orders;
}

}  // namespace

LinkCounts::LinkCounts(int size) : size_{size}, counts_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size), 0) {}

int LinkCounts::degree(int i) const {
  int sum = 0;
  for (int j = 0; j < size_; ++j) sum += between(i, j);
  return sum;
}

void LinkCounts::add(int i, int j, int count) {
  counts_[index(i, j)] += count;
  counts_[index(j, i)] += count;
}

std::vector<std::vector<int>> disjoint_cycles(const LinkCounts& links) {
  if (links.size() < 3) return {};
  int most = links.degree(0) / 2;
  for (int i = 1; i < links.size(); ++i) most = std::min(most, links.degree(i) / 2);
  for (int wanted = most; wanted > 0; --wanted) {
    CycleSearch search{links, wanted};
    if (search.run()) return std::move(search).cycles();
  }
  return {};
}

std::vector<RingOrder> rank_order_rings(int ranks, int channels) {
  RingOrder order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return std::vector<RingOrder>(static_cast<std::size_t>(channels), order);
}

std::vector<RingOrder> make_rings(const net::Topology& topology, std::span<const DeviceId> devices, int channels) {
  WEFT_CHECK(!devices.empty());
  WEFT_CHECK(channels >= 1);
  const std::vector<std::vector<Rank>> hosts = ranks_by_host(topology, devices);
  if (hosts.size() == 1) return rings_of_one_host(hosts[0], direct_links(topology, devices, hosts[0]), channels);

  const std::size_t g = hosts.front().size();
  const bool alike = std::all_of(hosts.begin(), hosts.end(), [g](const auto& host) { return host.size() == g; });
  if (!alike || g == 1) {
    RingOrder order;
    for (const auto& host : hosts) order.insert(order.end(), host.begin(), host.end());
    return std::vector<RingOrder>(static_cast<std::size_t>(channels), order);
  }
  std::vector<LinkCounts> links;
  for (const auto& host : hosts) links.push_back(direct_links(topology, devices, host));
  return rings_of_hosts(hosts, links, channels);
}

}  // namespace weft::coll
