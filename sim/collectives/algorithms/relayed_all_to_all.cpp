#include "sim/collectives/algorithms/relayed_all_to_all.h"

#include "sim/collectives/algorithms/steps.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

std::size_t index_of(Rank rank) { return static_cast<std::size_t>(rank); }

}  // namespace

RelayedAllToAll::RelayedAllToAll(const Communicator& communicator, const CollectiveCall& call, const Choice& choice,
                                 RelayPlace place)
    : layout_{NodeLayout::by_rank(communicator)},
      place_{place},
      n_{communicator.ranks()},
      messages_{call, n_},
      channels_{choice.channels} {
  WEFT_CHECK(choice.shares.empty());
  relayed_.resize(index_of(n_));
  send_peers_.resize(index_of(n_));
  receive_peers_.resize(index_of(n_));
  const int nodes = layout_.nodes();
  rows_.resize(index_of(n_ * nodes), -1);
  for (Rank rank = 0; rank < n_; ++rank) {
    const int node = layout_.node(rank);
    for (int k = 1; k < layout_.size(node); ++k) {
      const Rank peer = layout_.rank_at(node, (layout_.local(rank) + k) % layout_.size(node));
      send_peers_[index_of(rank)].push_back(peer);
      receive_peers_[index_of(rank)].push_back(peer);
    }
  }
  // The far end of a network message has a relay on every other node.
  std::vector<std::vector<Rank>>& of_relay = place_ == RelayPlace::kAtReceiver ? receive_peers_ : send_peers_;
  std::vector<std::vector<Rank>>& of_far = place_ == RelayPlace::kAtReceiver ? send_peers_ : receive_peers_;
  for (Rank far = 0; far < n_; ++far) {
    for (int k = 1; k < nodes; ++k) {
      const Rank relay = relay_for(far, (layout_.node(far) + k) % nodes);
      rows_[index_of(far * nodes + layout_.node(relay))] = static_cast<std::int32_t>(relayed_[index_of(relay)].size());
      relayed_[index_of(relay)].push_back(far);
      of_relay[index_of(relay)].push_back(far);
      of_far[index_of(far)].push_back(relay);
    }
  }
}

Rank RelayedAllToAll::relay_for(Rank far, int node) const {
  return layout_.rank_at(node, layout_.local(far) % layout_.size(node));
}

const std::vector<Rank>& RelayedAllToAll::peers(Rank rank, bool sends) const {
  return (sends ? send_peers_ : receive_peers_)[index_of(rank)];
}

int RelayedAllToAll::lanes(Rank rank, int) const {
  return 1 + static_cast<int>(peers(rank, true).size() + peers(rank, false).size());
}

int RelayedAllToAll::receive_lane(Rank rank, Rank from) const {
  // Receive lanes are in the order of receive_peers_: the node's ranks, from the one behind `rank` on, then those relayed.
  const int size = layout_.size(layout_.node(rank));
  const bool near = layout_.node(from) == layout_.node(rank);
  const int at = near ? (layout_.local(from) - layout_.local(rank) - 1 + size) % size : size - 1 + row(rank, from);
  return 1 + static_cast<int>(peers(rank, true).size()) + at;
}

std::int64_t RelayedAllToAll::message_count(Rank from, Rank to) const {
  const bool at_receiver = place_ == RelayPlace::kAtReceiver;
  const Rank relay = at_receiver ? to : from;
  if (layout_.node(from) != layout_.node(to)) return layout_.size(layout_.node(relay));
  return 1 + static_cast<std::int64_t>(relayed(at_receiver ? from : to).size());
}

RelayedAllToAll::Message RelayedAllToAll::message(Rank from, Rank to, std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  const bool at_receiver = place_ == RelayPlace::kAtReceiver;
  if (layout_.node(from) != layout_.node(to)) {
    // For, or from, every rank of the relay's node.
    const int node = layout_.node(at_receiver ? to : from);
    const Rank near = layout_.rank_at(node, static_cast<int>(index));
    return at_receiver ? Message{from, near} : Message{near, to};
  }
  if (index == 0) return {from, to};
  return at_receiver ? Message{relayed(from)[i - 1], to} : Message{from, relayed(to)[i - 1]};
}

// Where a relay keeps a block that it passes on: a row of scratch for each rank it relays for, a column for each of its node.
std::int64_t RelayedAllToAll::slot(Rank relay, const Message& message) const {
  const bool at_receiver = place_ == RelayPlace::kAtReceiver;
  const Rank far = at_receiver ? message.sender : message.receiver;
  const Rank near = at_receiver ? message.receiver : message.sender;
  return std::int64_t{row(relay, far)} * layout_.size(layout_.node(relay)) + layout_.local(near);
}

std::int64_t RelayedAllToAll::step_count(Rank rank, int channel, int lane) const {
  if (channel_part(messages_.largest(), channels_, channel).bytes == 0) return 0;
  if (lane == 0) return 1;
  const std::vector<Rank>& receivers = peers(rank, true);
  const auto i = static_cast<std::size_t>(lane - 1);
  if (i < receivers.size()) return message_count(rank, receivers[i]);
  return message_count(peers(rank, false)[i - receivers.size()], rank);
}

Step RelayedAllToAll::step(Rank rank, int channel, int lane, std::int64_t index) const {
  const std::vector<Rank>& receivers = peers(rank, true);
  const auto part_of = [&](const Message& m) {
    return channel_part(messages_.bytes(m.sender, m.receiver), channels_, channel);
  };
  if (lane == 0) {
    const Part part = part_of({rank, rank});
    if (part.bytes == 0) return nothing_to_do();
    Step step = step_of(part.bytes);
    read_from(step, Buffer::kInput, messages_.input_offset(rank, rank) + part.offset);
    keep_at(step, Buffer::kOutput, messages_.output_offset(rank, rank) + part.offset);
    return step;
  }
  const auto i = static_cast<std::size_t>(lane - 1);
  if (i >= receivers.size()) {
    const Rank from = peers(rank, false)[i - receivers.size()];
    const Message m = message(from, rank, index);
    const Part part = part_of(m);
    if (part.bytes == 0) return nothing_to_do();
    Step step = step_of(part.bytes);
    step.receive_from = from;
    if (m.receiver == rank) {
      keep_at(step, Buffer::kOutput, messages_.output_offset(m.sender, rank) + part.offset);
    } else {
      keep_at(step, Buffer::kScratch, slot(rank, m) * messages_.largest() + part.offset);
    }
    return step;
  }
  const Rank to = receivers[i];
  const Message m = message(rank, to, index);
  const Part part = part_of(m);
  if (part.bytes == 0) return nothing_to_do();
  Step step = step_of(part.bytes);
  step.send_to = to;
  if (m.sender == rank) {
    read_from(step, Buffer::kInput, messages_.input_offset(rank, m.receiver) + part.offset);
    return step;
  }
  read_from(step, Buffer::kScratch, slot(rank, m) * messages_.largest() + part.offset);
  // It came as the message of this number on its first hop.
  const bool at_receiver = place_ == RelayPlace::kAtReceiver;
  const std::int64_t number = at_receiver ? layout_.local(m.receiver) : 1 + row(rank, m.receiver);
  step.after = {.channel = channel, .lane = receive_lane(rank, m.sender), .steps = number + 1};
  return step;
}

namespace {

class RelayedAlgorithm final : public Algorithm {
 public:
  explicit RelayedAlgorithm(RelayPlace place) : place_{place} {}

  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllToAll; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    return std::make_unique<RelayedAllToAll>(communicator, call, choice, place_);
  }

 private:
  RelayPlace place_;
};

}  // namespace

std::unique_ptr<Algorithm> make_relayed_all_to_all(RelayPlace place) { return std::make_unique<RelayedAlgorithm>(place); }

}  // namespace weft::coll
