// Links between CPU sockets (QPI, UPI, xGMI and any other), between a CPU and its own GPU (NVLink-C2C), and the attachment of
// virtual devices that never limits (models/network §1.1, §1.5).
#include <memory>

#include "sim/core/model_text.h"
#include "sim/network/builtin.h"
#include "sim/network/links/bonded_link.h"

namespace weft::net {
namespace {

// All types of this file share this text.
constexpr ModelText kSocketText{
    .title =
        "links between CPU sockets, between a CPU and its own GPU (NVLink-C2C), and attachments that never "
        "limit",
    .assumes =
        "Raw rates are the data sheets'; `efficiency` is the planning value of NCCL over the raw rate of one "
        "link (C2C: measured).",
    .leaves_out = {"sockets: a device's traffic reaches far less than the raw rate (ordering, 64-byte splitting); one "
                   "number stands for it",
                   "sockets: traffic of the CPUs themselves is not simulated"},
    .sources = {"models/network §1.1 (C2C), §1.5 (sockets)", "models/nccl §1.2 (local: 5000 GB/s)"}};

using namespace literals;

constexpr Bytes kCacheLine{64};

// Planning values over raw ones, models/network §1.5. Across sockets loads take 100 to 150 ns more.
constexpr LinkTimings kQpi{.efficiency = 6.0 / 19.2, .latency = 120_ns, .switch_latency = {}};
constexpr LinkTimings kUpi{.efficiency = 10.0 / 20.8, .latency = 120_ns, .switch_latency = {}};
constexpr LinkTimings kUpi2{.efficiency = 22.0 / 32.0, .latency = 120_ns, .switch_latency = {}};
constexpr LinkTimings kXgmi{.efficiency = 16.0 / 32.0, .latency = 150_ns, .switch_latency = {}};
// 359 to 377 of 450 GB/s measured one way (models/network §1.1).
constexpr LinkTimings kC2c{.efficiency = 368.0 / 450.0, .latency = 100_ns, .switch_latency = 100_ns};

const char* const kPlanning = "models/network §1.5, planning value over raw rate";
const auto qpi_group = timings_group<kQpi>("qpi", "QPI 9.6 GT/s (Haswell, Broadwell)", ParamSource::kLiterature, kPlanning);
const auto upi_group = timings_group<kUpi>("upi", "UPI 10.4 GT/s (Skylake, Cascade Lake)", ParamSource::kLiterature, kPlanning);
const auto upi2_group = timings_group<kUpi2>("upi2", "UPI 2.0 16 GT/s (Sapphire Rapids)", ParamSource::kLiterature, kPlanning);
const auto xgmi_group = timings_group<kXgmi>("xgmi", "xGMI between EPYC sockets", ParamSource::kLiterature, kPlanning);
const auto c2c_group =
    timings_group<kC2c>("c2c", "NVLink-C2C (Grace)", ParamSource::kLiterature, "models/network §1.1, 359 to 377 of 450 GB/s");

template <const auto& kGroup>
std::unique_ptr<LinkType> make(std::string_view type, LinkMedium medium, Bandwidth rate_per_link) {
  return std::make_unique<BondedLink>(BondedFacts{.type = type,
                                                  .medium = medium,
                                                  .rate_per_link = rate_per_link,
                                                  .packet = kCacheLine,
                                                  .overhead = {},
                                                  .read_overhead = 0,
                                                  .group = &kGroup,
                                                  .timings = &read_timings<kGroup>});
}

std::unique_ptr<LinkType> make_plain(std::string_view type, LinkMedium medium, Bandwidth rate_per_link) {
  return std::make_unique<BondedLink>(BondedFacts{.type = type,
                                                  .medium = medium,
                                                  .rate_per_link = rate_per_link,
                                                  .packet = 4_KiB,
                                                  .overhead = {},
                                                  .read_overhead = 0,
                                                  .group = nullptr,
                                                  .timings = nullptr});
}

}  // namespace

const Registration<LinkType> c2c{
    .name = "c2c",
    .summary = "NVLink-C2C between a Grace CPU and its GPU: 450 GB/s per direction",
    .make = [](ParamReader&) { return make<c2c_group>("c2c", LinkMedium::kC2c, 450_GBps); },
    .model = kSocketText,
};
const Registration<LinkType> qpi{
    .name = "qpi",
    .summary = "QPI 9.6 GT/s between Intel sockets: 19.2 GB/s raw per link and direction",
    .make =
        [](ParamReader&) {
          return make<qpi_group>("qpi", LinkMedium::kSocket, Bandwidth::from_bits_per_second(153'600'000'000));
        },
    .model = kSocketText,
};
const Registration<LinkType> upi{
    .name = "upi",
    .summary = "UPI 10.4 GT/s between Intel sockets: 20.8 GB/s raw per link and direction",
    .make =
        [](ParamReader&) {
          return make<upi_group>("upi", LinkMedium::kSocket, Bandwidth::from_bits_per_second(166'400'000'000));
        },
    .model = kSocketText,
};
const Registration<LinkType> upi2{
    .name = "upi2",
    .summary = "UPI 2.0 16 GT/s between Intel sockets: 32 GB/s raw per link and direction",
    .make = [](ParamReader&) { return make<upi2_group>("upi2", LinkMedium::kSocket, 32_GBps); },
    .model = kSocketText,
};
const Registration<LinkType> xgmi{
    .name = "xgmi",
    .summary = "xGMI between AMD sockets: 32 GB/s raw per link and direction",
    .make = [](ParamReader&) { return make<xgmi_group>("xgmi", LinkMedium::kSocket, 32_GBps); },
    .model = kSocketText,
};
const Registration<LinkType> socket_link{
    .name = "socket",
    .summary = "any other link between CPUs; states its own rate, all of it payload",
    .make = [](ParamReader&) { return make_plain("socket", LinkMedium::kSocket, Bandwidth{}); },
    .model = kSocketText,
};
// NCCL's LOC link: 5000 GB/s (models/nccl §1.2).
const Registration<LinkType> local_link{
    .name = "local",
    .summary = "attachment of a virtual device: 5000 GB/s, no latency, never a limit",
    .make = [](ParamReader&) { return make_plain("local", LinkMedium::kLocal, 5'000_GBps); },
    .model = kSocketText,
};

}  // namespace weft::net
