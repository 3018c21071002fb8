// ECMP: one of the equal-cost links by a hash of the flow with the switch's own seed; equal seeds on two tiers polarise the
// choice (models/network §5.1). Every packet of a flow takes the same path.
//
//   routing: {type: ecmp, hash: [source, destination], switch_seeds: false}
#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/builtin.h"
#include "sim/network/router.h"
#include "sim/network/routing/hash_mix.h"

namespace weft::net {
namespace {

class Ecmp final : public RoutingPolicy {
 public:
  explicit Ecmp(ParamReader& params) {
    switch_seeds_ = params.optional<bool>("switch_seeds", true);
    const std::vector<std::string> known{"source", "destination", "flow"};
    const std::vector<std::string> fields = params.has("hash") ? params.required_list<std::string>("hash") : known;
    for (const std::string& field : fields) {
      if (std::ranges::find(known, field) == known.end())
        params.error("hash", "unknown field '" + field + "'", "fields: source, destination, flow (its queue pair or port)");
    }
    if (fields.empty()) params.error("hash", "expected one field at least: source, destination, flow");
    const auto has = [&](const char* field) { return std::ranges::find(fields, field) != fields.end(); };
    source_ = has("source");
    destination_ = has("destination");
    flow_ = has("flow");
  }

  [[nodiscard]] std::uint32_t pick(const RoutingChoice& choice) const override {
    // Addresses are mixed in as a 5-tuple hash would.
    std::uint64_t x = mix((flow_ ? choice.flow : 0) ^ (switch_seeds_ ? choice.switch_seed : choice.seed));
    x ^= ((source_ ? std::uint64_t{choice.source} : 0) << 32) | (destination_ ? choice.destination : 0);
    x = (x ^ (x >> 33)) * 0xFF51'AFD7'ED55'8CCD;
    x = (x ^ (x >> 33)) * 0xC4CE'B9FE'1A85'EC53;
    x ^= x >> 33;
    return static_cast<std::uint32_t>((static_cast<Uint128>(x) * choice.candidates) >> 64);
  }

 private:
  bool switch_seeds_ = true;
  bool source_ = true;
  bool destination_ = true;
  bool flow_ = true;
};

}  // namespace

const Registration<RoutingPolicy> ecmp{
    .name = "ecmp",
    .summary = "one equal-cost path per flow, by hash",
    .make = [](ParamReader& params) -> std::unique_ptr<RoutingPolicy> { return std::make_unique<Ecmp>(params); },
    .model = {.assumes =
                  "Each switch hashes source, destination and the flow's own entropy with a seed of its own, so that "
                  "tiers do not polarise (`switch_seeds: false` shows what happens else). All packets of a flow take one "
                  "path; two flows may collide on a link while another is idle.",
              .leaves_out = {"real hashes differ by vendor: collisions are as frequent, but not on the same flows"},
              .sources = {"models/network §5.1"}},
};

}  // namespace weft::net
