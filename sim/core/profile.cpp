#include "sim/core/profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/params.h"
#include "sim/core/config/quantity.h"

namespace weft {
namespace {

const std::vector<std::string>& source_names() {
  static const std::vector<std::string> names = {"datasheet", "literature", "fitted", "measured", "assumed"};
  return names;
}

bool is_ratio(const ParamInfo& info) { return info.unit == "ratio"; }
bool is_power(const ParamInfo& info) { return info.unit == "W"; }

// The value as an error tells it, with the unit of a plain number.
std::string value_text(const ParamInfo& info, const ParamValue& value) {
  return to_string(value) + (info.unit.empty() || is_ratio(info) ? std::string{} : ' ' + info.unit);
}

std::string expected_text(const ParamInfo& info) {
  struct Visitor {
    const ParamInfo& info;
    std::string operator()(Duration) const { return "a duration such as '500 ns'"; }
    std::string operator()(Bytes) const { return "a size such as '64 KiB'"; }
    std::string operator()(Bandwidth) const { return "a bandwidth such as '400 Gb/s'"; }
    std::string operator()(double) const {
      if (is_power(info)) return "a power such as '500 W' or '0.5 kW'";
      if (is_ratio(info)) return "a ratio such as '0.05' or '5 %'";
      return "a number such as '0.5'" + (info.unit.empty() ? std::string{} : ", in " + info.unit);
    }
    std::string operator()(std::int64_t) const { return "an integer such as '8'"; }
  };
  return std::visit(Visitor{info}, info.default_value);
}

template <class T>
std::optional<ParamValue> as_value(const std::optional<T>& value) {
  return value ? std::optional<ParamValue>{*value} : std::nullopt;
}

// A plain number may bring its unit, and watts a prefix: "500 W", "0.5 kW".
std::optional<double> parse_with_unit(const ParamInfo& info, std::string_view text) {
  double factor = 1;
  if (!info.unit.empty() && text.ends_with(info.unit)) {
    text.remove_suffix(info.unit.size());
    if (is_power(info) && text.ends_with('k')) {
      text.remove_suffix(1);
      factor = 1000;
    }
    while (text.ends_with(' ')) text.remove_suffix(1);
  }
  const auto number = parse_number(text);
  return number ? std::optional{*number * factor} : std::nullopt;
}

std::optional<ParamValue> parse_value(const ParamInfo& info, std::string_view text) {
  struct Visitor {
    const ParamInfo& info;
    std::string_view text;
    std::optional<ParamValue> operator()(Duration) const { return as_value(parse_duration(text)); }
    std::optional<ParamValue> operator()(Bytes) const { return as_value(parse_bytes(text)); }
    std::optional<ParamValue> operator()(Bandwidth) const { return as_value(parse_bandwidth(text)); }
    std::optional<ParamValue> operator()(double) const {
      return as_value(is_ratio(info) ? parse_ratio(text) : parse_with_unit(info, text));
    }
    std::optional<ParamValue> operator()(std::int64_t) const { return as_value(parse_integer(text)); }
  };
  return std::visit(Visitor{info, text}, info.default_value);
}

// Returns what is wrong with a value's place in its declared range; empty: nothing.
std::string range_problem(const ParamInfo& info, const ParamValue& value) {
  const bool low = info.min && value < *info.min;
  const bool high = info.max && value > *info.max;
  if (!low && !high) return {};
  if (info.min && info.max) return "expected between " + to_string(*info.min) + " and " + value_text(info, *info.max);
  return low ? "expected at least " + value_text(info, *info.min) : "expected at most " + value_text(info, *info.max);
}

[[noreturn]] void fail_at(const std::string& origin, std::string message, std::string note) {
  Diagnostic diagnostic;
  diagnostic.where.file = origin;
  diagnostic.message = std::move(message);
  diagnostic.note = std::move(note);
  throw ConfigError({std::move(diagnostic)});
}

}  // namespace

std::string_view to_string(ParamSource source) { return source_names()[static_cast<std::size_t>(source)]; }

std::string to_string(const ParamValue& value) {
  struct Visitor {
    std::string operator()(Duration v) const { return to_string(v); }
    std::string operator()(Bytes v) const { return to_string(v); }
    std::string operator()(Bandwidth v) const { return to_string(v); }
    std::string operator()(double v) const { return number_text(v); }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
  };
  return std::visit(Visitor{}, value);
}

void ParamGroupBase::add(ParamInfo info) {
  info.key = path_ + '.' + info.key;
  WEFT_CHECK(std::none_of(infos_.begin(), infos_.end(), [&info](const ParamInfo& other) { return other.key == info.key; }));
  WEFT_CHECK(range_problem(info, info.default_value).empty());
  infos_.push_back(std::move(info));
}

// Reads a profile's file; every error is collected before anything is thrown.
struct Profile::Loader {
  Profile& profile;
  Diagnostics& diagnostics;
  std::map<std::string, std::string> files = {};  // by key of a parameter: the file that gave it last

  void read(const ConfigNode& file) {
    ParamReader top{file, diagnostics};
    top.choice("kind", {"profile"});
    profile.name_ = top.required<std::string>("name");
    profile.description_ = top.optional<std::string>("description", "");
    profile.gpu_ = top.optional<std::string>("gpu", "");
    if (const auto calibrations = map_node(top, "calibrations")) {
      const std::vector<std::string> ids = calibrations->keys();
      for (std::size_t i = 0; i < ids.size(); ++i) read_calibration(ids[i], (*calibrations)[i]);
    }
    for (ParamReader& validation : top.maps("validation")) read_validation(validation);
    if (const auto parameters = map_node(top, "parameters")) read_parameters({}, *parameters);
    profile.products_ = read_product_table(top);
    top.finish();
  }

 private:
  std::optional<ConfigNode> map_node(ParamReader& top, const char* key) {
    auto node = top.optional_raw(key);
    if (!node || node->is_map()) return node;
    top.error(key, "expected a map, got " + found_text(*node));
    return std::nullopt;
  }

  // Keys are written whole, gpu.gemm.fixed, or part by part as key paths are: {gpu: {gemm: {fixed: ...}}}.
  void read_parameters(const std::string& group, const ConfigNode& map) {
    const std::vector<std::string> keys = map.keys();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::string key = group + keys[i];
      const ConfigNode node = map[i];
      if (profile.knows(key)) {
        read_parameter(key, node);
      } else if (const auto first = profile.entries_.lower_bound(key + '.');
                 first != profile.entries_.end() && first->first.starts_with(key + '.')) {
        if (node.is_map()) {
          read_parameters(key + '.', node);
        } else {
          diagnostics.error(
              node.diagnostic(key + ": expected a map of its parameters, got " + found_text(node), "such as " + first->first));
        }
      } else {
        diagnostics.error(node.key_diagnostic("unknown parameter '" + key + "'", profile.suggestion(key)));
      }
    }
  }

  void read_parameter(const std::string& key, const ConfigNode& node) {
    const auto entry = profile.entries_.find(key);
    const auto [written, is_new] = files.try_emplace(key, node.file());
    if (!is_new && written->second == node.file()) {
      diagnostics.error(node.key_diagnostic("parameter '" + key + "' is given twice"));
    }
    written->second = node.file();
    // A plain value is an assumed one.
    if (node.is_scalar() && !node.scalar().empty()) {
      entry->second.provenance = {
          .source = ParamSource::kAssumed, .reference = {}, .calibration = {}, .where = node.location()};
      return read_value(entry->second, node);
    }
    ParamReader reader{node, diagnostics};
    if (!node.is_map()) return;
    const ConfigNode value = reader.raw("value");
    const std::string source = reader.choice("source", source_names());
    Provenance provenance;
    provenance.where = node.find("source") ? node.find("source")->location() : node.location();
    // A file laid over its base replaces a value together with where it came from, or not at all.
    const auto from_base = [&](const char* name) {
      const auto found = node.find(name);
      return found && found->file() != provenance.where.file;
    };
    const auto reference = reader.optional<std::string>("reference");
    const auto calibration = reader.optional<std::string>("calibration");
    if (reference && !from_base("reference")) provenance.reference = *reference;
    if (calibration && !from_base("calibration")) provenance.calibration = *calibration;
    const auto gpu = reader.optional<std::string>("gpu");
    if (gpu && !from_base("gpu")) provenance.gpu = *gpu;
    reader.finish();
    if (node.find("value")) read_value(entry->second, value);
    if (node.find("value") && node.find("source") && from_base("value")) {
      reader.error("source", "the value comes from another file: " + value.file(), "a value and its source are given together");
    }
    const auto name = std::find(source_names().begin(), source_names().end(), source);
    provenance.source = static_cast<ParamSource>(name - source_names().begin());
    if (node.find("source")) check_provenance(reader, provenance);
    entry->second.provenance = std::move(provenance);
  }

  void read_value(Entry& entry, const ConfigNode& value) {
    const auto refuse = [&](const std::string& problem) {
      diagnostics.error(value.diagnostic(value.path() + ": " + problem + ", got " + found_text(value)));
    };
    const auto parsed = value.is_scalar() ? parse_value(*entry.info, value.scalar()) : std::nullopt;
    if (!parsed) return refuse("expected " + expected_text(*entry.info));
    if (const std::string problem = range_problem(*entry.info, *parsed); !problem.empty()) return refuse(problem);
    entry.value = *parsed;
  }

  void check_provenance(ParamReader& reader, const Provenance& provenance) {
    switch (provenance.source) {
      case ParamSource::kLiterature:
        if (provenance.reference.empty()) reader.error("source", "literature needs a 'reference'");
        break;
      case ParamSource::kFitted:
      case ParamSource::kMeasured: {
        if (provenance.calibration.empty()) {
          if (!provenance.reference.empty()) break;
          reader.error("source", std::string{to_string(provenance.source)} + " needs a 'calibration' or a 'reference'",
                       "the entry of 'calibrations' that holds the fit, or which measurement it is");
          break;
        }
        std::vector<std::string> ids;
        for (const Calibration& calibration : profile.calibrations_) ids.push_back(calibration.id);
        if (std::find(ids.begin(), ids.end(), provenance.calibration) == ids.end()) {
          reader.error("calibration", "unknown calibration '" + provenance.calibration + "'",
                       did_you_mean(provenance.calibration, ids, "calibrations here"));
        }
        break;
      }
      case ParamSource::kDatasheet:
      case ParamSource::kAssumed:
        break;
    }
  }

  void read_calibration(const std::string& id, const ConfigNode& node) {
    ParamReader reader{node, diagnostics};
    Calibration calibration;
    calibration.id = id;
    calibration.date = reader.required<std::string>("date");
    calibration.tool = reader.required<std::string>("tool");
    calibration.machine = reader.required<std::string>("machine");
    calibration.samples = reader.required<std::int64_t>("samples", at_least(1));
    calibration.fit_error = reader.required<Ratio>("fit_error").value;
    for (ParamReader& entry : reader.maps("uncertainty")) read_uncertainty(entry, calibration.uncertainty);
    for (ParamReader& training : reader.required_maps("training")) {
      Calibration::Training entry;
      entry.file = training.required<std::string>("file");
      entry.digest = training.required<std::string>("digest");
      if (entry.digest.empty() || entry.digest.find_first_not_of("0123456789abcdef") != std::string::npos) {
        training.error("digest", "expected lower-case hexadecimal digits");
      }
      entry.collective = training.optional<std::string>("collective", "");
      entry.ranks = training.optional<std::int64_t>("ranks", 0, at_least(0));
      entry.bytes = training.list<Bytes>("bytes");
      training.finish();
      calibration.training.push_back(std::move(entry));
    }
    reader.finish();
    profile.calibrations_.push_back(std::move(calibration));
  }

  void read_uncertainty(ParamReader& reader, std::vector<Calibration::Uncertainty>& uncertainty) {
    Calibration::Uncertainty read;
    read.parameter = reader.required<std::string>("parameter");
    if (!profile.knows(read.parameter))
      reader.error("parameter", "unknown parameter '" + read.parameter + "'", profile.suggestion(read.parameter));
    read.std_error = reader.required<Ratio>("std_error", at_least(0)).value;
    read.correlations = reader.list<double>("correlations", between(-1, 1));
    if (read.correlations.size() != uncertainty.size())
      reader.error(
          "correlations",
          "expected " + std::to_string(uncertainty.size()) + " values, got " + std::to_string(read.correlations.size()),
          "one for each parameter listed before");
    reader.finish();
    uncertainty.push_back(std::move(read));
  }

  void read_validation(ParamReader& reader) {
    Validation validation;
    validation.data = reader.required<std::string>("data");
    validation.points = reader.required<std::int64_t>("points", at_least(1));
    validation.median_error = reader.required<Ratio>("median_error").value;
    validation.max_error = reader.required<Ratio>("max_error").value;
    reader.finish();
    profile.validations_.push_back(std::move(validation));
  }
};

Profile::Profile(const ParamGroups& groups) : groups_{groups} {
  for (const ParamGroupBase* group : groups_) {
    for (const ParamInfo& info : group->infos()) {
      Provenance provenance;
      provenance.source = info.source;
      provenance.reference = info.reference;
      provenance.gpu = info.gpu;
      provenance.is_default = true;
      const bool is_new = entries_.try_emplace(info.key, Entry{&info, info.default_value, std::move(provenance)}).second;
      WEFT_CHECK(is_new);
    }
  }
}

Profile Profile::load(const std::filesystem::path& file, const ParamGroups& groups) {
  return from_node(ConfigNode::load_file(file), groups);
}

Profile Profile::from_node(const ConfigNode& node, const ParamGroups& groups) {
  Profile profile{groups};
  Diagnostics diagnostics;
  Loader{profile, diagnostics}.read(node);
  diagnostics.throw_if_any();
  return profile;
}

Profile Profile::defaults(const ParamGroups& groups) {
  Profile profile{groups};
  profile.name_ = "defaults";
  return profile;
}

const Profile::Entry& Profile::entry(std::string_view key) const {
  const auto found = entries_.find(key);
  WEFT_CHECK(found != entries_.end());
  return found->second;
}

bool Profile::knows(std::string_view key) const { return entries_.find(key) != entries_.end(); }
const ParamInfo& Profile::info(std::string_view key) const { return *entry(key).info; }
const ParamValue& Profile::value(std::string_view key) const { return entry(key).value; }
const Provenance& Profile::provenance(std::string_view key) const { return entry(key).provenance; }

std::vector<std::string> Profile::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

std::string Profile::suggestion(std::string_view key) const {
  const std::vector<std::string> all = keys();
  if (const std::string best = nearest(key, all); !best.empty()) return "did you mean '" + best + "'?";
  // Hundreds of keys help nobody: the group that was meant, if it can be told, otherwise the groups.
  std::vector<std::string> names;
  for (const ParamGroupBase* group : groups_) {
    if (key.starts_with(group->path() + '.')) {
      for (const ParamInfo& info : group->infos()) names.push_back(info.key);
      return did_you_mean(key, names, "parameters of " + group->path());
    }
  }
  for (const ParamGroupBase* group : groups_) names.push_back(group->path());
  return did_you_mean(key.substr(0, key.rfind('.')), names, "groups of parameters");
}

bool Profile::trained_on(std::string_view digest, std::string_view collective, std::int64_t ranks, Bytes bytes) const {
  const auto covers = [&](const Calibration::Training& training) {
    if (training.digest != digest) return false;
    if (!training.collective.empty() && training.collective != collective) return false;
    if (training.ranks != 0 && training.ranks != ranks) return false;
    return training.bytes.empty() || std::find(training.bytes.begin(), training.bytes.end(), bytes) != training.bytes.end();
  };
  return std::any_of(calibrations_.begin(), calibrations_.end(), [&covers](const Calibration& calibration) {
    return std::any_of(calibration.training.begin(), calibration.training.end(), covers);
  });
}

std::string Profile::stated_error() const {
  const auto percent = [](double error) { return to_string(Ratio{std::round(error * 1e4) / 1e4}); };
  std::string text;
  for (const Validation& validation : validations_) {
    if (!text.empty()) text += "; ";
    text += "median " + percent(validation.median_error) + ", max " + percent(validation.max_error) + " over " +
            std::to_string(validation.points) + (validation.points == 1 ? " point of " : " points of ") + validation.data;
  }
  return text.empty() ? "not validated" : text;
}

std::string Profile::other_gpu(std::string_view key) const {
  const std::string& gpu = provenance(key).gpu;
  return gpu == gpu_ ? std::string{} : gpu;
}

std::string Profile::owners() const {
  if (gpu_.empty()) return {};
  int own = 0;
  int general = 0;
  std::map<std::string, int> others;
  for (const auto& [key, entry] : entries_) {
    if (const std::string other = other_gpu(key); !other.empty()) {
      ++others[other];
    } else if (entry.provenance.is_default && entry.provenance.gpu.empty()) {
      ++general;
    } else {
      ++own;
    }
  }
  std::string text = std::to_string(own) + (own == 1 ? " value of its own" : " values of its own");
  for (const auto& [gpu, count] : others) text += ", " + std::to_string(count) + " of " + gpu;
  return text + ", " + std::to_string(general) + " of no GPU in particular";
}

Profile Profile::with_value(std::string_view key, const ParamValue& value, Provenance provenance) const {
  const Entry& known = entry(key);
  WEFT_CHECK(value.index() == known.value.index());
  if (const std::string problem = range_problem(*known.info, value); !problem.empty()) {
    fail_at({}, std::string{key} + ": " + problem + ", got '" + to_string(value) + "'", {});
  }
  Profile changed = *this;
  Entry& target = changed.entries_.find(key)->second;
  target.value = value;
  target.provenance = std::move(provenance);
  target.provenance.is_default = false;
  return changed;
}

Profile Profile::with_value(std::string_view key, std::string_view value_text, const std::string& origin) const {
  if (!knows(key)) fail_at(origin, "unknown parameter '" + std::string{key} + "'", suggestion(key));
  const ParamInfo& known = info(key);
  const auto refuse = [&](const std::string& problem) {
    fail_at(origin, std::string{key} + ": " + problem + ", got '" + std::string{value_text} + "'", {});
  };
  const auto value = parse_value(known, value_text);
  if (!value) refuse("expected " + expected_text(known));
  if (const std::string problem = range_problem(known, *value); !problem.empty()) refuse(problem);
  Provenance provenance;
  provenance.source = ParamSource::kAssumed;
  provenance.reference = origin;
  return with_value(key, *value, std::move(provenance));
}

std::optional<double> Profile::std_error(std::string_view key) const {
  const std::string& id = provenance(key).calibration;
  for (const Calibration& calibration : calibrations_) {
    if (id.empty() || calibration.id != id) continue;
    for (const Calibration::Uncertainty& known : calibration.uncertainty) {
      if (known.parameter == key) return known.std_error;
    }
  }
  return std::nullopt;
}

Profile Profile::with_calibration(Calibration calibration) const {
  Profile changed = *this;
  const auto same = std::find_if(changed.calibrations_.begin(), changed.calibrations_.end(),
                                 [&](const Calibration& c) { return c.id == calibration.id; });
  if (same != changed.calibrations_.end()) {
    *same = std::move(calibration);
  } else {
    changed.calibrations_.push_back(std::move(calibration));
  }
  return changed;
}

Profile Profile::with_validations(std::vector<Validation> validations) const {
  Profile changed = *this;
  changed.validations_ = std::move(validations);
  return changed;
}

Profile Profile::with_products(std::shared_ptr<const ProductTable> products) const {
  Profile changed = *this;
  changed.products_ = std::move(products);
  return changed;
}

Profile Profile::with_name(std::string name, std::string description) const {
  Profile changed = *this;
  changed.name_ = std::move(name);
  changed.description_ = std::move(description);
  return changed;
}

std::string Profile::to_yaml() const {
  const auto ratio = [](double value) { return yaml_scalar(to_string(Ratio{value})); };
  std::string text = "kind: profile\nname: " + yaml_scalar(name_) + '\n';
  if (!description_.empty()) text += "description: " + yaml_scalar(description_) + '\n';
  if (!gpu_.empty()) text += "gpu: " + yaml_scalar(gpu_) + '\n';
  std::string parameters;
  for (const auto& [key, entry] : entries_) {
    const Provenance& provenance = entry.provenance;
    if (provenance.is_default) continue;
    parameters += "  " + yaml_scalar(key) + ": {value: " + yaml_scalar(to_string(entry.value)) + ", source: ";
    parameters += to_string(provenance.source);
    if (!provenance.gpu.empty()) parameters += ", gpu: " + yaml_scalar(provenance.gpu);
    if (!provenance.reference.empty()) parameters += ", reference: " + yaml_scalar(provenance.reference);
    if (!provenance.calibration.empty()) parameters += ", calibration: " + yaml_scalar(provenance.calibration);
    parameters += "}\n";
  }
  text += parameters.empty() ? "parameters: {}\n" : "parameters:\n" + parameters;
  if (!calibrations_.empty()) text += "calibrations:\n";
  for (const Calibration& calibration : calibrations_) {
    text += "  " + yaml_scalar(calibration.id) + ":\n";
    text += "    date: " + yaml_scalar(calibration.date) + '\n';
    text += "    tool: " + yaml_scalar(calibration.tool) + '\n';
    text += "    machine: " + yaml_scalar(calibration.machine) + '\n';
    text += "    samples: " + std::to_string(calibration.samples) + '\n';
    text += "    fit_error: " + ratio(calibration.fit_error) + '\n';
    if (!calibration.uncertainty.empty()) text += "    uncertainty:\n";
    for (const Calibration::Uncertainty& known : calibration.uncertainty) {
      text += "      - {parameter: " + yaml_scalar(known.parameter) + ", std_error: " + ratio(known.std_error);
      if (!known.correlations.empty()) text += ", correlations: [";
      for (std::size_t i = 0; i < known.correlations.size(); ++i)
        text += (i == 0 ? "" : ", ") + to_string(ParamValue{known.correlations[i]});
      text += known.correlations.empty() ? "}\n" : "]}\n";
    }
    text += calibration.training.empty() ? "    training: []\n" : "    training:\n";
    for (const Calibration::Training& training : calibration.training) {
      text += "      - {file: " + yaml_scalar(training.file) + ", digest: " + yaml_scalar(training.digest);
      if (!training.collective.empty()) text += ", collective: " + yaml_scalar(training.collective);
      if (training.ranks != 0) text += ", ranks: " + std::to_string(training.ranks);
      if (!training.bytes.empty()) {
        text += ", bytes: [";
        for (std::size_t i = 0; i < training.bytes.size(); ++i) text += (i == 0 ? "" : ", ") + to_string(training.bytes[i]);
        text += ']';
      }
      text += "}\n";
    }
  }
  if (!validations_.empty()) text += "validation:\n";
  for (const Validation& validation : validations_) {
    text += "  - {data: " + yaml_scalar(validation.data) + ", points: " + std::to_string(validation.points);
    text += ", median_error: " + ratio(validation.median_error) + ", max_error: " + ratio(validation.max_error) + "}\n";
  }
  if (products_ == nullptr || products_->rows.empty()) return text;
  text += "products:\n";
  for (const std::string& file : products_->files) text += "  - " + yaml_scalar(file) + '\n';
  for (const MeasuredProduct& p : products_->own_rows) {
    text += "  - {m: " + std::to_string(p.m) + ", n: " + std::to_string(p.n) + ", k: " + std::to_string(p.k);
    text += ", type: " + p.type + ", time: " + to_string(p.time);
    if (p.scales != MeasuredProduct{}.scales) text += ", scales: " + p.scales;
    if (p.quantized) text += ", quantized: true";
    if (p.weight_copies != 0) text += ", weight_copies: " + std::to_string(p.weight_copies);
    text += "}\n";
  }
  return text;
}

}  // namespace weft
