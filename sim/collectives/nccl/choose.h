// Which algorithm, protocol and channels a call runs with: the user's own word first, then NCCL's selection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/algorithm.h"
#include "sim/collectives/call.h"
#include "sim/collectives/nccl/registered.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/view.h"

namespace weft::coll::nccl {

using coll::Kernel;

struct Chosen {
  Choice choice;
  Kernel kernel = Kernel::kTextbook;
  std::string reason;              // of NCCL's selection, one line
  std::vector<std::string> notes;  // what was asked for and is not modelled; for a person
};

// NCCL's name (NCCL_ALGO) for the algorithm that a registered one stands for, or that lends it protocol, channels and chunks;
// nothing: a textbook algorithm, or NCCL's sends and receives.
[[nodiscard]] std::string_view nccl_name_of(std::string_view algorithm);
// Whether it runs as a kernel of NCCL's; empty: its choice.
[[nodiscard]] bool is_nccls(std::string_view algorithm);

// `algorithm`: a registered name; empty: NCCL's choice. `channels`: 0: by rule. `view` is null where ranks are no GPUs: then
// NCCL's choice and its ring run as textbook ones. ConfigError where the algorithm does not know the collective, and where NCCL
// would refuse it.
[[nodiscard]] Chosen choose(const CollectiveCall& call, int ranks, const View* view, const std::string& algorithm, int channels,
                            const UserBuffers& buffers = {});

}  // namespace weft::coll::nccl
