#include "sim/collectives/expert_schedule.h"

#include <algorithm>
#include <cmath>

#include "sim/collectives/algorithms/steps.h"

namespace weft::coll {
namespace {

constexpr std::int64_t kChunksBetweenNodes = 16;
constexpr std::uint8_t kHandedConnection = 1;
constexpr double kAtOnce = 1e6;  // share of a lane whose SMs only tell a NIC what to send

}  // namespace

ExpertSchedule::ExpertSchedule(const Communicator& communicator, const ExpertBytes& bytes)
    : layout_{NodeLayout::by_rank(communicator)},
      bytes_{bytes},
      n_{communicator.ranks()},
      nodes_{layout_.nodes()},
      size_{layout_.size(0)},
      chunks_{far_nodes() > 0 ? kChunksBetweenNodes : 1},
      near_(static_cast<std::size_t>(n_)) {
  for (Rank rank = 0; rank < n_; ++rank) {
    for (int peer = 1; peer < size_; ++peer) near_[static_cast<std::size_t>(rank)].push_back(near_peer(rank, peer));
  }
}

Rank ExpertSchedule::near_peer(Rank rank, int peer) const {
  return layout_.rank_at(layout_.node(rank), (layout_.local(rank) + peer) % size_);
}

// Messages come in in the turn in which they go out: the k-th far peer that a rank sends to has it as the k-th that it receives
// from.
Rank ExpertSchedule::far_peer(Rank rank, int peer, bool sends) const {
  const int away = bytes_.direct ? peer / size_ : peer;
  const int turn = bytes_.direct ? peer % size_ : 0;
  const int node = (layout_.node(rank) + (sends ? away + 1 : nodes_ - away - 1)) % nodes_;
  return layout_.rank_at(node, (layout_.local(rank) + (sends ? turn : size_ - turn)) % size_);
}

Bytes ExpertSchedule::chunk(std::int64_t bytes, std::int64_t index) const {
  return Bytes{bytes * (index + 1) / chunks_ - bytes * index / chunks_};
}

// To near ranks, handed on to them, to far ones; taken in from near ranks at once, likewise what they hand on, from each far
// one.
ExpertSchedule::Lane ExpertSchedule::lane_of(int lane) const {
  if (lane < size_ - 1) return {Kind::kNear, lane + 1};
  lane -= size_ - 1;
  if (lane < handed_lanes()) return {Kind::kHanded, lane + 1};
  lane -= handed_lanes();
  if (lane < far_peers()) return {Kind::kFar, lane};
  lane -= far_peers();
  if (lane == 0) return {Kind::kTakeNear};
  if (lane == 1) return {Kind::kTakeHanded};
  return {Kind::kTakeFar, lane - 2};
}

double ExpertSchedule::load(Rank rank, const Lane& lane) const {
  if (bytes_.ranks.empty()) return 1.0;
  const bool sends = lane.kind == Kind::kNear || lane.kind == Kind::kHanded || lane.kind == Kind::kFar;
  const bool is_far = lane.kind == Kind::kFar || lane.kind == Kind::kTakeFar;
  // Results of several ranks that come at once count as the mean: all that matters of them is that they arrive.
  if (!sends && !is_far && bytes_.collects) return 1.0;
  Rank experts = rank;
  if (sends != bytes_.collects) experts = is_far ? far_peer(rank, lane.peer, sends) : near_peer(rank, lane.peer);
  if (!is_far || bytes_.direct) return bytes_.ranks[static_cast<std::size_t>(experts)];
  return bytes_.nodes[static_cast<std::size_t>(layout_.node(experts))];
}

int ExpertSchedule::lanes(Rank, int) const { return size_ - 1 + handed_lanes() + 2 * far_peers() + 2; }

std::int64_t ExpertSchedule::step_count(Rank, int, int lane) const {
  switch (lane_of(lane).kind) {
    case Kind::kNear:
    case Kind::kFar:
    case Kind::kTakeFar:
      return chunks_;
    case Kind::kTakeNear:
      return size_ > 1 ? chunks_ : 0;
    case Kind::kHanded:
    case Kind::kTakeHanded:
      return handed_lanes() > 0 ? chunks_ * far_nodes() : 0;
  }
  return 0;
}

double ExpertSchedule::warp_share(Rank, int, int lane) const {
  const Lane of = lane_of(lane);
  const auto all = static_cast<double>(std::max<std::int64_t>(near_bytes(), 1));
  if (of.kind == Kind::kNear) return static_cast<double>(bytes_.near) / all;
  if (of.kind == Kind::kHanded) return static_cast<double>(far_nodes() * bytes_.handed) / all;
  return kAtOnce;
}

Step ExpertSchedule::step(Rank rank, int, int lane, std::int64_t index) const {
  const Lane of = lane_of(lane);
  const int take_near = size_ - 1 + handed_lanes() + far_peers();
  const bool is_handed = of.kind == Kind::kHanded || of.kind == Kind::kTakeHanded;
  const std::int64_t turn = is_handed ? index / far_nodes() : index;  // chunk
  const auto node = static_cast<int>(is_handed ? index % far_nodes() : 0);
  const bool is_near = of.kind == Kind::kNear || of.kind == Kind::kTakeNear;
  const std::int64_t mean = is_handed ? bytes_.handed : is_near ? bytes_.near : bytes_.far;
  const double load_of_lane = load(rank, of);
  Step step = step_of(chunk(load_of_lane == 1.0 ? mean : std::llround(static_cast<double>(mean) * load_of_lane), turn).count());
  switch (of.kind) {
    case Kind::kNear:
      step.send_to = near_peer(rank, of.peer);
      break;
    case Kind::kHanded:
      step.send_to = near_peer(rank, of.peer);
      step.send_connection = kHandedConnection;
      if (!bytes_.collects) step.after = {.channel = 0, .lane = take_near + 2 + node, .steps = turn + 1};
      break;
    case Kind::kFar:
      step.send_to = far_peer(rank, of.peer, true);
      // Near ranks' results for that node come in the order of its nodes.
      if (bytes_.collects && handed_lanes() > 0)
        step.after = {.channel = 0, .lane = take_near + 1, .steps = turn * far_nodes() + of.peer + 1};
      break;
    case Kind::kTakeNear:
      step.receive_from = Peers::view(near_[static_cast<std::size_t>(rank)]);
      break;
    case Kind::kTakeHanded:
      step.receive_from = Peers::view(near_[static_cast<std::size_t>(rank)]);
      step.receive_connection = kHandedConnection;
      break;
    case Kind::kTakeFar:
      step.receive_from = far_peer(rank, of.peer, false);
      break;
  }
  if (step.send_to.empty()) {
    keep_at(step, Buffer::kOutput, 0);
  } else {
    read_from(step, Buffer::kInput, 0);
  }
  return step;
}

}  // namespace weft::coll
