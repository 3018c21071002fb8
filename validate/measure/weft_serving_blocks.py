"""Blocks of a transformer in CUDA graphs, with PyTorch: shapes, points and their times. `weft measure --serving` (serving.py) and
../serving/measure_decode.py measure them.

Weights are random. A layer is RMSNorm, one product for QKV, a copy of keys and values, SDPA with grouped queries, the output's product,
NCCL's all-reduce, the residual, RMSNorm, one product for gate and up, SiLU, their product, the down product, an all-reduce, the
residual: what `weft step --library torch --no-head` has. There is no rotary embedding, no bias and no norm of heads.
"""

import dataclasses
import json
import os

SAMPLES, WARMUP = 40, 5  # replays of a point, and those before them
MOST_OF_MEMORY = 0.85  # what PyTorch and NCCL leave


class Refusal(Exception):
    """What the user can mend; told in one line."""


# Shapes.


@dataclasses.dataclass(frozen=True)
class Shape:
    """A dense transformer's widths. `layers` are those of the whole model."""
    name: str
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    layers: int


# Those of configs/models that have such layers; `weft measure --serving` hands any other model on as JSON.
SHIPPED = {shape.name: shape for shape in (
    Shape("llama2_7b", 4096, 11008, 32, 32, 128, 32),
    Shape("llama2_70b", 8192, 28672, 64, 8, 128, 80),
    Shape("llama3_8b", 4096, 14336, 32, 8, 128, 32),
    Shape("llama3_70b", 8192, 28672, 64, 8, 128, 80),
    Shape("llama3_405b", 16384, 53248, 128, 8, 128, 126),
)}
DEFAULT_MODELS = ("llama3_8b", "llama2_7b", "llama3_70b")
KEYS = {  # of ours, and of Hugging Face's config.json
    "hidden": "hidden_size", "ffn": "intermediate_size", "heads": "num_attention_heads", "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim", "layers": "num_hidden_layers",
}
EXPERTS = ("experts", "num_experts", "num_local_experts", "n_routed_experts")


def shape_of(said, where):
    """A shape from an object with keys of ours or of Hugging Face's config.json."""
    if not isinstance(said, dict):
        raise Refusal(f"--model {where}: expected an object of a model's dimensions")
    if any(said.get(key) for key in EXPERTS) or said.get("kv_lora_rank"):
        raise Refusal(f"--model {where}: layers with experts or latent attention are not measured")
    sizes = {}
    for key, other in KEYS.items():
        value = said.get(key, said.get(other))
        if value is None and key == "kv_heads":
            value = sizes["heads"]
        if value is None and key == "head_dim":
            value = sizes["hidden"] // sizes["heads"]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Refusal(f"--model {where}: expected '{key}' (or '{other}'), a whole number above 0, got {value!r}")
        sizes[key] = value
    if sizes["heads"] % sizes["kv_heads"] != 0:
        raise Refusal(f"--model {where}: {sizes['heads']} heads do not share {sizes['kv_heads']} key/value heads")
    name = said.get("name") or os.path.splitext(os.path.basename(where))[0]
    return Shape(name=str(name), **sizes)


def model_of(text):
    """`--model`: a name of SHIPPED, a JSON file, or JSON itself, which is how Weft's program hands models on."""
    if text.lstrip().startswith("{"):
        try:
            return shape_of(json.loads(text), "JSON")
        except json.JSONDecodeError as error:
            raise Refusal(f"--model: {error}") from None
    if text in SHIPPED:
        return SHIPPED[text]
    if not os.path.isfile(text):
        raise Refusal(f"--model: '{text}' is no file and none of {', '.join(SHIPPED)}; 'weft measure --serving' knows all that "
                      "'weft list models' has")
    try:
        with open(text, encoding="utf-8") as file:
            return shape_of(json.load(file), text)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Refusal(f"--model {text}: expected JSON such as Hugging Face's config.json ({error}); YAML of a model is read by "
                      "'weft measure --serving'") from None


# Points.


@dataclasses.dataclass(frozen=True)
class Point:
    shape: Shape
    layers: int
    tensor: int
    batch: int
    tokens: int  # new ones of each sequence; 1: decoding
    context: int  # tokens that the last new one meets, itself among them

    @property
    def phase(self):
        return "decode" if self.tokens == 1 else "prefill"

    @property
    def id(self):
        s = self.shape
        return (f"serving_step-{s.name}-h{s.hidden}-f{s.ffn}-a{s.heads}-{s.kv_heads}-{s.head_dim}-l{self.layers}-t{self.tensor}-"
                f"{self.phase}-{self.batch}x{self.context}")

    @property
    def text(self):
        return f"{self.shape.name} {self.tensor} GPU{'s' if self.tensor > 1 else ''} {self.phase} {self.batch} x {self.context}"


DECODE = ((1, 512), (2, 8192), (8, 1024), (16, 4096), (32, 1024), (64, 2048), (128, 512), (256, 1024))  # batch, context
PREFILL = ((1, 128), (1, 512), (1, 2048), (4, 512), (2, 3072))  # prompts, tokens of each
BF16 = 2  # bytes


def bytes_of(point):
    """Of one GPU: weights, caches, and the widest tensors between kernels."""
    s, t = point.shape, point.tensor
    kv_heads = max(1, s.kv_heads // t)
    weights = s.hidden * (s.heads // t * 2 + kv_heads * 2) * s.head_dim + 3 * s.hidden * s.ffn // t
    cache = 2 * point.batch * kv_heads * point.context * s.head_dim
    rows = point.batch * point.tokens
    between = rows * (6 * s.hidden + 6 * s.ffn // t + 4 * (s.heads // t) * s.head_dim)
    return BF16 * (point.layers * (weights + (cache if point.tokens == 1 else 0)) + between)


def why_not(point, memory):
    """Why a point cannot be measured; empty: it can."""
    s, t = point.shape, point.tensor
    if s.heads % t != 0 or s.ffn % t != 0 or max(s.kv_heads, t) % min(s.kv_heads, t) != 0:
        return f"{s.heads} heads, {s.kv_heads} key/value heads and {s.ffn} columns do not divide over {t} GPUs"
    if bytes_of(point) > MOST_OF_MEMORY * memory:
        return f"{bytes_of(point) / 1e9:.0f} GB do not fit a GPU's {memory / 1e9:.0f} GB"
    return ""


def points_of(shapes, tensors, layers, decode, prefill):
    """Of one number of GPUs after the other, and of one model after the other, so that weights are made once."""
    return [Point(shape, min(layers, shape.layers), tensor, batch, tokens, context)
            for tensor in tensors for shape in shapes
            for batch, tokens, context in [(b, t, t) for b, t in prefill] + [(b, 1, c) for b, c in decode]]


# The blocks, with PyTorch. validate/serving/measure_decode.py has them from here.


def weights_of(torch, shape, layers, tensor, device):
    """One GPU's share of each layer."""
    kv_heads = max(1, shape.kv_heads // tensor)
    heads = shape.heads // tensor
    weight = lambda rows, columns: torch.randn(rows, columns, device=device, dtype=torch.bfloat16) * 0.01
    one = lambda: torch.ones(shape.hidden, device=device, dtype=torch.bfloat16)
    return [dict(n1=one(), n2=one(), qkv=weight((heads + 2 * kv_heads) * shape.head_dim, shape.hidden),
                 out=weight(shape.hidden, heads * shape.head_dim), up=weight(2 * shape.ffn // tensor, shape.hidden),
                 down=weight(shape.hidden, shape.ffn // tensor))
            for _ in range(layers)]


def forward(torch, dist, weights, x, caches, shape, tensor):
    functional = torch.nn.functional
    batch, tokens, hidden = x.shape
    heads, kv_heads = shape.heads // tensor, max(1, shape.kv_heads // tensor)
    for weight, cache in zip(weights, caches):
        y = functional.rms_norm(x, (hidden,), weight["n1"])
        qkv = functional.linear(y, weight["qkv"]).view(batch, tokens, -1, shape.head_dim).transpose(1, 2)
        q, k, v = qkv.split([heads, kv_heads, kv_heads], 1)
        if tokens == 1:
            keys, values = cache
            keys[:, :, -1:] = k
            values[:, :, -1:] = v
            z = functional.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        else:
            z = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        y = functional.linear(z.transpose(1, 2).reshape(batch, tokens, -1), weight["out"])
        if tensor > 1:
            dist.all_reduce(y)
        x = x + y
        y = functional.rms_norm(x, (hidden,), weight["n2"])
        up, gate = functional.linear(y, weight["up"]).chunk(2, -1)
        y = functional.linear(functional.silu(up) * gate, weight["down"])
        if tensor > 1:
            dist.all_reduce(y)
        x = x + y
    return x


def captured(torch, run, meet):
    """A CUDA graph of `run`, once it ran by itself. The caller keeps the tensors that it reads."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    meet()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def replay_times(torch, graph, meet, samples, warmup=WARMUP):
    """Microseconds of each replay, in the order taken."""
    for _ in range(warmup):
        graph.replay()
    torch.cuda.synchronize()
    meet()
    times = []
    for _ in range(samples):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return times


def time_point(torch, dist, weights, point, device, samples):
    """Times of the point's replays; and its graph, with the tensors that it reads."""
    shape, tensor = point.shape, point.tensor
    kv_heads = max(1, shape.kv_heads // tensor)
    cache = lambda: torch.randn(point.batch, kv_heads, point.context, shape.head_dim, device=device, dtype=torch.bfloat16)
    caches = [(cache(), cache()) for _ in weights] if point.tokens == 1 else [None] * len(weights)
    x = torch.randn(point.batch, point.tokens, shape.hidden, device=device, dtype=torch.bfloat16)
    meet = dist.barrier if tensor > 1 else (lambda: None)
    with torch.no_grad():
        graph = captured(torch, lambda: forward(torch, dist, weights, x, caches, shape, tensor), meet)
        return replay_times(torch, graph, meet, samples), (graph, x, caches)
