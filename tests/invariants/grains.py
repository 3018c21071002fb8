"""Properties between what a collective is simulated as: chunks or coupled flows, packets or shares of links."""

from comparison import Comparison, Property, apart, choice_of, said, size
from domain import LARGEST

GRAIN, STEP, FIDELITY = 0.03, 0.03, 0.05
# Algorithms in which no two messages come to one rank over the network at a time.
QUIET = {"ring", "nvls", "nvls_tree", "collnet_direct", "collnet_chain", "nccl_p2p", "plain_ring", "pat"}
# A run of these in packets says how far from flows it is (open_faults.py).
DOUBTED = {"collnet_direct", "collnet_chain", "nvls", "pat"}
FIRST, LAST = 64 << 10, 16 << 20
AUTO_MESSAGES = 200_000  # `auto` may leave messages of larger calls out (sim/collectives/runner.cpp)
MOST = 4                 # times what a domain says: all messages of such a call are run


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


def sends_in_flows(weft, domain, row, options, first):
    """Sends that `auto` runs as flows where all of their messages take too long: compared where these are few."""
    command = ["collective", row["collective"], *options]
    count = size(LAST)
    if first is None:
        return
    by_itself = weft.series(*command[1:], "-b", size(first), "-e", size(first))[0]
    if by_itself["algorithm"] != "nccl_p2p" or by_itself.get("grain") != "fluid":
        return
    commands = [[*command, "-b", count, "-e", count, "--grain", grain] for grain in ("chunk", "fluid")]
    chunk, fluid = (weft.series(*each[1:])[0] for each in commands)
    yield Comparison(apart(chunk["time_us"], fluid["time_us"]), GRAIN, f"{chunk['bytes']} B take {chunk['time_us']} us in chunks, "
                     f"{fluid['time_us']} us in flows ({said(chunk)})", commands,
                     domain.facts(row) | {"bytes": chunk["bytes"], "algorithm": "nccl_p2p", "what": "grain"})


def check_grain(weft, domain, row):
    """Where `auto` no longer runs every message of a call, it and all of them are run, and the growth of the time is looked at."""
    options = domain.arguments(row)
    small = weft.series(row["collective"], *options, "-b", size(FIRST), "-e", size(LAST))
    messages = small[-1]["messages"] / max(1, small[-1]["bytes"])
    first = next((1 << e for e in range(LAST.bit_length(), LARGEST.bit_length()) if messages * (1 << e) > AUTO_MESSAGES), None)
    if first is None or messages * 2 * first > MOST * domain.most_messages:
        yield from sends_in_flows(weft, domain, row, options, first)
        return
    around = [*options, "-b", size(first // 4), "-e", size(2 * first)]
    points = weft.series(row["collective"], *around)
    step = step_of(points)
    if step is not None:
        yield Comparison(step, STEP, f"a step at {points[2]['bytes']} B, where not every message is run ({said(points[2])})",
                         [["collective", row["collective"], *around]],
                         domain.facts(row) | {"bytes": points[2]["bytes"], "algorithm": points[2]["algorithm"], "what": "step"})
    for point, count in zip(points[2:], (size(first), size(2 * first))):
        command = ["collective", row["collective"], *options, "-b", count, "-e", count]
        chunk = weft.series(*command[1:], "--grain", "chunk")[0]["time_us"]
        yield Comparison(apart(chunk, point["time_us"]), GRAIN, f"{point['bytes']} B take {chunk} us in chunks, "
                         f"{point['time_us']} us by itself ({said(point)})", [[*command, "--grain", "chunk"], command],
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
    results = [weft.run(*command) for command in commands]
    flow, packet = (result["points"][0] for result in results)
    if packet["algorithm"] in DOUBTED:
        is_said = any(warning.startswith("packets:") for warning in results[1].get("warnings", []))
        yield Comparison(0.0 if is_said else 1.0, 0.0, f"{said(packet)} in packets says nothing of how far it may be off",
                         commands[1:], domain.facts(row) | {"algorithm": None})
    yield Comparison(apart(flow["time_us"], packet["time_us"]), FIDELITY, f"{flow['bytes']} B take {flow['time_us']} us as "
                     f"flows, {packet['time_us']} us as packets ({said(flow)})", commands,
                     domain.facts(row) | {"bytes": flow["bytes"]})


GRAINS = [
    Property("grain", "chunks and coupled flows agree where either may be taken", factors, check_grain, sample=24,
             allowed=allowed),
    Property("fidelity", "flows and packets agree where nothing is congested", fidelity_factors, check_fidelity, sample=30,
             allowed=fidelity_allowed),
]
