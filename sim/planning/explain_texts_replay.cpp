// The texts on how programs are run: streams, meetings of ranks, and one rank for many.
#include "sim/planning/explain_texts.h"

namespace weft::plan {

const std::vector<ModelText>& replay_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"replayer", "program"},
       .title = "how a program of streams and collectives is run",
       .assumes = "An operation starts when the one before it in its stream and all it waits for have ended and the host has "
                  "issued it. A collective starts on the wire when all its members have reached it, each communicator's in "
                  "the order of issue, and ends on all at once; a message starts when both its ends are there. Its time alone "
                  "and its links are those of NCCL's own choice, run once on an idle machine; others on its links slow it.",
       .leaves_out = {"the host never waits for a full queue; a rank's next iteration begins when all its streams have drained",
                      "kernels of several compute streams of one GPU do not slow each other",
                      "the channels of a collective do not drift apart under contention; its start-up stretches with the rest",
                      "packet fidelity: programs run at flow fidelity"},
       .sources = {"workload-models §2.9, §2.11", "training-step-notes §2, §5, §6"},
       .files = {"workloads/replay/replayer.h", "workloads/replay/group_costs.h"}},
      {.names = {"folding", "places"},
       .title = "one rank for all that do the same",
       .assumes = "Ranks of one pipeline stage run the same program at the same time. Where their groups spread over hosts in "
                  "one pattern, one of them is run, and its collectives carry the traffic of all like it over the links of "
                  "hosts that are run. Jitter and stragglers turn this off.",
       .leaves_out = {"which leaf or spine the hosts of a group hang on is not compared between ranks that share a leader"},
       .sources = {"design: exact reductions by symmetry"},
       .files = {"workloads/replay/places.h"}},
  };
  return texts;
}

}  // namespace weft::plan
