"""Attention is one kernel, recognised by its algebra, with the values of NumPy in float64; its masks, caches and
positions.
"""

import re

import numpy as np
import pytest
import strata
from strata import Tensor, nn

TARGETS = ["hip", "asm"]


def reference(q, k, v, mask=None, scale=None):
    """`mask` is added to the scores."""
    q, k, v = (np.asarray(a, np.float64) for a in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - np.where(np.isfinite(top := scores.max(-1, keepdims=True)), top, 0))
        total = e.sum(-1, keepdims=True)
        return e / np.where(total == 0, 1, total) @ v


# Heads, queries, keys, width; whether a mask is known; kernels, as the times of both forms on the modelled 7900 XTX ask
# for. Microseconds of one kernel and of three, where both were measured by direct lowering.
FORMS = [
    ((8, 1024, 1024, 64), False, 3),  # 165, 138
    ((8, 256, 256, 96), False, 3),  # 24.0, 21.0
    ((8, 1024, 1024, 128), False, 3),  # 494, 166
    ((8, 1024, 1024, 64), True, 1),
    ((4, 2048, 2048, 128), True, 3),  # 414, 322
    ((4, 512, 512, 256), False, 3),  # 245, 52
    ((8, 64, 64, 512), False, 3),
    ((8, 64, 64, 512), True, 1),
    ((8, 128, 128, 128), False, 1),
    ((128, 512, 512, 64), False, 3),  # 805, 628
    ((8, 16, 1024, 512), False, 1),  # 177, 2147
    ((32, 1, 2048, 128), False, 1),
]


@pytest.mark.parametrize("shape, causal, kernels", FORMS)
def test_attention_takes_the_faster_form(shape, causal, kernels):
    h, n, m, d = shape
    q, k, v = Tensor.empty(h, n, d), Tensor.empty(h, m, d), Tensor.empty(h, m, d)
    assert len(strata.compile(nn.scaled_dot_product_attention(q, k, v, causal=causal)).kernels) == kernels


def causal_mask(n, m):
    return np.where(np.arange(m)[None, :] <= np.arange(n)[:, None], 0, -np.inf)


def inputs(rng, n, m, d, e, dtype=np.float32, batch=(2, 3)):
    return tuple(rng.standard_normal((*batch, *shape)).astype(dtype) for shape in ((n, d), (m, d), (m, e)))


def check(y, expected, kernels=1, rtol=2e-5, atol=2e-6):
    assert len(strata.compile(y).kernels) == kernels
    np.testing.assert_allclose(y.numpy(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "n,m,d,e",
    [
        (16, 16, 16, 16),
        (64, 64, 64, 64),
        (5, 7, 3, 2),
        (127, 127, 32, 32),
        (33, 65, 48, 48),
        (1, 300, 64, 64),
        (12, 20, 40, 24),
        (12, 20, 24, 40),
        (8, 9, 127, 127),
        (4, 6, 256, 256),
        (16, 16, 16, 1),
    ],
)
def test_attention_is_one_kernel(n, m, d, e, causal, target, rng):
    q, k, v = inputs(rng, n, m, d, e)
    with strata.config(target=target):
        y = nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), causal=causal)
        check(y, reference(q, k, v, causal_mask(n, m) if causal else None))


@pytest.mark.usual_schedules
@pytest.mark.parametrize("target", TARGETS)
def test_keys_that_no_query_of_a_block_sees_are_not_read(target, rng):
    # Keys after the row's first one, up to its last; rows, since the same graph again has its numbers as parameters.
    for first, end, n in ((-64, 0, 64), (130, 180, 48), (127, 300, 56)):
        q, k, v = inputs(rng, n, 256, 16, 16)

        def seen(arange, first=first, end=end, n=n):
            rows, keys = arange(n).reshape(n, 1), arange(256)
            return (keys > rows + first) & (keys <= rows + end)

        of_some = np.flatnonzero(seen(np.arange).any(0))
        shown, values = k.copy(), v.copy()
        for unseen in (slice(0, of_some[0] // 128 * 128), slice((of_some[-1] // 128 + 1) * 128, None)):
            shown[:, :, unseen] = values[:, :, unseen] = np.nan
        with strata.config(target=target):
            y = nn.scaled_dot_product_attention(Tensor(q), Tensor(shown), Tensor(values), mask=seen(strata.arange))
            check(y, reference(q, k, v, np.where(seen(np.arange), 0, -np.inf)))


@pytest.mark.usual_schedules
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n,m", [(200, 200), (256, 256), (70, 300), (300, 70), (131, 257)])
def test_keys_below_the_diagonal_are_walked_without_masks(n, m, arch, target, rng):
    q, k, v = inputs(rng, n, m, 32, 32, batch=(2,))
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        y = nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), causal=True)
        check(y, reference(q, k, v, causal_mask(n, m)))


@pytest.mark.amd
@pytest.mark.usual_schedules
@pytest.mark.parametrize("arch", ["gfx942", "gfx90a"])
def test_keys_of_the_next_tile_are_read_while_cdna_multiplies(arch):
    q, k, v = (Tensor.empty(2, 512, 64, dtype="float16") for _ in range(3))
    (kernel,) = strata.compile(nn.scaled_dot_product_attention(q, k, v), arch=arch, target="asm").kernels
    loop = kernel.assembly[re.search(r"^r\d+:", kernel.assembly, re.MULTILINE).end() :]
    loop = loop[: loop.index("s_cbranch")]
    assert loop.index("ds_write") < loop.rindex("s_barrier") < loop.index("global_load") < loop.rindex("v_mfma")


@pytest.mark.amd
@pytest.mark.usual_schedules
@pytest.mark.parametrize("target", TARGETS)
def test_the_first_of_two_loops_has_no_mask(target, rng):
    q, k, v = inputs(rng, 256, 256, 64, 64, batch=(2,))
    (kernel,) = strata.compile(
        nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), causal=True), arch="gfx1100", target=target
    ).kernels
    if target == "asm":
        lines = kernel.assembly.splitlines()
        start = next(i for i, line in enumerate(lines) if re.match(r"r\d+:", line))
        end = next(i for i, line in enumerate(lines) if i > start and "s_cbranch" in line)
        masks = r"v_cmp_\w+_[iu]32"
    else:
        lines = kernel.source.splitlines()
        start = next(i for i, line in enumerate(lines) if "for (" in line)
        end = next(i for i, line in enumerate(lines) if i > start and line == "    }")
        masks = r" < (idx|alu|r)\d+"
    of_loop, behind = "\n".join(lines[start + 1 : end]), "\n".join(lines[end:])
    assert len(of_loop) > 1000
    assert not re.search(masks, of_loop)
    assert re.search(masks, behind)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("target", TARGETS)
def test_attention_on_every_arch_in_strict_mode(arch, target, rng):
    q, k, v = inputs(rng, 24, 40, 32, 32)
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        check(
            nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), causal=True),
            reference(q, k, v, causal_mask(24, 40)),
        )


@pytest.mark.parametrize("target", TARGETS)
def test_a_bias_a_scale_and_boolean_masks_stay_in_the_kernel(target, rng):
    q, k, v = inputs(rng, 30, 50, 32, 32)
    bias = rng.standard_normal((3, 30, 50)).astype(np.float32)
    shown = rng.random((30, 50)) < 0.3
    shown[4], shown[9, :45] = False, False
    with strata.config(target=target):
        a, b, c = Tensor(q), Tensor(k), Tensor(v)
        check(nn.scaled_dot_product_attention(a, b, c, scale=0.7), reference(q, k, v, scale=0.7))
        check(nn.scaled_dot_product_attention(a, b, c, mask=Tensor(bias)), reference(q, k, v, bias))
        check(
            nn.scaled_dot_product_attention(a, b, c, mask=Tensor(bias), causal=True),
            reference(q, k, v, bias + causal_mask(30, 50)),
        )
        masked = nn.scaled_dot_product_attention(a, b, c, mask=Tensor(shown))
        check(masked, reference(q, k, v, np.where(shown, 0, -np.inf)))
        assert (masked.numpy()[:, :, 4] == 0).all()


@pytest.mark.parametrize("target", TARGETS)
def test_large_scores_neither_overflow_nor_vanish(target, rng):
    q, k, v = inputs(rng, 20, 64, 16, 16)
    for factor in (3e3, -3e3):
        scores = (q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)) * factor
        assert np.abs(scores).max() > 1e4
        with strata.config(target=target):
            y = nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), scale=factor)
            # A score is rounded at about 1e4: by 1e-3, which is a relative error of its exponential.
            check(y, reference(q, k, v, scale=factor), rtol=2e-2, atol=2e-2)
    low = np.full((20, 64), -3e38, np.float32)
    with strata.config(target=target):
        check(
            nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), mask=Tensor(low)),
            np.broadcast_to(v.mean(-2, keepdims=True), q.shape),
            rtol=1e-4,
            atol=1e-4,
        )


@pytest.mark.parametrize("target", TARGETS)
def test_scores_that_are_not_finite_come_out_as_without_fusion(target, rng):
    q, k, v = inputs(rng, 6, 40, 8, 8, batch=())
    bias = np.zeros((6, 40), np.float32)
    bias[0, 3], bias[1, 39], bias[2, 0], bias[3], bias[4, :20] = np.nan, np.inf, -np.inf, -np.inf, -np.inf
    with strata.config(target=target):
        a, b, c, d = (Tensor(x) for x in (q, k, v, bias))
        scores = ((a @ b.mT) * (1 / np.sqrt(8)) + d).realize()
        apart = (scores.softmax(-1).realize() @ c).numpy()
        assert np.isnan(apart[[0, 1, 3]]).all() and np.isfinite(apart[[2, 4, 5]]).all()
        apart[3] = 0  # attention has no key to see there
        np.testing.assert_allclose(
            nn.scaled_dot_product_attention(a, b, c, mask=d).numpy(), apart, rtol=2e-5, atol=2e-6
        )


# One kernel, the weights in memory between two, a wide head, and without schedule: shapes, settings.
WAYS = {
    "fused": ((12, 20, 16, 16), {}),
    "in steps": ((12, 20, 16, 16), {"fusion": "less"}),
    "wide": ((4, 20, 600, 600), {}),
    "no schedule": ((12, 20, 16, 16), {"schedule": "none"}),
}
UNSEEN = [(way, "gfx1100", "asm", mask) for way in WAYS for mask in ("boolean", "added", "causal")]
UNSEEN += [
    ("fused", arch, target, "boolean")
    for arch, target in (("gfx1100", "hip"), ("gfx1201", "asm"), ("gfx942", "asm"), ("gfx90a", "asm"))
]


def weighed(q, k, v, shown):
    """By the definition, where a row that sees nothing has the total 1."""
    e = ((q @ k.mT) * q.shape[-1] ** -0.5).exp() * Tensor(shown * 1.0)
    return e / (e.sum(-1, keepdims=True) + Tensor(~shown.any(-1)[:, None] * 1.0)) @ v


@pytest.mark.parametrize("way,arch,target,mask", UNSEEN)
def test_a_row_that_sees_no_key_is_0_and_gets_no_gradient(way, arch, target, mask, rng):
    (n, m, d, e), settings = WAYS[way]
    arrays = inputs(rng, n, m, d, e, batch=(2,))
    shown = rng.random((n, m)) < 0.4
    shown[0], shown[3, :4] = False, False  # with the causal mask row 3 sees nothing either
    seen = shown & np.isfinite(causal_mask(n, m)) if mask == "causal" else shown
    with strata.config(device=f"emu:{arch}", target=target, **settings):
        given = Tensor(shown) if mask != "added" else Tensor(np.where(shown, 0, -np.inf).astype(np.float32))
        attend = lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, mask=given, causal=mask == "causal")  # noqa: E731
        tensors = [Tensor(x) for x in arrays]
        y, slopes = attend(*tensors), strata.grad(lambda *t: attend(*t).square().sum(), (0, 1, 2))(*tensors)
        unseen = ~seen.any(-1)
        assert (y.numpy()[:, unseen] == 0).all() and (slopes[0].numpy()[:, unseen] == 0).all()
        wide = [Tensor(x.astype(np.float64)) for x in arrays]
        np.testing.assert_allclose(y.numpy(), weighed(*wide, seen).numpy(), rtol=2e-5, atol=2e-6)
        for got, want in zip(slopes, strata.grad(lambda *t: weighed(*t, seen).square().sum(), (0, 1, 2))(*wide)):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_operands_are_summed_in_float32(dtype, target, rng):
    q, k, v = inputs(rng, 32, 48, 64, 64)
    with strata.config(target=target):
        narrow = [Tensor(x).cast(getattr(strata.dtypes, dtype)).realize() for x in (q, k, v)]
        exact = reference(*(t.cast(strata.dtypes.float32).numpy() for t in narrow), causal_mask(32, 48))
        y = nn.scaled_dot_product_attention(*narrow, causal=True)
        assert len(strata.compile(y).kernels) == 1
        # The weights of matrix instructions and the result are rounded once each, and nothing else.
        step = 2.0**-11 if dtype == "float16" else 2.0**-8
        of_weights = reference(
            *(
                np.abs(t.cast(strata.dtypes.float32).numpy())
                if t is narrow[2]
                else t.cast(strata.dtypes.float32).numpy()
                for t in narrow
            ),
            causal_mask(32, 48),
        )
        assert (
            np.abs(y.cast(strata.dtypes.float32).numpy() - exact) <= 1.01 * step * (np.abs(exact) + of_weights) + 1e-5
        ).all()


@pytest.mark.parametrize("target", TARGETS)
def test_heads_that_share_keys_and_values_read_them_in_place(target, rng):
    q = rng.standard_normal((2, 6, 20, 32)).astype(np.float32)
    k, v = (rng.standard_normal((2, 2, 30, 32)).astype(np.float32) for _ in range(2))
    expected = reference(q, *(np.repeat(x, 3, axis=1) for x in (k, v)))
    with strata.config(target=target):
        expanded = [Tensor(x).reshape(2, 2, 1, 30, 32).expand(2, 2, 3, 30, 32).reshape(2, 6, 30, 32) for x in (k, v)]
        check(nn.scaled_dot_product_attention(Tensor(q), *expanded), expected)
        grouped = nn.scaled_dot_product_attention(
            Tensor(q).reshape(2, 2, 3, 20, 32), *(Tensor(x).reshape(2, 2, 1, 30, 32) for x in (k, v))
        )
        check(grouped.reshape(2, 6, 20, 32), expected)


def by_hand(q, k, v):
    s = q @ k.mT
    e = (s - s.max(-1, keepdims=True)).exp()
    return e, e.sum(-1, keepdims=True), v


WRITTEN = {
    "divided first": lambda e, total, v: (e / total) @ v,
    "divided last": lambda e, total, v: (e @ v) / total,
    "masked by what is multiplied": lambda e, total, v: (e / total * 2.0) @ (v * 0.5),
    "scaled after": lambda e, total, v: ((e / total) @ v).mul(3.0) / 3.0,
}


@pytest.mark.parametrize("name", WRITTEN)
def test_it_is_the_algebra_that_counts(name, rng):
    q, k, v = inputs(rng, 24, 24, 24, 24)
    of_it = WRITTEN[name]
    expected = reference(q, k, v, scale=1)
    check(of_it(*by_hand(Tensor(q), Tensor(k), Tensor(v))), expected)
    check(of_it(*by_hand(Tensor(q), Tensor(k), Tensor(v))).mT.contiguous(), expected.swapaxes(-1, -2))


def test_weights_that_others_need_too_are_stored(rng):
    q, k, v = inputs(rng, 8, 8, 8, 8)
    a, b, c = Tensor(q), Tensor(k), Tensor(v)
    weights = (a @ b.mT).softmax(-1)
    y = weights @ c
    with strata.config(fusion="less"):
        assert len(strata.compile([y, weights]).kernels) == 3
    strata.realize([y, weights])
    np.testing.assert_allclose(y.numpy(), reference(q, k, v, scale=1), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("of", ["product", "scores", "exponentials"])
def test_what_is_on_the_way_may_be_a_result_that_nothing_else_uses(of, rng):
    x = rng.standard_normal((9, 5)).astype(np.float32)
    t = Tensor(x)
    scores = t @ t.mT * 0.5
    way = {"product": t @ t.mT, "scores": scores, "exponentials": (scores - scores.max(-1, keepdims=True)).exp()}[of]
    other = strata.where(way.tril() > 0.1, way, -1.0)
    out = scores.softmax(-1) @ t
    strata.realize([other, out])
    s = x @ x.T * np.float32(0.5)
    want = {"product": x @ x.T, "scores": s, "exponentials": np.exp(s - s.max(-1, keepdims=True))}[of]
    weights = np.exp(s - s.max(-1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), weights / weights.sum(-1, keepdims=True) @ x, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(other.numpy(), np.where(np.tril(want) > 0.1, want, -1), rtol=2e-5, atol=2e-6)


@pytest.mark.usual_schedules
@pytest.mark.parametrize("n,m,d,e", [(128, 128, 64, 64), (127, 127, 64, 64), (127, 130, 20, 20), (64, 64, 24, 40)])
def test_keys_are_walked_once(n, m, d, e):
    q, k, v = Tensor.empty(2, n, d), Tensor.empty(2, m, d), Tensor.empty(2, m, e)
    with strata.config(target="hip"):
        bias = Tensor.empty(n, m)
        (kernel,) = strata.compile(nn.scaled_dot_product_attention(q, k, v, mask=bias)).kernels
    assert kernel.source.count("for (") == 1


def test_scores_never_reach_memory():
    q, k, v = (Tensor.ones(4, 8, 128, 64).realize() for _ in range(3))
    strata.reset_stats()
    nn.scaled_dot_product_attention(q, k, v, causal=True).realize()
    assert strata.stats().kernels == 1
    assert strata.stats().bytes == 4 * 4 * 8 * 128 * 64 * 4


def test_a_head_that_registers_cannot_hold_is_two_products_and_told_why(rng):
    q, k, v = inputs(rng, 8, 8, 600, 600, batch=(1,))
    y = nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v))
    assert "a separate kernel is faster" in str(strata.explain(y))
    check(y, reference(q, k, v), kernels=2)  # the first finishes the weights, which are few


def test_a_search_of_its_schedule_keeps_it_right(rng):
    q, k, v = inputs(rng, 32, 48, 32, 32, batch=(2,))
    with strata.config(beam=1):
        check(
            nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), causal=True),
            reference(q, k, v, causal_mask(32, 48)),
        )


def test_a_layer_of_a_transformer_is_seven_kernels():
    from strata_tools.bench.graphs import Transformer, tokens

    counts = [len(strata.compile(Transformer(layers)(tokens(0))).kernels) for layers in (1, 2)]
    assert counts[1] - counts[0] == 7


@pytest.mark.parametrize("mask", ["boolean", "float32", "float16"])
def test_a_layer_that_continues_a_cache_sees_what_the_whole_would(mask):
    m, x = nn.MultiheadAttention(8, 2, causal=True, rope=100.0), Tensor.randn(1, 6, 8).realize()
    keep = np.ones((6, 6), bool)
    keep[2:, 1] = False
    given = Tensor(keep) if mask == "boolean" else Tensor(np.where(keep, 0.0, -np.inf)).cast(mask)
    whole, cache = m(x, mask=given).numpy(), nn.KVCache()
    parts = [m(x[:, a:b], mask=given[a:b, :b], cache=cache).numpy() for a, b in ((0, 4), (4, 5), (5, 6))]
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, atol=1e-6)


@pytest.mark.parametrize("start", [0, 5, 10_000, 100_000, 1_000_000, 2**31, 12345.75, -3])
def test_rotary_positions_are_as_exact_far_away(start):
    angle = (start + np.arange(3)[:, None]) * 10000.0 ** (-np.arange(32) / 32)
    for dtype, most in (("float32", 5e-7), ("bfloat16", 2**-8 * 1.5)):
        y = nn.rotary_embedding(Tensor.ones(1, 3, 64, dtype=dtype), offset=start).cast("float32").numpy()[0]
        assert (
            np.abs(y - np.concatenate([np.cos(angle) - np.sin(angle), np.cos(angle) + np.sin(angle)], 1)).max() < most
        )


def test_any_schedule_of_one_tensor_for_all_three_keeps_its_values(rng):
    """Columns of the keys and of the result are one loop then. Loops inside a step may read again the values that the
    step copies to local memory.
    """
    draws = [(seed, 4, 50) for seed in (*range(200, 240), 31000504)] + [
        (seed, int(rng.integers(4, 12)), int(rng.choice([8, 20, 33, 50, 64]))) for seed in range(80)
    ]
    for seed, rows, width in draws:
        x = rng.standard_normal((rows, width)).astype(np.float32)
        with strata.config(target="asm", schedule="random", schedule_seed=seed):
            t = Tensor(x)
            got = nn.scaled_dot_product_attention(t, t, t, causal=True).numpy()
        want = reference(x, x, x, np.where(np.tri(rows, dtype=bool), 0, -np.inf))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=f"{seed} {rows} {width}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_nan_by_matrix_instructions_reaches_the_rows_that_see_it(arch, dtype):
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((1, 2, 128, 64)).astype(np.float32) for _ in range(3))
    k[0, 0, 5, 3], q[0, 1, 7] = np.nan, np.nan
    with strata.config(device=f"emu:{arch}", target="asm"):
        given = (Tensor(x).cast(dtype) for x in (q, k, v))
        is_nan = np.isnan(nn.scaled_dot_product_attention(*given, causal=True).cast("float32").numpy())
    assert is_nan[0, 0, 5:].all() and not is_nan[0, 0, :5].any()
    assert is_nan[0, 1, 7].all() and not np.delete(is_nan[0, 1], 7, 0).any()
