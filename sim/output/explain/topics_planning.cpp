// Topics on questions about runs: memory, profiles, predictions, cost, failures, plans.
#include "sim/output/explain/topics.h"

namespace weft::output {

std::vector<Topic> planning_topics() {
  return {
      {.names = {"memory"},
       .text =
           {.title = "what memory a run will take",
            .assumes = "Before a run Weft adds up what it will hold. It begins with what the process holds once cluster and "
                       "workload are read. Ports, transfers in flight, packets, connections and lanes of collectives come "
                       "on top. Training steps and traces add ranks with their operations, and calls of each group and pair "
                       "with the links they load. Each counts as often as the scenario says, times the size of the "
                       "program's own structures. A training step is made once more to count its operations; paths are as "
                       "long as those of a sample of pairs. A run that would take more than the machine has left "
                       "(MemAvailable, or what a control group leaves) is refused. With --memory SIZE the limit is that "
                       "size. run, collective and replay print with -v the prediction, what the structures held at most, "
                       "and the ratio of prediction and peak.",
            .leaves_out = {"what the router keeps of a fabric beside ways between leaves, NCCL's search, inference and most of "
                           "the allocator's own losses",
                           "all flows and all messages of an all-to-all count as in flight at once: an upper bound",
                           "packets beyond the pause threshold of every port, where switches have unbounded memory",
                           "commands other than run, collective and replay predict nothing"},
            .sources = {"sizes of the structures; limits: proc(5), the kernel's documentation of control groups"},
            .files = {"scenario/memory_plan.h", "core/memory.h"}}},
      {.names = {"profile", "calibration"},
       .text =
           {.title = "a profile: how hardware behaves, apart from what exists",
            .assumes = "A profile sets parameters by key; what it does not name keeps the default declared beside its "
                       "model. Every value says where it comes from: datasheet, literature (with reference), fitted (with "
                       "the fit and its error), measured (as it is) or assumed, and of which GPU it is. The error stated is "
                       "that on data no parameter was fitted to; where there is none, `not validated`. A fitted value has "
                       "its standard error. It comes from the slopes and the spread of the residuals at the end of the fit, "
                       "and from the time by which all calls of one run and of one communicator are off (0.14 and 0.10 us). "
                       "`weft validate --uncertainty` says what these make of each prediction.",
            .leaves_out = {"standard errors say how well the training points tell a value, not how right the model is",
                           "those of different calibrations count as independent, although a later fit rests on the values of "
                           "an earlier one; a prior counts as data; a value that the training points do not tell has none"},
            .sources = {"weft list parameters", "weft explain profile FILE", "weft explain KEY"},
            .files = {"core/profile.h", "measured/fit/identifiability.h", "measured/prediction_uncertainty.h"}}},
      {.names = {"predict", "validate"},
       .text = {.title = "how `weft validate` and `weft calibrate` predict a measured point",
                .assumes = "Each log is predicted under the settings it was taken with; the time of a call is that of the loop "
                           "of back-to-back calls that nccl-tests times, launches and all.",
                .leaves_out = {"validate: in-place calls take as long as out-of-place ones",
                               "validate: aggregated sends cost what plain ones cost; a note says where a log is of that kind",
                               "validate: several communicators side by side are predicted as one by itself"},
                .sources = {"models/nccl_calibration", "models/nccl §8.2, §8.4 (nccl-tests)"},
                .files = {"measured/predict.h", "measured/kinds/collective.h", "collectives/runner.h"}}},
      {.names = {"measured_points"},
       .text =
           {.title = "how measured kernels, copies and overlap are predicted",
            .assumes = "A kernel of many in a row takes its time alone and the gap before it, or what its host took where "
                       "the file says so. Copies take their start (gpu.copy.*) and their bytes over the links between their "
                       "ends and the memory of their host (network.host_memory.*). Copies at the same time share both, and "
                       "reads and writes share one bus. Reads load the way back with their requests. Where the file says "
                       "what a collective's call took its host, that is the launch's cost; where it was over nine tenths of "
                       "the loop's time, the row is the host's and does not count. Streams that overlap are a program for "
                       "the Replayer: all ranks start at once, the host issues one stream after the other, and clocks are "
                       "those that the load allows. Serving steps are what the library torch runs, one after another from a "
                       "pause on, at the clock that those before leave; the point is their median.",
            .leaves_out = {"measured points: data that still lie in the L2 come from there no faster",
                           "measured points: copy engines of a GPU start at once, and their number is no limit; copies among "
                           "all pairs at once are not predicted",
                           "measured points: launches of empty kernels cost the host one pace (gpu.launch.*), whatever else it "
                           "does and from however many threads",
                           "measured points: norms and softmax of weft measure are its own kernels: the one goes at the speed "
                           "of memory, the other as one of written scores",
                           "host memory: its pattern and the caches do not matter; buffers of NCCL's kernels do not load it",
                           "measured points: copies by thread blocks reach what collectives reach on a link, whatever their "
                           "number of blocks",
                           "measured points: attention of single kernels is two GEMMs and a softmax, one after the other",
                           "measured points: between two replays of a serving step the GPU does not rest"},
            .sources = {"models/training_steps §2, §3, §6", "models/nccl_calibration"},
            .files = {"measured/point_kind.h", "measured/kinds/copy.cpp", "measured/kinds/memory.cpp",
                      "measured/kinds/overlap.cpp", "measured/kinds/serving_step.cpp", "workloads/kernels/launch_costs.h",
                      "network/host_memory.h"}}},
      {.names = {"cost", "power", "prices"},
       .text = {.title = "what a cluster costs and draws, from its bill of materials and two books of figures",
                .assumes =
                    "Servers, switches, cables and optical modules are counted from the topology and multiplied with the "
                    "books' figures. Capital is spread evenly over the years and the hours in use. A GPU draws between "
                    "idle and maximum by the shares of time it computes, is bound by memory and communicates (weights 1, "
                    "0.6, 0.4).",
                .leaves_out =
                    {"cost: every cable between two tiers is equally long, a server of more than 16 GPUs is a rack of its "
                     "own",
                     "cost: a run pays for the whole cluster, however much of it is used; what idle GPUs cost is told",
                     "cost: no storage, buildings, staff, interest or taxes beyond the book's yearly share",
                     "power: CPUs, fans and NICs follow the load of the GPUs; switches draw their maximum while anything "
                     "runs",
                     "power: GPUs that a run does not use are idle, with their part of the server",
                     "power: a busy inference engine is bound by memory all the time",
                     "power: no power limit of a room and no change of clocks by power (see weft explain clock)"},
                .sources = {"models/workloads §7.3 (power), §7.4 (prices)", "models/network §5.2 (counts)"},
                .files = {"planning/cost/floor_plan.h", "planning/cost/cluster_cost.h", "planning/cost/costed_cluster.h"}}},
      {.names = {"plan_search", "plan"},
       .text =
           {.title = "the search of parallel plans: what is listed, what is ruled out before it is simulated",
            .assumes = "Every plan of the listed axes that a scenario's checks let pass gets a lower bound of its memory "
                       "and of its step. The bound adds up kernels and collectives alone on the critical path of the "
                       "busiest stage. They are slowed where they certainly run side by side, and take the clock that such "
                       "a load leaves. Families of plans have a bound in closed form; their members first one with "
                       "collectives at the rate of the links, then the closer one. Plans are simulated as weft run does it, "
                       "likely ones in turn with those of least bound; a plan is ruled out where a bound of it or of its "
                       "family is above the best time found.",
            .leaves_out = {"plan_search: no gpipe, ZeRO-2, HSDP, other orders of ranks, or tensor without sequence parallelism",
                           "plan_search: a step at full clock is taken to last at most 1 % longer than the slowed one",
                           "plan_search: GPUs that a plan leaves idle are the last ones of each node, as many on all and less "
                           "than half",
                           "plan_search: groups of one pattern are taken to be alike on the links within 0.1 %",
                           "plan_search: the order in which plans are tried is a guess; only bounds rule plans out"},
            .sources = {"models/workloads §2, §3", "models/training_steps §6, §7"},
            .files = {"planning/plan_search/bound.h", "planning/plan_search/pass_profile.h", "planning/plan_search/space.h"}}},
      {.names = {"serving_search", "plan_serve"},
       .text =
           {.title = "the search of deployments: engines, users at once and tokens a step, and their Pareto front",
            .assumes =
                "Engines of every listed size whose memory holds the users' requests are ordered by estimates from their "
                "steps and simulated as weft run serves a closed loop. The rates are those between the first and the last "
                "arrival that count. A cell of engines is simulated once, and the cluster has as many as its GPUs hold.",
            .leaves_out = {"serving_search: the front is that of the plans simulated; a search that ends early leaves some out",
                           "serving_search: cells do not meet on the fabric, and requests are spread over them evenly",
                           "serving_search: disaggregated engines come in the numbers that estimates balance best"},
            .sources = {"models/workloads §6", "Zhong et al., 2024"},
            .files = {"planning/serving_search/serving_search.h", "planning/serving_search/serving_space.h",
                      "planning/serving_search/engine_flags.h"}}},
      {.names = {"size", "sizing"},
       .text = {.title = "how much of a cluster trains a model on so many tokens, by when, at what price and power",
                .assumes =
                    "The best plan that weft plan finds on a number of nodes gives the speed, Daly's interval the share that "
                    "failures and checkpoints leave, and the books the price and the power of the whole cluster, idle GPUs "
                    "too. The fewest nodes that meet the deadline are searched for.",
                .leaves_out =
                    {"size: the search of plans may stop short of the best one, which the line 'a better plan' bounds and "
                     "the low ends of time and dollars have in them",
                     "size: the cluster draws as much while it restarts as while it trains"},
                .sources = {"models/workloads §7.1, §7.3, §7.4", "Daly, FGCS 22, 2006"},
                .files = {"planning/sizing/size.h"}}},
      {.names = {"error_range", "ranges"},
       .text =
           {.title = "how far off a predicted time may be: by how far predictions were off where others measured",
            .assumes =
                "A step's computation is as far off as published steps in the mean: of dense models where its model is dense, "
                "of "
                "mixtures of experts where it is one. Its exposed communication is as far off as the largest median error that "
                "the profile states over the cluster's network, if that is more. Both add up as if they went one way. A "
                "collective is as far off as the sets of its operation, its network and its number of "
                "GPUs, or the nearest to those.",
            .leaves_out = {"ranges: two plans of one cluster err alike in much; the difference between them is better known"},
            .sources = {"docs/accuracy.md", "validate/published/results.md"},
            .files = {"planning/error_range.h"}}},
      {.names = {"failures", "goodput", "checkpoint_interval"},
       .text = {.title = "what failures, checkpoints and restarts leave of a job's time",
                .assumes = "Components fail independently at constant rates, fitted on what a cluster was seen to do; any "
                           "failure throws the job back to the last checkpoint that can be restored. Simulated by events on a "
                           "clock of microseconds, and compared with Young's and Daly's closed forms.",
                .leaves_out = {"failures: no infancy, no wear-out, no failures that come together (a rack, a leaf switch)",
                               "failures: what is `per: job` comes equally often in small and in large jobs",
                               "goodput: there is always a spare for what broke; a restart takes the same time whatever broke",
                               "goodput: degraded hardware that goes on working slows nothing here; run the step with it "
                               "(docs/goodput.md)"},
                .sources = {"models/workloads §7.1", "Young, CACM 17, 1974", "Daly, FGCS 22, 2006"},
                .files = {"planning/reliability/failure_rates.h", "planning/reliability/goodput.h"}}},
      {.names = {"what_if", "sensitivity"},
       .text =
           {.title = "a cluster in which one thing is better: links, latencies, GPU speed, memory bandwidth",
            .assumes = "what_if scales the rate or the latency of all links of a class, a GPU's peak FLOP/s or its HBM "
                       "bandwidth, and the run is simulated again: NCCL's choices, overlap and queues follow.",
            .leaves_out = {"what_if: NCCL's own latencies, launches and gaps between kernels stay as the profile has them",
                           "exposed communication by link class: an axis of parallelism counts as the slowest class its groups "
                           "cross"},
            .sources = {"the models it runs again"},
            .files = {"scenario/what_if.h", "scenario/link_classes.h"}}},
  };
}

}  // namespace weft::output
