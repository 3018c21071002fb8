// weft plan --serve: how to serve a model on a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/print_cost.h"

namespace weft::apps {

struct ServeOptions {
  bool on = false;
  std::string targets;
  std::int64_t prompt = 1024;
  std::int64_t output = 1024;
  double spread = 0.2;       // of a lognormal
  std::string weights = {};  // empty: the model's
  std::string cache;         // precision; empty: the activations'
  std::string library = "vllm";
  std::vector<std::int64_t> token_budgets{2048, 8192};
  bool aggregated = false;
};
void add_serve_options(CLI::App& command, ServeOptions& options);

struct ServingJob {
  const CommonOptions& common;
  const CostOptions& cost;
  const ServeOptions& serve;
  std::string model;
  std::string cluster;
  double budget_seconds = 0;
  std::uint64_t budget_plans = 0;
  std::size_t top = 10;
  int threads = 1;
};
[[nodiscard]] int plan_serving(const ServingJob& job);

}  // namespace weft::apps
