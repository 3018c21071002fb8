"""Properties between what a collective is simulated as: chunks or coupled flows, packets or shares of links."""

import errors
from comparison import Comparison, Property, apart, choice_of, said, size
from domain import LARGEST

GRAIN, STEP, FIDELITY = 0.03, 0.03, 0.05
# In training and serving a call of this size is flows if it is of more messages than these (workloads/replay/group_runs.cpp).
# Algorithms in which no two messages come to one rank over the network at a time.
QUIET = {"ring", "nvls", "nvls_tree", "collnet_direct", "collnet_chain", "nccl_p2p", "plain_ring", "pat"}
FIRST = 64 << 10
STEP_BYTES, STEP_MESSAGES = 16 << 20, 20_000


def factors(domain):
    return {"cluster": list(domain.clusters), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": ["/", *domain.choices()], "channels": [0, 0, 1, 4, 16]}


def allowed(domain, row):
    """No choice at all is NCCL's own."""
    if row["choice"] != "/":
        return domain.allowed(row)
    return not row["channels"] and domain.allowed({name: value for name, value in row.items() if name != "choice"})


def step_of(points):
    """How far the growth of the time from chunks to flows, in the middle of four points, is from the growths on both sides of it;
    nothing where these are of another choice."""
    if len(points) < 4 or len({choice_of(point) for point in points}) > 1:
        return None
    before, here, after = (more["time_us"] / less["time_us"] for less, more in zip(points, points[1:]))
    return max(0.0, here / max(before, after) - 1, min(before, after) / here - 1)


def walk(weft, domain, row, options):
    """Points of growing size as `auto` simulates them, until one is flows, and one more of these; or until they take too long."""
    points = []
    small = weft.series(row["collective"], *options, "-b", size(FIRST), "-e", size(STEP_BYTES))
    for exponent in range(FIRST.bit_length() - 1, LARGEST.bit_length()):
        count = size(1 << exponent)
        point = small.pop(0) if small else weft.series(row["collective"], *options, "-b", count, "-e", count)[0]
        points.append(point | {"asked": count})
        both_fluid = len(points) > 1 and points[-2]["grain"] == point["grain"] == "fluid"
        if both_fluid or point["messages"] > domain.most_messages:
            break
    return points


def check_grain(weft, domain, row):
    """Where `auto` goes from chunks to flows both are run on both sides; and where a group of a step would."""
    options = domain.arguments(row)
    points = walk(weft, domain, row, options)
    both = {}
    first = next((i for i, point in enumerate(points) if point["grain"] == "fluid"), None)
    if first is not None:
        both |= {point["asked"]: point for point in points[max(0, first - 1):first + 1]}
        step = step_of(points[max(0, first - 2):first + 2])
        if step is not None:
            sizes = [*options, "-b", points[first - 2]["asked"], "-e", points[first + 1]["asked"]]
            yield Comparison(step, STEP, f"a step at {points[first]['bytes']} B, where flows take the place of chunks "
                             f"({said(points[first])})", [["collective", row["collective"], *sizes]],
                             domain.facts(row) | {"bytes": points[first]["bytes"], "what": "step"})
    in_step = next((point for point in points if point["grain"] == "chunk" and point["bytes"] >= STEP_BYTES
                    and point["messages"] > STEP_MESSAGES), None)
    if in_step is not None:
        both[in_step["asked"]] = in_step
    for count, point in both.items():
        asked = [*options, "-b", count, "-e", count]
        try:
            times = {grain: weft.series(row["collective"], *asked, "--grain", grain)[0]["time_us"]
                     for grain in ("chunk", "fluid")}
        except errors.Refused as refusal:
            if "no fluid grain" in str(refusal):
                return
            raise
        yield Comparison(apart(*times.values()), GRAIN, f"{point['bytes']} B take {times['chunk']} us in chunks, "
                         f"{times['fluid']} us as flows ({said(point)})",
                         [["collective", row["collective"], *asked, "--grain", grain] for grain in times],
                         domain.facts(row) | {"bytes": point["bytes"], "algorithm": point["algorithm"], "what": "grain"})


def fidelity_factors(domain):
    return {"cluster": list(domain.clusters), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": [choice for choice in domain.choices() if choice.split("/")[0] in QUIET], "channels": [0, 1, 4, 16],
            "exponent": [12, 16, 20, 22, 24]}


def fidelity_allowed(domain, row):
    """Many ranks that send to one meet in a queue, which flows do not have: gather and all-to-all are left out."""
    few = 1 << row["exponent"] <= domain.most_packet_bytes
    return few and row["collective"] not in ("gather", "alltoall") and domain.allowed(row)


def check_fidelity(weft, domain, row):
    count = size(1 << row["exponent"])
    options = [*domain.arguments(row), "-b", count, "-e", count]
    commands = [["collective", row["collective"], *options, "--fidelity", fidelity] for fidelity in ("flow", "packet")]
    flow, packet = (weft.run(*command)["points"][0] for command in commands)
    yield Comparison(apart(flow["time_us"], packet["time_us"]), FIDELITY, f"{flow['bytes']} B take {flow['time_us']} us as "
                     f"flows, {packet['time_us']} us as packets ({said(flow)})", commands,
                     domain.facts(row) | {"bytes": flow["bytes"]})


GRAINS = [
    Property("grain", "chunks and coupled flows agree where either may be taken", factors, check_grain, sample=24,
             allowed=allowed),
    Property("fidelity", "flows and packets agree where nothing is congested", fidelity_factors, check_fidelity, sample=30,
             allowed=fidelity_allowed),
]
