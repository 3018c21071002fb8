// The requests of a workload: drawn from distributions with named random streams, or read from a trace.
//
//   arrival_s,prompt,output             titles in any order, or none; empty lines and comments are let pass
//   0.000,1024,128
//   0.250,512,256
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/workloads/inference/inference.h"

namespace weft::work {

// In order of arrival, the turns of a session one after another. Arrivals that depend on the run, of a closed loop and of later
// turns, are those of nobody who waits.
[[nodiscard]] std::vector<Request> make_requests(const RequestSpec& spec, std::uint64_t seed);

// In order of arrival, which the file's need not be. Errors, each at its line and column, go to `diagnostics`.
[[nodiscard]] std::vector<Request> read_request_trace(const std::filesystem::path& file, Diagnostics& diagnostics);

inline constexpr std::int64_t kMaxRequests = 10'000'000;
inline constexpr std::int64_t kMaxTurns = 10'000;
inline constexpr std::int64_t kMaxTokens = 10'000'000;  // of a prompt or an answer

}  // namespace weft::work
