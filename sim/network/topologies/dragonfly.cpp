// Dragonfly (Kim et al., 2008; models/network §5.2): groups of `a` routers joined all to all, each router with `p` host ports
// and `h` global links; every pair of groups is joined by as many global links as there are for all pairs alike. Balanced: a =
// 2p = 2h.
//
// Global port q of group i (counted over its routers) leads to group i + 1 + (q mod (groups - 1)), so a complete dragonfly of
// a h + 1 groups has one link per pair; ports left over stay empty.
//
// Routers carry the label of their group, so that routes are minimal in the paper's sense: at most one global link, with a
// local link before and after it where needed. Two global links through a third group may be fewer hops, but are no minimal
// route.
#include <fmt/format.h>

#include <memory>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

class Dragonfly final : public TopologyShape {
 public:
  explicit Dragonfly(ParamReader& params) : fabric_{params.node()} {
    p_ = params.required<std::int64_t>("p", between(1, 512));
    a_ = params.optional<std::int64_t>("a", 2 * p_, between(1, 1024));
    h_ = params.optional<std::int64_t>("h", p_, between(1, 512));
    groups_ = params.optional<std::int64_t>("groups", a_ * h_ + 1, between(1, 1'000'000));
    if (groups_ > a_ * h_ + 1) {
      params.error("groups",
                   fmt::format("{} routers of {} global links reach {} groups at most, got {}", a_, h_, a_ * h_ + 1, groups_));
    }
  }

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    if (demand.ports() > p_ * a_ * groups_) {
      diagnostics.error(
          fabric_.diagnostic(fmt::format("{}: {} nodes with {} NIC(s) each need {} host ports, the dragonfly has {}",
                                         fabric_.path(), demand.nodes, demand.rails, demand.ports(), p_ * a_ * groups_)));
    }
    return {.switches = a_ * groups_,
            .cables = demand.ports() + groups_ * a_ * (a_ - 1) / 2 + groups_ * (groups_ - 1) / 2 * links_per_pair()};
  }

  void build(FabricSite& site) const override {
    std::vector<DeviceId> routers;
    for (std::int64_t i = 0; i < a_ * groups_; ++i) {
      routers.push_back(site.add_switch("router" + std::to_string(i), {{"tier", "0"}, {"group", std::to_string(i / a_)}}));
    }
    const auto router = [&](std::int64_t group, std::int64_t i) { return routers[static_cast<std::size_t>(group * a_ + i)]; };
    for (std::int64_t i = 0; i < site.demand().ports(); ++i) {
      site.join_host(site.port(i), routers[static_cast<std::size_t>(i / p_)]);
    }
    for (std::int64_t group = 0; group < groups_; ++group) {
      for (std::int64_t i = 0; i < a_; ++i) {
        for (std::int64_t j = i + 1; j < a_; ++j) site.join_switches(router(group, i), router(group, j));
      }
    }
    for (std::int64_t group = 0; group < groups_; ++group) {
      for (std::int64_t q = 0; q < links_per_pair() * (groups_ - 1); ++q) {
        const std::int64_t round = q / (groups_ - 1);
        const std::int64_t offset = q % (groups_ - 1);
        const std::int64_t peer = (group + 1 + offset) % groups_;
        if (peer < group) continue;  // made from the other side
        // From the peer, this group lies groups - 1 - offset further on.
        const std::int64_t back = round * (groups_ - 1) + groups_ - 2 - offset;
        site.join_switches(router(group, q / h_), router(peer, back / h_));
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t links_per_pair() const { return groups_ > 1 ? a_ * h_ / (groups_ - 1) : 0; }

  ConfigNode fabric_;
  std::int64_t p_ = 1;  // host ports of a router
  std::int64_t a_ = 1;  // routers of a group
  std::int64_t h_ = 1;  // global links of a router
  std::int64_t groups_ = 1;
};

}  // namespace

const Registration<TopologyShape> dragonfly{
    .name = "dragonfly",
    .summary = "groups of routers joined all to all, groups joined by global links",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> { return std::make_unique<Dragonfly>(params); },
    .model = {.assumes = "Groups of `a` routers with `p` host ports and `h` global links each; every pair of groups has the "
                         "same number of links.",
              .leaves_out = {"routes are minimal, of one global link where the groups have one, but for `routing: valiant` and "
                             "`ugal`"},
              .sources = {"Kim, Dally, Scott, Abts, 2008", "models/network §5.2"}},
};

}  // namespace weft::net
