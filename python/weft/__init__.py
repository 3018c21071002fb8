"""Weft in Python: its commands as functions, their results as objects.

    import weft
    result = weft.collective("all_reduce", "configs/clusters/dgx_h100.yaml", minbytes="1M", maxbytes="1G")
    result.points[-1].busbw_GBps
    result.to_dataframe()

Arguments are the options of the command (`weft collective --help`), with `_` for `-`; None is "not given". A configuration is the
path of a file or a dict of the same keys; paths in a dict start from the current folder. Sizes, times and rates are text with a
unit, as in YAML: "64 KiB", "500 ns", "400 Gb/s".

Arguments that all functions share:

    set       {key path: value}, laid over the file
    nccl      {name: value}, environment variables of NCCL
    profile   file of a profile, in place of the one that the cluster names
    seed      of every random choice, a whole number
    progress  function(unit, done, total), called at most ten times a second while the command runs

Errors that all functions share:

    ConfigError    a file, a dict or an argument is wrong; has .file, .line, .column, .key, .diagnostics
    TypeError      an argument is of a type that it cannot be of
    Interrupted    Ctrl-C; .result has what was finished. A KeyboardInterrupt
    InternalError  a bug of weft

What a command warns of is in `result.warnings`, and is told by `warnings.warn` as a ConfigWarning.

Python's lock is free while a command runs. One command runs at a time; calls from other threads wait for it.
"""

import os
import pathlib
import tempfile
import warnings
from typing import Any, Callable, Mapping, Optional, Sequence, Union

# An installed package has the shipped configurations beside it; the build tree finds those of the source.
_CONFIGS = pathlib.Path(__file__).with_name("configs")
if _CONFIGS.is_dir():
    os.environ.setdefault("WEFT_CONFIG_DIR", str(_CONFIGS))

from . import _weft  # noqa: E402
from ._errors import ConfigError, ConfigWarning, Diagnostic, InternalError, Interrupted, WeftError  # noqa: E402
from ._input import Words  # noqa: E402
from ._result import Record, Result  # noqa: E402

__version__ = _weft.version
__all__ = ["check", "collective", "compare", "explain", "goodput", "names", "plan", "replay", "run", "schema", "serving_step", "size", "step", "sweep", "topology",
           "training_step", "validate",
           "Record", "Result", "ConfigError", "ConfigWarning", "Diagnostic", "InternalError", "Interrupted", "WeftError"]

Path = Union[str, "os.PathLike[str]"]
Configuration = Union[Path, Mapping[str, Any]]
Size = Union[str, int]
Progress = Callable[[str, int, int], object]


def _call(words: Words, progress: Optional[Progress]) -> Result:
    import json

    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a function, got {progress!r}")
    exit_code, text, raised = _weft.call(words.all(), words.texts, progress)
    result = Result(json.loads(text), exit_code) if text else None
    if isinstance(raised, KeyboardInterrupt):
        raise Interrupted(result) from raised
    if raised is not None:
        raise raised
    if result is None:
        raise InternalError(f"weft {' '.join(words.all())} gave no result")
    told = result.get("warnings")
    for warning in told if isinstance(told, list) else []:
        warnings.warn(str(warning), ConfigWarning, stacklevel=3)
    return result


def _common(words: Words, options: Mapping[str, Any]) -> Words:
    words.options({"json": "-", "quiet": True, **options})
    return words


def run(scenario: Configuration, *, set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None,
        profile: Optional[Path] = None, fidelity: Optional[str] = None, grain: Optional[str] = None, seed: Optional[int] = None,
        shuffle_ties: Optional[int] = None, jobs: Optional[int] = None, memory: Optional[Size] = None,
        prices: Optional[Path] = None, power: Optional[Path] = None, timeline: Optional[Path] = None, series: Optional[Path] = None,
        write_chakra: Optional[Path] = None, write_goal: Optional[Path] = None, measured: Union[None, Path, Sequence[Path]] = None,
        progress: Optional[Progress] = None) -> Result:
    """Simulates a scenario, as `weft run`.

    scenario      file, or a dict with `cluster`, `workload` and, where wanted, `simulation`, `measure`, `faults`
    fidelity      "flow", "packet" or "hybrid"
    grain         "auto", "chunk", "fluid" or "closed_form"
    jobs          threads; results do not depend on it
    memory        most that the run may take: "8 GiB"
    prices, power books, for what the run costs
    timeline, series, write_chakra, write_goal: files to write beside
    measured      results of servers' benchmarks (vLLM, SGLang), shown beside the prediction

    Result: makespan_ns, and of what the scenario has: `points` (a row for each collective: bytes, time_us, algbw_GBps, busbw_GBps),
    `flows` (fct_ns, rate_gbps), `jobs`, a training step (iteration_time_ns, tokens_per_second, mfu, breakdown_ns, `ranks`), serving
    (`engines`); `hottest_links`. exit_code is 1 where a job or a flow was cut off.
    """
    words = Words("run")
    words.place(words.configuration(scenario, "scenario"))
    _common(words, {"set": set, "nccl": nccl, "profile": profile, "fidelity": fidelity, "grain": grain, "seed": seed,
                    "shuffle_ties": shuffle_ties, "jobs": jobs, "memory": memory, "prices": prices, "power": power,
                    "timeline": timeline, "series": series, "write_chakra": write_chakra, "write_goal": write_goal,
                    "measured": measured})
    return _call(words, progress)


def step(model: Configuration, cluster: Configuration, *, phase: str = "training", **arguments: Any) -> Result:
    """One step: phase "training" is training_step(), "prefill" and "decode" are serving_step(), which the command `weft step` is too.

    model, cluster  as these functions take them
    arguments       theirs: `batch` is a dict of a training step and a number of sequences of a serving step
    """
    if phase == "training":
        return training_step(model, cluster, **arguments)
    return serving_step(model, cluster, phase=phase, **arguments)


def training_step(model: Configuration, cluster: Configuration, *, batch: Mapping[str, Any],
                  parallelism: Optional[Mapping[str, Any]] = None, overrides: Optional[Mapping[str, Any]] = None,
                  workload: Optional[Mapping[str, Any]] = None, simulation: Optional[Mapping[str, Any]] = None, **options: Any) -> Result:
    """Simulates a training step: run() of the scenario that these are the parts of.

    model        file of a model (ours or a config.json of Hugging Face), a shipped name, or a dict
    batch        {"global": sequences of a step, "micro": sequences of a microbatch, "sequence": tokens of a sequence}
    parallelism  {"tensor": 1, "pipeline": 1, "data": 1, "zero": 0, ...}; the product is the number of GPUs
    overrides    {key path: value} of the cluster, such as {"nodes": 4}
    workload     further keys of `workload`: precision, framework, recomputation, checkpoint, ...
    simulation   {"iterations": 2, ...}
    options      those of run()

    Result: iteration_time_ns, tokens_per_second, mfu (a share), memory_per_gpu_bytes, breakdown_ns, and `ranks`, a row for each
    simulated rank.
    """
    work = {"model": model, "batch": dict(batch), **(workload or {})}
    if parallelism is not None:
        work["parallelism"] = dict(parallelism)
    scenario = {"cluster": cluster, "workload": work}
    for key, value in (("overrides", overrides), ("simulation", simulation)):
        if value is not None:
            scenario[key] = dict(value)
    return run(scenario, **options)


def serving_step(model: Path, cluster: Configuration, *, phase: str, context: int, batch: int = 1, tokens: Optional[int] = None,
                 answers: Optional[int] = None, answers_context: Optional[int] = None, tensor: Optional[int] = None,
                 pipeline: Optional[int] = None, expert: Optional[int] = None, attention_data: Optional[int] = None,
                 layers: Optional[int] = None, no_head: bool = False, no_cache: bool = False, full_clock: bool = False,
                 library: Optional[str] = None, weights: Optional[str] = None, kv_cache: Optional[str] = None,
                 cuda_graph: Optional[str] = None, set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None,
                 profile: Optional[Path] = None, grain: Optional[str] = None, seed: Optional[int] = None,
                 progress: Optional[Progress] = None) -> Result:
    """Lists the kernels of one step of a serving engine, as the command `weft step`.

    model      file of a model or a shipped name
    phase      "prefill" or "decode"
    context    tokens that the last new one of a sequence meets, itself among them
    batch      sequences of the step
    tokens     new ones of a sequence; 1 of an answer and the context of a prompt where not given
    answers, answers_context: of a prefill, the answers that get a token in the same step, and how many tokens each meets
    tensor, pipeline, expert, attention_data: sizes of the parallel plan; the product of the first two is the number of GPUs
    layers     the model's first layers only; no_head: without embedding and head; no_cache: a prompt's keys and values are not kept
    library    "vllm", "sglang", "tensorrt_llm", "nccl" or "torch"; cuda_graph: steps that are graphs, "decode", "all" or "none"
    weights    precision: "bf16", "fp8", "fp4", "int8", "w8a16" or "w4a16"; the model's where not given
    kv_cache   precision of the cache; that of activations where not given
    full_clock a step after a pause, which the limit of power does not slow yet

    Result: time_us, gpus, new_tokens, memory_per_gpu_bytes, `kernels`: a row for each, with count, time_us, total_us, bytes and flop.
    """
    words = Words("step")
    words.option("model", words.path(model, "model"))
    words.option("cluster", words.configuration(cluster, "cluster"))
    _common(words, {"phase": phase, "context": context, "batch": batch, "tokens": tokens, "answers": answers,
                    "answers_context": answers_context, "tensor": tensor, "pipeline": pipeline, "expert": expert,
                    "attention_data": attention_data, "layers": layers, "no_head": no_head, "no_cache": no_cache,
                    "full_clock": full_clock, "library": library, "weights": weights, "kv_cache": kv_cache,
                    "cuda_graph": cuda_graph, "set": set, "nccl": nccl,
                    "profile": profile, "grain": grain, "seed": seed})
    return _call(words, progress)


def collective(kind: str, cluster: Optional[Configuration] = None, *, topo_xml: Optional[Path] = None, gpu: Optional[str] = None,
               cpu: Optional[str] = None, nic_rate: Optional[str] = None, nvlinks: Optional[int] = None,
               minbytes: Optional[Size] = None, maxbytes: Optional[Size] = None, stepfactor: Optional[int] = None,
               stepbytes: Optional[Size] = None, nodes: Optional[int] = None, nthreads: Optional[int] = None,
               ngpus: Optional[int] = None, datatype: Optional[str] = None, op: Optional[str] = None, root: Optional[int] = None,
               iters: Optional[int] = None, cudagraph: bool = False, algo: Optional[str] = None, proto: Optional[str] = None,
               library: Optional[str] = None, register: Optional[int] = None, cta_policy: Optional[int] = None,
               sizes: Optional[Path] = None, msccl: Optional[Path] = None, channels: Optional[int] = None,
               set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None, profile: Optional[Path] = None,
               fidelity: Optional[str] = None, grain: Optional[str] = None, seed: Optional[int] = None,
               shuffle_ties: Optional[int] = None, memory: Optional[Size] = None, timeline: Optional[Path] = None,
               progress: Optional[Progress] = None) -> Result:
    """Predicts a collective over a range of sizes, as `weft collective` and nccl-tests.

    kind      "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "alltoallv", "sendrecv",
              "gather", "scatter"
    cluster   file or dict; or topo_xml, one node of NCCL's topology file, with gpu, cpu, nic_rate and nvlinks for what it leaves open
    minbytes, maxbytes, stepfactor, stepbytes: sizes, 8 B to 4 GiB by factors of 2 where not given
    nodes, nthreads, ngpus: who takes part; all GPUs where not given
    datatype, op, root, iters, cudagraph, algo, proto, channels: as nccl-tests and NCCL have them
    library   "nccl", or whose all-reduce takes the sizes that are its own: "vllm", "vllm_custom",
              "vllm_nccl_symm", "sglang", "tensorrt_llm"
    register  buffers: 0 as they are, 1 by ncclCommRegister, 2 in symmetric memory, as nccl-tests' -R; cta_policy: its -x
    sizes     file of an alltoallv: a row for each sender with the bytes to each rank, CSV, JSON or YAML
    msccl     file of a custom algorithm

    Result: `points`, a row for each size: bytes, time_us, algbw_GBps, busbw_GBps (GB/s), algorithm, protocol, channels; avg_busbw_GBps.
    """
    words = Words("collective")
    words.place(kind)
    if cluster is not None:
        words.option("cluster", words.configuration(cluster, "cluster"))
    _common(words, {"topo_xml": topo_xml, "gpu": gpu, "cpu": cpu, "nic_rate": nic_rate, "nvlinks": nvlinks, "minbytes": minbytes,
                    "maxbytes": maxbytes, "stepfactor": stepfactor, "stepbytes": stepbytes, "nodes": nodes, "nthreads": nthreads,
                    "ngpus": ngpus, "datatype": datatype, "op": op, "root": root, "iters": iters, "cudagraph": cudagraph,
                    "algo": algo, "proto": proto, "library": library, "register": register, "cta_policy": cta_policy,
                    "sizes": sizes, "msccl": msccl, "channels": channels, "set": set, "nccl": nccl, "profile": profile,
                    "fidelity": fidelity, "grain": grain, "seed": seed, "shuffle_ties": shuffle_ties, "memory": memory, "timeline": timeline})
    return _call(words, progress)


def replay(traces: Union[Path, Sequence[Path]], cluster: Configuration, *, as_recorded: bool = False,
           map: Optional[Sequence[int]] = None, scale_compute: Optional[float] = None, scale_host: Optional[float] = None,
           unprofiled: Optional[Union[str, float]] = None, gpu: Optional[str] = None, repeat: Optional[int] = None,
           no_skip: bool = False, jobs: Optional[int] = None, replicas: Optional[int] = None, across: Optional[str] = None,
           keep_start_skew: bool = False, format: Optional[str] = None, mix_jobs: bool = False,
           set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None, profile: Optional[Path] = None,
           grain: Optional[str] = None, seed: Optional[int] = None, shuffle_ties: Optional[int] = None,
           memory: Optional[Size] = None, timeline: Optional[Path] = None, progress: Optional[Progress] = None) -> Result:
    """Replays a recorded step, as it was or on other hardware, as `weft replay`.

    traces         files of all ranks, or a folder of them
    as_recorded    the hardware is that of the trace: relative_error says how far off the predicted step is
    map            GPU of each rank
    scale_compute, scale_host: factors of the times of kernels, and of the host between them
    unprofiled     time of a step without the profiler, in ms: finds scale_host
    gpu            kernels as on this GPU
    repeat         iterations

    Result: iteration_time_ns, traced_step_ns, relative_error (a share), `categories` (traced_ns, predicted_ns), `collectives`,
    `ranks_breakdown`, critical_path_ns.
    """
    words = Words("replay")
    several = traces if isinstance(traces, Sequence) and not isinstance(traces, str) else [traces]
    words.place(*(words.path(trace, "traces") for trace in several))
    words.option("cluster", words.configuration(cluster, "cluster"))
    if map is not None:
        words.option("map", ",".join(str(gpu_of_rank) for gpu_of_rank in map))
    _common(words, {"as_recorded": as_recorded, "scale_compute": scale_compute, "scale_host": scale_host, "unprofiled": unprofiled,
                    "gpu": gpu, "repeat": repeat, "no_skip": no_skip, "jobs": jobs, "replicas": replicas, "across": across,
                    "keep_start_skew": keep_start_skew, "format": format, "mix_jobs": mix_jobs, "set": set, "nccl": nccl,
                    "profile": profile, "grain": grain, "seed": seed, "shuffle_ties": shuffle_ties, "memory": memory,
                    "timeline": timeline})
    return _call(words, progress)


def plan(model: Configuration, cluster: Configuration, *, gpus: Optional[int] = None, batch: Optional[int] = None,
         sequence: Optional[int] = None, objective: Optional[str] = None, budget: Optional[float] = None,
         budget_plans: Optional[int] = None, plan_limit: Optional[float] = None, write: Optional[Path] = None,
         top: Optional[int] = None, certain: Optional[int] = None, jobs: Optional[int] = None, all: bool = False,
         serve: bool = False, slo: Optional[str] = None, prompt: Optional[int] = None, output: Optional[int] = None,
         spread: Optional[float] = None, weights: Optional[str] = None, kv_cache: Optional[str] = None,
         library: Optional[str] = None, token_budgets: Optional[Sequence[int]] = None, aggregated: bool = False,
         prices: Optional[Path] = None, power: Optional[Path] = None, set: Optional[Mapping[str, Any]] = None,
         nccl: Optional[Mapping[str, Any]] = None, profile: Optional[Path] = None, grain: Optional[str] = None,
         seed: Optional[int] = None, shuffle_ties: Optional[int] = None, progress: Optional[Progress] = None) -> Result:
    """Searches the parallel plans of a model on a cluster, or with `serve` the plans of serving it, as `weft plan`.

    model, cluster: files or dicts; `write` needs files
    gpus           of a plan; all of the cluster where not given
    batch          sequences of a step; two for each GPU where not given
    sequence       tokens of a sequence; 4096 where not given
    objective      "time", "tokens_per_dollar" (needs prices), "tokens_per_joule" (needs power), "largest_model"
    budget         seconds after which no further plan is simulated: 45, 0 for no end
    budget_plans   plans to simulate at most; the same on every machine
    write          file for the best plan, as a scenario of run()
    serve          engines, users at once and tokens a step; the arguments from slo to aggregated need it
    slo            targets of latency: "ttft=500ms,tpot=30ms,at=p90"
    prompt, output tokens, medians (1024 each); spread: sigma of both, lognormal (0.2)
    weights        precision: "bf16", "fp8", "fp4", "int8", "w8a16", "w4a16"; kv_cache: that of the cache
    library        kernels and all-reduces: "vllm", "sglang", "tensorrt_llm"
    token_budgets  tokens of a step at most, each is tried
    aggregated     no engines that prefill or decode alone

    Result: `plans`, best first: parallelism, iteration_time_ns, tokens_per_second, mfu (a share); counts of what was refused.
    With `serve`: `servings`: engines, concurrency, tokens_per_second_per_user and _per_gpu, ttft_ns, tpot_ns, on_front; `commands`.
    """
    if write is not None and isinstance(model, Mapping) | isinstance(cluster, Mapping):
        raise ConfigError([{"key": "write", "message": "write: the scenario names the model and the cluster, which must be files"}])
    words = Words("plan")
    words.option("model", words.configuration(model, "model"))
    words.option("cluster", words.configuration(cluster, "cluster"))
    _common(words, {"gpus": gpus, "batch": batch, "sequence": sequence, "objective": objective, "budget": budget,
                    "budget_plans": budget_plans, "plan_limit": plan_limit, "write": write, "top": top, "certain": certain,
                    "jobs": jobs, "all": all, "serve": serve, "slo": slo, "prompt": prompt, "output": output, "spread": spread,
                    "weights": weights, "kv_cache": kv_cache, "library": library, "token_budgets": token_budgets,
                    "aggregated": aggregated, "prices": prices, "power": power, "set": set, "nccl": nccl, "profile": profile,
                    "grain": grain, "seed": seed, "shuffle_ties": shuffle_ties})
    return _call(words, progress)


def size(model: Path, clusters: Union[Path, Sequence[Path]], *, tokens: float, within: Optional[str] = None,
         gpus: Optional[int] = None, money: Optional[float] = None, megawatts: Optional[float] = None, batch: Optional[int] = None,
         sequence: Optional[int] = None, failures: Optional[Path] = None, checkpoint: Optional[str] = None,
         restart: Optional[str] = None, budget: Optional[float] = None, budget_plans: Optional[int] = None,
         jobs: Optional[int] = None, prices: Optional[Path] = None, power: Optional[Path] = None,
         set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None, profile: Optional[Path] = None,
         fidelity: Optional[str] = None, grain: Optional[str] = None, seed: Optional[int] = None,
         shuffle_ties: Optional[int] = None, progress: Optional[Progress] = None) -> Result:
    """How much of which cluster a training job takes: time, price, power, as `weft size`.

    model, clusters  files or shipped names; several clusters are compared
    tokens           to train on: 15e12
    within           deadline, "30 d": the fewest nodes that meet it are looked for
    gpus             rounded up to whole nodes; as many as the file has where not given
    money, megawatts capital at most in USD, and power at most
    batch, sequence  sequences of a step (2048), tokens of a sequence (4096)
    failures         file of failure rates, or a shipped name; checkpoint and restart: "5 s", "10 min"
    prices, power    books; without them no cost or power
    budget_plans     plans to simulate at most in one search; the same on every machine

    Result: `clusters`, a row for each: nodes, gpus, tokens_per_second, mfu, `time_s`, `usd` and `useful` with value, least, most.
    """
    words = Words("size")
    words.option("model", words.path(model, "model"))
    several = clusters if isinstance(clusters, Sequence) and not isinstance(clusters, str) else [clusters]
    for one in several:
        words.option("cluster", words.path(one, "clusters"))
    _common(words, {"tokens": tokens, "within": within, "gpus": gpus, "money": money, "megawatts": megawatts, "batch": batch,
                    "sequence": sequence, "failures": failures, "checkpoint": checkpoint, "restart": restart, "budget": budget,
                    "budget_plans": budget_plans, "jobs": jobs, "prices": prices, "power": power, "set": set, "nccl": nccl,
                    "profile": profile, "fidelity": fidelity, "grain": grain, "seed": seed, "shuffle_ties": shuffle_ties})
    return _call(words, progress)


def goodput(job: Path, *, set: Optional[Mapping[str, Any]] = None, seed: Optional[int] = None) -> Result:
    """What failures, checkpoints and restarts leave of a job's time, as `weft goodput`.

    job  file of a job that fails, as those in configs/goodput

    Result: what `weft schema goodput_result` says.
    """
    words = Words("goodput")
    words.place(words.path(job, "job"))
    _common(words, {"set": set, "seed": seed})
    return _call(words, None)


def compare(scenarios: Union[Configuration, Sequence[Configuration]], clusters: Sequence[Configuration], *,
            sensitivity: bool = False, prices: Optional[Path] = None, power: Optional[Path] = None,
            set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None, profile: Optional[Path] = None,
            fidelity: Optional[str] = None, grain: Optional[str] = None, seed: Optional[int] = None,
            shuffle_ties: Optional[int] = None, progress: Optional[Progress] = None) -> Result:
    """Runs the same workloads on several clusters, as `weft compare`.

    scenarios    one or several; the clusters that they name are not used
    clusters     ratios are to the first
    sensitivity  each run again with one thing 10 % better at a time

    Result: `workloads`, with `runs` in each: cluster, time_us, ratio, busbw_GBps, bottleneck. rows() has a row for each run.
    """
    words = Words("compare")
    several = scenarios if isinstance(scenarios, Sequence) and not isinstance(scenarios, str) else [scenarios]
    words.place(*(words.configuration(one, "scenario") for one in several))
    if isinstance(clusters, (str, Mapping)) or not isinstance(clusters, Sequence):
        raise TypeError(f"clusters: expected a list of files or dicts, got {clusters!r}")
    words.option("clusters", [words.configuration(one, "cluster") for one in clusters])
    _common(words, {"sensitivity": sensitivity, "prices": prices, "power": power, "set": set, "nccl": nccl, "profile": profile,
                    "fidelity": fidelity, "grain": grain, "seed": seed, "shuffle_ties": shuffle_ties})
    return _call(words, progress)


def sweep(sweep: Configuration, *, db: Optional[Path] = None, resume: bool = False, jobs: Optional[int] = None,
          set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None, profile: Optional[Path] = None,
          fidelity: Optional[str] = None, grain: Optional[str] = None, seed: Optional[int] = None,
          shuffle_ties: Optional[int] = None, progress: Optional[Progress] = None) -> Result:
    """Runs a scenario at every point of a design space, as `weft sweep`.

    sweep   file or dict: a scenario, axes, constraints, metrics
    db      database of the results. Without it they are only in the Result. One that is there is read and nothing is run, but for
            what it lacks with `resume`
    jobs    points that run at the same time

    Result: `points`, a row for each: id, status, the axes by their key paths, the metrics, error; points_total, axes, metrics.
    """
    words = Words("sweep")
    words.place(words.configuration(sweep, "sweep"))
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        words.options({"db": db if db is not None else os.path.join(folder, "points.sqlite"), "export": "json", "to": "-",
                       "quiet": True, "resume": resume, "jobs": jobs, "set": set, "nccl": nccl, "profile": profile,
                       "fidelity": fidelity, "grain": grain, "seed": seed, "shuffle_ties": shuffle_ties})
        return _call(words, progress)


def validate(measurements: Union[Path, Sequence[Path]], cluster: Configuration, *, nthreads: Optional[int] = None,
             ngpus: Optional[int] = None, uncertainty: bool = False, report: Optional[Path] = None,
             set: Optional[Mapping[str, Any]] = None, nccl: Optional[Mapping[str, Any]] = None, profile: Optional[Path] = None,
             grain: Optional[str] = None, seed: Optional[int] = None, shuffle_ties: Optional[int] = None,
             progress: Optional[Progress] = None) -> Result:
    """Predicts every row of measured logs, as `weft validate`.

    measurements  files of weft measure, nccl-tests, nvbandwidth or perftest, or a measurements.yaml that lists such files
    uncertainty   say how well the profile's calibrations know each prediction
    report        folder for a page, report.md, report.json and points.csv

    Result: `points`, a row for each measured one: bytes, measured_us, predicted_us, relative_error (a share), training; `summary` with
    median, p95 and max of the absolute relative errors.
    """
    words = Words("validate")
    several = measurements if isinstance(measurements, Sequence) and not isinstance(measurements, str) else [measurements]
    words.place(*(words.path(one, "measurements") for one in several))
    words.option("cluster", words.configuration(cluster, "cluster"))
    _common(words, {"nthreads": nthreads, "ngpus": ngpus, "uncertainty": uncertainty, "report": report, "set": set, "nccl": nccl,
                    "profile": profile, "grain": grain, "seed": seed, "shuffle_ties": shuffle_ties})
    return _call(words, progress)


def topology(cluster: Configuration, *, route: Optional[Sequence[str]] = None, routes: bool = False, dot: Optional[Path] = None,
             graphml: Optional[Path] = None, nccl_xml: Optional[Path] = None, bom: bool = False, prices: Optional[Path] = None,
             power: Optional[Path] = None, force: bool = False, set: Optional[Mapping[str, Any]] = None,
             profile: Optional[Path] = None, seed: Optional[int] = None, progress: Optional[Progress] = None) -> Result:
    """What a cluster is built of, as `weft topo`.

    route  (from, to), names of endpoints such as "n0.gpu1": adds the way between them
    routes adds those of a scenario's flows, or of all pairs of a cluster's endpoints
    bom    adds the bill of materials; with prices and power, what it costs and draws
    dot, graphml, nccl_xml: files to write

    Result: hosts, devices (a count for each kind), switches, `links` (type, cables, rate_GBps, latency_ns), endpoints.
    """
    words = Words("topo")
    words.place(words.configuration(cluster, "cluster"))
    if route is not None:
        if isinstance(route, str) or len(route) != 2:
            raise TypeError(f"route: expected two names of endpoints, got {route!r}")
        words.words += ["--route", *route]
    _common(words, {"routes": routes, "dot": dot, "graphml": graphml, "nccl_xml": nccl_xml, "bom": bom, "prices": prices, "power": power,
                    "force": force, "set": set, "profile": profile, "seed": seed})
    return _call(words, progress)


def check(files: Union[Path, Sequence[Path]]) -> Result:
    """Reads configurations without running anything, as `weft check`. A folder stands for the .yaml files in it and below.

    Result: `files`, a row for each: file, ok, kind, summary, errors, warnings. Those are lists of file, line, column, key, message,
    note. exit_code is 2 where a file has errors; they raise nothing.
    """
    words = Words("check")
    several = files if isinstance(files, Sequence) and not isinstance(files, str) else [files]
    words.place(*(words.path(one, "files") for one in several))
    words.options({"json": "-"})
    return _call(words, None)


def schema(kind: str) -> "dict[str, Any]":
    """The JSON Schema of a kind of file or of a result, as `weft schema KIND`. ConfigError: there is no such kind."""
    words = Words("schema")
    words.place(kind)
    return _call(words, None).to_dict()


def explain(thing: str) -> str:
    """The text of `weft explain THING`: what a model or a parameter means, assumes and leaves out. ConfigError: there is none."""
    return _weft.explain(thing)


def names(kind: str) -> "dict[str, str]":
    """What can be chosen, each with a line on it, as `weft list KIND`: "algorithms", "clusters", "parameters". ConfigError: there
    is no such kind."""
    return dict(_weft.names(kind))
