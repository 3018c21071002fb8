// Checks a configuration file as far as that goes without running anything: its kind is recognised, it is read by the loader
// that would read it, clusters are built and their ranks must reach each other.
//
//   const CheckedFile checked = check_file("configs/clusters/h200x4.yaml");   // .kind == "cluster"
//
// Kinds: cluster, node (a template), profile, model (ours or a config.json of Hugging Face), scenario, sweep; prices, power and
// failure_rates (books), goodput (a job that fails). The file says so (`kind: cluster`), or its keys do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/core/error.h"

namespace weft::output {

struct CheckedFile {
  std::string kind;
  std::string summary;  // what was found: "32 nodes, 256 GPUs, 1344 devices, 3584 cables"
  std::string details;  // the same in full; empty where the summary is all
  std::vector<Diagnostic> warnings;
};

// Throws ConfigError with every error found.
[[nodiscard]] CheckedFile check_file(const std::filesystem::path& file);

// The kind alone. Throws ConfigError where it cannot be told.
[[nodiscard]] std::string kind_of_file(const std::filesystem::path& file);

// Files as given; a folder stands for the .yaml files in it and below, in byte order. ConfigError: there is none.
[[nodiscard]] std::vector<std::filesystem::path> files_to_check(const std::vector<std::string>& paths);

}  // namespace weft::output
