// NVLink 1 to 6 (models/network §1.1) and AMD's Infinity Fabric between GPUs. A link is `width` bonded links; a GPU stripes
// its traffic over all of them, so one fat link stands for them (models/network §1.2).
#include <memory>

#include "sim/core/model_text.h"
#include "sim/network/builtin.h"
#include "sim/network/links/bonded_link.h"

namespace weft::net {
namespace {

// All types of this file share this text.
constexpr ModelText kNvlinkText{
    .title = "NVLink 1 to 6, and AMD's Infinity Fabric between GPUs",
    .assumes =
        "`width` bonded links are one fat link, as a GPU stripes its traffic over all of them. The quoted "
        "rate is the rate; `efficiency` is the share that measurement finds for payload.",
    .leaves_out = {"NVLink: forward error correction shows in the latency only",
                   "NVLink: the measured efficiency covers headers, responses on the reverse direction and credit "
                   "returns alike; the overhead that a link states serves packet fidelity only",
                   "NVLink 6 behaves like NVLink 5, at its own rate"},
    .sources = {"models/network §1.1 (rates, measured efficiency, latency), §1.2 (bonding)", "AMD Instinct MI300X data sheet"}};

using namespace literals;

// A packet is a 16-byte header flit and up to 16 data flits; SM stores and copy engines mostly make 128-byte ones. A read sends
// a one-flit request the other way (models/network §1.1).
constexpr Bytes kNvlinkPayload{128};
constexpr Bytes kHeaderFlit{16};
constexpr double kReadRequest = 16.0 / 128.0;

// Measured shares, models/network §1.1: a P100 pair copies 18.3 of 20 GB/s; a V100 pair 47.9 of 50; all-reduce bus bandwidth
// is 235 of 300 on A100, 367 of 450 on H200, 682 of 900 on B200. Link and NVSwitch latency: 100 ns each (models/network §1.1).
constexpr LinkTimings kGen1{.efficiency = 0.915, .latency = 100_ns, .switch_latency = 100_ns};
constexpr LinkTimings kGen2{.efficiency = 0.958, .latency = 100_ns, .switch_latency = 100_ns};
constexpr LinkTimings kGen3{.efficiency = 0.78, .latency = 100_ns, .switch_latency = 100_ns};
constexpr LinkTimings kGen4{.efficiency = 0.82, .latency = 100_ns, .switch_latency = 100_ns};
constexpr LinkTimings kGen5{.efficiency = 0.76, .latency = 100_ns, .switch_latency = 100_ns};
constexpr LinkTimings kGen6{.efficiency = 0.76, .latency = 100_ns, .switch_latency = 100_ns};
// AMD gives 64 GB/s per link and direction (MI300X data sheet: 128 GB/s bidirectional, seven links) and about 48 GB/s of it as
// reachable by payload.
constexpr LinkTimings kInfinityFabric{.efficiency = 0.75, .latency = 100_ns, .switch_latency = 100_ns};

const char* const kMeasured = "models/network §1.1, measured efficiency";
const auto nvlink1_group = timings_group<kGen1>("nvlink1", "NVLink 1 (P100)", ParamSource::kLiterature, kMeasured);
const auto nvlink2_group = timings_group<kGen2>("nvlink2", "NVLink 2 (V100)", ParamSource::kLiterature, kMeasured);
const auto nvlink3_group = timings_group<kGen3>("nvlink3", "NVLink 3 (A100)", ParamSource::kLiterature, kMeasured);
const auto nvlink4_group = timings_group<kGen4>("nvlink4", "NVLink 4 (H100, H200)", ParamSource::kLiterature, kMeasured);
const auto nvlink5_group = timings_group<kGen5>("nvlink5", "NVLink 5 (B200, GB200)", ParamSource::kLiterature, kMeasured);
const auto nvlink6_group = timings_group<kGen6>("nvlink6", "NVLink 6 (Rubin)", ParamSource::kAssumed, "as NVLink 5");
const auto infinity_fabric_group = timings_group<kInfinityFabric>("infinity_fabric", "Infinity Fabric between GPUs (MI300X)",
                                                                  ParamSource::kAssumed, "about 48 of 64 GB/s per link");

template <const auto& kGroup>
std::unique_ptr<LinkType> make(std::string_view type, Bandwidth rate_per_link) {
  return std::make_unique<BondedLink>(BondedFacts{.type = type,
                                                  .medium = LinkMedium::kNvlink,
                                                  .rate_per_link = rate_per_link,
                                                  .packet = kNvlinkPayload,
                                                  .overhead = kHeaderFlit,
                                                  .read_overhead = kReadRequest,
                                                  .group = &kGroup,
                                                  .timings = &read_timings<kGroup>});
}

}  // namespace

const Registration<LinkType> nvlink1{
    .name = "nvlink1",
    .summary = "NVLink 1 (P100): 20 GB/s per link and direction",
    .make = [](ParamReader&) { return make<nvlink1_group>("nvlink1", 20_GBps); },
    .model = kNvlinkText,
};
const Registration<LinkType> nvlink2{
    .name = "nvlink2",
    .summary = "NVLink 2 (V100): 25 GB/s per link and direction",
    .make = [](ParamReader&) { return make<nvlink2_group>("nvlink2", 25_GBps); },
    .model = kNvlinkText,
};
const Registration<LinkType> nvlink3{
    .name = "nvlink3",
    .summary = "NVLink 3 (A100): 25 GB/s per link and direction",
    .make = [](ParamReader&) { return make<nvlink3_group>("nvlink3", 25_GBps); },
    .model = kNvlinkText,
};
const Registration<LinkType> nvlink4{
    .name = "nvlink4",
    .summary = "NVLink 4 (H100, H200): 25 GB/s per link and direction",
    .make = [](ParamReader&) { return make<nvlink4_group>("nvlink4", 25_GBps); },
    .model = kNvlinkText,
};
const Registration<LinkType> nvlink5{
    .name = "nvlink5",
    .summary = "NVLink 5 (B200, GB200): 50 GB/s per link and direction",
    .make = [](ParamReader&) { return make<nvlink5_group>("nvlink5", 50_GBps); },
    .model = kNvlinkText,
};
const Registration<LinkType> nvlink6{
    .name = "nvlink6",
    .summary = "NVLink 6 (Rubin): 50 GB/s per link and direction",
    .make = [](ParamReader&) { return make<nvlink6_group>("nvlink6", 50_GBps); },
    .model = kNvlinkText,
};
const Registration<LinkType> infinity_fabric{
    .name = "infinity_fabric",
    .summary = "Infinity Fabric between GPUs (MI300X): 64 GB/s per link and direction",
    .make = [](ParamReader&) { return make<infinity_fabric_group>("infinity_fabric", 64_GBps); },
    .model = kNvlinkText,
};

}  // namespace weft::net
