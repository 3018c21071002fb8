// The texts on NCCL's algorithms besides its ring.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& nccl_algorithm_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"tree"},
       .title = "NCCL's double binary tree: an all-reduce up and down at the same time",
       .assumes =
           "Every channel adds up its chunks towards the root of its tree and passes the sums back down, each direction in "
           "warps of its own. Trees join nodes; inside a node the ranks are a chain. Where no search says otherwise half of "
           "the channels take each of NCCL's two trees.",
       .leaves_out = {"tree: the fluid grain has all edges of a channel at one common rate, that of the slowest"},
       .sources = {"models/nccl §3.2"},
       .files = {"collectives/algorithms/tree.cpp", "collectives/nccl/trees.h"}},
      {.names = {"nvls", "nvls_tree"},
       .title = "NVLink SHARP: the switches add up and copy",
       .assumes =
           "Each head owns a chunk of every loop: all ranks of the domain give it to the switch, which adds up all copies "
           "and writes the sum to all ranks. Over several nodes nvls has the network's switches add up what the heads of one "
           "index hold, where NICs have SHARP and NCCL_COLLNET_ENABLE=1; nvls_tree has the double binary tree between them.",
       .leaves_out =
           {"nvls: never measured here; fitted to published tables of 8 H100 and 8 B200, which with 27 others are in "
            "validate/published (all_reduce.md has the errors): 8 GPUs from 4 MiB within 5 % in the median, domains of 64 and "
            "72 6 and "
            "15 % too fast, of 16 and 32, by one publisher, 10 to 18 %",
            "nvls: scatter and gather move data as fast with 5 warps as with 8, as published tables of 4 to 8 GPUs have it",
            "nvls: the chunk and the fluid grain differ by up to 5 us a call (17 % at 1 MiB, 1 % from 64 MiB): heads that all "
            "begin at once queue in one only",
            "nvls: where a domain has more than 32 ranks the first 32 are heads, not those of NCCL's search",
            "nvls_tree: switch, tree and switch are steps one after another; NCCL does them in one primitive",
            "NCCL 2.25 and 2.26 know Blackwell as 2.27 does, and other GPUs as 2.23"},
       .sources = {"models/nccl §3.4, §4.4", "nccl issue 1455, nccl-tests issue 309"},
       .files = {"collectives/algorithms/nvls.cpp", "collectives/algorithms/nvls_network.cpp",
                 "collectives/algorithms/nvls_tree.cpp", "collectives/algorithms/steps.h", "collectives/nccl/view.cpp"}},
      {.names = {"collnet_direct", "collnet_chain", "sharp"},
       .title = "SHARP: the network's switches add up what the heads of the nodes hold",
       .assumes = "collnet_direct shares every rank's data out over up to eight heads of its node; collnet_chain has one "
                  "head a channel at the end of a chain. Every head's NIC sends and receives its share once.",
       .leaves_out = {"SHARP: the total passes through one of the heads, not from the topmost switch to all at once",
                      "SHARP: switches add up at the rate of their links, and as many groups at once as there are"},
       .sources = {"models/nccl §3.3", "NCCL 2.30, src/device and src/transport/coll_net.cc"},
       .files = {"collectives/algorithms/network_switch.h", "collectives/algorithms/collnet_direct.cpp",
                 "collectives/algorithms/collnet_chain.cpp", "collectives/algorithms/collnet_blocks.h"}},
      {.names = {"pat"},
       .title = "PAT: all-gather and reduce-scatter in parallel aggregated trees",
       .assumes =
           "For every block a binomial tree, the far steps first; as many small blocks as fit a slot travel together, so "
           "that small calls take log2(n) messages and large ones n-1 of one block.",
       .leaves_out = {"pat: a step passes a block on to all its children at once; NCCL runs up to 16 steps side by side"},
       .sources = {"models/nccl §3.5", "arXiv 2506.20252"},
       .files = {"collectives/algorithms/pat.cpp"}},
      {.names = {"nccl_p2p"},
       .title = "NCCL's sends and receives: all-to-all, send/recv, gather and scatter",
       .assumes =
           "Every rank serves its peers in NCCL's order, eight rounds at a time on each channel, every transfer in parts on "
           "channels of their own. A transfer has all warps of its block, 11 of 20 where the same peer's is received beside "
           "it. LL up to 16 KiB for every channel that a peer could have, as NCCL 2.28 was measured to do.",
       .leaves_out =
           {"nccl_p2p: what is received is copied once it is whole; with few channels messages of 128 to 512 KiB come out up "
            "to 8 % too fast, all-to-alls of 1 and 2 MiB in LL over four H200 12 and 8 %",
            "nccl_p2p: the copy to oneself is cut and sent by the protocol of the others",
            "nccl_p2p: a lane goes on to the next batch without waiting for the other lanes of the batch",
            "nccl_p2p: the fluid grain has all transfers under way at once; small ones in many batches take longer"},
       .sources = {"models/nccl §3.6", "grids and times of NCCL 2.28.9 on 2 and 4 x H200 (validate/measured)"},
       .files = {"collectives/algorithms/nccl_p2p.cpp", "collectives/nccl/p2p_plan.h"}}};
  return texts;
}

}  // namespace weft::output
