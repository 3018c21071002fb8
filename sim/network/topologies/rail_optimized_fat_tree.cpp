// The rail-optimised fat tree of DGX SuperPODs (models/network §5.1, §5.2): NIC r of every node of a scalable unit hangs on
// leaf r of that unit, so traffic between equal rails of a unit crosses one switch.
//
// A unit has as many nodes as a leaf has ports for hosts: 32 with 64-port leaves and no oversubscription. Two tiers up to 256
// nodes of 8 NICs, three above, with pods of whole units.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/topologies/folded_clos.h"

namespace weft::net {
namespace {

class RailOptimizedFatTree final : public TopologyShape {
 public:
  explicit RailOptimizedFatTree(ParamReader& params) : fabric_{params.node()}, clos_{ClosParams::read(params)} {
    clos_.hosts_per_leaf = params.optional<std::int64_t>("nodes_per_unit", between(1, 4096));
    nodes_per_unit_ = clos_.down_ports();
  }

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    const std::int64_t units = (demand.nodes + nodes_per_unit_ - 1) / nodes_per_unit_;
    std::string error;
    const auto plan = plan_clos(clos_, units * demand.rails, std::min(nodes_per_unit_, demand.nodes), demand.rails, error);
    if (!plan) {
      diagnostics.error(fabric_.diagnostic(fmt::format("{}: {}", fabric_.path(), error)));
      return {};
    }
    plan_ = *plan;
    return plan_.size(demand.ports());
  }

  void build(FabricSite& site) const override {
    const std::int64_t rails = site.demand().rails;
    const ClosSwitches switches = add_clos_switches(plan_, {}, site, {}, {}, [rails](std::int64_t leaf) {
      return Labels{{"rail", std::to_string(leaf % rails)}, {"unit", std::to_string(leaf / rails)}};
    });
    for (std::int64_t node = 0; node < site.demand().nodes; ++node) {
      for (std::int64_t rail = 0; rail < rails; ++rail) {
        const std::int64_t leaf = node / nodes_per_unit_ * rails + rail;
        site.join_host(site.port(node, rail), switches.leaves[static_cast<std::size_t>(leaf)]);
      }
    }
    add_clos_trunks(plan_, switches, site);
  }

 private:
  ConfigNode fabric_;
  ClosParams clos_;
  std::int64_t nodes_per_unit_;
  ClosPlan plan_;
};

}  // namespace

const Registration<TopologyShape> rail_optimized_fat_tree{
    .name = "rail_optimized_fat_tree",
    .summary = "one leaf per rail and scalable unit, as in DGX SuperPODs",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> {
      return std::make_unique<RailOptimizedFatTree>(params);
    },
    .model = kClosText,
};

}  // namespace weft::net
