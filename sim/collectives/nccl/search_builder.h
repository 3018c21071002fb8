// Lays channels over a System one after another, by depth-first search with a budget of steps: one attempt of NCCL's search
// (search.h), at one speed, one pattern and one set of path classes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/search_residual.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

constexpr std::uint32_t kNoGpu = 0xFFFF'FFFF;

// A channel under construction. GPUs and NICs are numbered as in System::gpus() and System::nets().
struct DraftChannel {
  std::uint32_t net_in = 0;
  std::uint32_t net_out = 0;
  std::vector<std::uint32_t> gpus;
};

// An attempt asks for this, and the best one so far found this.
struct Draft {
  GraphPattern pattern = GraphPattern::kRing;
  int min_channels = 1;
  int max_channels = 1;
  bool collnet = false;
  int cross_nic = 0;
  float bandwidth_intra = 0;
  float bandwidth_inter = 0;
  float latency_inter = 0;
  PathClass type_intra = PathClass::kLoc;
  PathClass type_inter = PathClass::kPix;
  bool same_channels = true;
  int hops = 0;
  int channel_count = 0;
  std::vector<DraftChannel> channels;  // the first `channel_count` count
};

constexpr int kStepsSameChannels = 1 << 8;
constexpr int kSteps = 1 << 14;
constexpr int kStepsInIndexOrder = 1 << 10;
constexpr int kPerfect = -1;  // a budget's value once an attempt has found as many channels as it may

class ChannelBuilder {
 public:
  explicit ChannelBuilder(const System& system);

  // Searches as `attempt` says and replaces `best` by whatever is better. What is left of the budget, or kPerfect.
  int run(Draft& attempt, Draft& best, int budget);

  // NICs in the order in which `gpu` (kNoGpu: any) tries them, those of its own first, then by class up to `limit`.
  [[nodiscard]] const std::vector<std::uint32_t>& nics_for(std::uint32_t gpu, PathClass limit);

 private:
  enum class Order : std::uint8_t { kFree, kIndex, kReplay };
  // Where a channel has to go back to, and at which GPU of its order; -1: nowhere.
  struct Return {
    int to_net = -1;
    int to_first = -1;
  };

  void extend(int& budget);
  void extend_within_node(const Return& back, int& budget);
  void extend_from_nics(const Return& back, int& budget);
  void start_at_nic(std::uint32_t nic, const Return& back, int& budget);
  bool start_head(std::uint32_t nic, std::size_t nic_count, const Return& back, int& budget);
  void start_at_nearest(std::uint32_t nic, const Return& back, int& budget);
  void enter(std::uint32_t from_node, bool anywhere, std::uint32_t gpu, int step, const Return& back, Order order, int& budget);
  void visit(std::uint32_t gpu, int step, const Return& back, Order order, int& budget);
  void complete(int& budget);
  void leave_to_nic(std::uint32_t gpu, int step, const Return& back, Order order, int& budget);
  void reach_through_switch(std::uint32_t head, int& budget);
  void reach_all_peers(std::uint32_t head, int& budget);

  [[nodiscard]] bool may_leave_by(std::uint32_t nic, int step) const;
  [[nodiscard]] bool better() const;
  // Takes `share` of the channel's speed along a path, or gives it back where negative.
  bool follow(NodeIndex from, NodeIndex to, float share);
  [[nodiscard]] int hops(NodeIndex from, NodeIndex to) const;

  enum class Closeness : std::uint8_t { kIgnored, kClosestFirst, kClosestLast };
  [[nodiscard]] std::vector<std::uint32_t> next_gpus(std::uint32_t gpu, Closeness to_nic) const;
  [[nodiscard]] std::vector<std::uint32_t> free_neighbours(std::uint32_t gpu) const;

  [[nodiscard]] DraftChannel& channel() { return attempt_->channels[static_cast<std::size_t>(attempt_->channel_count)]; }
  [[nodiscard]] const DraftChannel& channel(int back = 0) const {
    return attempt_->channels[static_cast<std::size_t>(attempt_->channel_count - back)];
  }
  [[nodiscard]] NodeIndex gpu_node(std::uint32_t gpu) const { return system_.gpus()[gpu]; }
  [[nodiscard]] NodeIndex net_node(std::uint32_t nic) const { return system_.nets()[nic]; }
  [[nodiscard]] int gpu_count() const { return static_cast<int>(system_.gpus().size()); }

  const System& system_;
  bool over_network_;
  Residual residual_;
  std::vector<std::uint64_t> used_;         // by GPU: a bit for every channel that has it
  std::vector<std::uint32_t> nearest_gpu_;  // by NIC: the GPU it serves first, or kNoGpu
  std::vector<int> pci_bandwidth_;          // by GPU
  std::map<std::pair<std::uint32_t, PathClass>, std::vector<std::uint32_t>> nic_orders_;
  Draft* attempt_ = nullptr;
  Draft* best_ = nullptr;
};

}  // namespace weft::coll::nccl
