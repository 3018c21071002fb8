#!/usr/bin/env python3
"""Traced training steps replayed on other hardware, each change with its reason in one line, from the critical path.

    validate/replay/what_if.py build/weft TRACES_FOLDER [NAME...]
"""
import sys

from steps import ROOT, replay, trace_sets

CLUSTERS = {"half the NVLink": "h200x4_half_nvlink", "PCIe only": "h200x4_pcie", "two nodes of two": "h200x2_2_nodes"}


def communication(parts):
    return sum(value for key, value in parts.items() if key.endswith("_comm"))


def reason(before, after):
    """What of the critical path grew most, and which calls grew with it."""
    step = (after["iteration_time_ns"] - before["iteration_time_ns"]) / 1e6
    if abs(step) < 0.01 * before["iteration_time_ns"] / 1e6:
        return "hidden behind compute as before"
    was, now = communication(before["critical_path_ns"]) / 1e6, communication(after["critical_path_ns"]) / 1e6
    old = {(c["collective"], c["bytes"], c["ranks"]): c for c in before["collectives"]}
    grown = []
    for call in after["collectives"]:
        base = old[call["collective"], call["bytes"], call["ranks"]]
        grown.append((call["calls"] * (call["predicted_ns"] - base["predicted_ns"]), call, base))
    _, call, base = max(grown, key=lambda row: row[0])
    text = (f"{call['calls']} {call['collective']} of {call['bytes'] / 1e6:.0f} MB: {base['predicted_ns'] / 1e3:.0f} -> "
            f"{call['predicted_ns'] / 1e3:.0f} us")
    return f"communication on the critical path {was:.1f} -> {now:.1f} ms; most: {text}"


def main():
    weft, folder, *names = sys.argv[1:]
    sets = trace_sets(folder)
    for name in names or sets:
        base = replay(weft, sets[name], ROOT / "configs/clusters/h200x4.yaml")
        print(f"{name}: {base['iteration_time_ns'] / 1e6:.1f} ms as recorded (replayed)")
        for title, cluster in CLUSTERS.items():
            result = replay(weft, sets[name], ROOT / f"configs/clusters/{cluster}.yaml")
            ratio = result["iteration_time_ns"] / base["iteration_time_ns"]
            print(f"  {title:18}{result['iteration_time_ns'] / 1e6:9.1f} ms  x {ratio:5.2f}  {reason(base, result)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
