// The texts on collective algorithms that are not NCCL's: MPI's, Gloo's, DeepEP's, MSCCL's, and those of papers.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& library_algorithm_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"recursive_doubling", "recursive_halving_doubling", "rabenseifner", "binomial_tree", "van_de_geijn", "bruck",
                 "rounds"},
       .title = "MPI's classic algorithms: moves of whole ranges, one after another",
       .assumes =
           "Every rank sends and receives in rounds: the input is copied, then all is done in place, one message a round. "
           "Ranks beyond a power of two hand theirs to a neighbour first and get the result last. Channels share the data "
           "and run the algorithm each by itself.",
       .leaves_out = {"MPI's algorithms: no choice by size, no segments, no eager and rendezvous protocols",
                      "MPI's algorithms: packing and unpacking of blocks are copies that cost nothing"},
       .sources = {"Thakur, Rabenseifner and Gropp, 2005", "Rabenseifner, 2004", "Bruck et al., 1997", "Barnett et al., 1994"},
       .files = {"collectives/algorithms/rounds.h", "collectives/algorithms/recursive_halving_doubling.cpp"}},
      {.names = {"full_mesh", "parameter_server"},
       .title = "all pairs at once: full mesh, and push to and pull from servers",
       .assumes = "Every rank sends to all others at the same time. The parameter server has one server on every rank, which "
                  "answers once all have pushed.",
       .leaves_out = {"parameter_server: servers share the workers' devices; none stand apart"},
       .sources = {"Li et al., Scaling distributed machine learning with the parameter server, 2014"},
       .files = {"collectives/algorithms/mesh_schedule.h", "collectives/algorithms/parameter_server.cpp"}},
      {.names = {"hierarchical", "multi_rail"},
       .title = "two-level all-reduce: inside nodes, between nodes on every rail, and back",
       .assumes =
           "hierarchical: rings inside nodes and between ranks of one local index. multi_rail: one shard for each NIC, which "
           "the GPU nearest to it adds up, reduces between nodes and hands round.",
       .leaves_out = {"multi_rail: leaders are chosen by the number of links to a NIC, not by measured bandwidth"},
       .sources = {"Cho et al., BlueConnect, 2019", "Dong et al., ACCL, 2021", "Kim et al., TCCL, 2024"},
       .files = {"collectives/algorithms/hierarchical.cpp", "collectives/algorithms/multi_rail.cpp"}},
      {.names = {"gloo_ring", "gloo_halving_doubling", "gloo_bcube", "gloo"},
       .title = "Gloo's all-reduces: ring of segments, halving and doubling with binary blocks, BCube",
       .assumes = "Cuts, order of messages and peers are those of Gloo's sources; the transport is the cluster's fabric.",
       .leaves_out = {"gloo: notifications that guard receive buffers are left out",
                      "gloo_ring: segments beyond the end of the vector are sent empty; Gloo leaves them out",
                      "gloo_bcube: the base is 4, not Gloo's default 2; odd numbers of ranks are grouped by their divisors"},
       .sources = {"Gloo's public sources: allreduce.cc, allreduce_halving_doubling.h, allreduce_bcube.h, docs/algorithms.md"},
       .files = {"collectives/algorithms/gloo_ring.cpp", "collectives/algorithms/gloo_halving_doubling.cpp",
                 "collectives/algorithms/gloo_bcube.cpp"}},
      {.names = {"deepep_dispatch", "deepep_combine"},
       .title = "DeepEP-style all-to-all: RDMA on one's own rail, NVLink inside the node",
       .assumes =
           "Dispatch sends to the GPU of the sender's index on the target node, which forwards; combine goes the way back. A "
           "block is forwarded once all of it is there.",
       .leaves_out = {"deepep: every rank gets as much from everyone; no tokens, top-k or experts",
                      "deepep_combine: it moves data only; DeepEP also adds up what the experts return"},
       .sources = {"DeepEP's README (normal kernels)", "models/workloads §9.7"},
       .files = {"collectives/algorithms/relayed_all_to_all.h", "collectives/algorithms/deepep_dispatch.cpp",
                 "collectives/algorithms/deepep_combine.cpp"}},
      {.names = {"msccl"},
       .title = "custom algorithms: MSCCL XML, read, proven and run (--msccl FILE)",
       .assumes =
           "A threadblock is a lane of its channel; chunks larger than half a connection's buffer go in iterations, smaller "
           "ones of a step together. An algorithm that leaves wrong data or may wait for ever is refused.",
       .leaves_out = {"msccl: consecutive `re` steps on one destination are steps of their own; MSCCL fuses up to 16"},
       .sources = {"models/nccl §9.1"},
       .files = {"collectives/msccl/algorithm.h"}},
  };
  return texts;
}

}  // namespace weft::output
