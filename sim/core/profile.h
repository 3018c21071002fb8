// Calibrated parameters: how hardware behaves, apart from what exists. Each model declares a plain struct and a ParamGroup
// beside it; this file loads, checks and carries the provenance of every value without knowing any of them.
//
//   struct NicTimings {                                        // in the model's header; the defaults stand here, once
//     Duration post = 600_ns;
//     double efficiency = 0.95;
//   };
//   const ParamGroup<NicTimings> nic_timings{"network.nic", "what a NIC adds to a message", {
//       param("post", &NicTimings::post, {.min = 0_ns, .max = 100_us, .source = ParamSource::kLiterature,
//             .reference = "models/network §3.2", .description = "doorbell to first byte on the wire"}),
//       param("efficiency", &NicTimings::efficiency, {.unit = "ratio", .min = 0.1, .max = 1.0, .source = ParamSource::kAssumed,
//             .description = "payload share of the line rate"}),
//   }};
//   const Profile profile = Profile::load("configs/profiles/h200_sxm.yaml", groups);   // groups: the lists of all layers'
//   builtin.h const NicTimings timings = profile.get(nic_timings);                               // what the model gets when it
//   is built
//
// The file:
//
//   kind: profile
//   name: h200_sxm
//   description: H200 SXM, NVLink 4
//   gpu: H200
//   parameters:
//     network.nic.post: {value: 550 ns, source: fitted, calibration: ping}
//     network.nic.efficiency: {value: 0.93, source: literature, reference: "models/network §3.2"}
//   calibrations:
//     ping: {date: 2025-11-21, tool: weft calibrate 0.1.0, machine: h200x4, samples: 3, fit_error: 1.2 %,
//            uncertainty: [{parameter: network.nic.post, std_error: 2.1 %}],
//            training: [{file: ping.txt, digest: 5d0c2f81, collective: sendrecv, ranks: 2, bytes: [8 B, 1 MiB]}]}
//   validation: [{data: ping_far.txt, points: 12, median_error: 0.8 %, max_error: 3 %}]
//
//   products: [gemms.csv]                                     # matrix products of one's own (product_table.h)
//
// `gpu` names the GPU that a file's values are of; a value of another GPU says so itself: {value: 0.33, source: fitted, gpu:
// H200, reference: ...}. What the file does not name keeps its declared default, with the provenance declared beside it.
// `extends` works as in every file, but a value brings its own source: one taken from a base without the other is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/error.h"
#include "sim/core/product_table.h"
#include "sim/core/units.h"

namespace weft {

// A fitted value makes a model meet measurements of something else. A measured value is the measured quantity itself.
enum class ParamSource { kDatasheet, kLiterature, kFitted, kMeasured, kAssumed };
inline constexpr std::size_t kParamSources = 5;
[[nodiscard]] std::string_view to_string(ParamSource source);

using ParamValue = std::variant<Duration, Bytes, Bandwidth, double, std::int64_t>;
// "1.5 us", "64 KiB", "400 Gb/s", "0.82", "8".
[[nodiscard]] std::string to_string(const ParamValue& value);

// Where the defaults of several parameters come from.
struct Origin {
  ParamSource source = ParamSource::kAssumed;
  std::string_view reference;
  std::string_view gpu = {};  // whose values they are; empty: no GPU's in particular
};

// A model says this about one of its parameters.
template <class T>
struct ParamSpec {
  std::string unit = {};      // of plain numbers: "ratio" (also reads "5 %"), "FLOP/s", ...; quantities carry theirs
  std::optional<T> min = {};  // absent: 0 for quantities, no limit for plain numbers
  std::optional<T> max = {};
  ParamSource source = ParamSource::kAssumed;  // of the default
  std::string reference = {};
  std::string description = {};
  std::string gpu = {};  // as Origin has it
};

// The same with its type erased: what `weft explain`, `weft calibrate` and the schema see.
struct ParamInfo {
  std::string key;  // the whole path, "network.nic.post"
  std::string unit;
  ParamValue default_value;
  std::optional<ParamValue> min;
  std::optional<ParamValue> max;
  ParamSource source = ParamSource::kAssumed;
  std::string reference;
  std::string description;
  std::string gpu = {};
};

// One field of a struct S with its declaration; made by param().
template <class S>
struct Param {
  ParamInfo info;  // key: the name alone, until a group takes it
  std::function<void(S&, const ParamValue&)> write;
};

// For fields that are elements of arrays: `access` returns the element.
//   param_at<NcclLatencies, Duration>("tree_ll", [](NcclLatencies& s) -> Duration& { return s.base[kTree][kLl]; }, {...})
template <class S, class T>
[[nodiscard]] Param<S> param_at(std::string name, std::function<T&(S&)> access, ParamSpec<T> spec) {
  S defaults{};
  Param<S> made;
  made.info.key = std::move(name);
  made.info.unit = std::move(spec.unit);
  made.info.default_value = ParamValue{access(defaults)};
  if (spec.min) made.info.min = ParamValue{*spec.min};
  if (spec.max) made.info.max = ParamValue{*spec.max};
  if (!spec.min && !std::is_arithmetic_v<T>) made.info.min = ParamValue{T{}};
  made.info.source = spec.source;
  made.info.reference = std::move(spec.reference);
  made.info.description = std::move(spec.description);
  made.info.gpu = std::move(spec.gpu);
  made.write = [access = std::move(access)](S& s, const ParamValue& value) { access(s) = std::get<T>(value); };
  return made;
}

template <class S, class T>
[[nodiscard]] Param<S> param(std::string name, T S::*member, std::type_identity_t<ParamSpec<T>> spec) {
  return param_at<S, T>(
      std::move(name), [member](S& s) -> T& { return s.*member; }, std::move(spec));
}

// The parameter with that origin of its default.
template <class S>
[[nodiscard]] Param<S> from_origin(Param<S> of, const Origin& origin) {
  of.info.source = origin.source;
  of.info.reference = origin.reference;
  of.info.gpu = origin.gpu;
  return of;
}

// A declared group as the profile sees it.
class ParamGroupBase {
 public:
  ParamGroupBase(const ParamGroupBase&) = delete;
  ParamGroupBase& operator=(const ParamGroupBase&) = delete;
  virtual ~ParamGroupBase() = default;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::vector<ParamInfo>& infos() const { return infos_; }

 protected:
  ParamGroupBase(std::string path, std::string description) : path_{std::move(path)}, description_{std::move(description)} {}
  void add(ParamInfo info);  // completes the key; InternalError on a repeated name or a default out of its range

 private:
  std::string path_;
  std::string description_;
  std::vector<ParamInfo> infos_;
};

template <class S>
class ParamGroup final : public ParamGroupBase {
 public:
  ParamGroup(std::string path, std::string description, std::vector<Param<S>> params)
      : ParamGroupBase{std::move(path), std::move(description)}, params_{std::move(params)} {
    for (const Param<S>& p : params_) add(p.info);
  }
  void write(S& s, std::size_t index, const ParamValue& value) const { params_[index].write(s, value); }

 private:
  std::vector<Param<S>> params_;
};

// All groups of a program, from the builtin lists of the layers. They must outlive every profile made from them.
using ParamGroups = std::vector<const ParamGroupBase*>;

struct Provenance {
  ParamSource source = ParamSource::kAssumed;
  std::string reference;    // required for literature
  std::string calibration;  // which of calibrations(); what is fitted or measured has this or a reference
  std::string gpu = {};     // whose value it is; empty: the profile's own GPU's, of a default no GPU's in particular
  bool is_default = false;  // the profile does not name the key
  Location where;           // in the profile's file; empty for defaults
};

// One fit, and what it was made from.
struct Calibration {
  struct Training {
    std::string file;
    std::string digest;      // hex, of the file's bytes
    std::string collective;  // nccl-tests' names, or the kind of measurement; empty: the whole file
    std::int64_t ranks = 0;
    std::vector<Bytes> bytes;  // the points used; empty: all of them
  };
  // How well the training points say what a value is.
  struct Uncertainty {
    std::string parameter;
    double std_error = 0;              // of its logarithm, the other parameters of the fit free
    std::vector<double> correlations;  // with the parameters listed before it
  };
  std::string id;
  std::string date;
  std::string tool;
  std::string machine;
  std::int64_t samples = 1;
  double fit_error = 0;                  // median relative error on the training points
  std::vector<Uncertainty> uncertainty;  // empty: not stated
  std::vector<Training> training;
};

// Error on points no parameter was fitted to.
struct Validation {
  std::string data;
  std::int64_t points = 0;
  double median_error = 0;
  double max_error = 0;
};

class Profile {
 public:
  // Throws ConfigError with every error of the file.
  static Profile load(const std::filesystem::path& file, const ParamGroups& groups);
  static Profile from_node(const ConfigNode& node, const ParamGroups& groups);
  static Profile defaults(const ParamGroups& groups);

  template <class S>
  [[nodiscard]] S get(const ParamGroup<S>& group) const {
    S s{};
    for (std::size_t i = 0; i < group.infos().size(); ++i) group.write(s, i, value(group.infos()[i].key));
    return s;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::string& gpu() const { return gpu_; }  // empty: the file does not say
  [[nodiscard]] const ParamGroups& groups() const { return groups_; }
  [[nodiscard]] bool knows(std::string_view key) const;
  [[nodiscard]] const ParamInfo& info(std::string_view key) const;  // InternalError if unknown, as the next two
  [[nodiscard]] const ParamValue& value(std::string_view key) const;
  [[nodiscard]] const Provenance& provenance(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;                                          // in byte order
  [[nodiscard]] const std::vector<Calibration>& calibrations() const { return calibrations_; }  // in file order
  [[nodiscard]] const std::vector<Validation>& validations() const { return validations_; }

  [[nodiscard]] const std::shared_ptr<const ProductTable>& products() const { return products_; }  // null: none

  // Returns the standard error that a value's calibration states; nothing where there is none, or it does not say.
  [[nodiscard]] std::optional<double> std_error(std::string_view key) const;

  // True if a parameter was fitted on this measured point.
  [[nodiscard]] bool trained_on(std::string_view digest, std::string_view collective, std::int64_t ranks, Bytes bytes) const;

  // "median 0.8 %, max 3 % over 12 points of ping_far.txt", or "not validated".
  [[nodiscard]] std::string stated_error() const;

  // "12 values of its own, 80 of H200, 60 of no GPU in particular"; empty where the file does not say which GPU it is of.
  [[nodiscard]] std::string owners() const;
  // The GPU that a value is of, where it is not the profile's own; empty: it is, or it is no GPU's.
  [[nodiscard]] std::string other_gpu(std::string_view key) const;

  // For `weft calibrate` and `--set`. Unknown keys and values out of range throw ConfigError located at `origin`.
  [[nodiscard]] Profile with_value(std::string_view key, const ParamValue& value, Provenance provenance) const;
  [[nodiscard]] Profile with_value(std::string_view key, std::string_view value_text, const std::string& origin) const;
  [[nodiscard]] Profile with_calibration(Calibration calibration) const;  // replaces one of the same id
  [[nodiscard]] Profile with_validations(std::vector<Validation> validations) const;
  [[nodiscard]] Profile with_products(std::shared_ptr<const ProductTable> products) const;
  [[nodiscard]] Profile with_name(std::string name, std::string description) const;

  // Ready to commit: every value that is not a default, keys in byte order. Products that no file holds stand in it whole.
  [[nodiscard]] std::string to_yaml() const;

 private:
  struct Entry {
    const ParamInfo* info = nullptr;
    ParamValue value;
    Provenance provenance;
  };
  struct Loader;
  [[nodiscard]] const Entry& entry(std::string_view key) const;
  [[nodiscard]] std::string suggestion(std::string_view key) const;  // the note below an unknown key
  explicit Profile(const ParamGroups& groups);

  std::string name_;
  std::string description_;
  std::string gpu_;
  ParamGroups groups_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<Calibration> calibrations_;
  std::vector<Validation> validations_;
  std::shared_ptr<const ProductTable> products_;
};

}  // namespace weft
