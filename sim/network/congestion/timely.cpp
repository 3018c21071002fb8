// TIMELY (Mittal et al., SIGCOMM 2015; models/network §3.3): the rate follows the round trip and, between two thresholds, its
// gradient. It has infinitely many fixed points, so shares need not become equal (Zhu et al., CoNEXT 2016).
//
// A sample is the round trip of the ACK that completes a segment, as the paper's NIC reports one completion for 16 to 64 KB.
#include <algorithm>
#include <memory>
#include <optional>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/rates.h"

namespace weft::net {
namespace {

using namespace literals;

struct TimelyParams {
  double ewma = 0.875;  // of the difference of two round trips
  double beta = 0.8;
  Duration t_low = 50_us;
  Duration t_high = 500_us;
  Duration min_rtt = 20_us;
  std::int64_t segment = 64'000;  // bytes from one sample to the next; 0: every ACK
  std::int64_t hai_after = 5;     // samples in a row without a rising round trip
  double delta = 0;
  double hai = 0;
  double initial_rate = 0;
  double min_rate = 0;
  double line = 0;
};

class Timely final : public CongestionControl {
 public:
  explicit Timely(const TimelyParams& params) : params_{params}, rate_{params.initial_rate} {}

  void on_ack(const AckEvent& ack) override {
    acked_ += ack.newly_acked.count();
    if (acked_ < params_.segment) return;
    acked_ = 0;
    const Duration before = previous_rtt_;
    previous_rtt_ = ack.rtt;
    if (before == Duration{}) return;  // the first sample has no gradient
    difference_seconds_ = (1 - params_.ewma) * difference_seconds_ + params_.ewma * (ack.rtt - before).seconds();
    react(ack.rtt);
  }

  [[nodiscard]] Bandwidth rate() const override { return to_bandwidth(rate_); }

  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "rate_gbps") return rate_ / 1e9;
    if (name == "gradient") return gradient();
    return CongestionControl::state(name);
  }

 private:
  [[nodiscard]] double gradient() const { return difference_seconds_ / params_.min_rtt.seconds(); }

  void react(Duration rtt) {
    const double slope = gradient();
    const bool between = rtt >= params_.t_low && rtt <= params_.t_high;
    falling_ = between && slope <= 0 ? falling_ + 1 : 0;
    if (rtt < params_.t_low) {
      rate_ += params_.delta;
    } else if (rtt > params_.t_high) {
      rate_ *= 1 - params_.beta * (1 - params_.t_high.seconds() / rtt.seconds());
    } else if (slope <= 0) {
      rate_ += falling_ >= params_.hai_after ? params_.hai : params_.delta;
    } else {
      rate_ *= 1 - params_.beta * slope;
    }
    rate_ = std::clamp(rate_, params_.min_rate, params_.line);
  }

  const TimelyParams params_;
  double rate_;
  double difference_seconds_ = 0;
  Duration previous_rtt_;
  std::int64_t acked_ = 0;    // bytes since the last sample
  std::int64_t falling_ = 0;  // samples in a row between the thresholds and without a rising round trip
};

class TimelyFactory final : public CongestionFactory {
 public:
  explicit TimelyFactory(ParamReader& params) {
    fixed_.ewma = params.optional<double>("ewma", fixed_.ewma, kShare);
    fixed_.beta = params.optional<double>("beta", fixed_.beta, kShare);
    t_low_ = params.optional<Duration>("t_low");
    t_high_ = params.optional<Duration>("t_high", positive);
    if (t_high_.value_or(fixed_.t_high) < t_low_.value_or(fixed_.t_low)) params.error("t_high", "is below t_low");
    min_rtt_ = params.optional<Duration>("min_rtt", positive);
    fixed_.segment = params.optional<Bytes>("segment", Bytes{fixed_.segment}).count();
    fixed_.hai_after = params.optional<std::int64_t>("hai_after", fixed_.hai_after, between(1, 1'000'000));
    delta_ = params.optional<Bandwidth>("delta");
    hai_ = params.optional<Bandwidth>("hai");
    initial_rate_ = params.optional<Bandwidth>("initial_rate", positive);
    fixed_.min_rate = bits_per_second(params.optional<Bandwidth>("min_rate", 100 * kMegabitPerSecond, positive));
  }

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = true, .cnps = false, .telemetry = false}; }
  [[nodiscard]] std::optional<Duration> longest_round_trip() const override { return t_high_; }

  // delta is 10 Mb/s for each 10 Gb/s of the line, five times that after five samples in a row.
  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    TimelyParams params = fixed_;
    // The paper's thresholds are those of round trips of 20 us: on longer paths they leave room for as long a queue.
    const Duration longer = std::max(context.base_rtt - fixed_.min_rtt, Duration{});
    params.min_rtt = min_rtt_.value_or(fixed_.min_rtt + longer);
    params.t_high = t_high_.value_or(fixed_.t_high + longer);
    params.t_low = t_low_.value_or(std::min(fixed_.t_low + longer, params.t_high));
    params.line = bits_per_second(context.line_rate);
    params.min_rate = std::min(params.min_rate, params.line);
    params.delta = delta_ ? bits_per_second(*delta_) : params.line / 1000;
    params.hai = hai_ ? bits_per_second(*hai_) : 5 * params.delta;
    params.initial_rate = std::min(params.line, initial_rate_ ? bits_per_second(*initial_rate_) : params.line);
    return std::make_unique<Timely>(params);
  }

 private:
  TimelyParams fixed_;
  std::optional<Duration> t_low_;
  std::optional<Duration> t_high_;
  std::optional<Duration> min_rtt_;
  std::optional<Bandwidth> delta_;
  std::optional<Bandwidth> hai_;
  std::optional<Bandwidth> initial_rate_;
};

}  // namespace

const Registration<CongestionFactory> timely{
    .name = "timely",
    .summary = "rate by the round trip and its gradient",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<TimelyFactory>(params); },
    .model = {.assumes =
                  "Unless stated, thresholds are the paper's, and on paths with round trips of over 20 us higher by the "
                  "rest. One sample per segment acknowledged. Below t_low the rate grows by delta, above t_high it shrinks, "
                  "between them it follows the gradient. Shares need not become equal.",
              .leaves_out = {"timely: losses do not slow a sender"},
              .sources = {"Mittal et al., TIMELY: RTT-based congestion control for the datacenter, SIGCOMM 2015",
                          "Zhu et al., ECN or delay, CoNEXT 2016", "models/network §3.3"}},
};

}  // namespace weft::net
