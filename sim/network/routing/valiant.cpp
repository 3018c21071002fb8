// Valiant's routing: every packet goes by a leaf drawn at random, so that any traffic loads the fabric as uniform traffic of
// twice the links does (Valiant and Brebner, 1981; on dragonflies Kim et al., 2008).
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class Valiant final : public RoutingPolicy {
 public:
  [[nodiscard]] PerPacket per_packet() const override { return PerPacket::kLeastQueued; }
  [[nodiscard]] Detour detour() const override { return Detour::kAlways; }
};

}  // namespace

const Registration<RoutingPolicy> valiant{
    .name = "valiant",
    .summary = "every packet by a random third leaf; on a dragonfly by a third group",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Valiant>(); },
    .model =
        {.assumes = "Every packet takes a minimal way to a leaf drawn at random and a minimal way from there; on a "
                    "dragonfly that leaf lies in a third group. At flow fidelity a flow loads all these ways alike.",
         .leaves_out = {"virtual channels against cycles of buffers: with pauses or credits such routes can block each other"},
         .sources = {"Valiant, Brebner, 1981", "Kim, Dally, Scott, Abts, 2008"}},
};

}  // namespace weft::net
