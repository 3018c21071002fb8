// Makes congestion controls from YAML, and a bottleneck as a fluid: senders that share one queue, in steps so short that rates
// are constant within each. No packets, no switches: what comes back to the senders is computed here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/units.h"
#include "sim/network/congestion.h"

namespace weft::net {

// T = 10 us at 100 Gb/s: a bandwidth-delay product of 125'000 B.
inline constexpr CongestionContext k100G{.line_rate = Bandwidth::from_bits_per_second(100'000'000'000),
                                         .base_rtt = Duration::from_us(10),
                                         .packet = Bytes{1000},
                                         .hops = 2};

inline std::unique_ptr<CongestionFactory> make_factory(std::string_view name, const std::string& yaml) {
  Diagnostics diagnostics;
  const ConfigNode node = ConfigNode::parse(yaml, "congestion.yaml", "congestion");
  ParamReader params{node, diagnostics};
  auto factory = congestion_controls().find(name)->make(params);
  params.finish();
  diagnostics.throw_if_any();
  return factory;
}

inline std::unique_ptr<CongestionControl> make_control(std::string_view name, const std::string& yaml,
                                                       const CongestionContext& context) {
  return make_factory(name, yaml)->make(context);
}

// RED of models/network §2.6, without chance: a sender's marks are the sum of its packets' probabilities.
struct FluidMarks {
  double kmin = 1e18;  // bytes
  double kmax = 2e18;
  double pmax = 1;
  Duration cnp_interval = {};

  [[nodiscard]] double probability(double queue) const {
    if (queue <= kmin) return 0;
    return queue > kmax ? 1 : pmax * (queue - kmin) / (kmax - kmin);
  }
};

class FluidLink {
 public:
  FluidLink(Bandwidth rate, Duration base_rtt, Duration step, Bytes packet, FluidMarks marks = {})
      : rate_{rate}, base_rtt_{base_rtt}, step_{step}, packet_{packet}, marks_{marks} {}

  void add(std::unique_ptr<CongestionControl> control) { senders_.push_back({.control = std::move(control)}); }

  // Runs for so long; means are those of this stretch.
  void run(Duration duration) {
    for (Sender& sender : senders_) sender.bytes_of_stretch = 0;
    queue_sum_ = 0;
    served_ = 0;
    steps_ = duration / step_;
    for (std::int64_t i = 0; i < steps_; ++i) step();
  }

  [[nodiscard]] double gbps(std::size_t sender) const {
    return senders_[sender].bytes_of_stretch * 8e-9 / (static_cast<double>(steps_) * step_.seconds());
  }
  [[nodiscard]] double utilisation() const {
    return served_ * 8 / (static_cast<double>(steps_) * step_.seconds() * static_cast<double>(rate_.bits_per_second()));
  }
  [[nodiscard]] double mean_queue() const { return queue_sum_ / static_cast<double>(steps_); }
  [[nodiscard]] CongestionControl& control(std::size_t sender) { return *senders_[sender].control; }

 private:
  struct Sender {
    std::unique_ptr<CongestionControl> control;
    double sent = 0;              // bytes, ever
    double bytes_of_stretch = 0;  // bytes of this run()
    double marks = 0;             // not yet sent as a CNP
    Time next_cnp = {};
    std::int64_t acked = 0;                   // packets
    std::deque<std::int64_t> in_flight = {};  // packets sent by the end of each step of the last round trip
  };

  [[nodiscard]] Duration rtt() const { return base_rtt_ + transmission_time(Bytes{static_cast<std::int64_t>(queue_)}, rate_); }

  void step() {
    const double seconds = step_.seconds();
    now_ += step_;
    double arrived = 0;
    for (Sender& sender : senders_) arrived += send(sender, seconds);
    const double most = static_cast<double>(rate_.bits_per_second()) / 8 * seconds;
    const double served = std::min(most, queue_ + arrived);
    queue_ += arrived - served;
    queue_sum_ += queue_;
    served_ += served;
    sent_ += served;
    const HopTelemetry stamp{.sent_bytes = static_cast<std::int64_t>(sent_),
                             .queue_bytes = static_cast<std::int64_t>(queue_),
                             .at = now_,
                             .rate = rate_};
    for (Sender& sender : senders_) answer(sender, stamp);
  }

  // At the rate of the control, of its window over the round trip, or of the line, whichever is least.
  double send(Sender& sender, double seconds) {
    CongestionControl& control = *sender.control;
    control.advance(now_);
    double bits_per_second = static_cast<double>(rate_.bits_per_second());
    if (control.rate() > Bandwidth{})
      bits_per_second = std::min(bits_per_second, static_cast<double>(control.rate().bits_per_second()));
    if (control.window() < Bytes::max())
      bits_per_second = std::min(bits_per_second, static_cast<double>(control.window().count()) * 8 / rtt().seconds());
    const double bytes = bits_per_second / 8 * seconds;
    const double size = static_cast<double>(packet_.count());
    const auto whole = [](double count) { return static_cast<std::int64_t>(count); };
    control.on_sent(now_, Bytes{whole(sender.sent + bytes) - whole(sender.sent)});
    sender.sent += bytes;
    sender.bytes_of_stretch += bytes;
    sender.marks += bytes / size * marks_.probability(queue_);
    sender.in_flight.push_back(whole(sender.sent / size));
    return bytes;
  }

  void answer(Sender& sender, const HopTelemetry& stamp) {
    if (sender.marks >= 1 && now_ >= sender.next_cnp) {
      sender.control->on_cnp(now_);
      sender.next_cnp = now_ + marks_.cnp_interval;
      sender.marks = 0;
    }
    if (static_cast<std::int64_t>(sender.in_flight.size()) <= base_rtt_ / step_) return;
    const std::int64_t acked = sender.in_flight.front();
    const std::int64_t next = sender.in_flight.back();
    sender.in_flight.pop_front();
    if (acked == sender.acked) return;
    sender.control->on_ack({.now = now_,
                            .rtt = rtt(),
                            .marked = false,
                            .newly_acked = (acked - sender.acked) * packet_,
                            .acked = acked,
                            .next = next,
                            .hops = 1,
                            .telemetry = {&stamp, 1}});
    sender.acked = acked;
  }

  Bandwidth rate_;
  Duration base_rtt_;
  Duration step_;
  Bytes packet_;
  FluidMarks marks_;
  std::vector<Sender> senders_;
  Time now_;
  double queue_ = 0;  // bytes
  double sent_ = 0;   // bytes, ever
  double queue_sum_ = 0;
  double served_ = 0;
  std::int64_t steps_ = 1;
};

}  // namespace weft::net
