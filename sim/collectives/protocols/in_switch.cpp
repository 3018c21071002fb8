// Kernels whose data a switch adds up and copies: NVLS, CollNet.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/collectives/protocols/protocol_params.h"
#include "sim/collectives/registered_schedule.h"

namespace weft::coll {
namespace {

using namespace literals;

constexpr Origin kPublishedH100{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to six of fourteen sizes of a published NVLS all-reduce of 8 H100 (validate/published/all_reduce/h100_dgx.txt)",
    .gpu = "H100"};

struct InSwitchCosts {
  Duration base_latency = 13'800_ns;
  Duration peer_latency = 37_ns;  // StepCosts::peer_slice, for each channel
  double port_share = 0.675;
};

const ParamGroup<InSwitchCosts> in_switch_costs{
    "collectives.in_switch",
    "NVLS and CollNet kernels",
    {
        latency<InSwitchCosts>("base_latency", &InSwitchCosts::base_latency, kPublishedH100,
                               "of a kernel, before its first step"),
        latency<InSwitchCosts>("peer_latency", &InSwitchCosts::peer_latency, kPublishedH100,
                               "of a scatter or gather, for each head and channel, beside Simple's slice_latency"),
        param("port_share", &InSwitchCosts::port_share,
              {.unit = "ratio",
               .min = 0.01,
               .max = 1.0,
               .source = kPublishedH100.source,
               .reference = std::string{kPublishedH100.reference},
               .description = "of the rate of a GPU's NVLinks, what scatters or gathers of all channels move at most",
               .gpu = std::string{kPublishedH100.gpu}}),
    }};

// Warps of a block, and those of them that scatter; as many gather (models/nccl §3.4).
constexpr int kWarps = 20;
constexpr int kCopyWarps = 7;

// Model: a warp copies as fast as one of Simple. All blocks together are as fast as the port lets them: scatters and gathers
// move no more than a share of its rate, and slices take the longer the more blocks poll their flags through the switch. Of 8
// Blackwell GPUs 24 and 32 channels move each more byte as fast, in chunks of 32, 64 and 128 KiB (312 and 317, 430 and 436, 484
// and 485 GB/s: validate/published/all_reduce, b200_vultr and gb200_8gpu). Registered buffers are neither scattered nor
// gathered: the switch's own work alone has a share of the port's rate, that of PyTorch's multimem kernel, which does the same
// (PeerCosts::of_head).
class InSwitch final : public Protocol {
 public:
  InSwitch(const InSwitchCosts& of, Duration slice, Bandwidth copies) : of_{of}, slice_{slice}, copies_{copies} {}

  void add(const KernelBlock& block, StepCosts& costs) const override {
    costs.start = of_.base_latency;
    costs.slice = slice_;
    costs.load_pass = Bytes{kCopyWarps * kBytesOfALoad};
    costs.peer_slice = block.data.channels * of_.peer_latency;
    costs.rate = copies_ * kWarps / kSimpleWarps;
    if (block.data.of_head > Bandwidth{}) {
      const double a_head = static_cast<double>(block.data.of_head.bits_per_second()) / block.data.channels / kRegisteredShare;
      costs.rate = std::min(costs.rate, Bandwidth::from_bits_per_second(static_cast<std::int64_t>(a_head)));
      return;
    }
    if (block.data.port == Bandwidth{}) return;
    const double of_port = static_cast<double>(block.data.port.bits_per_second()) * of_.port_share;
    const double a_block = of_port / block.data.channels * kWarps / kCopyWarps;
    costs.rate = std::min(costs.rate, Bandwidth::from_bits_per_second(static_cast<std::int64_t>(a_block)));
  }

 private:
  InSwitchCosts of_;
  Duration slice_;
  Bandwidth copies_;  // of a block of Simple
};

}  // namespace

const ProtocolEntry protocols::in_switch{
    "in switch", in_switch_costs, [](const Profile& profile) -> std::unique_ptr<Protocol> {
      const auto of_simple = [&](const char* key) { return profile.value("collectives.simple." + std::string{key}); };
      const double copy = std::get<double>(of_simple("source_cost")) + std::get<double>(of_simple("store_cost"));
      const auto sends = static_cast<double>(std::get<Bandwidth>(of_simple("channel_rate")).bits_per_second());
      const double rate = copy > 0.0 ? sends / copy : sends;
      return std::make_unique<InSwitch>(profile.get(in_switch_costs), std::get<Duration>(of_simple("slice_latency")),
                                        Bandwidth::from_bits_per_second(static_cast<std::int64_t>(rate)));
    }};

}  // namespace weft::coll
