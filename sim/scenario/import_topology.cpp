#include "sim/scenario/import_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "sim/network/gpu_spec.h"
#include "sim/network/import/cluster_text.h"
#include "sim/network/import/htsim_topology.h"
#include "sim/network/import/nccl_xml_reader.h"
#include "sim/network/import/nvidia_smi.h"
#include "sim/network/import/source_text.h"

namespace weft::scenario {
namespace {

// "h100" and "H100 SXM" are the `h100_sxm` of node templates, and a file is itself; empty where none is said.
std::string gpu_model(const std::string& gpu) {
  if (gpu.empty()) return {};
  if (gpu.ends_with(".yaml")) return std::filesystem::absolute(gpu).lexically_normal().string();
  return net::find_gpu_of_machine(gpu)->name;
}

// A fabric of bare hosts: nothing is open that the user could say.
ImportedFile import_htsim(const std::string& text, const std::string& file, const TopologyHints& hints) {
  if (hints.any()) throw ConfigError(fmt::format("{}: --gpu, --cpu, --nic-rate and --nvlinks say nothing of bare hosts", file));
  net::HtsimTopology read = net::read_htsim_topology(text, file, std::filesystem::path{file}.filename().string());
  Diagnostics diagnostics;
  net::Cluster cluster = net::load_cluster(ConfigNode::parse(read.cluster, file + " as a cluster", "cluster"), {}, diagnostics);
  return {.imported = {.topology = std::move(cluster.topology), .warnings = std::move(read.warnings)},
          .kind = "fat-tree topology file of htsim",
          .cluster = std::move(read.cluster)};
}

// A file that names its GPUs is of those that the user names.
void check_gpu(const net::Topology& topology, const net::ImportHints& hints, const std::string& gpu) {
  if (!hints.sm) return;
  for (const net::TemplateDevice& device : topology.host_template(0).devices) {
    if (device.kind != net::DeviceKind::kGpu) continue;
    const std::string_view sm = net::label_of(device.labels, "sm");
    if (sm.empty() || sm == fmt::format("{}", *hints.sm)) continue;
    throw ConfigError(fmt::format("--gpu: a {} has compute capability {}.{}, but '{}' of the file has sm {}", gpu,
                                  *hints.sm / 10, *hints.sm % 10, device.name, sm));
  }
}

}  // namespace

net::ImportHints import_hints(const TopologyHints& hints) {
  net::ImportHints made;
  if (!hints.gpu.empty()) {
    const net::GpuSpec* gpu = net::find_gpu_of_machine(hints.gpu);
    if (gpu == nullptr)
      throw ConfigError(fmt::format("--gpu: unknown GPU '{}'; names are like v100, a100, h100, h200, b200", hints.gpu));
    if (gpu->sm > 0) made.sm = gpu->sm;
    made.gcn = gpu->gcn;
    if (!made.names_gpu())
      throw ConfigError(fmt::format("--gpu: '{}' states neither 'compute_capability' nor 'gcn'", gpu->name));
  }
  if (!hints.cpu.empty()) {
    made.cpu = net::cpu_named(hints.cpu);
    if (made.cpu.empty()) throw ConfigError(fmt::format("--cpu: expected one of {}, got '{}'", net::cpu_names(), hints.cpu));
  }
  if (!hints.nic_rate.empty()) {
    made.nic_rate = parse_bandwidth(hints.nic_rate);
    if (!made.nic_rate || made.nic_rate->bits_per_second() < 1'000'000)
      throw ConfigError(fmt::format("--nic-rate: expected a bandwidth such as '400 Gb/s', got '{}'", hints.nic_rate));
  }
  made.nvlinks = hints.nvlinks;
  return made;
}

ImportedFile import_topology(const std::string& file, const TopologyHints& hints, const Profile& profile) {
  const net::ImportHints options = import_hints(hints);
  const std::string text = net::read_text_file(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    throw ConfigError(fmt::format(
        "{}: the file is empty; expected NCCL's topology XML, the matrix of `nvidia-smi topo -m` or htsim's .topo", file));
  }
  if (net::is_htsim_topology(text)) return import_htsim(text, file, hints);
  ImportedFile made =
      text[first] == '<'
          ? ImportedFile{net::import_nccl_xml(text, file, profile, options), "NCCL topology file", {}}
          : ImportedFile{net::import_nvidia_smi(text, file, profile, options), "matrix of nvidia-smi topo -m", {}};
  check_gpu(made.imported.topology, options, hints.gpu);
  return made;
}

std::string cluster_text(const ImportedFile& imported, const std::string& file, const TopologyHints& hints,
                         const Profile& profile) {
  if (!imported.cluster.empty()) return imported.cluster;
  const net::ClusterTextOptions options{.name = imported.imported.topology.host_template(0).name,
                                        .source = std::filesystem::path{file}.filename().string(),
                                        .gpu_model = gpu_model(hints.gpu)};
  return net::cluster_text(imported.imported.topology, profile, options);
}

ConfigNode cluster_of_topology(const std::string& file, const TopologyHints& hints, const Profile& profile,
                               Diagnostics& diagnostics) {
  const ImportedFile imported = import_topology(file, hints, profile);
  for (const Diagnostic& warning : imported.imported.warnings) diagnostics.warning(warning);
  return ConfigNode::parse(cluster_text(imported, file, hints, profile), file, "cluster");
}

}  // namespace weft::scenario
