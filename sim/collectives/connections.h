// Messages under way between ranks, as the verifier sees them: in the order sent, without time. Private to the verifier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/collectives/step_order.h"
#include "sim/collectives/symbolic_data.h"
#include "sim/core/ids.h"

namespace weft::coll {

struct Message {
  std::int64_t bytes = 0;
  Data data;
  StepNumber sender = kNoStep;
  bool to_be_added_up = false;  // in a switch; copies that a switch makes arrive as plain messages do
};

struct Connection {
  std::vector<Message> messages;
  std::size_t taken = 0;
  StepNumber last_send = kNoStep;
  StepNumber last_receive = kNoStep;

  [[nodiscard]] std::size_t waiting() const { return messages.size() - taken; }
  Message take() {
    Message message = std::move(messages[taken++]);
    if (taken == messages.size()) {
      messages.clear();
      taken = 0;
    }
    return message;
  }
};

class Connections {
 public:
  static constexpr int kPerPair = 4;  // of a pair of ranks on a channel

  Connections(int ranks, int channels)
      : ranks_{ranks},
        lines_(static_cast<std::size_t>(kPerPair) * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) *
               static_cast<std::size_t>(channels)) {}

  Connection& between(int channel, int which, Rank from, Rank to) {
    return lines_[static_cast<std::size_t>(((std::int64_t{channel} * kPerPair + which) * ranks_ + from) * ranks_ + to)];
  }

  // A message that was sent and not received.
  struct Left {
    Rank to = 0;
    StepNumber sender = kNoStep;
  };
  [[nodiscard]] std::optional<Left> first_left() const {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].waiting() == 0) continue;
      return Left{.to = static_cast<Rank>(i % static_cast<std::size_t>(ranks_)),
                  .sender = lines_[i].messages[lines_[i].taken].sender};
    }
    return std::nullopt;
  }

 private:
  int ranks_;
  std::vector<Connection> lines_;  // by channel, connection, sender, receiver
};

}  // namespace weft::coll
