// Swift (Kumar et al., SIGCOMM 2020; models/network §3.4): a window in packets that holds the round trip at a target, which
// grows with the hops of the path and, so that many flows can share a link, with 1/sqrt(window). Below one packet the window is
// a pace: one packet every rtt/cwnd.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/rates.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr Duration kBase = 20_us;                                      // htsim's, whose round trips are below it
const Range<double> kWindow{.min = 0, .max = 1e9, .above_min = true};  // packets

struct SwiftParams {
  double additive = 1;  // packets per round trip
  double beta = 0.8;
  double max_decrease = 0.5;
  Duration base;
  Duration per_hop;
  Duration fs_range;
  double fs_min = 0.1;  // windows, in packets, between which the target scales
  double fs_max = 100;
  double initial_window = 12;  // packets
  double min_window = 0.001;
  double max_window = 0;
  Bytes packet;
  Duration base_rtt;  // stands in until the first ACK
};

class Swift final : public CongestionControl {
 public:
  explicit Swift(const SwiftParams& params)
      : params_{params},
        fs_alpha_seconds_{params.fs_range.seconds() / (1 / std::sqrt(params.fs_min) - 1 / std::sqrt(params.fs_max))},
        fs_beta_seconds_{-fs_alpha_seconds_ / std::sqrt(params.fs_max)},
        window_{std::clamp(params.initial_window, params.min_window, params.max_window)},
        rtt_{params.base_rtt} {}

  void on_ack(const AckEvent& ack) override {
    rtt_ = ack.rtt;
    const double delay = ack.rtt.seconds();
    target_seconds_ = target_seconds(ack.hops);
    if (delay < target_seconds_) {
      const double acked = static_cast<double>(ack.newly_acked.count()) / static_cast<double>(params_.packet.count());
      window_ += params_.additive * acked / std::max(window_, 1.0);
    } else if (may_decrease(ack.now)) {
      window_ *= std::max(1 - params_.beta * (delay - target_seconds_) / delay, 1 - params_.max_decrease);
      decreased_at_ = ack.now;
    }
    clamp();
  }

  void on_loss(Time now) override {
    if (!may_decrease(now)) return;
    window_ *= 1 - params_.max_decrease;
    decreased_at_ = now;
    clamp();
  }

  [[nodiscard]] Bandwidth rate() const override {
    if (window_ >= 1) return {};
    return to_bandwidth(window_ * 8 * static_cast<double>(params_.packet.count()) / rtt_.seconds());
  }
  [[nodiscard]] Bytes window() const override {
    return std::max(params_.packet, Bytes{static_cast<std::int64_t>(window_ * static_cast<double>(params_.packet.count()))});
  }

  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "window_packets") return window_;
    if (name == "target_us") return target_seconds_ * 1e6;
    return CongestionControl::state(name);
  }

 private:
  [[nodiscard]] double target_seconds(int hops) const {
    const double scaled = fs_alpha_seconds_ / std::sqrt(window_) + fs_beta_seconds_;
    return (params_.base + hops * params_.per_hop).seconds() + std::clamp(scaled, 0.0, params_.fs_range.seconds());
  }
  [[nodiscard]] bool may_decrease(Time now) const { return !decreased_at_ || now - *decreased_at_ >= rtt_; }
  void clamp() { window_ = std::clamp(window_, params_.min_window, params_.max_window); }

  const SwiftParams params_;
  const double fs_alpha_seconds_;
  const double fs_beta_seconds_;
  double window_;  // packets
  double target_seconds_ = 0;
  Duration rtt_;
  std::optional<Time> decreased_at_;
};

class SwiftFactory final : public CongestionFactory {
 public:
  explicit SwiftFactory(ParamReader& params) {
    fixed_.additive = params.optional<double>("additive", fixed_.additive, positive);
    fixed_.beta = params.optional<double>("beta", fixed_.beta, kShare);
    fixed_.max_decrease = params.optional<double>("max_decrease", fixed_.max_decrease, between(0, 1));
    base_ = params.optional<Duration>("base", between(1_ps, 1_s));
    per_hop_ = params.optional<Duration>("per_hop", at_most(1_s));
    fs_range_ = params.optional<Duration>("fs_range", at_most(10_s));
    fixed_.fs_min = params.optional<double>("fs_min", fixed_.fs_min, positive);
    fixed_.fs_max = params.optional<double>("fs_max", fixed_.fs_max, positive);
    if (fixed_.fs_max <= fixed_.fs_min) params.error("fs_max", "must be more than fs_min");
    fixed_.initial_window = params.optional<double>("initial_window", fixed_.initial_window, kWindow);
    fixed_.min_window = params.optional<double>("min_window", fixed_.min_window, kWindow);
    max_window_ = params.optional<double>("max_window", kWindow);
    if (max_window_ && *max_window_ < fixed_.min_window) params.error("max_window", "is below min_window");
  }

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = true, .cnps = false, .telemetry = false}; }
  [[nodiscard]] std::optional<Duration> longest_round_trip() const override { return base_; }

  // A larger window than the line sends within the target delay could not show in the delay, and would only take longer to
  // shrink.
  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    SwiftParams params = fixed_;
    params.packet = context.packet;
    params.base_rtt = context.base_rtt;
    // A target below the round trip without queues would hold the window down for ever.
    params.base = base_.value_or(std::max(kBase, context.base_rtt));
    params.per_hop = per_hop_.value_or(Duration::from_ps(params.base.ps() * 100 / 655));
    params.fs_range = fs_range_.value_or(5 * params.base);
    const double target = (params.base + context.hops * params.per_hop + params.fs_range).seconds();
    const double most = bits_per_second(context.line_rate) * target / (8 * static_cast<double>(context.packet.count()));
    params.max_window = std::max(params.min_window, max_window_.value_or(std::max(most, 1.0)));
    WEFT_CHECK(params.base_rtt > Duration{});
    return std::make_unique<Swift>(params);
  }

 private:
  SwiftParams fixed_;
  std::optional<Duration> base_;
  std::optional<Duration> per_hop_;
  std::optional<Duration> fs_range_;
  std::optional<double> max_window_;
};

}  // namespace

const Registration<CongestionFactory> swift{
    .name = "swift",
    .summary = "window by the round trip against a target that scales with hops and flows",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<SwiftFactory>(params); },
    .model = {.assumes = "Unless stated, `base` is 20 us, or the path's round trip without queues where that is more. The "
                         "target grows with the hops of the path and with 1/sqrt(window). Below it the window grows by "
                         "`additive` packets per round trip, above it it shrinks in proportion, once per round trip; under "
                         "one packet it is a pace.",
              .leaves_out = {"swift: the whole round trip is held against one target; delay inside end hosts is not told apart",
                             "swift: a NAK and a timeout both cut the window by max_decrease, at most once per round trip"},
              .sources = {"Kumar et al., Swift: delay is simple and effective for congestion control in the datacenter, "
                          "SIGCOMM 2020",
                          "models/network §3.4 (values of htsim)"}},
};

}  // namespace weft::net
