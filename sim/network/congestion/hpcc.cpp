// HPCC (Li et al., SIGCOMM 2019; models/network §3.2): switches stamp what their ports sent and what waits there, and the
// sender sets its window so that the busiest hop is used to `eta`. Bytes in flight are limited by the window W and paced at
// W/T.
//
// W and its reference W_c are kept as rates, R = W/T with T the base round trip, so W_AI is R_AI. Every ACK computes R from the
// same reference, which moves once per round trip: when an ACK covers a packet sent after it last moved.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/rates.h"

namespace weft::net {
namespace {

struct HpccParams {
  double eta = 0.95;
  std::int64_t max_stage = 0;
  double r_ai = 0;
  double min_rate = 0;
  double line = 0;
  double base_rtt_seconds = 0;  // T
  Bytes packet;
};

class Hpcc final : public CongestionControl {
 public:
  Hpcc(const HpccParams& params, int hops) : params_{params}, rate_{params.line}, reference_{params.line} {
    before_.reserve(static_cast<std::size_t>(std::max(hops, 1)));
  }

  void on_ack(const AckEvent& ack) override {
    if (before_.size() != ack.telemetry.size()) {  // the first ACK, or another path
      before_.assign(ack.telemetry.begin(), ack.telemetry.end());
      if (move_after_ < 0) move_after_ = ack.next;
      return;
    }
    const bool move = ack.acked > move_after_;
    if (measure(ack.telemetry)) react(move);
    if (move) move_after_ = ack.next;
  }

  [[nodiscard]] Bandwidth rate() const override { return to_bandwidth(rate_); }
  // At least a packet, or nothing would ever leave; the rate then does the limiting.
  [[nodiscard]] Bytes window() const override {
    return std::max(params_.packet, Bytes{static_cast<std::int64_t>(rate_ * params_.base_rtt_seconds / 8)});
  }

  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "rate_gbps") return rate_ / 1e9;
    if (name == "reference_rate_gbps") return reference_ / 1e9;
    if (name == "utilisation") return utilisation_;
    if (name == "stage") return static_cast<double>(stage_);
    return CongestionControl::state(name);
  }

 private:
  // u of a hop: what waits there as a share of a round trip's bytes, plus what it sent as a share of what it could have sent.
  // U follows the greatest with a time constant of T. False: no stamp is newer than before.
  bool measure(std::span<const HopTelemetry> telemetry) {
    double greatest = -1;
    double interval_seconds = 0;
    for (std::size_t i = 0; i < telemetry.size(); ++i) {
      const HopTelemetry& hop = telemetry[i];
      HopTelemetry& old = before_[i];
      if (hop.at <= old.at) continue;
      const double seconds = (hop.at - old.at).seconds();
      const double rate = bits_per_second(hop.rate);
      const double waiting = 8 * static_cast<double>(std::min(hop.queue_bytes, old.queue_bytes));
      const double sent = 8 * static_cast<double>(hop.sent_bytes - old.sent_bytes);
      const double u = waiting / (rate * params_.base_rtt_seconds) + sent / (rate * seconds);
      if (u > greatest) {
        greatest = u;
        interval_seconds = seconds;
      }
      old = hop;
    }
    if (greatest < 0) return false;
    const double weight = std::min(interval_seconds, params_.base_rtt_seconds) / params_.base_rtt_seconds;
    utilisation_ = (1 - weight) * utilisation_ + weight * greatest;
    return true;
  }

  void react(bool move) {
    const bool multiplicative = utilisation_ >= params_.eta || stage_ >= params_.max_stage;
    rate_ = reference_ + params_.r_ai;
    if (multiplicative) rate_ = utilisation_ > 0 ? reference_ * params_.eta / utilisation_ + params_.r_ai : params_.line;
    rate_ = std::clamp(rate_, params_.min_rate, params_.line);
    if (!move) return;
    reference_ = rate_;
    stage_ = multiplicative ? 0 : stage_ + 1;
  }

  const HpccParams params_;
  double rate_;                   // R = W/T
  double reference_;              // W_c/T
  double utilisation_ = 1;        // U
  std::int64_t stage_ = 0;        // additive increases in a row
  std::int64_t move_after_ = -1;  // packets sent when the reference last moved
  std::vector<HopTelemetry> before_;
};

class HpccFactory final : public CongestionFactory {
 public:
  explicit HpccFactory(ParamReader& params) {
    fixed_.eta = params.optional<double>("eta", fixed_.eta, kShare);
    fixed_.max_stage = params.optional<std::int64_t>("max_stage", fixed_.max_stage, between(0, 1'000'000));
    r_ai_ = params.optional<Bandwidth>("r_ai");
    base_rtt_ = params.optional<Duration>("base_rtt", positive);
    fixed_.min_rate = bits_per_second(params.optional<Bandwidth>("min_rate", 100 * kMegabitPerSecond, positive));
  }

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = true, .cnps = false, .telemetry = true}; }
  [[nodiscard]] std::optional<Duration> longest_round_trip() const override { return base_rtt_; }

  // R_AI is 10 Mb/s for each 25 Gb/s of the line in the authors' generator.
  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    HpccParams params = fixed_;
    params.line = bits_per_second(context.line_rate);
    params.min_rate = std::min(params.min_rate, params.line);
    params.r_ai = r_ai_ ? bits_per_second(*r_ai_) : 10e6 * params.line / 25e9;
    params.base_rtt_seconds = base_rtt_.value_or(context.base_rtt).seconds();
    params.packet = context.packet;
    WEFT_CHECK(params.base_rtt_seconds > 0);
    return std::make_unique<Hpcc>(params, context.hops);
  }

 private:
  HpccParams fixed_;
  std::optional<Bandwidth> r_ai_;
  std::optional<Duration> base_rtt_;
};

}  // namespace

const Registration<CongestionFactory> hpcc{
    .name = "hpcc",
    .summary = "window and rate by what switches stamp into packets (INT)",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<HpccFactory>(params); },
    .model =
        {.assumes = "The bytes that each port sent and what waits there set the window, so that the busiest hop of the "
                    "path is used to eta. Its reference moves once per round trip. n flows on one link settle at eta + n "
                    "r_ai/line. A path of another length starts afresh, and stamps that are not newer than those before "
                    "are passed over.",
         .leaves_out = {"hpcc: stamps are matched by their place on the path; after a change to a path of equal length the "
                        "first ones compare different ports",
                        "hpcc: losses do not slow a sender"},
         .sources = {"Li et al., HPCC: high precision congestion control, SIGCOMM 2019", "models/network §3.2, K17"}},
};

}  // namespace weft::net
