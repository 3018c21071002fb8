// NCCL and buffers that the user has registered (ncclCommRegister, nccl-tests -R 1): which algorithms and protocols
// then skip the copy to and from NCCL's own buffers, and with how many channels, by release.
//
//   const RegisteredBuffers of = registration(model, call, Algo::kNvls, Proto::kSimple, 16, {.registered = true});
//   of.in_switch, of.channels                                                   // 8 H100, all-reduce: true, 4
//
// Model: ranks are of a process each, whose buffers come from ncclMemAlloc and lie alike on all ranks.
#pragma once

#include <cstdint>
#include <string>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/tuning.h"

namespace weft::coll::nccl {

inline constexpr NcclVersion kFirstRegistered = release(19, 1);  // ncclCommRegister

// How the user registered the call's buffers.
struct UserBuffers {
  bool registered = false;  // by ncclCommRegister, out of place
  bool in_graph = false;    // and the call is captured in a CUDA graph
};

// For a collective that NCCL tunes, and would run on so many channels.
[[nodiscard]] RegisteredBuffers registration(const TuningModel& model, const CollectiveCall& call, Algo algo, Proto proto,
                                             int channels, const UserBuffers& buffers);
// For sends and receives: all-to-all, send/recv, gather and scatter. `protocol`: theirs.
[[nodiscard]] RegisteredBuffers send_registration(const CommInfo& comm, const Settings& settings, Collective kind,
                                                  Proto protocol, const UserBuffers& buffers);

// Channels of NVLS for registered buffers.
[[nodiscard]] int registered_nvls_channels(const TuningModel& model, Collective kind);
// Whether the policy of few thread blocks (NCCL_CTA_POLICY, EFFICIENCY) runs the call on NVLS in place of NCCL's choice, which
// would have so many channels.
[[nodiscard]] bool takes_nvls_for_few_blocks(const TuningModel& model, Collective kind, int channels,
                                             const UserBuffers& buffers);

// NCCL_CTA_POLICY: 0 or DEFAULT, 1 or EFFICIENCY, 2 or ZERO.
enum class CtaPolicy : std::uint8_t { kDefault, kEfficiency, kZero };
[[nodiscard]] CtaPolicy cta_policy(const Settings& settings);
// Why a policy that is set changes no call of such a release or with such buffers; "" where it may.
[[nodiscard]] std::string idle_policy(const Settings& settings, bool registered, bool symmetric);

}  // namespace weft::coll::nccl
