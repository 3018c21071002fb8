// Topics on NCCL's choices, the grains that calls are run at, and calls.
#include "sim/output/explain/topics.h"

namespace weft::output {

std::vector<Topic> collectives_topics() {
  return {
      {.names = {"nccl", "nccl_choice"},
       .text = {.title = "how NCCL would run a call: algorithm, protocol, channels, threads",
                .assumes =
                    "NCCL's topology search, channels, tuning tables, selection and split of bytes over channels follow "
                    "one release. `nccl: {version: ...}`, `--nccl version=...` or a log names it. The sources of "
                    "every tagged release from 2.18.3 to 2.30.7 (the default) were read; another one has the rules of the "
                    "newest of these that is not newer, which is said. 2.30 reproduces what NCCL 2.30.7's own code answers for "
                    "twelve kinds of machine. 2.28 "
                    "reproduces what a real 4 x H200 node printed. The choice is then timed by running it: protocols LL, "
                    "LL128 and Simple with their slots, slices, flags and warps (`weft explain executor`), launches by "
                    "threads, processes or CUDA graphs. An algorithm asked for that is not NCCL's runs as a textbook "
                    "one: on the network alone.",
                .leaves_out = {"NCCL: plugins, communicator splits and grouped calls; buffers are registered where -R says so "
                               "(`weft explain registered`)",
                               "NCCL: data types and operators change nothing beyond the bytes (NCCL leaves NVLS for types the "
                               "switch cannot add)",
                               "NCCL: other environment variables are accepted, named in a note, and change nothing"},
                .sources = {"models/nccl §1 to §7", "models/nccl_calibration"},
                .files = {"collectives/nccl/choose.h", "collectives/nccl/view.h", "collectives/nccl/settings.cpp"}}},
      {.names = {"nccl_view", "system"},
       .text = {.title = "NCCL's own view of a host: its graph, path classes and planned bandwidths (weft topo --nccl-view)",
                .assumes =
                    "Made from the topology file that NCCL would read, with NCCL's own numbers. They are plans, not what "
                    "the network gives.",
                .leaves_out =
                    {"NCCL's view: since 2.30 GPUs hang from DEV nodes, one hop further away; here they stand for "
                     "themselves",
                     "NCCL's view: all ranks of a host reach each other by P2P or shared memory",
                     "NCCL's view: several ranks or partitions of one GPU, NIC fusion, GIN and RMA devices are left out",
                     "NCCL's view: AMD's GPUs are searched as of compute capability 9.0, with RCCL's bandwidth of an xGMI "
                     "link, but for one full mesh of them (`weft explain rccl`)"},
                .sources = {"models/nccl §1.2, §1.3"},
                .files = {"collectives/nccl/system.h", "collectives/nccl/system.cpp"}}},
      {.names = {"rccl"},
       .text =
           {.title = "AMD's collectives on MI300X and its like: NCCL's machinery over xGMI",
            .assumes =
                "RCCL is NCCL's code, built for AMD's GPUs. Its topology files, xGMI links and their planned bandwidth (48 of "
                "64 GB/s) are read. On one node whose GPUs, an even number, are joined each to each by one link, rings and "
                "trees are as in RCCL's tables of such machines: n-1 rings both ways, in which every link has two. So 8 "
                "MI300X have 14 rings, doubled to 28 channels, that plan 336 GB/s. Algorithms, protocols, launches and "
                "thread blocks are NCCL's.",
            .leaves_out = {"RCCL: its tuning (tables by machine, correction factors, ranges of LL and LL128 by collective): "
                           "NCCL's for compute capability 9.0 chooses in its place",
                           "RCCL: MSCCL and MSCCL++ kernels, one-shot all-reduces, its all-to-all and gather kernels, LL64, "
                           "56 and more channels",
                           "RCCL: rings over several nodes are searched, not taken from its tables",
                           "RCCL: thread blocks, protocols and launches cost what they do on H100; nothing was measured here. "
                           "8 MI300X: see configs/profiles/mi300x.yaml"},
            .sources = {"RCCL, src/graph/rome_models.cc (models 79 and 81), src/graph/topo.h, src/graph/tuning.cc",
                        "AMD's ROCm blog, \"Understanding RCCL Bandwidth and xGMI Performance\", 2025: about 48 GB/s a link"},
            .files = {"collectives/nccl/mesh_rings.h", "collectives/nccl/system.cpp"}}},
      {.names = {"nccl_tuning", "selection"},
       .text =
           {.title = "what NCCL believes each algorithm and protocol would take, and so chooses",
            .assumes = "NCCL's tables and formulas of every release from 2.18.3 to 2.30.7, in its own floats; "
                       "every cost and choice of the golden machines is reproduced. NCCL_ALGO and NCCL_PROTO are read as "
                       "NCCL reads them. NVLS is for elements and reductions that NVSwitches add up, CollNet for those of "
                       "SHARP's plugin; fp8 rings of more than eight ranks are the last choice.",
            .leaves_out = {"NCCL's tuning: what workloads and traces run has elements of known size only: floating-point "
                           "numbers, but integers of one byte; their reductions are sums",
                           "NCCL's tuning: there is no tuner plugin",
                           "NCCL's planner: CollNet kinds stride over their channels; here each channel's bytes are one part"},
            .sources = {"models/nccl §4.4 to §4.6, §5"},
            .files = {"collectives/nccl/tuning.h", "collectives/nccl/planner.h"}}},
      {.names = {"nccl_p2p_plan"},
       .text = {.title = "how NCCL runs sends and receives: order of peers, channels, parts, protocol",
                .assumes =
                    "Every rank runs the same rounds, group by group; a transfer takes as many channels as its size is "
                    "worth. Each channel takes the next of the receiver's NICs, and of the sender's node the NICs of the "
                    "GPU with the receiver's number, over NVLink where that is another (PXN, NCCL_P2P_PXN_LEVEL).",
                .leaves_out = {"NCCL's send and receive: a relay (PXN) joins no messages",
                               "NCCL's send and receive: 2.18 to 2.21 visit nodes in an order of their own"},
                .sources = {"models/nccl §3.6"},
                .files = {"collectives/nccl/p2p_plan.h", "collectives/nccl/peer_nets.h"}}},
      {.names = {"registered", "registered_buffers"},
       .text =
           {.title = "buffers that the user has registered with NCCL (nccl-tests -R 1, ncclCommRegister): what is not copied",
            .assumes =
                "NCCL chooses as without; NCCL_CTA_POLICY=EFFICIENCY runs gathers and reduce-scatters on NVLS (2.27). NVLS "
                "(2.19): the switch reads and writes the user's buffers, so ranks scatter and gather nothing. 18 of 20 warps "
                "have it add up and copy, and few channels do: 4 on 8 H100, 8 on 8 B200. All of them together move "
                "libraries.symmetric_memory.port_share of a port's rate, as PyTorch's kernel of the same instructions does. "
                "Rings and trees in Simple (2.23): what stays as it came lies where it belongs, as a peer over NVLink stored "
                "it there, and a step saves its store; 17 to 24 channels of one node become 16. All-to-all, send and receive "
                "(2.23): a receiver only waits. Nodes of one rank (2.24): NICs send from and receive into the user's buffers, "
                "all-gathers and broadcasts on one channel. LL, LL128, reduce-scatter and reduce outside NVLS, and domains of "
                "several hosts (MNNVL) on NVLS gain nothing. In a CUDA graph NCCL_GRAPH_REGISTER=1, the default, registers "
                "where NCCL_LOCAL_REGISTER=0 does not; gathers and scatters are registered in graphs alone (2.29).",
            .leaves_out =
                {"registered buffers: never measured here, and no value is fitted to them. -G without -R 1 runs as with "
                 "tensors of an engine, which NCCL cannot register in graphs; nccl-tests' buffers it can, so give -R 1 for "
                 "those",
                 "registered buffers: starts, flags and waits for peers cost what they do without; so do flags between the "
                 "chunks of a send, which NCCL makes in one of up to 1 GiB",
                 "registered buffers: broadcasts of large buffers came out up to 24 % slower on their 16 channels, NVLS of 1 "
                 "GiB "
                 "and more up to 10 %; whether NCCL's do was not measured",
                 "registered buffers: NVLS over several nodes, whose few channels came out slower than more without",
                 "registered buffers: NICs' own copies for nodes of several ranks, CollNet, P2P over PCIe, ranks of one "
                 "process, calls in place, several NICs of a GPU",
                 "registered buffers: training, serving and traces run their calls as without",
                 "registered buffers: a domain is several hosts where it has more than 4 GPUs beside Grace and more than 8 "
                 "beside others"},
            .sources = {"NCCL 2.19.3 to 2.30.7, src/register/coll_reg.cc (before 2.24 src/enqueue.cc), src/transport/nvls.cc, "
                        "src/device/all_reduce.h, src/device/sendrecv.h, src/enqueue.cc",
                        "Release notes of NCCL 2.19.1, 2.23.4 and 2.24.3", "models/nccl §7.4"},
            .files = {"collectives/nccl/registered.h", "collectives/nccl/registered.cpp", "collectives/registered_schedule.h",
                      "collectives/peer_costs.h"}}},
      {.names = {"nccl_search"},
       .text =
           {.title = "NCCL's channel search: which GPU orders and NICs its rings and trees use (weft explain channels)",
            .assumes = "NCCL's own search runs on its view of a node, step for step and by release: speeds from fast to "
                       "slow, patterns, relaxations, budgets, duplication. Rings through all nodes follow, double binary "
                       "trees over nodes with chains inside, and the channels for collectives, NVLS and send/recv. "
                       "NCCL_GRAPH_FILE replaces the search.",
            .leaves_out = {"NCCL's search: hosts of one template with the same GPUs in use are alike, whatever their cables",
                           "NCCL's search: plugins for networks and tuning, CTA policies and ncclConfig_t are left out",
                           "NCCL's search: 2.18 to 2.21 look for heads of NVLS and for CollNet as 2.22 does",
                           "NCCL 2.18 and 2.19 cut the last loop over the channels by chunks; here the split is even"},
            .sources = {"models/nccl §2 (search and channels), §3.2 (trees), §A (golden data of 2.30.7)",
                        "NCCL's public sources, every tagged release from 2.18.3 to 2.30.7, read for facts"},
            .files = {"collectives/nccl/comm_info.h", "collectives/nccl/search.h", "collectives/nccl/connect.h"}}},
      {.names = {"libraries", "vllm", "vllm_custom", "vllm_nccl_symm", "sglang", "tensorrt_llm"},
       .text = {.title = "engines that serve models and choose collectives of their own (--library NAME)",
                .assumes = "Small all-reduces of one node run kernels of these engines where their own rules say so: by size, "
                           "kind of GPU and number of GPUs, as their sources have it. Everything else is NCCL's choice.",
                .leaves_out = {"engines: quantised all-reduces, and those that are fused with a norm"},
                .sources = {"the engines' own files, which sim/collectives/libraries.cpp names rule by rule"},
                .files = {"collectives/libraries.h", "collectives/libraries.cpp"}}},
      {.names = {"msccl"},
       .text = {.title = "custom algorithms: MSCCL XML, read, proven and run (--msccl FILE)",
                .assumes = "A threadblock is a lane of its channel; chunks larger than half a connection's buffer go in "
                           "iterations, smaller ones of a step together. An algorithm that leaves wrong data or may wait for "
                           "ever is refused.",
                .leaves_out = {"msccl: consecutive `re` steps on one destination are steps of their own; MSCCL fuses up to 16"},
                .sources = {"models/nccl §9.1"},
                .files = {"collectives/msccl/algorithm.h"}}},
      {.names = {"chunk", "executor", "protocol"},
       .text = {.title = "chunk grain: every slice of every step of a schedule is a message",
                .assumes =
                    "A slice starts when its messages are there, the slice before it has ended and its connections have "
                    "a free slot (8 slots; a ring's Simple chunk takes 4 in two slices). A thread block moves data at "
                    "its own rate and shares the links. LL and LL128 move them in passes, the last by the warps with "
                    "data left. A step's loads and stores say how long it takes: adding and keeping cost, and a step "
                    "that only receives costs time but no link. LL and LL128 are passed on as they come in, Simple slice "
                    "by slice. Through host memory the sender writes and, once told, the receiver reads. Thread blocks "
                    "that send over NVLink queue for their GPU's port, and for their peer's where several GPUs send "
                    "there. So each is the slower the more of them there are (mean value analysis, no constant of its "
                    "own). A port that sends as well serves what comes in at what packets leave of its rate. What "
                    "send/recv keeps over NVLink its peer has stored there: a receiver's own work shows only as far as "
                    "the port is busy. Links serve channels unequally, step by step, so that channels which start in "
                    "phase drift apart. A block of more warps starts later, and in LL128 pauses less between steps. In "
                    "Simple a step that only receives costs more. Warps come together for a chunk's second slice while "
                    "the port still has the first. And each channel takes simple.crowding longer for its bytes for each "
                    "channel beside it. A step of LL waits for its message or its own operand, whichever takes longer, "
                    "and keeps its result element by element: copies, which are of bytes, take eight stores where floats "
                    "take two. Operands are read from caches where the call's buffers fit. They are read from memory "
                    "where the buffers do not fit or where calls walk through it, as those of nccl-tests, of weft "
                    "collective and of a scenario's list do. Programs use the same buffers in every call. A launch costs "
                    "the host more for each channel with work. Kernels start in the order in which host threads or a "
                    "graph launch them and queue behind the kernel before; the loop of calls is run until its pace is "
                    "steady.",
                .leaves_out =
                    {"a lane that follows another sends at the pace of its own warps and links even where data come in "
                     "more slowly; only its end waits",
                     "thread blocks that share a port slow each other as customers of one queue do: a slice meets the "
                     "mean queue of those that send when it begins; of two ports of unequal load it waits at the busier "
                     "one, and at the other as far as that is as busy; who stores to whom is taken from the first steps",
                     "loads and stores of a step cost a thread block time one after another, each its own share, whatever "
                     "its peers do, but for the loads of LL; there a reduction that finds nothing in the caches is too "
                     "slow (reduce, reduce_scatter of 64 MiB: 14 and 8 %), an all-reduce 4 % too fast, a tree of 32 to "
                     "512 KiB 9 to 18 %",
                     "what a receiver over NVLink waits for beside a busy port is measured, not understood: nothing of it "
                     "shows with one channel, all of it where the port is busy for two thirds of the time",
                     "block_latency of all protocols, simple.copy_latency, ll128.small_block_gap and simple.crowding are "
                     "what rings measure; no mechanism of NCCL was found for them. Thread blocks of a kernel start in the "
                     "order of their channels, as far apart as the last of so many random starts would be. In Simple, "
                     "too, blocks of 256 threads pause 1 us longer between steps than those of 512, which is left out: 16 "
                     "KiB in rings is 9 to 15 % fast",
                     "through host memory the host's cache is not modelled: large messages of four GPUs come out 20 to 30 "
                     "% too fast",
                     "a lane is slowed by the block's other lanes that still work when its slice begins, until their last "
                     "slice ends; those that begin later cost it nothing",
                     "a contribution to a reduction in a switch costs its sender nothing: the head pulls all copies at "
                     "once",
                     "to another node a slice leaves when it is whole, behind the one before it, and the thread block "
                     "does not wait: the proxy's thread and the NIC's queues cost a hop's constant and no more",
                     "kernels of a communicator hold no SM against compute kernels here; streams and overlap belong to "
                     "workloads"},
                .sources = {"models/nccl §3, §4, §7", "models/nccl_calibration", "Reiser and Lavenberg, J. ACM 27(2), 1980"},
                .files = {"collectives/executor.h", "collectives/executor.cpp", "collectives/executor_paths.cpp",
                          "collectives/executor_send.cpp", "collectives/shared_port.cpp", "collectives/protocols/ll128.cpp",
                          "collectives/step_costs.h", "collectives/step_costs.cpp", "collectives/step_work.h",
                          "collectives/costs.h", "collectives/launch_plan.h"}}},
      {.names = {"fluid"},
       .text =
           {.title = "fluid grain: every channel is one coupled transfer along all its edges",
            .assumes = "The edges of a channel move at one common rate, the slowest edge's share, plus the latency that its "
                       "longest chain of messages pays. `auto` chooses it for no call that the chunk grain can tell: above "
                       "200,000 messages (2,000,000 in chains and rounds; 100,000 of calls of 16 MiB and more in programs) "
                       "it simulates runs of fewer loops, or of fewer hops in each loop of a ring, and reckons the others "
                       "at the difference of two of them. What is left to the fluid grain are rings of many hundred ranks, "
                       "pipelines that so few loops do not fill, and all-to-alls of more transfers than that.",
            .leaves_out = {"fluid grain: channels do not drift apart; a slow edge slows its whole channel at once",
                           "fluid grain: one call, not the loop of calls; how far it is from the chunk grain, tools/grains.py "
                           "PROGRAM prints",
                           "chunk grain by fewer loops: a loop is taken to last as long in the middle of a call as from the "
                           "16th step of a lane on, once the first has passed all its edges; channels that drift apart more "
                           "slowly make it a little off"},
            .sources = {"models/network §6.3"},
            .files = {"collectives/schedule.h", "collectives/shortened_schedule.h", "collectives/executor.h"}}},
      {.names = {"closed_form"},
       .text = {.title = "closed-form grain: the textbook formula on an ideal network",
                .assumes = "A message of m bytes takes a + m/B, with the slowest first hop of any rank for a and B. Nothing is "
                           "simulated.",
                .leaves_out = {"closed form: no contention between channels, nodes or rails beyond each rank's own port"},
                .sources = {"Thakur, Rabenseifner and Gropp, 2005, section 3"},
                .files = {"collectives/closed_form.h"}}},
      {.names = {"nccl_clock"},
       .text =
           {.title = "collectives where the clock of the SMs is low",
            .assumes = "Moving data takes a thread block cycles of its SM, and of the latencies of kernels and of peers "
                       "over NVLink a share, collectives.clock.latency_share, is cycles too: these take full clock over the "
                       "clock as long. A measured collective is predicted at the clock that its record states, where "
                       "nothing computed beside it; in a step, and in the replay of a recorded one, at the clock that the "
                       "load allows (weft explain clock). Beside compute a collective takes gpu.contention.collective "
                       "longer, which holds what the clock costs, or as long as the clock says where that is more.",
            .leaves_out = {"low clocks: links, switches and memory are as fast at any clock, and so are hosts and network "
                           "proxies",
                           "low clocks: the share is the same in all protocols, and all GPUs of a call go at the lowest clock "
                           "of them",
                           "low clocks: kernels whose data a switch adds up (NVLS) were not measured",
                           "low clocks: in a step, calls of 64 and more ranks take as long at any clock: links between hosts "
                           "set their pace",
                           "low clocks: between full clock and 1/1.2 of it times are on a line, and beyond it too"},
            .sources = {"validate/replay/nccl_clocks.py on 2 x H200 (validate/measured/h200x2_nccl_clocks.json)"},
            .files = {"collectives/costs.h", "collectives/step_costs.cpp", "workloads/replay/group_costs.cpp",
                      "workloads/replay/replayer_communication.cpp"}}},
      {.names = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"},
       .text = {.title = "collectives that NCCL runs on rings",
                .assumes =
                    "`bytes` is nccl-tests' size column: the vector of a rank, or for all_gather and reduce_scatter what "
                    "all ranks hold together. busbw = algbw x 2(n-1)/n for all_reduce, (n-1)/n for all_gather and "
                    "reduce_scatter, 1 for broadcast and reduce.",
                .sources = {"models/nccl §8.2 (sizes and bandwidths of nccl-tests)", "weft explain nccl"},
                .files = {"collectives/call.h"}}},
      {.names = {"alltoall", "alltoallv", "sendrecv", "gather", "scatter"},
       .text = {.title = "collectives that NCCL runs as sends and receives",
                .assumes = "`bytes` is nccl-tests' size column: what all ranks hold together, for sendrecv the message. In "
                           "sendrecv every rank sends to the next one and receives from the one before.",
                .sources = {"models/nccl §8.2", "weft explain direct"},
                .files = {"collectives/call.h"}}},
  };
}

}  // namespace weft::output
