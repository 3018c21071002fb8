// Reads MSCCL's XML (models/nccl §9.1): every element, attribute and step type, checked one by one and against each other.
//
// It does not check whether the algorithm is right: that is algorithm.h's, by the verifier. It refuses what MSCCL itself
// refuses or cannot run. That is more than its limits, one connection used by two threadblocks, sends and receives that do not
// pair up, and dependencies that are never told.
#pragma once

#include <string>
#include <string_view>

#include "sim/collectives/msccl/program.h"

namespace weft::coll::msccl {

// Throws ConfigError with every error, each with its line and the path of its element ("algo.gpu[0].tb[1].step[2].type").
// `file` names the text in messages.
[[nodiscard]] Program read_program(std::string_view text, const std::string& file);
[[nodiscard]] Program read_program_file(const std::string& path);

}  // namespace weft::coll::msccl
