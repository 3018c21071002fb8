// The lists that NCCL_ALGO and NCCL_PROTO take: "ring,tree" allows only these, "^tree" all but these, and
// "allreduce:ring;broadcast:tree" speaks of some collectives only (models/nccl §5.6).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/collectives/call.h"

namespace weft::coll::nccl {

// The collectives that NCCL tunes, in its order: broadcast, reduce, all-gather, reduce-scatter, all-reduce. Nothing for those
// that it runs as send and receive.
constexpr std::size_t kTunedCollectives = 5;
[[nodiscard]] std::optional<std::size_t> tuned_index(Collective kind);
[[nodiscard]] Collective tuned_collective(std::size_t index);

// For each collective and each name: allowed, not allowed, or (nothing) left to NCCL.
using ChoiceList = std::array<std::vector<std::optional<bool>>, kTunedCollectives>;

// ConfigError, with the nearest valid name, at a word that is neither one of `names` nor one of NCCL's collectives. Letter case
// and underscores count for nothing. `variable` is for the message: "NCCL_ALGO".
[[nodiscard]] ChoiceList parse_choice_list(std::string_view variable, std::string_view text,
                                           std::span<const std::string_view> names);

// The lists of the two variables.
[[nodiscard]] ChoiceList parse_algorithms(std::string_view text);
[[nodiscard]] ChoiceList parse_protocols(std::string_view text);

}  // namespace weft::coll::nccl
