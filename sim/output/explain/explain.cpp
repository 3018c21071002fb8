#include "sim/output/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <system_error>

#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/output/explain/glossary.h"
#include "sim/output/explain/nccl_settings.h"
#include "sim/output/explain/topics.h"
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

std::string join(const auto& items) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    text += item;
  }
  return text;
}

constexpr std::array kTopics{network_topics, collectives_topics, workloads_topics, planning_topics};

// Words that lead to registered models.
struct Alias {
  std::string_view name;
  TextLines models;
};
constexpr std::array kAliases{
    Alias{"channels", {"ring"}},
    Alias{"gloo", {"gloo_ring", "gloo_halving_doubling", "gloo_bcube"}},
    Alias{"experts", {"deepep_dispatch", "deepep_combine"}},
    Alias{"ring_order", {"ring"}},
    Alias{"rounds", {"recursive_doubling"}},
    Alias{"sharp", {"collnet_direct"}},
    Alias{"training", {"pytorch_eager"}},
};

// Names of formats are words of other meanings too.
std::vector<std::string> names_of(const scenario::RegisteredModel& model) {
  const std::string name{model.name};
  if (model.kind == "trace_formats") return {"trace." + name, name};
  if (model.kind == "trace_writers") return {"write_" + name};
  return {name};
}

std::vector<Explanation> make_explanations() {
  std::vector<Explanation> all;
  std::map<std::string_view, std::vector<std::string>> families;  // by title
  for (const scenario::RegisteredModel& model : scenario::registered_models()) {
    all.push_back({names_of(model), model.summary, *model.text, {}, {std::string{model.file}}});
    families[model.text->title].push_back(all.back().names.front());
  }
  for (Explanation& each : all)
    each.family = each.text.title.empty() ? std::vector{each.names.front()} : families[each.text.title];
  for (std::vector<Topic> (*topics)() : kTopics) {
    for (const Topic& topic : topics())
      all.push_back(
          {{topic.names.begin(), topic.names.end()}, topic.text.title, topic.text, {std::string{*topic.names.begin()}}, {}});
  }
  for (Explanation& each : all) {
    for (const std::string_view file : each.text.files) {
      if (std::ranges::find(each.files, file) == each.files.end()) each.files.emplace_back(file);
    }
  }
  return all;
}

// Those that a name leads to: one, several of an alias, or none.
std::vector<const Explanation*> explanations_of(std::string_view name) {
  std::vector<const Explanation*> found;
  for (const Explanation& each : explanations()) {
    if (std::ranges::find(each.names, name) != each.names.end()) return {&each};
  }
  for (const Alias& alias : kAliases) {
    if (alias.name != name) continue;
    for (const std::string_view model : alias.models) found.push_back(explanations_of(model).front());
  }
  return found;
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

// By name, each read once; those with mistakes are left out, as `weft check` reports them.
const std::map<std::string, Profile>& shipped_profiles() {
  static const std::map<std::string, Profile> all = [] {
    std::map<std::string, Profile> read;
    for (const std::string& name : config_names("profiles")) {
      try {
        read.emplace(name, scenario::find_profile(name));
      } catch (const ConfigError&) {
        continue;
      }
    }
    return read;
  }();
  return all;
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
  for (const auto& [name, shipped] : shipped_profiles()) {
    const Provenance& provenance = shipped.provenance(info.key);
    if (provenance.is_default) continue;
    text += filled(fmt::format("  in {}: ", name),
                   fmt::format("{} ({})", to_string(shipped.value(info.key)), source_text(provenance)));
  }
  return text;
}

std::string list_text(std::string_view title, const auto& lines) {
  std::string text;
  for (const std::string_view line : lines)
    text += filled(text.empty() ? fmt::format("  {:<12} - ", title) : "               - ", line);
  return text;
}

std::string explanation_text(const Explanation& each, const std::string& name) {
  std::string text = filled(name + ": ", each.summary);
  if (each.family.size() > 1) text += filled("  family       ", each.text.title);
  const std::vector<std::string>& names = each.family.size() > 1 ? each.family : each.names;
  if (names.size() > 1) text += filled("  also for     ", join(names));
  text += filled("  assumes      ", each.text.assumes);
  text += list_text("leaves out", each.text.leaves_out);
  text += list_text("sources", each.text.sources);
  std::vector<std::string> files;
  for (const std::string& file : each.files) files.push_back("sim/" + file);
  text += list_text("code", files);
  const std::string group = "network." + name;
  for (const ParamGroupBase* params : scenario::all_param_groups()) {
    if (params->path() == group)
      text += filled("  parameters   ", fmt::format("{} (weft explain {})", params->path(), params->path()));
  }
  return text;
}

std::string all_simplifications() {
  std::string text;
  std::set<std::string_view> told;  // models that share a line say it once
  for (const Explanation& each : explanations()) {
    std::string lines;
    for (const std::string_view line : each.text.leaves_out) {
      if (told.insert(line).second) lines += filled("  - ", line);
    }
    if (!lines.empty()) text += fmt::format("{}\n{}", join(each.family.size() > 1 ? each.family : each.names), lines);
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

std::string term_text(const Term& term) {
  std::string text = filled(fmt::format("{}: ", term.name), term.meaning);
  if (!term.more.empty()) text += fmt::format("  see          weft explain {}\n", term.more);
  return text;
}

// Shipped files, and whatever else is listed by name without a text of its own.
std::string entries_text(const std::string& name) {
  std::string text;
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) {
    if (kind.name == "parameters") continue;
    for (const scenario::CatalogEntry& entry : scenario::catalog(kind.name)) {
      if (entry.name != name) continue;
      text += filled(fmt::format("{} (of {}): ", name, kind.name), entry.summary);
      if (kind.name == "profiles") text += fmt::format("  see          weft explain profile {}\n", name);
      if (kind.name == "gpus") text += fmt::format("  see          weft explain gpu {}\n", name);
      if (kind.name == "clusters") text += fmt::format("  see          weft topo {}\n", name);
    }
  }
  return text;
}

// Parameters whose key ends so: `power_limit` is gpu.power_limit.
std::string last_step_text(const std::string& name, const Profile* profile) {
  std::string text;
  for (const ParamGroupBase* group : scenario::all_param_groups()) {
    for (const ParamInfo& info : group->infos()) {
      if (info.key.ends_with('.' + name)) text += (text.empty() ? "" : "\n") + parameter_text(info, profile);
    }
  }
  return text;
}

// Empty: nothing is known of it.
std::string known_text(const std::string& thing, const Profile* profile) {
  if (thing == "simplifications") return all_simplifications();
  std::string text;
  for (const Explanation* each : explanations_of(thing))
    text += explanation_text(*each, std::ranges::find(each->names, thing) != each->names.end() ? thing : each->names.front());
  if (!text.empty()) return text;
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) {
    if (kind.name == thing) return kind_text(kind.name);
  }
  for (const ParamGroupBase* group : scenario::all_param_groups()) {
    if (group->path() == thing) return group_text(*group, profile);
    for (const ParamInfo& info : group->infos()) {
      if (info.key == thing) return parameter_text(info, profile);
    }
  }
  const auto term = std::ranges::find(glossary(), thing, &Term::name);
  if (term != glossary().end()) return term_text(*term);
  text = entries_text(thing);
  if (!text.empty()) return text;
  if (const std::string meaning = nccl_setting_meaning(thing); !meaning.empty()) {
    std::string name = thing.starts_with("nccl_") ? thing.substr(5) : thing;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    return filled(fmt::format("NCCL_{}: ", name), meaning) +
           filled("  given by     ", fmt::format("--nccl {}=..., or `nccl: {{{}: ...}}` of a cluster", name, name));
  }
  return last_step_text(thing, profile);
}

}  // namespace

std::span<const Explanation> explanations() {
  static const std::vector<Explanation> all = make_explanations();
  return all;
}

std::vector<std::string> simplifications_of(const std::vector<std::string>& names) {
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    for (const Explanation* each : explanations_of(name)) {
      for (const std::string_view line : each->text.leaves_out) {
        if (std::ranges::find(lines, line) == lines.end()) lines.emplace_back(line);
      }
    }
  }
  return lines;
}

std::string explained_topics() {
  std::map<std::string, std::string_view> topics;
  for (std::vector<Topic> (*of_layer)() : kTopics) {
    for (const Topic& topic : of_layer()) topics.emplace(*topic.names.begin(), topic.text.title);
  }
  std::string text = "Topics:\n";
  for (const auto& [name, title] : topics) text += filled(fmt::format("  {:<20} ", name), title);
  text += "\nWords:\n";
  for (const Term& term : glossary()) text += filled(fmt::format("  {:<20} ", term.name), term.meaning);
  return text + "\nThere is a text, too, on each name of `weft list` and on each key of `weft list parameters`.\n";
}

std::vector<std::string> explained_names() {
  std::set<std::string> names{"simplifications"};
  for (const Explanation& each : explanations()) names.insert(each.names.begin(), each.names.end());
  for (const Alias& alias : kAliases) names.emplace(alias.name);
  for (const Term& term : glossary()) names.emplace(term.name);
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) names.emplace(kind.name);
  for (const ParamGroupBase* group : scenario::all_param_groups()) {
    names.insert(group->path());
    for (const ParamInfo& info : group->infos()) names.insert(info.key);
  }
  return {names.begin(), names.end()};
}

std::string explain(const std::string& thing, const Profile* profile) {
  for (const std::string& name : {thing, lower_case(thing)}) {
    if (std::string text = known_text(name, profile); !text.empty()) return text;
  }
  std::vector<std::string> names = explained_names();
  // all_to_allv for alltoallv
  const auto squeezed = [](std::string_view text) {
    std::string word = lower_case(text);
    std::erase_if(word, [](char c) { return c == '_' || c == '-' || c == ' '; });
    return word;
  };
  const auto alike = std::ranges::find_if(names, [&](const std::string& name) { return squeezed(name) == squeezed(thing); });
  if (alike != names.end()) return known_text(*alike, profile);
  for (const std::string& name : nccl_setting_names()) names.push_back(name);
  const std::string near = nearest(lower_case(thing), names);
  const std::string note =
      near.empty() ? "there are texts on what `weft list` shows, on keys of parameters, and on: flow, nccl, simplifications"
                   : fmt::format("did you mean '{}'?", near);
  throw ConfigError({Diagnostic{
      .where = {}, .message = fmt::format("nothing is known of '{}'", thing), .source_line = {}, .length = 1, .note = note}});
}

std::string explain_gpu(const net::GpuSpec& gpu) {
  std::string text = filled(gpu.name + ": ", gpu.description);
  std::string aliases;
  for (const std::string& alias : gpu.aliases) aliases += (aliases.empty() ? "" : ", ") + alias;
  if (!aliases.empty()) text += filled("  also named    ", aliases);
  if (!gpu.architecture.empty()) text += filled("  architecture  ", gpu.architecture);
  if (gpu.sm > 0) text += fmt::format("  compute capability {}.{}\n", gpu.sm / 10, gpu.sm % 10);
  if (!gpu.gcn.empty()) text += filled("  gcn           ", gpu.gcn);
  text += filled("  profile       ", gpu.profile.empty() ? "none: defaults (weft explain KEY)" : gpu.profile);
  for (const net::GpuFigure& figure : gpu.figures)
    text +=
        filled(fmt::format("  {:<22} {:>12}  ", figure.key, figure.value), fmt::format("{}, {}", figure.source, figure.date));
  std::string missing;
  for (std::size_t i = 0; i < net::kNumberTypes; ++i) {
    const auto type = static_cast<net::NumberType>(i);
    if (!gpu.stated(type)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", to_string(type));
  }
  if (!missing.empty()) text += filled("  not stated    ", "rates of " + missing);
  return text;
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
