// PCI Express 3 to 6 (models/network §1.4): rate from signalling, lanes and coding, efficiency from the size of TLPs.
//
//   rate       = GT/s x lanes x 128/130          gen 3 to 5
//              = GT/s x lanes x 236/256          gen 6: bytes of a 256-byte flit that TLPs may use
//   efficiency = MPS / (MPS + overhead) x (1 - dllp_share) x protocol efficiency
//
// `overhead` of a posted write is 24 B: framing 4, header 16 (64-bit address), LCRC 4; gen 6 flits frame and check by
// themselves, which leaves the 16-B header. A read sends one such request, without payload, per MRRS bytes the other way.
#include <memory>
#include <string>

#include "sim/core/model_text.h"
#include "sim/network/builtin.h"

namespace weft::net {
namespace {

// All types of this file share this text.
constexpr ModelText kPcieText{
    .title = "PCI Express: rate from lanes and coding, efficiency from the size of TLPs",
    .assumes =
        "rate = GT/s x lanes x 128/130 (gen 6: 236/256, the bytes of a flit that TLPs may use); efficiency = "
        "MPS / (MPS + 24 B) (gen 6: 16 B) x (1 - dllp_share) x what the profile says. A read sends one "
        "header per MRRS bytes the other way.",
    .leaves_out =
        {"PCIe: completions are charged as writes, unless a link states their size, completion: 64 B: then those of flow "
         "fidelity have their own overhead (20 B, gen 6: 12 B); those of packets have that of the flow's packets",
         "PCIe: limits by tags and credits belong to packet fidelity"},
    .sources = {"PCI Express Base Specification 3.0 to 6.0", "models/network §1.4"}};

using namespace literals;

struct PcieTimings {
  Bytes mps{256};         // maximum payload size
  Bytes mrrs{512};        // maximum read request size
  double dllp_share = 0;  // of the rate, for acknowledgements and credit updates
  double efficiency = 1;  // what measurement leaves of the formula
  Duration latency = 50_ns;
  Duration switch_latency = 115_ns;
};

// One struct a generation, so that each has a group of its own.
template <int kGeneration>
struct PcieTimingsOf : PcieTimings {};

template <int kGeneration>
ParamGroup<PcieTimingsOf<kGeneration>> pcie_group() {
  using Timings = PcieTimingsOf<kGeneration>;
  const std::string generation = std::to_string(kGeneration);
  return ParamGroup<Timings>{
      "network.pcie" + generation,
      "behaviour of PCI Express " + generation,
      {param<Timings, Bytes>("mps", &PcieTimings::mps,
                             {.min = 128_B,
                              .max = 4_KiB,
                              .source = ParamSource::kLiterature,
                              .reference = "models/network §1.4",
                              .description = "maximum payload size of a TLP"}),
       param<Timings, Bytes>("mrrs", &PcieTimings::mrrs,
                             {.min = 128_B,
                              .max = 4_KiB,
                              .source = ParamSource::kLiterature,
                              .reference = "models/network §1.4",
                              .description = "maximum read request size"}),
       param<Timings, double>("dllp_share", &PcieTimings::dllp_share,
                              {.unit = "ratio",
                               .min = 0.0,
                               .max = 0.5,
                               .source = ParamSource::kAssumed,
                               .reference = "1.4 % where one pair serves 4 TLPs (models/network §1.4)",
                               .description = "share of the rate taken by acknowledgements and credit updates"}),
       param<Timings, double>("efficiency", &PcieTimings::efficiency,
                              {.unit = "ratio",
                               .min = 1e-3,
                               .max = 1.0,
                               .source = ParamSource::kAssumed,
                               .description = "what measurement leaves of the TLP formula"}),
       param<Timings, Duration>("latency", &PcieTimings::latency,
                                {.max = Duration::from_us(1'000),
                                 .source = ParamSource::kAssumed,
                                 .description = "propagation and PHY of one link"}),
       param<Timings, Duration>("switch_latency", &PcieTimings::switch_latency,
                                {.max = Duration::from_us(1'000),
                                 .source = ParamSource::kLiterature,
                                 .reference = "models/network §1.4, port to port",
                                 .description = "port to port, through a PCIe switch"})}};
}

const auto pcie3_group = pcie_group<3>();
const auto pcie4_group = pcie_group<4>();
const auto pcie5_group = pcie_group<5>();
const auto pcie6_group = pcie_group<6>();

// A completion's header has three double words, that of a write to a 64-bit address four.
constexpr Bytes kShorterHeader{4};

struct PcieFacts {
  std::string_view type;
  std::int64_t transfers_per_second = 0;  // bits, per lane
  std::int64_t coded = 1;                 // payload bits of a coding block, and all of them
  std::int64_t block = 1;
  Bytes overhead;
  const ParamGroupBase* group = nullptr;
  PcieTimings (*timings)(const Profile&) = nullptr;
};

template <const auto& kGroup>
PcieTimings read_pcie(const Profile& profile) {
  return profile.get(kGroup);
}

class Pcie final : public LinkType {
 public:
  explicit Pcie(const PcieFacts& facts) : facts_{facts} {}

  [[nodiscard]] LinkMedium medium() const override { return LinkMedium::kPcie; }

  [[nodiscard]] LinkParams read(ParamReader& params) const override {
    LinkParams read;
    read.width = params.optional<std::int64_t>("lanes", between(1, 32));
    if (read.width && (*read.width & (*read.width - 1)) != 0) {
      params.error("lanes", "PCIe links have 1, 2, 4, 8, 16 or 32 lanes, got " + std::to_string(*read.width));
    }
    read.latency = params.optional<Duration>("latency");
    read.payload = params.optional<Bytes>("payload", between(128_B, 4_KiB));
    read.completion = params.optional<Bytes>("completion", between(64_B, 4_KiB));
    if (read.completion && read.payload && *read.completion > *read.payload) {
      params.error("completion", "is above 'payload', the most that a TLP carries");
    }
    if (const auto efficiency = params.optional<Ratio>("efficiency", between(Ratio{1e-3}, Ratio{1.0}))) {
      read.efficiency = efficiency->value;
    }
    return read;
  }

  [[nodiscard]] LinkSpec spec(const LinkParams& params, const Profile& profile) const override {
    const PcieTimings timed = facts_.timings(profile);
    const std::int64_t lanes = params.width.value_or(16);
    const Bytes payload = params.payload.value_or(timed.mps);
    const auto payload_bytes = static_cast<double>(payload.count());
    const double formula = payload_bytes / (payload_bytes + static_cast<double>(facts_.overhead.count()));
    double read_factor = 1;
    if (params.completion) {
      const auto bytes = static_cast<double>(params.completion->count());
      read_factor = formula * (bytes + static_cast<double>((facts_.overhead - kShorterHeader).count())) / bytes;
    }
    // The quotient is a fraction of a bit per second away from whole bits at most, so it is cut once, for all lanes together.
    const Bandwidth rate = Bandwidth::from_bits_per_second(facts_.transfers_per_second * lanes * facts_.coded / facts_.block);
    return LinkSpec{.type = std::string{facts_.type},
                    .rate = params.rate.value_or(rate),
                    .efficiency = params.efficiency.value_or(formula * (1 - timed.dllp_share) * timed.efficiency),
                    .latency = params.latency.value_or(timed.latency),
                    .width = static_cast<int>(lanes),
                    .packet = payload,
                    .overhead = facts_.overhead,
                    .read_overhead = static_cast<double>(facts_.overhead.count()) / static_cast<double>(timed.mrrs.count()),
                    .read_factor = read_factor};
  }

  [[nodiscard]] Duration switch_latency(const Profile& profile) const override {
    return facts_.timings(profile).switch_latency;
  }
  [[nodiscard]] const ParamGroupBase* group() const override { return facts_.group; }

 private:
  PcieFacts facts_;
};

template <const auto& kGroup>
std::unique_ptr<LinkType> make(std::string_view type, std::int64_t transfers_per_second) {
  const bool flits = transfers_per_second >= 64'000'000'000;
  return std::make_unique<Pcie>(PcieFacts{.type = type,
                                          .transfers_per_second = transfers_per_second,
                                          .coded = flits ? 236 : 128,
                                          .block = flits ? 256 : 130,
                                          .overhead = flits ? 16_B : 24_B,
                                          .group = &kGroup,
                                          .timings = &read_pcie<kGroup>});
}

}  // namespace

const Registration<LinkType> pcie3{
    .name = "pcie3",
    .summary = "PCI Express 3: 8 GT/s per lane, 15.75 GB/s per direction on 16 lanes",
    .make = [](ParamReader&) { return make<pcie3_group>("pcie3", 8'000'000'000); },
    .model = kPcieText,
};
const Registration<LinkType> pcie4{
    .name = "pcie4",
    .summary = "PCI Express 4: 16 GT/s per lane, 31.5 GB/s per direction on 16 lanes",
    .make = [](ParamReader&) { return make<pcie4_group>("pcie4", 16'000'000'000); },
    .model = kPcieText,
};
const Registration<LinkType> pcie5{
    .name = "pcie5",
    .summary = "PCI Express 5: 32 GT/s per lane, 63 GB/s per direction on 16 lanes",
    .make = [](ParamReader&) { return make<pcie5_group>("pcie5", 32'000'000'000); },
    .model = kPcieText,
};
const Registration<LinkType> pcie6{
    .name = "pcie6",
    .summary = "PCI Express 6: 64 GT/s per lane, 118 GB/s for TLPs per direction on 16 lanes",
    .make = [](ParamReader&) { return make<pcie6_group>("pcie6", 64'000'000'000); },
    .model = kPcieText,
};

}  // namespace weft::net
