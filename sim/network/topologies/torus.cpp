// A torus of any number of dimensions (models/network §5.2): a router at every position, joined to its two neighbours in each
// dimension; all NICs of node i hang on the router of position i / nodes_per_router, the last dimension counting fastest.
//
// A dimension of size 2 has one cable, not two: both neighbours are the same router.
#include <fmt/format.h>

#include <memory>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

constexpr std::int64_t kMaxPositions = 4'000'000;

class Torus final : public TopologyShape {
 public:
  explicit Torus(ParamReader& params) : fabric_{params.node()} {
    dims_ = params.required_list<std::int64_t>("dims", between<std::int64_t>(1, kMaxPositions));
    nodes_per_router_ = params.optional<std::int64_t>("nodes_per_router", 1, between(1, 1024));
    for (const std::int64_t dim : dims_) {
      if (dim < 1 || positions_ > kMaxPositions / dim) {
        params.error("dims", fmt::format("a torus has {} positions at most", kMaxPositions));
        break;
      }
      positions_ *= dim;
    }
  }

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    if (demand.nodes > positions_ * nodes_per_router_) {
      diagnostics.error(fabric_.diagnostic(fmt::format("{}: {} nodes do not fit {} positions of {} node(s) each",
                                                       fabric_.path(), demand.nodes, positions_, nodes_per_router_)));
    }
    std::int64_t cables = demand.ports();
    for (const std::int64_t dim : dims_) cables += dim > 2 ? positions_ : dim == 2 ? positions_ / 2 : 0;
    return {.switches = positions_, .cables = cables};
  }

  void build(FabricSite& site) const override {
    std::vector<DeviceId> routers;
    for (std::int64_t i = 0; i < positions_; ++i) {
      std::string at;
      std::int64_t rest = i;
      for (std::size_t d = dims_.size(); d-- > 0; rest /= dims_[d]) {
        at.insert(0, fmt::format("{}{}", rest % dims_[d], at.empty() ? "" : ","));
      }
      routers.push_back(site.add_switch("router" + std::to_string(i), {{"tier", "0"}, {"position", at}}));
    }
    for (std::int64_t node = 0; node < site.demand().nodes; ++node) {
      for (std::int64_t rail = 0; rail < site.demand().rails; ++rail) {
        site.join_host(site.port(node, rail), routers[static_cast<std::size_t>(node / nodes_per_router_)]);
      }
    }
    std::int64_t stride = positions_;
    for (const std::int64_t dim : dims_) {
      stride /= dim;
      for (std::int64_t i = 0; i < positions_ && dim > 1; ++i) {
        const std::int64_t at = i / stride % dim;
        if (dim == 2 && at == 1) continue;
        const std::int64_t next = i + ((at + 1) % dim - at) * stride;
        site.join_switches(routers[static_cast<std::size_t>(i)], routers[static_cast<std::size_t>(next)]);
      }
    }
  }

 private:
  ConfigNode fabric_;
  std::vector<std::int64_t> dims_;
  std::int64_t nodes_per_router_ = 1;
  std::int64_t positions_ = 1;
};

}  // namespace

const Registration<TopologyShape> torus{
    .name = "torus",
    .summary = "routers in a grid of any dimensions that closes on itself",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> { return std::make_unique<Torus>(params); },
    .model = {.assumes = "A router at every position, joined to its two neighbours in each dimension (one, where the size is "
                         "2).",
              .leaves_out = {"torus routes are all shortest ones, not dimension order; virtual channels are not modelled"},
              .sources = {"models/network §5.2"}},
};

}  // namespace weft::net
