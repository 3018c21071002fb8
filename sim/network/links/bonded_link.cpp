#include "sim/network/links/bonded_link.h"

namespace weft::net {

LinkParams BondedLink::read(ParamReader& params) const {
  if (facts_.rate_per_link > Bandwidth{}) return LinkType::read(params);
  LinkParams read;
  read.rate = params.required<Bandwidth>("rate", positive);
  read.latency = params.optional<Duration>("latency");
  return read;
}

LinkSpec BondedLink::spec(const LinkParams& params, const Profile& profile) const {
  const LinkTimings timed = timings(profile);
  const std::int64_t width = params.width.value_or(1);
  // A link without a rate is an error that its reader has reported; one bit per second keeps the graph whole until it is
  // thrown.
  const Bandwidth nominal =
      facts_.rate_per_link > Bandwidth{} ? width * facts_.rate_per_link : Bandwidth::from_bits_per_second(1);
  return LinkSpec{.type = std::string{facts_.type},
                  .rate = params.rate.value_or(nominal),
                  .efficiency = params.efficiency.value_or(timed.efficiency),
                  .latency = params.latency.value_or(timed.latency),
                  .width = static_cast<int>(width),
                  .packet = params.payload.value_or(facts_.packet),
                  .overhead = facts_.overhead,
                  .read_overhead = facts_.read_overhead};
}

}  // namespace weft::net
