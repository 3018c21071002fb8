// InfiniBand and Ethernet (RoCEv2) links of the fabric between hosts (models/network §1.7, §1.8).
//
//   efficiency = payload / (payload + headers) x protocol efficiency
//
// Headers of a full packet: InfiniBand 26 B (LRH 8, BTH 12, ICRC 4, VCRC 2); RoCEv2 82 B (preamble 8, Ethernet 14, IPv4 20, UDP
// 8, BTH 12, ICRC 4, FCS 4, gap 12); `header` states another size, 0 B for bare packets. The 16 B of RETH in the first packet
// of a write are left out. The rate is that of the data (IB) or of the MAC (Ethernet): coding and forward error correction are
// behind it, and show in the latency.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/model_text.h"
#include "sim/network/builtin.h"
#include "sim/network/links/bonded_link.h"

namespace weft::net {
namespace {

// All types of this file share this text.
constexpr ModelText kFabricLinkText{
    .title = "links of the fabric between hosts: InfiniBand, and Ethernet with RoCEv2",
    .assumes =
        "efficiency = payload / (payload + headers) x what the profile says, for packets of `mtu` bytes: 26 "
        "B of headers for InfiniBand, 82 B for RoCEv2. The rate is that of the data (InfiniBand) or of the "
        "MAC (Ethernet).",
    .leaves_out = {"fabric links: the 16 B of RETH in the first packet of a write are left out",
                   "fabric links: coding and forward error correction show in the latency only; cables do not fail or "
                   "lose packets"},
    .sources = {"models/network §1.7, §1.8 (headers, rates), §1.9 (latencies)"}};

using namespace literals;

// 5 m of cable and 120 ns of forward error correction make 150 ns per link; NDR switches 200 ns, Ethernet ones 600 ns
// (models/network §1.9).
constexpr LinkTimings kInfiniband{.efficiency = 1.0, .latency = 150_ns, .switch_latency = 200_ns};
constexpr LinkTimings kEthernet{.efficiency = 1.0, .latency = 150_ns, .switch_latency = 600_ns};

const auto infiniband_group = timings_group<kInfiniband>("infiniband", "InfiniBand links and switches", ParamSource::kAssumed,
                                                         "headers are computed; nothing else is lost");
const auto ethernet_group = timings_group<kEthernet>("ethernet", "Ethernet (RoCEv2) links and switches", ParamSource::kAssumed,
                                                     "headers are computed; congestion control left out");

struct NamedRate {
  std::string_view name;
  Bandwidth rate;  // of a 4x port
};

// models/network §1.7. FDR is 4 x 14.0625 Gb/s x 64/66.
constexpr std::array kInfinibandRates{
    NamedRate{"sdr", 8_Gbps},
    NamedRate{"ddr", 16_Gbps},
    NamedRate{"qdr", 32_Gbps},
    NamedRate{"fdr10", 40_Gbps},
    NamedRate{"fdr", Bandwidth::from_bits_per_second(54'545'454'545)},
    NamedRate{"edr", 100_Gbps},
    NamedRate{"hdr", 200_Gbps},
    NamedRate{"ndr", 400_Gbps},
    NamedRate{"xdr", 800_Gbps},
};

constexpr Bytes kMaxHeaders{1'024};

struct FabricFacts {
  std::string_view type;
  Bytes headers;
  Bytes max_payload;
  std::span<const NamedRate> names;
  const ParamGroupBase* group = nullptr;
  LinkTimings (*timings)(const Profile&) = nullptr;
};

class FabricLink final : public LinkType {
 public:
  explicit FabricLink(const FabricFacts& facts) : facts_{facts} {}

  [[nodiscard]] LinkMedium medium() const override { return LinkMedium::kNetwork; }

  [[nodiscard]] LinkParams read(ParamReader& params) const override {
    LinkParams read;
    read.rate = read_rate(params);
    read.latency = params.optional<Duration>("latency");
    read.payload = params.optional<Bytes>("mtu", between(64_B, facts_.max_payload));
    read.headers = params.optional<Bytes>("header", at_most(kMaxHeaders));
    if (const auto efficiency = params.optional<Ratio>("efficiency", between(Ratio{1e-3}, Ratio{1.0}))) {
      read.efficiency = efficiency->value;
    }
    return read;
  }

  [[nodiscard]] LinkSpec spec(const LinkParams& params, const Profile& profile) const override {
    const LinkTimings timed = facts_.timings(profile);
    const Bytes payload = params.payload.value_or(4_KiB);
    const auto payload_bytes = static_cast<double>(payload.count());
    const Bytes headers = params.headers.value_or(facts_.headers);
    const double formula = payload_bytes / (payload_bytes + static_cast<double>(headers.count()));
    return LinkSpec{.type = std::string{facts_.type},
                    .rate = params.rate.value_or(400_Gbps),
                    .efficiency = params.efficiency.value_or(formula * timed.efficiency),
                    .latency = params.latency.value_or(timed.latency),
                    .width = static_cast<int>(params.width.value_or(1)),
                    .packet = payload,
                    .overhead = headers,
                    .read_overhead = 0};
  }

  [[nodiscard]] Duration switch_latency(const Profile& profile) const override {
    return facts_.timings(profile).switch_latency;
  }
  [[nodiscard]] const ParamGroupBase* group() const override { return facts_.group; }

 private:
  // A bandwidth, or where the type has them the name of a standard rate.
  [[nodiscard]] std::optional<Bandwidth> read_rate(ParamReader& params) const {
    if (!facts_.names.empty()) {
      const std::optional<ConfigNode> written = params.node().find("rate");
      if (written && written->is_scalar()) {
        for (const NamedRate& named : facts_.names) {
          if (written->scalar() == named.name) {
            static_cast<void>(params.optional_raw("rate"));
            return named.rate;
          }
        }
      }
    }
    return params.required<Bandwidth>("rate", positive);
  }

  FabricFacts facts_;
};

}  // namespace

const Registration<LinkType> infiniband{
    .name = "infiniband",
    .summary = "InfiniBand: rate as a bandwidth or by name (edr, hdr, ndr, xdr ...), 26 B of headers per packet",
    .make = [](ParamReader&) -> std::unique_ptr<LinkType> {
      return std::make_unique<FabricLink>(FabricFacts{.type = "infiniband",
                                                      .headers = 26_B,
                                                      .max_payload = 4_KiB,
                                                      .names = kInfinibandRates,
                                                      .group = &infiniband_group,
                                                      .timings = &read_timings<infiniband_group>});
    },
    .model = kFabricLinkText,
};
const Registration<LinkType> ethernet{
    .name = "ethernet",
    .summary = "Ethernet with RoCEv2: 82 B of headers per packet",
    .make = [](ParamReader&) -> std::unique_ptr<LinkType> {
      return std::make_unique<FabricLink>(FabricFacts{.type = "ethernet",
                                                      .headers = 82_B,
                                                      .max_payload = Bytes{9'216},
                                                      .names = {},
                                                      .group = &ethernet_group,
                                                      .timings = &read_timings<ethernet_group>});
    },
    .model = kFabricLinkText,
};

}  // namespace weft::net
