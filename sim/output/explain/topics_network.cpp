// Topics on networks: fidelities, routes, clusters and their files.
#include "sim/output/explain/topics.h"

namespace weft::output {

std::vector<Topic> network_topics() {
  return {
      {.names = {"flow", "flow_fabric"},
       .text = {.title = "flow fidelity: transfers share links max-min fairly",
                .assumes =
                    "A transfer has a footprint: the bytes each link carries per byte moved. Rates are the weighted "
                    "max-min fair shares over all links of all footprints, solved again for the affected part at each "
                    "arrival and departure; completions are exact to the picosecond. A link's capacity is its rate times "
                    "its efficiency (headers, flow control, coding).",
                .leaves_out =
                    {"rates follow every arrival and departure at once: no congestion-control transients",
                     "queues are empty and no port pauses another: no buffer, ECN, PFC or credit effects",
                     "latency is charged after the last byte has left, and takes no capacity",
                     "when a link fails nothing under way is lost: flows go on over another path at that instant, or wait "
                     "where a cable will be back"},
                .sources = {"models/network §6.1 (max-min, progressive filling), §6.3 (latency), §6.5 (what this misses)"},
                .files = {"network/flow_level/flow_fabric.h", "network/flow_level/rerouting.h", "core/fair_share.h"}}},
      {.names = {"packet"},
       .text = {.title = "packet fidelity: queues, shared switch memory, PFC, ECN, credits, queue pairs",
                .assumes =
                    "Transfers are messages of queue pairs, one for each path. Packets wait in output queues by "
                    "priority; switches count them by ingress (pauses) and egress (marks, drops) until their last bit "
                    "has left. Links inside hosts and InfiniBand have credits. Routes are the flow fidelity's own; spray "
                    "and adaptive choose for every packet.",
                .leaves_out =
                    {"packet: TLPs and flits are counted in the bytes on the wire, not simulated one by one; a packet "
                     "inside a host is 4 KiB",
                     "packet: memory is not cut into cells; the bits of pause frames and credit updates are not charged "
                     "to the links",
                     "packet: receivers take packets at line rate and answer at once",
                     "packet: a switch adds up and copies in no time, and members of a group wait for no window",
                     "packet: what is under way when a route changes, on a way that is no more, is lost; without "
                     "acknowledgements collectives and jobs send it again from the source at once, as if it had been told",
                     "packet: a lost RDMA READ request is not asked for again, and its answer is acknowledged as a write "
                     "is",
                     "packet: an output behind credits serves its inputs in turn, a packet each; what a device sends "
                     "itself is one of them"},
                .sources = {"models/network §2, §3.6, §4, §7 (K1-K31)"},
                .files = {"network/packet_level/buffers.h", "network/packet_level/group_transfers.h",
                          "network/packet_level/packet_fabric.h", "network/packet_level/packet_network.h",
                          "network/packet_level/packet_routes.h", "network/packet_level/transport.h",
                          "workloads/flow_run.cpp"}}},
      {.names = {"hybrid", "hybrid_fabric"},
       .text = {.title = "hybrid fidelity: packets over chosen links, flows elsewhere",
                .assumes = "A transfer that crosses a chosen link is packets from end to end, any other is a flow. Where no "
                           "link carries both kinds, each takes exactly the time of its own fidelity. Where one does, flows "
                           "lose as many bytes of it as packets carry, at the packets' max-min share among all transfers. A "
                           "packet takes the full rate of such a link as soon as that share has moved what went before it, "
                           "however late it comes, or sooner at what flows leave; half of the flows' bytes of its turn come "
                           "before it. A flow is felt at a link when a packet would be there.",
                .leaves_out =
                    {"hybrid: flows make no queue and no marks on a link of both kinds, pause no packets and are paused "
                     "by none",
                     "hybrid: flows are charged for packets as these are posted, whenever they come; a link of both kinds "
                     "may carry more than its rate for as long as the two differ",
                     "hybrid: flows fill links side by side evenly, whichever of them packets take",
                     "hybrid: acknowledgements and what is sent again take nothing from flows; links do not fail",
                     "hybrid: with acks: packets, acknowledgements wait for no flow, and flows have none: packets meet "
                     "those of packets only, and may take another time than at either fidelity even where no link carries "
                     "both kinds"},
                .sources = {"docs/flow_and_packet.md: against packets throughout, within 8 % where flows and packets agree "
                            "within 3 %",
                            "Parekh and Gallager, A generalized processor sharing approach to flow control, 1993"},
                .files = {"network/hybrid_fabric.h", "network/shared_links.h"}}},
      {.names = {"via", "named_way"},
       .text = {.title = "a flow's own way: `via` some devices, or `route` by all of them",
                .assumes =
                    "`route` names every device between the ends. `via` names some, in order; between them the way has as "
                    "few links as it can, and of equal ones the fabric's routing picks one. It is one path for all packets "
                    "of the flow and visits no device twice. ACKs go back over the same links, but where one is one-way.",
                .leaves_out = {"via: links between hosts and inside them count alike, and so do those between groups of a "
                               "dragonfly",
                               "via: the way is found from one named device to the next, so that one may be refused that "
                               "other equal links would allow"},
                .sources = {"RFC 791, 3.1: strict and loose source routes"},
                .files = {"network/routing/named_way.h"}}},
      {.names = {"vl_arbitration"},
       .text = {.title = "InfiniBand's VL arbitration: two tables of virtual lanes with weights",
                .assumes =
                    "Each table is served round robin; an entry's turn lasts until its weight, in blocks of 64 B, is "
                    "used up or its lane has nothing to send, and the packet that crosses the weight still goes. The "
                    "high table goes first until high_limit x 4 KiB have left (0: a packet, 255: for ever), then the low "
                    "one sends a packet.",
                .leaves_out = {"vl_arbitration: lanes in no table are served when no listed one can send; VL15 is left out",
                               "vl_arbitration: a service level has the same lane on all ports"},
                .sources = {"InfiniBand Architecture Specification, volume 1, 7.6.9", "models/network §4"},
                .files = {"network/packet_level/vl_arbitration.cpp"}}},
      {.names = {"fecn"},
       .text =
           {.title = "InfiniBand's forward marks (FECN): by a threshold, at the root of the congestion",
            .assumes = "A packet is marked that leaves by a lane with more than the threshold in front of it, every "
                       "marking_rate + 1 of them. A weight of 1 to 15 stands for (16 - weight) / 16 of what a cable's "
                       "receiver holds of one lane. Lanes that wait for credits are victims and mark nothing, unless "
                       "victim_mask says so.",
            .leaves_out = {"fecn: a lane is a victim while its credits do not last for another packet of the same size; marks "
                           "are counted by lane, not by port; the credit-starvation threshold is left out"},
            .sources = {"InfiniBand Architecture Specification, volume 1, annex A10", "models/network §4"},
            .files = {"network/packet_level/fecn.cpp"}}},
      {.names = {"uec", "uet", "ultra_ethernet", "trimming", "rud", "rod"},
       .text =
           {.title = "Ultra Ethernet's transport: sprayed, trimmed, acknowledged packet by packet (transport: {type: uec})",
            .assumes =
                "A sender gives every packet an entropy value, which the switches hash to a path. Values that came back marked "
                "or trimmed sit out some turns (load_balancing: bitmap), or those that came back well go again (reps). "
                "Reliable "
                "unordered delivery (delivery_mode: rud) takes packets in any order and acknowledges each. Reliable ordered "
                "delivery (rod) takes one path and goes back to what is missing. With switch: {trimming: true} a packet that "
                "finds "
                "its queue full loses its payload. Its header goes ahead at trim_priority, the receiver answers it, and the "
                "packet is sent again within the window. NSCC moves the window (weft explain nscc), or the destination grants "
                "credit "
                "(weft explain rccc).",
            .leaves_out =
                {"uec: the destination flow control of NSCC",
                 "uec: links lose no packets, but by rule or failure; link-level retry (`llr: true`) repairs the former, has "
                 "room for all "
                 "that it may send again, counts none of it, and saves no acknowledgement that takes no links (acks: free)",
                 "uec: credit-based flow control (CBFC) is the section `credits`, without its messages' format",
                 "uec: ephemeral connections: contexts are there from the start, and setting up or closing one takes no time",
                 "uec: unreliable delivery (UUD) and idempotent operations (RUDI); a flow without ACKs is the former",
                 "uec: an acknowledgement names one packet beyond those that are all there, not a bitmap of 64",
                 "uec: losses that no trimmed header tells are found by 256 later packets or by a timeout, not by probes",
                 "uec: the packet that arrives is trimmed; headers that find twice the queue's limit before them are lost",
                 "uec: a packet trimmed by the last switch counts against its path like any other",
                 "uec: headers are those of the links (`header`), not UEC's own; a NIC of several planes is several NICs",
                 "uec: messages match no tags, and are not encrypted"},
            .sources = {"Ultra Ethernet Consortium, UEC specification 1.0, 2025", "models/network §3.5",
                        "uet-htsim, the consortium's simulator: uec.cpp, uec_mp.cpp, main_uec.cpp (commit 40ccb05)"},
            .files = {"network/uec_settings.h", "network/packet_level/entropies.h", "network/packet_level/packets_in_flight.h",
                      "network/packet_level/losses.cpp", "network/packet_level/link_retry.cpp",
                      "network/packet_level/transport_credits.cpp", "network/packet_level/credit_pacer.h",
                      "network/congestion/nscc.cpp", "network/congestion/rccc.cpp"}}},
      {.names = {"pfc", "priority_flow_control", "pause", "headroom", "pfc_watchdog"},
       .text = {.title = "priority flow control (PFC): a switch whose buffer for a priority fills pauses its neighbour",
                .assumes =
                    "Bytes are counted by ingress port and priority. Above xoff the switch pauses the sender, at xon or below "
                    "it resumes it; what comes while the pause travels takes headroom. So nothing is dropped, and a pause "
                    "spreads backwards: flows that share a paused cable stand still with it (victims). A watchdog ends that: a "
                    "queue with packets that is paused for its detection time is in a storm, and what waits there and comes "
                    "is dropped until the port was not paused for its restoration time.",
                .leaves_out = {"pfc: a packet is counted until its last bit has left; memory is not cut into cells",
                               "pfc: hosts pause nobody unless faults.pause says so",
                               "pfc: a watchdog's times are exact, where SONiC polls counters; it has no action forward, and "
                               "drops nothing of what comes in by a port in a storm"},
                .sources = {"IEEE 802.1Qbb", "models/network §2.5, §7 (K7-K13)",
                            "SONiC, PFC Watchdog Design (of the watchdog)"},
                .files = {"network/packet_level/buffers.h", "network/packet_level/pauses.cpp",
                          "network/packet_level/watchdog.cpp"}}},
      {.names = {"ecn", "red", "marks"},
       .text =
           {.title =
                "explicit congestion notification (ECN): a switch with a long queue marks packets in place of dropping them",
            .assumes = "By RED on the queue in front of a link: none are marked up to kmin, up to pmax at kmax, all beyond. A "
                       "receiver tells the sender of marks, by acknowledgements or by notifications (CNPs), and the sender's "
                       "congestion control slows down. ecn of one switch differs from another's under fabric.switches.",
            .leaves_out = {"ecn: RED looks at the present queue, not at an average of it"},
            .sources = {"RFC 3168", "Floyd and Jacobson, 1993", "models/network §2.6, §7 (K14)"},
            .files = {"network/packet_level/packet_network.h"}}},
      {.names = {"credits", "xmit_wait"},
       .text =
           {.title = "credits of InfiniBand, NVLink and PCIe: a link sends what its far end has memory for",
            .assumes =
                "A sender has a number of blocks of its receiver's buffer, for each priority (virtual lane) apart. A packet "
                "takes whole blocks, and gives them back when it has left the receiver; an update brings them back. With "
                "fewer than a round trip takes the link idles: blocks x block / loop time. xmit_wait_ns is the time that a "
                "port had packets and sent none for want of credits, as InfiniBand's PortXmitWait counts it in ticks.",
            .leaves_out = {"credits: bits of updates take nothing from the link"},
            .sources = {"InfiniBand Architecture Specification, volume 1, 7.9", "models/network §4, §7 (K18)"},
            .files = {"network/packet_level/packet_network.h", "network/packet_level/input_queues.h"}}},
      {.names = {"deadlock", "buffer_cycle"},
       .text =
           {.title = "deadlock: links in a circle, each of which waits for memory behind the next",
            .assumes =
                "A run looks for it where a pause lasts long and where it ends with work undone, and names the links. `weft "
                "check` and `weft topo` look before any run: they follow the routes, and name a circle in which each link "
                "could wait for the next. Trees have none; rings, tori, dragonflies and detours do, unless packets change "
                "their virtual lane on the way.",
            .leaves_out = {"deadlock: a packet keeps its priority on all hops, so that no change of lane breaks a circle"},
            .sources = {"Dally and Seitz, 1987", "models/network §2.7"},
            .files = {"network/packet_level/deadlock.cpp", "network/buffer_cycles.h", "network/link_cycle.h"}}},
      {.names = {"transport", "queue_pair", "timeouts"},
       .text =
           {.title = "transport of a fabric's packets: queue pairs, acknowledgements, what is sent again",
            .assumes =
                "A flow is a queue pair, or several. It sends packets as its window and its congestion control let it, gets "
                "acknowledgements (free or as packets), and sends lost packets again: all from the first lost one on "
                "(go_back_n) or only those (selective_repeat), when a NAK comes or after a time-out of 67 ms. Seven "
                "time-outs in a row end it. `type: uec` is Ultra Ethernet's (weft explain uec).",
            .leaves_out = {"transport: posts of verbs cost post_latency and no CPU"},
            .sources = {"InfiniBand Architecture Specification, volume 1, 9.7", "models/network §3.6"},
            .files = {"network/packet_level/transport.h", "network/packet_level/selective_repeat.h"}}},
      {.names = {"measure", "series"},
       .text = {.title = "measure: from when to when rates, means and counters of a run are taken, and what is sampled",
                .assumes =
                    "Counters of links and flows are read at `from` and at `to`, and differences reported: nothing that is "
                    "measured "
                    "changes what happens. `series` samples queues, rates and states of congestion controls every so often, in "
                    "the last phase of an instant. Without the section the window is the whole run.",
                .leaves_out = {"measure: total_marks, total_drops, pauses and storms are of the whole run"},
                .sources = {"docs/packet_fidelity.md lists the keys"},
                .files = {"scenario/measure.h"}}},
      {.names = {"faults", "link_down", "drop"},
       .text =
           {.title = "faults of a scenario: lost packets, pauses that nobody asked for, cables that fail and come back",
            .assumes =
                "Entries name links and flows. A drop rule counts packets of a queue pair or draws them; a pause stops a link "
                "whatever its buffers say; link_down takes a cable out of all routes, and what is under way there is lost.",
            .leaves_out = {"faults: switches and hosts fail by their cables; routes change at the same instant everywhere"},
            .sources = {"docs/packet_fidelity.md lists the keys"},
            .files = {"scenario/faults.h", "network/packet_level/faults.h", "network/packet_level/losses.cpp"}}},
      {.names = {"router", "routes"},
       .text = {.title = "which links lead towards a destination",
                .assumes = "Inside a host: the best path class of NCCL (NVLink before PCIe before the sockets' link), spread "
                           "over equal shortest paths in proportion to their narrowest link. Between hosts: out by the NICs "
                           "nearest to the source GPU over PCIe, over equal-cost shortest paths by the routing policy, in by "
                           "those nearest to the destination. A flow is spread over several NICs in proportion to what each "
                           "carries; connections of NCCL name theirs. Where the fabric does not join the two sides' NICs, over "
                           "NVLink to the GPU on the destination's rail first (PXN).",
                .leaves_out = {"a flow by a library that drives one NIC only: it too has all of its GPU's"},
                .sources = {"models/nccl §1.3 (path classes)", "models/network §5.1 (policies)"},
                .files = {"network/router.h"}}},
      {.names = {"cluster"},
       .text = {.title = "a cluster: hosts of one node template, a fabric, a profile",
                .assumes = "All hosts are alike. Graph and routes are checked when the file is loaded.",
                .leaves_out = {"the fabric of a single node is read and checked, but not built (a custom one is built always)",
                               "one node template per cluster: mixed hosts are not modelled"},
                .sources = {"models/network §1.6 (inside of hosts)"},
                .files = {"network/cluster.h"}}},
      {.names = {"import", "export", "nccl_xml"},
       .text = {.title = "NCCL's topology files and the matrix of nvidia-smi topo -m",
                .assumes =
                    "Every element and attribute of an NCCL file is kept, so that exporting an import gives the file "
                    "back. A cloud's file of places is completed by --gpu, --nvlinks and --nic-rate as NCCL completes it "
                    "from the machine. The xGMI links of RCCL's files have the rates of AMD's data sheets. What the "
                    "matrix of nvidia-smi does not say is assumed, with a warning for each. NVLinks that a GPU could not "
                    "hold one by one go through an NVSwitch; two GPUs among others have a bridge.",
                .leaves_out =
                    {"import: a GPU without rank, an NVSwitch's own PCI function and NVLinks out of the file are kept, "
                     "but not simulated",
                     "export: links that are no part of NCCL's tree are left out; links between GPUs of any kind but PCIe "
                     "become NVLinks, Infinity Fabric the xgmi of RCCL's files",
                     "a cluster made of a file (-o, --topo-xml): the order in which a GPU lists its links is not kept, so "
                     "of rings that are equally fast NCCL may find others",
                     "export: NCCL's file has one NVSwitch for all of a host; a host with several groups is refused"},
                .sources = {"models/nccl §1.1, §1.2"},
                .files = {"network/import/nccl_xml_reader.h", "network/import/nccl_xml_writer.h", "network/import/nvidia_smi.h",
                          "network/import/cluster_text.h"}}},
      {.names = {"launch", "device"},
       .text = {.title = "what launching costs the host",
                .assumes = "A host thread launches one kernel after another at a fixed cost, whichever GPU each is for. The "
                           "kernels of a CUDA graph cost it less each, and all are issued at once.",
                .leaves_out = {"the launching thread runs ahead of the GPUs without bound: no launch waits for a full stream",
                               "gaps between dependent kernels of a stream are part of what the kernels' own models say"},
                .sources = {"models/training_steps §2, §6", "models/nccl §7.1"},
                .files = {"network/launch_timings.h"}}},
  };
}

}  // namespace weft::output
