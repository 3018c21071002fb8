// Runs a scenario and writes its event stream, for the queue benchmark:   record_events SCENARIO.yaml STREAM
#include <cstdint>
#include <iostream>

#include "sim/core/error.h"
#include "sim/scenario/run_scenario.h"
#include "sim/scenario/scenario.h"

namespace {

class Recorder final : public weft::scenario::RunObserver {
 public:
  explicit Recorder(const char* path) : path_{path} {}
  void on_progress(const weft::Simulator&, std::uint64_t, std::uint64_t) override {}
  void on_begin(weft::Simulator& simulator) override { simulator.record_to(path_); }
  void on_end() override {}

 private:
  const char* path_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: record_events SCENARIO.yaml STREAM\n";
    return 2;
  }
  try {
    weft::Diagnostics diagnostics;
    Recorder recorder{argv[2]};
    const weft::scenario::RunResult result =
        weft::scenario::run_scenario(weft::scenario::load_scenario(argv[1], {}, diagnostics), &recorder);
    std::cout << result.events << " events\n";
  } catch (const weft::ConfigError& error) {
    std::cerr << error.what();
    return 2;
  }
  return 0;
}
