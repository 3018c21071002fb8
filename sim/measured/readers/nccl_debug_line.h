// NCCL's own lines ("host:pid:tid [dev] NCCL INFO ...") as they stand in logs of other programs.
//
// NCCL writes whole lines into the same stream, so a line of the program may be cut anywhere: its beginning stands before
// NCCL's message, glued to the host name ("...    -1node7:1614:1614 [0] NCCL INFO ..."), the rest on a later line.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace weft::measured {

struct NcclMessage {
  std::size_t begin = 0;   // where NCCL's text begins in the line; what stands before belongs to the program
  std::string_view host;   // empty: not recognised
  std::string_view level;  // "INFO", "WARN", "TRACE"
  std::string_view text;
};

// Host names help to tell "0node7" (the root column 0, then node7) from a host called "0node7"; names not known yet are split
// by what can stand at the end of a row: a number, or "N/A".
std::optional<NcclMessage> find_nccl_message(std::string_view line, const std::set<std::string, std::less<>>& hosts);

struct EnvSetting {
  std::string_view name;
  std::string_view value;
};

// "NCCL_ALGO set by environment to Ring"; numbers end in a full stop that is not part of the value.
std::optional<EnvSetting> parse_env_message(std::string_view message);

struct TuningChoice {
  std::string_view function;  // "AllReduce"
  Bytes bytes;
  std::string algorithm;
  std::string protocol;
  int first_channel = 0;
  int last_channel = -1;
};

// "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}".
std::optional<TuningChoice> parse_tuning_message(std::string_view message);

}  // namespace weft::measured
