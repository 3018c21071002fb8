#include "sim/core/windowed_run.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/core/simulator.h"

namespace weft {
namespace {

using namespace weft::literals;

constexpr Duration kLookahead = 10_ns;

// A token goes round a ring of parts: each keeps when it had it, and hands it on one lookahead later.
class Relay final : public WindowedPart, private EventTarget {
 public:
  using Box = std::array<std::vector<std::pair<Time, std::uint64_t>>, 2>;

  Relay(Box& in, Box& out) : in_{in}, out_{out}, source_{simulator_.add_component("relay")} {}

  void start(Time at, std::uint64_t token) { simulator_.schedule(at, Phase::kAction, source_, *this, token); }
  Time run_window(std::uint64_t window, Time end) override {
    sent_ = Time::max();
    window_ = window;
    auto& letters = in_[(window - 1) & 1];
    for (const auto& [at, token] : letters) start(at, token);
    letters.clear();
    simulator_.run_until(end - Duration::from_ps(1));
    return std::min(simulator_.next_time(), sent_);
  }

  std::vector<std::pair<Time, std::uint64_t>> had;
  std::uint64_t fails_at = 0;  // a token's number

 private:
  void on_event(std::uint64_t token) override {
    had.emplace_back(simulator_.now(), token);
    if (token == fails_at && fails_at > 0) throw std::runtime_error("the token fell");
    if (token % 1000 == 0) return;
    sent_ = std::min(sent_, simulator_.now() + kLookahead);
    out_[window_ & 1].emplace_back(simulator_.now() + kLookahead, token - 1);
  }

  Box& in_;
  Box& out_;
  Simulator simulator_;
  ComponentId source_;
  std::uint64_t window_ = 0;
  Time sent_ = Time::max();
};

struct Ring {
  explicit Ring(std::size_t parts) : boxes(parts) {
    for (std::size_t i = 0; i < parts; ++i) relays.push_back(std::make_unique<Relay>(boxes[i], boxes[(i + 1) % parts]));
  }
  WindowedRun run(int threads) {
    std::vector<WindowedPart*> parts;
    for (const auto& relay : relays) parts.push_back(relay.get());
    return {std::move(parts), Time{}, kLookahead, threads};
  }

  std::vector<Relay::Box> boxes;
  std::vector<std::unique_ptr<Relay>> relays;
};

bool go_on(Time) { return true; }

TEST(WindowedRunTest, WhatPartsSendArrivesAtItsTimeOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    Ring ring{5};
    ring.relays[0]->start(Time{} + 3_ns, 1012);  // twelve legs
    ring.relays[2]->start(Time{} + 4_ns, 2007);  // seven
    ring.run(threads).run_until(Time::max(), go_on);
    std::size_t legs = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      for (const auto& [at, token] : ring.relays[i]->had) {
        const bool first = token < 2000;
        const std::uint64_t leg = first ? 1012 - token : 2007 - token;
        EXPECT_EQ(at, Time{} + (first ? 3_ns : 4_ns) + static_cast<std::int64_t>(leg) * kLookahead);
        EXPECT_EQ(i, (leg + (first ? 0 : 2)) % 5);
        ++legs;
      }
    }
    EXPECT_EQ(legs, 13U + 8U) << threads;
  }
}

TEST(WindowedRunTest, ARunThatEndsGoesOnFromThere) {
  Ring ring{2};
  ring.relays[0]->start(Time{}, 1004);
  WindowedRun run = ring.run(2);
  run.run_until(Time{} + 20_ns, go_on);  // legs at 0, 10 and 20 ns
  EXPECT_EQ(ring.relays[0]->had.size() + ring.relays[1]->had.size(), 3U);
  EXPECT_EQ(run.next(), Time{} + 30_ns);
  run.run_until(Time::max(), go_on);
  EXPECT_EQ(ring.relays[0]->had.size() + ring.relays[1]->had.size(), 5U);
  EXPECT_EQ(run.next(), Time::max());
}

TEST(WindowedRunTest, EmptyTimeTakesNoWindows) {
  Ring ring{2};
  ring.relays[1]->start(Time{} + 1_s, 1000);
  WindowedRun run = ring.run(1);
  run.run_until(Time::max(), go_on);
  EXPECT_EQ(run.windows(), 2U);  // the first, in which nothing is known yet, and that of the event
}

TEST(WindowedRunTest, StopsBetweenWindowsAndTellsWhatFailed) {
  Ring ring{3};
  ring.relays[0]->start(Time{}, 1900);
  int asked = 0;
  ring.run(2).run_until(Time::max(), [&](Time) { return ++asked < 4; });
  EXPECT_EQ(ring.relays[0]->had.size() + ring.relays[1]->had.size() + ring.relays[2]->had.size(), 3U);

  Ring broken{3};
  broken.relays[0]->start(Time{}, 1900);
  broken.relays[1]->fails_at = 1893;  // of its legs, which are the 1st, 4th and 7th
  EXPECT_THROW(broken.run(3).run_until(Time::max(), go_on), std::runtime_error);
  EXPECT_EQ(broken.relays[2]->had.size(), 2U);
}

}  // namespace
}  // namespace weft
