// Entropy values: every switch hashes the value that a packet carries, so that its sender picks its path (models/network §3.5).
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class Entropy final : public RoutingPolicy {
 public:
  [[nodiscard]] PerPacket per_packet() const override { return PerPacket::kEntropy; }
};

}  // namespace

const Registration<RoutingPolicy> entropy_routing{
    .name = "entropy",
    .summary = "switches hash the entropy value of each packet; Ultra Ethernet's senders pick it",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Entropy>(); },
    .model = {.assumes =
                  "Each switch hashes flow and entropy value with a seed of its own: a value is a path. At flow fidelity a "
                  "flow loads all equal-cost links alike.",
              .leaves_out = {"entropy: at flow fidelity reordering costs nothing, and congested paths are not left aside"},
              .sources = {"Ultra Ethernet Consortium, UEC specification 1.0, 2025", "models/network §3.5"}},
};

}  // namespace weft::net
