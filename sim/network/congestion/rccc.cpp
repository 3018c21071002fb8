// RCCC, the receiver-credit congestion control of Ultra Ethernet (UEC 1.0; models/network §3.5): a destination grants credit to
// its sources in turn, as fast as its link takes what they send for it. This is the source's side; transport_credits.cpp has
// the destination's.
//
// A source begins with an optimistic window of credit that nobody granted. Every packet costs its bytes on the wire, and with
// credit left, however little, one may go. With every packet the source states its demand: what is left to send, a window at
// most, less the credit that it has. From the first grant or trim on it spends only what was granted. What a switch trims the
// destination grants again without being asked, so that both count trims. A source that waits for no grant sends one packet
// without credit, which states what it needs now.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/rates.h"

namespace weft::net {
namespace {

constexpr double kLeastRate = 0.01;  // of a link: below it timeouts are shorter than turns

class Rccc final : public CongestionControl {
 public:
  // `inner`: NSCC beside it; may be null.
  Rccc(double optimistic, const CongestionContext& context, std::unique_ptr<CongestionControl> inner)
      : packet_{context.packet.count()},
        window_{std::max<std::int64_t>(
            std::llround(optimistic * bits_per_second(context.line_rate) / 8 * context.base_rtt.seconds()), packet_)},
        credit_{window_},
        inner_{std::move(inner)} {}

  void on_sent(Time now, Bytes wire) override {
    credit_ -= wire.count();
    if (inner_ != nullptr) inner_->on_sent(now, wire);
  }
  void on_ack(const AckEvent& ack) override {
    if (inner_ != nullptr) inner_->on_ack(ack);
  }
  void on_trim(Time now, Bytes wire, Bytes in_flight) override {
    stop_optimism();
    ++trims_;
    if (inner_ != nullptr) inner_->on_trim(now, wire, in_flight);
  }
  // Whatever was asked for may be lost too.
  void on_loss(Time now) override {
    stop_optimism();
    asked_ = received_ - trims_;
    if (inner_ != nullptr) inner_->on_loss(now);
  }
  void on_credit(Time /*now*/, std::uint16_t granted) override {
    const auto more = static_cast<std::int16_t>(granted - static_cast<std::uint16_t>(received_));
    if (more <= 0) return;  // an older word
    stop_optimism();
    received_ += more;
    credit_ += more * packet_;
  }
  void restart(Time /*now*/) override {
    credit_ = window_;
    is_optimistic_ = true;
  }
  [[nodiscard]] bool has_credit() const override { return credit_ > 0 || asked_ + trims_ <= received_; }
  std::uint16_t credit_target(Bytes backlog) override {
    std::int64_t most = window_;
    if (inner_ != nullptr && inner_->window() < Bytes::max()) most = std::min(most, inner_->window().count() + packet_);
    const std::int64_t bytes = std::max<std::int64_t>(std::min(backlog.count(), most) - credit_, 0);
    asked_ = std::max(asked_, received_ - trims_ + (bytes + packet_ - 1) / packet_);
    return static_cast<std::uint16_t>(asked_);
  }

  [[nodiscard]] Bytes window() const override { return inner_ == nullptr ? Bytes::max() : inner_->window(); }
  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "credit_bytes") return static_cast<double>(credit_);
    if (name == "granted_bytes") return static_cast<double>(received_ * packet_);
    return inner_ == nullptr ? CongestionControl::state(name) : inner_->state(name);
  }

 private:
  void stop_optimism() {
    if (is_optimistic_) credit_ = std::min<std::int64_t>(credit_, 0);
    is_optimistic_ = false;
  }

  const std::int64_t packet_;  // bytes on the wire
  const std::int64_t window_;  // bytes
  std::int64_t credit_;        // bytes; below 0: owed
  std::int64_t received_ = 0;  // packets granted, as far as it has heard
  std::int64_t asked_ = 0;     // packets that it wants granted beside those trimmed
  std::int64_t trims_ = 0;
  bool is_optimistic_ = true;
  std::unique_ptr<CongestionControl> inner_;
};

class RcccFactory final : public CongestionFactory {
 public:
  explicit RcccFactory(ParamReader& params) {
    optimistic_ = params.optional<double>("optimistic_window", optimistic_, positive);
    grants_.share = params.optional<Ratio>("credit_rate", Ratio{grants_.share}, between(Ratio{kLeastRate}, Ratio{1.0})).value;
    grants_.packets = static_cast<int>(params.optional<std::int64_t>("credit_packets", grants_.packets, between(1, 1'024)));
    if (auto beside = params.optional_map("nscc")) {
      nscc_ = nscc.make(*beside);
      beside->finish();
    }
  }

  [[nodiscard]] CongestionNeeds needs() const override {
    return {.acks = true, .cnps = false, .telemetry = false, .credits = true};
  }
  [[nodiscard]] CreditGrants grants() const override { return grants_; }
  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    return std::make_unique<Rccc>(optimistic_, context, nscc_ == nullptr ? nullptr : nscc_->make(context));
  }

 private:
  double optimistic_ = 1.5;  // BDP
  CreditGrants grants_ = {.share = 0.99, .packets = 4};
  std::unique_ptr<CongestionFactory> nscc_;
};

}  // namespace

const Registration<CongestionFactory> rccc{
    .name = "rccc",
    .summary = "credits that the destination grants its sources in turn, at its link's rate: Ultra Ethernet's receiver control",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<RcccFactory>(params); },
    .model = {.assumes =
                  "A source begins with an optimistic window, states its demand with every packet, and from the first grant "
                  "or trim on sends only what it has credit for. The destination serves the sources that want credit round "
                  "robin, some packets each, at a share of its link's rate. Credits are packets of an acknowledgement's "
                  "size, and acknowledgements repeat them. Trimmed packets are granted again. With `nscc` that window "
                  "holds too.",
              .leaves_out =
                  {"rccc: a source that has nothing to send or on its way begins with its optimistic window again, where "
                   "uet-htsim's destinations grant idle sources credit when nobody else wants any",
                   "rccc: a packet without credit stands for the credit request of a source that is granted nothing",
                   "rccc: uet-htsim divides a demand by the flows that wait for their source's link, and asks for a packet "
                   "at least while the optimistic window lasts",
                   "rccc: flows under another control take nothing from what their destination grants",
                   "rccc: a destination grants for each of its links apart; ordered delivery has no credits"},
              .sources = {"Ultra Ethernet Consortium, UEC specification 1.0, 2025, congestion management sublayer",
                          "models/network §3.5 (values of the consortium's htsim, uet-htsim)"}},
};

}  // namespace weft::net
