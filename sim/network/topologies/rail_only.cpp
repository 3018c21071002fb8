// One network per rail and no switch between rails (models/network §5.2, rail-only): traffic to another rail first moves to
// the right GPU over NVLink. A rail is one leaf while its nodes fit, a leaf-spine network (folded_clos.h) above.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/topologies/folded_clos.h"

namespace weft::net {
namespace {

class RailOnly final : public TopologyShape {
 public:
  explicit RailOnly(ParamReader& params) : fabric_{params.node()}, clos_{ClosParams::read(params)} {}

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    nodes_per_leaf_ = demand.nodes <= clos_.leaf_ports && !clos_.spines ? clos_.leaf_ports : clos_.down_ports();
    const std::int64_t leaves = (demand.nodes + nodes_per_leaf_ - 1) / nodes_per_leaf_;
    std::string error;
    const auto plan = plan_clos(clos_, leaves, std::min(nodes_per_leaf_, demand.nodes), 1, error);
    if (!plan) {
      diagnostics.error(fabric_.diagnostic(fmt::format("{}: {}", fabric_.path(), error)));
      return {};
    }
    plan_ = *plan;
    const FabricSize rail = plan_.size(demand.nodes);
    return {.switches = demand.rails * rail.switches, .cables = demand.rails * rail.cables};
  }

  void build(FabricSite& site) const override {
    std::vector<ClosSwitches> rails;
    ClosSwitches all;  // of the rails so far, for numbering
    for (std::int64_t rail = 0; rail < site.demand().rails; ++rail) {
      rails.push_back(
          add_clos_switches(plan_, {}, site, all, {{"rail", std::to_string(rail)}}, [](std::int64_t) { return Labels{}; }));
      const ClosSwitches& made = rails.back();
      all.leaves.insert(all.leaves.end(), made.leaves.begin(), made.leaves.end());
      all.spines.insert(all.spines.end(), made.spines.begin(), made.spines.end());
      all.cores.insert(all.cores.end(), made.cores.begin(), made.cores.end());
    }
    for (std::int64_t node = 0; node < site.demand().nodes; ++node) {
      for (std::int64_t rail = 0; rail < site.demand().rails; ++rail) {
        const ClosSwitches& switches = rails[static_cast<std::size_t>(rail)];
        site.join_host(site.port(node, rail), switches.leaves[static_cast<std::size_t>(node / nodes_per_leaf_)]);
      }
    }
    for (const ClosSwitches& switches : rails) add_clos_trunks(plan_, switches, site);
  }

 private:
  ConfigNode fabric_;
  ClosParams clos_;
  std::int64_t nodes_per_leaf_ = 1;
  ClosPlan plan_;
};

}  // namespace

const Registration<TopologyShape> rail_only{
    .name = "rail_only",
    .summary = "one network per rail, none between rails",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> { return std::make_unique<RailOnly>(params); },
    .model = kClosText,
};

}  // namespace weft::net
