// Fat trees of edge, aggregation and core switches (models/network §5.2); NICs fill the edges in order, node by node. Three
// ways to say how large:
//
//   k: 8                       the complete k-ary tree: k pods of k/2 edges and k/2 aggs, (k/2)^2 cores, k^3/4 host ports
//   radix: 64                  as many tiers (up to three) and switches as the hosts need; `oversubscription` at the edges
//   pods, edges_per_pod, aggs_per_pod, cores, hosts_per_edge    as stated, one cable a pair
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/topologies/folded_clos.h"

namespace weft::net {
namespace {

constexpr std::int64_t kMaxCount = 4096;

class FatTree final : public TopologyShape {
 public:
  explicit FatTree(ParamReader& params) : fabric_{params.node()} {
    if (params.has("k")) {
      read_complete(params);
    } else if (params.has("pods")) {
      read_stated(params);
    } else {
      sized_ = true;
      clos_ = ClosParams::read(params, params.has("leaf_ports") ? "leaf_ports" : "radix");
      clos_.hosts_per_leaf = params.optional<std::int64_t>("hosts_per_edge", between<std::int64_t>(1, kMaxCount));
      hosts_per_edge_ = clos_.down_ports();
    }
  }

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    if (sized_) {
      std::string error;
      // One switch takes hosts on all its ports; with more than one, some ports go up.
      hosts_per_edge_ =
          demand.ports() <= clos_.leaf_ports && !clos_.spines && !clos_.hosts_per_leaf ? clos_.leaf_ports : clos_.down_ports();
      const std::int64_t edges = (demand.ports() + hosts_per_edge_ - 1) / hosts_per_edge_;
      const auto plan = plan_clos(clos_, edges, std::min(hosts_per_edge_, demand.ports()), 1, error);
      if (!plan) {
        diagnostics.error(fabric_.diagnostic(fmt::format("{}: {}", fabric_.path(), error)));
        return {};
      }
      plan_ = *plan;
    } else if (demand.ports() > plan_.leaves * hosts_per_edge_) {
      diagnostics.error(
          fabric_.diagnostic(fmt::format("{}: {} nodes with {} NIC(s) each need {} host ports, the tree has {}", fabric_.path(),
                                         demand.nodes, demand.rails, demand.ports(), plan_.leaves * hosts_per_edge_)));
    }
    return plan_.size(demand.ports());
  }

  void build(FabricSite& site) const override {
    const ClosNames names{.leaf = "edge", .spine = "agg", .core = "core"};
    const ClosSwitches switches = add_clos_switches(plan_, names, site, {}, {}, [](std::int64_t) { return Labels{}; });
    for (std::int64_t i = 0; i < site.demand().ports(); ++i) {
      site.join_host(site.port(i), switches.leaves[static_cast<std::size_t>(i / hosts_per_edge_)]);
    }
    add_clos_trunks(plan_, switches, site);
  }

 private:
  void read_complete(ParamReader& params) {
    std::int64_t k = params.required<std::int64_t>("k", between(2, 512));
    if (k % 2 != 0) params.error("k", fmt::format("a k-ary tree has an even k, got {}", k));
    k = std::max<std::int64_t>(k / 2 * 2, 2);
    hosts_per_edge_ = k / 2;
    plan_ = {.leaves = k * k / 2,
             .leaf_up = k / 2,
             .pods = k,
             .leaves_per_pod = k / 2,
             .spines_per_pod = k / 2,
             .leaf_cables = 1,
             .cores_per_spine = k / 2,
             .core_cables = 1};
  }

  void read_stated(ParamReader& params) {
    const auto pods = params.required<std::int64_t>("pods", between<std::int64_t>(1, kMaxCount));
    const auto edges = params.required<std::int64_t>("edges_per_pod", between<std::int64_t>(1, kMaxCount));
    const auto aggs = params.required<std::int64_t>("aggs_per_pod", between<std::int64_t>(1, kMaxCount));
    const auto cores = params.required<std::int64_t>("cores", between<std::int64_t>(1, kMaxCount * kMaxCount));
    hosts_per_edge_ = params.required<std::int64_t>("hosts_per_edge", between<std::int64_t>(1, kMaxCount));
    if (aggs > 0 && cores % aggs != 0) {
      params.error("cores", fmt::format("{} cores are not a multiple of the {} aggs of a pod", cores, aggs));
    }
    plan_ = {.leaves = pods * edges,
             .leaf_up = aggs,
             .pods = pods,
             .leaves_per_pod = edges,
             .spines_per_pod = aggs,
             .leaf_cables = 1,
             .cores_per_spine = aggs > 0 ? cores / aggs : 0,
             .core_cables = 1};
  }

  ConfigNode fabric_;
  bool sized_ = false;  // by radix
  ClosParams clos_;
  std::int64_t hosts_per_edge_ = 1;
  ClosPlan plan_;
};

}  // namespace

const Registration<TopologyShape> fat_tree{
    .name = "fat_tree",
    .summary = "k-ary fat tree, or as many tiers as the hosts need at a radix",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> { return std::make_unique<FatTree>(params); },
    .model = kClosText,
};

}  // namespace weft::net
