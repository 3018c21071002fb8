"""Properties of how a run is asked for: which way a cluster is named, on how many threads, in which order of ties."""

import json

import errors
import rewrite
import steps
from comparison import Comparison, Property, apart

TIES = 0.01  # of the mean over shuffled ties


NETWORK = "100 Gb/s"
# Sensitivity makes one thing of a cluster 10 % better at a time.
BETTER = 1.1


def named_factors(domain):
    return {"cluster": domain.gpu_clusters(), "written_for": domain.gpu_clusters(), "nodes": [1, 2, 4],
            "way": ["compare", "--set", "sweep", "sensitivity"], "with": ["nothing", "overrides", "--set", "a cluster in place"],
            "workload": ["all_reduce", "alltoall", "sendrecv", *steps.PLANS]}


def nodes_of(domain, row):
    """As the cluster's own file has it, where nothing is said over it. A scenario's overrides go with the cluster they are of."""
    return row["nodes"] if row["with"] == "--set" else domain.clusters[row["cluster"]].hosts


def named_allowed(domain, row):
    if row["cluster"] == row["written_for"] or (row["way"] == "sensitivity" and nodes_of(domain, row) == 1):
        return False
    row = row | {"nodes": nodes_of(domain, row)}
    if row["workload"] in steps.PLANS:
        return steps.fits(domain, row | {"plan": row["workload"]})
    return 2 <= domain.ranks(row) <= domain.most_ranks


def named_scenario(weft, domain, row, cluster, rate):
    """The file of the row's scenario, written for a cluster; with the network's rate stated if it is one."""
    if row["workload"] in steps.PLANS:
        content = steps.content(domain, row | {"plan": row["workload"], "nodes": nodes_of(domain, row)}, {})
    else:
        content = {"workload": {"collectives": [{"kind": row["workload"], "bytes": "16 MiB"}]}}
    content["cluster"] = weft.relative_to_work(domain.clusters[cluster].file)
    if row["with"] == "a cluster in place":
        content["cluster"] = domain.configuration(cluster)
    overrides = {"nodes": row["nodes"], "fabric.link.rate": NETWORK} if row["with"] == "overrides" else {}
    if rate is not None:
        overrides["fabric.link.rate"] = rate
    return weft.file(row["workload"], content | ({"overrides": overrides} if overrides else {}))


def check_named(weft, domain, row):
    """A scenario for one cluster, run on another by naming it, against the scenario that says the other from the start."""
    there = domain.clusters[row["cluster"]].file
    sets = []
    if row["with"] == "--set":
        sets = ["--set", f"cluster.nodes={row['nodes']}", "--set", f"cluster.fabric.link.rate={NETWORK}"]
    rate = None
    if row["way"] == "sensitivity":
        stated = NETWORK if row["with"] == "--set" else rewrite.gigabits(domain.network_rate(row["cluster"]))
        rate, sets = rewrite.scaled(stated, BETTER), sets[:2]
    written = row | {"with": "nothing"} if row["with"] == "overrides" else row
    direct = ["run", named_scenario(weft, domain, written, row["cluster"], rate), *sets]
    other = named_scenario(weft, domain, row, row["written_for"], None)
    if row["with"] == "--set" and row["way"] == "sensitivity":
        sets += ["--set", f"cluster.fabric.link.rate={NETWORK}"]
    if row["way"] in ("compare", "sensitivity"):
        command = ["compare", other, "--clusters", there, there, *sets]
        command += ["--sensitivity"] if row["way"] == "sensitivity" else []
        run = weft.run(*command)["workloads"][0]["runs"][1]
        points = [point for point in run.get("sensitivity", []) if point["parameter"] == "network_rate"]
        if row["way"] == "sensitivity" and not points:
            return
        found = (points[0] if row["way"] == "sensitivity" else run)["time_us"] * 1e3
    elif row["way"] == "--set":
        command = ["run", other, "--set", f"cluster={there}", *sets]
        found = steps.time_of(weft.run(*command))
    else:
        axis = {"cluster": [weft.relative_to_work(there)]}
        sweep = weft.file("sweep", {"kind": "sweep", "scenario": other.rsplit("/", 1)[-1], "grid": axis})
        command = ["sweep", sweep, "--db", weft.no_file(f"sweep_{row['nodes']}", sweep + " ".join(sets)), *sets]
        command += ["--export", "json", "--to", "-"]
        point = json.loads(weft.text(*command))["points"][0]
        if point.get("status") == "refused":
            raise errors.Refused(point["error"])
        found = point.get("iteration_time_ns") or point["makespan_ns"]
    expected = steps.time_of(weft.run(*direct))
    yield Comparison(apart(found, expected), 1e-9, f"{row['workload']} takes {found} ns on {row['cluster']} named by "
                     f"{row['way']}, {expected} ns written for it (with {row['with']})", [command, direct], dict(row))


def repeated_factors(domain):
    return {"cluster": domain.gpu_clusters(), "nodes": [1, 2, 4, 8], "plan": list(steps.PLANS), "seed": [1, 2]}


def check_repeated(weft, domain, row):
    """The digest is one, on one thread and on two."""
    file = steps.scenario(weft, domain, row, domain.configuration(row["cluster"]))
    commands = [["run", file, "--seed", str(row["seed"]), "-j", threads] for threads in ("1", "2")]
    one, two = (weft.run(*command) for command in commands)
    yield Comparison(0.0 if one["digest"] == two["digest"] else 1.0, 0.0, f"digests {one['digest']} and {two['digest']}",
                     commands, dict(row))


def ties_factors(domain):
    return {"cluster": list(domain.clusters), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": [choice for choice in domain.choices() if "LL" not in choice]}


def check_ties(weft, domain, row):
    """Which of two events of one instant comes first is chance: the mean over eight orders is that of the first."""
    options = [*domain.arguments(row), "-b", "1M", "-e", "1M"]
    command = ["collective", row["collective"], *options]
    plain = weft.run(*command)["points"][0]["time_us"]
    times = [weft.run(*command, "--shuffle-ties", str(n))["points"][0]["time_us"] for n in range(1, 5)]
    mean = sum(times) / len(times)
    yield Comparison(apart(mean, plain), TIES, f"{plain} us, with shuffled ties {min(times)} to {max(times)}, mean {mean:.6g}",
                     [command, [*command, "--shuffle-ties", "1"]], domain.facts(row))


WAYS = [
    Property("named_cluster", "a cluster that is named gives what a scenario written for it gives", named_factors, check_named,
             sample=25, allowed=named_allowed),
    Property("threads", "one digest on one thread and on two", repeated_factors, check_repeated, sample=10, allowed=steps.fits),
    Property("ties", "the order of ties changes no mean", ties_factors, check_ties, sample=15),
]
