// Static routing: always the first of the equal-cost links. The worst case that other policies are compared with.
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class Static final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t pick(const RoutingChoice& /*choice*/) const override { return 0; }
};

}  // namespace

const Registration<RoutingPolicy> static_routing{
    .name = "static",
    .summary = "always the first equal-cost link",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Static>(); },
    .model = {.assumes = "The worst case that other policies are compared with.",
              .leaves_out = {"no subnet manager balances routes over destinations; see d_mod_k for that"},
              .sources = {"models/network §5.1"}},
};

}  // namespace weft::net
