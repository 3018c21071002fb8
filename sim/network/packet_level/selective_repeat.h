// What a queue pair with selective repeat remembers beyond its cumulative numbers: which packets above them are there, and
// which are to be sent again (network-models §3.6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace weft::net {

class SelectiveRepeat {
 public:
  // Receiver: takes a packet in. True: it is new. Afterwards all below expected() have arrived.
  bool receive(std::int64_t sequence) { return take(sequence, received_, expected_); }
  [[nodiscard]] std::int64_t expected() const { return expected_; }

  // Sender: `sequence` has arrived, as have all below `below`. What was sent earlier than it, for the first time or again, and
  // is not known to have arrived counts as lost.
  void acknowledge(std::int64_t below, std::int64_t sequence) {
    while (first_ < below) pop();
    if (sequence < first_) return;
    slot(sequence) |= kAcked;
    for (std::int64_t s = std::max(first_, judged_); s < sequence; ++s) {
      if ((slot(s) & kAcked) == 0) lost_.push_back(s);
    }
    judged_ = std::max(judged_, sequence);
    for (; !again_.empty() && again_.front().next <= sequence; again_.pop_front()) {
      const std::int64_t s = again_.front().sequence;
      if (s >= first_ && (slot(s) & kAcked) == 0) lost_.push_back(s);
    }
  }
  // Everything from the first unacknowledged one to `end` that is not known to be there is to be sent again.
  void lose_all(std::int64_t end) {
    lost_.clear();
    again_.clear();
    for (std::int64_t s = first_; s < end; ++s) {
      if ((slot(s) & kAcked) == 0) lost_.push_back(s);
    }
    judged_ = end;
  }
  // The next one to send again.
  [[nodiscard]] std::optional<std::int64_t> peek_lost() {
    while (!lost_.empty() && (lost_.front() < first_ || (slot(lost_.front()) & kAcked) != 0)) lost_.pop_front();
    return lost_.empty() ? std::nullopt : std::optional{lost_.front()};
  }
  // It is sent now; `next` has never been.
  void pop_lost(std::int64_t next) {
    again_.push_back({lost_.front(), next});
    lost_.pop_front();
  }

 private:
  static constexpr std::uint8_t kAcked = 1;

  static bool take(std::int64_t sequence, std::deque<bool>& there, std::int64_t& expected) {
    if (sequence < expected) return false;
    const auto at = static_cast<std::size_t>(sequence - expected);
    if (there.size() <= at) there.resize(at + 1, false);
    if (there[at]) return false;
    there[at] = true;
    while (!there.empty() && there.front()) {
      there.pop_front();
      ++expected;
    }
    return true;
  }
  std::uint8_t& slot(std::int64_t sequence) {
    const auto at = static_cast<std::size_t>(sequence - first_);
    if (sent_.size() <= at) sent_.resize(at + 1, 0);
    return sent_[at];
  }
  void pop() {
    if (!sent_.empty()) sent_.pop_front();
    ++first_;
  }

  std::deque<bool> received_;  // from expected_ on
  std::int64_t expected_ = 0;
  std::deque<std::uint8_t> sent_;  // from first_ on
  std::int64_t first_ = 0;         // all below are acknowledged
  std::int64_t judged_ = 0;        // below it, loss has been decided
  std::deque<std::int64_t> lost_;
  struct Again {
    std::int64_t sequence;
    std::int64_t next;  // those from here on went out after it
  };
  std::deque<Again> again_;  // in the order sent
};

}  // namespace weft::net
