#include "sim/network/import/hints.h"

#include "sim/core/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::net {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += lower_case(c);
  return lower;
}

// Longer names first: "l40" before "l4".
template <typename Value, std::size_t kCount>
const Value* value_of(const std::pair<std::string_view, Value> (&table)[kCount], std::string_view name) {
  const std::string lower = in_lower_case(name);
  const auto* found = std::ranges::find_if(table, [&](const auto& row) { return lower.starts_with(row.first); });
  return found == std::end(table) ? nullptr : &found->second;
}

struct CpuKind {
  std::string_view name;
  std::string_view arch, vendor, family, model;
};
// The models of NCCL's classes (models/nccl §1.2); within a class it does not matter which one it is.
constexpr CpuKind kCpuKinds[] = {{"broadwell", "x86_64", "GenuineIntel", "6", "79"},
                                 {"skylake", "x86_64", "GenuineIntel", "6", "85"},
                                 {"cascade_lake", "x86_64", "GenuineIntel", "6", "85"},
                                 {"ice_lake", "x86_64", "GenuineIntel", "6", "106"},
                                 {"sapphire_rapids", "x86_64", "GenuineIntel", "6", "143"},
                                 {"emerald_rapids", "x86_64", "GenuineIntel", "6", "207"},
                                 {"amd", "x86_64", "AuthenticAMD", "25", "1"},
                                 {"arm", "arm64", "", "", ""},
                                 {"power", "ppc64", "", "", ""}};

}  // namespace

std::optional<int> compute_capability_of(std::string_view gpu) {
  constexpr std::pair<std::string_view, int> kGpus[] = {
      {"gb300", 103}, {"gb200", 100}, {"b300", 103}, {"b200", 100}, {"b100", 100}, {"gh200", 90}, {"h200", 90},
      {"h100", 90},   {"h800", 90},   {"h20", 90},   {"a100", 80},  {"a800", 80},  {"a40", 86},   {"a10", 86},
      {"l40", 89},    {"l4", 89},     {"v100", 70},  {"t4", 75},    {"p100", 60}};
  const int* found = value_of(kGpus, gpu);
  return found == nullptr ? std::nullopt : std::optional{*found};
}

std::string gcn_of(std::string_view gpu) {
  constexpr std::pair<std::string_view, std::string_view> kGpus[] = {
      {"mi35", "gfx950"},  {"mi32", "gfx942"}, {"mi30", "gfx942"}, {"mi2", "gfx90a"},
      {"mi100", "gfx908"}, {"mi50", "gfx906"}, {"mi60", "gfx906"}};
  const std::string_view* found = value_of(kGpus, gpu);
  return found == nullptr ? std::string{} : std::string{*found};
}

Labels cpu_named(std::string_view name) {
  const std::string lower = in_lower_case(name);
  const CpuKind* found = std::ranges::find(kCpuKinds, std::string_view{lower}, &CpuKind::name);
  if (found == std::end(kCpuKinds)) return {};
  Labels labels{{"arch", std::string{found->arch}}};
  for (const auto& [key, value] :
       {std::pair{"vendor", found->vendor}, std::pair{"familyid", found->family}, std::pair{"modelid", found->model}}) {
    if (!value.empty()) labels.emplace_back(key, value);
  }
  return labels;
}

std::string cpu_names() {
  std::string names;
  for (const CpuKind& kind : kCpuKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

}  // namespace weft::net
