// D-mod-K: at each tier the up-link is the destination's number over the hosts below one switch of the tier beneath, modulo the
// number of up-links. Shift permutations of a complete tree meet no contention (Zahavi 2010; models/network §5.1).
#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::net {
namespace {

class DModK final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t pick(const RoutingChoice& choice) const override {
    return choice.destination_position / choice.stride % choice.candidates;
  }
};

}  // namespace

const Registration<RoutingPolicy> d_mod_k{
    .name = "d_mod_k",
    .summary = "by the destination's number: shift permutations meet no contention",
    .make = [](ParamReader&) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<DModK>(); },
    .model = {.assumes = "At each tier the up-link is the destination's number over the hosts below one switch of the tier "
                         "beneath, modulo the number of up-links. Shift permutations of a complete tree meet no contention.",
              .leaves_out = {"d_mod_k numbers hosts in the order in which they hang on leaves, not by rank"},
              .sources = {"Zahavi, 2010: D-Mod-K routing providing non-blocking traffic for shift permutations",
                          "models/network §5.1"}},
};

}  // namespace weft::net
