"""Attention and its gradients by matrix instructions: values of NumPy in float64, and no scores in memory."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-20}


def reference(q, k, v, g, bias, scale):
    """The result and what arrives at q, k and v, whose heads each serve a group of q's. `bias` is added to scores."""
    groups = q.shape[-3] // k.shape[-3]
    wide_k, wide_v = (np.repeat(x, groups, axis=-3) for x in (k, v))
    scores = q @ wide_k.swapaxes(-1, -2) * scale + bias
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    dp = g @ wide_v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    grouped = lambda x: x.reshape(*x.shape[:-3], k.shape[-3], groups, *x.shape[-2:]).sum(-3)  # noqa: E731
    return p @ wide_v, ds @ wide_k, grouped(ds.swapaxes(-1, -2) @ q), grouped(p.swapaxes(-1, -2) @ g)


def drawn(rng, dtype, *shapes):
    return [Tensor(rng.standard_normal(s).astype(np.float32)).cast(dtype).realize() for s in shapes]


def wide(tensor):
    return tensor.cast("float32").numpy().astype(np.float64)


def near(got, want, dtype):
    for a, b in zip(got, want):
        assert np.abs(wide(a) - b).max() <= 4 * UNIT[dtype] * np.abs(b).max()


def attend(q, k, v, mask, causal, scale):
    k, v = (x.repeat(q.shape[-3] // x.shape[-3], -3) if q.shape[-3] > x.shape[-3] else x for x in (k, v))
    return nn.scaled_dot_product_attention(q, k, v, mask=mask, causal=causal, scale=scale)


def with_gradients(q, k, v, g, mask=None, causal=False, scale=None):
    y = attend(q, k, v, mask, causal, scale)
    return [y, *strata.gradients(y, [q, k, v], g)]


def bias_of(n, m, causal, mask=None):
    bias = np.where(np.arange(m)[None, :] <= np.arange(n)[:, None], 0, -np.inf) if causal else np.zeros((n, m))
    return bias if mask is None else bias + mask


# Batch and heads of q and of k, queries, keys, width; causal.
SHAPES = [
    ((1, 2, 2), (64, 64, 64), True),
    ((1, 2, 2), (96, 160, 32), False),
    ((2, 2, 1), (128, 128, 64), True),  # two heads read one head of keys
    ((1, 1, 1), (77, 131, 48), True),
    ((1, 1, 1), (130, 67, 128), False),
    ((1, 2, 2), (256, 256, 128), True),
]
CASES = [
    (shape, arch, "asm", dtype) for shape in SHAPES for arch, dtype in (("gfx1100", "float16"), ("gfx942", "bfloat16"))
]
CASES += [
    (SHAPES[0], arch, "asm", dtype)
    for arch, dtype in (("gfx1201", "bfloat16"), ("gfx90a", "float16"), ("gfx1100", "bfloat16"), ("gfx942", "float16"))
]
CASES += [(SHAPES[3], arch, "hip", dtype) for arch, dtype in (("gfx1100", "bfloat16"), ("gfx942", "float16"))]


@pytest.mark.parametrize("shape,arch,target,dtype", CASES)
def test_attention_and_its_gradients_have_the_values_of_float64(shape, arch, target, dtype, rng):
    (batch, heads, of_keys), (n, m, d), causal = shape
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        q, k, v, g = drawn(
            rng, dtype, (batch, heads, n, d), (batch, of_keys, m, d), (batch, of_keys, m, d), (batch, heads, n, d)
        )
        got = with_gradients(q, k, v, g, causal=causal)
        strata.realize(*got)
        near(got, reference(*map(wide, (q, k, v, g)), bias_of(n, m, causal), d**-0.5), dtype)


@pytest.mark.parametrize("kind", ["boolean", "added", "added with a gradient"])
@pytest.mark.parametrize("arch,dtype", [("gfx1100", "bfloat16"), ("gfx942", "float16")])
def test_masks_and_what_is_added_to_scores_stay_in_the_kernels(kind, arch, dtype, rng):
    n, m, d = 64, 96, 32
    bias = (
        rng.standard_normal((n, m)).astype(np.float32)
        if kind != "boolean"
        else np.where(rng.random((n, m)) < 0.4, 0, -np.inf).astype(np.float32)
    )
    if kind == "boolean":
        bias[5] = -np.inf
    with strata.config(device=f"emu:{arch}", target="asm", check="raise"):
        q, k, v, g = drawn(rng, dtype, (1, 2, n, d), (1, 2, m, d), (1, 2, m, d), (1, 2, n, d))
        mask = Tensor(np.isfinite(bias)) if kind == "boolean" else Tensor(bias)
        want = reference(*map(wide, (q, k, v, g)), bias.astype(np.float64), 0.3)
        got = with_gradients(q, k, v, g, mask, scale=0.3)
        strata.realize(*got)
        near(got, want, dtype)
        if kind == "added with a gradient":
            y = attend(q, k, v, mask, False, 0.3)
            (to_bias,) = strata.gradients(y, [mask], g)
            with strata.config(target="asm"):
                wide_q, wide_k, wide_v, wide_g = (Tensor(wide(x)) for x in (q, k, v, g))
                exact = ((wide_q @ wide_k.mT) * 0.3 + mask).softmax(-1) @ wide_v
                (want_bias,) = strata.gradients(exact, [mask], wide_g)
            near([to_bias], [want_bias.numpy()], dtype)


# Keys that a row sees, from the first on and before the last, of i rows and m keys.
INTERVALS = {
    "window": lambda i, m: (i - 20, i + 1),
    "around": lambda i, m: (i - 9, i + 40),
    "after": lambda i, m: (i, m + 0 * i),
    "far": lambda i, m: (i + 50, i + 90),
    "some": lambda i, m: (0 * i + 35, 0 * i + m - 30),
}


def sees(kind, n, m, arange):
    """Boolean (n, m), of `arange`: of the host or of the device."""
    i, j = arange(n).reshape(n, 1), arange(m).reshape(1, m)
    first, end = INTERVALS[kind](i, m)
    return (j >= first) & (j < end)


INTERVAL_CASES = [
    (kind, arch, "asm", dtype) for kind in INTERVALS for arch, dtype in (("gfx1100", "float16"), ("gfx942", "bfloat16"))
] + [
    ("window", "gfx1100", "hip", "bfloat16"),
    ("window", "gfx942", "hip", "float16"),
    ("around", "gfx942", "asm", "float32"),
]


@pytest.mark.parametrize("kind,arch,target,dtype", INTERVAL_CASES)
def test_intervals_of_keys_have_the_values_of_float64(kind, arch, target, dtype, rng):
    n, m, d = 150, 171, 32
    bias = np.where(sees(kind, n, m, np.arange), 0, -np.inf)
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        q, k, v, g = drawn(rng, dtype, (1, 1, n, d), (1, 1, m, d), (1, 1, m, d), (1, 1, n, d))
        got = with_gradients(q, k, v, g, sees(kind, n, m, strata.arange))
        strata.realize(*got)
        near(got, reference(*map(wide, (q, k, v, g)), bias, d**-0.5), dtype)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("n,d", [(777, 64), (512, 128)])
def test_no_gradient_takes_much_longer_than_another(n, d, arch):
    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        q, k, v, g = (Tensor.empty(2, 8, n, d, dtype="float16").realize() for _ in range(4))
        y, *gradients = with_gradients(q, k, v, g, causal=True)
        with strata.profile() as profile:
            strata.realize(*gradients)
    times = [one["time_ms"] for one in profile.launches][-3:]  # what each has to add up is known before
    assert max(times) < 2 * min(times), profile.launches


@pytest.mark.parametrize("arch,dtype", [("gfx1100", "float16"), ("gfx942", "bfloat16")])
def test_time_goes_with_the_keys_that_rows_see(arch, dtype):
    """A window of 32 of 2048 keys takes less than a third of all before the diagonal, gradients too."""
    n, d = 4096, 32

    def ms(causal, with_result):
        q, k, v, g = (Tensor.empty(16, n, d, dtype=dtype).realize() for _ in range(4))
        i, j = strata.arange(n).reshape(n, 1), strata.arange(n)
        results = with_gradients(q, k, v, g, None if causal else (j <= i) & (j > i - 32), causal)
        strata.reset_stats()
        strata.realize(*(results[:1] if with_result else results[1:]))
        return strata.stats().time_ms

    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        for with_result in (True, False):
            assert ms(False, with_result) < ms(True, with_result) / 3


@pytest.mark.parametrize("arch,dtype", [("gfx1100", "float16"), ("gfx942", "bfloat16")])
@pytest.mark.parametrize("causal", [False, True])
def test_neither_scores_nor_weights_are_in_memory(causal, arch, dtype):
    heads, n, d = 2, 2048, 64
    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        q, k, v, g = (Tensor.empty(heads, n, d, dtype=dtype).realize() for _ in range(4))
        strata.reset_stats()
        before = strata.stats().live_bytes
        results = with_gradients(q, k, v, g, causal=causal)
        strata.realize(*results)
        stats = strata.stats()
    of_one = heads * n * d * 2
    assert stats.kernels == 5
    assert stats.peak_bytes - before <= 9 * of_one  # operands, results, and two numbers a row
    assert stats.bytes <= 23 * of_one  # operands and results of five kernels: less than scores of 16 bits are
    assert 23 * of_one < heads * n * n * 2


HEADS, LENGTH, WIDTH = 4, 512, 32


def layers(x, weights, causal):
    """Attention over projections of x (length, heads * width), one layer after another, each beside a product."""
    heads = lambda y: y.reshape(LENGTH, HEADS, WIDTH).permute(1, 0, 2)  # noqa: E731
    for to_query, to_key, to_value, out in weights:
        q, k, v = (heads(x @ w) for w in (to_query, to_key, to_value))
        y = nn.scaled_dot_product_attention(q, k, v, causal=causal)
        x = x + y.permute(1, 0, 2).reshape(LENGTH, HEADS * WIDTH) @ out
    return x


def kernels_and_peak(layer_count, causal, with_result):
    size = HEADS * WIDTH
    x = Tensor.empty(LENGTH, size, dtype="bfloat16").realize()
    weights = [[Tensor.empty(size, size, dtype="bfloat16").realize() for _ in range(4)] for _ in range(layer_count)]
    strata.reset_stats()
    before = strata.stats().live_bytes
    y = layers(x, weights, causal)
    slopes = strata.gradients(y.cast("float32").square().sum(), [x, *(w for of_one in weights for w in of_one)])
    strata.realize(*([y] if with_result else []), *slopes)
    return strata.stats().kernels, strata.stats().peak_bytes - before


@pytest.mark.parametrize("with_result", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_attention_in_company_stores_no_scores_and_computes_no_layer_twice(arch, causal, with_result):
    with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
        counts, peaks = zip(*(kernels_and_peak(n, causal, with_result) for n in (1, 2, 3)))
    assert counts[2] - counts[1] == counts[1] - counts[0], "another layer takes as many kernels as the one before"
    assert peaks[0] < HEADS * LENGTH * LENGTH * 2, "scores of 16 bits alone take more"


def test_a_second_gradient_is_that_of_the_composition(rng):
    q, k, v = (Tensor(rng.standard_normal((2, 6, 4))) for _ in range(3))
    composed = lambda q, k, v: ((q @ k.mT) * 0.5).softmax(-1) @ v  # noqa: E731
    own = lambda q, k, v: nn.scaled_dot_product_attention(q, k, v)  # noqa: E731
    second = []
    for f in (own, composed):
        slope = strata.grad(lambda *t: f(*t).square().sum(), 0)  # noqa: B023
        second.append(strata.grad(lambda *t: slope(*t).square().sum(), (0, 1, 2))(q, k, v))  # noqa: B023
    for a, b in zip(*second):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("asked", ["product", "weights"])
def test_what_is_asked_for_beside_gradients_is_stored_and_read(asked, rng):
    n, d = 64, 32
    q, k, v, g = drawn(rng, "float16", *[(2, n, d)] * 4)
    scores = q.cast("float32") @ k.cast("float32").mT
    other = scores if asked == "product" else (scores * d**-0.5).softmax(-1)
    got = with_gradients(q, k, v, g)
    strata.realize(other, *got)
    want = reference(*(wide(x)[:, None] for x in (q, k, v, g)), 0, d**-0.5)
    near(got, [x[:, 0] for x in want], "float16")
    exact = wide(q) @ wide(k).swapaxes(-1, -2)
    weights = np.exp(exact * d**-0.5) / np.exp(exact * d**-0.5).sum(-1, keepdims=True)
    np.testing.assert_allclose(other.numpy(), exact if asked == "product" else weights, rtol=1e-4, atol=1e-4)
