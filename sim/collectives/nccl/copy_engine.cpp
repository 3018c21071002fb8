#include "sim/collectives/nccl/copy_engine.h"

#include "sim/collectives/nccl/registered.h"

// NCCL's src/ce_coll.cc (ncclCeImplemented, ncclCeAvailable) and src/enqueue.cc (taskAppend), 2.28.3 to 2.30.7.
namespace weft::coll::nccl {
namespace {

// All-gathers on Blackwell, whatever the policy.
constexpr NcclVersion kFirstForLargeGathers = release(29, 2);
constexpr std::int64_t kLargeGather = std::int64_t{8} << 20;  // NCCL_SYM_CE_THRESHOLD, in elements
constexpr int kBlackwellSm = 100;

}  // namespace

bool copy_engines_can(const EngineCall& call, const Settings& settings, std::string& why_not) {
  const bool is_one = call.kind == Collective::kAllGather || call.kind == Collective::kAllToAll ||
                      call.kind == Collective::kGather || call.kind == Collective::kScatter;
  if (settings.version() < kFirstCopyEngines) {
    why_not = "NCCL before 2.28 has no copy-engine collectives";
  } else if (!is_one || call.by_pair) {
    why_not = "NCCL's copy engines do all_gather, alltoall, gather and scatter of equal sizes";
  } else {
    return true;
  }
  return false;
}

bool picks_copy_engines(const EngineCall& call, const Settings& settings) {
  std::string why_not;
  if (!copy_engines_can(call, settings, why_not)) return false;
  if (cta_policy(settings) == CtaPolicy::kZero) return true;
  const std::int64_t least = settings.raw_integer("SYM_CE_THRESHOLD").value_or(kLargeGather);
  return call.kind == Collective::kAllGather && call.sm >= kBlackwellSm && settings.version() >= kFirstForLargeGathers &&
         call.elements > least;
}

}  // namespace weft::coll::nccl
