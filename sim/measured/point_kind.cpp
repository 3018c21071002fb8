#include "sim/measured/point_kind.h"

#include <algorithm>
#include <utility>

#include "sim/measured/kernel_points.h"
#include "sim/measured/kinds/kinds.h"

namespace weft::measured {

const std::vector<const PointKind*>& point_kinds() {
  static const std::vector<const PointKind*> kinds{
#define WEFT_POINT_KIND(name) &name,
#include "sim/measured/kinds/kinds.def"
#undef WEFT_POINT_KIND
  };
  return kinds;
}

const PointKind* find_point_kind(std::string_view name) {
  const auto found = std::ranges::find(point_kinds(), name, &PointKind::name);
  return found == point_kinds().end() ? nullptr : *found;
}

ValidationPoint point_of(const PointKind& kind, const Profile& profile, const PointLog& log, const MeasuredPoint& measured) {
  ValidationPoint point;
  point.file = log.file;
  point.kind = measured.kind;
  point.ranks = std::max(measured.ranks, static_cast<int>(measured.transfers.size()));
  point.nodes = 1;
  point.bytes = kind.bytes != nullptr ? kind.bytes(measured) : measured.bytes;
  point.algorithm = kind.label != nullptr ? kind.label(measured) : measured.what;
  point.configuration = kind.series != nullptr ? kind.series(measured) : measured.what;
  point.measured_us = measured.median_us;
  point.measured_low_us = measured.low_us;
  point.measured_high_us = measured.high_us;
  point.training = profile.trained_on(digest_of(log, measured.record_set), measured.kind, 1, point.bytes) ||
                   profile.trained_on(log.digest, measured.kind, 1, point.bytes);
  return point;
}

std::vector<ValidationPoint> not_modelled(ValidationPoint point, std::string why) {
  point.not_modelled = std::move(why);
  return {std::move(point)};
}

}  // namespace weft::measured
