#include "sim/collectives/nccl/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/nccl/choice_list.h"
#include "sim/collectives/nccl/comm_info.h"
#include "sim/collectives/nccl/p2p_plan.h"
#include "sim/collectives/nccl/planner.h"
#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/tuning_tables.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

using namespace literals;

void check_supported(const std::string& algorithm, Collective kind) {
  if (algorithms().find(algorithm) == nullptr)
    throw ConfigError(fmt::format("{}: {}", algorithms().unknown(algorithm), algorithms().note(algorithm)));
  if (!make_algorithm(algorithm)->supports(kind)) {
    throw ConfigError(fmt::format("algorithm '{}' does not run {}", algorithm, to_string(kind)));
  }
}

Chosen textbook(const std::string& algorithm, const CollectiveCall& call, int ranks, int channels) {
  check_supported(algorithm, call.kind);
  Chosen chosen;
  chosen.choice.algorithm = algorithm;
  chosen.choice.channels = ranks == 1 || channels == 0 ? 1 : channels;
  const bool chain = call.kind == Collective::kBroadcast || call.kind == Collective::kReduce;
  chosen.choice.chunk = chain ? 512_KiB : 2_MiB;
  return chosen;
}

std::string_view own_name_of(std::string_view algorithm) {
  for (std::size_t i = 0; i < kAlgos; ++i) {
    if (registered_name(static_cast<Algo>(i)) == algorithm) return to_string(static_cast<Algo>(i));
  }
  return {};
}

// An unknown name is refused later, with its choices.
Kernel kernel_of(std::string_view algorithm) {
  return algorithms().find(algorithm) == nullptr ? Kernel::kTextbook : make_algorithm(algorithm)->kernel();
}

// A kernel that NCCL does not have, and which borrows what NCCL would choose.
bool is_lent(std::string_view algorithm) { return algorithm != "nccl_p2p" && own_name_of(algorithm).empty(); }

// A size that NCCL would send by another protocol than the largest has the largest's chunks, as it has its protocol.
std::vector<TransferCut> cuts_of(const PairSizes& pairs, const View& view, const Choice& largest) {
  std::set<std::int64_t> sizes;
  for (Rank from = 0; from < pairs.ranks(); ++from) {
    for (Rank to = 0; to < pairs.ranks(); ++to) sizes.insert(pairs.bytes(from, to));
  }
  std::vector<TransferCut> cuts;
  for (const std::int64_t bytes : sizes) {
    const P2pTransfer transfer = p2p_transfer(view.info(), Bytes{bytes}, view.settings(), view.info().nodes == 1);
    const int channels = std::min(transfer.channels, largest.channels);
    cuts.push_back({.bytes = bytes,
                    .channels = channels,
                    .part = channels == transfer.channels ? transfer.part : Bytes{},
                    .chunk = transfer.protocol == largest.protocol ? transfer.chunk : largest.chunk});
  }
  return cuts;
}

// One transfer is what every rank sends to each of its peers.
Chosen send_and_receive(const CollectiveCall& call, int ranks, const View& view, int channels, const UserBuffers& buffers) {
  const CallSizes sizes = sizes_of(call, ranks);
  Bytes each = call.kind == Collective::kAllToAll ? Bytes{sizes.input.count() / std::max(ranks, 1)}
                                                  : std::min(sizes.input, sizes.output);
  if (call.pairs != nullptr) each = Bytes{call.pairs->largest()};
  const CommInfo& info = view.info();
  // Chunks are those of the slowest connection: over the network, where there is one.
  const P2pTransfer transfer = p2p_transfer(info, each, view.settings(), info.nodes == 1);
  Chosen chosen;
  chosen.kernel = Kernel::kSendRecv;
  Choice& choice = chosen.choice;
  choice.algorithm = "nccl_p2p";
  choice.protocol = transfer.protocol;
  choice.channels = channels > 0 ? channels : info.p2p_channels;
  choice.channels_per_transfer = std::min(transfer.channels, choice.channels);
  if (choice.channels_per_transfer == transfer.channels) choice.transfer_part = transfer.part;
  choice.chunk = transfer.chunk;
  choice.registration =
      send_registration(info, view.settings(), call.kind, transfer.protocol == "LL" ? Proto::kLl : Proto::kSimple, buffers);
  if (choice.registration.of_network) choice.chunk = kLargestMessage;
  choice.transfer_group = p2p_group_limit(view.settings(), info.version, info.nodes > 1);
  choice.triangular_peers = rule(kTriangularPeers, info.version);
  choice.reverses_rounds = rule(kReversedRounds, info.version);
  if (call.pairs != nullptr && !call.pairs->is_even()) choice.transfer_cuts = cuts_of(*call.pairs, view, choice);
  if (choice.chunk == kLargestMessage) {
    for (TransferCut& cut : choice.transfer_cuts) cut.chunk = kLargestMessage;
  }
  chosen.reason = fmt::format("{}{} per peer in {} part{}", choice.transfer_cuts.empty() ? "" : "up to ", weft::to_string(each),
                              transfer.channels, transfer.channels == 1 ? "" : "s");
  return chosen;
}

// A NIC farther from its GPU than NCCL_NET_GDR_LEVEL allows does not reach the GPU's memory.
std::string staging_note(const View& view) {
  const CommInfo& info = view.info();
  const auto level = system_options(view.settings(), info.version, info.nodes > 1).gdr_level;
  if (info.nodes == 1 || !level || info.ring.type_inter <= *level) return {};
  return fmt::format(
      "NCCL_NET_GDR_LEVEL={}: messages to other nodes pass through host memory; choices and channels heed that, the "
      "copies' time is not modelled",
      *view.settings().find("NET_GDR_LEVEL"));
}

}  // namespace

std::string_view nccl_name_of(std::string_view algorithm) {
  if (const std::string_view name = own_name_of(algorithm); !name.empty()) return name;
  return kernel_of(algorithm) == Kernel::kCollective ? to_string(Algo::kRing) : std::string_view{};
}

bool is_nccls(std::string_view algorithm) {
  const Kernel kernel = algorithm.empty() ? Kernel::kCollective : kernel_of(algorithm);
  return kernel != Kernel::kTextbook && kernel != Kernel::kPeer;
}

Chosen choose(const CollectiveCall& call, int ranks, const View* view, const std::string& algorithm, int channels,
              const UserBuffers& buffers) {
  if (call.bytes > kLargestCall)
    throw ConfigError(
        fmt::format("{} of {}: expected at most {}", to_string(call.kind), to_string(call.bytes), to_string(kLargestCall)));
  if (!is_nccls(algorithm)) {
    Chosen chosen = textbook(algorithm, call, ranks, channels);
    chosen.kernel = kernel_of(algorithm);
    return chosen;
  }
  const bool tuned = tuned_index(call.kind).has_value();
  if (!algorithm.empty()) check_supported(algorithm, call.kind);
  if (view == nullptr) {
    if (!algorithm.empty() && algorithm != "ring")
      throw ConfigError(fmt::format("algorithm '{}' is a kernel of GPUs; the cluster's hosts have none", algorithm));
    Chosen chosen = textbook(tuned ? "ring" : "direct", call, ranks, channels);
    chosen.notes.emplace_back("hosts without GPUs: links alone, no protocol of NCCL");
    return chosen;
  }
  Chosen chosen;
  if (!tuned || kernel_of(algorithm) == Kernel::kSendRecv) {
    chosen = send_and_receive(call, ranks, *view, channels, buffers);
  } else if (ranks == 1) {
    chosen.choice.algorithm = "ring";
    chosen.choice.protocol = "Simple";
    chosen.reason = "one rank: a copy";
  } else {
    const CallSizes sizes = sizes_of(call, ranks);
    const Selection selection = view->model().select(call.kind, sizes.reported, 1, call);
    chosen.choice = plan(view->model(), call, selection, buffers);
    chosen.reason = selection.reason;
  }
  if (!algorithm.empty() && ranks > 1 && is_lent(algorithm)) chosen.choice.algorithm = algorithm;
  chosen.kernel = kernel_of(chosen.choice.algorithm);
  if (std::string note = release_note(view->settings(), view->info().version); !note.empty())
    chosen.notes.push_back(std::move(note));
  for (const std::string& setting : view->settings().ignored()) chosen.notes.push_back(setting + " is not modelled yet");
  if (std::string note = staging_note(*view); !note.empty()) chosen.notes.push_back(std::move(note));
  return chosen;
}

}  // namespace weft::coll::nccl
