// A queue pair with selective repeat remembers this beyond its cumulative numbers: which packets above them are there, and
// which are to be sent again (models/network §3.6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace weft::net {

class SelectiveRepeat {
 public:
  // `reordering`: packets by which one may overtake another on the way without the other counting as lost.
  explicit SelectiveRepeat(std::int64_t reordering = 0) : reordering_{reordering} {}

  // Receiver: takes a packet in. True: it is new. Afterwards all below expected() have arrived.
  bool receive(std::int64_t sequence) {
    if (sequence < expected_) return false;
    const auto at = static_cast<std::size_t>(sequence - expected_);
    if (received_.size() <= at) received_.resize(at + 1, false);
    if (received_[at]) return false;
    received_[at] = true;
    while (!received_.empty() && received_.front()) {
      received_.pop_front();
      ++expected_;
    }
    return true;
  }
  [[nodiscard]] std::int64_t expected() const { return expected_; }

  // Sender: `sequence` has arrived, as have all below `below`. What was sent earlier than it by more than the
  // reordering, for the first time or again, and is not known to have arrived counts as lost. True: it was not known before.
  bool acknowledge(std::int64_t below, std::int64_t sequence) {
    while (first_ < below) pop();
    if (sequence < first_) return false;
    const bool is_new = !std::exchange(is_acked(sequence), true);
    const std::int64_t past = sequence - reordering_;
    for (std::int64_t s = std::max(first_, judged_); s < past; ++s) {
      if (!is_acked(s)) lost_.push_back(s);
    }
    judged_ = std::max(judged_, past);
    for (; !again_.empty() && again_.front().next <= past; again_.pop_front()) {
      const std::int64_t s = again_.front().sequence;
      if (s >= first_ && !is_acked(s)) lost_.push_back(s);
    }
    return is_new;
  }
  // One that is known to be lost.
  void lose(std::int64_t sequence) {
    if (sequence >= first_ && !is_acked(sequence)) lost_.push_back(sequence);
  }
  // Everything from the first unacknowledged one to `end` that is not known to be there is to be sent again.
  void lose_all(std::int64_t end) {
    lost_.clear();
    again_.clear();
    for (std::int64_t s = first_; s < end; ++s) {
      if (!is_acked(s)) lost_.push_back(s);
    }
    judged_ = end;
  }
  // The next one to send again.
  [[nodiscard]] std::optional<std::int64_t> peek_lost() {
    while (!lost_.empty() && (lost_.front() < first_ || is_acked(lost_.front()))) lost_.pop_front();
    return lost_.empty() ? std::nullopt : std::optional{lost_.front()};
  }
  // How many; one that has come meanwhile counts until it is first in line.
  [[nodiscard]] std::int64_t lost() const { return static_cast<std::int64_t>(lost_.size()); }
  // It is sent now; `next` has never been.
  void pop_lost(std::int64_t next) {
    again_.push_back({lost_.front(), next});
    lost_.pop_front();
  }

 private:
  bool& is_acked(std::int64_t sequence) {
    const auto at = static_cast<std::size_t>(sequence - first_);
    if (acked_.size() <= at) acked_.resize(at + 1, false);
    return acked_[at];
  }
  void pop() {
    if (!acked_.empty()) acked_.pop_front();
    ++first_;
  }

  std::int64_t reordering_;
  std::deque<bool> received_;  // from expected_ on
  std::int64_t expected_ = 0;
  std::deque<bool> acked_;   // from first_ on
  std::int64_t first_ = 0;   // all below are acknowledged
  std::int64_t judged_ = 0;  // below it, loss has been decided
  std::deque<std::int64_t> lost_;
  struct Again {
    std::int64_t sequence;
    std::int64_t next;  // those from here on went out after it
  };
  std::deque<Again> again_;  // in the order sent
};

}  // namespace weft::net
