// One switch that every NIC of every node hangs on.
#include <fmt/format.h>

#include <memory>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

class SingleSwitch final : public TopologyShape {
 public:
  explicit SingleSwitch(ParamReader& params)
      : fabric_{params.node()}, ports_{params.optional<std::int64_t>("ports", at_least(1))} {}

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    if (ports_ && demand.ports() > *ports_) {
      diagnostics.error(fabric_.diagnostic(fmt::format("{}: {} nodes with {} NIC(s) each do not fit one switch of {} ports",
                                                       fabric_.path(), demand.nodes, demand.rails, *ports_)));
    }
    return {.switches = 1, .cables = demand.ports()};
  }

  void build(FabricSite& site) const override {
    const DeviceId only = site.add_switch("switch0", {{"tier", "0"}});
    for (std::int64_t i = 0; i < site.demand().ports(); ++i) site.join_host(site.port(i), only);
  }

 private:
  ConfigNode fabric_;
  std::optional<std::int64_t> ports_;
};

}  // namespace

const Registration<TopologyShape> single_switch{
    .name = "single_switch",
    .summary = "one switch for all",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> { return std::make_unique<SingleSwitch>(params); },
    .model = {.assumes = "All NICs hang on one switch. `ports` bounds it where given; the switch itself never blocks.",
              .leaves_out = {"switches are crossbars: only ports limit"},
              .sources = {"models/network §5.2"}},
};

}  // namespace weft::net
