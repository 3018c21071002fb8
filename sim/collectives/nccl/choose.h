// Which algorithm, protocol and channels a call runs with: the user's own word first, then NCCL's selection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/view.h"

namespace weft::coll::nccl {

// Who runs a call, and so what its steps cost.
enum class Kernel : std::uint8_t {
  kTextbook,  // the network alone: no launch, no protocol, no thread block
  kCollective,
  kInSwitch,  // NVLS, CollNet
  kSendRecv,
};

struct Chosen {
  Choice choice;
  Kernel kernel = Kernel::kTextbook;
  std::string reason;              // of NCCL's selection, one line
  std::vector<std::string> notes;  // what was asked for and is not modelled; for a person
};

// The registered algorithms that stand for one of NCCL's (NCCL_ALGO): "ring", "tree", ... The name NCCL has for it, or nothing.
[[nodiscard]] std::string_view nccl_name_of(std::string_view algorithm);
// One of these, NCCL's sends and receives, or empty: its choice. All others are textbook algorithms.
[[nodiscard]] bool is_nccls(std::string_view algorithm);

// `algorithm` (a registered name; empty: NCCL's choice) runs as a textbook algorithm unless it is one of NCCL's. `channels`: 0:
// by rule. `view` is null where ranks are no GPUs: then a ring runs as a textbook one. ConfigError where the algorithm does not
// know the collective, and where NCCL would refuse it.
[[nodiscard]] Chosen choose(const CollectiveCall& call, int ranks, const View* view, const std::string& algorithm,
                            int channels);

}  // namespace weft::coll::nccl
