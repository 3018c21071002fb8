#include "sim/network/buffer_cycles.h"

#include <algorithm>
#include <cstdint>

#include "sim/network/link_cycle.h"

namespace weft::net {
namespace {

// Which links wait for which.
class Waits {
 public:
  explicit Waits(const Topology& topology) : next_(topology.link_count()) {}

  void add(LinkId link, LinkId next) {
    std::vector<std::size_t>& all = next_[link.index()];
    if (std::ranges::find(all, next.index()) == all.end()) all.push_back(next.index());
  }
  [[nodiscard]] std::vector<LinkId> cycle() const {
    std::vector<std::size_t> roots;
    for (std::size_t link = 0; link < next_.size(); ++link) {
      if (!next_[link].empty()) roots.push_back(link);
    }
    std::vector<LinkId> links;
    for (const std::size_t link : find_cycle(roots, next_)) links.push_back(LinkId::from_index(link));
    return links;
  }

 private:
  std::vector<std::vector<std::size_t>> next_;
};

// The links that minimal ways from all leaves to one leaf take.
class WaysTo {
 public:
  WaysTo(const Router& router, DeviceId leaf) : router_{router}, leaf_{leaf}, reached_(router.topology().device_count()) {
    const Topology& topology = router.topology();
    for (const DeviceId from : router.leaves()) reach(from);
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      for (const LinkId link : links(switches_[i])) reach(topology.link(link).to);
    }
    for (const DeviceId device : switches_) {
      for (const LinkId link : links(device)) taken_.push_back(link);
    }
  }
  [[nodiscard]] const std::vector<LinkId>& taken() const { return taken_; }
  [[nodiscard]] std::span<const LinkId> links(DeviceId at) const {
    return at == leaf_ ? std::span<const LinkId>{} : router_.links_between(at, leaf_);
  }

 private:
  void reach(DeviceId device) {
    if (reached_[device.index()]) return;
    reached_[device.index()] = true;
    switches_.push_back(device);
  }

  const Router& router_;
  DeviceId leaf_;
  std::vector<bool> reached_;
  std::vector<DeviceId> switches_;
  std::vector<LinkId> taken_;
};

// A packet that has come to the leaf of its detour leaves it by any link that begins a way to another.
void add_detours(const Router& router, DeviceId by, const WaysTo& ways, Waits& waits) {
  const Topology& topology = router.topology();
  std::vector<LinkId> arriving;
  std::ranges::copy_if(ways.taken(), std::back_inserter(arriving), [&](LinkId link) { return topology.link(link).to == by; });
  for (const DeviceId to : router.leaves()) {
    if (to == by) continue;
    const bool is_used =
        std::ranges::any_of(router.leaves(), [&](DeviceId from) { return from != to && router.is_detour(from, by, to); });
    if (!is_used) continue;
    for (const LinkId next : router.links_between(by, to)) {
      for (const LinkId link : arriving) waits.add(link, next);
    }
  }
}

}  // namespace

bool joins_switches(const Topology& topology, LinkId link) {
  return topology.kind(topology.link(link).from) == DeviceKind::kSwitch &&
         topology.kind(topology.link(link).to) == DeviceKind::kSwitch;
}

std::vector<LinkId> find_buffer_cycle(const Router& router, std::span<const PathEnds> flows) {
  const Topology& topology = router.topology();
  Waits waits{topology};
  std::vector<NextHop> hops;
  std::vector<std::uint32_t> seen(topology.link_count(), 0);  // by link: 1 + the flow that came by last
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    const PathEnds& ends = flows[flow];
    if (ends.source == ends.destination) continue;
    std::vector<LinkId> wave;  // links that have just been taken
    const auto step = [&](DeviceId at, LinkId came) {
      hops.clear();
      router.next_hops(at, ends.source, ends.destination, ends.key, hops);
      for (const NextHop& hop : hops) {
        if (came.valid() && joins_switches(topology, came) && joins_switches(topology, hop.link)) waits.add(came, hop.link);
        if (seen[hop.link.index()] == flow + 1) continue;
        seen[hop.link.index()] = static_cast<std::uint32_t>(flow + 1);
        wave.push_back(hop.link);
      }
    };
    step(ends.source, LinkId{});
    for (std::size_t i = 0; i < wave.size(); ++i) {
      const LinkId link = wave[i];
      if (topology.link(link).to != ends.destination) step(topology.link(link).to, link);
    }
  }
  return waits.cycle();
}

std::vector<LinkId> find_buffer_cycle(const Router& router) {
  const Topology& topology = router.topology();
  Waits waits{topology};
  for (const DeviceId leaf : router.leaves()) {
    const WaysTo ways{router, leaf};
    for (const LinkId link : ways.taken()) {
      for (const LinkId next : ways.links(topology.link(link).to)) waits.add(link, next);
    }
    if (router.policy().detour() != Detour::kNever) add_detours(router, leaf, ways, waits);
  }
  return waits.cycle();
}

double buffer_cycle_steps(const Router& router) {
  const auto leaves = static_cast<double>(router.leaves().size());
  const double cubic = router.policy().detour() == Detour::kNever ? 0 : leaves * leaves * leaves;
  return leaves * static_cast<double>(router.topology().link_count()) + cubic;
}

}  // namespace weft::net
