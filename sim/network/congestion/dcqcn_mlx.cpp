// DCQCN as NICs do it and the simulator of the HPCC paper models it (models/network §3.1, "mlx"): a CNP only sets two flags. An
// alpha event and a decrease event, each every period of its own since the first CNP, consume them; a timer that restarts at
// every cut brings the rate back. The paper's reaction point is dcqcn.
//
// At one instant alpha's event comes first, then the increase, then the decrease; what is due when a CNP comes goes before it.
// None of them is an event of the simulator: advance() catches up, and periods in which nothing could change are stepped over.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/dcqcn_rates.h"

namespace weft::net {
namespace {

using namespace literals;

// The columns of the table in models/network §3.1.
struct Preset {
  std::string_view name;
  double g;
  Duration alpha_period;
  Duration decrease_period;
  Duration rate_timer;
  std::int64_t fast_recovery;
  bool scaled;  // R_AI and R_HAI are 5 and 50 Mb/s; scaled: for each 25 Gb/s of the line
  Bandwidth min_rate;
};
constexpr std::array kPresets{
    Preset{"hpcc_sim", 1.0 / 256, 1_us, 4_us, 300_us, 1, true, 1000 * kMegabitPerSecond},
    Preset{"hpcc_sim_paper", 1.0 / 256, 50_us, 50_us, 55_us, 1, true, 1000 * kMegabitPerSecond},
    Preset{"ns3", 1.0 / 16, 55_us, 4_us, 1500_us, 5, false, 100 * kMegabitPerSecond},
    Preset{"firmware", 5.0 / 1024, 1_us, 4_us, 300_us, 1, false, 1 * kMegabitPerSecond},
};
constexpr double kAdditive = 5e6;
constexpr double kHyper = 50e6;
constexpr double kScaleLine = 25e9;

struct MlxParams {
  double g = 0;
  Duration alpha_period = {};
  Duration decrease_period = {};
  Duration rate_timer = {};
  std::int64_t fast_recovery = 0;  // F
  double r_ai = 0;
  double r_hai = 0;
  double min_rate = 0;
  double rate_on_first_cnp = 1;
  ClampTarget clamp = ClampTarget::kAfterIncrease;
};

class DcqcnMlx final : public CongestionControl {
 public:
  DcqcnMlx(const MlxParams& params, double line) : params_{params}, rates_{line, params.min_rate} {}

  void on_cnp(Time now) override {
    if (alpha_at_ == Time::max()) {  // the first one
      rates_.start_at(params_.rate_on_first_cnp);
      first_ = now;
      alpha_at_ = now + params_.alpha_period;
      decrease_at_ = now + params_.decrease_period;
      if (!rates_.at_line()) increase_at_ = now + params_.rate_timer;
      return;
    }
    advance(now);
    alpha_flag_ = true;
    if (decrease_at_ == Time::max()) decrease_at_ = next_tick(now, params_.decrease_period);
  }

  void advance(Time now) override {
    if (alpha_at_ == Time::max()) return;
    while (std::min(increase_at_, decrease_at_) <= now) {
      const Time at = std::min(increase_at_, decrease_at_);
      advance_alpha(at);
      if (increase_at_ == at) increase();
      if (decrease_at_ == at) decrease();
    }
    advance_alpha(now);
  }

  [[nodiscard]] Time next_update() const override { return std::min(increase_at_, decrease_at_); }
  [[nodiscard]] Bandwidth rate() const override { return to_bandwidth(rates_.current()); }

  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "rate_gbps") return rates_.current() / 1e9;
    if (name == "target_rate_gbps") return rates_.target() / 1e9;
    if (name == "alpha") return alpha_;
    if (name == "stage") return static_cast<double>(stage_);
    return CongestionControl::state(name);
  }

 private:
  // The first tick after `now` of a clock that started with the first CNP.
  [[nodiscard]] Time next_tick(Time now, Duration period) const { return first_ + ((now - first_) / period + 1) * period; }

  void advance_alpha(Time until) {
    while (alpha_at_ <= until) {
      alpha_ = alpha_flag_ ? raised_alpha(alpha_, params_.g) : decayed_alpha(alpha_, params_.g);
      alpha_flag_ = false;
      alpha_at_ = alpha_ == 0 ? next_tick(until, params_.alpha_period) : alpha_at_ + params_.alpha_period;
    }
  }

  void decrease() {
    rates_.cut(alpha_, params_.clamp == ClampTarget::kAlways || stage_ > 0);
    stage_ = 0;
    increase_at_ = decrease_at_ + params_.rate_timer;
    decrease_at_ = Time::max();
  }

  void increase() {
    rates_.recover(stage_ < params_.fast_recovery ? 0 : stage_ == params_.fast_recovery ? params_.r_ai : params_.r_hai);
    ++stage_;
    increase_at_ = rates_.at_line() ? Time::max() : increase_at_ + params_.rate_timer;
  }

  const MlxParams params_;
  DcqcnRates rates_;
  double alpha_ = 1;
  bool alpha_flag_ = false;
  std::int64_t stage_ = 0;          // increases since the last cut
  Time first_;                      // first CNP
  Time alpha_at_ = Time::max();     // next alpha event; max: no CNP yet
  Time decrease_at_ = Time::max();  // next decrease event that finds its flag set
  Time increase_at_ = Time::max();  // max: at line rate
};

class DcqcnMlxFactory final : public CongestionFactory {
 public:
  explicit DcqcnMlxFactory(ParamReader& params) {
    std::vector<std::string> names;
    for (const Preset& known : kPresets) names.emplace_back(known.name);
    const std::string chosen = params.choice("preset", names, names.front());
    const Preset& preset = *std::ranges::find(kPresets, chosen, &Preset::name);
    scaled_ = preset.scaled;
    fixed_.g = params.optional<double>("g", preset.g, kShare);
    fixed_.alpha_period = params.optional<Duration>("alpha_period", preset.alpha_period, kPeriod);
    fixed_.decrease_period = params.optional<Duration>("decrease_period", preset.decrease_period, kPeriod);
    fixed_.rate_timer = params.optional<Duration>("rate_timer", preset.rate_timer, kPeriod);
    fixed_.fast_recovery = params.optional<std::int64_t>("fast_recovery", preset.fast_recovery, between(0, 1'000'000));
    r_ai_ = params.optional<Bandwidth>("r_ai");
    r_hai_ = params.optional<Bandwidth>("r_hai");
    fixed_.min_rate = bits_per_second(params.optional<Bandwidth>("min_rate", preset.min_rate, positive));
    fixed_.rate_on_first_cnp = params.optional<double>("rate_on_first_cnp", fixed_.rate_on_first_cnp, kShare);
    fixed_.clamp = params.choice<ClampTarget>(
        "clamp_target", {{"always", ClampTarget::kAlways}, {"after_increase", ClampTarget::kAfterIncrease}},
        ClampTarget::kAfterIncrease);
  }

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = false, .cnps = true, .telemetry = false}; }

  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    const double line = bits_per_second(context.line_rate);
    const double scale = scaled_ ? line / kScaleLine : 1;
    MlxParams params = fixed_;
    params.r_ai = r_ai_ ? bits_per_second(*r_ai_) : kAdditive * scale;
    params.r_hai = r_hai_ ? bits_per_second(*r_hai_) : kHyper * scale;
    return std::make_unique<DcqcnMlx>(params, line);
  }

 private:
  MlxParams fixed_;
  bool scaled_ = false;
  std::optional<Bandwidth> r_ai_;
  std::optional<Bandwidth> r_hai_;
};

}  // namespace

const Registration<CongestionFactory> dcqcn_mlx{
    .name = "dcqcn_mlx",
    .summary = "rate by CNPs as NICs do it: alpha and cuts on timers of their own",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<DcqcnMlxFactory>(params); },
    .model = {.assumes = "CNPs set flags that timers consume: alpha is updated and the rate cut by timers of their own, which "
                         "look whether a CNP came in between. Increases are staged by the rate timer, which restarts at a "
                         "cut. preset: hpcc_sim, hpcc_sim_paper, ns3 or firmware sets the defaults of all other keys.",
              .leaves_out = {"dcqcn_mlx: stages are counted by the timer only; firmware's byte counter is left out",
                             "dcqcn_mlx: losses do not slow a sender; DCQCN leaves them to the transport"},
              .sources = {"models/network §3.1 (policy and columns of parameters)"},
              .files = {"network/congestion/dcqcn_rates.h"}},
};

}  // namespace weft::net
