// The texts on what planning adds to a simulation: cost, power, failures.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& planning_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"cost", "power", "prices"},
       .title = "what a cluster costs and draws, from its bill of materials and two books of figures",
       .assumes = "Servers, switches, cables and optical modules are counted from the topology and multiplied with the books' "
                  "figures. Capital is spread evenly over the years and the hours in use. A GPU draws between idle and maximum "
                  "by the shares of time it computes, is bound by memory and communicates (weights 1, 0.6, 0.4).",
       .leaves_out = {"cost: every cable between two tiers is equally long, a server of more than 16 GPUs is a rack of its own",
                      "cost: a run pays for the whole cluster, however much of it is used; what idle GPUs cost is told",
                      "cost: no storage, buildings, staff, interest or taxes beyond the book's yearly share",
                      "power: CPUs, fans and NICs follow the load of the GPUs; switches draw their maximum while anything runs",
                      "power: GPUs that a run does not use are idle, with their part of the server",
                      "power: a busy inference engine is bound by memory all the time",
                      "power: no power limit of a room and no change of clocks by power (see weft explain clock)"},
       .sources = {"models/workloads §7.3 (power), §7.4 (prices)", "models/network §5.2 (counts)"},
       .files = {"planning/cost/floor_plan.h", "planning/cost/cluster_cost.h", "planning/cost/costed_cluster.h"}},
      {.names = {"plan_search", "plan"},
       .title = "the search of parallel plans: what is listed, what is ruled out before it is simulated",
       .assumes =
           "Every plan of the listed axes that a scenario's checks let pass gets a lower bound of its memory and of its step. "
           "The bound adds up kernels and collectives alone on the critical path of the busiest stage. They are slowed where "
           "they certainly run side by side, and take the clock that such a load leaves. Plans are simulated as weft run does "
           "it, likely ones first; a plan is ruled out where its bound is above the best time found.",
       .leaves_out = {"plan_search: no gpipe, ZeRO-2, HSDP, other orders of ranks, or tensor without sequence parallelism",
                      "plan_search: a step at full clock is taken to last at most 1 % longer than the slowed one",
                      "plan_search: groups of one pattern are taken to be alike on the links within 0.1 %",
                      "plan_search: the order in which plans are tried is a guess; only bounds rule plans out"},
       .sources = {"models/workloads §2, §3", "models/training_steps §6, §7"},
       .files = {"planning/plan_search/bound.h", "planning/plan_search/pass_profile.h", "planning/plan_search/space.h"}},
      {.names = {"failures", "goodput", "checkpoint_interval"},
       .title = "what failures, checkpoints and restarts leave of a job's time",
       .assumes =
           "Components fail independently at constant rates, fitted on what a cluster was seen to do; any failure throws the "
           "job back to the last checkpoint that can be restored. Simulated by events on a clock of microseconds, and "
           "compared with Young's and Daly's closed forms.",
       .leaves_out =
           {"failures: no infancy, no wear-out, no failures that come together (a rack, a leaf switch)",
            "failures: what is `per: job` comes equally often in small and in large jobs",
            "goodput: there is always a spare for what broke; a restart takes the same time whatever broke",
            "goodput: degraded hardware that goes on working slows nothing here; run the step with it (docs/goodput.md)"},
       .sources = {"models/workloads §7.1", "Young, CACM 17, 1974", "Daly, FGCS 22, 2006"},
       .files = {"planning/reliability/failure_rates.h", "planning/reliability/goodput.h"}},
      {.names = {"what_if", "sensitivity"},
       .title = "a cluster in which one thing is better: links, latencies, GPU speed, memory bandwidth",
       .assumes =
           "what_if scales the rate or the latency of all links of a class, a GPU's peak FLOP/s or its HBM bandwidth, and "
           "the run is simulated again: NCCL's choices, overlap and queues follow.",
       .leaves_out =
           {"what_if: NCCL's own latencies, launches and gaps between kernels stay as the profile has them",
            "exposed communication by link class: an axis of parallelism counts as the slowest class its groups cross"},
       .sources = {"the models it runs again"},
       .files = {"scenario/what_if.h", "scenario/link_classes.h"}},
  };
  return texts;
}

}  // namespace weft::output
