// DCQCN as its paper has it (Zhu et al., SIGCOMM 2015; models/network §3.1): the reaction point of one queue pair. Every CNP
// cuts the rate by alpha/2; a timer and a byte counter bring it back, first halfway to the rate before the cut, then further in
// growing steps. The policy of NIC firmware, where timers poll for CNPs, is dcqcn_mlx.
//
// Timers are not events: advance() catches up with each as if it had fired at its time. A timer that is due when a CNP comes or
// a packet leaves fires first. Alpha's timer changes no rate, so next_update() does not count it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/dcqcn_rates.h"

namespace weft::net {
namespace {

using namespace literals;

enum class Hyper : std::uint8_t { kScaled, kPlain };

struct DcqcnParams {
  double g = 1.0 / 256;
  double initial_alpha = 1;
  Duration alpha_period = 55_us;
  Duration rate_timer = 55_us;
  std::int64_t byte_counter = 10'000'000;  // bytes; 0: none
  std::int64_t fast_recovery = 5;          // F
  double r_ai = 0;
  double r_hai = 0;
  double min_rate = 0;
  Hyper hyper = Hyper::kScaled;
  ClampTarget clamp = ClampTarget::kAlways;
};

class Dcqcn final : public CongestionControl {
 public:
  Dcqcn(const DcqcnParams& params, double line)
      : params_{params}, rates_{line, params.min_rate}, alpha_{params.initial_alpha} {}

  void on_cnp(Time now) override {
    advance(now);
    rates_.cut(alpha_, params_.clamp == ClampTarget::kAlways || timer_count_ + byte_count_ > 0);
    alpha_ = raised_alpha(alpha_, params_.g);
    timer_count_ = byte_count_ = 0;
    bytes_ = 0;
    alpha_at_ = now + params_.alpha_period;
    increase_at_ = now + params_.rate_timer;
  }

  void on_sent(Time now, Bytes wire) override {
    if (increase_at_ == Time::max() || params_.byte_counter == 0) return;  // nothing to gain
    advance(now);
    bytes_ += wire.count();
    for (; bytes_ >= params_.byte_counter; bytes_ -= params_.byte_counter) {
      ++byte_count_;
      increase();
    }
  }

  // The timers touch different variables, so it does not matter which is caught up with first.
  void advance(Time now) override {
    for (; alpha_at_ <= now; alpha_at_ += params_.alpha_period) {
      alpha_ = decayed_alpha(alpha_, params_.g);
      if (alpha_ == 0) {
        alpha_at_ = Time::max();
        break;
      }
    }
    while (increase_at_ <= now) {
      increase_at_ += params_.rate_timer;
      ++timer_count_;
      increase();
    }
  }

  [[nodiscard]] Time next_update() const override { return increase_at_; }
  [[nodiscard]] Bandwidth rate() const override { return to_bandwidth(rates_.current()); }

  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "rate_gbps") return rates_.current() / 1e9;
    if (name == "target_rate_gbps") return rates_.target() / 1e9;
    if (name == "alpha") return alpha_;
    if (name == "timer_count") return static_cast<double>(timer_count_);
    if (name == "byte_count") return static_cast<double>(byte_count_);
    return CongestionControl::state(name);
  }

 private:
  // Fast recovery while neither count exceeds F, hyper increase once both do, additive increase between.
  void increase() {
    const std::int64_t beyond = std::min(timer_count_, byte_count_) - params_.fast_recovery;
    if (std::max(timer_count_, byte_count_) <= params_.fast_recovery) {
      rates_.recover(0);
    } else if (beyond > 0) {
      rates_.recover(params_.hyper == Hyper::kScaled ? static_cast<double>(beyond) * params_.r_hai : params_.r_hai);
    } else {
      rates_.recover(params_.r_ai);
    }
    if (rates_.at_line()) increase_at_ = Time::max();
  }

  const DcqcnParams params_;
  DcqcnRates rates_;
  double alpha_;
  std::int64_t timer_count_ = 0;    // T: expiries of the rate timer since the last CNP
  std::int64_t byte_count_ = 0;     // BC: the same of the byte counter
  std::int64_t bytes_ = 0;          // sent since the byte counter last ran out
  Time alpha_at_ = Time::max();     // next expiries; max: not running
  Time increase_at_ = Time::max();  // also stands for "below line rate"
};

class DcqcnFactory final : public CongestionFactory {
 public:
  explicit DcqcnFactory(ParamReader& params) {
    fixed_.g = params.optional<double>("g", fixed_.g, kShare);
    fixed_.initial_alpha = params.optional<double>("initial_alpha", fixed_.initial_alpha, between(0, 1));
    fixed_.alpha_period = params.optional<Duration>("alpha_period", fixed_.alpha_period, kPeriod);
    fixed_.rate_timer = params.optional<Duration>("rate_timer", fixed_.rate_timer, kPeriod);
    fixed_.byte_counter = params.optional<Bytes>("byte_counter", Bytes{fixed_.byte_counter}).count();
    fixed_.fast_recovery = params.optional<std::int64_t>("fast_recovery", fixed_.fast_recovery, between(0, 1'000'000));
    r_ai_ = params.optional<Bandwidth>("r_ai");
    r_hai_ = params.optional<Bandwidth>("r_hai");
    // The paper names no minimum; ns-3's model of the NIC has 100 Mb/s.
    fixed_.min_rate = bits_per_second(params.optional<Bandwidth>("min_rate", 100 * kMegabitPerSecond, positive));
    fixed_.hyper = params.choice<Hyper>("hyper", {{"scaled", Hyper::kScaled}, {"plain", Hyper::kPlain}}, Hyper::kScaled);
    fixed_.clamp = params.choice<ClampTarget>(
        "clamp_target", {{"always", ClampTarget::kAlways}, {"after_increase", ClampTarget::kAfterIncrease}},
        ClampTarget::kAlways);
  }

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = false, .cnps = true, .telemetry = false}; }

  // R_AI is 40 Mb/s at 40 Gb/s in the paper; scaled with the line, the fixed point stays in place. R_HAI is ten times that.
  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    const double line = bits_per_second(context.line_rate);
    DcqcnParams params = fixed_;
    params.r_ai = r_ai_ ? bits_per_second(*r_ai_) : line / 1000;
    params.r_hai = r_hai_ ? bits_per_second(*r_hai_) : 10 * params.r_ai;
    return std::make_unique<Dcqcn>(params, line);
  }

 private:
  DcqcnParams fixed_;
  std::optional<Bandwidth> r_ai_;
  std::optional<Bandwidth> r_hai_;
};

}  // namespace

const Registration<CongestionFactory> dcqcn{
    .name = "dcqcn",
    .summary = "rate by CNPs: the SIGCOMM 2015 paper's reaction point, timers and byte counter",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<DcqcnFactory>(params); },
    .model = {.assumes = "Every congestion notification (CNP) cuts the rate by alpha/2. Expiries of a timer and of a byte "
                         "counter bring it back: halfway to the rate before the cut, then beyond it by r_ai, then by r_hai. "
                         "alpha rises with CNPs and decays without. r_ai scales with the line (40 Mb/s at 40 Gb/s). min_rate "
                         "is ns-3's, the paper names none.",
              .leaves_out = {"dcqcn: losses do not slow a sender; DCQCN leaves them to the transport"},
              .sources = {"Zhu et al., Congestion control for large-scale RDMA deployments, SIGCOMM 2015",
                          "models/network §3.1, K15"},
              .files = {"network/congestion/dcqcn_rates.h"}},
};

}  // namespace weft::net
