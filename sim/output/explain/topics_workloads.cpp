// Topics on what ranks execute: kernels, training steps, serving, and how programs are run.
#include "sim/output/explain/topics.h"

namespace weft::output {

std::vector<Topic> workloads_topics() {
  return {
      {.names = {"gpus", "gpu"},
       .text =
           {.title = "data sheets of GPUs: configs/gpus, one file each (weft list gpus; weft explain gpu NAME)",
            .assumes = "A file has the dense peaks of each number type, memory and its bandwidth, last-level cache, SMs, "
                       "clocks, power, links and PCIe, each figure with its source and date. `unsupported` says that a GPU "
                       "has no units for a type; a type that is not listed was not stated, and is an error where a run "
                       "computes in it. A cluster names a GPU in `gpu:`, in place of those of its node template, and a "
                       "template in `model:` of its devices: by name, by the path of a .yaml file, or as a map. A GPU of "
                       "one's own is such a file: `base: h100_sxm`, then `name`, `sources` and what differs, as {value: 500 "
                       "W, source: mine}; `weft check FILE` reads it. `profile` names the shipped profile of its behaviour "
                       "beyond the data sheet; a GPU that has none of its own names the nearest generation's.",
            .leaves_out = {"GPUs: `gpu:` of a cluster replaces GPUs with their memory, not the links and NICs of the template",
                           "GPUs: profiles are chosen by the cluster; `profile` of a GPU counts for `weft replay --gpu`",
                           "GPUs: all of a cluster compute as the first one does"},
            .sources = {"data sheets and white papers of NVIDIA and AMD, named beside each figure", "models/workloads §4.5"},
            .files = {"network/gpu_spec.h"}}},
      {.names = {"kernels", "kernel_times", "gemm"},
       .text =
           {.title = "how long a kernel takes alone on a GPU: one rule for each class",
            .assumes =
                "GEMM: waves of tiles over the SMs; a tile takes its prologue and epilogue, and for each step of k what "
                "its SM's share of the peak times an efficiency, its loads from the L2 or a latency allow. Reading from "
                "HBM hides behind that, but not whole. Grouped GEMMs share the waves; those of low precision have a "
                "prologue of their library's. Weights of 8 or 4 bits alone (w8a16, w4a16) are read as they are stored and "
                "computed in bf16, int8 (W8A8) at the peak of INT8, each with costs of its library's. "
                "Flash attention: FLOPs that are not masked over a share of the peak, a tail of the longest block, a "
                "fixed time. That of serving engines: heads that share a key are computed together, the softmax takes "
                "as long as some FLOPs of the tensor cores, answers split their keys over idle SMs, computing and reading "
                "the cache add by squares. Near products that the profile carries as measured (`products`), a GEMM follows "
                "them. "
                "Experts in one call: rows of each filled up to tiles, the weights of those in use, "
                "passes around the products. Elementwise kernels: bytes over bandwidth; strided ones, norms and scatters: a "
                "time per element, which scales with SMs x clock; fused Adam meets both. The peaks are the data sheet's, by "
                "the "
                "model of the node's GPUs (weft explain gpus).",
            .leaves_out =
                {"GEMMs: the fastest tile shape and split of the inner dimension are chosen; libraries choose by "
                 "heuristics",
                 "GEMMs: layouts, alignment and the values multiplied do not matter (random data draw more power)",
                 "experts in one call: rows that are uneven are taken as exponentially distributed over experts",
                 "weights of integers: dense products are fitted to A100, and to H200 for other GPUs; an SM turns so many "
                 "weights "
                 "into bf16 a clock; a scale and a zero stand for 128 weights of 4 bits; experts are those in bf16 with "
                 "narrower weights",
                 "attention of serving: how long the sequences of a step are beside their mean",
                 "a precision without tensor cores runs at the rate of the next wider one, bf16 at that of fp16",
                 "fits of gpu.*: kernels at full clock; beside collectives, one never seen alone is compared with the "
                 "rule",
                 "launch overhead is the host's (`weft explain launch`); the gap between kernels is gpu.stream.gap"},
            .sources = {"models/workloads §4 (rooflines, tiles, data sheets)",
                        "models/training_steps §3, §4 (kernels of real steps)"},
            .files = {"workloads/kernels/kernel_times.h", "workloads/kernels/product_residuals.h",
                      "workloads/kernels/gpu_rates.h", "workloads/kernels/kernel_costs.h",
                      "workloads/kernels/paged_attention.h", "workloads/kernels/experts.h", "measured/kinds/kernel_models.h"}}},
      {.names = {"contention"},
       .text = {.title = "compute and communication at the same time on one GPU",
                .assumes =
                    "A kernel that starts while a collective is resident takes its class's factor longer, in proportion "
                    "to the SMs held; the collective is slowed by one factor from when it meets compute. A kernel beside "
                    "it may move 2 GiB and more at the memory's rate. Then its thread blocks get "
                    "gpu.contention.block_memory_share of what an SM of that kernel does, for all that they read and "
                    "write. That is what comes in twice, as it is stored and read again, and the call's input and "
                    "output. A collective waits for a running GEMM to drain, which it does from "
                    "gpu.contention.gemm_drain before its end on (recorded ones: at their end). A GEMM of up to two "
                    "waves has its tiles shared out in advance: beside a collective it takes T + min(T, the rest of the "
                    "collective) instead.",
                .leaves_out =
                    {"contention: factors of kernels depend on their class only, not on their size or on the collective's "
                     "traffic",
                     "contention: copies of 16 to 512 MiB fill the memory as well, and kernels that read 80 % or write 90 "
                     "% of what a copy moves in part (1.04 to 1.6 in place of 1.8): left out",
                     "contention: send/recv gets a share of 0.65 to 0.8 of a full memory where rings get 0.9 on H200, 0.8 "
                     "on H100: all-to-alls beside copies are 10 % fast",
                     "contention: whether calls of 1 MiB beside kernels begin in a drain or last as long as the kernels "
                     "is chance on real nodes (`unsteady` in weft validate); here one of the two is said"},
                .sources = {"models/training_steps §6", "copies of 1 GiB on 4 x H200 (validate/measured/h200x4_quick.jsonl)",
                            "collectives of 4 to 32 thread blocks beside copies on 2 x H200 and 2 x H100 "
                            "(validate/measured/h200x2_beside_kernels.json, h100x2_beside_kernels.json)"},
                .files = {"workloads/kernels/contention.h", "workloads/replay/group_runs.cpp",
                          "measured/kinds/contention.cpp"}}},
      {.names = {"clock", "clocks", "gpu_power"},
       .text = {.title = "clocks that fall when GPUs reach their power limit",
                .assumes =
                    "Power is that at rest, plus that of tensor cores and of HBM by the shares of their peak rates that "
                    "kernels reach (gpu.power), the root of the sum of their squares where one kernel uses both. Its mean over "
                    "a window of some 75 ms meets the limit: the data sheet's, or "
                    "gpu.power_limit. A profile says of which GPU its shares are (gpu.power.of_limit, of_peak): on another of "
                    "its kind rest takes as many watts and an operation as much energy, and HBM with rest the share it takes "
                    "there. Tensor cores that want more than is left take the square root of the ratio times as "
                    "long; a kernel sees of that what HBM does not bound. Loads are those of one iteration at full clock "
                    "that repeats, so a stage recovers in a bubble; in serving, those of the steps just before. GPUs of one "
                    "model need unlike power (gpu.binning), "
                    "and all of a job go at the pace of the one that needs most of as many.",
                .leaves_out = {"clocks: temperature, the controller's steps, and power that SMs and links take without "
                               "tensor cores or HBM",
                               "clocks: kernels last longer at lower clocks, which spreads their power; their loads are "
                               "those at full clock (0.4 % at a duty of 0.9)",
                               "clocks: a step of training that starts after a pause is as slow as one of a steady loop"},
                .sources = {"models/training_steps §7", "models/workloads §7.2 (how GPUs differ)"},
                .files = {"workloads/kernels/clock.h", "workloads/kernels/recent_load.h",
                          "workloads/replay/power_clocks.cpp"}}},
      {.names = {"transformer", "flops", "activations"},
       .text =
           {.title = "parameters, FLOPs and memory of a transformer, from its shapes",
            .assumes = "FLOPs count multiplications and additions of matrices and of attention's products; the convention "
                       "(full attention, causal, 6N) is named with every figure. Activations are the tensors a layer keeps "
                       "for its backward pass under flash attention; optimizer states are Adam's.",
            .leaves_out = {"transformer: of a Hugging Face config.json the decoder is counted, vision and audio towers are not",
                           "transformer: biases, sinks, gates' functions and caps of scores are counted or named, and take no "
                           "time",
                           "transformer: recurrent layers (Mamba-2, linear, gated delta) are timed as products with their "
                           "states, the convolution and the states' reads and writes as kernels bound by memory; training has "
                           "no operators for them",
                           "activations: inputs of matrices are kept in the precision of activations, in fp8 training too",
                           "activations: what experts return is not kept for the gradient of their weights",
                           "transformer: the vocabulary is split evenly over tensor ranks, without Megatron's padding"},
            .sources = {"models/workloads §1", "Narayanan et al., 2021", "Korthikanti et al., 2022",
                        "Rajbhandari et al., 2019"},
            .files = {"workloads/model/parameters.h", "workloads/model/flops.h", "workloads/model/memory.cpp",
                      "workloads/model/layer_shape.h", "workloads/model/families/family.h"}}},
      {.names = {"deepspeed_2021"},
       .text = {.title = "ZeRO-3 as DeepSpeed had it in 2021",
                .assumes = "every matrix is gathered by a call of its own before the module that needs it, forward, in "
                           "recomputation and backward, and its gradient reduced by another; a call takes a list of one tensor "
                           "per rank, for which the host waits for the GPU and then pays operators in proportion to the ranks "
                           "(gpu.stream.host_operator).",
                .leaves_out = {"deepspeed_2021: nothing is prefetched, as where two matrices exceed max_live_parameters",
                               "deepspeed_2021: a layer's gathers come together before its first kernel",
                               "deepspeed_2021: the allocator's own pauses where memory is nearly full"},
                .sources = {"DeepSpeed 0.3: runtime/zero/partition_parameters.py and stage3.py", "models/workloads §2.3, §4.4"},
                .files = {"workloads/training/deepspeed_sync.cpp"}}},
      {.names = {"fsdp", "fsdp2", "ddp"},
       .text =
           {.title = "replicas of PyTorch: FSDP2's units and DDP's buckets",
            .assumes =
                "FSDP2 gathers a layer before its forward and again before its backward pass, in two buffers that take turns, "
                "and copies it out of them; a gradient takes memory from its kernel on until the unit's are concatenated, and "
                "the buffer until it is reduced. Embedding, last norm and head are the root unit, which stays gathered. Under "
                "a "
                "pipeline units stay gathered, and their gradients are summed whole and reduced after the last microbatch. "
                "PyTorch's allocator keeps apart what gathers' and reductions' streams ask for: `reserved` is the sum of each "
                "stream's peak. With "
                "framework huggingface the host pays for the hooks of a unit. DDP all-reduces buckets in the order of the "
                "backward pass during the last microbatch.",
            .leaves_out = {"fsdp: every microbatch gathers and reduces where there is no pipeline",
                           "fsdp: what fragments of the allocator's blocks add to its reserved memory",
                           "ddp: old buckets are counted in every step's peak, as they are there once in a run",
                           "fsdp: the copy into a gather's buffer is not held up by products that hold all SMs"},
            .sources = {"models/training_steps §5", "Zhao et al., PyTorch FSDP, 2023",
                        "Li et al., PyTorch Distributed, VLDB 2020"},
            .files = {"workloads/training/fsdp_sync.cpp", "workloads/training/ddp_sync.cpp"}}},
      {.names = {"recompute", "recomputation", "gradient_checkpointing"},
       .text =
           {.title = "activations that are computed again in the backward pass",
            .assumes =
                "full keeps a layer's input and runs the layer again before its backward pass (recompute_layers: of the first "
                "ones of each chunk; with recompute_method: uniform the input of each group of as many, which run again "
                "together). as_needed is full with the fewest first layers that fit each GPU's memory beside 2 GB. Megatron "
                "runs it to its end, as huggingface_compile does, whose layers are one function "
                "each; the other frameworks of PyTorch stop when what the backward pass reads is there, before the last "
                "product. "
                "selective runs attention again, operators all but attention and every second product.",
            .leaves_out = {"recompute: model FLOPs of a recomputed layer count its last product, run or not",
                           "recompute: the host's time for hooks of saved tensors"},
            .sources = {"Korthikanti et al., 2022", "PyTorch's torch.utils.checkpoint", "torchtitan's apply_ac"},
            .files = {"workloads/training/stage_program.cpp", "workloads/training/layer_operators.h"}}},
      {.names = {"pipeline"},
       .text = {.title = "pipeline stages of a training step: the schedule's order, and messages between stages",
                .assumes =
                    "each stage runs its schedule's order; sends and receives have a stream per neighbour and direction. "
                    "Megatron-LM receives into a buffer at a time and frees what it has sent; PyTorch has buffers for all "
                    "microbatches and keeps a stage's output until its backward pass.",
                .leaves_out = {"pipeline: a receive is posted when the operation before it has ended, or one earlier where it "
                               "overlaps",
                               "pipeline: PyTorch's last stage may keep the logits of all microbatches to return them",
                               "dualpipe: the two copies of a stage do not exchange their gradients"},
                .sources = {"models/workloads §2.6, §3"},
                .files = {"workloads/training/stage_program.h"}}},
      {.names = {"training_jobs"},
       .text = {.title = "several training jobs on one cluster",
                .assumes = "each job is run alone, then all together on the same links from their starts on; slowdown is the "
                           "ratio of their mean iterations.",
                .leaves_out = {"clocks: a job keeps those it has alone", "symmetry: every rank of every job is simulated"},
                .sources = {"models/workloads §2.11"},
                .files = {"scenario/training_jobs_run.h"}}},
      {.names = {"replayer", "program"},
       .text =
           {.title = "how a program of streams and collectives is run",
            .assumes = "An operation starts when the one before it in its stream and all it waits for have ended and the "
                       "host has issued it. A collective starts on the wire when all its members have reached it, each "
                       "communicator's in the order of issue, and ends on all at once; a message starts when both its ends "
                       "are there. Its time alone and its links are those of NCCL's own choice, run once on an idle "
                       "machine; others on its links slow it.",
            .leaves_out = {"copies between GPU and host, and storage, move at one pace for all ranks that one stands for",
                           "the host never waits for a full queue; a rank's next iteration begins when all its streams have "
                           "drained",
                           "kernels of several compute streams of one GPU do not slow each other",
                           "the channels of a collective do not drift apart under contention; its start-up stretches with the "
                           "rest",
                           "packet fidelity: programs run at flow fidelity"},
            .sources = {"models/workloads §2.9, §2.11", "models/training_steps §2, §5, §6"},
            .files = {"workloads/replay/replayer.h", "workloads/replay/group_costs.h"}}},
      {.names = {"link_turns"},
       .text =
           {.title = "collectives at once on one GPU's NVLinks",
            .assumes = "Two collectives that are on the same NVLink at once are in step: while one has bytes for it, so has "
                       "the other, and while one waits, the other waits too. Each takes T (1 + min(u, u')), u the share of "
                       "its time alone for which it fills the link: twice its time where both fill it, little more where "
                       "neither does. Nothing is fitted to this. Where its steps are shorter than the other's, its waits "
                       "meet the other's bytes, and it takes 2.7 T (1 - u) (1 - s / s') more, s the time for which a step "
                       "fills the link (measured). A ring's member whose peers are not there yet has sent its first step.",
            .leaves_out = {"messages between two ranks share links fairly; so do collectives on links that are no NVLinks",
                           "those that drift apart and fill each other's gaps",
                           "which link a first step that is early leads to"},
            .sources = {"our measurements of 4 x H200, validate/measured/h200x4_full.jsonl: within 7 % of 1 + u from 1 MiB "
                        "to 1 GiB",
                        "our measurements of 2 x H200, validate/measured/h200x2_two_communicators*.json: within 12 % beside "
                        "larger calls"},
            .files = {"workloads/replay/link_turns.h", "workloads/replay/first_steps.cpp"}}},
      {.names = {"link_sleep"},
       .text = {.title = "NVLinks that sleep",
                .assumes =
                    "A GPU's NVLinks sleep after 50 ms without a call of the GPU on them. The next call takes 67 us "
                    "longer for each GPU along its way whose links sleep, at most two, and 18 us more for each where its "
                    "first member has waited for 50 ms, so that answers' links sleep too. What a collective's member or "
                    "a message's sender sends before the others are there wakes the links then. A replayed step is taken "
                    "to follow one like it: links have been idle as long as the recorded step left them at its end.",
                .leaves_out = {"generations of NVLink differ: all sleep and wake as the H200's do",
                               "links to hosts and NICs do not sleep",
                               "links of one GPU sleep and wake together, in both directions"},
                .sources = {"our measurements of 2 x H200, validate/measured/h200x2_link_sleep*.json: 134 and 170 us for two "
                            "GPUs, from 50 ms on and for any size"},
                .files = {"workloads/replay/link_sleep.h"}}},
      {.names = {"folding", "places"},
       .text = {.title = "one rank for all that do the same",
                .assumes =
                    "Ranks of one pipeline stage run the same program at the same time. Where their groups spread over "
                    "hosts in one pattern, and are as near inside them, one of them is run, and its collectives carry "
                    "the traffic of all like it over the links of hosts that are run. Where links between switches may "
                    "hold ranks up, more is asked: below oversubscribed switches groups lie in one pattern too, below "
                    "each as many of every kind, and all that they send there is counted. Where routing picks one path "
                    "of several for a flow (ecmp, static, d_mod_k) and groups lie below several leaves, which flows "
                    "collide is different for each, and every rank is run; on a torus or a dragonfly too. A run says why "
                    "it does. Jitter and stragglers turn folding off, and so does simulation: {fold: false}. In 96 small "
                    "steps (tests/apps/folding_test.py) an iteration's time is within 0.5 % of that with every rank.",
                .leaves_out =
                    {"folding: which members of a group are inner nodes of a tree is not compared; all-to-alls over hosts "
                     "beside gradients that go along trees are slowed less than they are (up to 1.5 % of an iteration; "
                     "none with a distributed optimizer)"},
                .sources = {"design: exact reductions by symmetry"},
                .files = {"workloads/replay/places.h", "workloads/replay/fabric_places.h"}}},
      {.names = {"skipping", "steady_state"},
       .text = {.title = "iterations that repeat others are not run",
                .assumes =
                    "Exact. The state is compared each time every rank has ended another iteration and no transfer is in "
                    "flight. It is all that the rest of the run depends on: streams, kernels, hosts, meetings, memory, "
                    "pending events, each with its time from now. Where it equals an earlier state, the iterations from "
                    "then to now come again and again. They are left out until each rank has one left to begin. Their "
                    "times are copies, and bytes and busy times of links count as often. Periods of several iterations, "
                    "as of checkpoints, are found too. Digests and results are those of every iteration run "
                    "(tests/apps/skipping_test.py). simulation: {skip: false} and replay --no-skip turn it off, and so "
                    "do jitter of kernels, shuffled ties and --timeline. Events and transfers of a run are those "
                    "simulated. Calls of a scenario's collectives repeat on an idle machine, and one is simulated for "
                    "all until the next fault.",
                .leaves_out = {"states are compared by digests of 64 bits",
                               "nothing is skipped where storage in the background is busy all the time, or states differ by a "
                               "picosecond",
                               "several training jobs on one cluster, and jobs of flows, run every iteration"},
                .sources = {"R. P. Brent, An improved Monte Carlo factorization algorithm, BIT 20, 1980: the search for the "
                            "period"},
                .files = {"workloads/replay/steady_state.cpp"}}},
      {.names = {"replay", "trace"},
       .text =
           {.title = "how a recorded step is replayed",
            .assumes = "Compute kernels keep their recorded durations, and the gaps before them; collectives and messages "
                       "are simulated on their groups. Communication beside a kernel slowed it in the recording. That is "
                       "taken out first, by the factors of gpu.contention and for as long as the communication kernel was "
                       "there. It comes back in the replay by what is beside it then, so that it is not counted twice. All "
                       "ranks begin at once. --gpu: kernels take longer or shorter by what a large kernel of their class "
                       "takes on both GPUs, each by the profile of its name.",
            .leaves_out = {"clocks: the recorded durations hold what the clocks did then; calls are run at those that the load "
                           "allows",
                           "--replicas: a group that reaches over the copies is data parallel, and its calls keep their size",
                           "ranks without a trace do what the traced rank before them does"},
            .sources = {"models/workloads §5", "models/training_steps §1, §6"},
            .files = {"scenario/replay_run.h", "workloads/trace/recorded_contention.h", "workloads/trace/stand_ins.h"}}},
      {.names = {"storage", "checkpoint", "data_loading"},
       .text = {.title = "checkpoints and training data, between GPUs, host memory and storage",
                .assumes =
                    "A checkpoint holds 14 B a parameter (parameters, both moments and the fp32 copy, by their "
                    "precisions), each replica's ranks writing an equal part once. It is copied to the host's memory and "
                    "written from there, or straight from the GPU (gpudirect). An asynchronous one holds up the step for "
                    "the copy only, and the next checkpoint until it is written. Data is read by the ranks of the first "
                    "and last stage, a step ahead with prefetch. Storage is a rate of each node, or of a file system "
                    "that all share, each way.",
                .leaves_out = {"storage: no latency, no metadata, and a network of its own",
                               "gpudirect: loads the way to the host's nearest CPU, where the drives are taken to be",
                               "checkpoint: what tensor-parallel ranks hold alike each of them writes; of LoRA, adapters only",
                               "checkpoint: written when all of a rank's part is in the host's memory, which is never full",
                               "checkpoint: to restore, every rank reads all that it holds",
                               "data: one access a rank and step; tokenizing and shuffling cost nothing"},
                .sources = {"models/workloads §2.9, §7.1"},
                .files = {"workloads/replay/storage.h", "workloads/training/checkpoint.h",
                          "workloads/training/data_loading.h"}}},
      {.names = {"prefill", "chunked_prefill"},
       .text = {.title = "the first forward of a prompt: all its tokens at once, or in pieces",
                .assumes =
                    "All new tokens of a step go through each product together, so that a few hundred of them keep the tensor "
                    "cores busy; attention meets what was cached before and, causally, themselves. A prompt longer than "
                    "what is left of scheduler.token_budget, or of scheduler.chunked_prefill_size, is computed in pieces, "
                    "beside a token of every running answer. Its last piece gives the first token: TTFT is the wait, all "
                    "pieces, and whatever moves between engines. `weft step --phase prefill` lists the kernels.",
                .leaves_out = {"prefill: prompts of a step share one attention kernel of mean length",
                               "prefill: CUDA graphs only with scheduler.cuda_graph: all"},
                .sources = {"models/workloads §6", "Agrawal et al., 2024 (chunked prefill)"},
                .files = {"workloads/inference/layer_kernels.h", "workloads/inference/step_times.h"}}},
      {.names = {"decode", "decoding"},
       .text =
           {.title = "a token of every running answer: a step that reads all weights and all their caches",
            .assumes = "A step of n answers reads the weights once, and each answer's cache: at small batches it takes the "
                       "weights' bytes over the HBM bandwidth, some fixed time of each of ten to sixteen kernels a layer, and "
                       "two all-reduces a layer by the engine's library. Steps are CUDA graphs (scheduler.cuda_graph), padded "
                       "to the sizes in scheduler.cuda_graph_sizes. TPOT is the mean step an answer takes part in. "
                       "`weft step --phase decode` lists the kernels.",
            .leaves_out = {"decode: of answers of different lengths, attention takes the mean length's time",
                           "decode: a graph's padded answers meet no cache",
                           "decode: with library: tensorrt_llm a byte of an FP8 cache takes as long as one of bf16 on Hopper "
                           "(assumed: no table of its kernels is public)"},
            .sources = {"models/workloads §6, §4.3"},
            .files = {"workloads/inference/layer_kernels.h", "workloads/inference/step_times.h",
                      "workloads/kernels/paged_attention.cpp"}}},
      {.names = {"kv_cache", "paged_attention", "prefix_caching", "prefix_cache"},
       .text = {.title = "keys and values of all tokens that running sequences may meet again",
                .assumes =
                    "A token takes 2 x layers x key/value heads x head width elements, or MLA's latents, of "
                    "kv_cache.precision; heads are spread over the tensor-parallel GPUs, and whole on each where there are "
                    "fewer heads than GPUs. Blocks of kv_cache.block tokens fill what the engine leaves, by its library's "
                    "rule. vLLM: kv_cache.utilization of the memory, less weights, the largest step and the runtime. SGLang: "
                    "that share of what is free at the start, less weights. TensorRT-LLM: that share of what weights, the "
                    "largest step and the runtime leave. The largest step has scheduler.token_budget tokens and samples "
                    "scheduler.max_batch of them; the runtime is the context, communicators and workspaces of libraries, more "
                    "of them for a group of GPUs than for one. kv_cache.activations and kv_cache.runtime say them in their "
                    "place. Where no block is free, the sequence admitted last gives up its own, "
                    "to be computed again or swapped (scheduler.preemption). TensorRT-LLM starts only what "
                    "has room to its end (none). With kv_cache.prefix_caching an engine finds the leading whole blocks of a "
                    "prompt that it holds, and computes the rest, a token at least. Requests share blocks, which take room "
                    "once and stay until it is needed, least recently used first. A trace's hash_ids, requests.shared_prefix "
                    "or requests.prefix_hit_rate say what is shared.",
                .leaves_out = {"kv_cache: windows do not shrink it; prefixes are shared where prefix_caching says so",
                               "kv_cache: CUDA graphs take nothing from it, as in vLLM before 0.21; 0.5 to 1.9 GB in logs",
                               "kv_cache: what a runtime takes is fitted to logs of H100, and the same on every GPU; vLLM "
                               "before 0.17 samples with 39 bytes a logit and not 15",
                               "kv_cache: a prefix is one for all attention groups of an engine; engines that only decode keep "
                               "none, and none moves to the host or to another engine",
                               "kv_cache: scales of an fp8 cache take no room"},
                .sources = {"models/workloads §6", "Kwon et al., 2023", "vLLM, design of automatic prefix caching",
                            "Zheng et al., 2024 (SGLang's radix cache)"},
                .files = {"workloads/inference/engine_memory.h", "workloads/inference/batch_scheduler.h",
                          "workloads/inference/prefix_cache.h"}}},
      {.names = {"speculative", "speculation", "mtp"},
       .text = {.title = "drafts of several tokens, verified in one step",
                .assumes =
                    "speculation.draft_tokens k are proposed, at draft_cost of a step each, and verified together: a step has "
                    "k + 1 tokens of each answer. Each draft is accepted with probability a while those before it were, so "
                    "that a step gives (1 - a^(k+1)) / (1 - a) tokens on average. Modules for multi-token prediction (MTP) are "
                    "drafts whose cost is their share of the layers.",
                .leaves_out = {"speculative: the acceptance is the same for all requests and places",
                               "speculative: trees of drafts; the draft's own cache and memory"},
                .sources = {"models/workloads §6", "Leviathan et al., 2023"},
                .files = {"workloads/inference/inference.h", "workloads/inference/serving.h"}}},
      {.names = {"disaggregation", "disaggregated"},
       .text = {.title = "engines that prefill and engines that decode, with the cache sent between them",
                .assumes =
                    "A request is prefilled on an engine of inference.disaggregated.prefill, and its cache moves over the "
                    "simulated fabric to an engine of decode that has room for it: layer by layer while the next layers are "
                    "computed (layer_wise), or at once when the prompt is done. Transfers share links with one another. What "
                    "computing does not hide of one is in the first gap between tokens, and printed as exposed transfer.",
                .leaves_out = {"disaggregation: states of recurrent layers are not sent",
                               "disaggregation: an engine, once chosen for a request, keeps it"},
                .sources = {"models/workloads §6", "Zhong et al., 2024"},
                .files = {"workloads/inference/cache_pieces.h", "workloads/inference/serving.h"}}},
      {.names = {"inference", "serving", "continuous_batching", "expert_power_law", "redundant_experts"},
       .text = {.title = "serving of requests: engines that batch continuously, caches of keys and values, prefill apart from "
                         "decoding",
                .assumes = "An engine takes step after step: one token of every running answer, and pieces of waiting prompts "
                           "up to a token budget. A step's time is that of its kernels (`weft explain kernels`), of NCCL's "
                           "collectives over its GPUs as they run on the idle machine, and of launches. Weights are read once, "
                           "and so are the experts that any token meets. The cache is paged; what weights, activations and the "
                           "runtime leave of memory's share holds it. Disaggregated, a prompt's cache moves over the fabric, "
                           "beside the others'.",
                .leaves_out =
                    {"inference: kernels are fused as vLLM and TensorRT-LLM fuse them; quantizing activations costs "
                     "nothing",
                     "inference: requests are spread evenly over an engine's attention groups; routing over experts is "
                     "uniform, or loads of experts follow a power law; redundant_experts balance the loads of the step itself, "
                     "where "
                     "EPLB knows those of steps before",
                     "inference: a layer's routed experts are one call, as vLLM runs it; those of TensorRT-LLM and PyTorch "
                     "are a kernel for each part",
                     "inference: prompts of a step share one attention kernel of mean length; windows cut the mean "
                     "context",
                     "inference: an engine's messages meet no other traffic, and nothing of a step overlaps",
                     "inference: where experts are in shards, or not as many on every rank, their tokens move by NCCL's "
                     "all-to-all in place of DeepEP",
                     "inference: sizes of messages between powers of two take times on a straight line between theirs",
                     "inference: a CUDA graph's kernels have gpu.stream.graph_gap before them in place of gpu.stream.gap "
                     "and launches",
                     "inference: states of recurrent layers, which do not grow with the prompt, are not sent from prefill "
                     "to decoding",
                     "inference: windows do not shrink the cache; prefixes are shared where kv_cache.prefix_caching says so",
                     "inference: an engine, once chosen for a request, keeps it; requests and tokens travel at once",
                     "inference: context, communicators and workspaces take as much memory on every GPU (kv_cache)"},
                .sources = {"models/workloads §6, §4.3, §4.4", "DeepSeek-V3 §3.4 (attention groups, expert parallelism)",
                            "Kwon et al., 2023 (paged caches, preemption)", "Agrawal et al., 2024 (chunked prefill)",
                            "Zhong et al., 2024 (disaggregation)", "Leviathan et al., 2023 (speculative decoding)"},
                .files = {"workloads/inference/batch_scheduler.h", "workloads/inference/cache_pieces.h",
                          "workloads/inference/engine_memory.h", "workloads/inference/engine_messages.h",
                          "workloads/inference/layer_kernels.h", "workloads/inference/layer_kernels.cpp",
                          "workloads/inference/serving.h", "workloads/inference/step_times.h"}}},
  };
}

}  // namespace weft::output
