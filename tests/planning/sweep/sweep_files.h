// Sweeps written to a file for one test, on a cluster of bare hosts that takes a millisecond to run.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/core/error.h"
#include "tests/support/temp_folder.h"

namespace weft::plan {

// One flow of 1 MB between two hosts over 100 Gb/s: 80 us, two cables of 1 us, and the 64 B
// that the switch reads before it sends on.
inline const std::string kOneFlow =
    "kind: sweep\n"
    "scenario:\n"
    "  cluster: {nodes: 4, node: {type: host}, fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s, latency: "
    "1 us, header: 0 B}, switch: {latency: 0 ns}}}\n"
    "  workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}\n";

class SweepFiles : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::filesystem::path write(const std::string& text, const std::string& name = "sweep.yaml") const {
    return folder_.write(name, text);
  }

  template <class Call>
  [[nodiscard]] static std::string message_of(const Call& call) {
    try {
      call();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

 private:
  weft::test::TempFolder folder_;
};

}  // namespace weft::plan
