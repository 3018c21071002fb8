// Who comes after whom, where things happen in the same order again and again, as ranks in step do: what the next ones need can
// be fetched from memory meanwhile. A guess: where it is wrong, time is lost and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::work {

class InStep {
 public:
  // Makes room for indices below `count`.
  void resize(std::size_t count) { after_.resize(count); }
  [[nodiscard]] std::size_t size() const { return after_.size(); }

  // It is the one at hand.
  void note(std::uint32_t index) {
    after_[latest_[at_ % kFar]].far = index;
    after_[latest_[(at_ + kFar - kNear) % kFar]].near = index;
    latest_[at_++ % kFar] = index;
  }
  // Which one came kFar, and kNear, places after it the last time; any one if it was not that often.
  [[nodiscard]] std::uint32_t far(std::uint32_t index) const { return after_[index].far; }
  [[nodiscard]] std::uint32_t near(std::uint32_t index) const { return after_[index].near; }

 private:
  static constexpr std::size_t kFar = 8;
  static constexpr std::size_t kNear = 4;
  struct After {
    std::uint32_t far = 0;
    std::uint32_t near = 0;
  };
  std::vector<After> after_;
  std::array<std::uint32_t, kFar> latest_{};  // a ring
  std::size_t at_ = 0;
};

}  // namespace weft::work
