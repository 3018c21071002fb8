#include "sim/network/gpu_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/network/gpu_spec_reader.h"

namespace weft::net {
namespace {

namespace fs = std::filesystem;

bool names_file(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.find('/') != std::string_view::npos;
}

// Specs of files once read, for as long as the program runs: they are few, and whoever looks one up may keep it.
std::shared_ptr<const GpuSpec> spec_of_file(const fs::path& file) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const GpuSpec>> known;
  const std::scoped_lock lock{mutex};
  std::shared_ptr<const GpuSpec>& spec = known[fs::absolute(file).lexically_normal().string()];
  if (spec == nullptr) {
    Diagnostics diagnostics;
    GpuSpec read = read_gpu_spec(ConfigNode::load_file(file, "gpu"), file.stem().string(), diagnostics);
    diagnostics.throw_if_any();
    spec = std::make_shared<const GpuSpec>(std::move(read));
  }
  return spec;
}

// "H100 80GB HBM3", "h100-80gb-hbm3" and "H100_80GB_HBM3" are one name.
std::string folded(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ') result += lower_case(c);
  }
  return result;
}

const GpuSpec* with_folded_name(const std::vector<const GpuSpec*>& gpus, const std::string& wanted) {
  if (wanted.empty()) return nullptr;
  for (const GpuSpec* gpu : gpus) {
    if (folded(gpu->name) == wanted) return gpu;
    if (std::ranges::any_of(gpu->aliases, [&](const std::string& alias) { return folded(alias) == wanted; })) return gpu;
  }
  return nullptr;
}

// Null: neither a file nor a shipped one. ConfigError of a file that cannot be read.
std::shared_ptr<const GpuSpec> shipped_gpu(std::string_view name) {
  if (const auto file = find_config(fs::path{"gpus"} / fmt::format("{}.yaml", name))) return spec_of_file(*file);
  return nullptr;
}

const GpuSpec* known_gpu(std::string_view name) {
  if (name.empty()) return nullptr;
  if (names_file(name)) return spec_of_file(fs::path{name}).get();
  if (const auto shipped = shipped_gpu(name)) return shipped.get();
  return with_folded_name(shipped_gpus(), folded(name));
}

}  // namespace

std::string_view to_string(NumberType type) {
  constexpr std::array<std::string_view, kNumberTypes> kNames{"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"};
  return kNames[static_cast<std::size_t>(type)];
}

double GpuSpec::peak(NumberType type) const {
  if (const std::optional<double>& rate = stated(type)) return *rate;
  const ConfigNode at = node.find("peaks").value_or(node);
  at.fail(
      fmt::format("{}: nothing is stated of how fast '{}' computes in {}, which this run does", at.path(), name,
                  to_string(type)),
      fmt::format("{}: a dense rate such as '989 TFLOP/s', or `unsupported` where it has no units for it", to_string(type)));
}

void GpuSpec::check_states(std::initializer_list<std::string_view> keys, std::string_view what) const {
  for (const std::string_view key : keys) {
    if (node.find(key)) continue;
    node.fail(fmt::format("{}: '{}' does not state '{}', which {} needs", node.path(), name, key, what));
  }
}

std::vector<const GpuSpec*> shipped_gpus() {
  std::vector<const GpuSpec*> gpus;
  for (const std::string& name : config_names("gpus")) gpus.push_back(shipped_gpu(name).get());
  return gpus;
}

const GpuSpec* find_gpu(std::string_view name) { return known_gpu(name); }

const GpuSpec* find_gpu_of_machine(std::string_view name) {
  if (names_file(name)) return known_gpu(name);
  std::vector<std::string> parts{{}};
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') {
      parts.emplace_back();
    } else {
      parts.back() += lower_case(c);
    }
  }
  constexpr std::array<std::string_view, 6> kMakers{"nvidia", "amd", "tesla", "instinct", "radeon", "geforce"};
  std::erase_if(parts, [&](const std::string& part) {
    return part.empty() || std::ranges::find(kMakers, std::string_view{part}) != kMakers.end();
  });
  const std::vector<const GpuSpec*> gpus = shipped_gpus();
  for (; !parts.empty(); parts.pop_back()) {
    std::string wanted;
    for (const std::string& part : parts) wanted += part;
    if (const GpuSpec* gpu = with_folded_name(gpus, wanted)) return gpu;
  }
  return nullptr;
}

std::string gpu_names_note(std::string_view name) {
  std::vector<std::string> names = config_names("gpus");
  for (const GpuSpec* gpu : shipped_gpus()) names.insert(names.end(), gpu->aliases.begin(), gpu->aliases.end());
  std::string near = nearest(name, names);
  if (const GpuSpec* gpu = near.empty() ? nullptr : find_gpu(near)) near = gpu->name;
  return fmt::format("{}`weft list gpus` names all; a file of one's own is written as `weft explain gpus` says",
                     near.empty() ? "" : fmt::format("did you mean '{}'? ", near));
}

const GpuSpec& gpu_spec(std::string_view name) {
  if (const GpuSpec* gpu = find_gpu(name)) return *gpu;
  throw ConfigError({{.where = {},
                      .message = fmt::format("nothing is known of how fast a GPU of model '{}' computes", name),
                      .source_line = {},
                      .length = 1,
                      .note = gpu_names_note(name)}});
}

std::shared_ptr<const GpuSpec> read_gpu(const ConfigNode& node, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors().size();
  try {
    if (node.is_map() || (node.is_scalar() && names_file(node.scalar()))) {
      const std::string stem = node.is_map() ? "own_gpu" : fs::path{node.scalar()}.stem().string();
      GpuSpec read = read_gpu_spec(load_reference(node), stem, diagnostics);
      if (diagnostics.errors().size() != errors_before) return nullptr;
      return std::make_shared<const GpuSpec>(std::move(read));
    }
    const std::string& name = node.scalar();
    const fs::path beside = fs::path{node.file()}.parent_path() / ".." / "gpus" / (name + ".yaml");
    std::error_code ignored;
    if (!name.empty() && fs::is_regular_file(beside, ignored)) return spec_of_file(beside);
    // The table outlives all: nothing is to be deleted.
    if (const GpuSpec* shipped = find_gpu(name)) return {std::shared_ptr<void>{}, shipped};
    if (name.empty()) {
      diagnostics.error(node.diagnostic(fmt::format("{}: expected the name of a GPU, got {}", node.path(), found_text(node))));
    } else {
      diagnostics.error(node.diagnostic(fmt::format("{}: unknown GPU '{}'", node.path(), name), gpu_names_note(name)));
    }
  } catch (const ConfigError& error) {
    diagnostics.absorb(error);
  }
  return nullptr;
}

}  // namespace weft::net
