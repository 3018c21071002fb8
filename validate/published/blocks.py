"""The published rows: what each changes in the first row of its scenario (configs/validation/published), and what was printed.

Metrics: `seconds` a step, `tflops` per GPU, `mfu` in per cent of the stated peak, `tokens` per second and GPU, `samples` per second
(of all GPUs), `samples_per_gpu`. TFLOP/s and MFU of blocks 9.1, 9.2, 9.4 and 9.9 are derived from the step by the formula that
their papers use.

Recomputation, where none was printed and the step does not fit without: the fewest layers of each chunk that make it fit
(`recomputing`). A plan that was printed and does not fit by Weft's count is timed as if it did (`printed`).
"""
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    block: str
    name: str
    base: str
    metric: str
    published: float
    changes: dict = field(default_factory=dict)  # of the scenario: laid over it as maps
    formula: str = "weft"  # of FLOPs: weft's own, "72" (model FLOPs) or "96" (with full recomputation)
    peak: float = 312  # TFLOP/s, of `mfu`
    memory: float | None = None  # GB of the rank that holds most, where they were printed
    recipe: str = ""  # what else its recipe states


def nodes(gpus, per_node=8, profile=None):
    return {"overrides": {"nodes": -(-gpus // per_node), **({"profile": profile} if profile else {})}}


def dgx_h200(gpus):
    return {"cluster": "../../clusters/dgx_h200.yaml", **nodes(gpus, profile="../../profiles/h200_sxm.yaml")}


def nvl72(gpus, used=64, gpu="gb200"):
    return {"cluster": f"../../clusters/{gpu}_nvl72.yaml", **nodes(gpus, used, f"profiles/{gpu}.yaml")}


def recomputing(layers):
    return {"recompute": "full", "recompute_layers": layers}


def printed(**changes):
    return {**changes, "simulation": {"must_fit": False}}


def step(cluster, **sections):
    return {**cluster, "workload": sections}


def gpt(layers, hidden, heads):
    return {"layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden}


def microbatch(per_replica, p):
    """1, 2 or 4 sequences: the most that divides and leaves 8 p microbatches."""
    return max([b for b in (2, 4) if per_replica % b == 0 and per_replica // b >= 8 * p], default=1)


def chunks(layers, p):
    """v as Korthikanti et al. have it where it divides."""
    share = layers // p
    return 1 if p == 1 else 3 if share % 3 == 0 else 2 if share % 2 == 0 else 1


def narayanan():
    base = "narayanan_2021"
    for size, a, h, layers, t, p, gpus, batch, tflops in (
            (1.7, 24, 2304, 24, 1, 1, 32, 512, 137), (7.5, 32, 4096, 36, 4, 1, 128, 512, 142),
            (39.1, 64, 8192, 48, 8, 2, 512, 1536, 138), (145.6, 96, 12288, 80, 8, 8, 1536, 2304, 148),
            (529.6, 128, 20480, 105, 8, 35, 2520, 2520, 163)):
        d = gpus // (t * p)
        plan = {"tensor": t, "pipeline": p, "data": d, "virtual_stages": chunks(layers, p)}
        batches = {"global": batch, "micro": microbatch(batch // d, p)}
        yield Row("9.1", f"{size}B on {gpus}", base, "tflops", tflops,
                  step(nodes(gpus), model=gpt(layers, h, a), parallelism=plan, batch=batches), formula="96")
    small, large = gpt(96, 12288, 96), gpt(105, 20480, 128)
    for size, model, batch, gpus, b, tflops in ((174.6, small, 1536, 768, 2, 88), (529.6, large, 2560, 640, 4, 138),
                                                (529.6, large, 2240, 2240, 1, 48)):
        plan = {"tensor": 1, "pipeline": 1, "data": gpus, "data_parallelism": "deepspeed_2021"}
        yield Row("9.2", f"ZeRO-3 {size}B on {gpus}", base, "tflops", tflops,
                  step(nodes(gpus), model=model, parallelism=plan, batch={"global": batch, "micro": b}), formula="96")
    for size, model, p, batch, gpus, tflops in ((174.6, small, 12, 1536, 384, 153), (174.6, small, 12, 1536, 1536, 141),
                                                (529.6, large, 35, 2240, 1120, 167)):
        plan = {"tensor": 8, "pipeline": p, "data": gpus // (8 * p), "virtual_stages": chunks(model["layers"], p)}
        yield Row("9.2", f"PTD {size}B on {gpus}", base, "tflops", tflops,
                  step(nodes(gpus), model=model, parallelism=plan, batch={"global": batch, "micro": 1}), formula="96")


def korthikanti():
    saving = {"recompute": "selective", "sequence_parallel": True}
    for size, a, h, layers, p, v, batch, b, full, selective in ((22, 64, 6144, 48, 1, 1, 4, 4, 1.42, 1.10),
                                                                (530, 128, 20480, 105, 35, 3, 280, 1, 49.05, 37.83)):
        sections = {"model": gpt(layers, h, a), "batch": {"global": batch, "micro": b}}
        plan = {"tensor": 8, "pipeline": p, "data": 1, "virtual_stages": v}
        yield Row("9.3", f"{size}B full", "korthikanti_2022", "seconds", full,
                  step(nodes(8 * p), parallelism=plan, **sections))
        yield Row("9.3", f"{size}B SP, selective", "korthikanti_2022", "seconds", selective,
                  step(nodes(8 * p), parallelism={**plan, **saving}, **sections))


MEGASCALE_OVERLAP = {"overlap_grad_reduce": True, "overlap_param_gather": True, "overlap_p2p": True}
MEGASCALE_BLOCK = {"parallel_block": True}
MEGASCALE_WINDOW = {"windows": [512]}
# FlashAttention-2 is one of MegaScale's own operators, a row of the ablation of its own that comes after these; of
# Megatron-LM the default is its fused softmax between two products.
MEGATRON_ATTENTION = {"flash_attention": False}
# Megatron-LM of January 2023, which both systems are built on, has its own modules by default (`local`, until April 2024).
MEGASCALE_OPERATORS = {"transformer_impl": "local"}


def megascale():
    base = "megascale"
    for batch, system, gpus, seconds in ((768, "Megatron-LM", 256, 40.0), (768, "Megatron-LM", 768, 15.2),
                                         (768, "MegaScale", 512, 16.5), (768, "MegaScale", 1024, 8.9),
                                         (6144, "Megatron-LM", 3072, 29.02), (6144, "Megatron-LM", 8192, 12.24),
                                         (6144, "MegaScale", 6144, 12.21), (6144, "MegaScale", 12288, 6.34)):
        plan = {"data": gpus // 64}
        sections = dict(MEGATRON_ATTENTION)
        if system == "MegaScale":
            plan.update(MEGASCALE_OVERLAP, overlap_tensor=True)
            sections = {"model": {**MEGASCALE_BLOCK, **MEGASCALE_WINDOW}, **MEGASCALE_OPERATORS}
        yield Row("9.4", f"{system} {gpus}", base, "seconds", seconds,
                  step(nodes(gpus), parallelism=plan, batch={"global": batch}, **sections))
    large = gpt(105, 20480, 160)
    for system, mfu in (("Megatron-LM", 49.2), ("MegaScale", 54.3)):
        plan = {"pipeline": 35, "data": 8, "virtual_stages": 3}
        model, attention = dict(large), MEGATRON_ATTENTION
        if system == "MegaScale":
            plan.update(MEGASCALE_OVERLAP, overlap_tensor=True)
            model.update(MEGASCALE_BLOCK, **MEGASCALE_WINDOW)
            attention = MEGASCALE_OPERATORS
        yield Row("9.4", f"{system} 530B on 2240", base, "mfu", mfu,
                  step(nodes(2240), model=model, parallelism=plan, batch={"global": 2240}, **attention), formula="72")
    block, window = MEGASCALE_BLOCK, {**MEGASCALE_BLOCK, **MEGASCALE_WINDOW}
    for name, model, plan, mfu in (("baseline", {}, {}, 47.7), ("parallel block", block, {}, 52.3), ("window", window, {}, 53.3),
                                   ("tensor overlap", window, {"overlap_tensor": True}, 55.5)):
        yield Row("9.4", f"ablation, {name}", base, "mfu", mfu,
                  step(nodes(256), model=model, parallelism={"data": 4, **plan}, batch={"global": 256}, **MEGATRON_ATTENTION),
                  formula="72")


def llama3():
    yield Row("9.5", "405B on 8192", "llama3_405b", "tflops", 430, printed())


def deepseek():
    yield Row("9.6", "2048 H800", "deepseek_v3", "tokens", 1543, printed())


def mlperf_gpt3():
    for name, gpus, batch, t, v, b, seconds in (("3.1", 512, 2048, 4, 12, 1, 12.13), ("3.1", 4096, 2048, 4, 12, 1, 1.785),
                                                ("3.1", 10752, 2688, 4, 12, 1, 1.068), ("4.1", 256, 2048, 4, 6, 2, 20.08)):
        plan = {"tensor": t, "data": gpus // (8 * t), "virtual_stages": v}
        yield Row("9.8 GPT-3", f"{name} {gpus} H100", "mlperf_gpt3", "seconds", seconds,
                  step(nodes(gpus), parallelism=plan, batch={"global": batch, "micro": b}))


def mlperf_llama31():
    for system, gpus, t, batch, seconds in (("H100", 512, 8, 1152, 55.14), ("H100", 2560, 8, 1120, 11.17),
                                            ("GB200", 256, 4, 448, 19.17), ("GB200", 1024, 4, 768, 8.45),
                                            ("GB200", 2048, 4, 1280, 7.16), ("H200", 512, 4, 1152, 50.02)):
        cluster = nodes(gpus) if system == "H100" else dgx_h200(gpus) if system == "H200" else nvl72(gpus)
        plan = {"tensor": t, "data": gpus // (16 * t)}
        if system == "GB200":
            plan["rank_map"] = racks_of_64(gpus)
        yield Row("9.8 Llama-3.1", f"{gpus} {system}", "mlperf_llama31", "seconds", seconds,
                  step(cluster, parallelism=plan, batch={"global": batch}))


def racks_of_64(gpus):
    """Jobs leave 8 GPUs of a rack of 72 alone, so that powers of two fit."""
    return [rank // 64 * 72 + rank % 64 for rank in range(gpus)]


def mlperf_lora():
    single = {"sequence_parallel": False, "overlap_tensor": False}
    mi300x = {"cluster": "../../clusters/mi300x.yaml", **nodes(8, profile="profiles/mi300x.yaml")}
    for name, cluster, t, c, d, batch, rate, more in (
            ("8 H100", nodes(8), 4, 1, 2, 8, 2.15, {}), ("1024 H100", nodes(1024), 4, 2, 128, 128, 186, {}),
            ("8 H200", dgx_h200(8), 2, 1, 4, 8, 2.49, {}), ("8 GB200", nvl72(8), 1, 1, 8, 8, 5.37, recomputing(32)),
            ("144 GB200", nvl72(144, 72), 1, 8, 18, 18, 73.9, {}), ("8 MI300X", mi300x, 1, 1, 8, 8, 2.03, recomputing(29))):
        plan = {"tensor": t, "context": c, "data": d, **(single if t == 1 else {}), **more}
        yield Row("9.8 LoRA", name, "mlperf_lora", "samples", rate, step(cluster, parallelism=plan, batch={"global": batch}))


def megatron_core():
    for size, a, h, layers, t, p, v, gpus, batch, tflops in ((1.7, 16, 2048, 24, 1, 1, 1, 48, 192, 408.8),
                                                             (16, 48, 6144, 32, 4, 1, 1, 192, 192, 489.1),
                                                             (70, 64, 8192, 84, 8, 2, 7, 768, 384, 419.7),
                                                             (177, 96, 12288, 96, 8, 6, 8, 2304, 1152, 432.8),
                                                             (462, 144, 18432, 112, 8, 16, 7, 6144, 3072, 459.9)):
        plan = {"tensor": t, "pipeline": p, "data": gpus // (t * p), "virtual_stages": v}
        if t > 1:
            plan.update(sequence_parallel=True, overlap_tensor=True)
        yield Row("9.9", f"{size}B on {gpus}", "megatron_core", "tflops", tflops,
                  step(nodes(gpus), model=gpt(layers, h, a), parallelism=plan, batch={"global": batch}), formula="72")


def bridge_row(name, tokens, cluster, model, batch, micro, sequence, plan, **more):
    base = {"data_parallelism": "distributed_optimizer", "sequence_parallel": plan.get("tensor", 1) > 1,
            "overlap_tensor": plan.get("tensor", 1) > 1}
    return Row("9.10", name, "megatron_bridge", "tokens", tokens,
               step(cluster, model=model, parallelism={**base, **plan},
                    batch={"global": batch, "micro": micro, "sequence": sequence}, **more))


def megatron_bridge():
    b200 = {"cluster": "../../clusters/dgx_b200.yaml", **nodes(128, profile="profiles/b200.yaml")}
    moe = {"expert": 64, "overlap_expert": True}
    yield Row("9.10", "8B on 8 H100", "megatron_bridge", "tokens", 14079)
    yield bridge_row("405B on 1024 H100", 302, nodes(1024), "llama3_405b", 512, 1, 8192,
                     {"tensor": 8, "pipeline": 8, "context": 2, "data": 8, "virtual_stages": 8, "first_stage_layers": 15,
                      "last_stage_layers": 15})
    yield bridge_row("DeepSeek-V3 on 1024 H100, bf16", 1297, nodes(1024), "deepseek_v3", 8192, 1, 4096,
                     {"tensor": 2, "pipeline": 8, "data": 64, "virtual_stages": 4, "expert_tensor": 1, "first_stage_layers": 7,
                      "last_stage_layers": 6, **recomputing(1), **moe}, precision={"compute": "bf16"})
    yield bridge_row("Qwen3-235B on 256 H100", 1633, nodes(256), "qwen3_235b_a22b", 8192, 1, 4096,
                     {"tensor": 2, "pipeline": 8, "data": 16, "virtual_stages": 4, "expert_tensor": 1, "first_stage_layers": 11,
                      "last_stage_layers": 11, "recompute": "selective", **moe, "expert": 32})
    yield bridge_row("405B on 256 GB200", 843, nvl72(256), "llama3_405b", 1536, 1, 8192,
                     {"tensor": 4, "pipeline": 16, "data": 4, "virtual_stages": 4, "first_stage_layers": 7, "last_stage_layers": 7,
                      **recomputing(1), "rank_map": racks_of_64(256)})
    yield bridge_row("DeepSeek-V3 on 256 GB300, mxfp8", 6338, nvl72(256, gpu="gb300"), "deepseek_v3", 4096, 1, 4096,
                     {"pipeline": 2, "data": 128, "virtual_stages": 8, "first_stage_layers": 31, "last_stage_layers": 30, **moe,
                      "expert": 32, "rank_map": racks_of_64(256)}, precision={"compute": "mxfp8"})
    yield bridge_row("405B on 128 B200", 661, b200, "llama3_405b", 64, 1, 8192,
                     {"tensor": 4, "pipeline": 8, "context": 2, "data": 2, "virtual_stages": 8, "first_stage_layers": 15,
                      "last_stage_layers": 15})
    yield bridge_row("70B on 64 GB200", 4224, nvl72(64), "llama3_70b", 256, 2, 8192,
                     {"data": 64, "data_parallelism": "fsdp", **recomputing(51)})


# Megatron-Bridge's mixtures: docs/performance-summary-archive.md @ 067f987, and scripts/performance/configs at the tag of the
# release (25.11: v0.2.0, 26.02: v0.3.0, 26.02.01: v0.3.1, 26.06: v0.5.0). All: dropless, routing forced to be balanced, experts'
# permutation, router, loss and rotary embedding fused, gradients reduced in bf16, distributed optimizer. "graphs": what runs as
# CUDA graphs; "router" is moe_router and moe_preprocess. "a2a overlap": all-to-alls beside another microbatch's compute.
# release/GPUs system/model/precision/B/b/s/t/p/v/e tokens: dispatcher; graphs; other
MIXTURES = """
25.11/8 B200/qwen3_30b_a3b/mxfp8/512/1/4096/1/1/1/8 9299: alltoall; graphs router
25.11/64 B200/gpt_oss_120b/bf16/512/4/4096/1/1/1/8 8213: alltoall; recompute layernorm moe_act
25.11/64 B200/qwen3_235b_a22b/mxfp8/1024/1/4096/1/8/2/8 3269: alltoall; a2a overlap
25.11/256 B200/deepseek_v3/mxfp8/2048/1/4096/1/16/1/8 2139: alltoall; recompute mla_up_proj; with MTP
25.11/16 H100/qwen3_30b_a3b/fp8/512/2/4096/1/2/24/8 5275: alltoall; a2a overlap
25.11/64 H100/gpt_oss_120b/bf16/512/4/4096/1/4/1/8 5630: alltoall; recompute layernorm moe_act
25.11/256 H100/qwen3_235b_a22b/fp8/2048/1/4096/2/8/4/32 1575: alltoall; a2a overlap
25.11/8 GB200/qwen3_30b_a3b/mxfp8/512/4/4096/1/1/1/8 23766: hybridep; graphs router
25.11/64 GB200/gpt_oss_120b/bf16/1280/1/8192/1/1/1/64 15876: alltoall; recompute layernorm moe_act
25.11/256 GB200/qwen3_235b_a22b/bf16/8192/1/4096/1/8/3/32 4916: hybridep; graphs attention router
25.11/256 GB200/deepseek_v3/mxfp8/4096/1/4096/1/8/4/32 4018: hybridep; graphs router; recompute mla_up_proj
25.11/8 GB300/qwen3_30b_a3b/mxfp8/512/4/4096/1/1/1/8 28934: hybridep; graphs router
25.11/64 GB300/gpt_oss_120b/bf16/1280/2/8192/1/1/1/64 18347: alltoall; graphs attention router
25.11/256 GB300/qwen3_235b_a22b/bf16/8192/2/4096/1/4/12/16 6131: hybridep; graphs router
25.11/256 GB300/deepseek_v3/mxfp8/4096/1/4096/1/2/4/32 4357: hybridep; graphs attention router; recompute moe_act
26.02/8 B200/qwen3_30b_a3b/mxfp8/512/1/4096/1/1/1/8 9691: alltoall; graphs router
26.02/64 B200/gpt_oss_120b/bf16/1280/4/4096/1/1/1/64 8047: alltoall; recompute layernorm moe_act
26.02/16 H100/qwen3_30b_a3b/fp8/1024/1/4096/1/2/12/8 5113: deepep; a2a overlap
26.02/64 H100/gpt_oss_120b/bf16/1280/1/4096/1/4/1/8 5993: alltoall; recompute layernorm moe_act
26.02.01/16 H100/qwen3_30b_a3b/fp8/1024/1/4096/1/2/12/8 9058: deepep; a2a overlap
26.02.01/8 B200/qwen3_30b_a3b/mxfp8/512/4/4096/1/1/1/8 26695: hybridep; graphs attention router
26.02.01/64 B200/gpt_oss_120b/bf16/1280/4/4096/1/1/1/8 13722: alltoall; recompute layernorm moe_act
26.06/16 H100/qwen3_30b_a3b/fp8/1024/1/4096/1/1/1/16 8826: hybridep
26.06/8 GB300/qwen3_30b_a3b/mxfp8/512/8/4096/1/1/1/8 45275: hybridep; graphs all; a2a overlap; fused grouped MLP
26.06/64 GB300/gpt_oss_120b/mxfp8/1280/4/4096/1/1/1/16 33166: hybridep; graphs all; a2a overlap; fused grouped MLP
26.06/64 GB200/gpt_oss_120b/mxfp8/1280/4/4096/1/1/1/64 28947: hybridep; graphs all; a2a overlap; fused grouped MLP
26.06/256 GB200/qwen3_235b_a22b/mxfp8/8192/1/4096/1/8/3/32 7376: hybridep; graphs all; a2a overlap; fused grouped MLP
26.06/256 GB200/deepseek_v3/mxfp8/4096/1/4096/1/4/4/64 4969: hybridep; graphs all; a2a overlap; recompute mla_up_proj
"""
MIXTURE_CLUSTERS = {
    "H100": nodes, "GB200": nvl72, "GB300": lambda gpus: nvl72(gpus, gpu="gb300"),
    "B200": lambda gpus: {"cluster": "../../clusters/dgx_b200.yaml", **nodes(gpus, profile="profiles/b200.yaml")}}


def end_layers(model, p):
    """Of the first and the last stage: as recipes lay out DeepSeek-V3 (v0.2.0, recipes/deepseek/deepseek_v3.py), and of Qwen3-235B
    where embedding and head count as a layer each."""
    ends = {"deepseek_v3": {2: (31, 30), 4: (15, 14), 8: (7, 6), 16: (4, 1)}, "qwen3_235b_a22b": {4: (23, 23), 8: (11, 11)}}
    if p not in ends.get(model, {}):
        return {}
    return dict(zip(("first_stage_layers", "last_stage_layers"), ends[model][p]))


def mixtures():
    for line in MIXTURES.strip().splitlines():
        stated, recipe = line.split(": ", 1)
        shape, tokens = stated.rsplit(" ", 1)
        release, system, model, precision, *sizes = shape.split("/")
        batch, b, s, t, p, v, e = (int(x) for x in sizes)
        gpus, kind = int(system.split()[0]), system.split()[1]
        plan = {"tensor": t, "pipeline": p, "data": gpus // (t * p), "virtual_stages": v, "expert": e, "expert_tensor": 1,
                "data_parallelism": "distributed_optimizer", "sequence_parallel": t > 1, "overlap_tensor": t > 1,
                "overlap_expert": "a2a overlap" in recipe, **end_layers(model, p)}
        if gpus > 64 and kind.startswith("GB"):
            plan["rank_map"] = racks_of_64(gpus)
        more = {"experts": {"dispatch": "per_node"}} if not recipe.startswith("alltoall") and kind == "H100" else {}
        graphs = re.search(r"graphs ([a-z ]+)", recipe)
        if graphs and graphs[1] == "all":
            more["cuda_graph"] = True
        elif graphs:
            more["cuda_graph_modules"] = graphs[1].split()
        yield Row("9.14", f"{release} {model} on {system}, {precision}, b {b}", "megatron_bridge", "tokens", float(tokens),
                  printed(**step(MIXTURE_CLUSTERS[kind](gpus), model=model, parallelism=plan, precision={"compute": precision},
                                 batch={"global": batch, "micro": b, "sequence": s}, **more)), recipe=recipe)


GIB = 2**30 / 1e9
# 405B over 8 stages, of which the first and the last have a layer less; as many microbatches as stages, which is the default.
TITAN_PIPELINE = {"tensor": 8, "pipeline": 8, "sequence_parallel": True, "first_stage_layers": 15, "last_stage_layers": 15,
                  "recompute": "full", "order": "tp-cp-ep-dp-pp", "overlap_tensor": True}


def torchtitan_row(name, tokens, gib, cluster, plan, batch=None, **more):
    return Row("9.11", name, "torchtitan", "tokens", tokens,
               step(cluster, parallelism=plan, **({"batch": batch} if batch else {}), **more), memory=gib and round(gib * GIB, 1))


def torchtitan():
    compiled = {"framework": "pytorch_compile"}
    fp8 = {**compiled, "precision": {"compute": "fp8"}}
    operators = {"recompute": "operators"}
    many = {"data": 128, **operators}
    yield torchtitan_row("8B on 8, selective", 5762, None, {}, {"recompute": "full"})
    yield torchtitan_row("8B on 8, compile", 6667, 77.0, {}, operators, **compiled)
    yield torchtitan_row("8B on 8, compile, fp8", 8532, 76.8, {}, operators, **fp8)
    yield torchtitan_row("8B on 128, compile", 6514, 62.0, nodes(128), many, {"global": 256}, **compiled)
    yield torchtitan_row("8B on 128, compile, fp8", 8380, 61.8, nodes(128), many, {"global": 256}, **fp8)
    for ranks, tokens, gib in ((1, 3890, 83.9), (2, 2540, 84.2), (4, 1071, 84.0), (8, 548, 84.5)):
        sequence = 32768 * ranks
        name = "8B on 8, s 32768, full, fp8" if ranks == 1 else f"8B on 8, CP {ranks}, s {sequence}"
        yield torchtitan_row(name, tokens, gib, {}, {"data": 8 // ranks, "context": ranks, "recompute": "full"},
                             {"global": 8 // ranks, "micro": 1, "sequence": sequence}, **fp8)
    for name, overlap, tokens, gib in (("70B on 256, full, fp8", False, 829, 71.9),
                                       ("70B on 256, full, fp8, async TP", True, 876, 67.6)):
        plan = {"tensor": 8, "data": 32, "recompute": "full", "sequence_parallel": True, "overlap_tensor": overlap}
        yield torchtitan_row(name, tokens, gib, nodes(256), plan, {"global": 512, "micro": 16}, model="llama3_70b", **fp8)
    large = {"model": "llama3_405b", **fp8}
    interleaved = {"schedule": "interleaved_1f1b", "virtual_stages": 2}
    for name, schedule, tokens, gib in (("405B on 512, fp8", {}, 100, 82.5),
                                        ("405B on 512, fp8, interleaved", interleaved, 128, 72.7)):
        yield torchtitan_row(name, tokens, gib, nodes(512), {**TITAN_PIPELINE, **schedule, "data": 8}, {"global": 256, "micro": 4}, **large)
    for ranks, tokens, gib in ((1, 76, 75.3), (2, 47, 75.9), (4, 31, 77.1), (8, 16, 84.9)):
        yield torchtitan_row(f"405B on 512, CP {ranks}, s {32768 * ranks}", tokens, gib, nodes(512),
                             {**TITAN_PIPELINE, "data": 8 // ranks, "context": ranks},
                             {"global": 64 // ranks, "micro": 1, "sequence": 32768 * ranks}, **large)
    for name, overlap, tokens in (("bf16", False, 4378), ("bf16, async TP", True, 4809)):
        yield torchtitan_row(f"8B on 64, TP 8, {name}", tokens, None, nodes(64),
                             {"tensor": 8, "data": 8, "recompute": "operators", "sequence_parallel": True, "overlap_tensor": overlap},
                             {"global": 96, "micro": 12}, **compiled)
    # Half a year later, when the loss was compiled too.
    for gpus, tokens, gib in ((32, 10938, 47.96), (64, 10753, 46.97)):
        yield torchtitan_row(f"8B on {gpus} H200, compile, fp8", tokens, gib, dgx_h200(gpus), {"data": gpus, **operators},
                             {"global": 2 * gpus}, fused_loss=True, **fp8)


# (t, d, p, b): step ms
VTRAIN_SMALL = """(1,64,1,8) 3566.5; (1,64,1,4) 3638.3; (2,32,1,8) 3975.2; (1,64,1,2) 3700.5; (2,32,1,16) 3937.5; (2,32,1,4) 4078.2;
(2,32,1,2) 4264.2; (4,16,1,16) 4492.1; (4,16,1,32) 4548.2; (4,16,1,8) 4634.4; (4,16,1,4) 4764; (1,32,2,4) 4382.1;
(1,32,2,2) 4034.9; (4,16,1,2) 6228.3; (1,32,2,8) 5045.6; (8,8,1,64) 9838.9; (8,8,1,32) 4972.3; (8,8,1,16) 5017.8; (8,8,1,8) 5178;
(8,8,1,4) 5618; (8,8,1,2) 8880.9; (16,4,1,32) 10580.6; (16,4,1,16) 10719.3; (16,4,1,8) 10894; (16,4,1,4) 11960.1;
(16,4,1,2) 13472.2"""
VTRAIN_LARGE = """(2,32,8,2) 21890.4; (2,16,16,2) 23747.9; (4,32,4,4) 15625.6; (2,32,8,3) 19067.2; (4,8,16,2) 14529.6;
(4,16,8,4) 17413.6; (8,32,2,6) 14915.5; (8,32,2,4) 14757.3; (8,32,2,3) 14850.4; (8,32,2,2) 14614; (8,16,4,2) 14713.4;
(8,16,4,3) 14833.8; (8,16,4,6) 15249.4; (8,16,4,8) 15814.5; (8,8,8,4) 14967.1; (8,8,8,6) 15775.3; (1,32,16,3) 19991;
(2,32,8,6) 23062.9; (8,8,8,8) 16413.4; (8,4,16,6) 16232.8; (8,8,8,12) 17999.5; (8,4,16,8) 16877.1; (4,8,16,12) 27810.3;
(8,4,16,24) 24169.9"""
# GPUs/h/L/s/B/b/t/d/p/a step ms
VTRAIN_NODE = """8/1024/16/1024/32/2/4/2/1/16 457.7; 2/2048/16/1024/8/1/1/2/1/16 278.5; 4/2048/16/1024/8/1/1/2/2/16 187.9;
8/1024/20/1024/16/1/2/2/2/16 325.8; 8/1024/24/1024/32/1/4/2/1/16 1373.2; 8/1024/12/1024/16/2/1/4/2/16 82.8;
4/1024/24/1024/32/4/1/4/1/16 288.9; 4/2048/12/1024/8/2/1/1/4/16 183.0; 8/1024/12/1024/8/4/8/1/1/16 98.2;
4/2048/12/1024/16/2/1/2/2/16 230.6; 4/1024/12/1024/64/1/1/4/1/16 692.7; 8/2048/20/1024/16/1/1/4/2/16 222.2;
8/1024/12/1024/2/1/4/1/2/16 68.4; 8/1024/20/1024/32/8/1/2/4/16 288.7; 4/1024/12/1024/32/1/2/2/1/16 700.0;
2/1024/24/1024/16/4/1/2/1/16 287.5; 2/2048/12/1024/2/1/2/1/1/16 96.9; 2/2048/12/1024/8/2/1/1/2/16 226.4;
8/1024/24/1024/32/1/2/4/1/16 674.6; 8/1024/24/1024/8/2/4/2/1/16 170.1; 8/2048/12/1024/64/1/1/4/2/16 513.1;
8/1024/12/1024/16/2/4/1/2/16 206.8; 8/1024/12/1024/16/2/2/4/1/16 98.1; 2/2048/24/1024/16/4/1/1/2/16 684.8;
2/2048/12/1024/8/4/1/1/2/16 239.6; 8/2048/24/1024/32/4/2/2/2/16 420.0; 8/2048/16/1024/32/1/2/4/1/16 483.8;
8/1024/24/1024/16/2/2/4/1/16 186.8; 8/1024/24/1024/4/1/2/2/2/16 129.8; 8/2048/16/1024/32/2/1/8/1/16 216.3"""


def pairs(text):
    return [tuple(entry.split()) for entry in text.split(";")]


def vtrain():
    for block, text, model, gpus, batch in (("9.12 3.6B", VTRAIN_SMALL, gpt(30, 3072, 32), 64, 512),
                                            ("9.12 39.1B", VTRAIN_LARGE, gpt(48, 8192, 64), 512, 1536)):
        for shape, milliseconds in pairs(text):
            t, d, p, b = (int(x) for x in shape.strip("()").split(","))
            yield Row(block, shape, "vtrain", "seconds", float(milliseconds) / 1e3,
                      step(nodes(gpus), model=model, parallelism={"tensor": t, "data": d, "pipeline": p},
                           batch={"global": batch, "micro": b}))
    for shape, milliseconds in pairs(VTRAIN_NODE):
        _, h, layers, s, batch, b, t, d, p, a = (int(x) for x in shape.split("/"))
        yield Row("9.12 node", shape, "vtrain_node", "seconds", float(milliseconds) / 1e3,
                  step({}, model=gpt(layers, h, a), parallelism={"tensor": t, "data": d, "pipeline": p},
                       batch={"global": batch, "micro": b, "sequence": s}))


def zero_bubble():
    for size, layers, a, h, p, b, m, plain, interleaved, split, memory in (
            (1.5, 22, 24, 2304, 8, 6, 24, 11.8, 13.1, 12.9, (30, 40, 32)), (1.5, 22, 24, 2304, 8, 6, 64, 13.6, 13.9, 14.2, (30, 40, 32)),
            (6.2, 30, 32, 4096, 8, 3, 32, 3.7, 4.08, 4.0, (39, 48, 42)), (14.6, 46, 40, 5120, 16, 1, 48, 1.4, 1.54, 1.61, (32, 39, 33)),
            (14.6, 46, 40, 5120, 16, 1, 128, 1.64, 1.66, 1.76, (32, 39, 33)),
            (28.3, 62, 48, 6144, 32, 1, 128, 0.8, 0.85, 0.9, (43, 58, 44))):
        share = (layers + 2) // p
        batches = {"global": b * m, "micro": b}
        for name, schedule, rate, gb in (("1F1B", "1f1b", plain, memory[0]), ("ZB-H1", "zb_h1", split, memory[2])):
            plan = {"pipeline": p, "schedule": schedule, "first_stage_layers": share - 1, "last_stage_layers": share - 1}
            yield Row("9.13", f"{size}B m {m} {name}", "zero_bubble", "samples_per_gpu", rate,
                      step(nodes(p), model=gpt(layers, h, a), parallelism=plan, batch=batches), memory=gb)
        # One layer to a chunk; the first holds the embedding alone and the last the head.
        plan = {"pipeline": p, "schedule": "interleaved_1f1b", "virtual_stages": share, "first_stage_layers": share - 1,
                "last_stage_layers": share - 1}
        yield Row("9.13", f"{size}B m {m} 1F1B-I", "zero_bubble", "samples_per_gpu", interleaved,
                  step(nodes(p), model=gpt(layers, h, a), parallelism=plan, batch=batches), memory=memory[1])


# Model, sequence, GPUs, sequences of a microbatch, microbatches, tokens/s per GPU, whether layers are recomputed: all rows of 1B and
# more on up to 64 H100 in bf16 with 2,048, 8,192 or 32,768 tokens.
LLM_FOUNDRY = """70b/2048 64 8 4 1039 full; 70b/2048 32 2 16 882 full; 30b/8192 8 1 21 1384 full; 30b/2048 32 14 3 2308 full;
30b/2048 16 10 3 2263 full; 30b/2048 8 3 21 2002 full; 13b/32768 8 1 3 1976 full; 13b/2048 64 2 1 4800 none; 13b/2048 32 2 1 4811 none;
13b/2048 16 2 1 4767 none; 13b/2048 8 2 1 4792 none; 7b/32768 8 2 2 3318 full; 7b/8192 8 8 2 6935 full; 7b/2048 8 6 1 10643 none;
3b/32768 8 3 6 5873 full; 3b/8192 8 3 6 16578 none; 3b/2048 64 6 3 22525 none; 3b/2048 32 6 3 23021 none; 3b/2048 16 10 3 24142 none;
1b/32768 8 1 4 12025 none; 1b/8192 8 3 4 29157 none; 1b/2048 64 20 1 44402 none; 1b/2048 32 20 1 45130 none; 1b/2048 16 20 1 46037 none;
1b/2048 8 14 1 45455 none"""
MPT = {"1b": (24, 2048, 16), "3b": (32, 2560, 20), "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56),
       "70b": (80, 8192, 64)}


def llm_foundry():
    for what, gpus, micro, microbatches, tokens, recompute in pairs(LLM_FOUNDRY):
        size, sequence = what.split("/")
        gpus, micro, sequence = int(gpus), int(micro), int(sequence)
        yield Row("9.15", f"{size.upper()} on {gpus}, s {sequence}", "llm_foundry", "tokens", float(tokens),
                  printed(**step(nodes(gpus), model={**gpt(*MPT[size]), "learned_positions": sequence},
                                 parallelism={"data": gpus, "recompute": recompute},
                                 batch={"global": gpus * micro * int(microbatches), "micro": micro, "sequence": sequence})))


def all_rows():
    parts = (narayanan, korthikanti, megascale, llama3, deepseek, mlperf_gpt3, mlperf_llama31, mlperf_lora, megatron_core,
             megatron_bridge, torchtitan, vtrain, zero_bubble, llm_foundry, mixtures)
    return [row for part in parts for row in part()]


# Results printed there that are no training step of ours.
NOT_EXPRESSED = {
    "9.7": "times of DeepEP's kernels, not steps: experts travel by all-to-all here",
    "9.8 GPT-3 4.0": "no step time was logged",
    "9.13 ZB-2p": "its order comes from a search; no such schedule",
}

# Rows that are off, and the reason, or that none is known.
OFF = {
    "9.14": "mostly too fast, the causes apart. Qwen3-30B on H100 took 5113 tokens/s in 26.02 and 9058 in 26.02.01 with the same plan. "
            "GPT-OSS is half again too fast on every machine, where tokens are many too. On 64 B200 its few microbatches leave a time "
            "of each step that no part here has. DeepSeek-V3 on B200 runs its module of multi-token prediction, and it is not run here",
    "9.2 ZeRO-3": "too fast by a quarter to a half; what DeepSpeed's hooks cost the host beside the lists of ranks, and the pauses of an "
                  "allocator whose memory is full, are not modelled",
    "9.3 530B full": "blocking messages between 35 stages take 12 % of the step here; Megatron's own share was not printed",
    "9.5, 9.6": "do not fit by Weft's count, which frees tensors of a stage when its backward pass has used them, keeps FP8's inputs "
                "in BF16 and recomputes all of attention or nothing",
    "9.8 LoRA on 1024 H100 and 144 GB200": "too fast by a third where eight GPUs are right: what their logged steps hold beside the step "
                                          "(evaluation, the host) was not printed",
    "9.9 1.7B on 48": "too fast by a quarter; its microbatches are not printed, and what the host takes for Transformer Engine's "
                      "operators was not measured",
    "9.11 CP 2 to CP 8": "too fast by more the longer the sequence; attention is 85 % of it, and its rate under PyTorch's ring was "
                         "measured on two GPUs alone",
    "9.11 memory of 70B": "a quarter to a third short: what of a recomputed layer under tensor parallelism lives beside the loss is "
                          "not known",
    "9.11 TP 8": "too fast by a fifth; two H200 under tensor parallelism are predicted 3 to 8 % fast "
                 "(validate/measured/h200x2_torch.json, h200x2_torch_later.json), eight were not to be had. Asynchronous tensor parallelism "
                 "gains a tenth there, and nothing here: its copies take no SMs",
    "9.12": "(8,8,1,64), (8,8,1,2) and (4,16,1,2) took up to twice the time of their neighbours; t = 2 of the 39.1B model took two fifths "
            "more than t = 4, here the same",
    "9.15 from 8,192 tokens": "a quarter to a half too fast: attention is FlashAttention in Triton, for which FlashAttention-2's rates on "
                              "Hopper stand; those of Triton's kernel were not measured",
    "9.13 6.2B, 14.6B, 28.3B": "forward and input gradient take longer beside the weight gradient than here (11.3 to 8.1 ms printed for "
                               "14.6B): kernels of attention without flash are not known one by one",
}
