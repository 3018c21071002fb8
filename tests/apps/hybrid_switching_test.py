#!/usr/bin/env python3
"""Hybrid fidelity (weft explain hybrid) switched off and on: with packets over all links a scenario is what it is at packet fidelity, with
packets over none what it is at flow fidelity, to the picosecond. In between, where flows and packets agree, so does hybrid
fidelity; and flows are exactly one or the other where no link carries both.

    hybrid_switching_test.py [--show] [--only TEXT] ROOT WEFT
"""
import hybrid_scenarios
import switching

# Bounds of each time, as docs/flow_and_packet.md says. Where flows and packets agree so far, hybrid fidelity is within the bound,
# and but for a few scenarios as near as they are.
AGREED = 0.03
BOUND = 0.08
FEW = 4
FLOW, PACKET, HYBRID = (("--fidelity", fidelity) for fidelity in ("flow", "packet", "hybrid"))


def everywhere(part):
    options = ["--set", 'simulation.packets.links=["*->*"]']
    return options + ["--set", f"simulation.packets.collectives=[{','.join(part.kinds)}]"] if part.kinds else options


def nowhere(part):
    return ["--set", f"simulation.packets.links=[{part.idle}]"]


def times_ns(result):
    """Of each flow, each iteration of a job and each collective."""
    jobs = [iteration["time_ns"] for job in result.get("jobs", []) for iteration in job["iterations"]]
    return [flow["fct_ns"] for flow in result.get("flows", [])] + jobs + [1000 * point["time_us"] for point in result.get("points", [])]


def furthest(times, others):
    """The largest difference, and of which."""
    return max((abs(time / other - 1), i) for i, (time, other) in enumerate(zip(times, others)))


class Tally:
    compared = bounded = mixed = shared = further = 0
    largest = 0.0


def exact(runs, part, what, options, fidelity):
    """Hybrid with the packets of `options` is `fidelity`: the times of which it returns."""
    times, others = (times_ns(runs.run(part.scenario, switch)) for switch in (options, fidelity))
    for i, (time, other) in enumerate(zip(times, others, strict=True)):
        if time != other:
            runs.fail(part.scenario, f"packets {what}: time {i} is {time} ns, {other} ns at {fidelity[1]} fidelity", options, fidelity)
            break
    return others


def between(runs, part, flow, packet, tally):
    hybrid = runs.run(part.scenario, HYBRID)
    times, totals = times_ns(hybrid), hybrid["hybrid"]
    agree, (off, which) = furthest(flow, packet)[0], furthest(times, packet)
    tally.compared += 1
    tally.mixed += totals["packet_transfers"] > 0 and totals["flow_transfers"] > 0
    tally.shared += totals["shared_links"] > 0
    runs.show_line(f"{part.scenario.name}: flow and packet differ by {100 * agree:.2f} %, hybrid and packet by {100 * off:.2f} %; of "
                   f"transfers {totals['packet_transfers']} packets, {totals['flow_transfers']} flows; {totals['shared_links']} shared links")
    if agree <= AGREED:
        tally.bounded += 1
        tally.further += off > AGREED
        tally.largest = max(tally.largest, off)
        if off > BOUND:
            runs.fail(part.scenario, f"time {which} is {times[which]} ns, {packet[which]} ns as packets and {flow[which]} ns as flows: "
                      f"{100 * off:.2f} %, the bound is {100 * BOUND} %", HYBRID, PACKET, FLOW)
    # Transfers that follow from others' ends begin at other times.
    if totals["shared_links"] == 0 and "flows" in hybrid and "jobs" not in hybrid:
        for i, time in enumerate(times):
            if time not in (flow[i], packet[i]):
                runs.fail(part.scenario, f"no link carries both, and flow {i} takes {time} ns: neither {flow[i]} ns as a flow nor "
                          f"{packet[i]} ns as packets", HYBRID, PACKET, FLOW)


def compare(runs, part, tally):
    packet = exact(runs, part, "everywhere", everywhere(part), PACKET)
    flow = exact(runs, part, "nowhere", nowhere(part), FLOW)
    between(runs, part, flow, packet, tally)


def main():
    runs = switching.Switching(__doc__)
    tally = Tally()
    parts = [*hybrid_scenarios.on_hosts(), *hybrid_scenarios.of_collectives()]
    for part in parts:
        if runs.only in part.scenario.name:
            compare(runs, part, tally)
    if not runs.only:
        assert tally.bounded >= 50 and tally.mixed >= 50 and tally.shared >= 25 and tally.further <= FEW, vars(tally)
    runs.finish(f"{tally.compared} scenarios, exact with packets over all links and over none; {tally.mixed} of both kinds, {tally.shared} "
                f"with links of both; within {100 * tally.largest:.2f} % of packets in the {tally.bounded} where flows are within {100 * AGREED:.0f} %, in all of "
                f"these but {tally.further} as near")


if __name__ == "__main__":
    main()
