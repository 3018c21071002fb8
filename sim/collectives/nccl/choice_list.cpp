#include "sim/collectives/nccl/choice_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/collectives/nccl/tuning_tables.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"

namespace weft::coll::nccl {
namespace {

constexpr std::array<Collective, kTunedCollectives> kTuned = {
    Collective::kBroadcast, Collective::kReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce};
constexpr std::array<std::string_view, kTunedCollectives> kCollectiveNames = {"Broadcast", "Reduce", "AllGather",
                                                                              "ReduceScatter", "AllReduce"};

std::size_t find(std::string_view word, std::span<const std::string_view> names) {
  const auto found = std::ranges::find_if(names, [&](std::string_view name) { return folded_name(name) == folded_name(word); });
  return static_cast<std::size_t>(found - names.begin());
}

[[noreturn]] void refuse(std::string_view variable, std::string_view text, std::string_view what, std::string_view word,
                         std::span<const std::string_view> names) {
  const std::vector<std::string> candidates{names.begin(), names.end()};
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("{}={}: '{}' is no {}", variable, text, word, what),
                                .source_line = {},
                                .length = 1,
                                .note = did_you_mean(word, candidates, "valid names")}});
}

// NCCL's own splitting: empty fields are skipped.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) fields.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fields;
}

}  // namespace

std::optional<std::size_t> tuned_index(Collective kind) {
  const auto found = std::ranges::find(kTuned, kind);
  if (found == kTuned.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kTuned.begin());
}

Collective tuned_collective(std::size_t index) { return kTuned[index]; }

ChoiceList parse_choice_list(std::string_view variable, std::string_view text, std::span<const std::string_view> names) {
  ChoiceList list;
  list.fill(std::vector<std::optional<bool>>(names.size()));
  for (const std::string_view part : split(text, ';')) {
    const std::size_t colon = part.find(':');
    std::string_view words = colon == std::string_view::npos ? part : part.substr(colon + 1);
    std::size_t first = 0;
    std::size_t last = kTunedCollectives;
    if (colon != std::string_view::npos) {
      first = find(part.substr(0, colon), kCollectiveNames);
      if (first == kTunedCollectives)
        refuse(variable, text, "collective that NCCL tunes", part.substr(0, colon), kCollectiveNames);
      last = first + 1;
    }
    const bool excluding = words.starts_with('^');
    if (excluding) words.remove_prefix(1);
    const std::vector<std::string_view> fields = split(words, ',');
    if (fields.empty()) {
      refuse(variable, text, variable == "NCCL_PROTO" ? "protocol" : "algorithm", words, names);
    }
    for (std::size_t c = first; c < last; ++c) std::ranges::fill(list[c], excluding);
    for (const std::string_view word : fields) {
      const std::size_t index = find(word, names);
      if (index == names.size()) refuse(variable, text, variable == "NCCL_PROTO" ? "protocol" : "algorithm", word, names);
      for (std::size_t c = first; c < last; ++c) list[c][index] = !excluding;
    }
  }
  return list;
}

ChoiceList parse_algorithms(std::string_view text) { return parse_choice_list("NCCL_ALGO", text, algo_names()); }
ChoiceList parse_protocols(std::string_view text) { return parse_choice_list("NCCL_PROTO", text, proto_names()); }

}  // namespace weft::coll::nccl
