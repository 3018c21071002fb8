// A static window: so many bytes may be on the way, whatever happens. Rate <= window / RTT (models/network §3.6).
#include <algorithm>
#include <memory>
#include <optional>

#include "sim/core/config/params.h"
#include "sim/network/builtin.h"
#include "sim/network/congestion.h"

namespace weft::net {
namespace {

class StaticWindow final : public CongestionControl {
 public:
  explicit StaticWindow(Bytes size) : size_{size} {}
  [[nodiscard]] Bytes window() const override { return size_; }
  [[nodiscard]] double state(std::string_view name) const override {
    return name == "window_bytes" ? static_cast<double>(size_.count()) : CongestionControl::state(name);
  }

 private:
  Bytes size_;
};

class StaticWindowFactory final : public CongestionFactory {
 public:
  explicit StaticWindowFactory(ParamReader& params) : size_{params.optional<Bytes>("size", positive)} {}

  [[nodiscard]] CongestionNeeds needs() const override { return {.acks = true, .cnps = false, .telemetry = false}; }

  // A window that fills the path without queues, and at least a packet, or nothing would ever leave.
  [[nodiscard]] std::unique_ptr<CongestionControl> make(const CongestionContext& context) const override {
    if (size_) return std::make_unique<StaticWindow>(*size_);
    const Int128 bit_picoseconds = static_cast<Int128>(context.line_rate.bits_per_second()) * context.base_rtt.ps();
    constexpr Int128 kPerByte = static_cast<Int128>(8) * 1'000'000'000'000;
    const Bytes product{static_cast<std::int64_t>((bit_picoseconds + kPerByte - 1) / kPerByte)};
    return std::make_unique<StaticWindow>(std::max(product, context.packet));
  }

 private:
  std::optional<Bytes> size_;
};

}  // namespace

const Registration<CongestionFactory> static_window{
    .name = "window",
    .summary = "a fixed number of bytes on the way; by default the bandwidth-delay product",
    .make = [](ParamReader& params) -> std::unique_ptr<CongestionFactory> {
      return std::make_unique<StaticWindowFactory>(params);
    },
    .model = {.assumes = "The rate is at most window / round trip; by default the window is the bandwidth-delay product.",
              .sources = {"models/network §3.6"}},
};

}  // namespace weft::net
