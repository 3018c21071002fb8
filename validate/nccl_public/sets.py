"""The sets of measurements that NCCL's times are scored on: where each lies, what it ran on, and what a fit may see of it.

A set is one file x operation x GPU count. `fit`: "all" rows may be fitted, "fourth" every fourth size may, "none" may. A fit that
asks for rows (`rows_to_fit`) gets no others, so that what is held out stays unseen.
"""
import csv
import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "reference" / "nccl-public"
MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Set:
    file: str  # below SHARED
    gpu: str  # names of its profile
    op: str
    ranks: int
    cluster: str  # below configs/clusters
    release: str = ""
    nodes: int = 1
    dtype: str = "half"
    fit: str = "none"
    settings: tuple = ()  # NCCL_X=VALUE
    smallest: int = 0  # sizes beyond these are neither fitted nor scored
    largest: int = 1 << 62
    largest_to_fit: int = 1 << 62

    @property
    def name(self):
        where = self.gpu if self.nodes == 1 else self.file.split("_2")[0]
        return f"{where} {self.op} {self.ranks}"

    def rows(self):
        """(bytes, microseconds) out of place, in the order of the file."""
        found = []
        with open(SHARED / self.file, encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row.get("collective", self.op) == self.op and int(row.get("num_gpus", self.ranks)) == self.ranks:
                    found.append((int(row["size_bytes"]), float(row["oop_time_us"])))
        return [row for row in found if self.smallest <= row[0] <= self.largest]

    def rows_to_fit(self):
        rows = self.rows()
        rows = {"all": rows, "fourth": rows[::4], "none": []}[self.fit]
        return [row for row in rows if row[0] <= self.largest_to_fit]

    def rows_to_score(self):
        fitted = set(self.rows_to_fit()) if self.fit == "fourth" else set()
        return [row for row in self.rows() if row not in fitted]


def single_node():
    systems = (("a100_sxm", "aic_a100_sxm_nccl2.27.3.csv", "dgx_a100", "2.27.3"), ("b200", "aic_b200_sxm_nccl2.29.2.csv", "dgx_b200", "2.29.2"),
               ("h100_sxm", "aic_h100_sxm_nccl2.29.2.csv", "dgx_h100", "2.29.2"), ("h200_sxm", "aic_h200_sxm_nccl2.29.2.csv", "dgx_h200", "2.29.2"),
               ("l40s", "aic_l40s_nccl2.27.3.csv", "l40s_8gpu", "2.27.3"))
    for gpu, file, cluster, release in systems:
        for op, ranks in (("all_reduce", 2), ("all_reduce", 8), ("all_gather", 2), ("all_gather", 8), ("alltoall", 8)):
            fit = "all" if (op, ranks) in (("all_reduce", 2), ("all_gather", 8)) else "none"
            # The host of the L40S has no working P2P between 8 GPUs beyond 1 MiB (the README beside the files); from 32 KiB up a hop
            # takes ten times what it does between two.
            odd = gpu == "l40s" and ranks == 8
            largest, largest_to_fit = (MIB, 16 << 10) if odd else (1 << 62, 1 << 62)
            # Below 256 KiB rows of all-to-all jump between 7.5 and 16 us.
            smallest = 256 << 10 if op == "alltoall" and gpu in ("h100_sxm", "h200_sxm") else 0
            yield Set(file, gpu, op, ranks, cluster, release, fit=fit, smallest=smallest, largest=largest, largest_to_fit=largest_to_fit)
    for gpu in ("gb200", "gb300"):
        for op in ("all_reduce", "all_gather", "alltoall"):
            yield Set(f"aic_{gpu}_nccl2.29.2.csv", gpu, op, 4, f"{gpu}_nvl72", "2.29.2", fit="all" if op == "all_reduce" else "none")


def networks():
    yield Set("gcp_a3ultra_h200_2n16g_all_gather.csv", "h200_sxm", "all_gather", 16, "gcp_a3_ultra", nodes=2, dtype="float", fit="all")
    yield Set("oci_h100_2n16g_all_reduce.csv", "h100_sxm", "all_reduce", 16, "oci_h100", "2.23.4", nodes=2, dtype="float")
    yield Set("aws_p5_h100_2n16g_all_reduce.csv", "h100_sxm", "all_reduce", 16, "aws_p5", nodes=2, dtype="float", fit="fourth")
    yield Set("gcp_a3mega_h100_2n16g_all_reduce.csv", "h100_sxm", "all_reduce", 16, "gcp_a3_mega", nodes=2, dtype="float", fit="fourth")
    yield Set("coreweave_gb200_2rack144g_all_reduce.csv", "gb200", "all_reduce", 144, "gb200_nvl72", "2.26.2", nodes=2, dtype="float")
    yield Set("issue_nccl1244_h20_2n16g_nvlstree_small.csv", "h200_sxm", "all_reduce", 16, "dgx_h200", "2.21.5", nodes=2, dtype="float",
              settings=("NCCL_ALGO=NVLSTree",))


ALL = tuple(single_node()) + tuple(networks())
