"""Training steps and serving runs that properties are tried on: small models, every kind of parallelism once."""

MOE = {"kind": "model", "name": "small_moe", "layers": 4, "hidden": 1024, "heads": 16, "kv_heads": 4, "vocab": 32000,
       "moe": {"experts": 8, "experts_per_token": 2, "expert_ffn": 2048}}
WIDE_MOE = {"kind": "model", "name": "wide_moe", "layers": 4, "hidden": 4096, "heads": 64, "kv_heads": 4, "vocab": 151936,
            "moe": {"experts": 128, "experts_per_token": 8, "expert_ffn": 1536}}
DENSE = {"kind": "model", "name": "small", "layers": 8, "hidden": 2048, "heads": 16, "ffn": 8192, "vocab": 32000}

ALL = "all GPUs"
# Parallelism in shares of the GPUs: what is left is data parallel.
PLANS = {
    "ddp": {"model": DENSE, "parallelism": {"data_parallelism": "ddp"}, "framework": "pytorch_eager"},
    "fsdp": {"model": DENSE, "parallelism": {"zero": 3}},
    "distributed_optimizer": {"model": DENSE, "parallelism": {"data_parallelism": "distributed_optimizer"}},
    "tensor": {"model": DENSE, "parallelism": {"tensor": 2}},
    "pipeline": {"model": DENSE, "parallelism": {"pipeline": 2, "schedule": "1f1b"}},
    "context": {"model": DENSE, "parallelism": {"context": 2}},
    "experts": {"model": MOE, "parallelism": {"expert": 4}},
    "many_experts": {"model": WIDE_MOE, "parallelism": {"expert": 8}, "batch": 2, "sequence": 4096},
    "experts_of_all": {"model": WIDE_MOE, "parallelism": {"expert": ALL}, "batch": 2, "sequence": 4096},
    "serving": {"model": DENSE, "inference": {"tensor": 2}},
    "serving_experts": {"model": MOE, "inference": {"tensor": 2, "expert": 2}},
}


def fits(domain, row):
    gpus = domain.ranks(row)
    parallelism = PLANS[row["plan"]].get("parallelism", PLANS[row["plan"]].get("inference"))
    shares = 1
    if parallelism.get("expert") == ALL:
        return domain.clusters[row["cluster"]].gpus > 0 and 2 <= gpus <= min(64, domain.most_ranks) and 128 % gpus == 0
    for key in ("tensor", "pipeline", "context", "expert"):
        shares *= parallelism.get(key, 1)
    return domain.clusters[row["cluster"]].gpus > 0 and 2 <= gpus <= min(64, domain.most_ranks) and gpus % shares == 0


def content(domain, row, cluster):
    """A scenario of the row's plan; `cluster` is its cluster."""
    plan = PLANS[row["plan"]]
    gpus = domain.ranks(row)
    if "inference" in plan:
        shares = plan["inference"]
        requests = {"concurrency": 8, "count": 32, "prompt": 512, "output": 32}
        return {"cluster": cluster, "workload": {"inference": {"model": plan["model"], "requests": requests, "parallelism":
                                                               shares | {"data": gpus // shares.get("tensor", 1)}}}}
    shares = {key: gpus if value == ALL else value for key, value in plan["parallelism"].items()}
    data = gpus // (shares.get("tensor", 1) * shares.get("pipeline", 1) * shares.get("context", 1))
    workload = {"model": plan["model"], "parallelism": shares | {"data": data},
                "batch": {"global": plan.get("batch", 4) * data, "micro": 1, "sequence": plan.get("sequence", 2048)}}
    if "framework" in plan:
        workload["framework"] = plan["framework"]
    return {"cluster": cluster, "workload": workload, "simulation": {"must_fit": False}}


def scenario(weft, domain, row, configuration):
    """The file of a step on a machine."""
    return weft.file(f"{row['plan']}_{row['cluster']}", content(domain, row, configuration | {"nodes": row["nodes"]}))


def time_of(result):
    """ns: of an iteration, or of serving all requests."""
    return result.get("iteration_time_ns", result["makespan_ns"])
