#!/usr/bin/env python3
"""Writes the costs of collectives of a shipped profile from the public tables that may be fitted (validate/nccl_public/sets.py).

    tools/fit_public.py build/weft GPU [--rows N] [-o PROFILE]
    tools/fit_public.py build/weft TRANSPORT

GPU is the profile's name: a100_sxm, b200, gb200, gb300, h100_sxm, h200_sxm, l40s. One group of parameters after the other, each to the
rows whose protocol it is, by damped least squares of the logarithms: factors of the defaults, those of H200, at the clock of the GPU's
SMs. Latencies of one stage have one factor, for these rows do not tell them apart, and send/recv, which no row shows, those of the
protocol it runs. A row counts as 3 % off, a factor as known within e^0.35. All other rows stay unseen; validate/nccl_public/score.py
scores them. Takes some minutes of one core.

TRANSPORT is a NIC transport that a set of several nodes ran on: efa, roce, tcpxo. Its latencies and its cost of a message are fitted
to all rows of the set that may be, at once, and printed: they are the defaults of sim/network/transports.
"""
import argparse
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "validate" / "nccl_public"))
import score  # noqa: E402
import sets  # noqa: E402

ROW = 0.03  # a row's own error
PRIOR = 0.35  # of a logarithm
START = 0.15  # the same of how late kernels of Simple start, over those of LL, and of all factors of a chip on another board
WIDE = 1.5  # the same of a transport's times, of which nothing is known before
HUBER = 2.0  # a row further off than so many errors weighs less
STEP = 0.04  # of a logarithm, for slopes
LINK = {"a100_sxm": "network.nvlink3.efficiency", "h100_sxm": "network.nvlink4.efficiency", "h200_sxm": "network.nvlink4.efficiency",
        "l40s": "network.pcie4.efficiency"}
# The SMs' clock over that of H200 (1.98 GHz): where a profile has no value of its own, times of blocks begin in proportion.
# One chip in two boards: the other's values, fitted before, in place of the defaults.
LIKE = {"gb200": "b200", "gb300": "b200"}
TRANSPORTS = {"roce": "gcp_a3_ultra", "efa": "aws_p5", "tcpxo": "gcp_a3_mega"}  # cluster of the set
CLOCK = {"a100_sxm": 1.41 / 1.98, "l40s": 2.52 / 1.98}
SOURCE = "ai-dynamo/aiconfigurator @ 095f58a"
SCALES = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "Mb/s": 1e-3, "Gb/s": 1.0, "Tb/s": 1e3, "GB/s": 8.0}
UNITS = {"ns": "us", "us": "us", "ms": "us", "Mb/s": "Gb/s", "Gb/s": "Gb/s", "Tb/s": "Gb/s", "GB/s": "Gb/s"}


def keys_of(protocol, *names):
    return tuple(f"collectives.{protocol}.{name}" for name in names)


def groups_of(gpu):
    """Protocol whose rows tell, or None: all rows; factors: each of several keys at once, from their defaults."""
    if gpu in TRANSPORTS:
        keys = ("ll_latency", "ll128_latency", "simple_latency", "message_cost")
        yield None, {key: (f"network.nic.{gpu}.{key}",) for key in keys}
        return
    far = gpu == "l40s"  # no NVLink: peers are reached through PCIe or host memory
    hop = "host_hop_latency" if far else "hop_latency"
    link = LINK.get(gpu, "network.nvlink5.efficiency")
    yield "LL", {"start": keys_of("ll", "base_latency", "block_latency") + keys_of("p2p", "ll_latency"),
                 "step": keys_of("ll", hop, "step_gap"),
                 "first": keys_of("ll", "first_pass"), "rate": keys_of("ll", "channel_rate")}
    # Too few rows have LL128 for more: its times go with LL's.
    # A hop through host memory costs it what it costs LL.
    yield "LL128", {"step": keys_of("ll128", *(() if far else (hop,)), "step_gap", "load_latency"), "rate": keys_of("ll128", "channel_rate")}
    yield "Simple", {"start": keys_of("simple", "base_latency", "block_latency") + keys_of("p2p", "base_latency"),
                     "step": keys_of("simple", hop, "slice_latency", "load_latency", "copy_latency"),
                     "rate": keys_of("simple", "channel_rate"), "link": (link,)}


def number(text):
    match = re.match(r"([-+0-9.eE]+)\s*(\S*)$", text.strip().strip('"'))
    return float(match[1]) * SCALES.get(match[2], 1.0), UNITS.get(match[2], match[2])


class Fit:
    def __init__(self, program, gpu, profile, every):
        self.program, self.gpu, self.profile, self.every = program, gpu, profile, every
        self.values = {}  # fitted so far: key -> (value, unit)
        self.found = {}  # "LL step" -> its factor
        self.followed = set()  # keys that no row shows: they have another's factor
        self.folder = tempfile.TemporaryDirectory()
        if gpu in TRANSPORTS:
            self.publics = [public for public in sets.ALL if public.cluster == TRANSPORTS[gpu]]
        else:
            self.publics = [public for public in sets.ALL if public.gpu == gpu and public.nodes == 1 and public.fit == "all"]

    def start_of(self, key):
        like = LIKE.get(self.gpu)
        profile = ROOT / "configs" / "profiles" / f"{like}.yaml" if like else self.profile
        text = subprocess.run([self.program, "explain", key, "--profile", profile], capture_output=True, text=True, check=False).stdout
        own = re.search(r"^  in \S+: ([^(]+) \(", text, re.MULTILINE)
        default = re.search(r"^  default +([^(\n]+)", text, re.MULTILINE)
        if like or not key.startswith(("collectives.", "network.nic.")):
            return number((own or default)[1])
        value, unit = number(default[1])
        slower = 1 / CLOCK.get(self.gpu, 1.0)
        if key.startswith("network.nic."):
            return number(default[1])
        return {"us": value * slower, "Gb/s": value / slower}.get(unit, value), unit

    def predict(self, values, rows):
        """Logarithms of predicted over measured, and protocols, of {set: rows}."""
        said = {key: f"{value:.6g} {unit}".strip() for key, (value, unit) in (self.values | values).items()}
        file = score.overlay(self.profile, said, pathlib.Path(self.folder.name, "profile.yaml"))
        logs, protocols = [], []
        for public in self.publics:
            if rows[public]:
                for point in score.predict(self.program, public, rows[public], ["--profile", str(file)]):
                    logs.append(math.log(point["predicted_us"] / point["measured_us"]))
                    protocols.append(point["protocol"])
        return logs, protocols

    def rows_of(self, protocol):
        everything = {public: public.rows_to_fit() for public in self.publics}
        if protocol is None:
            return everything
        if not hasattr(self, "chosen"):
            self.chosen = self.predict({}, everything)[1]
        chosen = iter(self.chosen)
        kept = {public: [row for row in rows if next(chosen) == protocol] for public, rows in everything.items()}
        return {public: rows[:: self.every] if len(rows) > 4 else rows for public, rows in kept.items()}

    def run(self, protocol, factors):
        start = {key: self.start_of(key) for keys in factors.values() for key in keys}
        if protocol == "LL128" and self.gpu not in LIKE:
            start |= {key: (value * self.found.get("LL step", 1.0), unit) for key, (value, unit) in start.items() if unit == "us"}
            bases = {key: self.start_of(key) for key in keys_of("ll128", "base_latency", "block_latency")}
            self.values |= {key: (value * self.found.get("LL start", 1.0), unit) for key, (value, unit) in bases.items()}
        rows = self.rows_of(protocol)
        count = sum(map(len, rows.values()))
        names = list(factors)
        # Kernels of Simple start late and step slowly where those of LL do.
        follows = protocol == "Simple" and self.gpu not in LIKE
        center = {name: math.log(self.found.get(f"LL {name}", 1.0)) if follows and name in ("start", "step") else 0.0
                  for name in names}
        width = {name: WIDE if self.gpu in TRANSPORTS else START if self.gpu in LIKE or follows and name == "start" else PRIOR for name in names}
        at = dict(center)  # logarithms

        def values(where):
            found = {key: (start[key][0] * math.exp(where[name]), start[key][1]) for name in names for key in factors[name]}
            return {key: (min(value, 1.0) if not unit and "efficiency" in key or "share" in key else value, unit)
                    for key, (value, unit) in found.items()}

        if count < 2:
            self.values |= values(at)
            self.followed |= set(start)
            print(f"{self.gpu} {protocol}: {count} rows, as the others' times say")
            return

        def cost(logs, where):
            total = sum((where[name] - center[name]) ** 2 / width[name] ** 2 for name in names)
            for log in logs:
                off = abs(log) / ROW
                total += off**2 if off < HUBER else HUBER * (2 * off - HUBER)
            return total

        logs, _ = self.predict(values(at), rows)
        best = cost(logs, at)
        damping = 0.01
        for _ in range(6):
            slopes = []
            for name in names:
                there = dict(at)
                there[name] += STEP
                slopes.append([(b - a) / STEP for a, b in zip(logs, self.predict(values(there), rows)[0])])
            weights = [1.0 if abs(log) / ROW < HUBER else HUBER * ROW / abs(log) for log in logs]
            gain = 0.0
            for _ in range(4):
                step = solve(slopes, weights, logs, [at[name] - center[name] for name in names], [width[name] for name in names], damping)
                there = {name: at[name] + max(-0.7, min(0.7, move)) for name, move in zip(names, step)}
                new_logs, _ = self.predict(values(there), rows)
                new = cost(new_logs, there)
                if new < best:
                    gain = best - new
                    at, logs, best, damping = there, new_logs, new, damping / 3
                    break
                damping = max(damping, 0.01) * 8
            if gain < 0.01 * best:
                break
        self.values |= values(at)
        self.found |= {f"{protocol} {name}": math.exp(log) for name, log in at.items()}
        mean = 100 * sum(abs(math.expm1(log)) for log in logs) / len(logs)
        told = ", ".join(f"{name} x {math.exp(log):.3f}" for name, log in at.items())
        print(f"{self.gpu} {protocol or 'all'}: {count} rows, mean {mean:.1f} %: {told}", flush=True)


def solve(slopes, weights, logs, from_prior, width, damping):
    """Least squares of logs + slopes * step, damped, by Gauss-Jordan."""
    n = len(slopes)
    matrix = []
    for i in range(n):
        line = [sum(w * a * b for w, a, b in zip(weights, slopes[i], slopes[j])) / ROW**2 for j in range(n)]
        line[i] = line[i] * (1 + damping) + 1 / width[i] ** 2
        line.append(-sum(w * a * r for w, a, r in zip(weights, slopes[i], logs)) / ROW**2 - from_prior[i] / width[i] ** 2)
        matrix.append(line)
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(matrix[k][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        matrix[i] = [x / matrix[i][i] for x in matrix[i]]
        for k in range(n):
            if k != i:
                matrix[k] = [x - matrix[k][i] * y for x, y in zip(matrix[k], matrix[i])]
    return [line[n] for line in matrix]


def reference_of(publics):
    sets_text = " and ".join(f"{public.op} of {public.ranks}" for public in publics)
    return f"{sets_text}, {publics[0].dtype}, NCCL {publics[0].release} ({SOURCE}), by tools/fit_public.py"


def write(profile, fit, output):
    """The profile's text with the fitted values in place of its own, and every other line as it was."""
    reference = reference_of(fit.publics)

    def source_of(key):
        if key in fit.followed or key.startswith("collectives.p2p.") or re.fullmatch(r"collectives.ll128.(base|block)_latency", key):
            return f'assumed, reference: "goes with the times fitted to {reference}"'
        return f'fitted, reference: "{reference}"'

    lines = {key: f"  {key}: {{value: {value:.4g} {unit}, source: {source_of(key)}}}".replace(" , ", ", ")
             for key, (value, unit) in sorted(fit.values.items())}
    kept = []
    for line in profile.read_text(encoding="utf-8").splitlines():
        key = re.match(r"  ([a-z0-9_.]+): \{", line)
        if key and key[1] in lines:
            continue
        if line.startswith("parameters:"):
            kept += ["parameters:", *lines.values()]
        else:
            kept.append(line)
    if not any(line.startswith("parameters:") for line in kept):
        kept += ["parameters:", *lines.values()]
    output.write_text("\n".join(kept) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("gpu")
    parser.add_argument("--rows", type=int, default=1, metavar="N", help="one row in N, where there are more than four")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    gpu = next((public.gpu for public in sets.ALL if public.cluster == TRANSPORTS.get(options.gpu)), options.gpu)
    profile = ROOT / "configs" / "profiles" / f"{gpu}.yaml"
    fit = Fit(options.program, options.gpu, profile, options.rows)
    for protocol, factors in groups_of(options.gpu):
        fit.run(protocol, factors)
    if options.gpu in TRANSPORTS:
        for key, (value, unit) in fit.values.items():
            print(f"  {key}: {value:.3g} {unit}")
    else:
        write(profile, fit, options.output or profile)


if __name__ == "__main__":
    main()
