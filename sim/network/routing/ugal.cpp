// UGAL: at its first switch a packet compares the minimal way with one by a random leaf, queue times links, and takes the
// shorter (Singh, 2005; on dragonflies Kim et al., 2008, as UGAL-L: queues of the first switch alone).
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class Ugal final : public RoutingPolicy {
 public:
  [[nodiscard]] PerPacket per_packet() const override { return PerPacket::kLeastQueued; }
  [[nodiscard]] Detour detour() const override { return Detour::kWhereShorter; }
};

}  // namespace

const Registration<RoutingPolicy> ugal{
    .name = "ugal",
    .summary = "minimal or by a random leaf, by queue times links at the first switch",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Ugal>(); },
    .model = {.assumes = "At its first switch a packet draws one detour as `valiant` does, and takes it where its queue times "
                         "its links is below that of the minimal way.",
              .leaves_out = {"flow fidelity has no queues: flows take minimal ways",
                             "queues of switches further on (UGAL-G), and virtual channels against cycles of buffers"},
              .sources = {"Singh, 2005", "Kim, Dally, Scott, Abts, 2008"}},
};

}  // namespace weft::net
