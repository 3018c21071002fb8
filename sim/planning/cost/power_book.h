// A power book says what clusters draw: one YAML file, every figure with its source and date, every figure replaceable.
//
//   kind: power
//   name: datasheets
//   servers: [{node: dgx_h100, max: 10.2 kW, idle: 2.4 kW, source: "...", date: 2024}]    # whole, with GPUs and NICs
//   gpus: [{gpu: h100_sxm, max: 700 W, idle: 70 W, ...}]                                  # the part of it that follows the
//   load server_base: {max: 1800 W, idle: 900 W, ...}                                          # of unlisted servers, without
//   GPUs switches: [{type: infiniband, rate: 400 Gb/s, ports: 64, max: 1000 W, idle: 700 W, ...}] modules: [{rate: 400 Gb/s,
//   ports: 2, max: 17 W, ...}]                                 # of optical cables activity: {compute: 1, memory: 0.6,
//   communication: 0.4, ...}                          # power of a GPU by what it does pue: {value: 1.25, ...}
#pragma once

#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/planning/cost/amount.h"

namespace weft::plan {

struct Draw {
  double max_watts = 0;
  double idle_watts = 0;
  std::string source = {};
  std::string date = {};
};
struct NamedDraw {
  std::string name = {};
  Draw draw = {};
};
struct SwitchDraw {
  std::string type = {};
  Bandwidth rate = {};
  std::int64_t ports = 0;
  Draw draw = {};
};
struct ModuleDraw {
  Bandwidth rate = {};
  std::int64_t ports = 1;
  Draw draw = {};
};

// Between idle and maximum, how much of the way a GPU goes that does nothing but this (models/workloads §7.3).
struct ActivityWeights {
  double compute = 1.0;
  double memory = 0.6;
  double communication = 0.4;
};

struct PowerBook {
  std::string name = {};
  std::string file = {};
  std::vector<NamedDraw> servers = {};
  std::vector<NamedDraw> gpus = {};
  Draw server_base = {};
  std::vector<SwitchDraw> switches = {};
  std::vector<ModuleDraw> modules = {};
  ActivityWeights activity;
  Figure pue = {};
};

// A file, or the name of one that ships under configs/power. ConfigError with every error of the file.
[[nodiscard]] PowerBook load_power_book(const std::string& file_or_name);
[[nodiscard]] PowerBook read_power_book(const ConfigNode& node, Diagnostics& diagnostics);

}  // namespace weft::plan
