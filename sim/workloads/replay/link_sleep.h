// NVLinks sleep when nothing has used them for a while, and the next call waits for them to wake.
//
// Model: a GPU's NVLinks sleep once no call of the GPU has been on them for 50 ms, all at once and in both directions. The next
// call takes 67 us longer for each GPU along its way whose links sleep, at most two: a message's two ends; of a collective two
// neighbours, as the others' links wake meanwhile. Where its first member has waited for 50 ms too, the links on which answers
// come back sleep as well: 18 us more for each. What a member sends before the last one is there (a collective's member its
// first step, a message's sender what the receiver's buffers take) wakes the links then. All generations of NVLink are taken to
// be as the H200's; a GPU's other links (to host and NIC) do not sleep.
//
// Source: two runs on 2 x H200 (validate/measured/h200x2_link_sleep*.json), whose medians agree within 4 %. After up to 49 ms
// without traffic a message of 16 MiB takes 56 us as ever, from 50 ms to 1 s 190 us where the receiver's kernel is new (134
// more, two GPUs) and 227 us where it waited all that time (170 more), whether the GPUs compute meanwhile or not. 8 KiB, 1 MiB
// and 64 MiB to a new receiver take 172, 134 and 131 us longer; all-reduces of 8 KiB, 1, 16 and 64 MiB whose other member
// waited for 100 ms 166, 170, 169 and 158 us, and none from 1 MiB on where it came half a millisecond before. `nvidia-smi
// nvlink -gLowPwrInfo` prints the 50 ms on these nodes.
#pragma once

#include <algorithm>

#include "sim/core/units.h"

namespace weft::work {

class LinkSleep {
 public:
  static constexpr Duration kAfter = Duration::from_ns(50'000'000);
  static constexpr Duration kWake = Duration::from_ns(67'000);     // for each GPU
  static constexpr Duration kAnswers = Duration::from_ns(18'000);  // for each GPU, where answers' links sleep too

  // Last used at `at`.
  explicit LinkSleep(Time at = {}) : used_{at} {}

  void begin() { ++calls_; }
  void end(Time now) {
    --calls_;
    used_ = now;
  }
  [[nodiscard]] bool sleeps(Time now) const { return calls_ == 0 && now - used_ >= kAfter; }
  // For how long nothing has used them, as far as that matters: equal where they will behave alike.
  [[nodiscard]] Duration idle(Time now) const { return calls_ > 0 ? Duration{} - kAfter : std::min(now - used_, kAfter); }

 private:
  Time used_;
  int calls_ = 0;
};

}  // namespace weft::work
