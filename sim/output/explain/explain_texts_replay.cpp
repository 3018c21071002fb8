// The texts on how programs are run: streams, meetings of ranks, and one rank for many.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& replay_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"replayer", "program"},
       .title = "how a program of streams and collectives is run",
       .assumes = "An operation starts when the one before it in its stream and all it waits for have ended and the host has "
                  "issued it. A collective starts on the wire when all its members have reached it, each communicator's in "
                  "the order of issue, and ends on all at once; a message starts when both its ends are there. Its time "
                  "alone and its links are those of NCCL's own choice, run once on an idle machine; others on its links slow "
                  "it.",
       .leaves_out = {"copies between GPU and host, and storage, move at one pace for all ranks that one stands for",
                      "the host never waits for a full queue; a rank's next iteration begins when all its streams have drained",
                      "kernels of several compute streams of one GPU do not slow each other",
                      "the channels of a collective do not drift apart under contention; its start-up stretches with the rest",
                      "packet fidelity: programs run at flow fidelity"},
       .sources = {"models/workloads §2.9, §2.11", "models/training_steps §2, §5, §6"},
       .files = {"workloads/replay/replayer.h", "workloads/replay/group_costs.h"}},
      {.names = {"link_turns"},
       .title = "collectives at once on one GPU's NVLinks",
       .assumes = "Two collectives that are on the same NVLink at once are in step: while one has bytes for it, so has the "
                  "other, and while one waits, the other waits too. Each takes T (1 + min(u, u')), u the share of its time "
                  "alone for which it fills the link: twice its time where both fill it, little more where neither does. "
                  "Nothing is fitted to this. Where its steps are shorter than the other's, its waits meet the other's bytes, "
                  "and it takes 2.7 T (1 - u) (1 - s / s') more, s the time for which a step fills the link (measured). A "
                  "ring's member whose peers are not there yet has sent its first step.",
       .leaves_out = {"messages between two ranks share links fairly; so do collectives on links that are no NVLinks",
                      "those that drift apart and fill each other's gaps", "which link a first step that is early leads to"},
       .sources = {"our measurements of 4 x H200, validate/measured/h200x4_full.jsonl: within 7 % of 1 + u from 1 MiB to 1 GiB",
                   "our measurements of 2 x H200, validate/measured/h200x2_two_communicators*.json: within 12 % beside larger "
                   "calls"},
       .files = {"workloads/replay/link_turns.h", "workloads/replay/first_steps.cpp"}},
      {.names = {"link_sleep"},
       .title = "NVLinks that sleep",
       .assumes =
           "A GPU's NVLinks sleep after 50 ms without a call of the GPU on them. The next call takes 67 us longer for each "
           "GPU along its way whose links sleep, at most two, and 18 us more for each where its first member has waited "
           "for 50 ms, so that answers' links sleep too. What a collective's member or a message's sender sends before "
           "the others are there wakes the links then. A replayed step is taken to follow one like it: links have been "
           "idle as long as the recorded step left them at its end.",
       .leaves_out = {"generations of NVLink differ: all sleep and wake as the H200's do",
                      "links to hosts and NICs do not sleep", "links of one GPU sleep and wake together, in both directions"},
       .sources =
           {"our measurements of 2 x H200, validate/measured/h200x2_link_sleep*.json: 134 and 170 us for two GPUs, from 50 "
            "ms on and for any size"},
       .files = {"workloads/replay/link_sleep.h"}},
      {.names = {"folding", "places"},
       .title = "one rank for all that do the same",
       .assumes =
           "Ranks of one pipeline stage run the same program at the same time. Where their groups spread over hosts in one "
           "pattern, and are as near inside them, one of them is run, and its collectives carry the traffic of all like it "
           "over the links of hosts that are run. Where links between switches may hold ranks up, more is asked: below "
           "oversubscribed switches groups lie in one pattern too, below each as many of every kind, and all that they send "
           "there is counted. Where routing picks one path of several for a flow (ecmp, static, d_mod_k) and groups lie "
           "below several leaves, which flows collide is different for each, and every rank is run; on a torus or a "
           "dragonfly too. A run says why it does. Jitter and stragglers turn folding off, and so does simulation: {fold: "
           "false}. In 96 small steps (tests/apps/folding_test.py) an iteration's time is within 0.5 % of that with every "
           "rank.",
       .leaves_out = {"folding: which members of a group are inner nodes of a tree is not compared; all-to-alls over hosts "
                      "beside gradients that go along trees are slowed less than they are (up to 1.5 % of an iteration; none "
                      "with a distributed optimizer)"},
       .sources = {"design: exact reductions by symmetry"},
       .files = {"workloads/replay/places.h", "workloads/replay/fabric_places.h"}},
      {.names = {"skipping", "steady_state"},
       .title = "iterations that repeat others are not run",
       .assumes =
           "Exact. The state is compared each time every rank has ended another iteration and no transfer is in flight. It is "
           "all that the rest of the run depends on: streams, kernels, hosts, meetings, memory, pending events, each with its "
           "time from now. Where it equals an earlier state, the iterations from then to now come again and again. They are "
           "left out until each rank has one left to begin. Their times are copies, and bytes and busy times of links count as "
           "often. Periods of several iterations, as of checkpoints, are found too. Digests and results are those of every "
           "iteration run (tests/apps/skipping_test.py). simulation: {skip: false} and replay --no-skip turn it off, and so do "
           "jitter of kernels, shuffled ties and --timeline. Events and transfers of a run are those simulated. Calls of a "
           "scenario's collectives repeat on an idle machine, and one is simulated for all until the next fault.",
       .leaves_out =
           {"states are compared by digests of 64 bits",
            "nothing is skipped where storage in the background is busy all the time, or states differ by a picosecond",
            "several training jobs on one cluster, and jobs of flows, run every iteration"},
       .sources = {"R. P. Brent, An improved Monte Carlo factorization algorithm, BIT 20, 1980: the search for the period"},
       .files = {"workloads/replay/steady_state.cpp"}},
      {.names = {"replay", "trace"},
       .title = "how a recorded step is replayed",
       .assumes =
           "Compute kernels keep their recorded durations, and the gaps before them; collectives and messages are simulated on "
           "their groups. Communication beside a kernel slowed it in the recording. That is taken out first, by the factors of "
           "gpu.contention and for as long as the communication kernel was there. It comes back in the replay by what is "
           "beside it then, so that it is not counted twice. All ranks begin at once. --gpu: kernels take longer or shorter by "
           "what a large kernel of their class takes on both GPUs, each by the profile of its name.",
       .leaves_out =
           {"clocks: the recorded durations hold what the clocks did then; calls are run at those that the load allows",
            "--replicas: a group that reaches over the copies is data parallel, and its calls keep their size",
            "ranks without a trace do what the traced rank before them does"},
       .sources = {"models/workloads §5", "models/training_steps §1, §6"},
       .files = {"scenario/replay_run.h", "workloads/trace/recorded_contention.h", "workloads/trace/stand_ins.h"}},
      {.names = {"trace.kineto", "kineto"},
       .title = "what is concluded from a PyTorch profile",
       .assumes =
           "A step begins with its annotation, or when the GPU has done with what was launched before; until then the host is "
           "ahead of it, which is no part of the step, of the trace or of the prediction. The host's time between launches is "
           "its own, whatever the device does, but for calls that wait for it (--scale-host makes it shorter or longer); room "
           "in "
           "the launch queue costs nothing. Streams wait for each other as sync events say where the profiler recorded them. "
           "Elsewhere a launch after cudaStreamWaitEvent may wait for the last kernel launched on each other stream, unless "
           "in some instance of the same pattern the recorded times contradict it. A CUDA graph's kernels on streams beside "
           "wait for what came before its launch on the stream of its first kernel, and what comes there next waits for them.",
       .leaves_out =
           {"inferred waits may be more than the program had, where nothing in the recording contradicts them",
            "in an uneven all-to-all every rank sends and receives as much as the busiest; roots of broadcasts are rank 0 of "
            "the group",
            "calls that the profile says nothing of are matched between ranks by order and end, and take what the rank that "
            "waited least took, whatever the network",
            "files are taken for those of one job where what a group's ranks call together is of one size, all-to-alls aside",
            "copies of less than 1 MiB, and pageable ones, keep their recorded time",
            "--unprofiled finds one factor for all of the host's time, as if a profiler slowed all of it alike"},
       .sources = {"models/workloads §5.2"},
       .files = {"workloads/trace/formats/kineto.cpp", "workloads/trace/kineto/match.cpp", "workloads/trace/kineto/same_job.h",
                 "workloads/trace/kineto/stream_waits.h", "workloads/trace/kineto/undescribed_calls.h",
                 "scenario/unprofiled.cpp"}},
      {.names = {"trace.execution_trace", "execution_trace"},
       .title = "what PyTorch's execution traces add to its profiles",
       .assumes =
           "Operators of the two are joined by their record function ids; names must agree for most. Calls of communication "
           "and groups that the profile lacks are taken from the execution trace. Of an operator's kernels the first reads "
           "and the last writes: a kernel waits for the last one of another stream that wrote what its operator reads, "
           "unless the recorded times contradict that.",
       .leaves_out = {"execution traces: a write does not wait for those that read the storage before it",
                      "execution traces: ctrl_deps, shapes and strides are not read; sizes that differ from the profile's do "
                      "not count"},
       .sources = {"models/workloads §5.3"},
       .files = {"workloads/trace/formats/execution_trace.cpp", "workloads/trace/execution/nodes.h"}},
      {.names = {"trace.nsys", "nsys"},
       .title = "what is concluded from Nsight Systems' events",
       .assumes = "Read on as a PyTorch profile is. A process on a GPU is a rank. The members of a communicator are the "
                  "ranks whose ranges name it, in their order; ranges that name none are calls of all ranks.",
       .leaves_out = {"collectives whose size NVTX does not say take their recorded time on any network",
                      "CUDA graphs that are recorded as a whole keep their time as compute"},
       .sources = {"models/workloads §5.7"},
       .files = {"workloads/trace/formats/nsys.cpp"}},
      {.names = {"storage", "checkpoint", "data_loading"},
       .title = "checkpoints and training data, between GPUs, host memory and storage",
       .assumes = "A checkpoint holds 14 B a parameter (parameters, both moments and the fp32 copy, by their precisions), each "
                  "replica's ranks writing an equal part once. It is copied to the host's memory and written from there, or "
                  "straight from the GPU (gpudirect). An asynchronous one holds up the step for the copy only, and the next "
                  "checkpoint until it is written. Data is read by the ranks of the first and last stage, a step ahead with "
                  "prefetch. Storage is a rate of each node, or of a file system that all share, each way.",
       .leaves_out = {"storage: no latency, no metadata, and a network of its own",
                      "gpudirect: loads the way to the host's nearest CPU, where the drives are taken to be",
                      "checkpoint: what tensor-parallel ranks hold alike each of them writes; of LoRA, adapters only",
                      "checkpoint: written when all of a rank's part is in the host's memory, which is never full",
                      "checkpoint: to restore, every rank reads all that it holds",
                      "data: one access a rank and step; tokenizing and shuffling cost nothing"},
       .sources = {"models/workloads §2.9, §7.1"},
       .files = {"workloads/replay/storage.h", "workloads/training/checkpoint.h", "workloads/training/data_loading.h"}},
      {.names = {"trace.goal", "trace.csv"},
       .title = "GOAL schedules and lists in CSV",
       .assumes = "What waits for what is followed; a cpu or a stream runs one computation at a time, in the order in which "
                  "a network without cost would let it. Messages meet by sender, receiver and tag in the order of the file; "
                  "a receive from any source takes what no other asks for. A send is over when it has arrived.",
       .leaves_out = {"goal: LogGOPSim's o, g and O, since the cluster says what messages cost; nic numbers",
                      "goal: sends of up to 65535 B go on unreceived only where ranks would else wait in a circle",
                      "csv: a barrier is an all-reduce of four bytes"},
       .sources = {"models/workloads §5.6"},
       .files = {"workloads/trace/formats/goal.cpp", "workloads/trace/formats/csv.cpp", "workloads/trace/task_graph.h"}},
      {.names = {"trace.chakra"},
       .title = "Chakra execution traces",
       .assumes =
           "A node runs when all its data and control dependencies have ended; computation of one stream, or of the GPU "
           "where nodes name none, one at a time. Sizes are the logical ones, except all-gathers of PyTorch, whose size is "
           "one rank's part.",
       .leaves_out = {"chakra: where ranks would wait for each other in a circle, sends of any size go on before they are "
                      "received, as in ASTRA-sim",
                      "chakra: a node with FLOPs and bytes but no time takes the roofline of an H100 SXM",
                      "chakra: involved_dim and comm_priority are not read; memory nodes are copies between GPU and host"},
       .sources = {"models/workloads §5.1"},
       .files = {"workloads/trace/formats/chakra.cpp"}},
      {.names = {"trace.simai", "trace.astra_text"},
       .title = "tables of layers: SimAI and ASTRA-sim 1",
       .assumes =
           "Forward through the rows, each waiting for its communication; backward in reverse, input gradients waiting for "
           "theirs, weight gradients' communication beside the rest, updates behind it. Groups: tensor, then data.",
       .leaves_out = {"tables of layers: pipeline stages, their messages and recomputation"},
       .sources = {"models/workloads §5.4, §5.5"},
       .files = {"workloads/trace/layer_table.cpp", "workloads/trace/formats/simai.cpp",
                 "workloads/trace/formats/astra_text.cpp"}},
      {.names = {"write_goal"},
       .title = "programs written as GOAL",
       .assumes = "Collectives become the messages of textbook algorithms: rings of one channel, pairwise all-to-all.",
       .leaves_out = {"write_goal: reductions, launches, copies and storage take no time"},
       .sources = {"models/workloads §5.6"},
       .files = {"workloads/trace/writers/lower.cpp"}},
  };
  return texts;
}

}  // namespace weft::output
