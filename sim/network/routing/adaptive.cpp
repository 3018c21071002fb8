// Adaptive routing: the least loaded of the equal-cost links, packet by packet (models/network §4, §5.1).
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class Adaptive final : public RoutingPolicy {
 public:
  [[nodiscard]] PerPacket per_packet() const override { return PerPacket::kLeastQueued; }
};

}  // namespace

const Registration<RoutingPolicy> adaptive{
    .name = "adaptive",
    .summary = "the least loaded equal-cost link; at flow fidelity a spread by what each carries",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Adaptive>(); },
    .model =
        {.assumes = "The least loaded of the equal-cost links, packet by packet; at flow fidelity a spread over all of them "
                    "in proportion to what each carries.",
         .leaves_out = {"at flow fidelity adaptive routing knows no load: exact where the tree is symmetric, too even where "
                        "it is not"},
         .sources = {"models/network §4, §5.1, §6.5"}},
};

}  // namespace weft::net
