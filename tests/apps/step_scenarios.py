"""Training steps that the tests of folding and of skipping share: small ones, of as many kinds as there are machines, plans,
schedules and frameworks.
"""
import dataclasses

import switching

DENSE = "{layers: 8, hidden: 2048, heads: 16, kv_heads: 8, ffn: 8192, vocab: 32000, name: small}"
EXPERTS = ("{layers: 8, hidden: 2048, heads: 16, kv_heads: 8, vocab: 32000, name: small, "
           "moe: {experts: 8, experts_per_token: 2, expert_ffn: 4096}}")
EXPERTS_16 = EXPERTS.replace("experts: 8", "experts: 16")
GPT = "{layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 50304, gated_mlp: false, norm: layer_norm, name: small}"
LATENT = ("{layers: 4, hidden: 1024, heads: 16, vocab: 32000, ffn: 4096, name: small, "
          "mla: {query_rank: 256, kv_rank: 128, nope_dim: 64, rope_dim: 32, value_dim: 64}, "
          "moe: {experts: 16, experts_per_token: 4, shared_experts: 1, expert_ffn: 512, dense_layers: 1}}")
STORAGE = "  storage: {local: {write: 6 GB/s, read: 12 GB/s}, file_system: {write: 20 GB/s, read: 20 GB/s, per_node: 10 GB/s}}\n"
SUPERPOD = "dgx_h100_superpod"
PAIRS = "type: leaf_spine, leaf_ports: 20, oversubscription: 4"  # two nodes of 8 a leaf, four cables up
TWO_LEAVES = "type: leaf_spine, leaf_ports: 25, oversubscription: 24"  # three nodes a leaf, one cable up


@dataclasses.dataclass(frozen=True)
class Step:
    plan: str
    nodes: int = 1
    cluster: str = SUPERPOD
    model: str = DENSE
    microbatches: int = 1  # of each replica
    more: str = ""  # lines of the workload
    fabric: str = ""  # what of the cluster's fabric is otherwise

    @property
    def name(self):
        more = [line.strip() for line in self.more.splitlines() if "storage:" not in line]
        return ", ".join(part for part in (f"{self.nodes} {self.cluster}", self.fabric, self.plan, *more) if part)

    def scenario(self, iterations):
        replicas = dict(word.split(": ", 1) for word in self.plan.split(", ") if ": " in word).get("data", "1")
        fabric = f", fabric: {{{self.fabric}}}" if self.fabric else ""
        return switching.Scenario(f"{self.name}, {iterations} iterations", f"""cluster: {{root}}/configs/clusters/{self.cluster}.yaml
overrides: {{nodes: {self.nodes}{fabric}}}
workload:
  model: {self.model}
  parallelism: {{{self.plan}}}
  batch: {{global: {int(replicas) * self.microbatches}, micro: 1, sequence: 2048}}
{self.more}simulation: {{iterations: {iterations}}}
""")


STEPS = [
    # Plans, on nodes of 8 H100 with a rail for each GPU.
    Step("data: 8"),
    Step("data: 8, zero: 1", microbatches=2),
    Step("data: 8, zero: 3", microbatches=2),
    Step("tensor: 2, data: 4", microbatches=2),
    Step("tensor: 4, data: 2, zero: 1, sequence_parallel: true", microbatches=2),
    Step("pipeline: 4, data: 2", microbatches=4),
    Step("pipeline: 2, tensor: 2, data: 2, zero: 1", microbatches=4),
    Step("data: 16", 2),
    Step("data: 16, zero: 3", 2, microbatches=2),
    Step("tensor: 8, data: 2", 2, microbatches=2),
    Step("tensor: 8, data: 2, zero: 1, sequence_parallel: true", 2, microbatches=2),
    Step("tensor: 2, context: 4, data: 2, context_kind: ring", 2),
    Step("tensor: 4, pipeline: 2, data: 2", 2, microbatches=4),
    Step("tensor: 4, pipeline: 2, data: 2, schedule: gpipe", 2, microbatches=4),
    Step("tensor: 4, pipeline: 2, data: 2, schedule: interleaved_1f1b, virtual_stages: 2", 2, microbatches=4),
    Step("tensor: 4, pipeline: 2, data: 2, schedule: zb_h1", 2, microbatches=4),
    Step("tensor: 8, data: 4, zero: 1", 4, microbatches=2),
    Step("tensor: 8, pipeline: 2, data: 2, zero: 1", 4, microbatches=4),
    Step("tensor: 8, pipeline: 4", 4, microbatches=8),
    Step("tensor: 4, pipeline: 4, data: 2, recompute: full", 4, microbatches=8),
    Step("data: 32, zero: 3", 4),
    Step("data: 8, expert: 8", model=EXPERTS, microbatches=2),
    Step("data: 16, expert: 8, zero: 1", 2, model=EXPERTS, microbatches=2),
    Step("tensor: 4, data: 4, expert: 4, expert_tensor: 1, sequence_parallel: true, zero: 1", 2, model=EXPERTS, microbatches=2),
    Step("tensor: 4, pipeline: 2, data: 4, expert: 4, expert_tensor: 1, sequence_parallel: true, zero: 1", 4, model=EXPERTS,
         microbatches=4),
    # Unequal stages, odd groups, groups that end in the middle of a node, ranks in another order.
    Step("pipeline: 4, data: 2, first_stage_layers: 1, last_stage_layers: 1", model=DENSE, microbatches=5),
    Step("tensor: 2, pipeline: 3, data: 2, first_stage_layers: 3, last_stage_layers: 1", 2, microbatches=7),
    Step("data: 3"),
    Step("tensor: 2, data: 3, zero: 1", microbatches=3),
    Step("tensor: 8, data: 3, zero: 1", 3, cluster="dgx_a100", microbatches=2),
    Step("tensor: 8, data: 5", 5, microbatches=2),
    Step("tensor: 4, data: 6, zero: 3", 3, microbatches=1),
    Step("tensor: 2, data: 8, order: dp-tp-cp-ep-pp", 2, microbatches=2),
    Step("tensor: 4, pipeline: 2, data: 2, order: tp-pp-cp-ep-dp", 2, microbatches=4),
    Step("tensor: 2, data: 4, rank_map: [7, 6, 5, 4, 3, 2, 1, 0]", microbatches=2),
    # Schedules.
    Step("tensor: 2, pipeline: 4, schedule: zb_h2", model=GPT, microbatches=8),
    Step("pipeline: 2, data: 4, schedule: zb_v, virtual_stages: 2", model=GPT, microbatches=6),
    Step("pipeline: 4, data: 2, schedule: dualpipe", model=GPT, microbatches=8),
    Step("pipeline: 2, data: 4, schedule: dualpipe_v, virtual_stages: 2", model=GPT, microbatches=6),
    Step("pipeline: 2, data: 4, schedule: interleaved_1f1b, virtual_stages: 2, microbatch_group: 3", model=GPT, microbatches=8),
    Step("pipeline: 4, virtual_stages: 2, data: 4, overlap_p2p: false, overlap_grad_reduce: false", 2, microbatches=4),
    # Contexts, shards, what overlaps.
    Step("context: 4, data: 2, context_kind: ulysses"),
    Step("context: 8, data: 2, context_kind: all_gather, zero: 1", 2),
    Step("context: 8, data: 3, context_kind: ring", 3, model=GPT),
    Step("data: 16, zero: 3, fsdp_shard: 8", 2, microbatches=2),
    # Groups of several hosts with several members on each.
    Step("data: 32, zero: 3, fsdp_shard: 16", 4),
    Step("tensor: 16, data: 2", 4),
    Step("data: 8, zero: 3, fsdp_shard: 4", 4, cluster="h200x2_2_nodes"),
    Step("data: 8, zero: 3, reshard_after_forward: false", microbatches=2),
    Step("data: 8, data_parallelism: deepspeed_2021", model=GPT),
    Step("tensor: 4, data: 2, sequence_parallel: true, overlap_tensor: true", microbatches=2),
    Step("data: 8, data_parallelism: ddp, bucket: 100 MiB", more="  framework: pytorch_eager\n", microbatches=2),
    Step("data: 16, zero: 3", 2, more="  framework: pytorch_compile\n"),
    Step("tensor: 2, data: 4", more="  lora: {rank: 16, targets: [qkv, proj]}\n"),
    Step("tensor: 2, data: 4, recompute: selective", more="  cuda_graph: true\n", microbatches=2),
    Step("data: 8, expert: 8", model=EXPERTS, more="  experts: {imbalance: 1.4}\n"),
    Step("data: 16, expert: 16, zero: 1", 2, model=LATENT, more="  precision: {compute: fp8, dispatch: fp8}\n"),
    Step("pipeline: 2, data: 8, expert: 8, schedule: dualpipe, overlap_expert: true", 2, model=LATENT, microbatches=4),
    # Machines.
    Step("tensor: 4", cluster="h200x4"),
    Step("tensor: 4, data: 2", 2, cluster="h200x4"),
    Step("data: 12, zero: 3", 3, cluster="h200x4"),
    Step("tensor: 2, pipeline: 2, data: 2", 2, cluster="h200x4", microbatches=4),
    Step("data: 4", cluster="h200x4_pcie", model=GPT, more="  framework: pytorch_eager\n"),
    Step("pipeline: 2, data: 2", cluster="h200x4_half_nvlink", microbatches=4),
    Step("data: 8, zero: 3", 4, cluster="h200x2_2_nodes", microbatches=2),
    Step("tensor: 4, data: 2", cluster="dgx1_p100", model=GPT),
    Step("tensor: 8, data: 2, zero: 1", 2, cluster="dgx1_v100", model=GPT),
    Step("tensor: 8, data: 4", 2, cluster="dgx2"),
    Step("tensor: 4, data: 4", 2, cluster="dgx_b200", microbatches=4),
    Step("tensor: 4, pipeline: 4", 2, cluster="dgx_h800", microbatches=8),
    Step("data: 16, zero: 3", 2, cluster="mi300x"),
    Step("tensor: 2, data: 4", cluster="pcie8_serial", model=GPT, microbatches=2),
    Step("tensor: 2, data: 4", cluster="pcie8_parallel", model=GPT, microbatches=2),
    Step("tensor: 2, data: 4, zero: 1", cluster="pcie8_hpc", model=GPT),
    Step("tensor: 8, data: 4, zero: 1", cluster="gb200_nvl72"),
    Step("data: 36, expert: 18", cluster="gb300_nvl72", model=EXPERTS.replace("experts: 8", "experts: 18")),
    Step("tensor: 8, data: 18", 2, cluster="gb300_nvl72", model=GPT),
    # Networks between nodes.
    Step("tensor: 8, pipeline: 2, data: 4, zero: 1", 8, cluster="dgx_h100_8_nodes", microbatches=2),
    Step("tensor: 8, data: 4, zero: 1", 4, fabric="type: fat_tree, leaf_ports: 16, routing: spray"),
    # Ranks share what leads up from oversubscribed leaves with all others, and find it loaded alike: groups in leaves and over
    # them, stages below one leaf, leaves of a rail, pods of leaves.
    Step("tensor: 8, data: 8, zero: 1", 8, fabric=PAIRS, microbatches=2),
    Step("tensor: 8, context: 4, data: 2, context_kind: ring", 8, fabric=PAIRS, microbatches=2),
    Step("tensor: 16, data: 4", 8, fabric=PAIRS),
    Step("data: 64, zero: 3, fsdp_shard: 16", 8, fabric=PAIRS),
    Step("data: 64, expert: 16, zero: 1", 8, fabric=PAIRS, model=EXPERTS_16),
    Step("tensor: 8, pipeline: 2, data: 3", 6, fabric=TWO_LEAVES, microbatches=4),
    Step("data: 48, zero: 3, fsdp_shard: 24", 6, fabric=TWO_LEAVES),
    Step("pipeline: 2, data: 24", 6, fabric=TWO_LEAVES, model=GPT, microbatches=4),
    Step("tensor: 8, pipeline: 2, data: 4", 8, fabric="leaf_ports: 5, spine_ports: 64, oversubscription: 4, nodes_per_unit: 4", microbatches=4),
    Step("tensor: 8, pipeline: 2, data: 8", 16, fabric=PAIRS + ", spine_ports: 4", microbatches=4),
    Step("tensor: 8, context: 4, data: 4, context_kind: ring", 16, fabric=PAIRS + ", spine_ports: 4"),
    Step("tensor: 8, data: 2, zero: 1", 2, fabric="type: rail_only", microbatches=2),
    Step("tensor: 4, data: 8, zero: 1", 4, fabric="link: {type: ethernet, rate: 100 Gb/s, latency: 2 us}"),
    # Storage, which nodes share and their GPUs too.
    Step("tensor: 8, data: 2", 2, more=STORAGE + "  checkpoint: {to: local}\n"),
    Step("tensor: 2, pipeline: 2, data: 4, zero: 1", 2, microbatches=2,
         more=STORAGE + "  checkpoint: {to: file_system, asynchronous: false}\n"),
    Step("data: 16, zero: 3", 2, more=STORAGE + "  checkpoint: {to: local, through: gpudirect}\n"),
    Step("pipeline: 2, tensor: 2, data: 4", 2,
         more=STORAGE + "  data_loading: {from: local, bytes_per_sequence: 100 MB, prefetch: false}\n"),
]
