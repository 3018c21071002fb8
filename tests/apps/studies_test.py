#!/usr/bin/env python3
"""Every study of configs/studies runs by its one command, and what its README concludes follows from the numbers.

    studies_test.py ROOT WEFT [STUDY...]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import patience


def run(root, weft, name):
    """The result of a study: {(scenario, collective, bytes): [run by cluster]}."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WEFT": weft, "OUT": folder}
        done = subprocess.run([root / "configs/studies/run.sh", name], env=environment, capture_output=True, text=True,
                              timeout=patience.seconds(900), check=False)
        assert done.returncode == 0, f"{name}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        out = pathlib.Path(folder)
        assert "</html>" in (out / "page.html").read_text() and "| scenario |" in (out / "numbers.md").read_text()
        result = json.loads((out / "result.json").read_text())
    return {(w["scenario"], w["collective"], w["bytes"]): w["runs"] for w in result["workloads"]}, result["clusters"]


def times(runs):
    return [one["time_us"] for one in runs]


def fabric_shape(workloads, clusters):
    by_kind = {kind: times(runs) for (_, kind, _), runs in workloads.items()}
    rails, rail_only, full, half, quarter = by_kind["alltoall"]
    assert rail_only < 1.01 * rails and full < 1.01 * rails
    assert 1.7 < half / full < 2.1 and 3.4 < quarter / full < 4.2
    rails, rail_only, full, half, quarter = by_kind["all_reduce"]
    assert max(rail_only, full, half) < 1.01 * rails and quarter > 1.3 * rails
    capital = [cluster["capital"]["usd"] for cluster in clusters]
    assert capital[1] == min(capital)


def nic_speed(workloads, clusters):
    step = next(runs for (_, kind, _), runs in workloads.items() if kind == "training")
    exchange = next(runs for (_, kind, _), runs in workloads.items() if kind == "alltoall")
    assert 0.97 < step[1]["ratio"] < 1.01 and 0.8 < exchange[1]["ratio"] < 0.92
    assert exchange[0]["sensitivity"][0]["parameter"] == "network_rate"
    assert exchange[1]["sensitivity"][0]["parameter"] == "pcie_rate"
    assert clusters[1]["capital"]["usd"] > 1.2 * clusters[0]["capital"]["usd"]


def pcie_layouts(workloads, _):
    for (_, _, size), runs in workloads.items():
        serial, parallel, hpc = times(runs)
        assert serial < min(parallel, hpc)
        if size > 1 << 20:
            assert 3 < parallel / serial < 4 and 3 < hpc / serial < 4
            assert all("cpu0->" in one["bottleneck"]["link"] or "cpu1->" in one["bottleneck"]["link"] for one in runs[1:])


def tensor_across_nodes(workloads, _):
    by_tensor = {scenario.split()[-1]: runs[0] for (scenario, _, _), runs in workloads.items()}
    step = {tensor: one["time_us"] for tensor, one in by_tensor.items()}
    assert step["4"] < step["8"]
    assert 1.3 < step["16"] / step["8"] < 1.6 and 2.5 < step["32"] / step["8"] < 3.1
    assert by_tensor["32"]["exposed_ns"]["network"] > 0.5 * step["32"] * 1e3


def checkpoint_storage(workloads, _):
    step = {scenario: runs[0]["time_us"] / 1e6 for (scenario, _, _), runs in workloads.items()}
    # 112 GB to the drives of four nodes, 24 GB/s each, or to the file system at 100 GB/s.
    for place, writing in (("local", 112 / (4 * 24)), ("file_system", 112 / 100)):
        assert 1 < (step[place] - step["none"]) / writing < 1.08, step
    assert step["file_system_asynchronous"] - step["none"] < 0.1


def nvl72_or_hgx(workloads, clusters):
    step = {scenario: times(runs) for (scenario, _, _), runs in workloads.items()}
    wide, narrow = step["expert 24"], step["expert 8"]
    assert wide[0] < narrow[0] and narrow[1] < wide[1]  # each cluster has its own best plan
    assert 1.25 < narrow[1] / wide[0] < 1.5 and 2.3 < wide[1] / wide[0] < 3.0
    runs = next(runs for (scenario, _, _), runs in workloads.items() if scenario == "expert 24")
    assert runs[1]["exposed_ns"]["network"] > 0.5 * wide[1] * 1e3
    assert runs[0]["exposed_ns"]["network"] < 0.01 * wide[0] * 1e3
    capital = [cluster["capital"]["usd"] for cluster in clusters]
    assert capital[0] < capital[1]


def roce_or_infiniband(workloads, clusters):
    (_, small), (_, large) = sorted((size, times(runs)) for (_, _, size), runs in workloads.items())
    for adaptive, fixed, spray, pfc, dcqcn in (small, large):
        assert abs(fixed / adaptive - 1) < 0.01 and spray / adaptive < 1.08
        assert 1.25 < pfc / adaptive < 1.5
    assert abs(small[4] / small[3] - 1) < 0.03  # nearly over before DCQCN has cut
    assert 1.6 < large[4] / large[0] < 2.2
    capital = [cluster["capital"]["usd"] for cluster in clusters]
    assert capital[1] == capital[0] and 0.02 < 1 - capital[2] / capital[0] < 0.06


def ultra_ethernet(workloads, clusters):
    (_, small), (_, large) = sorted((size, times(runs)) for (_, _, size), runs in workloads.items())
    for infiniband, uec, spray, hashed in (small, large):
        assert infiniband < spray < uec < hashed
    infiniband, uec, spray, hashed = large
    assert 1.07 < uec / spray < 1.13 and 1.11 < uec / infiniband < 1.18 and 0.93 < uec / hashed < 0.98
    assert all(1.04 < time / small[0] < 1.21 for time in small[1:])
    capital = [cluster["capital"]["usd"] for cluster in clusters]
    assert capital[1] == capital[2] == capital[3] and 0.02 < 1 - capital[1] / capital[0] < 0.04


STUDIES = [fabric_shape, nic_speed, pcie_layouts, tensor_across_nodes, checkpoint_storage, nvl72_or_hgx, roce_or_infiniband,
           ultra_ethernet]


def main():
    root, weft = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
    by_name = {study.__name__: study for study in STUDIES}
    for study in [by_name[name] for name in sys.argv[3:]] or STUDIES:
        study(*run(root, weft, study.__name__))
        print(f"{study.__name__}: as its README says")


if __name__ == "__main__":
    main()
