// Packet spraying: every packet takes any of the equal-cost links, so a flow loads all of them alike (models/network §5.1).
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class Spray final : public RoutingPolicy {
 public:
  [[nodiscard]] PerPacket per_packet() const override { return PerPacket::kRandom; }
};

}  // namespace

const Registration<RoutingPolicy> spray{
    .name = "spray",
    .summary = "every packet takes any equal-cost path; flows load all alike",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Spray>(); },
    .model = {.assumes = "A flow loads all equal-cost links of a switch alike, whatever each of them carries.",
              .leaves_out = {"at flow fidelity reordering at the receiver costs nothing"},
              .sources = {"models/network §5.1"}},
};

}  // namespace weft::net
