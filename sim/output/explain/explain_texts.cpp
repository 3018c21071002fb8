// The texts themselves. When a model changes what it assumes, its text changes in the same commit.
#include "sim/output/explain/explain_texts.h"

#include "sim/output/explain/explain.h"

namespace weft::output {
namespace {

const std::vector<ModelText>& network_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"flow", "flow_fabric"},
       .title = "flow fidelity: transfers share links max-min fairly",
       .assumes = "A transfer has a footprint: the bytes each link carries per byte moved. Rates are the weighted max-min "
                  "fair shares over all links of all footprints, solved again for the affected part at each arrival and "
                  "departure; completions are exact to the picosecond. A link's capacity is its rate times its efficiency "
                  "(headers, flow control, coding).",
       .leaves_out = {"rates follow every arrival and departure at once: no congestion-control transients",
                      "queues are empty and no port pauses another: no buffer, ECN, PFC or credit effects",
                      "latency is charged after the last byte has left, and takes no capacity",
                      "when a link fails nothing under way is lost: flows go on over another path at that instant, or wait "
                      "where a cable will be back"},
       .sources = {"models/network §6.1 (max-min, progressive filling), §6.3 (latency), §6.5 (what this misses)"},
       .files = {"network/flow_level/flow_fabric.h", "network/flow_level/rerouting.h", "core/fair_share.h"}},
      {.names = {"memory"},
       .title = "what memory a run will take",
       .assumes = "Before a run Weft adds up what it will hold. It begins with what the process holds once cluster and "
                  "workload are read. Ports, transfers in flight, packets, connections and lanes of collectives come on top. "
                  "Training steps and traces add ranks with their operations, and calls of each group and pair with the links "
                  "they load. Each counts as often as the scenario says, times the size of the program's own structures. A "
                  "training step is made once more to count its operations; paths are as long as those of a sample of pairs. A "
                  "run that would take more than the machine has left (MemAvailable, or what a control group leaves) is "
                  "refused. With --memory SIZE the limit is that size. run, collective and replay print with -v the "
                  "prediction, what the structures held at most, and the ratio of prediction and peak.",
       .leaves_out = {"what the router keeps of a fabric beside ways between leaves, NCCL's search, inference and most of the "
                      "allocator's own losses",
                      "all flows and all messages of an all-to-all count as in flight at once: an upper bound",
                      "packets beyond the pause threshold of every port, where switches have unbounded memory",
                      "commands other than run, collective and replay predict nothing"},
       .sources = {"sizes of the structures; limits: proc(5), the kernel's documentation of control groups"},
       .files = {"scenario/memory_plan.h", "scenario/program_memory.h", "core/memory.h"}},
      {.names = {"router", "routes"},
       .title = "which links lead towards a destination",
       .assumes = "Inside a host: the best path class of NCCL (NVLink before PCIe before the sockets' link), spread over "
                  "equal shortest paths in proportion to their narrowest link. Between hosts: out by the NICs nearest to the "
                  "source GPU over PCIe, over equal-cost shortest paths by the routing policy, in by those nearest to the "
                  "destination. A flow is spread over several NICs in proportion to what each carries; connections of NCCL "
                  "name theirs. Where the fabric does not join the two sides' NICs, over NVLink to the GPU on the "
                  "destination's rail first (PXN).",
       .leaves_out = {"a flow by a library that drives one NIC only: it too has all of its GPU's",
                      "shortest paths only: no detours around load (Valiant, UGAL) in dragonfly and torus"},
       .sources = {"models/nccl §1.3 (path classes)", "models/network §5.1 (policies)"},
       .files = {"network/router.h"}},
      {.names = {"ecmp"},
       .title = "one equal-cost path per flow, by hash",
       .assumes =
           "Each switch hashes source, destination and the flow's own entropy with a seed of its own, so that tiers do not "
           "polarise. All packets of a flow take one path; two flows may collide on a link while another is idle.",
       .leaves_out = {"real hashes differ by vendor: collisions are as frequent, but not on the same flows"},
       .sources = {"models/network §5.1"},
       .files = {"network/routing/ecmp.cpp"}},
      {.names = {"adaptive"},
       .title = "the least loaded of the equal-cost links, packet by packet",
       .assumes = "At flow fidelity an even spread over all equal-cost links.",
       .leaves_out =
           {"at flow fidelity adaptive routing equals spraying: exact where the tree is symmetric, too even where it is not"},
       .sources = {"models/network §4, §5.1, §6.5"},
       .files = {"network/routing/adaptive.cpp"}},
      {.names = {"spray"},
       .title = "every packet takes any of the equal-cost links",
       .assumes = "A flow loads all equal-cost links alike.",
       .leaves_out = {"at flow fidelity reordering at the receiver costs nothing"},
       .sources = {"models/network §5.1"},
       .files = {"network/routing/spray.cpp"}},
      {.names = {"static"},
       .title = "always the first of the equal-cost links",
       .assumes = "The worst case that other policies are compared with.",
       .leaves_out = {"no subnet manager balances routes over destinations; see d_mod_k for that"},
       .sources = {"models/network §5.1"},
       .files = {"network/routing/static.cpp"}},
      {.names = {"d_mod_k"},
       .title = "up-link by the destination's number",
       .assumes = "At each tier the up-link is the destination's number over the hosts below one switch of the tier beneath, "
                  "modulo the number of up-links. Shift permutations of a complete tree meet no contention.",
       .leaves_out = {"d_mod_k numbers hosts in the order in which they hang on leaves, not by rank"},
       .sources = {"Zahavi, 2010: D-Mod-K routing providing non-blocking traffic for shift permutations",
                   "models/network §5.1"},
       .files = {"network/routing/d_mod_k.cpp"}},

      {.names = {"nvlink1", "nvlink2", "nvlink3", "nvlink4", "nvlink5", "nvlink6", "infinity_fabric"},
       .title = "NVLink 1 to 6, and AMD's Infinity Fabric between GPUs",
       .assumes =
           "`width` bonded links are one fat link, as a GPU stripes its traffic over all of them. The quoted rate is the "
           "rate; `efficiency` is the share that measurement finds for payload.",
       .leaves_out =
           {"NVLink: forward error correction shows in the latency only",
            "NVLink: the measured efficiency covers headers, responses on the reverse direction and credit returns alike",
            "NVLink 6 behaves like NVLink 5, at its own rate"},
       .sources = {"models/network §1.1 (rates, measured efficiency, latency), §1.2 (bonding)",
                   "AMD Instinct MI300X data sheet"},
       .files = {"network/links/nvlink.cpp"}},
      {.names = {"pcie3", "pcie4", "pcie5", "pcie6"},
       .title = "PCI Express: rate from lanes and coding, efficiency from the size of TLPs",
       .assumes =
           "rate = GT/s x lanes x 128/130 (gen 6: 236/256, the bytes of a flit that TLPs may use); efficiency = MPS / (MPS + "
           "24 B) (gen 6: 16 B) x (1 - dllp_share) x what the profile says. A read sends one header per MRRS bytes the other "
           "way.",
       .leaves_out = {"PCIe: completions (20 B of overhead) are charged as writes (24 B)",
                      "PCIe: limits by tags and credits belong to packet fidelity"},
       .sources = {"PCI Express Base Specification 3.0 to 6.0", "models/network §1.4"},
       .files = {"network/links/pcie.cpp"}},
      {.names = {"qpi", "upi", "upi2", "xgmi", "socket", "c2c", "local"},
       .title = "links between CPU sockets, between a CPU and its own GPU (NVLink-C2C), and attachments that never limit",
       .assumes = "Raw rates are the data sheets'; `efficiency` is the planning value of NCCL over the raw rate of one link "
                  "(C2C: measured).",
       .leaves_out = {"sockets: a device's traffic reaches far less than the raw rate (ordering, 64-byte splitting); one "
                      "number stands for it",
                      "sockets: traffic of the CPUs themselves is not simulated"},
       .sources = {"models/network §1.1 (C2C), §1.5 (sockets)", "models/nccl §1.2 (local: 5000 GB/s)"},
       .files = {"network/links/socket.cpp"}},
      {.names = {"infiniband", "ethernet"},
       .title = "links of the fabric between hosts: InfiniBand, and Ethernet with RoCEv2",
       .assumes = "efficiency = payload / (payload + headers) x what the profile says, for packets of `mtu` bytes: 26 B of "
                  "headers for InfiniBand, 82 B for RoCEv2. The rate is that of the data (InfiniBand) or of the MAC "
                  "(Ethernet).",
       .leaves_out =
           {"fabric links: the 16 B of RETH in the first packet of a write are left out",
            "fabric links: coding and forward error correction show in the latency only; cables do not fail or lose packets"},
       .sources = {"models/network §1.7, §1.8 (headers, rates), §1.9 (latencies)"},
       .files = {"network/links/fabric_links.cpp"}},

      {.names = {"single_switch"},
       .title = "one switch for all NICs",
       .assumes = "`ports` bounds it where given; the switch itself never blocks.",
       .leaves_out = {"switches are crossbars: only ports limit"},
       .sources = {"models/network §5.2"},
       .files = {"network/topologies/single_switch.cpp"}},
      {.names = {"leaf_spine", "fat_tree", "rail_optimized_fat_tree", "rail_only"},
       .title = "folded Clos networks: leaves, spines, cores",
       .assumes =
           "Sizes follow from the ports of a switch and the oversubscription at the leaves: two tiers while one tier of spines "
           "reaches all leaves, three above. leaf_spine and fat_tree fill leaves node by node. rail_optimized_fat_tree gives "
           "every rail of a scalable unit a leaf of its own. rail_only has one network per rail and none between.",
       .leaves_out = {"Clos networks are built as small as the number of nodes allows; spare switches of a real installation "
                      "are not there",
                      "cables of one kind have one length"},
       .sources = {"Leiserson, 1985; Al-Fares et al., 2008 (k-ary fat tree)", "NVIDIA DGX SuperPOD reference architecture",
                   "models/network §5.1, §5.2"},
       .files = {"network/topologies/folded_clos.h", "network/topologies/fat_tree.cpp"}},
      {.names = {"dragonfly"},
       .title = "dragonfly: groups of routers joined all to all",
       .assumes = "Groups of `a` routers with `p` host ports and `h` global links each; every pair of groups has the same "
                  "number of links.",
       .leaves_out = {"dragonfly routes are minimal, of one global link where the groups have one; non-minimal adaptive "
                      "routing is not modelled"},
       .sources = {"Kim, Dally, Scott, Abts, 2008", "models/network §5.2"},
       .files = {"network/topologies/dragonfly.cpp"}},
      {.names = {"torus"},
       .title = "torus of any number of dimensions",
       .assumes = "A router at every position, joined to its two neighbours in each dimension (one, where the size is 2).",
       .leaves_out = {"torus routes are all shortest ones, not dimension order; virtual channels are not modelled"},
       .sources = {"models/network §5.2"},
       .files = {"network/topologies/torus.cpp"}},
      {.names = {"custom"},
       .title = "a fabric written out switch by switch and link by link",
       .assumes = "Exactly the devices and links listed. Where switches state a `group`, routes cross as few links between "
                  "groups as they can.",
       .leaves_out = {},
       .sources = {"sim/network/wiring.h: the language of the lists"},
       .files = {"network/topologies/custom.cpp"}},
      {.names = {"cluster"},
       .title = "a cluster: hosts of one node template, a fabric, a profile",
       .assumes = "All hosts are alike. Graph and routes are checked when the file is loaded.",
       .leaves_out = {"the fabric of a single node is read and checked, but not built (a custom one is built always)",
                      "one node template per cluster: mixed hosts are not modelled"},
       .sources = {"models/network §1.6 (inside of hosts)"},
       .files = {"network/cluster.h"}},
      {.names = {"import", "export", "nccl_xml"},
       .title = "NCCL's topology files and the matrix of nvidia-smi topo -m",
       .assumes =
           "Every element and attribute of an NCCL file is kept, so that exporting an import gives the file back. A cloud's "
           "file of places is completed by --gpu, --nvlinks and --nic-rate as NCCL completes it from the machine. The xGMI "
           "links of RCCL's files have the rates of AMD's data sheets. "
           "What the matrix of nvidia-smi does not say is assumed, with a warning for each. NVLinks that a GPU could not "
           "hold one by one go through an NVSwitch; two GPUs among others have a bridge.",
       .leaves_out = {"import: a GPU without rank, an NVSwitch's own PCI function and NVLinks out of the file are kept, but "
                      "not simulated",
                      "export: links that are no part of NCCL's tree are left out; links between GPUs of any kind but PCIe "
                      "become NVLinks, Infinity Fabric the xgmi of RCCL's files",
                      "a cluster made of a file (-o, --topo-xml): the order in which a GPU lists its links is not kept, so "
                      "of rings that are equally fast NCCL may find others",
                      "export: NCCL's file has one NVSwitch for all of a host; a host with several groups is refused"},
       .sources = {"models/nccl §1.1, §1.2"},
       .files = {"network/import/nccl_xml_reader.h", "network/import/nccl_xml_writer.h", "network/import/nvidia_smi.h",
                 "network/import/cluster_text.h"}},
      {.names = {"launch", "device"},
       .title = "what launching costs the host",
       .assumes =
           "A host thread launches one kernel after another at a fixed cost, whichever GPU each is for. The kernels of a "
           "CUDA graph cost it less each, and all are issued at once.",
       .leaves_out = {"the launching thread runs ahead of the GPUs without bound: no launch waits for a full stream",
                      "gaps between dependent kernels of a stream are part of what the kernels' own models say"},
       .sources = {"models/training_steps §2, §6", "models/nccl §7.1"},
       .files = {"network/launch_timings.h"}},
  };
  return texts;
}

const std::vector<ModelText>& collective_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"nccl", "nccl_choice"},
       .title = "how NCCL would run a call: algorithm, protocol, channels, threads",
       .assumes = "NCCL's topology search, channels, tuning tables, selection and split of bytes over channels follow one "
                  "release. `nccl: {version: ...}`, `--nccl version=...` or a log names it. Known are 2.18, 2.19, 2.21, 2.23, "
                  "2.27, 2.28, 2.29 and 2.30 (the default); others behave as the newest of these that is not newer. 2.30 "
                  "reproduces what NCCL 2.30.7's own code answers for twelve kinds of machine. 2.28 reproduces what a real 4 x "
                  "H200 node printed. The choice is then timed by running it: protocols LL, LL128 and Simple with their slots, "
                  "slices, flags and warps (`weft explain executor`), launches by threads, processes or CUDA graphs. An "
                  "algorithm asked for that is not NCCL's runs as a textbook one: on the network alone.",
       .leaves_out = {"NCCL: registered buffers, symmetric-memory and copy-engine kernels, plugins, CTA policies, "
                      "communicator splits and grouped calls",
                      "NCCL: data types and operators change nothing beyond the bytes (NCCL leaves NVLS for types the switch "
                      "cannot add)",
                      "NCCL: other environment variables are accepted, named in a note, and change nothing"},
       .sources = {"models/nccl §1 to §7", "models/nccl_calibration"},
       .files = {"collectives/nccl/choose.h", "collectives/nccl/view.h", "collectives/nccl/settings.cpp"}},
      {.names = {"nccl_view", "system"},
       .title = "NCCL's own view of a host: its graph, path classes and planned bandwidths (weft topo --nccl-view)",
       .assumes = "Made from the topology file that NCCL would read, with NCCL's own numbers. They are plans, not what the "
                  "network gives.",
       .leaves_out =
           {"NCCL's view: since 2.30 GPUs hang from DEV nodes, one hop further away; here they stand for themselves",
            "NCCL's view: all ranks of a host reach each other by P2P or shared memory",
            "NCCL's view: several ranks or partitions of one GPU, NIC fusion, GIN and RMA devices are left out",
            "NCCL's view: AMD's GPUs are searched as of compute capability 9.0, with RCCL's bandwidth of an xGMI link; "
            "RCCL's own speeds and tables of machines are left out"},
       .sources = {"models/nccl §1.2, §1.3"},
       .files = {"collectives/nccl/system.h", "collectives/nccl/system.cpp"}},
      {.names = {"nccl_tuning", "selection"},
       .title = "what NCCL believes each algorithm and protocol would take, and so chooses",
       .assumes =
           "NCCL's tables and formulas by release (2.18, 2.19, 2.21, 2.23, 2.27 to 2.30), in its own floats; every cost and "
           "choice of the golden machines is reproduced. NCCL_ALGO and NCCL_PROTO are read as NCCL reads them. NVLS is for "
           "elements and reductions that NVSwitches add up, CollNet for those of SHARP's plugin; fp8 rings of more than eight "
           "ranks are the last choice.",
       .leaves_out = {"NCCL's tuning: what workloads and traces run has elements of known size only: floating-point numbers, "
                      "but integers of one byte; their reductions are sums",
                      "NCCL's tuning: buffers are not registered, and there is no tuner plugin",
                      "NCCL's planner: CollNet kinds stride over their channels; here each channel's bytes are one part"},
       .sources = {"models/nccl §4.4 to §4.6, §5"},
       .files = {"collectives/nccl/tuning.h", "collectives/nccl/planner.h"}},
      {.names = {"nccl_p2p_plan"},
       .title = "how NCCL runs sends and receives: order of peers, channels, parts, protocol",
       .assumes = "Every rank runs the same rounds, group by group; a transfer takes as many channels as its size is worth. "
                  "Each channel takes the next of the receiver's NICs, and of the sender's node the NICs of the GPU with the "
                  "receiver's number, over NVLink where that is another (PXN, NCCL_P2P_PXN_LEVEL).",
       .leaves_out = {"NCCL's send and receive: buffers are not registered, and a relay (PXN) joins no messages",
                      "NCCL's send and receive: the order of peers is that of 2.30 for every release"},
       .sources = {"models/nccl §3.6"},
       .files = {"collectives/nccl/p2p_plan.h", "collectives/nccl/peer_nets.h"}},
      {.names = {"nccl_search"},
       .title = "NCCL's channel search: which GPU orders and NICs its rings and trees use (weft explain channels)",
       .assumes =
           "NCCL's own search runs on its view of a node, step for step and by release: speeds from fast to slow, patterns, "
           "relaxations, budgets, duplication. Rings through all nodes follow, double binary trees over nodes with chains "
           "inside, and the channels for collectives, NVLS and send/recv. NCCL_GRAPH_FILE replaces the search.",
       .leaves_out = {"NCCL's search: hosts of one template with the same GPUs in use are alike, whatever their cables",
                      "NCCL's search: plugins for networks and tuning, CTA policies and ncclConfig_t are left out",
                      "NCCL's search: releases before 2.23 are taken to search as 2.23, but for rings that cross NICs"},
       .sources = {"models/nccl §2 (search and channels), §3.2 (trees), §A (golden data of 2.30.7)",
                   "NCCL's public sources of 2.23, 2.27, 2.28 and 2.30, read for facts"},
       .files = {"collectives/nccl/comm_info.h", "collectives/nccl/search.h", "collectives/nccl/connect.h"}},
      {.names = {"ring", "ring_order", "channels"},
       .title = "NCCL's ring: one ring per channel, in loops of n chunks",
       .assumes =
           "Every channel passes its share around its own ring: 2(n-1) steps of a chunk for all-reduce, n-1 for all-gather "
           "and reduce-scatter, a chain for broadcast and reduce. The rings are those of NCCL's search (nccl_search).",
       .leaves_out =
           {"rings: without a planner's shares channels share the data evenly; NCCL cuts in cells of at least 16 KiB, which "
            "loads them unevenly at small sizes",
            "rings: one lane runs loop after loop", "rings of textbook algorithms follow rank order, not NCCL's search"},
       .sources = {"models/nccl §2 (search), §3.1 (ring), §4.6 (cells)", "Patarasuk and Yuan, 2009"},
       .files = {"collectives/algorithms/ring.cpp", "collectives/algorithms/parts.h"}},
      {.names = {"plain_ring"},
       .title = "the textbook ring: one message per step, however large",
       .assumes = "2(n-1) messages of S/n for all-reduce, in rank order; it pays for the network alone: no launch, no "
                  "protocol, no limit of a thread block.",
       .leaves_out = {"plain_ring and pairwise leave out launch, protocol and reduction costs on purpose"},
       .sources = {"Patarasuk and Yuan, 2009", "Thakur, Rabenseifner and Gropp, 2005"},
       .files = {"collectives/algorithms/plain_ring.cpp"}},
      {.names = {"direct"},
       .title = "all messages straight from owner to owner, posted at once",
       .assumes = "Rank i posts to i+1, i+2, ... (mod n), so that no receiver is everybody's first.",
       .leaves_out = {"direct messages are one per pair and channel: NCCL's p2p batches and channel mapping are not modelled"},
       .sources = {"models/nccl §3.6"},
       .files = {"collectives/algorithms/direct.cpp"}},
      {.names = {"pairwise"},
       .title = "pairwise exchange: an all-to-all in n-1 rounds",
       .assumes = "In round r rank i sends to i+r and receives from i-r (mod n), and starts the next when both are done.",
       .leaves_out = {"pairwise: the fluid grain moves all rounds together at the rate of the slowest pair, too fast where "
                      "rounds differ"},
       .sources = {"Thakur, Rabenseifner and Gropp, 2005"},
       .files = {"collectives/algorithms/pairwise.cpp"}},
      {.names = {"chunk", "executor", "protocol"},
       .title = "chunk grain: every slice of every step of a schedule is a message",
       .assumes =
           "A slice starts when its messages are there, the slice before it has ended and its connections have a free slot (8 "
           "slots; a ring's Simple chunk takes 4 in two slices). A thread block moves data at its own rate and shares the "
           "links. LL and LL128 move them in passes, the last by the warps with data left. A step's loads and stores say how "
           "long it takes: adding and keeping cost, and a step that only receives costs time but no link. LL and LL128 are "
           "passed on as they come in, Simple slice by slice. Through host memory the sender writes and, once told, the "
           "receiver reads. Thread blocks that send over NVLink queue for their GPU's port, and for their peer's where several "
           "GPUs send there. So each is the slower the more of them there are (mean value analysis, no constant of its own). A "
           "port that sends as well serves what comes in at what packets leave of its rate. What send/recv keeps over NVLink "
           "its peer has stored there: a receiver's own work shows only as far as the port is busy. Links serve channels "
           "unequally, step by step, so that channels which start in phase drift apart. A block of more warps starts later, "
           "and in LL128 pauses less between steps. In Simple a step that only receives costs more. Warps come together for a "
           "chunk's second slice while the port still has the first. And each channel takes simple.crowding longer for its "
           "bytes for each channel beside it. A step of LL waits for its message or its own operand, whichever takes longer, "
           "and keeps its result element by element: copies, which are of bytes, take eight stores where floats take two. "
           "Operands are read from caches where the call's buffers fit. They are read from memory where the buffers do not fit "
           "or where calls walk through it, as those of nccl-tests, of weft collective and of a scenario's list do. Programs "
           "use the same buffers in every call. A launch costs the host more for each channel with work. Kernels start in the "
           "order in which host threads or a graph launch them and queue behind the kernel before; the loop of calls is run "
           "until its pace is steady.",
       .leaves_out =
           {"a lane that follows another sends at the pace of its own warps and links even where data come in more slowly; "
            "only its end waits",
            "thread blocks that share a port slow each other as customers of one queue do: a slice meets the mean queue of "
            "those that send when it begins; of two ports of unequal load it waits at the busier one, and at the other as far "
            "as that is as busy; who stores to whom is taken from the first steps",
            "loads and stores of a step cost a thread block time one after another, each its own share, whatever its peers "
            "do, but for the loads of LL; there a reduction that finds nothing in the caches is too slow (reduce, "
            "reduce_scatter of 64 MiB: 14 and 8 %), an all-reduce 4 % too fast, a tree of 32 to 512 KiB 9 to 18 %",
            "what a receiver over NVLink waits for beside a busy port is measured, not understood: nothing of it shows with "
            "one channel, all of it where the port is busy for two thirds of the time",
            "block_latency of all protocols, simple.copy_latency, ll128.small_block_gap and simple.crowding are what rings "
            "measure; no mechanism of NCCL was found for them. Thread blocks of a kernel start in the order of their channels, "
            "as far apart as the last of so many random starts would be. In Simple, too, blocks of 256 threads pause 1 us "
            "longer between steps than those of 512, which is left out: 16 KiB in rings is 9 to 15 % fast",
            "through host memory the host's cache is not modelled: large messages of four GPUs come out 20 to 30 % too fast",
            "a lane is slowed by the block's other lanes that still work when its slice begins, until their last slice ends; "
            "those "
            "that begin later cost it nothing",
            "a contribution to a reduction in a switch costs its sender nothing: the head pulls all copies at once",
            "to another node a slice leaves when it is whole, behind the one before it, and the thread block does not wait: "
            "the "
            "proxy's thread and the NIC's queues cost a hop's constant and no more",
            "kernels of a communicator hold no SM against compute kernels here; streams and overlap belong to workloads"},
       .sources = {"models/nccl §3, §4, §7", "models/nccl_calibration", "Reiser and Lavenberg, J. ACM 27(2), 1980"},
       .files = {"collectives/executor.h", "collectives/executor.cpp", "collectives/executor_paths.cpp",
                 "collectives/shared_port.cpp", "collectives/step_costs.h", "collectives/step_costs.cpp",
                 "collectives/step_work.h", "collectives/costs.h", "collectives/launch_plan.h"}},
      {.names = {"fluid"},
       .title = "fluid grain: every channel is one coupled transfer along all its edges",
       .assumes =
           "The edges of a channel move at one common rate, the slowest edge's share, plus the latency that its longest chain "
           "of messages pays. `auto` chooses it for no call that the chunk grain can tell: above 200,000 messages (2,000,000 "
           "in chains and rounds; 100,000 of calls of 16 MiB and more in programs) it simulates runs of fewer loops, or "
           "of fewer hops in each loop of a ring, and reckons the others at the difference of two of them. What is left to the "
           "fluid grain are rings of many hundred ranks, pipelines that so few loops do not fill, and all-to-alls of more "
           "transfers than that.",
       .leaves_out =
           {"fluid grain: channels do not drift apart; a slow edge slows its whole channel at once",
            "fluid grain: one call, not the loop of calls; how far it is from the chunk grain, tools/grains.py PROGRAM prints",
            "chunk grain by fewer loops: a loop is taken to last as long in the middle of a call as from the 16th step of a "
            "lane on, once the first has passed all its edges; channels that drift apart more slowly make it a little off"},
       .sources = {"models/network §6.3"},
       .files = {"collectives/schedule.h", "collectives/shortened_schedule.h", "collectives/executor.h"}},
      {.names = {"closed_form"},
       .title = "closed-form grain: the textbook formula on an ideal network",
       .assumes =
           "A message of m bytes takes a + m/B, with the slowest first hop of any rank for a and B. Nothing is simulated.",
       .leaves_out = {"closed form: no contention between channels, nodes or rails beyond each rank's own port"},
       .sources = {"Thakur, Rabenseifner and Gropp, 2005, section 3"},
       .files = {"collectives/closed_form.h"}},
      {.names = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"},
       .title = "collectives that NCCL runs on rings",
       .assumes =
           "`bytes` is nccl-tests' size column: the vector of a rank, or for all_gather and reduce_scatter what all ranks "
           "hold together. busbw = algbw x 2(n-1)/n for all_reduce, (n-1)/n for all_gather and reduce_scatter, 1 for "
           "broadcast and reduce.",
       .leaves_out = {},
       .sources = {"models/nccl §8.2 (sizes and bandwidths of nccl-tests)", "weft explain nccl"},
       .files = {"collectives/call.h"}},
      {.names = {"alltoall", "sendrecv", "gather", "scatter"},
       .title = "collectives that NCCL runs as sends and receives",
       .assumes =
           "`bytes` is nccl-tests' size column: what all ranks hold together, for sendrecv the message. In sendrecv every "
           "rank sends to the next one and receives from the one before.",
       .leaves_out = {},
       .sources = {"models/nccl §8.2", "weft explain direct"},
       .files = {"collectives/call.h"}},
      {.names = {"predict", "validate"},
       .title = "how `weft validate` and `weft calibrate` predict a measured point",
       .assumes = "Each log is predicted under the settings it was taken with; the time of a call is that of the loop of "
                  "back-to-back calls that nccl-tests times, launches and all.",
       .leaves_out = {"validate: in-place calls take as long as out-of-place ones",
                      "validate: aggregated calls cost what plain calls cost; a note says where a log is of that kind",
                      "validate: several communicators side by side are predicted as one by itself"},
       .sources = {"models/nccl_calibration", "models/nccl §8.2, §8.4 (nccl-tests)"},
       .files = {"measured/predict.h", "measured/kinds/collective.h", "collectives/runner.h"}},
      {.names = {"profile", "calibration"},
       .title = "a profile: how hardware behaves, apart from what exists",
       .assumes =
           "A profile sets parameters by key; what it does not name keeps the default declared beside its model. Every "
           "value says where it comes from: datasheet, literature (with reference), fitted (with the fit and its error), "
           "measured (as it is) or assumed, and of which GPU it is. The error stated is that on data no parameter was fitted "
           "to; where there is none, `not "
           "validated`. A fitted value has its standard error. It comes from the slopes and the spread of the residuals "
           "at the end of the fit, and from the time by which all calls of one run and of one communicator are off "
           "(0.14 and 0.10 us). `weft validate --uncertainty` says what these make of each prediction.",
       .leaves_out = {"standard errors say how well the training points tell a value, not how right the model is",
                      "those of different calibrations count as independent, although a later fit rests on the values of an "
                      "earlier one; a prior counts as data; a value that the training points do not tell has none"},
       .sources = {"weft list parameters", "weft explain profile FILE", "weft explain KEY"},
       .files = {"core/profile.h", "measured/fit/identifiability.h", "measured/prediction_uncertainty.h"}},
  };
  return texts;
}

}  // namespace

std::span<const ModelText> model_texts() {
  static const std::vector<ModelText> all = [] {
    std::vector<ModelText> texts = network_texts();
    texts.insert(texts.end(), collective_texts().begin(), collective_texts().end());
    texts.insert(texts.end(), nccl_algorithm_texts().begin(), nccl_algorithm_texts().end());
    texts.insert(texts.end(), library_algorithm_texts().begin(), library_algorithm_texts().end());
    texts.insert(texts.end(), congestion_texts().begin(), congestion_texts().end());
    texts.insert(texts.end(), packet_texts().begin(), packet_texts().end());
    texts.insert(texts.end(), kernel_texts().begin(), kernel_texts().end());
    texts.insert(texts.end(), transformer_texts().begin(), transformer_texts().end());
    texts.insert(texts.end(), replay_texts().begin(), replay_texts().end());
    texts.insert(texts.end(), training_texts().begin(), training_texts().end());
    texts.insert(texts.end(), inference_texts().begin(), inference_texts().end());
    texts.insert(texts.end(), planning_texts().begin(), planning_texts().end());
    return texts;
  }();
  return all;
}

}  // namespace weft::output
