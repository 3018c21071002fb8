#include "sim/network/import/hints.h"

#include "sim/core/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::net {
namespace {

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

Labels cpu_named(std::string_view name) {
  const std::string lower = lower_case(name);
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
