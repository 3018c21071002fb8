#!/usr/bin/env python3
"""Skipping (weft explain skipping): iterations that repeat others are not run, and every result is that of a run of all of them, to
the last digit. `simulation: {skip: false}` is the switch, of a replay --no-skip; calls of a collective that are one entry of a scenario
are as long as those of as many entries.

    skipping_test.py [--show] [--only TEXT] [--every N] ROOT WEFT
"""
import dataclasses
import itertools

import switching
from step_scenarios import EXPERTS, GPT, STEPS, STORAGE, Step

OFF, ON = (("--set", f"simulation.skip={skip}") for skip in ("false", "true"))
EVERY_RANK = ("--set", "simulation.fold=false")

# These fields say what a run cost and how it was asked for; they are no result.
COSTS = ("command_line", "configuration", "events", "transfers", "solves", "peak_live_transfers", "packet_hops", "wall_s",
         "peak_memory_bytes", "iterations_skipped")

FAST = "  storage: {local: {write: 6 GB/s, read: 12 GB/s}, file_system: {write: 200 GB/s, read: 200 GB/s}}\n"
ONE_NODE, SHARDED = Step("data: 8"), Step("data: 8, zero: 3", microbatches=2)
ZERO_1, TWO_TENSOR = Step("data: 8, zero: 1", microbatches=2), Step("tensor: 2, data: 4", microbatches=2)
PIPELINE, ALONE = Step("pipeline: 4, data: 2", microbatches=4), Step("tensor: 2, data: 4, data_parallelism: none", microbatches=2)
# A step, iterations, more of the workload, and whether some of it is skipped: True, False, or either (None).
MORE = [
    # Checkpoints: periods of several iterations; storage that is busy on and on, or beside some iterations only.
    (ONE_NODE, 30, FAST + "  checkpoint: {to: local, every: 5, through: host, asynchronous: false}\n", True),
    (ZERO_1, 30, FAST + "  checkpoint: {to: local, every: 3, through: gpudirect}\n", True),
    (ZERO_1, 31, FAST + "  checkpoint: {to: local, every: 7, asynchronous: false}\n", True),
    (ZERO_1, 31, STORAGE + "  checkpoint: {to: local, every: 2}\n", None),
    (PIPELINE, 30, FAST + "  checkpoint: {to: file_system, every: 4, asynchronous: true}\n", True),
    (Step("data: 16", 2), 40,
     FAST + "  checkpoint: {to: file_system, asynchronous: true}\n  data_loading: {from: local, prefetch: true}\n", None),
    (Step("tensor: 4, pipeline: 2, data: 2", 2, model=GPT, microbatches=4), 20,
     FAST + "  checkpoint: {to: local, every: 2, restore: true, asynchronous: false}\n", True),
    (Step("tensor: 8, data: 2", 2), 25,
     STORAGE + "  data_loading: {from: file_system, bytes_per_sequence: 300 MB, prefetch: true}\n", None),
    (Step("data: 12, zero: 1", 2, model=GPT), 37,
     STORAGE + "  checkpoint: {to: file_system, every: 3}\n  data_loading: {from: file_system, bytes_per_sequence: 3 MB, prefetch: true}\n",
     None),
    # Ranks of unequal pace, which wait for each other, or do not.
    (SHARDED, 12, "  jitter: {kernel: 0.02}\n", False),
    (TWO_TENSOR, 12, "  jitter: {kernel: 0.01, rank: 0.02}\n", False),
    (TWO_TENSOR, 12, "  jitter: {rank: 0.02}\n", True),
    (PIPELINE, 12, "  jitter: {stragglers: [{rank: 3, slower: 1.1}]}\n", True),
    (PIPELINE, 12, "  jitter: {stragglers: [{rank: 3, slower: 3}, {rank: 6, slower: 1.5}]}\n", True),
    (SHARDED, 12, "  jitter: {stragglers: [{rank: 7, slower: 1.3}]}\n", True),
    (SHARDED, 12, "  jitter: {rank: 0.02, stragglers: [{rank: 1, slower: 1.5}]}\n", True),
    (ZERO_1, 20, "  jitter: {stragglers: [{rank: 3, slower: 1.0001}]}\n", True),
    (Step("data: 8, expert: 8", model=EXPERTS, microbatches=2), 40, "  jitter: {rank: 0.001}\n", True),
    (ALONE, 40, "", True),
    (ALONE, 20, "  jitter: {rank: 0.02}\n", False),
    (ALONE, 20, "  jitter: {stragglers: [{rank: 3, slower: 1.0001}]}\n", False),
    # Too few to leave any out, and as many as a scenario may ask for.
    (ONE_NODE, 1, "", False), (ONE_NODE, 2, "", False), (ONE_NODE, 4, "", False), (ONE_NODE, 5, "", True), (ONE_NODE, 1000, "", True),
]
# With every rank: those of unlike places on their hosts go at unlike paces.
UNFOLDED = [
    Step("tensor: 2, data: 4, rank_map: [0, 3, 1, 6, 2, 5, 4, 7]", cluster="dgx1_v100", model=GPT, microbatches=2),
    Step("pipeline: 2, data: 4, rank_map: [0, 1, 2, 4, 3, 5, 6, 7]", cluster="pcie8_serial", model=GPT, microbatches=2),
    Step("pipeline: 2, data: 4, data_parallelism: none, rank_map: [0, 1, 2, 4, 3, 5, 6, 7]", cluster="dgx1_v100", model=GPT,
         microbatches=2),
]


def scenarios(every):
    """A scenario, options of all its runs, and what is skipped."""
    for i, step in [*enumerate(STEPS)][::every]:
        yield step.scenario(6 + i % 9), (), None
    for i, step in enumerate([*(step for step in STEPS if step.nodes == 1 and "gb" not in step.cluster)][::3 * every] + UNFOLDED):
        yield step.scenario(6 + i % 5), EVERY_RANK, None
    for step, iterations, more, skips in MORE:
        yield dataclasses.replace(step, more=more).scenario(iterations), (), skips


def replays():
    ways = ("h200x4 --repeat 9", "h200x4 --repeat 8 --keep-start-skew --scale-compute 1.37", "h200x2_2_nodes --repeat 7",
            "h200x4_pcie --repeat 12")
    for name, more in itertools.product(("ddp", "ep4", "small"), ways):
        cluster, *options = more.split()
        yield switching.Scenario(f"{name} on {more}", command=(
            "replay", f"{{root}}/tests/data/traces/{name}*", "--cluster", f"{{root}}/configs/clusters/{cluster}.yaml", *options))


def calls():
    """Of one kind: as one entry, and as an entry each."""
    outages = {
        "no outage": "",
        "an outage in the first": outage("h0->leaf0", 10, 30),
        "outages in two": outage("h1->leaf0", 290, 300) + outage("h1->leaf0", 900, 1500),
        "outages between spines": outage("leaf0->spine0#0", 200, 250) + outage("leaf1->spine0#1", 260, 1100),
    }
    for (name, faults), fidelity, count in itertools.product(outages.items(), ("flow", "packet"), (3, 9)):
        entry = "    - {kind: all_reduce, bytes: 1 MB, algorithm: plain_ring"
        one, each = (f"""cluster:
  nodes: 6
  node: {{type: host}}
  fabric: {{type: leaf_spine, leaf_ports: 6, link: {{type: ethernet, rate: 100 Gb/s, latency: 500 ns}}, routing: ecmp}}
workload:
  collectives:
{entries}simulation: {{fidelity: {fidelity}}}
faults: [{faults}]
""" for entries in (f"{entry}, count: {count}}}\n", count * f"{entry}}}\n"))
        what = f"{count} calls, {fidelity}, {name}"
        yield switching.Scenario(what, one), switching.Scenario(f"{what}, an entry each", each)


def outage(link, at, until):
    return f"{{link_down: {{link: \"{link}\", at: {at} us, until: {until} us}}}}, "


class Tally:
    compared = shorter = 0


def difference(whole, short, at=""):
    """The first one, as deep inside as it is; empty where there is none."""
    if isinstance(whole, dict) and isinstance(short, dict):
        pairs = [(f".{key}", whole.get(key), short.get(key)) for key in sorted(set(whole) | set(short)) if at or key not in COSTS]
    elif isinstance(whole, list) and isinstance(short, list) and len(whole) == len(short):
        pairs = [(f"[{i}]", *values) for i, values in enumerate(zip(whole, short))]
    else:
        return "" if whole == short else f"{at[1:]} is {str(whole):.200}, {str(short):.200} with skipping"
    return next(filter(None, (difference(*values, at + key) for key, *values in pairs)), "")


def compare(runs, scenario, off, on, expected, tally):
    whole, short = runs.run(scenario, off), runs.run(scenario, on)
    skipped = short["iterations_skipped"]
    tally.compared += 1
    tally.shorter += skipped > 0
    runs.show_line(f"{scenario.name}: {skipped} of {len(short['iterations_ns'])} skipped, {short['events']} of {whole['events']} events")
    if whole["iterations_skipped"] != 0 or len(whole["iterations_ns"]) != len(short["iterations_ns"]):
        runs.fail(scenario, f"{len(whole['iterations_ns'])} iterations less {whole['iterations_skipped']}, "
                  f"{len(short['iterations_ns'])} less {skipped} with skipping", off, on)
    if different := difference(whole, short):
        runs.fail(scenario, different, off, on)
    if expected is not None and (skipped > 0) != expected:
        runs.fail(scenario, f"{skipped} skipped, expected {'some' if expected else 'none'}", off, on)


def compare_calls(runs, one, each, tally):
    short, whole = runs.run(one, ()), runs.run(each, ())
    tally.compared += 1
    tally.shorter += short["events"] < whole["events"]
    runs.show_line(f"{one.name}: {short['events']} of {whole['events']} events")
    if short["makespan_ns"] != whole["makespan_ns"]:
        runs.fail(one, f"{short['makespan_ns']} ns", ())
        runs.fail(each, f"{whole['makespan_ns']} ns", ())


def main():
    runs = switching.Switching(__doc__)
    tally = Tally()
    for scenario, options, expected in scenarios(runs.every):
        if runs.only in scenario.name:
            compare(runs, scenario, (*options, *OFF), (*options, *ON), expected, tally)
    for scenario in replays():
        if runs.only in scenario.name:
            compare(runs, scenario, ("--no-skip",), (), None, tally)
    for one, each in calls():
        if runs.only in one.name:
            compare_calls(runs, one, each, tally)
    # A test of skipping in which little is skipped would say little.
    assert runs.only or tally.shorter >= tally.compared // 2, f"only {tally.shorter} of {tally.compared} runs skip"
    runs.finish(f"{tally.compared} runs, {tally.shorter} of which skip: the same results")


if __name__ == "__main__":
    main()
