// Leaves and spines, each leaf joined to each spine; NICs fill the leaves in order, node by node. Above `spine_ports` leaves a
// third tier is added (folded_clos.h).
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/topologies/folded_clos.h"

namespace weft::net {
namespace {

class LeafSpine final : public TopologyShape {
 public:
  explicit LeafSpine(ParamReader& params) : fabric_{params.node()}, params_{ClosParams::read(params)} {
    params_.hosts_per_leaf = params.optional<std::int64_t>("hosts_per_leaf", between(1, 4096));
  }

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    const std::int64_t down = params_.down_ports();
    const std::int64_t leaves = (demand.ports() + down - 1) / down;
    std::string error;
    const auto plan = plan_clos(params_, leaves, std::min(down, demand.ports()), 1, error);
    if (!plan) {
      diagnostics.error(fabric_.diagnostic(fmt::format("{}: {}", fabric_.path(), error)));
      return {};
    }
    plan_ = *plan;
    return plan_.size(demand.ports());
  }

  void build(FabricSite& site) const override {
    const ClosSwitches switches = add_clos_switches(plan_, {}, site, {}, {}, [](std::int64_t) { return Labels{}; });
    for (std::int64_t i = 0; i < site.demand().ports(); ++i) {
      site.join_host(site.port(i), switches.leaves[static_cast<std::size_t>(i / params_.down_ports())]);
    }
    add_clos_trunks(plan_, switches, site);
  }

 private:
  ConfigNode fabric_;
  ClosParams params_;
  ClosPlan plan_;
};

}  // namespace

const Registration<TopologyShape> leaf_spine{
    .name = "leaf_spine",
    .summary = "leaves filled node by node, each joined to every spine",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> { return std::make_unique<LeafSpine>(params); },
    .model = kClosText,
};

}  // namespace weft::net
