// Kinds of measured points, behind one registry: what a record holds, how it is predicted and named, how it counts in a
// validation, and what is fitted to it.
//
// A kind is one file in kinds/, its line in kinds.def, and one test in tests/measured/kinds:
//
//   const PointKind nic_kind{.name = "nic", .predict = predict_nic};
//
// A kind without `predict` has no records of its own: collectives are rows of logs (predict.h), and of what traces hold some
// kinds are only fitted to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/measured/fit/sample.h"
#include "sim/measured/predict.h"
#include "sim/measured/readers/point_log.h"
#include "sim/measured/validation_report.h"
#include "sim/network/cluster.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::measured {

namespace detail {
class JsonRecord;
}

// Where points are predicted.
struct PointPlace {
  const net::Cluster& cluster;
  const PredictOptions& options;
};

struct PointKind {
  std::string_view name;  // as records and reports call it

  // Takes what records of `weft measure` hold besides what all hold. Null: nothing.
  void (*read)(const detail::JsonRecord& record, MeasuredPoint& measured) = nullptr;
  bool states_time = true;  // false: a record may state a rate in its place

  // Sets the prediction of `point`, or why it has none. A record of several parts gives a point for each.
  std::vector<ValidationPoint> (*predict)(const PointPlace& place, const MeasuredPoint& measured,
                                          ValidationPoint point) = nullptr;
  // Returns the kernels that one record stands for, none where no model covers them, and nothing where the record does not say
  // how large they are. Null: records are of no kernels.
  std::optional<std::vector<work::Kernel>> (*kernels)(const MeasuredPoint& measured, work::Precision precision) = nullptr;

  // Tells points of the kind apart: "4096 x 4096 x 4096 bf16". Null: what was measured.
  std::string (*label)(const MeasuredPoint& measured) = nullptr;
  // Names the curve of a chart that a point is on. Null: what was measured.
  std::string (*series)(const MeasuredPoint& measured) = nullptr;
  Bytes (*bytes)(const MeasuredPoint& measured) = nullptr;  // null: those of the record

  // Names the group of summaries that a point counts in. Null: the kind.
  const std::string& (*group)(const ValidationPoint& point) = nullptr;
  // Says what keeps a point from counting besides what does so for every kind. Null: nothing.
  Exclusion (*exclusion)(const ValidationPoint& point) = nullptr;

  // Returns what is fitted to kernel logs of the kind, one part after the other. Null: nothing.
  std::vector<FitPart> (*fits)(const FitData& data) = nullptr;
};

// In the order of kinds.def, which is that of fits: later ones see what earlier ones found.
[[nodiscard]] const std::vector<const PointKind*>& point_kinds();
// Null: none of them.
[[nodiscard]] const PointKind* find_point_kind(std::string_view name);

// The point of a record, without a prediction.
[[nodiscard]] ValidationPoint point_of(const PointKind& kind, const Profile& profile, const PointLog& log,
                                       const MeasuredPoint& measured);
[[nodiscard]] std::vector<ValidationPoint> not_modelled(ValidationPoint point, std::string why);
// A kernel's records, by PointKind::kernels; none where nothing is known of them or their size.
[[nodiscard]] std::vector<work::Kernel> kernels_of(const MeasuredPoint& measured);

}  // namespace weft::measured
