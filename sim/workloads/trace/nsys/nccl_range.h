// Reads the NVTX range of a call of NCCL (models/workloads §5.7): its name, and its size and communicator. These come from the
// payload as JSON, or from the text of ATLAHS's tracer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::work::nsys {

struct NcclRange {
  std::string name = {};          // "allreduce", "send", ...
  std::string communicator = {};  // as written; empty: not said
  std::int64_t bytes = -1;        // as NCCL's call counts: of an all-gather what a rank gives, of a reduce-scatter what it gets
  std::int64_t element_size = -1;
  std::int64_t peer = -1;  // rank in the communicator
};

// Nothing for ranges that move no data ("ncclGroupEnd", "ncclCommInitRank", a user's own).
[[nodiscard]] std::optional<NcclRange> parse_nccl_range(std::string_view text, std::string_view payload);

}  // namespace weft::work::nsys
