// NCCL's kernels for buffers in symmetric memory (ncclCommWindowRegister, nccl-tests -R 2): the one that it picks, on how many
// blocks, by its own estimate of times.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/release.h"

namespace weft::coll::nccl {

inline constexpr NcclVersion kFirstSymmetric = release(27, 3);

struct SymmetricCall {
  Collective kind = Collective::kAllReduce;
  std::int64_t bytes = 0;  // all-reduce: of the vector; all-gather, reduce-scatter: of one rank's block
  int ranks = 2;
  int sm = 90;
  bool multicasts = false;  // the NVLink switch copies
  bool adds_up = false;     // and adds up numbers of this kind
  bool is_summed = true;    // a sum of floating-point numbers
};

// A kernel on as many blocks as NCCL gives it.
struct SymmetricKernel {
  std::string_view name;  // as NCCL_SYM_KERNEL has it behind the collective's
  bool low_latency = false;
  bool in_switch = false;
  int blocks = 1;
  double start_us = 0;       // of a call without data, in NCCL's estimate
  double bytes = 0;          // that the kernel moves, by NCCL's count
  double on_links = 0;       // bytes of them that cross a GPU's NVLinks: LL has twice the data there, not nine times
  double blocks_per_us = 0;  // bytes that its blocks move in a microsecond

  // How long it moves them, beside `start_us`, where the NVLinks give no more than this rate; 0: any.
  [[nodiscard]] double moving_us(double bytes_per_us) const;
};

// Nothing: NCCL has no such kernel for the call.
[[nodiscard]] std::optional<SymmetricKernel> symmetric_kernel(const SymmetricCall& call);
// The kernel of this name, as if it had been picked for the call.
[[nodiscard]] std::optional<SymmetricKernel> symmetric_kernel(const SymmetricCall& call, std::string_view name);

}  // namespace weft::coll::nccl
