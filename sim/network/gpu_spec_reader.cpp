#include "sim/network/gpu_spec_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "sim/core/config/find_config.h"
#include "sim/core/config/layers.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/network/wiring.h"

namespace weft::net {
namespace {

namespace fs = std::filesystem;

constexpr int kMostBases = 16;

struct ScaledUnit {
  std::string_view name;
  double scale;
};
constexpr std::array kRateUnits{ScaledUnit{"TFLOP/s", 1e12}, ScaledUnit{"PFLOP/s", 1e15}, ScaledUnit{"GFLOP/s", 1e9},
                                ScaledUnit{"TOP/s", 1e12}, ScaledUnit{"POP/s", 1e15}};
constexpr std::array kClockUnits{ScaledUnit{"GHz", 1}, ScaledUnit{"MHz", 1e-3}};
constexpr std::array kPowerUnits{ScaledUnit{"W", 1}, ScaledUnit{"kW", 1e3}};

std::optional<double> parse_scaled(std::string_view text, std::span<const ScaledUnit> units) {
  for (const ScaledUnit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    std::string_view number = text.substr(0, text.size() - unit.name.size());
    while (number.ends_with(' ')) number.remove_suffix(1);
    if (const auto value = parse_number(number)) return *value * unit.scale;
  }
  return std::nullopt;
}

struct NamedSource {
  std::string title;
  std::string date;
};

class SpecReader {
 public:
  SpecReader(const ConfigNode& whole, const ConfigNode& own, const std::string& name, Diagnostics& diagnostics)
      : top_{whole, diagnostics}, own_{own}, diagnostics_{&diagnostics} {
    spec_.node = whole;
    spec_.name = name;
  }

  GpuSpec read() {
    static_cast<void>(top_.choice("kind", {"gpu"}, "gpu"));
    static_cast<void>(top_.optional_raw("base"));
    read_names();
    read_sources();
    const auto whole = [](std::string_view text) { return parse_integer(text); };
    if (const auto sms = figure<std::int64_t>("sms", whole, "a number of SMs such as '132'")) {
      spec_.sms = static_cast<int>(std::min<std::int64_t>(*sms, 1'000'000));
    }
    const auto clock = [](std::string_view text) { return parse_scaled(text, kClockUnits); };
    constexpr std::string_view kClock = "a clock such as '1.83 GHz'";
    spec_.clock_ghz = figure<double>("clock", clock, kClock).value_or(0);
    spec_.vector_clock_ghz = figure<double>("vector_clock", clock, kClock).value_or(spec_.clock_ghz);
    spec_.l2_bytes = size("l2", "a size such as '50 MiB'");
    spec_.hbm_bytes = size("memory", "a size such as '80 GB'");
    const auto rate = figure<Bandwidth>("bandwidth", parse_bandwidth, "a bandwidth such as '3.35 TB/s'");
    spec_.hbm_bytes_per_second = rate ? static_cast<double>(rate->bits_per_second()) / 8 : 0;
    const auto power = [](std::string_view text) { return parse_scaled(text, kPowerUnits); };
    spec_.tdp_watts = figure<double>("power", power, "a power such as '700 W'").value_or(0);
    read_links();
    read_pcie();
    read_peaks();
    top_.finish();
    // Enough to read it again from anywhere.
    if (own_.find("base")) {
      spec_.node = without_key(spec_.node, "base").with_override("name", yaml_scalar(spec_.name), "resolved");
    }
    return std::move(spec_);
  }

 private:
  // A name never comes from `base`, nor do aliases and description.
  void read_names() {
    const auto own_text = [&](std::string_view key, std::string otherwise) {
      std::string text = top_.optional<std::string>(key, "");
      return own_.find(key) && !text.empty() ? std::move(text) : std::move(otherwise);
    };
    spec_.name = own_text("name", spec_.name);
    spec_.description = own_text("description", "");
    std::vector<std::string> aliases = top_.list<std::string>("aliases");
    if (own_.find("aliases")) spec_.aliases = std::move(aliases);
    spec_.architecture = top_.optional<std::string>("architecture", "");
    const double capability = top_.optional<double>("compute_capability", 0, between(3.0, 99.9));
    spec_.sm = static_cast<int>(capability * 10 + 0.5);
    spec_.gcn = top_.optional<std::string>("gcn", "");
    if (spec_.sm > 0 && !spec_.gcn.empty()) top_.error("gcn", "a GPU with a 'compute_capability' has none");
    spec_.profile = top_.optional<std::string>("profile", "");
    if (!spec_.profile.empty() && !find_config(fs::path{"profiles"} / (spec_.profile + ".yaml"))) {
      top_.error("profile", fmt::format("no shipped profile '{}'", spec_.profile),
                 did_you_mean(spec_.profile, config_names("profiles"), "profiles"));
    }
  }

  void read_sources() {
    ParamReader list = top_.map_or_empty("sources");
    for (const std::string& id : list.node().keys()) {
      ParamReader entry = list.map(id);
      NamedSource source;
      source.title = entry.required<std::string>("title");
      source.date = entry.required<std::string>("date");
      entry.finish();
      sources_.emplace(id, std::move(source));
    }
    list.finish();
  }

  // The source that `id` names, noted with the figure. A value laid over one of a base brings its own.
  void note_figure(const std::string& key, const ConfigNode& value, const ConfigNode& id) {
    const auto found = id.is_scalar() ? sources_.find(id.scalar()) : sources_.end();
    if (found == sources_.end()) {
      std::vector<std::string> ids;
      for (const auto& [known, ignored] : sources_) ids.push_back(known);
      report(*diagnostics_, id, fmt::format("expected one of `sources`, got {}", found_text(id)),
             did_you_mean(id.scalar(), ids, "sources"));
      return;
    }
    const bool is_of_command_line = value.location().line == 0;
    if (!is_of_command_line && value.file() != id.file()) {
      report(*diagnostics_, value, "needs a source of its own: the one here is of the value that it replaces",
             "value and source stand together: {value: ..., source: ...}");
    }
    spec_.figures.push_back({key, value.scalar(), found->second.title, found->second.date});
  }

  template <class T, class Parse>
  std::optional<T> parsed(const ConfigNode& value, const Parse& parse, std::string_view expected) {
    const std::optional<T> read = value.is_scalar() ? parse(value.scalar()) : std::nullopt;
    if (!read) {
      report(*diagnostics_, value, fmt::format("expected {}, got {}", expected, found_text(value)));
    } else if (!(*read > T{})) {
      report(*diagnostics_, value, fmt::format("must be more than 0, got {}", found_text(value)),
             expected == kExpectedRate ? "`unsupported` says that the GPU has no units for it" : "");
      return std::nullopt;
    }
    return read;
  }

  template <class T, class Parse>
  std::optional<T> figure(std::string_view key, const Parse& parse, std::string_view expected) {
    const std::optional<ConfigNode> written = top_.optional_raw(key);
    if (!written) return std::nullopt;
    if (!written->is_map()) {
      report(*diagnostics_, *written, fmt::format("expected a figure with its source, got {}", found_text(*written)),
             fmt::format("{}: {{value: ..., source: ...}}, the source one of `sources`", key));
      return std::nullopt;
    }
    ParamReader entry{*written, *diagnostics_};
    const ConfigNode value = entry.raw("value");
    const ConfigNode source = entry.raw("source");
    entry.finish();
    if (value.is_null() || source.is_null()) return std::nullopt;
    note_figure(std::string{key}, value, source);
    return parsed<T>(value, parse, expected);
  }

  std::int64_t size(std::string_view key, std::string_view expected) {
    const auto read = figure<Bytes>(key, parse_bytes, expected);
    return read ? read->count() : 0;
  }

  // Two numbers of one source.
  std::optional<ParamReader> pair_of(std::string_view key, std::string_view first) {
    std::optional<ParamReader> entry = top_.optional_map(key);
    if (!entry) return entry;
    const ConfigNode source = entry->raw("source");
    if (const auto value = entry->node().find(first); value && !source.is_null()) {
      note_figure(fmt::format("{}.{}", key, first), *value, source);
    }
    return entry;
  }

  void read_links() {
    const bool is_amd = !spec_.gcn.empty();
    std::optional<ParamReader> links = pair_of(is_amd ? "infinity_fabric" : "nvlink", "links");
    if (!links) return;
    spec_.links = static_cast<int>(links->required<std::int64_t>("links", between(1, 1'024)));
    spec_.link_rate = links->required<Bandwidth>("rate", positive);
    links->finish();
  }

  void read_pcie() {
    std::optional<ParamReader> pcie = pair_of("pcie", "generation");
    if (!pcie) return;
    spec_.pcie_generation = static_cast<int>(pcie->required<std::int64_t>("generation", between(1, 7)));
    spec_.pcie_lanes = static_cast<int>(pcie->optional<std::int64_t>("lanes", 16, between(1, 32)));
    pcie->finish();
  }

  void read_peaks() {
    std::optional<ParamReader> peaks = top_.optional_map("peaks");
    if (!peaks) return;
    const std::optional<ConfigNode> source_of_all = peaks->optional_raw("source");
    const auto parse = [](std::string_view text) { return parse_scaled(text, kRateUnits); };
    for (std::size_t i = 0; i < kNumberTypes; ++i) {
      const std::string key{to_string(static_cast<NumberType>(i))};
      const std::optional<ConfigNode> written = peaks->optional_raw(key);
      if (!written) continue;
      ConfigNode value = *written;
      std::optional<ConfigNode> source = source_of_all;
      if (written->is_map()) {
        ParamReader entry{*written, *diagnostics_};
        value = entry.raw("value");
        source = entry.raw("source");
        entry.finish();
        if (value.is_null() || source->is_null()) continue;
      }
      if (!source) {
        report(*diagnostics_, value, "has no source", "`source` in `peaks`, or {value: ..., source: ...}");
        continue;
      }
      note_figure("peaks." + key, value, *source);
      spec_.peaks[i] = value.is_scalar() && value.scalar() == "unsupported" ? 0 : parsed<double>(value, parse, kExpectedRate);
    }
    peaks->finish();
  }

  static constexpr std::string_view kExpectedRate = "a dense rate such as '989 TFLOP/s', or unsupported";

  ParamReader top_;
  ConfigNode own_;
  Diagnostics* diagnostics_;
  GpuSpec spec_;
  std::map<std::string, NamedSource> sources_;
};

ConfigNode base_of(const ConfigNode& base, const std::string& path) {
  const std::string& name = base.scalar();
  if (!base.is_scalar() || name.empty() || name.find('/') != std::string::npos || name.ends_with(".yaml")) {
    return load_reference(base);
  }
  if (const auto file = find_config(fs::path{"gpus"} / (name + ".yaml"))) return ConfigNode::load_file(*file, path);
  base.fail(fmt::format("{}: unknown GPU '{}'", base.path(), name), gpu_names_note(name));
}

// Writes the source of all peaks beside each of them, as those laid over them have another one.
ConfigNode with_sources_of_peaks(ConfigNode gpu) {
  const std::optional<ConfigNode> peaks = gpu.find("peaks");
  const std::optional<ConfigNode> source = peaks ? peaks->find("source") : std::nullopt;
  if (!source || !source->is_scalar()) return gpu;
  for (const std::string& key : peaks->keys()) {
    const ConfigNode value = *peaks->find(key);
    if (key == "source" || !value.is_scalar()) continue;
    const std::string both =
        fmt::format("{{value: {}, source: {}}}", yaml_scalar(value.scalar()), yaml_scalar(source->scalar()));
    gpu = gpu.with_override("peaks." + key, both, value.file());
  }
  return gpu;
}

void check_own_sources(const ConfigNode& base, const ConfigNode& own) {
  const std::optional<ConfigNode> sources = own.find("sources");
  const std::optional<ConfigNode> of_base = base.find("sources");
  if (!sources || !of_base) return;
  for (const std::string& id : sources->keys()) {
    const ConfigNode entry = *sources->find(id);
    if (!of_base->find(id)) continue;
    const std::string message = fmt::format("{}: the base has a source of this name, of other figures", entry.path());
    throw ConfigError({entry.key_diagnostic(message, "any other name")});
  }
}

// Lays what is written over what `base` names.
ConfigNode with_base(const ConfigNode& node, int depth) {
  const std::optional<ConfigNode> base = node.find("base");
  if (!base) return node;
  if (depth == kMostBases) base->fail(fmt::format("{}: more than {} GPUs, each the base of the next", base->path(), depth));
  const ConfigNode below = with_sources_of_peaks(with_base(base_of(*base, node.path()), depth + 1));
  check_own_sources(below, node);
  return laid_over(below, node);
}

}  // namespace

GpuSpec read_gpu_spec(const ConfigNode& node, const std::string& name, Diagnostics& diagnostics) {
  return SpecReader{with_base(node, 0), node, name, diagnostics}.read();
}

}  // namespace weft::net
