// Prices of what clusters are made of: one YAML file, every figure with its source and date, every figure replaceable.
//
//   kind: prices
//   name: h100_2024
//   servers: [{node: dgx_h100, price: 310000 USD, source: "...", date: 2024-08}]       # whole, with GPUs and NICs
//   gpus: [{gpu: a100_pcie, price: 10000 USD, source: ..., date: ...}]                  # of servers that are not listed
//   nics: [{rate: 400 Gb/s, price: 1500 USD, ...}]
//   server_base: {price: 25000 USD, ...}                                                # the same, without GPUs and NICs
//   switches: [{type: infiniband, rate: 400 Gb/s, ports: 64, price: 36000 USD, ...}]    # the smallest that is enough
//   copper: [{rate: 400 Gb/s, price: 200 USD, per_metre: 30 USD, ...}]
//   fibre: [{rate: 400 Gb/s, price: 50 USD, per_metre: 2 USD, ...}]                     # without its modules
//   modules: [{rate: 400 Gb/s, ports: 2, price: 1300 USD, ...}]
//   rack: {price: 8000 USD, ...}
//   energy: {price: 0.08 USD/kWh, ...}
//   amortisation: {over: 5 years, utilization: 90 %, ...}
//   operation: {share: 3 %, ...}                                                        # of the capital, a year
//   floor_plan: {...}                                                                   # floor_plan.h
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/planning/cost/amount.h"
#include "sim/planning/cost/floor_plan.h"

namespace weft::plan {

struct NamedPrice {
  std::string name = {};
  Figure price = {};
};
struct SwitchPrice {
  std::string type = {};  // of its links
  Bandwidth rate = {};
  std::int64_t ports = 0;
  Figure price = {};
};
// The price of a NIC, a cable or a module of this rate.
struct RatePrice {
  Bandwidth rate = {};
  std::int64_t ports = 1;  // of a module
  Figure price = {};
  double per_metre = 0;  // of a cable
};

struct PriceBook {
  std::string name = {};
  std::string file = {};
  std::vector<NamedPrice> servers = {};
  std::vector<NamedPrice> gpus = {};
  std::vector<RatePrice> nics = {};
  Figure server_base = {};
  std::vector<SwitchPrice> switches = {};
  std::vector<RatePrice> copper = {};
  std::vector<RatePrice> fibre = {};
  std::vector<RatePrice> modules = {};
  Figure rack = {};
  Figure energy = {};        // USD per kWh
  Figure amortisation = {};  // years
  double utilization = 1;
  Figure operation = {};  // share of the capital, a year
  FloorPlan floor_plan;
};

// A file, or the name of one that ships under configs/prices. ConfigError with every error of the file.
[[nodiscard]] PriceBook load_price_book(const std::string& file_or_name);
[[nodiscard]] PriceBook read_price_book(const ConfigNode& node, Diagnostics& diagnostics);

// The file itself, or folder/NAME.yaml among the shipped ones; ConfigError with the names there are.
[[nodiscard]] std::filesystem::path find_book(const std::string& file_or_name, const std::string& folder);

}  // namespace weft::plan
