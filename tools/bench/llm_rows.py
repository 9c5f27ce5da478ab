"""The rows of `strata bench llm`: the kernels of language models, each with the kernels it may take and its aims."""

import dataclasses

from .program_rows import BF16, F32, Program, gradients, mkn, sizes

AS_PRODUCT = (0.85, 0.70, 0.85)
NORMS = (0.95, 0.90, 0.95)
LINEAR = (0.92, 0.90, 0.92)
ATTENTION = (0.55, 0.50, 0.50)
DECODING = (0.85, 0.75, 0.85)


@dataclasses.dataclass(frozen=True)
class Row(Program):
    """kernels: how many launches count as needed. aims: shares on gfx1100, gfx942 and gfx1201. aim_us: a time instead.
    peak: the type whose peak counts, where it is not that of the row."""

    kernels: int = 1
    aims: tuple[float, float, float] | None = None
    aim_us: float | None = None
    peak: str = ""


def row(name, operands, call, at, aims=None, kernels=1, **more):
    return Row(name, operands, call, {}, at, kernels=kernels, aims=aims, **more)


def kernels_of(o):
    return o.strata.kernels


# Norms and activations.


def layer_norm(o, x, w, b):
    return o.F.layer_norm(x, x.shape[-1:], w, b)


def rms_norm(o, x, w):
    return o.F.rms_norm(x, x.shape[-1:], w)


def norm_quantized(o, x, w):
    return kernels_of(o).quantize_per_token(rms_norm(o, x, w))


def silu_and_mul(o, x):
    return kernels_of(o).silu_and_mul(x)


MN = "m n"
NORM_ROWS = [
    row("layer_norm", "m n, n, n", layer_norm, sizes(MN, (BF16, 4096, 8192), (F32, 4096, 8192)), NORMS),
    row("rms_norm", "m n, n", rms_norm, sizes(MN, (BF16, 4096, 8192), (F32, 4096, 8192)), NORMS),
    row("rms_norm, quantize_per_token", "m n, n", norm_quantized, sizes(MN, (BF16, 4096, 8192)), NORMS),
    row(
        "rms_norm's gradients", "m n, n, m n", gradients(rms_norm), sizes(MN, (BF16, 4096, 8192)), (0.85, 0.80, 0.85), 2
    ),
    row(
        "layer_norm's gradients", "m n, n, n, m n", gradients(layer_norm), sizes(MN, (BF16, 4096, 8192)),
        (0.85, 0.80, 0.85), 2,
    ),
    row(
        "silu_and_mul's gradient", "m 2*n, m n", gradients(silu_and_mul), sizes(MN, (BF16, 4096, 8192)),
        (0.95, 0.95, 0.95),
    ),
]  # fmt: skip


# Products.


def swiglu(o, x, g, u):
    return o.silu(x @ g.T) * (x @ u.T)


def quantized_weights(o, x, w, scale):
    """Weights of 4 bits with a scale for each 32 of a row."""
    k = x.shape[-1]
    values = kernels_of(o).unpack_int4(w).cast(x.dtype).reshape(-1, k // 32, 32) * scale.unsqueeze(-1)
    return x @ values.reshape(-1, k).T


def mxfp4_weights(o, x, w, scale):
    return x @ kernels_of(o).mx_dequantize(w, scale, dtype=x.dtype).T


def by_scales(o, a, b, scale_a, scale_b):
    return o.F.scaled_mm(a, b, scale_a, scale_b)


def with_t(o, x, w):
    return x @ w.T


MKN = "m k n"
FEW = [(BF16, m, 4096, 14336) for m in (1, 16, 33, 64)]
PACKED = [((0.88, 0.80, 0.88), 1), ((0.75, 0.60, 0.75), 16), ((0.60, 0.40, 0.55), 512)]
PRODUCT_ROWS = [
    row("a @ b", "m k, k n", lambda o, a, b: a @ b, sizes(MKN, (BF16, 4096, 4096, 4096)), AS_PRODUCT, operations=mkn),
    row(
        "a @ b", "m k, k n", lambda o, a, b: a @ b, sizes(MKN, (BF16, 8192, 8192, 8192)), (0.87, 0.80, 0.87),
        operations=mkn,
    ),
    row(
        "a @ b", "m k, k n", lambda o, a, b: a @ b, sizes(MKN, (BF16, 4095, 4097, 4093)), (0.60, 0.50, 0.60),
        operations=mkn,
    ),
    row(
        "a @ b", "m k, k n", lambda o, a, b: a @ b, sizes(MKN, (F32, 4096, 4096, 4096)), (0.75, 0.70, 0.75),
        operations=mkn,
    ),
    row("x @ w.T", "m k, n k", with_t, sizes(MKN, (F32, 4096, 4096, 4096)), (0.75, 0.70, 0.75), operations=mkn),
    row(
        "silu(x @ g.T) * (x @ u.T)", "m k, n k, n k", swiglu, sizes(MKN, (BF16, 2048, 4096, 11008)), AS_PRODUCT,
        operations=lambda **s: 2 * mkn(**s),
    ),
    row(
        "rms_norm(x) @ w.T", "m k, k, n k", lambda o, x, g, w: rms_norm(o, x, g) @ w.T,
        sizes(MKN, (BF16, 4096, 4096, 4096)), AS_PRODUCT, 2, operations=mkn,
    ),
    row("linear", "m k, n k", with_t, sizes(MKN, *FEW), LINEAR, operations=mkn),
    row(
        "scaled_mm by rows", "fp8e4m3 m k, fp8e4m3 k n, float32 m 1, float32 1 n", by_scales,
        sizes(MKN, (BF16, 4096, 4096, 4096)), (0.60, 0.70, 0.80), operations=mkn, peak="fp8e4m3",
    ),
    row(
        "scaled_mm by blocks", "fp8e4m3 m k, fp8e4m3 k n, float32 m q, float32 q r", by_scales,
        sizes(MKN + " q r", (BF16, 4096, 4096, 4096, 32, 32)), (0.45, 0.40, 0.50), operations=mkn, peak="fp8e4m3",
    ),
    *(
        row(name, operands, call, sizes(MKN + " h g", (BF16, m, 4096, 4096, 2048, 128)), aims, operations=mkn)
        for name, operands, call in (
            ("x by int4 weights", "m k, uint8 n h, n g", quantized_weights),
            ("x by MXFP4 weights", "m k, uint8 n h, uint8 n g", mxfp4_weights),
        )
        for aims, m in PACKED
    ),
]  # fmt: skip


# Attention. Operands are of flash_attention's order: batch, tokens, heads, width.


def attention(**options):
    return lambda o, q, k, v: kernels_of(o).flash_attention(q, k, v, **options)


def biased_attention(o, q, k, v, bias):
    return kernels_of(o).flash_attention(q, k, v, bias=bias)


def scores(b, n, h, d, share=1.0, **_):
    """Operations of both products; share: of the scores that are not masked."""
    return 4 * b * h * n * n * d * share


def causal(**s):
    return scores(**s, share=0.5)


def window(**s):
    return scores(**s, share=256 / s["n"])


def paged(o, q, k, v, tables, lengths):
    return kernels_of(o).paged_attention(q, k, v, tables, lengths)


def decoded(b, h, keys, d, **_):
    return 4 * b * h * keys * d


def mla(o, q, cache, tables, lengths):
    return kernels_of(o).mla_decode(q, cache, tables, lengths)


QKV, BNHD = "b n h d, b n h d, b n h d", "b n h d"
PAGED = "b h d, pages page kv d, pages page kv d, int32 b table <pages, int32 b =keys"
PAGES = "b h kv d pages page table keys"
ATTENTION_ROWS = [
    row("attention", QKV, attention(), sizes(BNHD, (BF16, 16, 1024, 16, 64)), ATTENTION, operations=scores),
    row(
        "causal attention", QKV, attention(causal=True), sizes(BNHD, (BF16, 4, 4096, 32, 128)), ATTENTION,
        operations=causal,
    ),
    row(
        "attention, log-sum-exp", QKV, attention(return_lse=True), sizes(BNHD, (BF16, 16, 1024, 16, 64)), ATTENTION,
        operations=scores,
    ),
    row(
        "attention, bias", QKV + ", 1 h n n", biased_attention,
        sizes(BNHD, (BF16, 16, 1024, 16, 64)), ATTENTION, operations=scores,
    ),
    row(
        "attention, window of 256", QKV, attention(causal=True, window=(255, 0)), sizes(BNHD, (BF16, 4, 4096, 16, 64)),
        (0.35, 0.30, 0.30), operations=window,
    ),
    row(
        "attention's gradients", QKV + ", b n h d", gradients(attention()), sizes(BNHD, (BF16, 8, 1024, 16, 64)),
        (0.35, 0.30, 0.30), 3, operations=lambda **s: 2.5 * scores(**s),
    ),
    row(
        "paged decoding", PAGED, paged,
        sizes(PAGES, (BF16, 32, 32, 8, 128, 8192, 16, 256, 4096), (BF16, 32, 32, 8, 128, 8192, 16, 256, 256)),
        DECODING, operations=decoded,
        unread=lambda b, kv, d, pages, page, keys, **_: 2 * (pages * page - b * keys) * kv * d,
    ),
    row(
        "mla_decode", "b h d, pages page d, int32 b table <pages, int32 b =keys", mla,
        sizes("b h d pages page table keys", (BF16, 32, 128, 576, 16384, 16, 512, 8192)), (0.50, 0.40, 0.50),
        operations=lambda b, h, keys, **_: 2 * b * h * keys * (576 + 512),
    ),
]  # fmt: skip


# Caches, experts, losses.


def store(o, cache, key, slots):
    cache[slots] = key
    o.written += key.nbytes
    return cache


def experts(o, x, w1, w2, weights, ids):
    return kernels_of(o).fused_moe(x, w1, w2, weights, ids)


def of_experts(t, h, i, k, **_):
    return 6 * t * k * h * i


def loss(o, x, w, target):
    return o.F.linear_cross_entropy(x, w, target)


OTHER_ROWS = [
    row(
        "cache[slots] = key", "s n, t n, int64 t <s", store, sizes("s t n", (BF16, 32768, 4, 1024)), aim_us=10.0,
        unread=lambda s, n, **_: s * n,
    ),
    row("topk_softmax, 6 of 128", "m n", lambda o, x: kernels_of(o).topk_softmax(x, 6), sizes(MN, (F32, 2048, 128)),
        aim_us=7.0, whole=True),
    row(
        "moe_align_block_size", "int32 m 8 <n", lambda o, ids: kernels_of(o).moe_align_block_size(ids, 64, 256),
        sizes(MN, (F32, 2048, 256)), kernels=3, aim_us=20.0, whole=True,
    ),
    *(
        row(
            "fused_moe, 2 of 8", "t h, e 2*i h, e h i, float32 t k, int32 t k <e", experts,
            sizes("t h i e k", (BF16, t, 2048, 1024, 8, 2)), aims, 3, operations=of_experts, whole=True,
        )
        for aims, t in (((0.50, 0.35, 0.50), 1024), ((0.70, 0.70, 0.70), 4))
    ),
    row(
        "conv3d", "128 8 32 32, 128 128 3 3 3", lambda o, x, w: o.F.conv3d(x.unsqueeze(0), w, padding=1),
        sizes("n", (BF16, 1)), (0.50, 0.25, 0.50), operations=lambda **_: 2 * 128 * 128 * 27 * 8 * 32 * 32,
    ),
    row(
        "linear_cross_entropy", "m k, n k, int64 m <n", loss, sizes(MKN, (BF16, 2048, 1024, 32000)),
        (0.70, 0.50, 0.70), 2, operations=mkn,
    ),
]  # fmt: skip

ROWS = [*NORM_ROWS, *PRODUCT_ROWS, *ATTENTION_ROWS, *OTHER_ROWS]
