// Kernels whose data a switch adds up and copies: NVLS, CollNet.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/collectives/protocols/protocol_params.h"

namespace weft::coll {
namespace {

using namespace literals;

constexpr Origin kPublishedH100{
    .source = ParamSource::kFitted,
    .reference =
        "fitted to six of fourteen sizes of a published NVLS all-reduce of 8 H100 (validate/published/all_reduce/h100_dgx.txt)",
    .gpu = "H100"};

struct InSwitchCosts {
  Duration base_latency = 12_us;
  Duration slice_latency = 4'400_ns;
  Duration peer_latency = {};  // StepCosts::peer_slice
  Bandwidth channel_rate = Bandwidth::from_bits_per_second(431'000'000'000);
};

const ParamGroup<InSwitchCosts> in_switch_costs{
    "collectives.in_switch",
    "NVLS and CollNet kernels",
    {
        param("base_latency", &InSwitchCosts::base_latency,
              {.max = 1_ms, .description = "of a kernel, before its first step; as Simple"}),
        latency<InSwitchCosts>("slice_latency", &InSwitchCosts::slice_latency, kPublishedH100,
                               "more of Simple's before the bytes of a slice; a scatter or gather has it for "
                               "all heads at once"),
        latency<InSwitchCosts>("peer_latency", &InSwitchCosts::peer_latency,
                               {.source = ParamSource::kLiterature,
                                .reference = "published NVLS all-reduces of 2 to 8 H100 (nccl issue 1455) show none",
                                .gpu = "H100"},
                               "of a scatter or gather, for each head"),
        param("channel_rate", &InSwitchCosts::channel_rate,
              {.source = kPublishedH100.source,
               .reference = std::string{kPublishedH100.reference},
               .description = "most that one channel's thread block moves; of NVLS, scatter and gather have 7 of 20 parts each",
               .gpu = std::string{kPublishedH100.gpu}}),
    }};

class InSwitch final : public Protocol {
 public:
  InSwitch(const InSwitchCosts& of, Duration slice) : of_{of}, slice_{slice} {}

  void add(const KernelBlock&, StepCosts& costs) const override {
    costs.start = of_.base_latency;
    costs.slice = slice_;
    costs.load_wait = of_.slice_latency;
    costs.peer_slice = of_.peer_latency;
    costs.rate = of_.channel_rate;
  }

 private:
  InSwitchCosts of_;
  Duration slice_;
};

}  // namespace

const ProtocolEntry protocols::in_switch{"in switch", in_switch_costs, [](const Profile& profile) -> std::unique_ptr<Protocol> {
                                           return std::make_unique<InSwitch>(
                                               profile.get(in_switch_costs),
                                               std::get<Duration>(profile.value("collectives.simple.slice_latency")));
                                         }};

}  // namespace weft::coll
