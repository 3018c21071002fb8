// NSCC, the network-signalled congestion control of Ultra Ethernet (UEC 1.0; models/network §3.5): a sender's window that hears
// of two things with every ACK, a mark and the delay in queues.
//
//              delay below target              delay at target or above
//   no mark    grows with what is missing      grows fairly
//   mark       only the path changes           shrinks in proportion, once per round trip
//
// Delay is the round trip less the unloaded one. Increases are collected and granted once per round trip, or after eight
// packets. Trims, losses and long delays let Quick Adapt set the window to what arrived in the last period.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/rates.h"

namespace weft::net {
namespace {

using namespace literals;

// UEC's parameters are stated for this network.
constexpr double kReferenceRtt = 12e-6;                      // s
constexpr double kReferenceBdp = 100e9 / 8 * kReferenceRtt;  // bytes
constexpr double kGrantPackets = 8;                          // acknowledged bytes, in packets, that grant increases
constexpr double kLeastDecrease = 0.5;                       // of the window, at once
constexpr double kLongDelay = 5;                             // unloaded round trips: samples above have their own weight
constexpr double kLongDelayWeight = 0.0125;
constexpr double kUnmarkedDelay = 0.25;  // of an unloaded round trip: a long delay that no switch has marked counts as this

struct NsccParams {
  std::optional<Duration> base_rtt = {};
  std::optional<Duration> target = {};
  double proportional = 4;  // packets, times BDP and target over the reference's
  double fair = 5;          // packets, times BDP over the reference's
  double eta = 0.15;        // the same
  double fast = 0.25;       // of acknowledged bytes, times BDP over the reference's
  Duration fast_below = 1_us;
  double gamma = 0.8;
  double delay_weight = 0.0125;
  double max_window = 1.5;  // BDP
  bool quick_adapt = true;
  std::int64_t gate = 3;  // 2^-gate of the largest window
  double long_delay = 4;  // targets, from which on Quick Adapt looks
};

class Nscc final : public CongestionControl {
 public:
  Nscc(const NsccParams& params, const CongestionContext& context)
      : params_{params},
        packet_{static_cast<double>(context.packet.count())},
        base_rtt_{params.base_rtt.value_or(context.base_rtt)},
        target_{params.target.value_or(Duration::from_ps(base_rtt_.ps() * 3 / 4))},
        bdp_{bits_per_second(context.line_rate) / 8 * base_rtt_.seconds()},
        max_window_{std::max(params.max_window * bdp_, packet_)},
        scale_{bdp_ / kReferenceBdp},
        alpha_{params.proportional * packet_ * scale_ * (target_.seconds() / kReferenceRtt) / target_.seconds()},
        window_{max_window_} {}

  void on_ack(const AckEvent& ack) override {
    const auto acked = static_cast<double>(ack.newly_acked.count());
    achieved_ += acked;
    received_ += acked;
    ignored_ += acked;
    const Duration delay = std::max(ack.rtt - base_rtt_, Duration{});
    average(delay, ack.marked);
    if (!adapts(ack.now, false, ack.marked, delay, ack.in_flight)) {
      if (!ack.marked && delay >= target_) {
        pending_ += params_.fair * packet_ * scale_ * acked;
      } else if (!ack.marked) {
        grow(acked, delay);
      } else if (delay >= target_) {
        shrink(ack.now);
      }
      clamp();
      if (received_ > kGrantPackets * packet_ || ack.now - granted_at_ > base_rtt_) grant(ack.now);
    }
    clamp();
  }

  void on_trim(Time now, Bytes wire, Bytes in_flight) override {
    const auto lost = static_cast<double>(wire.count());
    ignored_ += lost;
    average(base_rtt_, true);  // a queue that trims is as long as a round trip
    trimmed_ = true;
    if (!adapts(now, true, true, Duration{}, in_flight)) window_ -= lost;
    clamp();
  }

  // A timeout: nothing is known to be on the way.
  void on_loss(Time now) override { on_trim(now, Bytes{static_cast<std::int64_t>(packet_)}, {}); }

  [[nodiscard]] Bytes window() const override { return Bytes{static_cast<std::int64_t>(window_)}; }

  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "window_bytes") return window_;
    if (name == "target_us") return target_.seconds() * 1e6;
    if (name == "delay_us") return delay_seconds_ * 1e6;
    return CongestionControl::state(name);
  }

 private:
  void average(Duration delay, bool marked) {
    double sample = delay.seconds();
    double weight = params_.delay_weight;
    if (!marked && delay > target_) {
      sample = base_rtt_.seconds() * kUnmarkedDelay;
    } else if (sample > kLongDelay * base_rtt_.seconds()) {
      weight = kLongDelayWeight;
    }
    delay_seconds_ += weight * (sample - delay_seconds_);
  }

  // Quick Adapt. True: the window stands as it is, since what comes back still tells of the time before.
  bool adapts(Time now, bool is_loss, bool marked, Duration delay, Bytes in_flight) {
    if (!params_.quick_adapt) return false;
    bool is_done = false;
    if (ignored_ < to_ignore_ && marked) {
      is_done = true;
    } else if (now > period_ends_) {
      const bool is_late = delay.seconds() > params_.long_delay * target_.seconds();
      const double gate = max_window_ / static_cast<double>(std::int64_t{1} << params_.gate);
      if (period_ends_ > Time{} && (trimmed_ || is_loss || is_late) && achieved_ < gate) {
        window_ = std::max(achieved_, packet_);
        to_ignore_ = static_cast<double>(in_flight.count());
        ignored_ = 0;
        trimmed_ = false;
        is_done = true;
      }
      achieved_ = 0;
      period_ends_ = now + base_rtt_ + target_;
    }
    if (is_done) pending_ = received_ = 0;
    return is_done;
  }

  // Fast where a whole window saw no queue, else in proportion to what is missing to the target.
  void grow(double acked, Duration delay) {
    if (delay < params_.fast_below) {
      unqueued_ += acked;
      if (unqueued_ > window_ || is_fast_) {
        window_ += acked * params_.fast * scale_;
        is_fast_ = true;
        return;
      }
    } else {
      unqueued_ = 0;
    }
    is_fast_ = false;
    pending_ += alpha_ * acked * (target_ - delay).seconds();
  }

  void shrink(Time now) {
    is_fast_ = false;
    unqueued_ = 0;
    const double target = target_.seconds();
    if (delay_seconds_ <= target || (shrunk_at_ && now - *shrunk_at_ <= base_rtt_)) return;
    window_ *= std::max(1 - params_.gamma * (delay_seconds_ - target) / delay_seconds_, kLeastDecrease);
    shrunk_at_ = now;
  }

  void grant(Time now) {
    window_ += pending_ / window_;
    if (now - granted_at_ >= base_rtt_) {
      window_ += params_.eta * packet_ * scale_;
      granted_at_ = now;
    }
    pending_ = received_ = 0;
  }

  void clamp() { window_ = std::clamp(window_, packet_, max_window_); }

  const NsccParams params_;
  const double packet_;  // bytes on the wire, as the rest
  const Duration base_rtt_;
  const Duration target_;
  const double bdp_;
  const double max_window_;
  const double scale_;  // BDP over the reference's
  const double alpha_;  // bytes per second of delay
  double window_;
  double pending_ = 0;   // increases, times the window: bytes squared
  double received_ = 0;  // acknowledged since they were granted
  double achieved_ = 0;  // acknowledged in this period of Quick Adapt
  double ignored_ = 0;   // acknowledged or trimmed since Quick Adapt
  double to_ignore_ = 0;
  double unqueued_ = 0;       // acknowledged without delay
  double delay_seconds_ = 0;  // moving average
  Time granted_at_;
  Time period_ends_;
  std::optional<Time> shrunk_at_;
  bool is_fast_ = false;
  bool trimmed_ = false;
};

class NsccFactory final : public CongestionFactory {
 public:
  explicit NsccFactory(ParamReader& params) {
    fixed_.base_rtt = params.optional<Duration>("base_rtt", positive);
    fixed_.target = params.optional<Duration>("target_queue_delay", positive);
    fixed_.proportional = params.optional<double>("alpha", fixed_.proportional, positive);
    fixed_.fair = params.optional<double>("fair_increase", fixed_.fair, positive);
    fixed_.eta = params.optional<double>("eta", fixed_.eta, at_least(0.0));
    fixed_.fast = params.optional<double>("fast_increase", fixed_.fast, at_least(0.0));
    fixed_.fast_below = params.optional<Duration>("fast_increase_delay", fixed_.fast_below, at_most(1_s));
    fixed_.gamma = params.optional<double>("gamma", fixed_.gamma, kShare);
    fixed_.delay_weight = params.optional<double>("delay_alpha", fixed_.delay_weight, kShare);
    fixed_.max_window = params.optional<double>("max_window", fixed_.max_window, positive);
    fixed_.quick_adapt = params.optional<bool>("quick_adapt", fixed_.quick_adapt);
    fixed_.gate = params.optional<std::int64_t>("quick_adapt_gate", fixed_.gate, between(0, 30));
    fixed_.long_delay = params.optional<double>("quick_adapt_threshold", fixed_.long_delay, positive);
    if (fixed_.quick_adapt) return;
    for (const char* key : {"quick_adapt_gate", "quick_adapt_threshold"})
      if (params.has(key)) params.error(key, "has no effect without quick_adapt");
  }

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = true, .cnps = false, .telemetry = false}; }
  [[nodiscard]] std::optional<Duration> longest_round_trip() const override { return fixed_.base_rtt; }
  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    return std::make_unique<Nscc>(fixed_, context);
  }

 private:
  NsccParams fixed_;
};

}  // namespace

const Registration<CongestionFactory> nscc{
    .name = "nscc",
    .summary = "window by marks and delay in four quadrants: Ultra Ethernet's network-signalled control",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<NsccFactory>(params); },
    .model = {.assumes = "An unmarked ACK below the target delay adds in proportion to what is missing, or fast where a whole "
                         "window met no queue. One at or above it adds fairly. A marked one above it shrinks the window in "
                         "proportion to the averaged delay, once per round trip; below it only the path changes. Trims, losses "
                         "and long delays let Quick Adapt set the window to what arrived in the last period.",
              .leaves_out = {"nscc: the receiver's penalty on windows (rcv_cwnd_pend) is not asked for",
                             "nscc: the unloaded round trip is the path's own from the start; none is measured",
                             "nscc: packets are counted with their headers, where UEC's constants count payload"},
              .sources = {"Ultra Ethernet Consortium, UEC specification 1.0, 2025, congestion management sublayer",
                          "models/network §3.5 (values of the consortium's htsim, uet-htsim)"}},
};

}  // namespace weft::net
