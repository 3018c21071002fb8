#include "sim/collectives/runner_buffers.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/collectives/nccl/copy_engine.h"
#include "sim/collectives/nccl/version.h"
#include "sim/core/error.h"
#include "sim/network/gpu_spec.h"

namespace weft::coll {

nccl::UserBuffers user_buffers(const RunOptions& options) {
  return {.registered = options.registered == Registered::kLocal, .in_graph = options.cuda_graph};
}

void check_registered(const RunOptions& options, const nccl::Settings& settings) {
  if (options.registered == Registered::kNot) return;
  const int asked = static_cast<int>(options.registered);
  if (!options.engine.empty())
    throw ConfigError(fmt::format("-R {} registers buffers with NCCL, and library '{}' has its own: give one of the two", asked,
                                  options.engine));
  if (options.custom != nullptr)
    throw ConfigError(
        fmt::format("-R {} goes with NCCL's own algorithms, not with MSCCL's '{}'", asked, options.custom->program().name));
  if (options.registered == Registered::kLocal && settings.version() < nccl::kFirstRegistered)
    throw ConfigError(fmt::format("-R 1: ncclCommRegister is of NCCL 2.19; expected that or a newer version, got {}",
                                  nccl::to_string(settings.version())));
}

std::string registration_note(const Choice& choice) {
  const RegisteredBuffers& of = choice.registration;
  if (!of.any()) {
    return fmt::format("-R 1: {}{} uses no registered buffers here; the call runs as with -R 0", choice.algorithm,
                       choice.protocol.empty() ? "" : " in " + choice.protocol);
  }
  std::string what;
  const auto add = [&](bool is, std::string_view text) {
    if (is) what += fmt::format("{}{}", what.empty() ? "" : ", ", text);
  };
  add(of.in_switch, "the NVLink switch reads and writes the user's buffers");
  add(of.of_peers, "peers over NVLink store into the user's buffers");
  add(of.of_network, "NICs send from and receive into the user's buffers");
  return "-R 1: " + what;
}

nccl::SymmetricCall CollectiveRunner::symmetric_call(const CollectiveCall& call, const CallSizes& sizes) const {
  const net::GpuSpec* gpu = machine_.topology.gpu(devices_.front());
  const int sm = gpu == nullptr ? 0 : gpu->sm;
  const bool multicasts = sm >= 90 && has_nvswitch();
  const bool is_byte = call.element_size == 1 && !is_of_integers(call);  // FP8
  const bool is_summed = call.reduction == Reduction::kSum && !is_of_integers(call) && call.element_size < 8;
  return {.kind = call.kind,
          .bytes = std::min(sizes.input, sizes.output).count(),
          .ranks = ranks(),
          .sm = sm,
          .multicasts = multicasts,
          .adds_up = multicasts && (!is_byte || sm >= 100),
          .is_summed = is_summed};
}

// NCCL has them where every GPU reaches every other over NVLink (isAllDirectNvlink), since 2.27.
std::string_view CollectiveRunner::symmetric_kernel_of(const CollectiveCall& call, const nccl::Settings& settings,
                                                       std::string& why) const {
  const auto none = [&](std::string_view reason) {
    why = reason;
    return std::string_view{};
  };
  if (settings.version() < nccl::kFirstSymmetric) return none("NCCL before 2.27 has no kernels for symmetric memory");
  nccl::SymmetricCall of = symmetric_call(call, sizes_of(call, ranks()));
  if (of.sm == 0) return none("these kernels are known of NVIDIA's GPUs only");
  if (!all_over_nvlink()) return none("NCCL has kernels for symmetric memory where all GPUs reach each other over NVLink");
  if (settings.integer("NVLS_ENABLE") == 0) of.multicasts = of.adds_up = false;
  const auto kernel = nccl::symmetric_kernel(of);
  if (!kernel) return none(fmt::format("NCCL has no kernel for symmetric memory for this {}", to_string(call.kind)));
  return kernel->name;
}

bool CollectiveRunner::choose_copy_engine(const CollectiveCall& call, const nccl::Settings& settings, bool asks_symmetric,
                                          std::string& algorithm_name) const {
  const auto refuse = [&](std::string_view why) { throw ConfigError(fmt::format("algorithm '{}': {}", algorithm_name, why)); };
  const bool is_put = algorithm_name == kNcclPut;
  const bool is_asked = is_put || algorithm_name == kNcclCopyEngine;
  if (!gpus_only_ || (!asks_symmetric && !is_asked)) return false;
  const net::GpuSpec* gpu = machine_.topology.gpu(devices_.front());
  const CallSizes sizes = sizes_of(call, ranks());
  const nccl::EngineCall of{.kind = call.kind,
                            .elements = std::min(sizes.input, sizes.output).count() / call.element_size,
                            .sm = gpu == nullptr ? 0 : gpu->sm,
                            .by_pair = call.pairs != nullptr};
  if (!all_over_nvlink() || of.sm == 0) {
    if (is_asked) refuse("NCCL has copy engines do it where NVIDIA's GPUs all reach each other over NVLink");
    return false;
  }
  if (is_put) {
    if (settings.version() < nccl::kFirstPut) refuse("ncclPutSignal is of NCCL 2.29 and later");
    return true;
  }
  if (is_asked) {
    std::string why;
    if (!nccl::copy_engines_can(of, settings, why)) refuse(why);
    return true;
  }
  if (ranks() < 2 || !nccl::picks_copy_engines(of, settings)) return false;
  algorithm_name = kNcclCopyEngine;
  return true;
}

bool CollectiveRunner::all_over_nvlink() const {
  return gpus_only_ && std::ranges::all_of(devices_, [&](DeviceId device) {
           return device == devices_.front() || machine_.router.path_class(devices_.front(), device) <= net::PathClass::kNvb;
         });
}

bool CollectiveRunner::has_nvswitch() const {
  const net::Topology& topology = machine_.topology;
  return std::ranges::any_of(topology.out_links(devices_.front()),
                             [&](LinkId link) { return topology.kind(topology.link(link).to) == net::DeviceKind::kNvSwitch; });
}

LibraryGpus CollectiveRunner::library_gpus() const {
  const net::Topology& topology = machine_.topology;
  const net::GpuSpec* gpu = topology.gpu(devices_.front());
  return {.ranks = ranks(),
          .nodes = nodes_,
          .sm = gpu == nullptr ? 0 : gpu->sm,
          .has_nvlink = all_over_nvlink() && nodes_ == 1,
          .has_switch = has_nvswitch() && nodes_ == 1};
}

}  // namespace weft::coll
