#!/usr/bin/env python3
"""The known answers of network-models §7 that are scenarios under configs/known_answers, each at the tolerance given there.

    known_answers_test.py ROOT WEFT [NAME...]
"""
import json
import pathlib
import subprocess
import sys


def near(name, value, expected, tolerance):
    assert abs(value - expected) <= tolerance, f"{name}: {value}, expected {expected} +- {tolerance}"


def rates(result):
    return [flow["rate_gbps"] for flow in result["flows"]]


def port(result, name):
    return next(port for port in result["ports"] if port["name"] == name)


def starts(result):
    return {pause["link"]: pause["start_ns"] for pause in reversed(result["pauses"])}  # of the first pause of each link


def k01(result):
    assert result["flows"][0]["fct_ns"] == 803160


def k02(result):
    assert result["flows"][0]["fct_ns"] == 1413.68


def k03(result):
    near("first", result["flows"][0]["fct_ns"], 162000, 100)
    near("second", result["flows"][1]["fct_ns"], 242080, 100)


def k04(result):
    for rate, expected in zip(rates(result), [47.5, 47.5, 51.3, 52.5]):
        near("rate", rate, expected, 3)
    for trunk in ("s0->s1", "s1->s2", "s2->s3"):
        assert port(result, trunk)["utilization"] >= 0.94


def k06(result):
    near("mean wait", port(result, "h0->s0")["mean_wait_ns"], 160, 1.6 * 3)  # 2e6 packets instead of 2e7


def k07(result):
    pause = result["pauses"][0]
    assert round(pause["end_ns"] - pause["start_ns"], 3) == 335539.2


def k08(expected_us, peak):
    def check(result):
        n = len(result["flows"])
        for i in range(n):
            near("onset", starts(result)[f"h{i}->s0"], expected_us * 1000, 200)
        for rate in rates(result):
            near("rate", rate, 100 / n, 2 / n)
        sink = port(result, f"s0->h{n}")
        assert sink["utilization"] >= 0.99 and sink["drops"] == 0
        near("peak ingress", max(p["peak_ingress_bytes"] for p in result["ports"]), peak, 2000)  # K9
        assert abs(result["jain_index"] - 1) < 1e-3
    return check


def k10(result):
    first = starts(result)
    for link, at in (("s2->s3", 29040), ("s1->s2", 38040), ("h0->s1", 47040)):
        near(link, first[link], at, 160)
    assert result["flows"][0]["bytes"] == 210000


def k11(result):
    for rate, expected in zip(rates(result), [20 / 3, 20 / 3, 20 / 3, 20]):
        near("rate", rate, expected, expected * 0.01)


def k12(result):
    near("victim", rates(result)[1], 25, 2)
    near("hot", rates(result)[0], 25, 2)


def k13(result):
    for i in range(8):
        near("ingress", port(result, f"h{i}->s0")["peak_ingress_bytes"], 750000, 2000)


def k15(result):
    series = {one["quantity"]: one["value"] for one in result["series"]}
    for rate, expected in zip(series["rate_limit"], [20, 30, 35, 37.5, 38.75, 39.375, 39.6875]):
        near("rate", rate, expected, 1e-6)
    for k, alpha in enumerate(series["alpha"]):
        near("alpha", alpha, (255 / 256) ** k, 1e-6)


def k16(mean_queue, alpha):
    def check(result):
        n = len(result["flows"])
        for rate in rates(result):
            near("rate", rate, 40 / n, 40 / n * 0.03)
        sink = port(result, f"s0->h{n}")
        assert result["jain_index"] > 0.99 and sink["utilization"] > 0.98
        near("mean queue", sink["mean_queue_bytes"], mean_queue, 0.3 * mean_queue)
        values = [value for one in result["series"] for value in one["value"]]
        near("alpha", sum(values) / len(values), alpha, 0.3 * alpha)
    return check


def k17(result):
    near("utilization", port(result, "s0->h2")["utilization"], 0.951, 0.005)
    near("difference", rates(result)[0], rates(result)[1], 0.01 * rates(result)[1])


def k18(result):
    near("rate", rates(result)[0], 32.417, 32.417 * 0.005)


def k19(result):
    near("rate", rates(result)[0], 63.90, 0.639)


def k20(result):
    near("first", rates(result)[0], 75, 0.5)
    near("second", rates(result)[1], 25, 0.5)


def k31(first, second):
    def check(result):
        for job, times in zip(result["jobs"], (first, second)):
            for iteration, expected in zip(job["iterations"], times):
                near("iteration", iteration["time_ns"] / 1e6, expected, 0.001)
    return check


CHECKS = {
    "k01_single_flow": k01,
    "k02_cut_through": k02,
    "k03_two_flows": k03,
    "k04_parking_lot": k04,
    "k06_poisson_queue": k06,
    "k07_pause_quanta": k07,
    "k08_incast_2": k08(17.08, 107000),
    "k08_incast_4": k08(11.75, 112000),  # between the two that are given, 107000 for 2 and 114000 for 8
    "k08_incast_8": k08(10.22, 114000),
    "k10_pause_storm": k10,
    "k11_pfc_shares_by_port": k11,
    "k12_victim_flow": k12,
    "k13_dynamic_threshold": k13,
    "k15_dcqcn_step": k15,
    "k16_dcqcn_steady_2": k16(24000, 0.10),
    "k16_dcqcn_steady_4": k16(53000, 0.12),
    "k17_hpcc": k17,
    "k18_credits": k18,
    "k19_window": k19,
    "k20_dwrr": k20,
    "k31_jobs_fair": k31([300] * 6, [300] * 6),
    "k31_jobs_priority": k31([200] * 6, [300] + [200] * 5),
}


def main():
    root, program, names = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    folder = root / "configs/known_answers"
    files = sorted(file.stem for file in folder.glob("*.yaml"))
    assert files == sorted(CHECKS), f"scenarios without a check, or the other way round: {set(files) ^ set(CHECKS)}"
    wrong = 0
    for name in names or files:
        done = subprocess.run([program, "run", folder / f"{name}.yaml", "--quiet", "--json", "-"], cwd=root,
                              capture_output=True, text=True, timeout=600, check=False)
        try:
            assert done.returncode == 0, done.stderr
            CHECKS[name](json.loads(done.stdout))
            print(f"ok    {name}")
        except (AssertionError, KeyError, IndexError) as problem:
            wrong += 1
            print(f"WRONG {name}: {problem!r}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
