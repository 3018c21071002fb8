"""Properties of how a run is asked for: which way a cluster is named, on how many threads, in which order of ties."""

import json

import steps
from comparison import Comparison, Property, apart

TIES = 0.01  # of the mean over shuffled ties


def named_factors(domain):
    return {"cluster": domain.gpu_clusters(), "written_for": domain.gpu_clusters(), "nodes": [1, 2, 4], "way": ["compare", "--set", "sweep"],
            "workload": ["all_reduce", "alltoall", "sendrecv", *steps.PLANS], "overrides": [True, False]}


def named_allowed(domain, row):
    if row["cluster"] == row["written_for"]:
        return False
    if not row["overrides"]:
        # Nodes are those of each cluster's own file.
        row = row | {"nodes": domain.clusters[row["cluster"]].hosts}
    here, there = (row | {"cluster": row[key]} for key in ("cluster", "written_for"))
    if row["workload"] in steps.PLANS:
        return all(steps.fits(domain, each | {"plan": row["workload"]}) for each in (here, there)) and \
            domain.ranks(here) == domain.ranks(there)
    return domain.ranks(here) >= 2 and domain.ranks(here) <= domain.most_ranks


def workload_of(weft, domain, row):
    """The workload of a scenario file, and its simulation."""
    if row["workload"] in steps.PLANS:
        hosts = row["nodes"] if row["overrides"] else domain.clusters[row["cluster"]].hosts
        file = steps.scenario(weft, domain, row | {"plan": row["workload"], "nodes": hosts}, domain.configuration(row["cluster"]))
        content = json.loads((weft.root / file).read_text(encoding="utf-8"))
        return content["workload"], content["simulation"]
    return {"collectives": [{"kind": row["workload"], "bytes": "16 MiB"}]}, {}


def check_named(weft, domain, row):
    """A scenario for one cluster, run on another by naming it, against the scenario that says the other from the start."""
    workload, simulation = workload_of(weft, domain, row)
    overrides = {"overrides": {"nodes": row["nodes"]}} if row["overrides"] else {}
    files = {name: weft.relative_to_work(domain.clusters[row[name]].file) for name in ("cluster", "written_for")}
    direct, other = (weft.file(row["workload"], {"cluster": files[name], **overrides, "workload": workload, "simulation": simulation})
                     for name in ("cluster", "written_for"))
    expected = weft.run("run", direct)
    times = expected.get("iteration_time_ns", expected["makespan_ns"])
    there = domain.clusters[row["cluster"]].file
    if row["way"] == "compare":
        command = ["compare", other, "--clusters", there, there]
        found = weft.run(*command)["workloads"][0]["runs"][1]["time_us"] * 1e3
    elif row["way"] == "--set":
        command = ["run", other, "--set", f"cluster={weft.relative_to_work(there)}"]
        result = weft.run(*command)
        found = result.get("iteration_time_ns", result["makespan_ns"])
    else:
        sweep = weft.file("sweep", {"kind": "sweep", "scenario": other.rsplit("/", 1)[-1], "grid": {"cluster": [files["cluster"]]}})
        command = ["sweep", sweep, "--db", sweep[:-5] + ".sqlite", "--export", "json", "--to", "-"]
        row_found = json.loads(weft.text(*command))["points"][0]
        found = row_found.get("iteration_time_ns") or row_found["makespan_ns"]
    yield Comparison(apart(found, times), 1e-9, f"{row['workload']} takes {found} ns on {row['cluster']} named by {row['way']}, {times} ns "
                     "written for it", [command, ["run", direct]], dict(row))


def repeated_factors(domain):
    return {"cluster": domain.gpu_clusters(), "nodes": [1, 2, 4, 8], "plan": list(steps.PLANS), "seed": [1, 2]}


def check_repeated(weft, domain, row):
    """The digest is one, on one thread and on two."""
    file = steps.scenario(weft, domain, row, domain.configuration(row["cluster"]))
    commands = [["run", file, "--seed", str(row["seed"]), "-j", threads] for threads in ("1", "2")]
    one, two = (weft.run(*command) for command in commands)
    yield Comparison(0.0 if one["digest"] == two["digest"] else 1.0, 0.0, f"digests {one['digest']} and {two['digest']}", commands, dict(row))


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
    Property("named_cluster", "a cluster that is named gives what a scenario written for it gives", named_factors, check_named, sample=25,
             allowed=named_allowed),
    Property("threads", "one digest on one thread and on two", repeated_factors, check_repeated, sample=10, allowed=steps.fits),
    Property("ties", "the order of ties changes no mean", ties_factors, check_ties, sample=15),
]
