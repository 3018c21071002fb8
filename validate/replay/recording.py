"""What the scripts here that measure two GPUs with PyTorch's profiler share: cases run under it, and the file of them all."""
import json
import tempfile

import torch
import torch.distributed as dist
from torch.profiler import profile


def events_of(everything, times, run):
    """The trace of every case run so many times in a row, by begin."""
    with profile() as recorded:
        for case in everything:
            for _ in range(times):
                run(case)
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        recorded.export_chrome_trace(file.name)
        events = json.load(open(file.name))["traceEvents"]
    return sorted((e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")), key=lambda e: e["ts"])


def is_nccl(event):
    return event["cat"] == "kernel" and "nccl" in event["name"]


def write(path, everything, times, key, meaning, runs, kept=lambda case, times: times, group=None):
    """By rank 0: each case with its last `kept` runs, by rank, under `key`; what each of `runs` is says `meaning`."""
    every = [None, None]
    dist.all_gather_object(every, runs, group=group)
    if dist.get_rank() != 0:
        return
    for i, case in enumerate(everything):
        case[key] = [[every[r][i * times + n] for r in (0, 1)] for n in range(times - kept(case, times), times)]
    head = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())),
            "type": "bfloat16", key: meaning}
    lines = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    lines.append('"cases": [\n' + ",\n".join(json.dumps(case) for case in everything) + "\n]")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
