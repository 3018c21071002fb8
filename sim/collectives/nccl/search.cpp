#include "sim/collectives/nccl/search.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/search_builder.h"
#include "sim/collectives/nccl/search_speeds.h"

namespace weft::coll::nccl {
namespace {

constexpr int kMaxNvlsHeads = 32;
constexpr int kMaxCollNetHeads = 8;

// The classes between which GPUs (or a GPU and its NICs) reach each other.
struct Classes {
  PathClass least = PathClass::kSys;
  PathClass most = PathClass::kLoc;
};
Classes classes(const System& system, std::span<const NodeIndex> targets) {
  Classes found;
  for (const NodeIndex gpu : system.gpus()) {
    for (const NodeIndex to : targets) {
      if (to == gpu) continue;
      found.least = std::min(found.least, system.path(gpu, to).type);
      found.most = std::max(found.most, system.path(gpu, to).type);
    }
  }
  return found;
}

// Two groups of GPUs, each joined by NVLink and both by something slower. Trees do better there, and need two channels.
bool has_two_nvlink_islands(const System& system) {
  const auto gpus = system.gpus();
  std::vector<std::size_t> island(gpus.size());
  for (std::size_t g = 0; g < gpus.size(); ++g) island[g] = g;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    for (std::size_t p = g + 1; p < gpus.size(); ++p) {
      if (system.path(gpus[g], gpus[p]).type == PathClass::kNvl) island[p] = island[g];
    }
  }
  int islands = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) islands += std::ranges::count(island, i) > 1 ? 1 : 0;
  return islands == 2;
}

// The relaxations of one search, in NCCL's order (models/nccl §2.3).
class Search {
 public:
  Search(const System& system, const GraphRequest& request);
  Graph run();

 private:
  // Searches as attempt_ says. True: nothing better can be found.
  bool perfect();
  bool relax();             // changes attempt_ to the next thing to try; false: all has been tried
  bool faster(int budget);  // the same for higher speeds over the channels found
  void duplicate();
  void fall_back();
  [[nodiscard]] Graph result() const;
  [[nodiscard]] PathClass next(PathClass type) const;
  [[nodiscard]] bool since(NcclVersion first) const { return system_.options().version >= first; }

  const System& system_;
  GraphRequest request_;
  ChannelBuilder builder_;
  bool over_network_;
  bool crosses_amd_sockets_ = false;
  bool try_same_channels_ = true;
  int sm_ = 0;
  int cross_nic_ = 0;
  Classes intra_;
  Classes inter_;
  std::span<const float> speeds_;
  std::size_t speed_ = 0;
  std::int64_t steps_left_ = 0;
  int budget_ = 0;
  Draft attempt_;
  Draft best_;
};

Search::Search(const System& system, const GraphRequest& request)
    : system_{system}, request_{request}, builder_{system}, over_network_{system.options().several_nodes} {
  sm_ = system.node(system.gpus().front()).sm;
  for (const NodeIndex gpu : system.gpus()) sm_ = std::min(sm_, system.node(gpu).sm);
  const net::CpuClass& cpu = system.node(system.of_type(NodeType::kCpu).front()).cpu;
  crosses_amd_sockets_ = cpu.arch == net::CpuArch::kX86 && cpu.vendor == net::CpuVendor::kAmd;
  try_same_channels_ = request.pattern != GraphPattern::kNvls;
  speeds_ = search_speeds(sm_, over_network_, system.options().version);
  steps_left_ = rule(kSearchSteps, system.options().version);

  const auto gpu_count = static_cast<int>(system.gpus().size());
  // Once a communicator of one node forgot its NICs.
  const bool has_choice = system.nets().size() > 1 && (over_network_ || since(kFirstThatKeepsNics));
  const bool may_cross = request.pattern == GraphPattern::kRing || request.pattern == GraphPattern::kBalancedTree ||
                         request.pattern == GraphPattern::kSplitTree;
  cross_nic_ = has_choice && may_cross ? request.cross_nic : 0;

  if (since(kFirstByPresentClasses)) {
    intra_ = {PathClass::kLoc, PathClass::kSys};
    inter_ = {PathClass::kPix, PathClass::kSys};
    if (gpu_count > 1) intra_ = classes(system, system.gpus());
    if (over_network_) {
      inter_ = classes(system, system.nets());
      intra_.most = inter_.most;
    }
    // Before Hopper a balanced tree may have to come back through the sockets.
    if (since(kFirstThroughAnySocket) && sm_ < 90) inter_.most = PathClass::kSys;
  } else {
    intra_ = {gpu_count == 1 ? PathClass::kLoc : PathClass::kNvl, PathClass::kSys};
    inter_ = {PathClass::kPix, PathClass::kSys};
  }

  if (request_.pattern == GraphPattern::kNvls) {
    request_.max_channels = std::min(kMaxNvlsHeads, gpu_count);
    if (!over_network_) request_.min_channels = request_.max_channels;
  }
  if (request_.pattern == GraphPattern::kCollNetDirect) {
    request_.max_channels = std::min(kMaxCollNetHeads, gpu_count);
  }
  if (gpu_count == 1 && request_.pattern != GraphPattern::kRing) request_.pattern = GraphPattern::kTree;
  if (since(kFirstToSeeIslands) && request_.pattern == GraphPattern::kRing && request_.min_channels == 1 &&
      request_.max_channels >= 2 && has_two_nvlink_islands(system)) {
    request_.min_channels = 2;
  }

  best_ = {.pattern = request_.pattern,
           .min_channels = request_.min_channels,
           .max_channels = request_.max_channels,
           .collnet = request_.collnet,
           .cross_nic = cross_nic_ == 1 ? 1 : 0,
           .type_intra = intra_.least,
           .type_inter = inter_.least,
           .same_channels = try_same_channels_,
           .channels = {}};
  attempt_ = best_;
}

Graph Search::run() {
  if (request_.kind == GraphKind::kNvls && (system_.of_type(NodeType::kNvs).empty() || sm_ < 90)) return result();
  // Only rings come back to where they began: the others leave one GPU's link free.
  float total = system_.total_bandwidth();
  const auto gpu_count = static_cast<double>(system_.gpus().size());
  if (gpu_count > 1 && request_.pattern != GraphPattern::kRing) {
    total = static_cast<float>(static_cast<double>(total) * (gpu_count * 1.0 / (gpu_count - 1)));
  }
  const auto too_fast = [&](float speed) {
    return speed > system_.max_bandwidth() || speed * static_cast<float>(request_.min_channels) > total;
  };
  while (speed_ + 1 < speeds_.size() && too_fast(speeds_[speed_])) ++speed_;
  attempt_.bandwidth_intra = attempt_.bandwidth_inter = speeds_[speed_];
  while (!perfect() && relax()) {
  }

  if (since(kFirstToDuplicateEarly)) duplicate();
  attempt_ = best_;
  attempt_.min_channels = best_.channel_count;
  speed_ = 0;
  while (speed_ + 1 < speeds_.size() && speeds_[speed_] > best_.bandwidth_inter) ++speed_;
  attempt_.bandwidth_intra = attempt_.bandwidth_inter = speeds_[speed_];
  int budget = kPerfect;
  while (faster(budget)) {
    perfect();
    budget = budget_;
  }
  if (!since(kFirstToDuplicateEarly)) duplicate();
  fall_back();
  return result();
}

bool Search::perfect() {
  const int steps = attempt_.same_channels ? kStepsSameChannels : kSteps;
  steps_left_ -= steps;
  budget_ = builder_.run(attempt_, best_, steps);
  return budget_ == kPerfect || static_cast<float>(best_.channel_count) * best_.bandwidth_inter >= system_.total_bandwidth();
}

PathClass Search::next(PathClass type) const {
  auto value = static_cast<int>(type) + 1;
  // Classes that older versions do not know.
  const auto unknown = [&](PathClass known, NcclVersion first) {
    return static_cast<PathClass>(value) == known && !since(first);
  };
  if (unknown(PathClass::kC2c, kFirstWithC2cClass) || unknown(PathClass::kP2c, kFirstWithP2cClass)) ++value;
  return static_cast<PathClass>(value);
}

bool Search::relax() {
  const bool keeps_order = crosses_amd_sockets_ && attempt_.type_intra == PathClass::kSys && since(kFirstToSkipForAmdSockets);
  if (attempt_.same_channels && !keeps_order) {
    attempt_.same_channels = false;
    return true;
  }
  attempt_.same_channels = try_same_channels_;

  const bool found = best_.channel_count > 0;
  steps_left_ += budget_;
  if (steps_left_ < 0 && found) return false;

  if (sm_ >= 90 && attempt_.pattern == GraphPattern::kBalancedTree) {
    attempt_.pattern = GraphPattern::kTree;
    return true;
  }
  attempt_.pattern = best_.pattern;

  const PathClass most_intra = over_network_ ? attempt_.type_inter : intra_.most;
  if (attempt_.type_intra < most_intra && (!found || attempt_.type_intra < best_.type_intra)) {
    attempt_.type_intra = next(attempt_.type_intra);
    if (attempt_.type_intra < PathClass::kDis) return true;
  }
  attempt_.type_intra = intra_.least;

  if (over_network_ && attempt_.type_inter < inter_.most &&
      (!found || attempt_.type_inter < best_.type_inter || attempt_.type_inter < PathClass::kPxn)) {
    attempt_.type_inter = next(attempt_.type_inter);
    if (attempt_.type_inter < PathClass::kDis) return true;
  }
  attempt_.type_inter = inter_.least;

  if (cross_nic_ == 2 && attempt_.cross_nic == 0 &&
      (best_.pattern == GraphPattern::kRing || best_.pattern == GraphPattern::kBalancedTree)) {
    attempt_.cross_nic = rule(kCrossing, system_.options().version);
    return true;
  }
  attempt_.cross_nic = cross_nic_ == 1 ? 1 : 0;

  if (speed_ + 1 < speeds_.size() && (!found || static_cast<double>(speeds_[speed_ + 1] / best_.bandwidth_inter) > .49)) {
    ++speed_;
    attempt_.bandwidth_intra = attempt_.bandwidth_inter = speeds_[speed_];
    return true;
  }
  return false;
}

bool Search::faster(int budget) {
  if (budget == 0 || speed_ == 0) return false;
  if (best_.pattern == GraphPattern::kRing) {
    if (!since(kFirstToDuplicateEarly)) return false;
    --speed_;
    attempt_.bandwidth_intra = attempt_.bandwidth_inter = speeds_[speed_];
    return true;
  }
  if (best_.pattern == GraphPattern::kNvls && !since(kFirstWithNvlsSpeeds)) return false;
  if (best_.pattern == GraphPattern::kNvls && attempt_.bandwidth_inter == best_.bandwidth_inter &&
      attempt_.bandwidth_inter < attempt_.bandwidth_intra * 2) {
    attempt_.min_channels = attempt_.max_channels = best_.channel_count;
    --speed_;
    attempt_.bandwidth_inter = speeds_[speed_];
    return true;
  }
  if (attempt_.bandwidth_intra == best_.bandwidth_intra && attempt_.bandwidth_intra < attempt_.bandwidth_inter * 2) {
    --speed_;
    attempt_.bandwidth_intra = speeds_[speed_];
    return true;
  }
  return false;
}

// A channel that one block of threads cannot fill is split in two (models/nccl §2.3b).
void Search::duplicate() {
  if (best_.channel_count == 0 || best_.pattern == GraphPattern::kNvls || best_.bandwidth_intra < 25) return;
  if (sm_ > 80 && best_.bandwidth_intra < 50 && best_.channel_count > 4) return;
  const int count = std::min(best_.channel_count * 2, best_.max_channels);
  best_.channels.resize(static_cast<std::size_t>(std::max(count, best_.channel_count)));
  for (int c = best_.channel_count; c < count; ++c) {
    best_.channels[static_cast<std::size_t>(c)] = best_.channels[static_cast<std::size_t>(c - best_.channel_count)];
  }
  const int copies = (count + best_.channel_count - 1) / best_.channel_count;
  const auto factor = static_cast<float>(copies);
  best_.bandwidth_intra /= factor;
  best_.bandwidth_inter /= factor;
  best_.channel_count = count;
}

// Nothing fits: all GPUs in index order, at a speed that makes the algorithm lose.
void Search::fall_back() {
  if (best_.channel_count > 0 || request_.collnet || request_.pattern == GraphPattern::kNvls) return;
  DraftChannel only;
  for (std::uint32_t g = 0; g < system_.gpus().size(); ++g) only.gpus.push_back(g);
  best_.bandwidth_intra = 0.1F;
  best_.type_intra = PathClass::kSys;
  const bool reachable = !over_network_ || !system_.nets().empty();
  best_.bandwidth_inter = reachable ? 0.1F : 0.0F;
  best_.type_inter = reachable ? PathClass::kSys : PathClass::kDis;
  if (over_network_ && reachable) {
    only.net_in = builder_.nics_for(0, PathClass::kLoc).front();
    only.net_out = builder_.nics_for(only.gpus.back(), PathClass::kLoc).front();
  }
  best_.channels.assign(1, only);
  best_.channel_count = 1;
}

Graph Search::result() const {
  Graph graph{.kind = request_.kind,
              .pattern = best_.pattern,
              .cross_nic = best_.cross_nic,
              .bandwidth_intra = best_.bandwidth_intra,
              .bandwidth_inter = best_.bandwidth_inter,
              .latency_inter = best_.latency_inter,
              .type_intra = best_.type_intra,
              .type_inter = best_.type_inter,
              .same_channels = best_.same_channels,
              .channels = {}};
  for (int c = 0; c < best_.channel_count; ++c) {
    const DraftChannel& draft = best_.channels[static_cast<std::size_t>(c)];
    GraphChannel channel;
    if (over_network_ && draft.net_in < system_.nets().size()) {
      channel.net_in = net_id(system_.node(system_.nets()[draft.net_in]));
      channel.net_out = net_id(system_.node(system_.nets()[draft.net_out]));
    }
    const std::size_t length = best_.pattern == GraphPattern::kNvls ? 1 : draft.gpus.size();
    for (std::size_t i = 0; i < length; ++i) channel.gpus.push_back(system_.node(system_.gpus()[draft.gpus[i]]).rank);
    graph.channels.push_back(std::move(channel));
  }
  return graph;
}

}  // namespace

int max_channels(NcclVersion version) { return rule(kMaxChannels, version); }

GraphRequest ring_request(NcclVersion version) { return {.max_channels = max_channels(version) / 2}; }

GraphRequest tree_request(const Graph& ring) {
  return {.kind = GraphKind::kTree,
          .pattern = GraphPattern::kBalancedTree,
          .min_channels = ring.channel_count(),
          .max_channels = ring.channel_count()};
}

GraphRequest collnet_chain_request(const Graph& ring) {
  return {.kind = GraphKind::kCollNetChain,
          .pattern = GraphPattern::kTree,
          .min_channels = ring.channel_count(),
          .max_channels = ring.channel_count(),
          .collnet = true};
}

GraphRequest collnet_direct_request(NcclVersion version) {
  return {.kind = GraphKind::kCollNetDirect,
          .pattern = GraphPattern::kCollNetDirect,
          .max_channels = max_channels(version),
          .collnet = true};
}

GraphRequest nvls_request(NcclVersion version) {
  return {.kind = GraphKind::kNvls, .pattern = GraphPattern::kNvls, .max_channels = max_channels(version)};
}

Graph search(const System& system, const GraphRequest& request) { return Search{system, request}.run(); }

}  // namespace weft::coll::nccl
