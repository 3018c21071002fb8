#!/usr/bin/env python3
"""Folding (weft explain folding): steps simulated with one rank for all that do the same take as long as with every rank, within
the stated bound, and hold as much memory. `simulation: {fold: false}` is the switch.

    folding_test.py [--show] [--only TEXT] [--every N] ROOT WEFT
"""
import step_scenarios
import switching
from step_scenarios import EXPERTS_16, GPT, STEPS, TWO_LEAVES, Step

BOUND = 0.005  # of an iteration's time, as weft explain folding says
BOUND_BESIDE_TREES = 0.015
OFF, ON = (("--set", f"simulation.fold={fold}") for fold in ("false", "true"))

HASHED = "type: leaf_spine, leaf_ports: 16, routing: ecmp"
# Where ranks do not do the same, or do not lie alike, every rank is simulated either way.
WHOLE = [
    Step("tensor: 2, data: 4", more="  jitter: {rank: 0.02}\n"),
    Step("data: 8, zero: 3", more="  jitter: {stragglers: [{rank: 7, slower: 1.3}]}\n"),
    Step("tensor: 2, data: 4, rank_map: [0, 4, 1, 2, 3, 5, 6, 7]", 2, cluster="h200x4"),
    Step("tensor: 4, data: 3, order: dp-tp-cp-ep-pp", 2, cluster="dgx_a100"),
    Step("pipeline: 2, data: 4, rank_map: [0, 1, 2, 3, 4, 5, 6, 8]", 2, microbatches=4),
    # Pairs behind one PCIe switch and behind two, with two NVLinks and with none.
    Step("tensor: 2, data: 4, rank_map: [0, 1, 2, 4, 3, 5, 6, 7]", cluster="pcie8_serial", model=GPT, microbatches=2),
    Step("tensor: 2, data: 4, rank_map: [0, 3, 1, 6, 2, 5, 4, 7]", cluster="dgx1_v100"),
    Step("tensor: 4, data: 4, zero: 1", 2, cluster="dgx1_v100", model=GPT),
    # Groups of two hosts, of which one lies below two leaves; as many ranks, of which some leaves have more.
    Step("tensor: 8, context: 2, data: 3, context_kind: ring", 6, fabric=TWO_LEAVES, microbatches=2),
    Step("tensor: 16, data: 3", 6, fabric=TWO_LEAVES),
    Step("data: 48, expert: 16, zero: 1", 6, fabric=TWO_LEAVES, model=EXPERTS_16),
    Step("tensor: 8, pipeline: 4, data: 2, order: tp-pp-cp-ep-dp", 8, fabric=TWO_LEAVES, microbatches=4),
    # Three nodes and a half a leaf.
    Step("tensor: 8, data: 4", 4, fabric="type: leaf_spine, leaf_ports: 32, oversubscription: 7", microbatches=3),
    # Flows take one path of several, and collide otherwise where others are left out.
    Step("tensor: 8, data: 4, zero: 1", 4, fabric="type: fat_tree, leaf_ports: 16, routing: ecmp"),
    Step("tensor: 8, data: 8, zero: 1", 8, fabric=HASHED),
    Step("tensor: 8, data: 16, zero: 1", 16, fabric=HASHED),
    Step("data: 64, zero: 3, fsdp_shard: 16", 8, fabric=HASHED),
    Step("tensor: 8, data: 4, zero: 1", 4, fabric="type: leaf_spine, leaf_ports: 16, routing: d_mod_k"),
]

# Where gradients go along trees, hosts of inner nodes send more than others, and all-to-alls over those take longer: of ranks left out,
# too. With rings the difference is none.
BESIDE_TREES = [
    Step("data: 64, expert: 16, zero: 0", 8, model=EXPERTS_16),
]


class Tally:
    compared = folded = 0
    largest = 0.0


def compare(runs, step, iterations, tally, bound=BOUND, folds=True):
    scenario = step.scenario(iterations)
    whole, folded = (runs.run(scenario, switch) for switch in (OFF, ON))
    times = [result["iteration_time_ns"] for result in (whole, folded)]
    ranks = [result["simulated_ranks"] for result in (whole, folded)]
    difference = times[1] / times[0] - 1
    tally.compared += 1
    tally.folded += ranks[1] < ranks[0]
    tally.largest = max(tally.largest, abs(difference))
    runs.show_line(f"{scenario.name}: {ranks[0]} ranks as {ranks[1]}, {100 * difference:+.4f} %")
    if ranks[0] != whole["gpus"] or (ranks[1] < ranks[0]) != folds:
        runs.fail(scenario, f"of {whole['gpus']} GPUs {ranks[0]} are simulated, {ranks[1]} with folding", OFF, ON)
    if abs(difference) > bound:
        runs.fail(scenario, f"iterations of {times[0]} ns, {times[1]} ns with folding: {100 * difference:+.4f} %, the bound is {100 * bound} %",
                  OFF, ON)
    memory = [result["memory_per_gpu_bytes"] for result in (whole, folded)]
    if memory[0] != memory[1]:
        runs.fail(scenario, f"memory of {memory[0]}, {memory[1]} with folding", OFF, ON)


def main():
    runs = switching.Switching(__doc__)
    tally = Tally()
    for step in STEPS[::runs.every]:
        # Checkpoints are part of the second iteration on.
        if runs.only in step.name:
            compare(runs, step, 3 if step_scenarios.STORAGE in step.more else 1, tally)
    for step in WHOLE[::runs.every]:
        if runs.only in step.name:
            compare(runs, step, 1, tally, bound=0, folds=False)
    usual = tally.largest
    for step in BESIDE_TREES:
        if runs.only in step.name:
            compare(runs, step, 1, tally, bound=BOUND_BESIDE_TREES)
    runs.finish(f"{tally.compared} steps, {tally.folded} of which fold: within {100 * usual:.3f} % of all ranks by themselves, "
                f"beside trees {100 * tally.largest:.3f} %")


if __name__ == "__main__":
    main()
