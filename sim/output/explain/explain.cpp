#include "sim/output/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <system_error>

#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/network/find_config.h"
#include "sim/scenario/catalog.h"
#include "sim/scenario/scenario.h"

namespace weft::output {
namespace {

constexpr std::size_t kWidth = 100;

// Words filled into lines of kWidth, the first after `first`, the others after as many spaces.
std::string filled(std::string_view first, std::string_view text) {
  std::string out{first};
  const std::string indent(first.size(), ' ');
  std::size_t column = first.size();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > first.size() && column + 1 + word.size() > kWidth) {
      out += '\n' + indent;
      column = first.size();
    }
    if (column > first.size()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + '\n';
}

std::string join(const std::vector<std::string_view>& items) {
  std::string text;
  for (const std::string_view item : items) {
    if (!text.empty()) text += ", ";
    text += item;
  }
  return text;
}

std::string source_text(const Provenance& provenance) {
  std::string text{to_string(provenance.source)};
  if (!provenance.gpu.empty()) text += " (" + provenance.gpu + ")";
  if (!provenance.reference.empty()) text += ", " + provenance.reference;
  if (!provenance.calibration.empty()) text += ", calibration '" + provenance.calibration + "'";
  return text;
}

std::string range_text(const ParamInfo& info) {
  if (info.min && info.max) return fmt::format("{} to {}", to_string(*info.min), to_string(*info.max));
  if (info.min) return fmt::format("at least {}", to_string(*info.min));
  return info.max ? fmt::format("at most {}", to_string(*info.max)) : "any";
}

std::string unit_text(const ParamInfo& info) {
  constexpr std::array<std::string_view, 5> kTypes{"duration", "size", "bandwidth", "number", "integer"};
  const std::string_view type = kTypes[info.default_value.index()];
  return info.unit.empty() ? std::string{type} : fmt::format("{} ({})", type, info.unit);
}

std::string parameter_text(const ParamInfo& info, const Profile* profile) {
  std::string text = filled(info.key + ": ", info.description);
  text += fmt::format("  type     {}\n  range    {}\n  default  {}\n", unit_text(info), range_text(info),
                      to_string(info.default_value));
  text += filled("  source   ", source_text({.source = info.source,
                                             .reference = info.reference,
                                             .calibration = {},
                                             .gpu = info.gpu,
                                             .is_default = true,
                                             .where = {}}));
  if (profile != nullptr) {
    const Provenance& provenance = profile->provenance(info.key);
    const std::string other = profile->other_gpu(info.key);
    const std::string from = !provenance.is_default ? source_text(provenance)
                             : other.empty()        ? std::string{"the default"}
                                                    : "the default, of " + other;
    return text +
           filled(fmt::format("  in {}: ", profile->name()), fmt::format("{} ({})", to_string(profile->value(info.key)), from));
  }
  for (const std::string& name : net::config_names("profiles")) {
    try {
      const Profile shipped = scenario::find_profile(name);
      const Provenance& provenance = shipped.provenance(info.key);
      if (provenance.is_default) continue;
      text += filled(fmt::format("  in {}: ", name),
                     fmt::format("{} ({})", to_string(shipped.value(info.key)), source_text(provenance)));
    } catch (const ConfigError&) {  // `weft check` reports it
      continue;
    }
  }
  return text;
}

std::string model_text(const ModelText& model, const std::string& name) {
  std::string text = filled(name + ": ", model.title);
  if (model.names.size() > 1) text += filled("  also for     ", join(model.names));
  text += filled("  assumes      ", model.assumes);
  for (std::size_t i = 0; i < model.leaves_out.size(); ++i)
    text += filled(i == 0 ? "  leaves out   - " : "               - ", model.leaves_out[i]);
  for (std::size_t i = 0; i < model.sources.size(); ++i)
    text += filled(i == 0 ? "  sources      - " : "               - ", model.sources[i]);
  for (std::size_t i = 0; i < model.files.size(); ++i)
    text += filled(i == 0 ? "  code         - " : "               - ", fmt::format("sim/{}", model.files[i]));
  const std::string group = "network." + name;
  for (const ParamGroupBase* params : scenario::all_param_groups()) {
    if (params->path() == group)
      text += filled("  parameters   ", fmt::format("{} (weft explain {})", params->path(), params->path()));
  }
  return text;
}

std::string all_simplifications() {
  std::string text;
  for (const ModelText& model : model_texts()) {
    if (model.leaves_out.empty()) continue;
    text += fmt::format("{}\n", join(model.names));
    for (const std::string_view line : model.leaves_out) text += filled("  - ", line);
  }
  return text;
}

std::string group_text(const ParamGroupBase& group, const Profile* profile) {
  std::string text = filled(group.path() + ": ", group.description());
  for (const ParamInfo& info : group.infos()) text += '\n' + parameter_text(info, profile);
  return text;
}

std::string kind_text(std::string_view kind) {
  std::string text;
  for (const scenario::CatalogKind& known : scenario::catalog_kinds()) {
    if (known.name == kind) text += filled(std::string{kind} + ": ", known.what);
  }
  for (const scenario::CatalogEntry& entry : scenario::catalog(kind))
    text += filled(fmt::format("  {:<24} ", entry.name), entry.summary);
  return text;
}

}  // namespace

std::vector<std::string> explained_names() {
  std::set<std::string> names{"simplifications"};
  for (const ModelText& model : model_texts()) names.insert(model.names.begin(), model.names.end());
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) names.emplace(kind.name);
  for (const ParamGroupBase* group : scenario::all_param_groups()) {
    names.insert(group->path());
    for (const ParamInfo& info : group->infos()) names.insert(info.key);
  }
  return {names.begin(), names.end()};
}

std::string explain(const std::string& thing, const Profile* profile) {
  if (thing == "simplifications") return all_simplifications();
  for (const ModelText& model : model_texts()) {
    if (std::ranges::find(model.names, thing) != model.names.end()) return model_text(model, thing);
  }
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) {
    if (kind.name == thing) return kind_text(kind.name);
  }
  for (const ParamGroupBase* group : scenario::all_param_groups()) {
    if (group->path() == thing) return group_text(*group, profile);
    for (const ParamInfo& info : group->infos()) {
      if (info.key == thing) return parameter_text(info, profile);
    }
  }
  const std::vector<std::string> names = explained_names();

  const std::string near = nearest(thing, names);
  const std::string note =
      near.empty() ? "there are texts on what `weft list` shows, on keys of parameters, and on: flow, nccl, simplifications"
                   : fmt::format("did you mean '{}'?", near);
  throw ConfigError({Diagnostic{
      .where = {}, .message = fmt::format("nothing is known of '{}'", thing), .source_line = {}, .length = 1, .note = note}});
}

std::string explain_profile(const Profile& profile) {
  std::string text = filled(profile.name() + ": ", profile.description());
  text += fmt::format("  stated error  {}\n", profile.stated_error());
  const std::vector<std::string> keys = profile.keys();
  if (!profile.gpu().empty()) text += filled("  of            ", profile.gpu() + ": " + profile.owners());
  std::array<int, kParamSources> counts{};
  int stated = 0;
  for (const std::string& key : keys) {
    if (profile.provenance(key).is_default) continue;
    ++counts[static_cast<std::size_t>(profile.provenance(key).source)];
    ++stated;
  }
  const auto count_of = [&counts](ParamSource source) { return counts[static_cast<std::size_t>(source)]; };
  text += fmt::format(
      "  parameters    {} fitted, {} measured, {} from datasheets, {} from literature, {} assumed; {} of {} keep their "
      "defaults\n\n",
      count_of(ParamSource::kFitted), count_of(ParamSource::kMeasured), count_of(ParamSource::kDatasheet),
      count_of(ParamSource::kLiterature), count_of(ParamSource::kAssumed), keys.size() - static_cast<std::size_t>(stated),
      keys.size());
  for (const std::string& key : keys) {
    const Provenance& provenance = profile.provenance(key);
    if (provenance.is_default) continue;
    const auto known = profile.std_error(key);
    text += filled(fmt::format("  {:<36} {:>12}  ", key, to_string(profile.value(key))),
                   source_text(provenance) + (known ? fmt::format(", standard error {:.1f} %", 100 * *known) : ""));
  }
  for (const Calibration& calibration : profile.calibrations()) {
    text += '\n' + filled(fmt::format("  calibration '{}': ", calibration.id),
                          fmt::format("{}, {}, {}, {} samples, fit error {:.2f} %", calibration.machine, calibration.date,
                                      calibration.tool, calibration.samples, 100 * calibration.fit_error));
    for (const Calibration::Training& training : calibration.training) {
      text += filled(
          "    fitted on ",
          fmt::format("{}{}", training.file, training.bytes.empty() ? "" : fmt::format(", {} sizes", training.bytes.size())));
    }
  }
  return text;
}

}  // namespace weft::output
