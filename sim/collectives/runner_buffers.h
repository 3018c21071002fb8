// How a runner's call is affected by buffers that are registered with NCCL (nccl-tests -R). Private to runner*.cpp.
#pragma once

#include <string>
#include <string_view>

#include "sim/collectives/nccl/registered.h"
#include "sim/collectives/runner.h"

namespace weft::coll {

inline constexpr std::string_view kNcclSymmetric = "nccl_symmetric";

[[nodiscard]] nccl::UserBuffers user_buffers(const RunOptions& options);
// ConfigError: who runs the calls knows no buffers registered so.
void check_registered(const RunOptions& options, const nccl::Settings& settings);
// Says what -R 1 changes, or that it changes nothing.
[[nodiscard]] std::string registration_note(const Choice& choice);

}  // namespace weft::coll
