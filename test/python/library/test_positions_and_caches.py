"""Rotary positions and the rows of caches, against NumPy: exact angles, slots that store, errors that name a value."""

import numpy as np
import pytest
import strata
from by_numpy import ARCHS, check_slopes, close, exact, kernels, of, strict, wide
from formats import rounded
from strata import Tensor, kernels as K, nn

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]


def table(positions, width, base=10000.0):
    pairs = width // 2
    angle = np.asarray(positions, np.float64)[:, None] * base ** (-np.arange(pairs) / pairs)
    return np.concatenate([np.cos(angle), np.sin(angle)], 1)


@pytest.mark.parametrize("arch, base", [*zip(ARCHS, [10000.0, 500000.0, 10000.0, 1e6])])
def test_cosines_are_as_exact_far_from_0_as_near_it(arch, base):
    with strict(arch):
        found = K.rotary_cos_sin(1_000_001, 8, base)
        for at in (0, 1, 100_000, 999_999, 1_000_000):
            np.testing.assert_allclose(wide(found[at : at + 1]), table([at], 8, base), rtol=0, atol=1e-6)
    assert kernels(K.rotary_cos_sin(64, 8)) == 1


def test_rotary_of_nn_is_exact_far_from_0(rng):
    x = rng.standard_normal((1, 2, 8))
    cos, sin = np.split(table([1_000_000, 1_000_001], 8), 2, 1)
    a, b = np.split(x[0], 2, -1)
    want = np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)[None]
    close(nn.rotary_embedding(of(x), 1_000_000), want, tolerance=2e-6)


def turned(x, cos, sin, interleaved):
    """x (..., heads, d) by tables (..., pairs)."""
    cos, sin, pairs = cos[..., None, :], sin[..., None, :], cos.shape[-1]
    places = (
        [np.arange(0, 2 * pairs, 2), np.arange(1, 2 * pairs, 2)] if interleaved else np.split(np.arange(2 * pairs), 2)
    )
    out = x.copy()
    out[..., places[0]] = x[..., places[0]] * cos - x[..., places[1]] * sin
    out[..., places[1]] = x[..., places[1]] * cos + x[..., places[0]] * sin
    return out


# Card, shape of positions, heads, width, width that turns, interleaved, type, kernels.
TURNS = [
    ("gfx1100", (5,), (7, 1), 64, 64, False, "bfloat16", 2),
    ("gfx1201", (2, 3), (4, 2), 32, 16, True, "float16", 4),
    ("gfx942", (1,), (8, 1), 80, 20, False, "float32", 4),
    ("gfx90a", (2, 2), (2, 2), 6, 6, True, "float32", 1),
]


@pytest.mark.parametrize("arch, shape, heads, d, width, interleaved, dtype, count", TURNS)
def test_queries_and_keys_turn_by_their_positions(arch, shape, heads, d, width, interleaved, dtype, count, rng):
    at = rng.integers(0, 300, shape).astype(rng.choice([np.int32, np.int64]))
    q, k = (rng.standard_normal((*shape, h, d)) for h in heads)
    q[..., 0, width:] = np.inf  # beyond the table
    with strict(arch):
        q, k, cache = of(q, dtype), of(k, dtype), K.rotary_cos_sin(300, width).realize()
        made = K.rotary_embedding(Tensor(at).realize(), q, k, cache, interleaved=interleaved)
        assert kernels(*made) == count
        cos, sin = np.split(table(at.reshape(-1), width).reshape(*shape, width), 2, -1)
        for got, x in zip(made, (q, k)):
            close(got, turned(wide(x), cos, sin, interleaved), dtype)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("width", [6, 4])
def test_slopes_of_turned_elements_are_those_of_numpy(width, interleaved, rng):
    at, cache = np.array([3, 0, 9]), table(range(10), width)
    cos, sin = np.split(cache[at], 2, 1)

    def f(q, k):
        made = K.rotary_embedding(Tensor(at), q, k, of(cache), interleaved=interleaved)
        return strata.cat([x.cast("float32") for x in made], 1)

    def reference(q, k):
        return np.concatenate([turned(x, cos, sin, interleaved) for x in (q, k)], 1)

    check_slopes(f, reference, [rng.standard_normal((3, 2, 6)), rng.standard_normal((3, 1, 6))])


@pytest.mark.parametrize("bad", [10, -1, 2**40])
def test_a_position_out_of_range_is_an_error_that_names_it(bad):
    q = Tensor.ones(2, 1, 4).contiguous()
    with pytest.raises(strata.MemoryFault, match=f"index {bad} is outside of axis 0"):
        K.rotary_embedding(Tensor([3, bad]), q, q, K.rotary_cos_sin(10, 4))[0].numpy()


def cached(rows, cache, slots, dtype, scale):
    """The cache with the rows at their slots, one after the other."""
    flat = cache.reshape(-1, *cache.shape[2:]).copy()
    for row, slot in zip(rows, slots):
        if slot != -1:
            value = row / scale
            if dtype.startswith("fp8"):
                value = rounded(dtype, value.clip(-448, 448))
            elif dtype == "int8":
                value = np.rint(value).clip(-128, 127)
            flat[slot] = value
    return flat.reshape(cache.shape)


# Card, blocks, block, heads, widths of keys and values, types of rows and cache, scale.
CACHES = [
    ("gfx1100", 5, 16, 2, (64, 64), "bfloat16", "bfloat16", None, 3),
    ("gfx1201", 9, 7, 1, (80, 16), "float16", "fp8e4m3", 0.5, 6),
    ("gfx942", 3, 1, 3, (32, 8), "float32", "int8", "heads", 6),
    ("gfx90a", 2, 256, 1, (8, 8), "float32", "float32", None, 3),
]


@pytest.mark.parametrize("arch, blocks, block, heads, widths, of_rows, dtype, scale, count", CACHES)
def test_rows_are_stored_at_their_slots(arch, blocks, block, heads, widths, of_rows, dtype, scale, count, rng):
    last = blocks * block - 1
    slots = np.array([0, -1, last, 1, 2 % last, 1, -1], np.int32 if block % 2 else np.int64)
    with strict(arch):
        key, value = (of(rng.standard_normal((7, heads, w)) * 40, of_rows) for w in widths)
        before = [rng.integers(-9, 9, (blocks, block, heads, w)).astype(float) for w in widths]
        caches = [of(x).cast(dtype).realize() for x in before]
        factor = rng.uniform(0.2, 1, heads) if scale == "heads" else scale
        given = of(factor) if scale == "heads" else factor
        made = K.reshape_and_cache(key, value, *caches, Tensor(slots), k_scale=given, v_scale=given)
        assert kernels(*made) == count
        by = 1.0 if factor is None else np.float32(factor).astype(float).reshape(-1, 1) * np.ones((heads, 1))
        for got, rows, cache in zip(made, (key, value), before):
            want = cached(wide(rows), cache, slots, dtype, by)
            if dtype in ("int8", "fp8e4m3"):
                got = got.cast("float32")
            close(got, want, tolerance=0)


def test_a_row_that_stores_nothing_may_be_nan(rng):
    rows, cache = rng.standard_normal((3, 1, 4)), np.zeros((2, 2, 1, 4))
    rows[1] = np.nan
    made = K.reshape_and_cache(of(rows), of(rows), of(cache), of(cache), Tensor([3, -1, 3]))
    want = cached(rows, cache, [3, -1, 3], "float32", 1.0)
    for got in made:
        close(got, want)


@pytest.mark.parametrize("bad", [4, 1000, -2])
def test_a_slot_out_of_range_is_an_error(bad, rng):
    rows, cache = of(np.ones((2, 1, 4))), of(np.zeros((2, 2, 1, 4)))
    with pytest.raises(strata.MemoryFault, match=f"index {bad} is outside of axis 0"):
        K.reshape_and_cache(rows, rows, cache, cache, Tensor([0, bad]))[0].numpy()


def test_no_tokens_and_no_slots_change_nothing():
    cache, none = of(np.ones((2, 2, 1, 4))), Tensor.zeros(0, 1, 4)
    for got in K.reshape_and_cache(none, none, cache, cache, Tensor.zeros(0, dtype="int32")):
        exact(got, cache.numpy())
    q = K.rotary_embedding(Tensor.zeros(0, dtype="int32"), none, none, K.rotary_cos_sin(4, 4))[0]
    assert q.numpy().shape == (0, 1, 4)


def test_a_gradient_that_arrives_is_refused():
    rows, cache = of(np.ones((1, 1, 4))), of(np.zeros((2, 2, 1, 4)))
    for at in (0, 2):
        given = [rows, rows, cache, cache]
        with pytest.raises(strata.Unsupported, match=r"\[reshape_and_cache\] has no gradient: detach"):
            strata.grad(lambda x, at=at, given=given: K.reshape_and_cache(
                *given[:at], x, *given[at + 1 :], Tensor([1]))[0].sum())(given[at])  # fmt: skip


Q, S = Tensor.ones(2, 1, 4), Tensor.ones(2, dtype="int32")
C = Tensor.ones(2, 2, 1, 4)
ROTARY = "positions (...), query (..., heads, d), key (..., kv, d), cos_sin_cache (n, an even width up to d)"
ERRORS = [
    (lambda: K.rotary_cos_sin(4, 3), strata.ShapeError, "[rotary_cos_sin] rotary_dim 3 is odd: elements turn in pairs"),
    (lambda: K.rotary_cos_sin(-1, 4), strata.UsageError,
     "[rotary_cos_sin] max_positions is -1: an integer, 0 or more"),
    (lambda: K.rotary_cos_sin(4, 4, 0.0), strata.UsageError,
     "[rotary_cos_sin] base is 0.0: a finite number, above 0"),
    (lambda: K.rotary_embedding(S, Q, Tensor.ones(3, 1, 4), Tensor.ones(9, 4)), strata.ShapeError,
     "[rotary_embedding] positions (2,), query (2, 1, 4), key (3, 1, 4), cos_sin_cache (9, 4): " + ROTARY),
    (lambda: K.rotary_embedding(S, Q, Q, Tensor.ones(9, 6)), strata.ShapeError, "cos_sin_cache (9, 6): " + ROTARY),
    (lambda: K.rotary_embedding(Q, Q, Q, Q), strata.DTypeError,
     "[rotary_embedding] positions is of float32: it takes int32 or int64"),
    (lambda: K.reshape_and_cache(Q, Q, C, C, Tensor([1])), strata.ShapeError,
     "[reshape_and_cache] key (2, 1, 4), value (2, 1, 4), key_cache (2, 2, 1, 4), value_cache (2, 2, 1, 4), "
     "slot_mapping (1,): key and value (tokens, kv, d), caches (blocks, block, kv, d), slot_mapping (tokens,)"),
    (lambda: K.reshape_and_cache(Q, Q, C, C, Q[:, 0, 0]), strata.DTypeError,
     "[reshape_and_cache] slot_mapping is of float32: it takes int32 or int64"),
    (lambda: K.reshape_and_cache(Q, Q, C, C, S, k_scale=Tensor.ones(3)), strata.ShapeError,
     "[reshape_and_cache] k_scale (3,): k_scale is a number, (1,) or one for each of 1 heads"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)


def test_no_positions_keep_the_width():
    none = Tensor.zeros(0, 2, 8)
    for x in K.rotary_embedding(Tensor.zeros(0, dtype="int32"), none, none, K.rotary_cos_sin(16, 4)):
        assert x.shape == (0, 2, 8)
