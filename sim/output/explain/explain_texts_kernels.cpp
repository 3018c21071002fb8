// The texts on how long kernels take, alone, beside communication and under sustained load.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& kernel_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"kernels", "kernel_times", "gemm"},
       .title = "how long a kernel takes alone on a GPU: one rule for each class",
       .assumes =
           "GEMM: waves of tiles over the SMs, each tile at its SM's share of the peak times an efficiency, small tiles "
           "less, or bytes over bandwidth where that is longer; grouped GEMMs share the waves. Flash attention: FLOPs that "
           "are not masked over a share of the peak, a tail of the longest block, a fixed time. Elementwise kernels: bytes "
           "over bandwidth; strided ones, norms, scatters and fused Adam: a time per element, which scales with SMs x clock. "
           "The peaks are the data sheet's, by the model of the node's GPUs.",
       .leaves_out =
           {"GEMMs: the fastest tile shape and split of the inner dimension are chosen; libraries choose by heuristics",
            "GEMMs: layouts, alignment and the values multiplied do not matter (random data draw more power)",
            "a precision without tensor cores runs at the rate of the next wider one",
            "fits of gpu.*: kernels at full clock; beside collectives, one never seen alone is compared with the rule",
            "launch overhead is the host's (`weft explain launch`); the gap between kernels is gpu.stream.gap"},
       .sources = {"models/workloads §4 (rooflines, tiles, data sheets)",
                   "models/training_steps §3, §4 (kernels of real steps)"},
       .files = {"workloads/kernels/kernel_times.h", "workloads/kernels/kernel_costs.h", "measured/kinds/kernel_models.h"}},
      {.names = {"contention"},
       .title = "compute and communication at the same time on one GPU",
       .assumes =
           "A kernel that starts while a collective is resident takes its class's factor longer, in proportion to the SMs "
           "held; the collective is slowed by one factor from when it meets compute. A kernel beside it may move 2 GiB and "
           "more at the memory's rate. Then its thread blocks get gpu.contention.block_memory_share of what an SM of that "
           "kernel does, for all that they read and write. That is what comes in twice, as it is stored and read again, and "
           "the call's input and output. A collective waits for a running GEMM to drain, which it does from "
           "gpu.contention.gemm_drain before its end on (recorded ones: at their end). A GEMM of up to two waves has its tiles "
           "shared out in advance: beside a collective it takes T + min(T, the rest of the collective) instead.",
       .leaves_out =
           {"contention: factors of kernels depend on their class only, not on their size or on the collective's traffic",
            "contention: copies of 16 to 512 MiB fill the memory as well, and kernels that read 80 % or write 90 % of what a "
            "copy moves in part (1.04 to 1.6 in place of 1.8): left out",
            "contention: send/recv gets a share of 0.65 to 0.8 of a full memory where rings get 0.9 on H200, 0.8 on H100: "
            "all-to-alls beside copies are 10 % fast",
            "contention: whether calls of 1 MiB beside kernels begin in a drain or last as long as the kernels is chance on "
            "real nodes (`unsteady` in weft validate); here one of the two is said"},
       .sources = {"models/training_steps §6", "copies of 1 GiB on 4 x H200 (validate/measured/h200x4_quick.jsonl)",
                   "collectives of 4 to 32 thread blocks beside copies on 2 x H200 and 2 x H100 "
                   "(validate/measured/h200x2_beside_kernels.json, h100x2_beside_kernels.json)"},
       .files = {"workloads/kernels/contention.h", "workloads/replay/group_runs.cpp"}},
      {.names = {"clock", "clocks"},
       .title = "clocks that fall when GPUs are kept busy with matrix products",
       .assumes =
           "GEMMs and attention slow down with their share of the step beyond a free one, and with the share of the step in "
           "which they run beside communication; memory-bound kernels see a part of it. Where gpu.binning.deviation says how "
           "GPUs of one model differ, all of a job go at the pace of the slowest of as many.",
       .leaves_out = {"clocks: one factor for a whole step; no power, temperature or controller is simulated",
                      "clocks: every stage of a pipeline goes at the pace of the slowest GPU of all"},
       .sources = {"models/training_steps §7", "models/workloads §7.2 (how GPUs differ)"},
       .files = {"workloads/kernels/clock.h"}},
      {.names = {"nccl_clock"},
       .title = "collectives where the clock of the SMs is low",
       .assumes =
           "Moving data takes a thread block cycles of its SM, and of the latencies of kernels and of peers over NVLink a "
           "share, collectives.clock.latency_share, is cycles too: these take full clock over the clock as long. A measured "
           "collective is predicted at the clock that its record states, where nothing computed beside it; in a step, and in "
           "the replay of a recorded one, at the clock that the load allows (weft explain clock). Beside compute a "
           "collective takes gpu.contention.collective longer, which holds what the clock costs, or as long as the clock "
           "says where that is more.",
       .leaves_out =
           {"low clocks: links, switches and memory are as fast at any clock, and so are hosts and network proxies",
            "low clocks: the share is the same in all protocols, and all GPUs of a call go at the lowest clock of them",
            "low clocks: kernels whose data a switch adds up (NVLS) were not measured",
            "low clocks: in a step, calls of 64 and more ranks take as long at any clock: links between hosts set their pace",
            "low clocks: between full clock and 1/1.2 of it times are on a line, and beyond it too"},
       .sources = {"validate/replay/nccl_clocks.py on 2 x H200 (validate/measured/h200x2_nccl_clocks.json)"},
       .files = {"collectives/costs.h", "collectives/step_costs.cpp", "workloads/replay/group_costs.cpp",
                 "workloads/replay/replayer_communication.cpp"}},
      {.names = {"measured_points"},
       .title = "how measured kernels, copies and overlap are predicted",
       .assumes = "A kernel of many in a row takes its time alone and the gap before it, or what its host took where the file "
                  "says so. Copies take their start (gpu.copy.*) and their bytes over the links between their ends and the "
                  "memory of their host (network.host_memory.*). Copies at the same time share both, and reads and writes "
                  "share one bus. Reads load the way back with their requests. Where the file says what a collective's call "
                  "took its host, that is the launch's cost; where it was over nine tenths of the loop's time, the row is the "
                  "host's and does not count. Streams that overlap are a program for the Replayer: all ranks start at once, "
                  "the host issues one stream after the other, and clocks are those that the load allows.",
       .leaves_out =
           {"measured points: data that still lie in the L2 come from there no faster",
            "measured points: copy engines of a GPU start at once, and their number is no limit; copies among all pairs at "
            "once are not predicted, nor are launches of empty kernels",
            "host memory: its pattern and the caches do not matter; buffers of NCCL's kernels do not load it",
            "measured points: copies by thread blocks reach what collectives reach on a link, whatever their number of blocks",
            "measured points: attention of single kernels is two GEMMs and a softmax, one after the other"},
       .sources = {"models/training_steps §2, §3, §6", "models/nccl_calibration"},
       .files = {"measured/point_kind.h", "measured/kinds/copy.cpp", "network/host_memory.h"}},
  };
  return texts;
}

}  // namespace weft::output
