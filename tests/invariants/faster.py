"""Properties of a change for the better: a faster link, NIC, host or GPU never makes anything slower, the choice held."""

import copy

import rewrite
import steps
from comparison import Comparison, Property, choice_of, said, size, slower
from domain import PROTOCOLS

MARGIN = 0.01
HOST_MARGIN = 0.003  # a launch later or earlier moves no link's share
PARAMETERS = {"host": "device.launch.host_cost", "gemm": "gpu.gemm.efficiency", "memory": "gpu.memory.contiguous_efficiency",
              "library": "collectives.simple.hop_latency", "blocks": "collectives.simple.channel_rate"}
BETTER_IS_LESS = {"host", "library", "network latency", "inner latency"}
HALF_AND_DOUBLE = (0.5, 2.0)
FACTORS = {"host": (0.02, 0.5, 4.0, 14.0)}  # a kernel is launched in 0.1 to 70 us
LEVERS = [*PARAMETERS, "network rate", "network latency", "inner rate", "inner latency", "pcie lanes", "other gpu"]
OTHER_GPU = {"h100_sxm": "h800_sxm", "a100_sxm": "a100_sxm_40gb"}  # equal or slower in everything
OTHER_GPU_BETTER = {"h100_sxm": "h200_sxm", "h100_hbm2e": "h100_sxm"}  # equal or faster in everything


def changed(domain, row, lever, factor):
    """The machine of a row with one thing `factor` times as large; nothing where the machine has no such thing."""
    result = copy.deepcopy(domain.configuration(row["cluster"]))
    result["nodes"] = max(row["nodes"], result.get("nodes", 1))
    if lever in PARAMETERS:
        key = PARAMETERS[lever]
        stated = result["profile"].get("parameters", {}).get(key, {}).get("value", domain.default(key))
        value = rewrite.scaled(stated, factor)
        return None if "efficiency" in key and value > 1 else rewrite.with_parameter(result, key, value)
    if lever == "network rate":
        if row["nodes"] == 1:
            return None
        result["fabric"]["link"]["rate"] = rewrite.gigabits(domain.network_rate(row["cluster"]) * factor)
        return result
    if lever == "network latency":
        if row["nodes"] == 1 or "latency" not in result["fabric"]["link"]:
            return None
        result["fabric"]["link"]["latency"] = rewrite.scaled(result["fabric"]["link"]["latency"], factor)
        return result
    if lever == "other gpu":
        gpu = next((device for device in result["node"]["devices"] if device["kind"] == "gpu"), {})
        models = OTHER_GPU_BETTER if factor > 1 else OTHER_GPU
        if gpu.get("model") not in models:
            return None
        gpu["model"] = models[gpu["model"]]
        return result
    return with_inner(domain, row, result, lever, factor)


def with_inner(domain, row, result, lever, factor):
    """Links inside the hosts: their efficiency can only fall, their lanes only become fewer."""
    found = False
    specs = domain.inner_links(row["cluster"])
    for link in result["node"].get("links", []):
        efficiency, latency = specs.get(link["type"], (None, None))
        if efficiency is None or (lever == "inner rate" and link["type"] in ("local", "socket")):  # these take none
            continue
        if lever == "inner rate" and factor < 1:
            link["efficiency"] = efficiency * factor
        elif lever == "inner latency":
            link["latency"] = f"{latency * factor:.9g} ns"
        elif lever == "pcie lanes" and factor < 1 and link["type"].startswith("pcie") and link.get("lanes", 0) > 1:
            link["lanes"] //= 2
        else:
            continue
        found = True
    return result if found else None


def applies(domain, row):
    """Whether the machine has what the lever changes."""
    return any(changed(domain, row, row["lever"], factor) is not None for factor in HALF_AND_DOUBLE)


def collective_allowed(domain, row):
    return domain.allowed(row) and applies(domain, row)


def variants(weft, domain, row):
    """(words, better or worse, file) of the machine with one thing better, and worse."""
    for factor in FACTORS.get(row["lever"], HALF_AND_DOUBLE):
        made = changed(domain, row, row["lever"], factor)
        if made is not None:
            better = (factor > 1) != (row["lever"] in BETTER_IS_LESS)
            file = weft.file(f"{row['cluster']}_{row['lever'].replace(' ', '_')}", made)
            yield f"{row['lever']} times {factor:g}", better, file


def judged(base, other, better):
    """How far the change goes the wrong way."""
    return slower(other, base) if better else slower(base, other)


def collective_factors(domain):
    return {"cluster": domain.gpu_clusters(), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": [choice for choice in domain.choices() if choice.split("/")[0] in PROTOCOLS], "channels": [2, 8, 16],
            "lever": [lever for lever in LEVERS if lever not in ("gemm", "memory", "other gpu")]}


def check_collective(weft, domain, row):
    sizes = ["-b", "8", "-e", size(domain.most_bytes), "-f", "32"]
    plain = weft.file(row["cluster"], domain.configuration(row["cluster"]))
    base_options = [*domain.arguments(row | {"file": plain}), *sizes]
    base = weft.series(row["collective"], *base_options)
    for words, better, file in variants(weft, domain, row):
        options = [*domain.arguments(row | {"file": file}), *sizes]
        for point, other in zip(base, weft.series(row["collective"], *options)):
            if choice_of(point) != choice_of(other) or point["time_us"] == 0:
                continue
            yield Comparison(judged(point["time_us"], other["time_us"], better), MARGIN,
                             f"{words}: {point['bytes']} B take {other['time_us']} us in place of {point['time_us']} "
                             f"({said(point)})",
                             [["collective", row["collective"], *which] for which in (base_options, options)],
                             domain.facts(row) | {"bytes": point["bytes"]})


def step_factors(domain):
    return {"cluster": domain.gpu_clusters(), "plan": list(steps.PLANS), "lever": LEVERS, "nodes": [1, 2, 3, 4, 8]}


def step_allowed(domain, row):
    return steps.fits(domain, row) and applies(domain, row)


def check_step(weft, domain, row):
    """Training steps and serving: NCCL chooses, as steps take no algorithm; a choice that changes is not told, so its own falls
    would show here: levers of the network are held to collectives alone."""
    if row["lever"] in ("network rate", "inner rate", "pcie lanes"):
        settings = ["--nccl", "ALGO=Ring", "--nccl", "PROTO=Simple"]
    else:
        settings = []
    base_file = steps.scenario(weft, domain, row, domain.configuration(row["cluster"]))
    base = steps.time_of(weft.run("run", base_file, *settings))
    for words, better, _ in variants(weft, domain, row):
        factor = float(words.rsplit(" ", 1)[1])
        file = steps.scenario(weft, domain, row, changed(domain, row, row["lever"], factor))
        time = steps.time_of(weft.run("run", file, *settings))
        margin = HOST_MARGIN if row["lever"] == "host" else MARGIN
        yield Comparison(judged(base, time, better), margin, f"{words}: {row['plan']} takes {time / 1e3:.6g} us in place of "
                         f"{base / 1e3:.6g}", [["run", which, *settings] for which in (base_file, file)], dict(row))


FASTER = [
    Property("faster", "a better link, NIC or host makes no collective slower", collective_factors, check_collective, sample=30,
             allowed=collective_allowed),
    Property("faster_steps", "nor a better one or a better GPU a training step or serving", step_factors, check_step, sample=22,
             allowed=step_allowed),
]
