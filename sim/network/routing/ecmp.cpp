// ECMP: one of the equal-cost links by a hash of the flow with the switch's own seed; equal seeds on two tiers would polarise
// the choice (models/network §5.1). Every packet of a flow takes the same path.
#include "sim/core/units.h"
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class Ecmp final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t pick(const RoutingChoice& choice) const override {
    // `entropy` carries the flow's entropy and the switch's seed; addresses are mixed in as a 5-tuple hash would.
    std::uint64_t x = choice.entropy ^ ((std::uint64_t{choice.source} << 32) | choice.destination);
    x = (x ^ (x >> 33)) * 0xFF51'AFD7'ED55'8CCD;
    x = (x ^ (x >> 33)) * 0xC4CE'B9FE'1A85'EC53;
    x ^= x >> 33;
    return static_cast<std::uint32_t>((static_cast<Uint128>(x) * choice.candidates) >> 64);
  }
};

}  // namespace

const Registration<RoutingPolicy> ecmp{
    .name = "ecmp",
    .summary = "one equal-cost path per flow, by hash",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Ecmp>(); },
    .model = {.assumes = "Each switch hashes source, destination and the flow's own entropy with a seed of its own, so that "
                         "tiers do not polarise. All packets of a flow take one path; two flows may collide on a link while "
                         "another is idle.",
              .leaves_out = {"real hashes differ by vendor: collisions are as frequent, but not on the same flows"},
              .sources = {"models/network §5.1"}},
};

}  // namespace weft::net
