#include "sim/scenario/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/collectives/builtin.h"
#include "sim/collectives/call.h"
#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/node.h"
#include "sim/core/error.h"
#include "sim/core/profile.h"
#include "sim/core/words.h"
#include "sim/network/builtin.h"
#include "sim/network/gpu_spec.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/trace/trace_format.h"
#include "sim/workloads/trace/writers/trace_writer.h"
#include "sim/workloads/training/layer_operators.h"

namespace weft::scenario {
namespace {

constexpr std::array kCatalogKinds{
    CatalogKind{"algorithms", "how a collective runs: `algorithm:`, --algo"},
    CatalogKind{"collectives", "what `weft collective` and `workload: collectives` run: `kind:`"},
    CatalogKind{"fabrics", "shapes of the network between hosts: `fabric: {type: ...}`"},
    CatalogKind{"routing", "choice among equal-cost links: `fabric: {routing: ...}`"},
    CatalogKind{"congestion", "congestion control of queue pairs, packet fidelity"},
    CatalogKind{"link_types", "`type:` of a link"},
    CatalogKind{"nic_transports", "what carries NCCL's messages between hosts: `nic: {transport: ...}`"},
    CatalogKind{"clusters", "shipped clusters, configs/clusters"},
    CatalogKind{"nodes", "shipped node templates: `node: {type: ...}`"},
    CatalogKind{"profiles", "shipped profiles, configs/profiles"},
    CatalogKind{"models", "shipped models, configs/models"},
    CatalogKind{"gpus", "shipped GPUs, configs/gpus: `gpu:` of a cluster, `model:` of a node's GPU"},
    CatalogKind{"schedules", "orders of work in a pipeline: `parallelism: {schedule: ...}`"},
    CatalogKind{"trace_formats", "what `weft replay` and `weft trace info` read: --format"},
    CatalogKind{"trace_writers", "what `weft trace convert --to` writes"},
    CatalogKind{"frameworks", "what a training step is made of: `framework:`"},
    CatalogKind{"parameters", "what a profile may set"},
};

std::string_view inside_sim(std::string_view file) {
  constexpr std::string_view kFolder = "/sim/";
  const std::size_t at = file.rfind(kFolder);
  return at == std::string_view::npos ? file : file.substr(at + kFolder.size());
}

void add_models(std::vector<RegisteredModel>& models, std::string_view kind, const auto& list) {
  const std::size_t first = models.size();
  for (const auto* each : list) models.push_back({kind, each->name, each->summary, &each->model, inside_sim(each->file)});
  std::ranges::sort(models.begin() + static_cast<std::ptrdiff_t>(first), models.end(), {}, &RegisteredModel::name);
}

std::vector<CatalogEntry> collectives() {
  return {{"all_gather", "every rank ends with the blocks of all"},
          {"all_reduce", "every rank ends with the sum of all vectors"},
          {"alltoall", "every rank sends a block of its own to every other"},
          {"alltoallv", "every rank sends to every other a block of the pair's own size"},
          {"broadcast", "the root's vector goes to all"},
          {"gather", "the root ends with the blocks of all"},
          {"reduce", "the root ends with the sum of all vectors"},
          {"reduce_scatter", "every rank ends with its block of the sum"},
          {"scatter", "every rank gets its block from the root"},
          {"sendrecv", "every rank sends to the next one and receives from the one before"}};
}

std::string tera(double rate) { return fmt::format("{:.5g}", rate * 1e-12); }

// "80 GB at 3.35 TB/s; TFLOP/s dense: 67 fp64, ...; NVLink 900 GB/s; 700 W; profile h100_sxm; NVIDIA H100 data sheet, 2024".
std::string gpu_summary(const net::GpuSpec& gpu) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (gpu.hbm_bytes > 0) {
    add(fmt::format("{:.0f} GB at {:.4g} TB/s", static_cast<double>(gpu.hbm_bytes) / 1e9, gpu.hbm_bytes_per_second / 1e12));
  }
  std::string peaks;
  for (std::size_t i = 0; i < net::kNumberTypes; ++i) {
    const auto type = static_cast<net::NumberType>(i);
    const double rate = gpu.stated(type).value_or(0);
    if (rate > 0) peaks += fmt::format("{}{} {}", peaks.empty() ? "" : ", ", tera(rate), to_string(type));
  }
  if (!peaks.empty()) add("dense TFLOP/s: " + peaks);
  if (gpu.links > 0) {
    const double both_ways = 2.0 * gpu.links * static_cast<double>(gpu.link_rate.bits_per_second()) / 8e9;
    add(fmt::format("{} {:.4g} GB/s", gpu.gcn.empty() ? "NVLink" : "Infinity Fabric", both_ways));
  }
  if (gpu.tdp_watts > 0) add(fmt::format("{:.0f} W", gpu.tdp_watts));
  if (!gpu.profile.empty()) add(fmt::format("profile {}{}", gpu.profile, gpu.profile == gpu.name ? "" : " (inherited)"));
  if (!gpu.figures.empty()) add(fmt::format("{}, {}", gpu.figures.back().source, gpu.figures.back().date));
  return text;
}

std::vector<CatalogEntry> gpus() {
  std::vector<CatalogEntry> entries;
  for (const net::GpuSpec* gpu : net::shipped_gpus()) entries.push_back({gpu->name, gpu_summary(*gpu)});
  std::ranges::sort(entries, {}, &CatalogEntry::name);
  return entries;
}

// The file's own words about itself.
std::string summary_of(const std::filesystem::path& file) {
  try {
    const ConfigNode node = ConfigNode::load_file(file);
    for (const char* key : {"description", "name"}) {
      const auto text = node.find(key);
      if (text && text->is_scalar() && !text->scalar().empty()) return text->scalar();
    }
    return {};
  } catch (const ConfigError&) {
    return fmt::format("cannot be read: see weft check {}", file.string());
  }
}

std::vector<CatalogEntry> files(const std::string& folder) {
  std::vector<CatalogEntry> entries;
  for (const std::string& stem : config_names(folder)) {
    const auto file = find_config(std::filesystem::path{folder} / (stem + ".yaml"));
    entries.push_back({stem, file ? summary_of(*file) : std::string{}});
  }
  return entries;
}

// "off by 1.8 to 7.8 % in the median of 12 sets of measurements".
std::string tested(const Profile& profile) {
  const std::vector<Validation>& sets = profile.validations();
  if (sets.empty()) return "not tested";
  const auto [least, most] = std::ranges::minmax(sets, {}, &Validation::median_error);
  return sets.size() == 1 ? fmt::format("off by {:.1f} % in the median of a set of measurements", 100 * most.median_error)
                          : fmt::format("off by {:.1f} to {:.1f} % in the median of {} sets of measurements",
                                        100 * least.median_error, 100 * most.median_error, sets.size());
}

// Beside its own words, how many of its values are its GPU's and how many another's, and what its predictions were off by.
std::vector<CatalogEntry> profiles() {
  std::vector<CatalogEntry> entries = files("profiles");
  for (CatalogEntry& entry : entries) {
    try {
      const Profile profile = find_profile(entry.name);
      if (const std::string owners = profile.owners(); !owners.empty()) entry.summary += "; " + owners;
      entry.summary += "; " + tested(profile);
    } catch (const ConfigError&) {  // `weft check` reports it
      continue;
    }
  }
  return entries;
}

std::vector<CatalogEntry> parameters() {
  std::vector<CatalogEntry> entries;
  for (const ParamGroupBase* group : all_param_groups()) {
    for (const ParamInfo& info : group->infos()) {
      entries.push_back({info.key, fmt::format("{}; default {} ({})", info.description, to_string(info.default_value),
                                               info.gpu.empty() ? std::string{to_string(info.source)}
                                                                : fmt::format("{}, {}", to_string(info.source), info.gpu))});
    }
  }
  std::ranges::sort(entries, {}, &CatalogEntry::name);
  return entries;
}

}  // namespace

std::span<const CatalogKind> catalog_kinds() { return kCatalogKinds; }

std::string_view catalog_kind(std::string_view name) {
  std::string wanted = lower_case(name);
  std::ranges::replace(wanted, '-', '_');
  std::vector<std::string> names;
  for (const CatalogKind& kind : kCatalogKinds) {
    if (wanted == kind.name || wanted + "s" == kind.name) return kind.name;
    names.emplace_back(kind.name);
  }
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("unknown kind '{}'", name),
                                .source_line = {},
                                .length = 1,
                                .note = did_you_mean(wanted, names, "kinds")}});
}

std::vector<RegisteredModel> registered_models() {
  std::vector<RegisteredModel> models;
  add_models(models, "algorithms", coll::algorithms().entries());
  add_models(models, "fabrics", net::topology_shapes().entries());
  add_models(models, "routing", net::routing_policies().entries());
  add_models(models, "congestion", net::congestion_controls().entries());
  add_models(models, "link_types", net::link_types().entries());
  add_models(models, "nic_transports", net::nic_transports().entries());
  add_models(models, "schedules", work::pipeline_schedules().entries());
  add_models(models, "trace_formats", work::trace_formats());
  add_models(models, "trace_writers", work::trace_writers());
  add_models(models, "frameworks", work::training_frameworks().entries());
  return models;
}

std::vector<CatalogEntry> catalog(std::string_view kind) {
  if (kind == "collectives") return collectives();
  if (kind == "parameters") return parameters();
  if (kind == "gpus") return gpus();
  if (kind == "profiles") return profiles();
  if (kind == "clusters" || kind == "nodes" || kind == "models") return files(std::string{kind});
  std::vector<CatalogEntry> entries;
  for (const RegisteredModel& model : registered_models()) {
    if (model.kind == kind) entries.push_back({std::string{model.name}, std::string{model.summary}});
  }
  WEFT_CHECK(!entries.empty());
  return entries;
}

Profile find_profile(const std::string& file_or_name) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(file_or_name, ignored)) return Profile::load(file_or_name, all_param_groups());
  if (const auto shipped = find_config(std::filesystem::path{"profiles"} / (file_or_name + ".yaml"))) {
    return Profile::load(*shipped, all_param_groups());
  }
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("no profile '{}': neither a file nor a shipped one", file_or_name),
                                .source_line = {},
                                .length = 1,
                                .note = did_you_mean(file_or_name, config_names("profiles"), "profiles")}});
}

}  // namespace weft::scenario
