// NVLink, C2C and socket links have a nominal rate per link and bond `width` of them into one. Only measurement tells the share
// left for payload. The families in this folder share this; it is no model of its own.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/network/link_type.h"

namespace weft::net {

// A profile sets these for such a type: group `network.<type>`.
struct LinkTimings {
  double efficiency = 1.0;  // share of the rate left for payload
  Duration latency;         // propagation and PHY of one link
  Duration switch_latency;  // processing of a switch that joins such links
};

// A ParamGroup takes the defaults of its parameters from a default-constructed struct, so each type has a struct of its own.
template <const LinkTimings& kDefaults>
struct TimingsWith : LinkTimings {
  TimingsWith() : LinkTimings{kDefaults} {}
};

template <const LinkTimings& kDefaults>
using TimingsGroup = ParamGroup<TimingsWith<kDefaults>>;

// `source` and `reference` are of the default efficiency; latencies are the planning values of models/network §1.1 and §1.9.
template <const LinkTimings& kDefaults>
TimingsGroup<kDefaults> timings_group(const std::string& type, const std::string& what, ParamSource source,
                                      const std::string& reference) {
  using Timings = TimingsWith<kDefaults>;
  constexpr Duration kLongest = Duration::from_us(1'000);
  return TimingsGroup<kDefaults>{
      "network." + type,
      "behaviour of " + what,
      {param<Timings, double>("efficiency", &LinkTimings::efficiency,
                              {.unit = "ratio",
                               .min = 1e-3,
                               .max = 1.0,
                               .source = source,
                               .reference = reference,
                               .description = "share of the rate left for payload"}),
       param<Timings, Duration>("latency", &LinkTimings::latency,
                                {.max = kLongest,
                                 .source = ParamSource::kLiterature,
                                 .reference = "models/network §1.1, §1.9",
                                 .description = "propagation and PHY of one link"}),
       param<Timings, Duration>("switch_latency", &LinkTimings::switch_latency,
                                {.max = kLongest,
                                 .source = ParamSource::kLiterature,
                                 .reference = "models/network §1.1, §1.9",
                                 .description = "port to port, through a switch or root complex that joins such links"})}};
}

template <const auto& kGroup>
LinkTimings read_timings(const Profile& profile) {
  return profile.get(kGroup);
}

struct BondedFacts {
  std::string_view type;
  LinkMedium medium = LinkMedium::kNvlink;
  Bandwidth rate_per_link;  // zero: every link states its rate
  Bytes packet{128};        // payload of one full packet
  Bytes overhead{0};        // its headers on the wire
  double read_overhead = 0;
  const ParamGroupBase* group = nullptr;  // nullptr: the type has no behaviour to calibrate
  LinkTimings (*timings)(const Profile&) = nullptr;
};

class BondedLink final : public LinkType {
 public:
  explicit BondedLink(const BondedFacts& facts) : facts_{facts} {}

  [[nodiscard]] LinkMedium medium() const override { return facts_.medium; }
  [[nodiscard]] LinkParams read(ParamReader& params) const override;
  [[nodiscard]] LinkSpec spec(const LinkParams& params, const Profile& profile) const override;
  [[nodiscard]] Duration switch_latency(const Profile& profile) const override { return timings(profile).switch_latency; }
  [[nodiscard]] const ParamGroupBase* group() const override { return facts_.group; }

 private:
  [[nodiscard]] LinkTimings timings(const Profile& profile) const {
    return facts_.timings == nullptr ? LinkTimings{} : facts_.timings(profile);
  }
  BondedFacts facts_;
};

}  // namespace weft::net
