"""Functions of the library with random shapes, types and options, on random cards in strict mode, against float64.

STRATA_FUZZ_SECONDS runs it for longer, from the seed STRATA_FUZZ_SEED on. A failure says the seed of its call:
`python test_library_fuzz.py SEED` makes that call alone.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path += [str(here), str(here.parent)]
    os.environ.setdefault("STRATA_DEVICE", "emu:gfx1100")

from attention_by_numpy import dense, paged
from by_numpy import ARCHS, close, exact, of, strict, wide
from strata import Tensor, kernels as K
from strata.nn import functional as F
from test_experts import moe
from test_flash_attention import apart
from test_losses_and_sampling import loss
from test_norms_and_activations import ACTIVATIONS, centred, normed
from test_packing import expected
from test_paged_attention import cache_of, tables_of
from test_positions_and_caches import cached, table, turned
from test_quantisation import LARGEST, in_blocks, is_nearest, scales
from test_routing import aligned, chosen
from test_scaled_products import by_groups, grids

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]

CALLS = 39  # of a run that names no time
FLOATS = ["float32", "float16", "bfloat16"]
WIDTHS = [1, 2, 3, 16, 17, 32, 33, 64, 80, 130]


class Draw:
    """Random arguments of a seed."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        self.dtype = self.one(FLOATS)

    def one(self, of_these):
        return of_these[self.r.integers(len(of_these))]

    def whole(self, low, high):
        return int(self.r.integers(low, high + 1))

    def maybe(self, value, share=0.4):
        return value if self.r.random() < share else None

    def normal(self, *shape):
        return self.r.standard_normal(shape)

    def given(self, *shape, dtype=None):
        """In memory in order, or with the last two axes exchanged, or as a part of more."""
        array, layout = self.normal(*shape), self.one(["plain", "plain", "turned", "part"])
        if layout == "turned" and len(shape) > 1:
            return of(array.swapaxes(-1, -2), dtype or self.dtype).transpose()
        if layout == "part":
            return of(np.pad(array, [(1, 2)] * len(shape), constant_values=np.nan), dtype or self.dtype)[
                tuple(slice(1, -2) for _ in shape)
            ]
        return of(array, dtype or self.dtype)


def norms(d):
    n, m, eps, offset = d.whole(1, 5), d.one(WIDTHS), d.one([1e-6, 1e-2]), d.one([0.0, 1.0])
    x, r, w, b = d.given(n, m), d.given(n, m), d.given(m), d.given(m)
    y, h = K.add_rms_norm(x, r, w, eps, offset=offset)
    close(y, normed(wide(h), eps) * (wide(w) + offset), d.dtype)
    y, h = K.add_layer_norm(x, r, w, b, eps)
    # The difference from the mean of few elements has lost digits.
    close(y, centred(wide(h), eps) * wide(w) + wide(b), d.dtype, tolerance=2e-5 if d.dtype == "float32" else None)


def activations(d):
    name = d.one([*ACTIVATIONS])
    x = of(d.normal(d.whole(1, 3), d.whole(1, 3), 2 * d.one(WIDTHS)) * d.one([1, 9]), d.dtype)
    a, b = np.split(wide(x), 2, -1)
    close(getattr(K, name)(x), ACTIVATIONS[name](a) * b, d.dtype)


def quantisers(d):
    x, dtype = of(d.normal(d.whole(1, 40), d.one(WIDTHS)) * d.one([1e-3, 1, 1e3]), d.dtype), d.one([*LARGEST])
    v, rows, columns = wide(x), d.whole(1, 16), d.whole(1, 140)
    q, scale = K.quantize_per_token(x, dtype)
    is_nearest(q, v, wide(scale), dtype)
    np.testing.assert_allclose(wide(scale), scales(v, dtype, -1), rtol=2e-7)
    q, scale = K.quantize_per_block(x, dtype, (rows, columns))
    most, spread = in_blocks(v, rows, columns)
    np.testing.assert_allclose(wide(scale), np.maximum(most / LARGEST[dtype], 2.0**-126), rtol=2e-7)
    is_nearest(q, v, np.maximum(spread / LARGEST[dtype], 2.0**-126), dtype)


def microscaling(d):
    format, rounding = d.one(["fp4", "fp8e4m3", "fp8e5m2"]), d.one(["ceil", "floor"])
    x = of(d.normal(d.whole(1, 3), d.whole(1, 140)) * np.exp2(d.whole(-12, 12)), d.dtype)
    for got, want in zip(K.mx_quantize(x, format, rounding), expected(wide(x), format, rounding)):
        exact(got, want)


def rotary(d):
    tokens, width, interleaved = d.whole(1, 5), 2 * d.whole(1, 9), d.one([True, False])
    at, wider = d.r.integers(0, 50, tokens), d.whole(0, 5)
    q, k = (d.given(tokens, d.whole(1, 4), width + wider) for _ in range(2))
    cos, sin = np.split(table(at, width), 2, 1)
    made = K.rotary_embedding(Tensor(at), q, k, K.rotary_cos_sin(50, width), interleaved=interleaved)
    for got, x in zip(made, (q, k)):
        close(got, turned(wide(x), cos, sin, interleaved), d.dtype)


def caches(d):
    tokens, blocks, block, heads, width = d.whole(1, 6), d.whole(1, 5), d.whole(1, 9), d.whole(1, 3), d.whole(1, 20)
    slots = d.r.integers(-1, blocks * block, tokens)
    rows, before = d.given(tokens, heads, width), d.given(blocks, block, heads, width)
    for got in K.reshape_and_cache(rows, rows, before, before, Tensor(slots)):
        close(got, cached(wide(rows), wide(before), slots, d.dtype, 1.0), d.dtype, tolerance=0)


def options(d, h):
    """Options of attention, and the same with tensors."""
    how = {"softcap": d.maybe(2.5), "scale": d.maybe(0.3), "window": d.maybe((d.whole(-1, 4), d.whole(-1, 4)))}
    how |= {name: d.maybe(abs(d.normal(h)), 0.25) for name in ("alibi_slopes", "sinks")}
    how = {name: x for name, x in how.items() if x is not None}
    return how, {name: of(x) if isinstance(x, np.ndarray) else x for name, x in how.items()}


def heads_of(d):
    kv = d.whole(1, 2)
    return kv * d.one([1, 2, 3, 7]), kv, d.one([4, 16, 17, 32, 64]), d.one([1, 8, 32, 33])


def attention(d):
    b, n, m, (h, kv, width, wide_v) = d.whole(1, 2), d.one([1, 2, 7, 17]), d.one([1, 5, 16, 33]), heads_of(d)
    how, given = options(d, h)
    causal = d.one([True, False])
    q, k, v = d.given(b, n, h, width), d.given(b, m, kv, width), d.given(b, m, kv, wide_v)
    out, lse = K.flash_attention(q, k, v, causal=causal, **given, return_lse=True)
    want, of_rows = dense(wide(q), wide(k), wide(v), causal=causal, **how)
    close(out, want, d.dtype)
    close(K.flash_attention(q, k, v, causal=causal, **given), want, d.dtype)
    close(lse, of_rows, "float32", tolerance=2e-3)


def sequences(d):
    count, (h, kv, width, wide_v) = d.whole(1, 3), heads_of(d)
    of_q, of_k = ([d.whole(0, 9) for _ in range(count)] for _ in range(2))
    cu = [np.cumsum([0, *x]) for x in (of_q, of_k)]
    how, given = options(d, h)
    q, k, v = d.given(cu[0][-1] + 1, h, width), d.given(cu[1][-1] + 1, kv, width), d.given(cu[1][-1] + 1, kv, wide_v)
    most = [max(x) + d.whole(0, 2) for x in (of_q, of_k)]
    out = K.flash_attention_varlen(q, k, v, *(Tensor(x) for x in cu), *most, causal=True, **given)
    close(out, apart(wide(q), wide(k), wide(v), *cu, causal=True, **how)[0], d.dtype)


def decoding(d):
    lengths, block, (h, kv, width, wide_v) = (
        [d.whole(0, 40) for _ in range(d.whole(1, 4))],
        d.one([1, 4, 7, 16]),
        heads_of(d),
    )
    tables, blocks = tables_of(d.r, lengths, block)
    how, given = options(d, h)
    if "window" in how:
        how["window"] = given["window"] = (how["window"][0], -1)
    q = d.given(len(lengths), h, width)
    keys, values = (of(cache_of(d.r, blocks, block, (kv, w), tables, lengths), d.dtype) for w in (width, wide_v))
    out = K.paged_attention(q, keys, values, Tensor(tables), Tensor(lengths), **given)
    close(out, paged(wide(q), wide(keys), wide(values), tables, lengths, **how)[0], d.dtype)


def routing(d):
    tokens, groups = d.whole(1, 6), d.one([1, 1, 2, 4])
    experts, kept = groups * d.whole(2, 12), d.whole(1, groups)
    k = d.whole(1, min(9, kept * experts // groups))
    logits = d.r.permutation(tokens * experts).reshape(tokens, experts) / experts - tokens / 2
    how = {"scoring": d.one(["softmax", "sigmoid"]), "renormalize": d.one([True, False])}
    x = of(logits)
    weights, ids = K.topk_softmax(x, k, groups=groups, topk_groups=kept, **how)
    want = [chosen(row, k, groups=groups, topk_groups=kept, **how) for row in wide(x)]
    exact(ids, [i for _, i in want])
    close(weights, np.array([w for w, _ in want]))
    block = d.whole(1, 9)
    found = K.moe_align_block_size(ids, block, experts)
    for got, right in zip(found, aligned(ids.numpy(), block, experts)):
        exact(got, right)


def experts(d):
    t, h, i, count, k = d.whole(1, 5), d.one(WIDTHS), d.whole(1, 20), d.whole(1, 9), d.whole(1, 4)
    x, w1, w2, weights = d.given(t, h), d.given(count, 2 * i, h), d.given(count, h, i), of(d.r.random((t, k)))
    ids, activation = d.r.integers(-1, count, (t, k)), d.one(["silu", "gelu", "gelu_tanh"])
    y = K.fused_moe(x, w1, w2, weights, Tensor(ids), activation=activation)
    close(y, moe(*(wide(a) for a in (x, w1, w2, weights)), ids, activation=activation), d.dtype)


def products(d):
    m, n, k, recipe = d.whole(1, 20), d.one(WIDTHS), d.whole(1, 300), d.one(["one", "rows", "mixed", "blocks", "e8m0"])
    kind = d.one([("int8", "int8"), ("fp8e4m3", "fp8e5m2"), ("fp8e4m3fnuz", "fp8e4m3")])
    a, b = (of(np.rint(d.normal(*s) * 20), t) for s, t in zip(((m, k), (k, n)), kind))
    found, values = grids(d.r, recipe, m, n, k)
    close(F.scaled_mm(a, b, *found, out_dtype="float32"), (wide(a) * values[0]) @ (wide(b) * values[1]), "float32")
    ends = np.sort(d.r.integers(0, m + 1, d.whole(1, 4)))
    x, w = d.given(m, 9), d.given(len(ends), 9, 5)
    close(F.grouped_mm(x, w, Tensor(ends)), by_groups(wide(x), wide(w), ends), d.dtype)


def losses(d):
    n, width, classes = d.whole(1, 9), d.one(WIDTHS), d.whole(2, 140)
    x, w, b, target = d.given(n, width), d.given(classes, width), d.given(classes), d.r.integers(0, classes, n)
    ignored, softcap, smoothing = d.whole(0, 3), d.one([0.0, 3.0]), d.one([0.0, 0.1])
    how = {"ignore_index": ignored, "softcap": softcap, "label_smoothing": smoothing, "reduction": "sum"}
    y = F.linear_cross_entropy(x, w, Tensor(target), b, **how)
    want = loss(wide(x), wide(w), wide(b), target, ignored, smoothing, softcap, "sum")
    close(y, want, d.dtype, tolerance=1e-5 if d.dtype == "float32" else None)


ROWS = [norms, activations, quantisers, microscaling, rotary, caches, attention, sequences, decoding, routing, experts,
        products, losses]  # fmt: skip


def call(seed):
    d = Draw(seed)
    with strict(d.one(ARCHS)):
        ROWS[seed % len(ROWS)](d)


def test_random_arguments_have_numpys_values():
    seconds, seed = float(os.environ.get("STRATA_FUZZ_SECONDS", "0")), int(os.environ.get("STRATA_FUZZ_SEED", "0"))
    start, first = time.monotonic(), seed
    while seed < first + CALLS or time.monotonic() - start < seconds:
        try:
            call(seed)
        except Exception as e:
            raise AssertionError(f"seed {seed}, {ROWS[seed % len(ROWS)].__name__}: {e}") from e
        seed += 1
    print(seed - first, "calls")


if __name__ == "__main__":
    call(int(sys.argv[1]))
