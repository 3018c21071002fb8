// ECMP: one of the equal-cost links by a hash of the flow with the switch's own seed; equal seeds on two tiers polarise the
// choice (models/network §5.1). Every packet of a flow takes the same path.
//
//   routing: {type: ecmp, hash: [source, destination], switch_seeds: false}
//   routing: {type: ecmp, weights: capacity}   # WCMP: flows in proportion to what links carry (Zhou et al., EuroSys 2014)
#include <algorithm>
#include <cstdint>
#include <span>
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
    weights_ = params.choice<LinkWeights>(
        "weights", {{"equal", LinkWeights::kEqual}, {"capacity", LinkWeights::kCapacity}, {"links", LinkWeights::kStated}},
        LinkWeights::kEqual);
    source_ = has("source");
    destination_ = has("destination");
    flow_ = has("flow");
  }

  [[nodiscard]] LinkWeights weights() const override { return weights_; }

  [[nodiscard]] std::uint32_t pick(const RoutingChoice& choice) const override {
    // Addresses are mixed in as a 5-tuple hash would.
    std::uint64_t x = mix((flow_ ? choice.flow : 0) ^ (switch_seeds_ ? choice.switch_seed : choice.seed));
    x ^= ((source_ ? std::uint64_t{choice.source} : 0) << 32) | (destination_ ? choice.destination : 0);
    x = (x ^ (x >> 33)) * 0xFF51'AFD7'ED55'8CCD;
    x = (x ^ (x >> 33)) * 0xC4CE'B9FE'1A85'EC53;
    x ^= x >> 33;
    if (!choice.weights.empty()) return weighted(x, choice.weights);
    return static_cast<std::uint32_t>((static_cast<Uint128>(x) * choice.candidates) >> 64);
  }

 private:
  // The link in whose part of the hash's range it falls; each part is as wide as the link's weight.
  static std::uint32_t weighted(std::uint64_t hash, std::span<const double> weights) {
    double total = 0;
    for (const double weight : weights) total += weight;
    double left = total * (static_cast<double>(hash >> 11) * 0x1p-53);
    for (std::uint32_t i = 0; i + 1 < weights.size(); ++i) {
      if (left < weights[i]) return i;
      left -= weights[i];
    }
    return static_cast<std::uint32_t>(weights.size() - 1);
  }

  LinkWeights weights_ = LinkWeights::kEqual;
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
                  "path; two flows may collide on a link while another is idle. With `weights: capacity`, or `links` and a "
                  "`weight` of each link, a link has its part of the hash's range by weight.",
              .leaves_out = {"weights are exact: switches repeat a link in a table of some entries, and round them",
                             "real hashes differ by vendor: collisions are as frequent, but not on the same flows",
                             "when a link fails or is back a switch hashes all flows over the links that it has then; with "
                             "resilient hashing only those of the link would move"},
              .sources = {"models/network §5.1", "Zhou et al., WCMP, EuroSys 2014"}},
};

}  // namespace weft::net
