"""The rows of `strata bench programs`: programs as people write them, each once for timing, for values and for torch.

Operands are a text, an operand between commas. An operand has its sizes by name (`h*d` multiplies) and a type before
them where it is not that of the row. `<n` after them is for integers below n, `+` for numbers that are not negative."""

import dataclasses
from collections.abc import Callable
from typing import Any

BF16, F16, F32 = "bfloat16", "float16", "float32"


@dataclasses.dataclass(frozen=True)
class Program:
    """operations, kept and unread are formulas of the sizes. kept counts elements of the row's type that must be alive
    beside operands and results. unread counts those of operands that need not be read. small: sizes for values.
    at: (type, sizes) of each row. large: those for cards alone, too long for the emulator. whole: kernels compute
    indices, so that all workgroups run."""

    name: str
    operands: str | Callable[..., str]
    call: Callable[..., Any]
    small: dict[str, int]
    at: list[tuple[str, dict[str, int]]]
    operations: Callable[..., float] = lambda **_: 0
    kept: Callable[..., float] = lambda **_: 0
    unread: Callable[..., float] = lambda **_: 0
    whole: bool = False
    large: list[tuple[str, dict[str, int]]] = dataclasses.field(default_factory=list)


def sizes(names, *rows):
    """[(type, {name: size})] of rows of a type and the numbers of the names."""
    return [(dtype, dict(zip(names.split(), numbers, strict=True))) for dtype, *numbers in rows]


def untouched(v, n):
    """How many of v rows n random lookups leave alone."""
    return v * (1 - 1 / v) ** n


def gradients(call):
    """The program of the gradients of all but its last operand, which is the gradient of the result of call."""

    def backward(o, *operands):
        *leaves, g = operands
        return o.gradients(o.float32(call(o, *leaves) * g).sum(), leaves)

    return backward


# Products.


def mkn(**s):
    return 2 * s["m"] * s["k"] * s["n"] * s.get("b", 1)


def product(o, a, b):
    return a @ b


def gate_up(o, x, g, u):
    return (x @ g) * (x @ u)


def swiglu(o, x, g, u, d):
    return (o.silu(x @ g) * (x @ u)) @ d


def gelu_mlp(o, x, u, b, d, c):
    return o.gelu(x @ u + b) @ d + c


def dequantized(o, x, w, scale):
    return x @ (o.like(w, x) * scale)


MKN, WIDE, MLP, ODD = "m k n", (2048, 2048, 5632), (8192, 4096, 11008), (1000, 1111, 777)
SMALL = {"m": 33, "k": 40, "n": 50}
PRODUCTS = [
    Program(
        "product", "m k, k n", product, SMALL,
        sizes(MKN, (F16, 512, 512, 512), (BF16, *WIDE), (F32, *WIDE), (BF16, 4096, 4096, 4096), (F32, *ODD),
            (BF16, 2047, 2045, 2049)),
        mkn, large=sizes(MKN, (BF16, *MLP)),
    ),
    Program(
        "product NT", "m k, n k", lambda o, a, b: a @ b.mT, SMALL, sizes(MKN, (BF16, *WIDE), (F32, 1024, 1024, 1024)),
        mkn,
    ),
    Program(
        "product TN", "k m, k n", lambda o, a, b: a.mT @ b, SMALL, sizes(MKN, (F16, *WIDE), (F32, 1024, 1024, 1024)),
        mkn,
    ),
    Program("product TT", "k m, n k", lambda o, a, b: a.mT @ b.mT, SMALL, sizes(MKN, (BF16, *WIDE)), mkn),
    Program(
        "batched product", "b m k, b k n", product, {"b": 3, **SMALL},
        sizes("b m k n", (BF16, 64, 512, 64, 512), (F16, 16, 1024, 1024, 1024)), mkn,
    ),
    Program(
        "skinny product", "m k, k n", product, {"m": 9, "k": 64, "n": 48},
        sizes(MKN, *((BF16, m, 4096, 11008) for m in (1, 4, 12, 16, 64)), (F32, 1, 4096, 4096)), mkn,
    ),
    Program(
        "skinny product NT", "m k, n k", lambda o, a, b: a @ b.mT, {"m": 9, "k": 64, "n": 48},
        sizes(MKN, (BF16, 1, 4096, 14336), (F16, 32, 4096, 4096)), mkn,
    ),
    Program(
        "product of int8 weights", "m k, int8 k n, n", dequantized, {"m": 9, "k": 64, "n": 48},
        sizes(MKN, (BF16, 16, 4096, 4096), (BF16, 1024, 2048, 2048)), mkn,
    ),
    Program(
        "gate x up", "m k, k n, k n", gate_up, SMALL, sizes(MKN, (BF16, *WIDE), (F16, 512, 512, 1408)),
        lambda **s: 2 * mkn(**s), large=sizes(MKN, (BF16, *MLP)),
    ),
    Program(
        "q, k and v", "m k, k n, k n, k n", lambda o, x, q, k, v: [x @ q, x @ k, x @ v], SMALL,
        sizes(MKN, (BF16, 2048, 2048, 2048)), lambda **s: 3 * mkn(**s),
    ),
    Program(
        "rmsnorm, product", "m k, k, k n", lambda o, x, w, g: o.rmsnorm(x, w) @ g, SMALL,
        sizes(MKN, (BF16, *WIDE), (F16, 1024, 768, 3072)), mkn, large=sizes(MKN, (BF16, *MLP)),
    ),
    Program(
        "layernorm, product", "m k, k, k, k n", lambda o, x, w, b, g: o.layernorm(x, w, b) @ g, SMALL,
        sizes(MKN, (F16, *WIDE)), mkn,
    ),
    Program(
        "product, bias, gelu, residual", "m k, k n, n, m n", lambda o, x, g, b, y: o.gelu(x @ g + b) + y, SMALL,
        sizes(MKN, (BF16, *WIDE), (F32, 512, 512, 512)), mkn,
    ),
    Program(
        "product, residual", "m k, k n, m n", lambda o, x, g, y: x @ g + y, SMALL, sizes(MKN, (BF16, 2048, 5632, 2048)),
        mkn,
    ),
    Program(
        "product, softmax", "m k, k n", lambda o, x, g: o.softmax(x @ g), SMALL, sizes(MKN, (F16, 2048, 1024, 1024)),
        mkn,
    ),
    Program(
        "product with gradients", "m k, k n, m n", gradients(product), SMALL,
        sizes(MKN, (BF16, *WIDE), (F32, 512, 512, 512)), lambda **s: 2 * mkn(**s),
    ),
    Program(
        "SwiGLU", "m k, k n, k n, n k", swiglu, SMALL,
        sizes(MKN, (BF16, *WIDE), (BF16, 512, 512, 1408), (F16, 1000, 768, 2050)), lambda **s: 3 * mkn(**s),
        lambda m, n, **_: m * n, large=sizes(MKN, (BF16, *MLP)),
    ),
    Program(
        "SwiGLU with gradients", "m k, k n, k n, n k, m k", gradients(swiglu), SMALL,
        sizes(MKN, (BF16, *WIDE), (F16, 512, 512, 1408)), lambda **s: 8 * mkn(**s), lambda m, n, **_: 4 * m * n,
        large=sizes(MKN, (BF16, 4096, *MLP[1:])),
    ),
    Program(
        "gelu MLP", "m k, k n, n, n k, k", gelu_mlp, SMALL, sizes(MKN, (BF16, 2048, 2048, 8192), (F32, 512, 512, 2048)),
        lambda **s: 2 * mkn(**s), lambda m, n, **_: m * n,
    ),
    Program(
        "gelu MLP with gradients", "m k, k n, n, n k, k, m k", gradients(gelu_mlp), SMALL,
        sizes(MKN, (BF16, 2048, 2048, 8192), (F16, 512, 768, 3072)), lambda **s: 5 * mkn(**s),
        lambda m, n, **_: 2 * m * n,
    ),
]  # fmt: skip

# Attention.


def heads(x, h):
    """(b, t, h * d) to (b, h, t, d)."""
    b, t, width = x.shape
    return x.reshape(b, t, h, width // h).permute(0, 2, 1, 3)


def joined(x):
    b, h, t, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * d)


def causal(o, q, k, v):
    return o.attention(q, k, v, causal=True)


def grouped(o, q, k, v, causal=False):
    """Several heads of queries to one of keys."""
    times = q.shape[1] // k.shape[1]
    return o.attention(q, k.repeat_interleave(times, 1), v.repeat_interleave(times, 1), causal=causal)


def projected(o, x, w, out, h=4):
    q, k, v = (heads(x @ w[i], h) for i in range(3))
    return joined(o.attention(q, k, v, causal=True)) @ out


def pairs(**s):
    """Operations of attention, of which a causal one sees half."""
    return 4 * s["b"] * s["h"] * s["t"] * s.get("n", s["t"]) * s["d"]


QKV, BHTD, TINY = "b h t d, b h t d, b h t d", "b h t d", {"b": 2, "h": 2, "t": 17, "d": 16}
GQA, GROUPED = "b h t d, b g n d, b g n d", "b h g t n d"
ATTENTION = [
    Program(
        "attention, causal", QKV, causal, TINY,
        sizes(BHTD, (BF16, 4, 16, 2048, 64), (F16, 2, 16, 2048, 128), (F16, 2, 8, 1000, 80), (F32, 4, 8, 512, 64)),
        lambda **s: pairs(**s) / 2, large=sizes(BHTD, (BF16, 8, 16, 4096, 64), (BF16, 8, 16, 4096, 128)),
    ),
    Program(
        "attention", QKV, lambda o, q, k, v: o.attention(q, k, v), TINY, sizes(BHTD, (BF16, 8, 12, 512, 64)), pairs,
    ),
    Program(
        "attention, other lengths", "b h t d, b h n d, b h n d", lambda o, q, k, v: o.attention(q, k, v),
        {**TINY, "n": 29}, sizes("b h t n d", (BF16, 4, 16, 448, 1500, 64)), pairs,
    ),
    Program(
        "grouped attention, causal", GQA, lambda o, q, k, v: grouped(o, q, k, v, True),
        {"b": 1, "h": 4, "g": 2, "t": 17, "n": 17, "d": 16}, sizes(GROUPED, (BF16, 1, 32, 8, 2048, 2048, 128)),
        lambda **s: pairs(**s) / 2,
    ),
    Program(
        "sliding window of 256", QKV, lambda o, q, k, v: o.attention(q, k, v, window=256), {**TINY, "t": 270},
        sizes(BHTD, (BF16, 1, 16, 4096, 128)), lambda b, h, t, d: 4 * b * h * 256 * (t - 128) * d,
    ),
    Program(
        "attention with gradients", QKV + ", b h t d", gradients(causal), TINY,
        sizes(BHTD, (BF16, 4, 16, 1024, 64), (F16, 2, 8, 777, 64)), lambda **s: 3.5 * pairs(**s) / 2,
        lambda b, h, t, d: b * h * t * (d + 2), large=sizes(BHTD, (BF16, 8, 16, 2048, 64), (BF16, 4, 16, 4096, 128)),
    ),
    Program(
        "decode attention", GQA, grouped, {"b": 2, "h": 4, "g": 2, "t": 1, "n": 37, "d": 16},
        sizes(GROUPED, (BF16, 32, 32, 8, 1, 4096, 128), (BF16, 1, 32, 8, 1, 32768, 128), (F16, 4, 16, 16, 1, 1000, 64)),
        pairs,
    ),
    Program(
        "attention with its projections", "b t 64*h, 3 64*h 64*h, 64*h 64*h",
        lambda o, x, w, out: projected(o, x, w, out, x.shape[-1] // 64), {"b": 2, "t": 9, "h": 1},
        sizes("b t h", (BF16, 4, 1024, 16)), lambda b, t, h: 8 * b * t * (64 * h) ** 2 + 2 * b * h * t * t * 64,
        lambda b, t, h: 4 * b * t * 64 * h,
    ),
]  # fmt: skip

# Convolutions.


def conv3x3(o, x, w):
    return o.conv2d(x, w, padding=1)


def batch_norm(o, x, weight, bias):
    """Statistics of a batch in float32."""
    c, wide = x.shape[1], o.float32(x)
    wide = wide - wide.mean((0, 2, 3), True)
    scale = 1.0 / ((wide * wide).mean((0, 2, 3), True) + 1e-5).sqrt()
    return o.like(wide * scale, x) * weight.reshape(1, c, 1, 1) + bias.reshape(1, c, 1, 1)


def residual_block(o, x, w, g, b, v, h, c):
    y = o.relu(batch_norm(o, conv3x3(o, x, w), g, b))
    return o.relu(batch_norm(o, conv3x3(o, y, v), h, c) + x)


def taps(**s):
    """Operations of a window of `w` by `w` over places of stride 1."""
    return 2 * s["n"] * s["c"] * s["o"] * s["s"] ** 2 * s.get("w", 1) ** 2


NCOS, IMAGE = "n c o s w", {"n": 2, "c": 4, "o": 6, "s": 7, "w": 3}
BLOCK = "n c s s, c c 3 3, c, c, c c 3 3, c, c"
CONVOLUTIONS = [
    Program(
        "conv 3x3", "n c s s, o c w w", conv3x3, IMAGE,
        sizes(NCOS, (BF16, 32, 64, 64, 56, 3), (F16, 16, 256, 256, 14, 3), (F32, 8, 64, 64, 28, 3),
            (BF16, 5, 48, 80, 19, 3)),
        taps, large=sizes(NCOS, (BF16, 64, 256, 256, 56, 3)),
    ),
    Program(
        "conv 3x3 with gradients", "n c s s, o c w w, n o s s", gradients(conv3x3), IMAGE,
        sizes(NCOS, (BF16, 32, 128, 128, 28, 3), (F32, 8, 32, 32, 16, 3)), lambda **s: 2 * taps(**s),
        large=sizes(NCOS, (BF16, 64, 256, 256, 28, 3)),
    ),
    Program(
        "conv 1x1", "n c s s, o c 1 1", lambda o, x, w: o.conv2d(x, w), IMAGE,
        sizes("n c o s", (BF16, 32, 256, 256, 28)), taps,
    ),
    Program(
        "conv 3x3, depthwise", "n c s s, c 1 3 3", lambda o, x, w: o.conv2d(x, w, padding=1, groups=x.shape[1]), IMAGE,
        sizes("n c s", (F16, 32, 256, 28)), lambda n, c, s, **_: 18 * n * c * s * s,
    ),
    Program(
        "conv 7x7, stride 2", "n c s s, o c 7 7", lambda o, x, w: o.conv2d(x, w, 2, 3), {**IMAGE, "s": 9},
        sizes("n c o s", (BF16, 32, 3, 64, 224)), lambda **s: 49 * taps(**s) / 4,
    ),
    Program(
        "conv 3x3, bias, relu", "n c s s, o c w w, o 1 1", lambda o, x, w, b: o.relu(conv3x3(o, x, w) + b), IMAGE,
        sizes(NCOS, (F16, 16, 128, 128, 28, 3)), taps,
    ),
    Program(
        "ResNet block", BLOCK, residual_block, {"n": 2, "c": 4, "s": 6}, sizes("n c s", (BF16, 32, 64, 28)),
        lambda n, c, s: 36 * n * c * c * s * s, lambda n, c, s: 2 * n * c * s * s,
    ),
    Program(
        "ResNet block with gradients", BLOCK + ", n c s s", gradients(residual_block), {"n": 2, "c": 4, "s": 6},
        sizes("n c s", (BF16, 32, 64, 28)), lambda n, c, s: 108 * n * c * c * s * s, lambda n, c, s: 5 * n * c * s * s,
    ),
]  # fmt: skip

# Rows, losses, lookups, order.


def softmax(o, x):
    return o.softmax(x)


def head(o, x, w, ids):
    return o.cross_entropy(o.float32(x @ w), ids)


def loss_with_gradients(o, *operands):
    """The loss of head, or of logits alone, and gradients by all but the classes."""
    *leaves, ids = operands
    loss = head(o, *leaves, ids) if len(leaves) > 1 else o.cross_entropy(o.float32(leaves[0]), ids)
    return [loss, *o.gradients(loss, leaves)]


def layernorm(o, x, w, b):
    return o.layernorm(x, w, b)


def rmsnorm(o, x, w):
    return o.rmsnorm(x, w)


def adamw(o, p, g, m, v):
    """A step's new values of a parameter, and of its two moments."""
    g = o.float32(g)
    m, v = o.assign(m, m * 0.9 + g * 0.1), o.assign(v, v * 0.95 + g * g * 0.05)
    wide = o.float32(p)
    return [o.assign(p, o.like(wide - (m / ((v.sqrt()) + 1e-8) + wide * 0.1) * 1e-3, p)), m, v]


def adamw_of_all(o, *operands):
    count = len(operands) // 4
    return [t for i in range(count) for t in adamw(o, *operands[i::count])]


def of_layers(shapes, layers, last=()):
    """The operand text of the parameters, gradients and moments of layers."""
    every = [*list(shapes) * layers, *last]
    return ", ".join([*every, *every, *("float32 " + s for s in every), *("float32 + " + s for s in every)])


GPT_SHAPES = ("d 3*d", "3*d", "d d", "d", "d 4*d", "4*d", "4*d d", "d", "d", "d", "d", "d")
MN, FEW = "m n", {"m": 5, "n": 37}
ROWS = [
    Program("layernorm", "m n, n, n", layernorm, FEW, sizes(MN, (BF16, 8192, 2048), (F32, 1000, 1111))),
    Program(
        "layernorm with gradients", "m n, n, n, m n", gradients(layernorm), FEW,
        sizes(MN, (BF16, 8192, 2048), (F32, 4096, 768)),
    ),
    Program("rmsnorm with gradients", "m n, n, m n", gradients(rmsnorm), FEW, sizes(MN, (BF16, 8192, 4096))),
    Program(
        "softmax with gradients", "m n, m n", gradients(softmax), FEW, sizes(MN, (F32, 8192, 2048), (F16, 1000, 3333)),
    ),
    Program(
        "cross-entropy with gradients", "m n, int64 m <n", loss_with_gradients, FEW,
        sizes(MN, (BF16, 2048, 32000), (F32, 512, 50257)),
    ),
    Program(
        "head, cross-entropy with gradients", "m k, k n, int64 m <n", loss_with_gradients, SMALL,
        sizes(MKN, (BF16, 2048, 1024, 32000)), lambda **s: 3 * mkn(**s), lambda m, n, **_: m * n,
    ),
    Program(
        "AdamW of all parameters", lambda d, layers: of_layers(GPT_SHAPES, layers), adamw_of_all, {"d": 8, "layers": 1},
        sizes("d layers", (F32, 768, 4), (BF16, 256, 6)),
    ),
    Program(
        "embedding", "v d, int64 n <v", lambda o, w, ids: o.embedding(ids, w), {"v": 29, "d": 8, "n": 11},
        sizes("v d n", (BF16, 32000, 1024, 16384)), unread=lambda v, d, n: untouched(v, n) * d,
    ),
    Program(
        "embedding's gradient", "v d, int64 n <v, n d",
        lambda o, w, ids, g: o.gradients(o.float32(o.embedding(ids, w) * g).sum(), [w]), {"v": 29, "d": 8, "n": 11},
        sizes("v d n", (F32, 8192, 256, 4096)), whole=True,
    ),
    Program("cumsum", "m n", lambda o, x: x.cumsum(1), FEW, sizes(MN, (F32, 2048, 8192), (F32, 999, 1001))),
    Program("sort", "m n", lambda o, x: o.sort(x), FEW, sizes(MN, (F32, 16, 4096)), whole=True,
        large=sizes(MN, (F32, 256, 65536))),
    Program("top 16", "m n", lambda o, x: o.topk(x, 16), FEW, sizes(MN, (F32, 16, 8192)), whole=True),
    Program("top 64", "m n", lambda o, x: o.topk(x, 64), {"m": 3, "n": 99}, [], large=sizes(MN, (F32, 4096, 32000))),
    Program(
        "unique", "int64 n <c", lambda o, x: o.unique(x), {"n": 40, "c": 9}, sizes("n c", (F32, 4096, 256)), whole=True,
    ),
    Program(
        "histogram", "int64 n <c", lambda o, x: o.histogram(x, 64), {"n": 40, "c": 64}, sizes("n c", (F32, 65536, 64)),
        whole=True,
    ),
]  # fmt: skip
