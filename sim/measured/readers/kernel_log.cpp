#include "sim/measured/readers/kernel_log.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "sim/core/config/nearest.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/used_files.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/text_lines.h"
#include "sim/workloads/trace/shallow_json.h"

namespace weft::measured {
namespace {

using detail::Json;

constexpr double kMaxNumber = 1e18;
constexpr double kMaxDimension = 1e7;  // products of four fit

// One line: every member is read or refused.
class LineObject {
 public:
  // Braces would make an array of it.
  LineObject(Json object, const std::string& file, int line) : object_(std::move(object)), file_{file}, line_{line} {}

  [[noreturn]] void fail(std::string message, std::string note = {}) const {
    throw ConfigError(
        {{.where = {file_, line_, 1}, .message = std::move(message), .source_line = {}, .length = 1, .note = std::move(note)}});
  }

  std::optional<double> number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    const double read = value->is_number() ? value->get<double>() : -1;
    if (!(read >= 0 && read <= kMaxNumber)) fail(fmt::format("{}: expected a number from 0, got {}", key, value->dump()));
    return read;
  }
  double required(const char* key) {
    const auto value = number(key);
    if (!value) fail(fmt::format("{}: missing", key));
    return *value;
  }
  std::int64_t whole(const char* key, std::int64_t otherwise) {
    const auto value = number(key);
    if (!value) return otherwise;
    if (*value != std::floor(*value) || *value > kMaxDimension)
      fail(fmt::format("{}: expected a whole number of at most {:.0f}, got {}", key, kMaxDimension, *value));
    return static_cast<std::int64_t>(*value);
  }
  bool flag(const char* key, bool otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(fmt::format("{}: expected true or false, got {}", key, value->dump()));
    return value->get<bool>();
  }
  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_string()) fail(fmt::format("{}: expected a name", key));
    return value->get<std::string>();
  }

  void finish() const {
    const std::vector<std::string> known{read_.begin(), read_.end()};
    for (const auto& [key, value] : object_.items()) {
      if (!read_.contains(key)) fail(fmt::format("unknown key '{}'", key), did_you_mean(key, known, "keys here"));
    }
  }

 private:
  const Json* find(const char* key) {
    read_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  Json object_;
  const std::string& file_;
  int line_;
  std::set<std::string> read_;
};

template <class E>
E named(LineObject& line, const char* key, int count) {
  const std::string name = line.text(key);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    if (to_string(static_cast<E>(i)) == name) return static_cast<E>(i);
    names.emplace_back(to_string(static_cast<E>(i)));
  }
  line.fail(fmt::format("{}: nothing is known of '{}'", key, name), did_you_mean(name, names, "choices"));
}

constexpr int kKernelKinds = static_cast<int>(work::KernelKind::kMemset) + 1;
constexpr int kStridedKinds = static_cast<int>(work::StridedKind::kGeluBackward) + 1;

KernelRow kernel_row(LineObject& line) {
  KernelRow row;
  work::Kernel& kernel = row.kernel;
  kernel.kind = named<work::KernelKind>(line, "kind", kKernelKinds);
  if (kernel.kind == work::KernelKind::kStrided) {
    kernel.strided = named<work::StridedKind>(line, "strided", kStridedKinds);
  }
  kernel.m = line.whole("m", 0);
  kernel.n = line.whole("n", 0);
  kernel.k = line.whole("k", 0);
  kernel.batch = line.whole("batch", 1);
  kernel.causal = line.flag("causal", true);
  kernel.window = line.whole("window", 0);
  kernel.value_dim = line.whole("value_dim", 0);
  kernel.weight_gradient = line.flag("weight_gradient", false);
  kernel.mostly_zero = line.flag("mostly_zero", false);
  kernel.elements = line.number("elements").value_or(0);
  kernel.bytes = line.number("bytes").value_or(0);
  const bool by_shape =
      work::class_of(kernel.kind) == work::KernelClass::kGemm || work::class_of(kernel.kind) == work::KernelClass::kAttention;
  const bool has_shape = kernel.m > 0 && kernel.n > 0 && kernel.k > 0 && kernel.batch > 0;
  if (by_shape ? !has_shape : kernel.elements + kernel.bytes <= 0) {
    line.fail(by_shape ? "expected m, n and k from 1" : "expected elements or bytes");
  }
  row.us = line.number("us");
  row.beside_us = line.number("beside_us");
  row.sustained_us = line.number("sustained_us");
  row.beside_ctas = static_cast<int>(line.whole("beside_ctas", 24));
  for (const char* note : {"median_us", "count", "beside_count"}) static_cast<void>(line.number(note));
  static_cast<void>(line.flag("static", false));
  return row;
}

void read_line(LineObject& line, KernelLog& log) {
  const std::string kind = line.text("kind");
  if (kind == "gap") {
    log.gaps_us.push_back(line.required("us"));
    static_cast<void>(line.number("count"));
  } else if (kind == "clock") {
    log.clocks.push_back({.compute_share = line.required("compute_share"),
                          .overlap_share = line.required("overlap_share"),
                          .slowdown = line.required("slowdown")});
  } else {
    log.kernels.push_back(kernel_row(line));
  }
  line.finish();
}

}  // namespace

bool is_kernel_log(const std::string& path) {
  if (!path.ends_with(".jsonl")) return false;
  std::ifstream file = open_input(path);
  std::string head(64, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find("\"weft_measurements\"") == std::string::npos;
}

KernelLog read_kernel_log(std::istream& input, const std::string& file) {
  KernelLog log;
  log.file = file;
  Digest digest;
  LineReader lines{input, file};
  while (lines.next()) {
    if (lines.text().empty()) continue;
    digest.add(lines.text());
    const Json object = work::shallow_json(lines.text());
    LineObject line{object, file, lines.number()};
    if (!object.is_object()) line.fail("expected a JSON object");
    if (log.gpu.empty()) {
      if (line.whole("weft_kernels", 0) != 1) line.fail("expected {\"weft_kernels\": 1, \"gpu\": ...} as the first line");
      log.gpu = line.text("gpu");
      log.machine = line.text("machine");
      line.finish();
      continue;
    }
    read_line(line, log);
    if (!log.kernels.empty() && log.kernels.back().line == 0) log.kernels.back().line = lines.number();
  }
  if (log.gpu.empty()) LineObject{Json::object(), file, 0}.fail("no kernels: the file is empty");
  log.digest = digest.hex();
  return log;
}

KernelLog read_kernel_log(const std::string& path) {
  std::ifstream file = open_input(path);
  if (!file)
    throw ConfigError({{.where = {path, 0, 0}, .message = "cannot be read", .source_line = {}, .length = 1, .note = {}}});
  return read_kernel_log(file, path);
}

}  // namespace weft::measured
