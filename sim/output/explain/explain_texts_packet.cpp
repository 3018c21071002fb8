// The texts on what packet fidelity adds.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& congestion_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"dcqcn"},
       .title = "DCQCN, the paper's reaction point: the rate by congestion notifications",
       .assumes = "Every CNP cuts the rate by alpha/2. Expiries of a timer and of a byte counter bring it back: halfway to the "
                  "rate before the cut, then beyond it by r_ai, then by r_hai. alpha rises with CNPs and decays without. r_ai "
                  "scales with the line (40 Mb/s at 40 Gb/s). min_rate is ns-3's, the paper names none.",
       .leaves_out = {"dcqcn: losses do not slow a sender"},
       .sources = {"Zhu et al., Congestion control for large-scale RDMA deployments, SIGCOMM 2015", "models/network §3.1, K15"},
       .files = {"network/congestion/dcqcn.cpp", "network/congestion/dcqcn_rates.h"}},
      {.names = {"dcqcn_mlx"},
       .title = "DCQCN as NICs do it: CNPs set flags that timers consume",
       .assumes =
           "alpha is updated and the rate cut by timers of their own, which look whether a CNP came in between. Increases "
           "are staged by the rate timer, which restarts at a cut. preset: hpcc_sim, hpcc_sim_paper, ns3 or firmware sets "
           "the defaults of all other keys.",
       .leaves_out = {"dcqcn_mlx: stages are counted by the timer only; firmware's byte counter is left out",
                      "dcqcn_mlx: losses do not slow a sender"},
       .sources = {"models/network §3.1 (policy and columns of parameters)"},
       .files = {"network/congestion/dcqcn_mlx.cpp", "network/congestion/dcqcn_rates.h"}},
      {.names = {"hpcc"},
       .title = "HPCC: window and rate by what switches stamp into packets",
       .assumes = "The bytes that each port sent and what waits there set the window, so that the busiest hop of the path is "
                  "used to eta. Its reference moves once per round trip. n flows on one link settle at eta + n r_ai/line.",
       .leaves_out = {"hpcc: stamps are matched by their place on the path; after a change to a path of equal length the "
                      "first ones compare different ports",
                      "hpcc: losses do not slow a sender"},
       .sources = {"Li et al., HPCC: high precision congestion control, SIGCOMM 2019", "models/network §3.2, K17"},
       .files = {"network/congestion/hpcc.cpp"}},
      {.names = {"timely"},
       .title = "TIMELY: the rate by the round trip and its gradient",
       .assumes = "One sample per segment acknowledged. Below t_low the rate grows by delta, above t_high it shrinks, "
                  "between them it follows the gradient. Shares need not become equal.",
       .leaves_out = {"timely: losses do not slow a sender"},
       .sources = {"Mittal et al., TIMELY: RTT-based congestion control for the datacenter, SIGCOMM 2015",
                   "Zhu et al., ECN or delay, CoNEXT 2016", "models/network §3.3"},
       .files = {"network/congestion/timely.cpp"}},
      {.names = {"swift"},
       .title = "Swift: a window that holds the round trip at a target",
       .assumes = "The target grows with the hops of the path and with 1/sqrt(window). Below it the window grows by "
                  "`additive` packets per round trip, above it it shrinks in proportion, once per round trip; under one "
                  "packet it is a pace.",
       .leaves_out = {"swift: the whole round trip is held against one target; delay inside end hosts is not told apart",
                      "swift: a NAK and a timeout both cut the window by max_decrease, at most once per round trip"},
       .sources = {"Kumar et al., Swift: delay is simple and effective for congestion control in the datacenter, SIGCOMM 2020",
                   "models/network §3.4 (values of htsim)"},
       .files = {"network/congestion/swift.cpp"}},
      {.names = {"ib_cc"},
       .title = "InfiniBand's congestion control: a table of injection delays, by BECNs up, by a timer down",
       .assumes =
           "Every BECN raises the index into the table by ccti_increase, and every ccti_timer lowers it by one, not below "
           "ccti_min. An entry is the delay after a packet, in times of that packet: the rate is line / (1 + entry). The "
           "table is 0, 1, ... 127 where none is stated, the timer 150 units of 1.024 us.",
       .leaves_out = {"ib_cc: the index is of the queue pair, not of the service level; the timer starts with the BECN that "
                      "raises the index from its least value; losses do not slow a sender"},
       .sources = {"InfiniBand Architecture Specification, volume 1, annex A10", "models/network §4"},
       .files = {"network/congestion/ib_cc.cpp"}},
      {.names = {"window"},
       .title = "a static window: so many bytes on the way",
       .assumes = "The rate is at most window / round trip; by default the window is the bandwidth-delay product.",
       .leaves_out = {},
       .sources = {"models/network §3.6"},
       .files = {"network/congestion/window.cpp"}},
  };
  return texts;
}

const std::vector<ModelText>& packet_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"packet"},
       .title = "packet fidelity: queues, shared switch memory, PFC, ECN, credits, queue pairs",
       .assumes = "Transfers are messages of queue pairs, one for each path. Packets wait in output queues by priority; "
                  "switches count them by ingress (pauses) and egress (marks, drops) until their last bit has left. Links "
                  "inside hosts and InfiniBand have credits. Routes are the flow fidelity's own; spray and adaptive choose "
                  "for every packet.",
       .leaves_out =
           {"packet: TLPs and flits are counted in the bytes on the wire, not simulated one by one; a packet inside a host "
            "is 4 KiB",
            "packet: memory is not cut into cells; the bits of pause frames and credit updates are not charged to the links",
            "packet: receivers take packets at line rate and answer at once",
            "packet: a switch adds up and copies in no time, and members of a group wait for no window",
            "packet: what is under way when a route changes, on a way that is no more, is lost; without acknowledgements "
            "collectives and jobs send it again from the source at once, as if it had been told",
            "packet: a lost RDMA READ request is not asked for again, and its answer is acknowledged as a write is",
            "packet: an output behind credits serves its inputs in turn, a packet each; what a device sends itself is one of "
            "them"},
       .sources = {"models/network §2, §3.6, §4, §7 (K1-K31)"},
       .files = {"network/packet_level/buffers.h", "network/packet_level/group_transfers.h",
                 "network/packet_level/packet_fabric.h", "network/packet_level/packet_network.h",
                 "network/packet_level/packet_routes.h", "network/packet_level/transport.h", "workloads/flow_run.cpp"}},
      {.names = {"hybrid", "hybrid_fabric"},
       .title = "hybrid fidelity: packets over chosen links, flows elsewhere",
       .assumes =
           "A transfer that crosses a chosen link is packets from end to end, any other is a flow. Where no link carries "
           "both kinds, each takes exactly the time of its own fidelity. Where one does, flows lose as many bytes of it as "
           "packets carry, at the packets' max-min share among all transfers. A packet takes the full rate of such a link as "
           "soon as that share has moved what went before it, however late it comes, or sooner at what flows leave; half of "
           "the flows' bytes of its turn come before it. A flow is felt at a link when a packet would be there.",
       .leaves_out =
           {"hybrid: flows make no queue and no marks on a link of both kinds, pause no packets and are paused by none",
            "hybrid: flows are charged for packets as these are posted, whenever they come; a link of both kinds may carry "
            "more than its rate for as long as the two differ",
            "hybrid: flows fill links side by side evenly, whichever of them packets take",
            "hybrid: acknowledgements and what is sent again take nothing from flows; links do not fail",
            "hybrid: with acks: packets, acknowledgements wait for no flow, and flows have none: packets meet those of packets "
            "only, and may take another time than at either fidelity even where no link carries both kinds"},
       .sources = {"docs/flow_and_packet.md: against packets throughout, within 8 % where flows and packets agree within 3 %",
                   "Parekh and Gallager, A generalized processor sharing approach to flow control, 1993"},
       .files = {"network/hybrid_fabric.h", "network/shared_links.h"}},
      {.names = {"vl_arbitration"},
       .title = "InfiniBand's VL arbitration: two tables of virtual lanes with weights",
       .assumes =
           "Each table is served round robin; an entry's turn lasts until its weight, in blocks of 64 B, is used up or its "
           "lane has nothing to send, and the packet that crosses the weight still goes. The high table goes first until "
           "high_limit x 4 KiB have left (0: a packet, 255: for ever), then the low one sends a packet.",
       .leaves_out = {"vl_arbitration: lanes in no table are served when no listed one can send; VL15 is left out",
                      "vl_arbitration: a service level has the same lane on all ports"},
       .sources = {"InfiniBand Architecture Specification, volume 1, 7.6.9", "models/network §4"},
       .files = {"network/packet_level/vl_arbitration.cpp"}},
      {.names = {"fecn"},
       .title = "InfiniBand's forward marks (FECN): by a threshold, at the root of the congestion",
       .assumes =
           "A packet is marked that leaves by a lane with more than the threshold in front of it, every marking_rate + 1 of "
           "them. A weight of 1 to 15 stands for (16 - weight) / 16 of what a cable's receiver holds of one lane. Lanes that "
           "wait for credits are victims and mark nothing, unless victim_mask says so.",
       .leaves_out = {"fecn: a lane is a victim while its credits do not last for another packet of the same size; marks are "
                      "counted by lane, not by port; the credit-starvation threshold is left out"},
       .sources = {"InfiniBand Architecture Specification, volume 1, annex A10", "models/network §4"},
       .files = {"network/packet_level/fecn.cpp"}},
  };
  return texts;
}

}  // namespace weft::output
