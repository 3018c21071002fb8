#include "sim/workloads/kernels/contention.h"

namespace weft::work {
namespace {

constexpr Origin kContentionSeen{.source = ParamSource::kFitted, .reference = "models/training_steps §6", .gpu = "H200"};

constexpr Origin seen(std::string_view reference) {
  return {.source = ParamSource::kMeasured, .reference = reference, .gpu = "H200"};
}

// Collectives that began in the last quarter of a GEMM that ran on their GPU.
constexpr Origin kDrainSeen = seen(
    "4 x H200, traces of DDP and FSDP: 129 collectives that began in a GEMM's last quarter did so 32 us before its "
    "end (median; 16 to 56 us from 10 to 90 %), the GEMMs' times from 169 us on, at 0.03 to 0.11 of them");

Param<ContentionCosts> ratio(const char* name, double ContentionCosts::*member, double min, double max, const Origin& from,
                             const char* description) {
  return from_origin(
      param<ContentionCosts>(name, member, {.unit = "ratio", .min = min, .max = max, .description = description}), from);
}

Param<ContentionCosts> factor(const char* name, double ContentionCosts::*member, const char* description,
                              const Origin& from = kContentionSeen) {
  return ratio(name, member, 1.0, 4.0, from, description);
}

}  // namespace

const ParamGroup<ContentionCosts> contention_costs{
    "gpu.contention",
    "compute and communication at the same time on one GPU",
    {factor("gemm", &ContentionCosts::gemm, "time of a GEMM beside a collective of 24 CTAs over its time alone"),
     factor("attention", &ContentionCosts::attention, "the same of attention"),
     factor("memory", &ContentionCosts::memory, "the same of memory-bound kernels"),
     factor("collective", &ContentionCosts::collective, "time of a collective beside compute over its time alone"),
     factor("collective_memory", &ContentionCosts::collective_memory,
            "the same beside a kernel that moves data at the memory's full rate, at the least",
            seen("4 x H200, 256 MiB beside copies of 1 GiB (validate/measured/h200x4_quick.jsonl): two "
                 "all-reduces in 4.58 ms, 2.40 alone, one of them after the copy that it met; beside "
                 "PyTorch's copies about 1.5 (h200x4/overlap.json)")),
     ratio("block_memory_share", &ContentionCosts::block_memory_share, 0.1, 2.0,
           seen("2 x H200: rings in Simple with 16 and 24 thread blocks beside copies of 1 GiB, 0.84 to 0.94 "
                "(validate/measured/h200x2_beside_kernels.json)"),
           "memory traffic of a collective's thread block there, over that of an SM of the kernel"),
     ratio("collective_links", &ContentionCosts::collective_links, 1.0, 2.0,
           seen("h200x4: copy engines 395 GB/s, NCCL's largest all-reduce 362 GB/s of bus bandwidth"),
           "NVLink rate of copy engines over what collectives reach"),
     from_origin(param<ContentionCosts>(
                     "gemm_drain", &ContentionCosts::gemm_drain,
                     {.max = 1_ms, .description = "before its end, when a GEMM leaves SMs to a collective that waits"}),
                 kDrainSeen),
     ratio("gemm_drain_share", &ContentionCosts::gemm_drain_share, 0.0, 1.0, kDrainSeen,
           "of a GEMM's time, the most that is")}};

double slowdown_beside(const ContentionCosts& costs, KernelClass kernel_class, int ctas) {
  const auto factor_of = [&] {
    switch (kernel_class) {
      case KernelClass::kGemm:
        return costs.gemm;
      case KernelClass::kAttention:
        return costs.attention;
      case KernelClass::kMemory:
      case KernelClass::kOptimizer:
        return costs.memory;
    }
    return 1.0;
  };
  return 1.0 + (factor_of() - 1.0) * ctas / kContentionCtas;
}

}  // namespace weft::work
