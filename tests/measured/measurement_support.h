// Logs of a node of four GPUs, as a simulated machine would have measured them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/measured/predict.h"
#include "tests/scenario/four_gpus.h"

namespace weft::measured::test {

using namespace weft::literals;
using scenario::test::cluster_of;
using scenario::test::four_gpus;

inline NcclTestsRow row_of(Bytes bytes, double time_us) {
  NcclTestsRow row;
  row.bytes = bytes;
  row.count = bytes.count() / 4;
  row.type = "float";
  row.redop = "sum";
  row.out_of_place =
      NcclTestsTiming{.time_us = time_us, .algbw_gigabytes_per_second = 0, .busbw_gigabytes_per_second = 0, .wrong = {}};
  return row;
}

// One process with four GPUs, as bus ids 06 to 09, every size at 1 us.
inline Measurement log_of(const std::string& collective, const std::vector<Bytes>& sizes) {
  Measurement measurement{.file = "logs/" + collective + ".txt", .log = {}, .settings = {}};
  NcclTestsLog& log = measurement.log;
  log.file = measurement.file;
  log.collective = collective;
  log.gpus_per_thread = 4;
  log.processes = 1;
  log.ranks = 4;
  log.nodes = 1;
  for (int i = 0; i < 4; ++i) {
    NcclTestsDevice device;
    device.rank = Rank{i};
    device.host = "node";
    device.device = i;
    device.bus_id = "0000:00:0" + std::to_string(6 + i);
    device.name = "NVIDIA H200";
    log.devices.push_back(device);
  }
  for (const Bytes size : sizes) log.rows.push_back(row_of(size, 1));
  return measurement;
}

// The same with the times that `cluster` is predicted to take.
inline Measurement measured_on(const net::Cluster& cluster, Measurement measurement, const PredictOptions& options = {}) {
  const Predictions predictions = predict(cluster, measurement, options);
  for (std::size_t i = 0; i < predictions.points.size(); ++i) {
    measurement.log.rows[i].out_of_place->time_us = predictions.points[i].predicted_us.value();
  }
  return measurement;
}

}  // namespace weft::measured::test
