"""Attention to keys and values in blocks of a cache, against NumPy; beyond a length lie NaN and wild entries."""

import numpy as np
import pytest
import strata
from attention_by_numpy import paged
from by_numpy import ARCHS, check_slopes, close, kernels, of, strict, wide
from strata import Tensor, kernels as K

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]

WILD = [-1, 10**6, -(2**31)]


def tables_of(rng, lengths, block, spare=2):
    """(tables, how many blocks): each sequence has blocks of its own, in random order; other entries are wild."""
    counts = [-(-n // block) for n in lengths]
    blocks = rng.permutation(sum(counts) + spare)
    tables = rng.choice(WILD, (len(lengths), max(counts) + 1)).astype(np.int32)
    for i, n in enumerate(counts):
        tables[i, :n] = blocks[sum(counts[:i]) : sum(counts[: i + 1])]
    return tables, len(blocks)


def cache_of(rng, blocks, block, shape, tables, lengths):
    """Rows where a sequence has a position, NaN elsewhere."""
    cache = np.full((blocks, block, *shape), np.nan)
    for table, n in zip(tables, lengths):
        for p in range(n):
            cache[table[p // block], p % block] = rng.standard_normal(shape)
    return cache


# Card; lengths; block; heads, heads of keys, widths; type; how; kernels, and kernels with lse.
CASES = [
    ("gfx1100", [20, 0, 63], 16, (8, 2, 64, 64), "bfloat16", {}, (2, 3)),
    ("gfx1201", [1, 15, 31, 33], 7, (7, 1, 32, 16), "float16", {"softcap": 3.0}, (2, 5)),
    ("gfx942", [130], 32, (8, 1, 80, 80), "float32", {"window": (9, 0)}, (2, 5)),
    ("gfx90a", [64, 17], 1, (2, 2, 16, 16), "bfloat16", {"alibi_slopes": True, "sinks": True}, (2, 3)),
    ("gfx942", [65, 16], 256, (16, 1, 128, 128), "bfloat16", {"scale": 0.2}, (2, 4)),
]


@pytest.mark.parametrize("arch, lengths, block, heads, dtype, how, counts", CASES)
def test_a_token_of_each_sequence_sees_its_keys(arch, lengths, block, heads, dtype, how, counts, rng):
    h, kv, d, e = heads
    tables, blocks = tables_of(rng, lengths, block)
    how = {name: abs(rng.standard_normal(h)) if name in ("alibi_slopes", "sinks") else x for name, x in how.items()}
    with strict(arch):
        q = of(rng.standard_normal((len(lengths), h, d)), dtype)
        keys, values = (of(cache_of(rng, blocks, block, (kv, w), tables, lengths), dtype) for w in (d, e))
        lens = Tensor(np.array(lengths, np.int64 if block % 2 else np.int32)).realize()
        given = {name: of(x) if isinstance(x, np.ndarray) else x for name, x in how.items()}
        call = lambda **more: K.paged_attention(q, keys, values, Tensor(tables).realize(), lens, **given, **more)  # noqa: E731
        out, (again, lse) = call(), call(return_lse=True)
        assert (kernels(out), kernels(again, lse)) == counts
        want, of_rows = paged(wide(q), wide(keys), wide(values), tables, lengths, **how)
        close(out, want, dtype)
        close(again, want, dtype)
        close(lse, of_rows, "float32", tolerance=2e-3)


@pytest.mark.parametrize("arch, of_q, lengths, how, count", [
    ("gfx1100", [3, 0, 1], [20, 4, 1], {}, 4),
    ("gfx942", [2, 5], [2, 33], {"window": (4, -1), "softcap": 2.0}, 4),
])  # fmt: skip
def test_the_last_tokens_of_a_sequence_see_the_keys_up_to_themselves(arch, of_q, lengths, how, count, rng):
    starts = np.cumsum([0, *of_q])
    tables, blocks = tables_of(rng, lengths, 8)
    q = rng.standard_normal((starts[-1] + 2, 4, 16))
    q[starts[-1] :] = np.nan  # of no sequence
    with strict(arch):
        q = of(q)
        keys, values = (of(cache_of(rng, blocks, 8, (2, 16), tables, lengths)) for _ in range(2))
        given = [Tensor(np.array(x, np.int32)).realize() for x in (tables, lengths, starts)]
        call = lambda **more: K.paged_attention(q, keys, values, *given[:2], cu_seqlens_q=given[2], **how, **more)  # noqa: E731
        out, (again, lse) = call(), call(return_lse=True)
        assert kernels(out) == count
        want, of_rows = paged(wide(q), wide(keys), wide(values), tables, lengths, starts, **how)
        close(out, want)
        close(again, want)
        close(lse, of_rows, tolerance=2e-3)


@pytest.mark.parametrize("arch, dtype, scale", [("gfx1100", "fp8e4m3", 0.5), ("gfx942", "fp8e4m3fnuz", "heads"),
    ("gfx1201", "int8", 0.01), ("gfx90a", "fp8e5m2", None)])  # fmt: skip
def test_a_cache_of_8_bits_is_multiplied_by_its_scales(arch, dtype, scale, rng):
    tables, blocks = tables_of(rng, [5, 30], 8)
    with strict(arch):
        q = of(rng.standard_normal((2, 4, 16)), "bfloat16")
        rows = [rng.integers(-100, 100, (blocks, 8, 2, 16)) / (1 if dtype == "int8" else 25) for _ in range(2)]
        keys, values = (of(x, dtype) for x in rows)
        factor = rng.uniform(0.2, 1, 2) if scale == "heads" else scale
        given = of(factor) if scale == "heads" else factor
        by = 1.0 if scale is None else np.float32(factor).astype(float).reshape(-1, 1) if scale == "heads" else scale
        out = K.paged_attention(q, keys, values, Tensor(tables), Tensor([5, 30]), k_scale=given, v_scale=given)
        want, _ = paged(wide(q), wide(keys), wide(values), tables, [5, 30], k_scale=by, v_scale=by)
        close(out, want, "bfloat16")


LATENT = [
    ("gfx1100", (16, 576, 512), "bfloat16", 4),
    ("gfx942", (3, 48, 32), "float32", 2),
    ("gfx1201", (2, 24, 24), "float16", 2),
    ("gfx90a", (5, 20, 8), "float32", 2),
]


@pytest.mark.parametrize("arch, shape, dtype, count", LATENT)
def test_latent_attention_shares_one_key_among_all_heads(arch, shape, dtype, count, rng):
    h, d, e = shape
    lengths = [17, 0, 33]
    tables, blocks = tables_of(rng, lengths, 16)
    with strict(arch):
        q = of(rng.standard_normal((3, h, d)), dtype)
        cache = of(cache_of(rng, blocks, 16, (d,), tables, lengths), dtype)
        given = [Tensor(np.array(x, np.int32)).realize() for x in (tables, lengths)]
        out, lse = K.mla_decode(q, cache, *given, value_dim=e, return_lse=True)
        alone = K.mla_decode(q, cache, *given, value_dim=e)
        assert kernels(alone) == count
        keys = wide(cache)[:, :, None]
        want, of_rows = paged(wide(q), keys, keys[..., :e], tables, lengths)
        close(alone, want, dtype)
        close(out, want, dtype)
        close(lse, of_rows, "float32", tolerance=2e-3)


def test_the_cache_is_read_where_it_lies():
    q, lens = Tensor.empty(32, 32, 128, dtype="bfloat16"), Tensor.empty(32, dtype="int32")
    cache, tables = Tensor.empty(2048, 16, 8, 128, dtype="bfloat16"), Tensor.empty(32, 256, dtype="int32")
    made = strata.compile(K.paged_attention(q, cache, cache, tables, lens), arch="gfx1100", target="asm")
    assert (len(made.kernels), made.workspace_size < 1 << 20) == (2, True)


def test_slopes_are_those_of_numpy(rng):
    tables, lengths = np.array([[2, 99], [0, 1]]), [2, 5]

    def f(q, k, v):
        return K.paged_attention(q, k, v, Tensor(tables), Tensor(lengths))

    def reference(q, k, v):
        return paged(q, k, v, tables, lengths)[0]

    arrays = [rng.standard_normal(s) for s in ((2, 2, 4), (3, 4, 1, 4), (3, 4, 1, 3))]
    check_slopes(f, reference, arrays, most=8)
    check_slopes(
        lambda q, c: K.mla_decode(q, c, Tensor(tables), Tensor(lengths), value_dim=3),
        lambda q, c: paged(q, c[:, :, None], c[:, :, None, :3], tables, lengths)[0],
        [rng.standard_normal(s) for s in ((2, 2, 4), (3, 4, 4))],
        most=8,
    )


@pytest.mark.parametrize("arch", ARCHS[:2])
@pytest.mark.parametrize(
    "tables, lengths, named", [([[0, 7]], [5], 7), ([[0, -2]], [5], -2), ([[0, 1]], [9], 9), ([[0, 1]], [-1], -1)]
)
def test_a_block_or_a_length_out_of_range_is_an_error(arch, tables, lengths, named):
    with strata.config(device=f"emu:{arch}"):
        q, cache = Tensor.ones(1, 1, 4).contiguous(), Tensor.ones(3, 4, 1, 4).contiguous()
        with pytest.raises(strata.MemoryFault, match=f"index {named} is outside of axis 0"):
            K.paged_attention(q, cache, cache, Tensor(tables), Tensor(lengths)).numpy()


Q, C, TABLE, LENS = Tensor.ones(2, 5, 4), Tensor.ones(3, 4, 2, 4), Tensor([[0], [1]]), Tensor([1, 1])
WORDS = "query (t, h, d), caches (blocks, block, kv, d), tables (b, most), lens (b,), cu_seqlens_q (b + 1,) or t = b"
ERRORS = [
    (lambda: K.paged_attention(Q, C, C, TABLE, LENS), strata.ShapeError,
     "[paged_attention] 5 heads of queries for 2 of keys: they are not a multiple"),
    (lambda: K.paged_attention(Q, C, C, TABLE, Tensor([1])), strata.ShapeError,
     "[paged_attention] query (2, 5, 4), key_cache (3, 4, 2, 4), value_cache (3, 4, 2, 4), block_tables (2, 1), "
     "context_lens (1,): " + WORDS),
    (lambda: K.paged_attention(Q, C, C, TABLE, LENS, cu_seqlens_q=LENS), strata.ShapeError,
     "cu_seqlens_q (2,): " + WORDS),
    (lambda: K.paged_attention(Q, C, C, Q[:, :, 0], LENS), strata.DTypeError,
     "[paged_attention] block_tables is of float32: it takes int32 or int64"),
    (lambda: K.paged_attention(Q, C, C, TABLE, LENS, v_scale=Tensor.ones(3)), strata.ShapeError,
     "[paged_attention] v_scale (3,): v_scale is a number, (1,) or one for each of 2 heads"),
    (lambda: K.paged_attention(Q, C, C, TABLE, LENS, window=(0,)), strata.UsageError,
     "[paged_attention] window is (0,): how many keys left and right of a query it sees, -1 for all"),
    (lambda: K.mla_decode(Q, C[:, :, 0], TABLE, LENS), strata.ShapeError,
     "[mla_decode] query (2, 5, 4), kv_cache (3, 4, 4), block_tables (2, 1), context_lens (2,): query (b, h, d), "
     "kv_cache (blocks, block, d), tables (b, most), lens (b,), value_dim 512 up to d"),
    (lambda: K.mla_decode(TABLE, C[:, :, 0], TABLE, LENS), strata.DTypeError,
     "[mla_decode] query is of int64: it takes floats, cast it first"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
