// Which calls NCCL has copy engines do (NCCL 2.28 and later), on buffers in symmetric memory.
#pragma once

#include <cstdint>
#include <string>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/release.h"
#include "sim/collectives/nccl/settings.h"

namespace weft::coll::nccl {

inline constexpr NcclVersion kFirstCopyEngines = release(28, 3);
inline constexpr NcclVersion kFirstPut = release(29, 2);  // ncclPutSignal

// A call of ranks that all reach each other over NVLink.
struct EngineCall {
  Collective kind = Collective::kAllGather;
  std::int64_t elements = 0;  // that a rank gives to each other
  int sm = 90;
  bool by_pair = false;  // an all-to-allv
};

// Whether copy engines can do it at all; `why_not` says so where not.
[[nodiscard]] bool copy_engines_can(const EngineCall& call, const Settings& settings, std::string& why_not);
// Whether NCCL picks them.
[[nodiscard]] bool picks_copy_engines(const EngineCall& call, const Settings& settings);

}  // namespace weft::coll::nccl
