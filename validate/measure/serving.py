#!/usr/bin/env python3
"""Times blocks of transformers in CUDA graphs, decoding and prefilling: what `weft measure --serving` runs.

    weft measure --serving [--model llama3_8b] [--tensor 2] -o serving.jsonl
    python3 validate/measure/serving.py [--model config.json] -o serving.jsonl      without Weft's program

It needs PyTorch with CUDA and nothing else. It writes the measurement format (docs/measurement_format.md): a header, then a line of
kind `serving_step` a point. weft_serving_blocks.py, beside it, says what a step is.
"""

import argparse
import datetime
import importlib.util
import json
import multiprocessing
import os
import platform
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

from weft_serving_blocks import (DECODE, DEFAULT_MODELS, PREFILL, SAMPLES, SHIPPED, WARMUP, Refusal, model_of, points_of, time_point,
                                 weights_of, why_not)

VERSION = "0.2.0"
TOOL = "weft-measure-serving"
DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130
FAILED = 3  # of a rank
OLDEST_TORCH = (2, 5)  # grouped queries in SDPA
KEPT_SAMPLES = 32  # of the format
GRACE_S = 90  # beyond the budget: a point that began before its end, and the start of processes


# Processes: one a GPU. Rank 0 tells the parent, which writes.


def inventory(pipe):
    """What PyTorch sees. In a process of its own, because a CUDA context keeps memory."""
    try:
        import torch
        found = {"torch": torch.__version__, "cuda": torch.version.cuda or "", "nccl": 0, "gpus": []}
        if torch.cuda.is_available():
            try:
                major, minor, patch = torch.cuda.nccl.version()[:3]
                found["nccl"] = major * 10000 + minor * 100 + patch
            except Exception:  # a build without NCCL measures one GPU
                pass
            for index in range(torch.cuda.device_count()):
                facts = torch.cuda.get_device_properties(index)
                found["gpus"].append({"index": index, "name": facts.name, "sms": facts.multi_processor_count,
                                      "memory_bytes": facts.total_memory, "compute_capability": f"{facts.major}.{facts.minor}"})
        pipe.send(found)
    except Exception as error:
        pipe.send({"error": f"{type(error).__name__}: {error}"})


def rank_main(rank, tensor, port, points, seed, deadline, stop, pipe):
    """Measures `points`. Rank 0 sends ("begins", place), ("point", place, times), ("skip", place, why) and, last, ("done", why)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(rank)
    torch.manual_seed(seed)
    device = torch.device("cuda", rank)
    if tensor > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        dist.init_process_group("nccl", rank=rank, world_size=tensor)
    tell = pipe.send if rank == 0 else (lambda _: None)
    weights, at, ended = None, None, ""
    for place, point in enumerate(points):
        state = 2 if stop.is_set() else 1 if time.time() > deadline else 0
        if tensor > 1:  # all ranks stop at the same point
            states = torch.tensor([state], device=device, dtype=torch.int32)
            dist.all_reduce(states, op=dist.ReduceOp.MAX)
            state = states.item()
        if state > 0:
            ended = "interrupted" if state == 2 else "budget"
            break
        tell(("begins", place))
        try:
            if at != (point.shape, point.layers):
                weights = None
                torch.cuda.empty_cache()
                weights, at = weights_of(torch, point.shape, point.layers, tensor, device), (point.shape, point.layers)
            times = time_point(torch, dist, weights, point, device, SAMPLES)[0]
            tell(("point", place, times))
        except Exception as error:
            tell(("skip", place, f"{type(error).__name__}: {error}".splitlines()[0][:300]))
            if tensor > 1:  # others may wait in a collective for this rank: the parent ends them when it sees this one gone
                os._exit(FAILED)
        torch.cuda.empty_cache()  # of the graph, too, whose memory no other point gets
    tell(("done", ended))
    if tensor > 1:
        dist.destroy_process_group()


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


# The file.


def quartile(ordered, share):
    """By linear interpolation."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def record_of(point, times, env):
    """The members of a point's line besides its place in the file."""
    ordered = sorted(times)
    s = point.shape
    return {"kind": "serving_step", "id": point.id, "set": "serving", "phase": point.phase, "model": s.name, "layers": point.layers,
            "hidden": s.hidden, "heads": s.heads, "kv_heads": s.kv_heads, "head_dim": s.head_dim, "ffn": s.ffn, "type": "bf16",
            "tensor": point.tensor, "batch": point.batch, "tokens": point.tokens, "context": point.context, "launch": "graph",
            "median_us": round(statistics.median(ordered), 3), "mean_us": round(statistics.fmean(ordered), 3),
            "min_us": round(ordered[0], 3), "max_us": round(ordered[-1], 3), "p25_us": round(quartile(ordered, 0.25), 3),
            "p75_us": round(quartile(ordered, 0.75), 3), "samples": len(times), "inner": 1, "warmup": WARMUP,
            "samples_us": [round(each, 3) for each in times[:KEPT_SAMPLES]], "gpus": list(range(point.tensor)),
            **({"env": env} if point.tensor > 1 else {})}


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Output:
    """The measurement file: whole lines only, so that it is valid wherever it ends."""

    def __init__(self, path, resume, force):
        self.path, self.known, self.sequence, self.is_new = path, set(), 0, True
        if os.path.exists(path) and resume:
            self.take_over()
        elif os.path.exists(path) and not force:
            raise Refusal(f"--output: {path} is there; --resume goes on with it, --force overwrites it")
        self.begin = time.time()
        try:
            self.file = open(path, "a" if resume else "w", encoding="utf-8")
        except OSError as error:
            raise Refusal(f"--output: {path}: {error.strerror}") from None

    def take_over(self):
        """Remembers what the file holds, and cuts off a line that is not whole."""
        with open(self.path, "rb+") as file:
            text = file.read()
            whole = text[:text.rfind(b"\n") + 1]
            file.truncate(len(whole))
        for number, line in enumerate(whole.decode("utf-8", "replace").splitlines(), start=1):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                raise Refusal(f"{self.path}:{number}: no JSON, so --resume cannot go on with it") from None
            if number == 1 and record.get("weft_measurements") != 1:
                raise Refusal(f"{self.path}: is no measurement file of version 1, so --resume cannot go on with it")
            self.is_new = False
            self.sequence = max(self.sequence, record.get("sequence", 0))
            if record.get("kind") == "serving_step":
                self.known.add(record.get("id"))

    def write(self, record):
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()

    def add(self, record):
        self.sequence += 1
        kind = record.pop("kind")
        self.write({"kind": kind, "sequence": self.sequence, **record})

    def elapsed(self):
        return time.time() - self.begin


def nccl_env():
    return {key: value for key, value in sorted(os.environ.items()) if key.startswith("NCCL_")}


def nvidia_smi():
    """Rows of what PyTorch does not tell; none where the program is missing."""
    query = "index,pci.bus_id,driver_version,clocks.max.sm,power.limit"
    try:
        said = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"], capture_output=True, text=True,
                              timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [[word.strip() for word in line.split(",")] for line in said.splitlines() if line.count(",") == 4]


def number_of(text):
    try:
        return float(text)
    except ValueError:
        return None


def machine_of(found, with_hostname):
    machine = {"hostname": socket.gethostname() if with_hostname else "", "kernel": platform.release(), "cpus": os.cpu_count() or 0,
               "torch": found["torch"], "nccl": found["nccl"], "gpus": found["gpus"]}
    version = re.fullmatch(r"(\d+)\.(\d+)", found["cuda"])
    if version:
        machine["cuda_runtime"] = int(version[1]) * 1000 + int(version[2]) * 10
    rows = nvidia_smi()
    # CUDA_VISIBLE_DEVICES may hide or reorder GPUs; what cannot be matched is left out.
    if rows:
        machine["driver"] = rows[0][2]
    if len(rows) == len(found["gpus"]) and "CUDA_VISIBLE_DEVICES" not in os.environ:
        for gpu, (_, bus, _, clock, power) in zip(machine["gpus"], rows):
            gpu["pci"] = bus[-12:].lower()  # of "00000000:06:00.0"
            if number_of(clock) is not None:
                gpu["max_sm_mhz"] = number_of(clock)
            if number_of(power) is not None:
                gpu["power_limit_w"] = number_of(power)
    return machine


# The run.


class Progress:
    """A line on a terminal that is written over; elsewhere nothing."""

    def __init__(self, planned):
        self.planned, self.done, self.shown = planned, 0, sys.stderr.isatty()

    def show(self, text):
        if self.shown:
            print(f"\r\033[K[{self.done}/{self.planned}] {text}", end="", file=sys.stderr, flush=True)

    def wipe(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Interrupt:
    """Ctrl-C: once, the point that runs is finished; twice, its processes are ended."""

    def __init__(self, stop):
        self.stop, self.count = stop, 0

    def __call__(self, number, frame):
        self.count += 1
        self.stop.set()


def take_message(message, points, output, progress):
    """Writes what rank 0 said. Returns 1 for a measured point, else 0."""
    point = points[message[1]]
    if message[0] == "begins":
        progress.show(point.text)
    elif message[0] == "skip":
        output.add({"kind": "skip", "what": point.text, "reason": message[2], "id": point.id})
    elif message[0] == "point":
        output.add({**record_of(point, message[2], nccl_env()), "at_s": round(output.elapsed(), 3)})
        progress.done += 1
        progress.show(f"{point.text}: {statistics.median(message[2]):.1f} us")
        return 1
    return 0


def start_ranks(context, tensor, points, options, deadline, stop):
    """Processes, and the pipe that rank 0 speaks through."""
    ours, theirs = context.Pipe(duplex=False)
    port = free_port()
    ranks = [context.Process(target=rank_main, args=(rank, tensor, port, points, options.seed, deadline, stop, theirs), daemon=True)
             for rank in range(tensor)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # they inherit it: Ctrl-C is the parent's to answer
    for process in ranks:
        process.start()
    signal.signal(signal.SIGINT, before)
    theirs.close()  # so that the pipe ends with the ranks
    return ranks, ours


def measure_world(context, tensor, points, options, deadline, stop, interrupt, output, progress):
    """Measures the points of one number of GPUs. Returns why it ended early, or "", and how many were measured."""
    ranks, pipe = start_ranks(context, tensor, points, options, deadline, stop)
    early, measured, last = None, 0, time.time()
    while early is None:
        if pipe.poll(0.2):
            try:
                message = pipe.recv()
            except EOFError:
                early = "a process ended early"
                break
            last = time.time()
            if message[0] == "done":
                early = message[1]
            else:
                measured += take_message(message, points, output, progress)
        elif interrupt.count > 1:
            early = "interrupted"
        elif any(process.exitcode for process in ranks):
            early = "a process ended early"
        elif time.time() > max(deadline, last) + GRACE_S:
            early = f"no answer for {GRACE_S} s"
    end_ranks(ranks, 20 if early in ("", "budget") else 2)
    return early, measured


def end_ranks(ranks, patience):
    for process in ranks:
        process.join(patience)
        if process.is_alive():
            process.kill()
            process.join()


def look_around(context):
    """What the GPUs are; Refusal where PyTorch or a GPU is missing."""
    if importlib.util.find_spec("torch") is None:
        raise Refusal(f"needs PyTorch with CUDA, and {sys.executable} has no module 'torch'\n"
                      "note: WEFT_PYTHON names another Python for 'weft measure --serving'")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=inventory, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        found = {"error": "the process that looks for GPUs ended without a word"}
    process.join()
    if "error" in found:
        raise Refusal(f"PyTorch does not start: {found['error']}")
    version = re.match(r"(\d+)\.(\d+)", found["torch"])
    if version and (int(version[1]), int(version[2])) < OLDEST_TORCH:
        raise Refusal(f"needs PyTorch {OLDEST_TORCH[0]}.{OLDEST_TORCH[1]} or later, and {sys.executable} has {found['torch']}")
    if not found["gpus"]:
        raise Refusal(f"no GPU to measure: PyTorch {found['torch']} sees none"
                      + ("" if found["cuda"] else "; it is built without CUDA"))
    return found


def tensors_of(asked, found):
    count = len(found["gpus"])
    for tensor in asked or []:
        if tensor > count:
            raise Refusal(f"--tensor: {tensor} GPUs, but there {'is 1' if count == 1 else f'are {count}'}")
        if tensor > 1 and not found["nccl"]:
            raise Refusal("--tensor: this PyTorch has no NCCL")
    if asked:
        return sorted(set(asked))
    return sorted({1, count}) if found["nccl"] else [1]


def measure(options):
    shapes = [model_of(text) for text in options.model or DEFAULT_MODELS]
    context = multiprocessing.get_context("spawn")
    if options.plan:
        for point in points_of(shapes, sorted(set(options.tensor or [1])), options.layers, *asked_places(options)):
            print(point.id)
        return DONE
    found = look_around(context)
    tensors = tensors_of(options.tensor, found)
    memory = min(gpu["memory_bytes"] for gpu in found["gpus"])
    points = points_of(shapes, tensors, options.layers, *asked_places(options))
    output = Output(options.output, options.resume, options.force)
    if output.is_new:
        output.write({"weft_measurements": 1, "kind": "header", "sequence": 0, "tool": TOOL, "tool_version": VERSION, "set": "serving",
                      "date": now_text(), "seed": options.seed, "budget_s": options.budget, "planned": len(points),
                      "env": nccl_env(), "machine": machine_of(found, options.hostname)})
    else:
        output.add({"kind": "resume", "date": now_text(), "set": "serving", "seed": options.seed, "env": nccl_env()})
    return measure_points(context, options, tensors, [point for point in points if point.id not in output.known], memory, output)


def asked_places(options):
    """What --decode and --prefill name; where neither is given, the usual ones."""
    if options.decode or options.prefill:
        return options.decode or [], options.prefill or []
    return DECODE, PREFILL


def measure_points(context, options, tensors, points, memory, output):
    stop = context.Event()
    interrupt = Interrupt(stop)
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    progress = Progress(len(points))
    measured, reason = 0, "finished"
    for place, tensor in enumerate(tensors):
        fitting = []
        for point in (each for each in points if each.tensor == tensor):
            why = why_not(point, memory)
            if why:
                output.add({"kind": "skip", "what": point.text, "reason": why, "id": point.id})
            else:
                fitting.append(point)
        if not fitting or stop.is_set():
            continue
        left = options.budget - output.elapsed()
        if left <= 0:
            reason = "budget"
            break
        deadline = time.time() + left / (len(tensors) - place)  # the numbers of GPUs share what is left
        progress.show(f"{tensor} GPU{'s' if tensor > 1 else ''}: starts")
        early, count = measure_world(context, tensor, fitting, options, deadline, stop, interrupt, output, progress)
        measured += count
        if early == "budget":
            reason = "budget"
        elif early and early != "interrupted":
            output.add({"kind": "skip", "what": f"other points of {tensor} GPUs", "reason": early})
    if stop.is_set():
        reason = "interrupted"
    output.add({"kind": "end", "reason": reason, "measured": measured, "planned": len(points), "elapsed_s": round(output.elapsed(), 3)})
    progress.wipe()
    print(f"{measured} of {len(points)} points in {output.elapsed():.0f} s ({reason}): {options.output}", file=sys.stderr)
    return INTERRUPTED if reason == "interrupted" else DONE


# The command line.


def seconds(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|m|h)?", text.strip())
    value = float(match[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600}[match[2] or "s"] if match else 0
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"expected a time from 1s to 24h such as 120s, got '{text}'")
    return value


def whole(least, most):
    def read(text):
        value = int(text) if re.fullmatch(r"\d{1,9}", text) else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most}, got '{text}'")
        return value
    return read


def sizes(text):
    match = re.fullmatch(r"(\d{1,7})x(\d{1,8})", text)
    if not match or int(match[1]) < 1 or int(match[2]) < 2:
        raise argparse.ArgumentTypeError(f"expected sequences x tokens such as 32x2048, of 2 tokens or more, got '{text}'")
    return int(match[1]), int(match[2])


def parser():
    made = argparse.ArgumentParser(prog=TOOL, description="Times blocks of transformers in CUDA graphs, decoding and prefilling.",
                                   epilog="Ctrl-C keeps what is measured. Exit status: 0 done, also when the budget ran out; 2 no "
                                          "PyTorch, no GPU or bad input; 130 interrupted.")
    made.add_argument("--model", action="append", metavar="NAME|FILE",
                      help=f"shape of the layers: {', '.join(SHIPPED)}, or a config.json; repeatable ({', '.join(DEFAULT_MODELS)})")
    made.add_argument("--tensor", action="append", type=whole(1, 1024), metavar="N",
                      help="GPUs that share each layer; repeatable (1, and all)")
    made.add_argument("--layers", type=whole(1, 1000), default=8, metavar="N", help="layers of a step (8)")
    made.add_argument("--decode", action="append", type=sizes, metavar="BxC",
                      help="a step of B answers that meet C tokens each; repeatable, in place of the usual ones")
    made.add_argument("--prefill", action="append", type=sizes, metavar="BxT",
                      help="a step of B prompts of T tokens each; repeatable, in place of the usual ones")
    made.add_argument("--budget", type=seconds, default=120.0, metavar="TIME", help="after which it stops (120s); --resume does the rest")
    made.add_argument("-o", "--output", default="measurements.jsonl", metavar="FILE", help="measurement file (measurements.jsonl)")
    made.add_argument("--resume", action="store_true", help="goes on with the file: what it holds is not measured again")
    made.add_argument("--force", action="store_true", help="overwrites the file")
    made.add_argument("--hostname", action="store_true", help="writes the host's name into the file")
    made.add_argument("--seed", type=whole(0, 10**9 - 1), default=1, metavar="N", help="of the random weights (1)")
    made.add_argument("--plan", action="store_true", help="prints the points, and measures nothing")
    made.add_argument("--version", action="version", version=f"{TOOL} {VERSION}")
    return made


def main():
    options = parser().parse_args()
    try:
        if options.resume and options.force:
            raise Refusal("--force: not with --resume")
        return measure(options)
    except Refusal as refusal:
        print(f"error: weft measure --serving: {refusal}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
