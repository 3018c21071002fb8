// InfiniBand's congestion control at the source (IBA vol. 1, annex A10; models/network §4): every BECN raises an index into the
// congestion control table (CCT), and a timer lowers it again by one. The table's entry is the injection rate delay, in times
// of the packet sent: after a packet of t the next one waits entry x t, so that the rate is line / (1 + entry). An entry of the
// standard's table is multiplier / 2^shift.
//
// Marks come from switches with `fecn`, BECNs as congestion notifications; cnp_interval: 0 ns returns one for each mark.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"
#include "sim/network/congestion/rates.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr std::int64_t kTableEntries = 128;  // of the linear table, two blocks of 64

struct IbCcParams {
  std::vector<double> table;  // injection rate delays, in packet times
  std::int64_t increase = 1;
  std::int64_t least = 0;
  Duration timer = 150 * 1'024_ns;  // the standard counts it in units of 1.024 us
};

class IbCc final : public CongestionControl {
 public:
  IbCc(std::shared_ptr<const IbCcParams> params, double line)
      : params_{std::move(params)}, line_{line}, index_{params_->least} {}

  void on_cnp(Time now) override {
    advance(now);
    if (index_ == params_->least) lower_at_ = now + params_->timer;
    index_ = std::min(index_ + params_->increase, static_cast<std::int64_t>(params_->table.size()) - 1);
    if (index_ == params_->least) lower_at_ = Time::max();
  }

  void advance(Time now) override {
    while (lower_at_ <= now) {
      --index_;
      lower_at_ = index_ == params_->least ? Time::max() : lower_at_ + params_->timer;
    }
  }

  [[nodiscard]] Time next_update() const override { return lower_at_; }
  [[nodiscard]] Bandwidth rate() const override { return to_bandwidth(limit()); }

  [[nodiscard]] double state(std::string_view name) const override {
    if (name == "rate_gbps") return limit() / 1e9;
    if (name == "ccti") return static_cast<double>(index_);
    return CongestionControl::state(name);
  }

 private:
  [[nodiscard]] double limit() const { return line_ / (1 + params_->table[static_cast<std::size_t>(index_)]); }

  std::shared_ptr<const IbCcParams> params_;  // of all queue pairs
  double line_;
  std::int64_t index_;           // CCTI
  Time lower_at_ = Time::max();  // max: at its least value
};

class IbCcFactory final : public CongestionFactory {
 public:
  explicit IbCcFactory(ParamReader& params) {
    IbCcParams fixed;
    fixed.table = params.list<double>("table", between(0.0, 1e6));
    if (fixed.table.empty()) {
      for (std::int64_t i = 0; i < kTableEntries; ++i) fixed.table.push_back(static_cast<double>(i));
    }
    fixed.increase = params.optional<std::int64_t>("ccti_increase", fixed.increase, between(1, 255));
    fixed.timer = params.optional<Duration>("ccti_timer", fixed.timer, kPeriod);
    const auto last = static_cast<std::int64_t>(fixed.table.size()) - 1;
    fixed.least = params.optional<std::int64_t>("ccti_min", fixed.least, between(std::int64_t{0}, last));
    fixed_ = std::make_shared<const IbCcParams>(std::move(fixed));
  }

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = false, .cnps = true, .telemetry = false}; }

  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    return std::make_unique<IbCc>(fixed_, bits_per_second(context.line_rate));
  }

 private:
  std::shared_ptr<const IbCcParams> fixed_;
};

}  // namespace

const Registration<CongestionFactory> ib_cc{
    .name = "ib_cc",
    .summary = "InfiniBand's: BECNs climb a table of injection delays, a timer steps down",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> { return std::make_unique<IbCcFactory>(params); },
    .model = {.assumes = "Every BECN raises the index into the table by ccti_increase, and every ccti_timer lowers it by one, "
                         "not below ccti_min. An entry is the delay after a packet, in times of that packet: the rate is line "
                         "/ (1 + entry). The table is 0, 1, ... 127 where none is stated, the timer 150 units of 1.024 us.",
              .leaves_out = {"ib_cc: the index is of the queue pair, not of the service level; the timer starts with the BECN "
                             "that raises the index from its least value; losses do not slow a sender"},
              .sources = {"InfiniBand Architecture Specification, volume 1, annex A10", "models/network §4"}},
};

}  // namespace weft::net
