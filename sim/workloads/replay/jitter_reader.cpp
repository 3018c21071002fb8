#include "sim/workloads/replay/jitter_reader.h"

namespace weft::work {

JitterModel read_jitter(ParamReader& workload) {
  JitterModel jitter;
  std::optional<ParamReader> map = workload.optional_map("jitter");
  if (!map) return jitter;
  jitter.kernel = map->optional<Ratio>("kernel", {}, at_most(Ratio{0.5})).value;
  jitter.rank = map->optional<Ratio>("rank", {}, at_most(Ratio{0.3})).value;
  for (ParamReader& straggler : map->maps("stragglers")) {
    const auto rank = static_cast<Rank>(straggler.required<std::int64_t>("rank", at_least(0)));
    jitter.stragglers.emplace_back(rank, straggler.required<double>("slower", between(1.0, 100.0)));
    straggler.finish();
  }
  map->finish();
  return jitter;
}

}  // namespace weft::work
