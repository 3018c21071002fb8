#include "sim/collectives/nccl/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

using namespace literals;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_point_to_point(Collective kind) {
  return kind == Collective::kAllToAll || kind == Collective::kSendRecv || kind == Collective::kGather ||
         kind == Collective::kScatter;
}

}  // namespace

Chosen choose(const CollectiveCall& call, int ranks, int nodes, const ChannelCounts& counts, const Settings& settings,
              const std::string& algorithm, int channels) {
  Chosen chosen;
  Choice& choice = chosen.choice;
  const bool point_to_point = is_point_to_point(call.kind);
  choice.algorithm = point_to_point ? "direct" : "ring";
  choice.protocol = "Simple";
  if (const auto asked = settings.find("ALGO"); asked && !point_to_point && lower(*asked) != "ring") {
    chosen.notes.push_back(fmt::format("NCCL_ALGO={} is not modelled yet: predicted as Ring", *asked));
  }
  if (const auto asked = settings.find("PROTO"); asked && lower(*asked) != "simple") {
    chosen.notes.push_back(fmt::format("NCCL_PROTO={} is not modelled yet: predicted as Simple", *asked));
  }
  for (const std::string& setting : settings.ignored()) chosen.notes.push_back(setting + " is not modelled yet");
  if (!algorithm.empty()) choice.algorithm = lower(algorithm);

  const Registration<Algorithm>* registration = algorithms().find(choice.algorithm);
  if (registration == nullptr)
    throw ConfigError(fmt::format("{}: {}", algorithms().unknown(choice.algorithm), algorithms().note(choice.algorithm)));
  if (!make_algorithm(choice.algorithm)->supports(call.kind)) {
    throw ConfigError(fmt::format("algorithm '{}' does not run {}", choice.algorithm, to_string(call.kind)));
  }

  // NCCL's chunk: four slots of 512 KiB for the rings that synchronise every rank, one slot for chains (nccl-model §4.3).
  const bool chain = call.kind == Collective::kBroadcast || call.kind == Collective::kReduce;
  choice.chunk = chain ? 512_KiB : 2_MiB;
  if (channels > 0) {
    choice.channels = channels;
  } else if (point_to_point || choice.algorithm == "plain_ring") {
    choice.channels = 1;
  } else {
    choice.channels = static_cast<int>(nodes > 1 ? counts.several_nodes : counts.one_node);
    if (const auto most = settings.integer("MAX_NCHANNELS")) choice.channels = std::min(choice.channels, *most);
    if (const auto least = settings.integer("MIN_NCHANNELS")) choice.channels = std::max(choice.channels, *least);
  }
  if (choice.algorithm == "plain_ring" || choice.algorithm == "pairwise") choice.protocol.clear();
  if (ranks == 1) choice.channels = 1;
  return chosen;
}

}  // namespace weft::coll::nccl
