// Predicts measured points that are no collectives: kernels, launches, copies, overlap, NICs.
//
//   for (const PointLog& log : set.points) append(predict_points(cluster, log, {}).points);
//
// Every point gives at least one ValidationPoint, of overlap one for each stream; what no model covers has no prediction and
// says why. Collectives are predict.h's.
//
// Model: a kernel of many in a row takes its time alone and the gap before it, or the host's launch where that is longer.
// Whether its data still lie in the L2 does not matter. Model: a copy takes its start (gpu.copy), and its bytes over the links
// between its ends and the memory of its host, which copies at the same time share; reads load the way back with their
// requests; copy engines fill an NVLink better than collectives do (gpu.contention.collective_links). Model: of streams that
// overlap, all ranks start at once; what they run is a program for the Replayer, at the clocks that its load allows.
#pragma once

#include <string>
#include <vector>

#include "sim/measured/predict.h"
#include "sim/measured/readers/point_log.h"
#include "sim/measured/validation_report.h"
#include "sim/network/cluster.h"

namespace weft::measured {

// Deterministic. Stops early, with `interrupted`, where the user does.
[[nodiscard]] Predictions predict_points(const net::Cluster& cluster, const PointLog& log, const PredictOptions& options);

}  // namespace weft::measured
