"""What score.py found, as one page (docs/accuracy.md) and as the `validation` entries of the shipped profiles.

A row is GPU x network x operation: what its profile was calibrated on, what was tested, the errors and the sizes. Only sets that no fit
saw are stated in profiles; the page has the others too, and says so. What borrowed costs are worth is measured as well: sets of GPUs
with the default costs, those of H200, in place of their own, and sets of networks with those of InfiniBand.
"""
import pathlib
import re
import tempfile

import sets

PROFILES = sets.ROOT / "configs" / "profiles"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
NETWORKS = {"gcp_a3_ultra": "roce", "oci_h100": "roce", "aws_p5": "efa", "gcp_a3_mega": "tcpxo"}
NAMES = {"roce": "RoCE", "efa": "EFA", "tcpxo": "TCPXO", "ib": "InfiniBand"}
# Profile -> what its collectives were calibrated on.
CALIBRATED = {"h100_sxm": "`h100x2_quick.jsonl`", "h200_sxm": "six logs of `tests/data/h200x4`",
              "a100_sxm": "its all_reduce of 2 and all_gather of 8", "b200": "its all_reduce of 2 and all_gather of 8",
              "l40s": "its all_reduce of 2, and all_gather of 8 to 16 KiB", "gb200": "its all_reduce of 4", "gb300": "its all_reduce of 4"}
BORROWED_GPUS = ("a100_sxm", "b200", "l40s")
BORROWED_NETWORKS = ("roce", "efa", "tcpxo")
FEW = 10  # sizes of which a row would say little
IB = {"ll_latency": "4.6 us", "ll128_latency": "6.8 us", "simple_latency": "10 us", "message_cost": "0 s"}


def size(count):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} B"


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Row:
    """Errors of one set; `where` names NVLink, PCIe or the network."""

    def __init__(self, gpu, where, op, ranks, calibrated, tested, errors, held_out):
        self.gpu, self.where, self.op, self.ranks = gpu, where, op, ranks
        self.calibrated, self.tested, self.held_out = calibrated, tested, held_out
        sizes = [each[0] for each in errors]
        self.errors = [abs(each[1]) for each in errors]
        self.counts = [each[2] if len(each) > 2 else ranks for each in errors]  # of GPUs
        self.first, self.last = min(sizes), max(sizes)
        self.median, self.p95 = quantile(self.errors, 0.5), quantile(self.errors, 0.95)

    def cells(self):
        return [self.gpu, self.where, f"{self.op}, {self.ranks} GPUs" if self.ranks else self.op, self.calibrated, self.tested,
                str(len(self.errors)), f"{sum(self.errors) / len(self.errors):.1f} %", f"{self.median:.1f} %", f"{self.p95:.1f} %",
                f"{size(self.first)} to {size(self.last)}"]


def network_of(public):
    if public.nodes == 1:
        return "PCIe 4" if public.gpu == "l40s" else "NVLink"
    return NAMES[NETWORKS.get(public.cluster, "ib")]


def rows_of(result, logs):
    rows = []
    for public in sets.ALL:
        found = result.get(public.name)
        if not found:
            continue
        over = NETWORKS.get(public.cluster, "ib") if public.nodes > 1 else ""
        # H100 and H200 are calibrated to measurements of our own, what they share over a network to tables.
        fitted = public.fit == "all" and (public.nodes > 1 or public.gpu not in ("h100_sxm", "h200_sxm"))
        calibrated = CALIBRATED[public.gpu]
        if over in BORROWED_NETWORKS:
            calibrated += f"; {NAMES[over]}: " + {"roce": "`gcp_a3ultra`", "efa": "every fourth size of `aws_p5`",
                                                  "tcpxo": "every fourth size of `gcp_a3mega`"}[over]
        tested = f"`{public.file.split('.csv')[0]}`" + (" (fitted)" if fitted else " (the other sizes)" if public.fit == "fourth" else "")
        rows.append(Row(public.gpu, network_of(public), public.op, public.ranks, calibrated, tested, found["errors"], not fitted))
    for name, (cluster, pattern) in logs.items():
        gpu = "h100_sxm" if cluster.startswith("h100") else "h200_sxm"
        for kind, errors in result.get(name, {}).get("kinds", {}).items():
            if len(errors) < FEW:
                continue
            rows.append(Row(gpu, "NVLink", kind, 0, CALIBRATED[gpu], name if "*" in pattern else "`" + pattern.removeprefix("../shared/reference/").removeprefix("validate/measured/") + "`",
                            errors, True))
    return rows


def add_borrowed(program, result, predict, overlay):
    """Mean errors with another's costs, into result["borrowed"], where no earlier run left them."""
    if "borrowed" in result or not sets.SHARED.is_dir():
        return
    found = result["borrowed"] = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for gpu in BORROWED_GPUS:
            lines = (PROFILES / f"{gpu}.yaml").read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if not line.startswith("  collectives.")]
            (folder / f"{gpu}.yaml").write_text("\n".join(kept) + "\n", encoding="utf-8")
        for public in sets.ALL:
            over = NETWORKS.get(public.cluster) if public.nodes > 1 else None
            if public.nodes == 1 and public.gpu in BORROWED_GPUS:
                file, of = folder / f"{public.gpu}.yaml", public.gpu
            elif over in BORROWED_NETWORKS:
                values = {f"network.nic.{over}.{key}": value for key, value in IB.items()}
                file, of = overlay(PROFILES / f"{public.gpu}.yaml", values, folder / f"{public.name}.yaml"), NAMES[over]
            else:
                continue
            points = predict(program, public, public.rows_to_score(), ["--profile", str(file)])
            errors = [abs(100 * point["relative_error"]) for point in points]
            found.setdefault(of, {})[f"{public.op} of {public.ranks}, {public.file.split('_2')[0]}"] = sum(errors) / len(errors)


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows]


def span(found, names):
    means = [mean for name in names for mean in found.get(name, {}).values()]
    return f"{min(means):.0f} to {max(means):.0f} %" if means else "not known"


def page(rows, result):
    found = result.get("borrowed", {})
    head = ("GPU (profile)", "Network", "Operation", "Collectives calibrated on", "Tested on", "Sizes", "Mean", "Median", "95 %", "From, to")
    lines = ["# How accurate collectives are", "",
             "`validate/nccl_public/score.py build/weft --markdown docs/accuracy.md --profiles` writes this page, and the same facts into",
             "the profiles: `weft list profiles` has their range, the first line of a collective's result that of its operation, GPUs and",
             "network, `weft explain PROFILE` all. A row is what NCCL's own choice takes, from the smallest size to the largest that was",
             "measured: that is the range in which the error holds. Rows that say *fitted* were seen by a calibration; all others were not. Public tables are of",
             "several sources (`validate/nccl_public/sets.py`); logs are our own (`validate/measured`, `tests/data/h200x4`). How far kernels",
             "and whole steps are off says [validation.md](validation.md).", ""]
    public = [row.cells() for row in rows if row.ranks]
    own = [row.cells() for row in rows if not row.ranks]
    lines += ["## Public measurements", ""] + table(head, public) + ["", "## Measurements of our own", "",
              "All GPU counts and forced algorithms and protocols of a file at once; what the host limits does not count, and what has",
              f"fewer than {FEW} sizes is left out.", ""]
    lines += table(head, own)
    lines += ["", "## Without a calibration", "",
              "A GPU, a network's transport or a release of which nothing was measured is used with a warning. What to expect is what",
              "the measured ones would be off by with another's costs, as a mean of each set:", ""]
    borrowed = [[of, name, f"{mean:.1f} %"] for of, each in found.items() for name, mean in each.items()]
    lines += table(("In place of its own", "Set", "Mean"), borrowed)
    lines += ["", f"So expect {span(found, BORROWED_GPUS)} of a GPU that has no profile of its own (V100, P100, MI300X, GPUs over PCIe), whose",
              f"collectives cost what H200's do, and {span(found, [NAMES[each] for each in BORROWED_NETWORKS])} of a network's transport (TCPX,",
              "sockets). A release that the program has no rules of uses those of the next older one, and may choose another protocol: 16 MiB",
              "on B200 came out 56 % fast before 2.29.2 had rules of its own.", ""]
    return "\n".join(lines)


def entry(data, errors):
    """As the program writes it: quotes where a comma needs them, no zeros at the end."""
    name = f'"{data}"' if ", " in data else data
    median, most = (f"{value:.2f}".rstrip("0").rstrip(".") for value in (quantile(errors, 0.5), max(errors)))
    return f"  - {{data: {name}, points: {len(errors)}, median_error: {median} %, max_error: {most} %}}"


def own_entries(rows):
    """An entry for each operation and GPU count, of all files that have it."""
    found = {}
    for row in rows:
        for count, error in zip(row.counts, row.errors):
            files, errors = found.setdefault((row.op, count), ({}, []))
            files[row.tested.strip("`")] = None
            errors.append(error)
    return [entry(f"{op} of {count}, {', '.join(files)}", errors) for (op, count), (files, errors) in sorted(found.items())
            if len(errors) >= FEW]


def write_profiles(rows):
    """Replaces the `validation` section of each profile by the sets that no fit saw."""
    for gpu in sorted({row.gpu for row in rows}):
        file = PROFILES / f"{gpu}.yaml"
        text = file.read_text(encoding="utf-8")
        text = re.sub(r"^validation:\n(?:  .*\n)*", "", text, flags=re.MULTILINE)
        lines = []
        for row in rows:
            if row.gpu == gpu and row.held_out and row.ranks:
                over = "" if row.where in ("NVLink", "PCIe 4") else f" over {row.where}"
                source = re.sub(r"[`]| \(the other sizes\)", "", row.tested)
                lines.append(entry(f"{row.op} of {row.ranks}{over}, {source}", row.errors))
        lines += own_entries([row for row in rows if row.gpu == gpu and not row.ranks])
        file.write_text(text.rstrip("\n") + "\nvalidation:\n" + "\n".join(lines) + "\n", encoding="utf-8")
