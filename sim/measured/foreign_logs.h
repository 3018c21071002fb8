// Warnings about measurements that were not taken on the kind of machine they are held against: another GPU, another release of
// NCCL than the cluster asks for.
#pragma once

#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/network/cluster.h"

namespace weft::measured {

// Whether the maker's name of a GPU ("NVIDIA H200", "Tesla V100-SXM2-16GB") is that of a node template's `model` ("h200_sxm",
// "v100_sxm"). Memory sizes and form factors are not compared.
[[nodiscard]] bool is_gpu_model(std::string_view makers_name, std::string_view model);

// One warning for each log and each kind of difference. A log or a cluster that does not say gives none.
[[nodiscard]] std::vector<Diagnostic> warn_of_foreign_logs(const net::Cluster& cluster, const MeasurementSet& set);

}  // namespace weft::measured
