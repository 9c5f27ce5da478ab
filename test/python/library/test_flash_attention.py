"""flash_attention and its forms for sequences one after the other, and for parts of the keys, against NumPy."""

import numpy as np
import pytest
import strata
from attention_by_numpy import dense
from by_numpy import ARCHS, check_slopes, close, exact, kernels, of, strict, wide
from strata import Tensor, kernels as K

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]


def operands(rng, b, n, m, h, kv, d, e, dtype):
    return [of(rng.standard_normal(s), dtype) for s in ((b, n, h, d), (b, m, kv, d), (b, m, kv, e))]


def with_tensors(how):
    return {name: of(x) if isinstance(x, np.ndarray) else x for name, x in how.items()}


# Card; batch, queries, keys, heads, heads of keys, widths; type; how; kernels, and kernels with lse.
CASES = [
    ("gfx1100", (2, 16, 16, 4, 4, 64, 64), "bfloat16", {}, (1, 3)),
    ("gfx1201", (1, 17, 33, 7, 1, 32, 32), "float16", {"causal": True}, (1, 1)),
    ("gfx942", (1, 33, 17, 8, 1, 80, 48), "float32", {"causal": True, "scale": 0.3}, (1, 3)),
    ("gfx90a", (1, 15, 65, 2, 2, 96, 96), "bfloat16", {"window": (3, 2)}, (1, 2)),
    ("gfx1100", (1, 31, 64, 2, 1, 128, 128), "float32", {"window": (7, -1), "causal": True, "softcap": 2.0}, (1, 3)),
    ("gfx942", (1, 1, 130, 16, 1, 64, 64), "bfloat16", {}, (1, 3)),
    ("gfx1201", (2, 5, 63, 4, 2, 40, 24), "float32", {"alibi": 2, "sinks": 1}, (1, 4)),
    ("gfx90a", (2, 9, 20, 4, 2, 16, 16), "float16", {"bias": (1, 4, 9, 20), "softcap": 3.0, "causal": True}, (1, 3)),
    ("gfx942", (1, 6, 7, 2, 2, 256, 256), "bfloat16", {"bias": (1, 1, 1, 7), "alibi": 1, "sinks": 2}, (1, 3)),
    ("gfx1100", (1, 3, 16, 1, 1, 512, 512), "float32", {}, (1, 3)),
    # Tiles of matrix instructions: one kernel has both results.
    ("gfx1100", (2, 40, 48, 4, 2, 64, 64), "bfloat16", {}, (1, 1)),
    ("gfx1201", (1, 33, 64, 7, 1, 32, 32), "float16", {"causal": True}, (1, 1)),
    ("gfx942", (1, 65, 33, 2, 2, 96, 96), "bfloat16", {"window": (3, 2)}, (1, 1)),
    ("gfx90a", (1, 32, 130, 2, 1, 128, 128), "bfloat16", {"bias": (1, 2, 32, 130), "softcap": 3.0}, (1, 1)),
    ("gfx942", (2, 64, 64, 2, 1, 16, 16), "float16", {"scale": 0.0625, "causal": True}, (1, 1)),
]


def made(how, rng, b, h):
    """The options of a case, with arrays where it names shapes."""
    how = dict(how)
    if "bias" in how:
        how["bias"] = rng.standard_normal(how["bias"])
    for name, short in (("alibi_slopes", "alibi"), ("sinks", "sinks")):
        if short in how:
            how[name] = abs(rng.standard_normal((b, h) if how.pop(short) == 2 else (h,)))
    return how


@pytest.mark.parametrize("arch, shape, dtype, how, counts", CASES)
def test_values_are_those_of_numpy(arch, shape, dtype, how, counts, rng):
    how = made(how, rng, shape[0], shape[3])
    with strict(arch):
        q, k, v = operands(rng, *shape, dtype)
        given = with_tensors(how)
        out, (again, lse) = K.flash_attention(q, k, v, **given), K.flash_attention(q, k, v, **given, return_lse=True)
        assert (kernels(out), kernels(again, lse)) == counts
        want, of_rows = dense(wide(q), wide(k), wide(v), **how)
        close(out, want, dtype)
        close(again, want, dtype)
        close(lse, of_rows, "float32", tolerance=2e-3)


@pytest.mark.parametrize("arch, dtype, how", [
    ("gfx1100", "float32", {"causal": True}),
    ("gfx1201", "float32", {"window": (1, 1), "softcap": 1.5}),
    ("gfx942", "float32", {"bias": (2, 1, 3, 5), "alibi": 1, "sinks": 1, "causal": True}),
    ("gfx90a", "bfloat16", {"causal": True}),
])  # fmt: skip
def test_slopes_are_those_of_numpy(arch, dtype, how, rng):
    how = made(how, rng, 2, 4)
    tensors = [name for name, x in how.items() if isinstance(x, np.ndarray)]
    plain = {name: x for name, x in how.items() if name not in tensors}
    arrays = [rng.standard_normal(s) for s in ((2, 3, 4, 4), (2, 5, 2, 4), (2, 5, 2, 3))]

    def f(q, k, v, *more):
        out, lse = K.flash_attention(q, k, v, **plain, **dict(zip(tensors, more)), return_lse=True)
        return strata.cat([out.cast("float32"), lse.transpose(1, 2).unsqueeze(-1)], -1)

    def reference(q, k, v, *more):
        out, lse = dense(q, k, v, **plain, **dict(zip(tensors, more)))
        return np.concatenate([out, lse.swapaxes(1, 2)[..., None]], -1)

    with strict(arch):
        check_slopes(f, reference, [*arrays, *(how[name] for name in tensors)], dtype, most=8)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_row_that_sees_nothing_is_0_and_gets_no_gradient(arch, rng):
    with strict(arch):
        q, k, v = operands(rng, 1, 5, 3, 2, 1, 8, 8, "float32")
        out, lse = K.flash_attention(q, k, v, causal=True, return_lse=True)
        assert not wide(out)[0, :2].any() and (wide(lse)[0, :, :2] == -np.inf).all()
        f = lambda q, k, v: K.flash_attention(q, k, v, causal=True).square().sum()  # noqa: E731
        found = [wide(x) for x in strata.grad(f, (0, 1, 2))(q, k, v)]
        assert all(np.isfinite(x).all() for x in found) and not found[0][0, :2].any() and found[0][0, 2:].any()
        none, with_sinks = Tensor.zeros(1, 0, 1, 8), of([0.5, -2.0])
        out, lse = K.flash_attention(q, none, none, sinks=with_sinks, return_lse=True)
        exact(out, np.zeros((1, 5, 2, 8)))
        exact(lse, np.broadcast_to(np.float32([[[0.5], [-2]]]), (1, 2, 5)))


@pytest.mark.parametrize("arch", ARCHS)
def test_large_scores_are_as_right_as_small_ones(arch, rng):
    """Scores are integers up to 1e5, which float32 holds exactly."""
    with strict(arch):
        q, k = (of(rng.integers(-9, 10, (1, n, 1, 16)).astype(float)) for n in (6, 20))
        v = of(rng.standard_normal((1, 20, 1, 16)))
        for scale in (256.0, -256.0):
            assert abs(np.einsum("bnhd,bmhd->nm", wide(q), wide(k)) * scale).max() > 1e5
            close(K.flash_attention(q, k, v, scale=scale), dense(wide(q), wide(k), wide(v), scale=scale)[0])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("sink", [-1e4, -100.0, 60.0, 88.0, 100.0, 1e4])
def test_sinks_far_from_all_scores_give_finite_logarithms_and_gradients(arch, sink, rng):
    q, k, v = (rng.standard_normal((1, n, 2, 4)) for n in (3, 5, 5))
    sinks = np.array([sink, 0.5])
    with strict(arch):
        given = [of(x) for x in (q, k, v)]
        out, lse = K.flash_attention(*given, sinks=of(sinks), return_lse=True)
        want, of_rows = dense(*(wide(x) for x in given), sinks=sinks)
        close(out, want)
        close(lse, of_rows, tolerance=2e-3)

        def total(s):
            return K.flash_attention(*given, sinks=s, return_lse=True)[1].sum()

        weight = np.exp(np.array(sinks)[None, :, None] - of_rows).sum((0, 2))
        close(strata.grad(total)(of(sinks)), weight, tolerance=2e-3)


@pytest.mark.parametrize("name", ["whole", "sequences", "paged", "mla"])
def test_second_derivatives_are_those_of_differences(name, rng):
    cu, tables = Tensor([0, 2, 4], dtype="int32"), Tensor([[2, 0], [1, 99]], dtype="int32")
    lengths = Tensor([3, 2], dtype="int32")
    f, shapes = {
        "whole": (K.flash_attention, [(1, 4, 2, 3)] * 3),
        "sequences": (lambda q, k, v: K.flash_attention_varlen(q, k, v, cu, cu, 2, 2), [(4, 2, 3)] * 3),
        "paged": (lambda q, k, v: K.paged_attention(q, k, v, tables, lengths), [(2, 2, 3), (3, 2, 1, 3), (3, 2, 1, 2)]),
        "mla": (lambda q, kv: K.mla_decode(q, kv, tables, lengths, value_dim=2), [(2, 2, 3), (3, 2, 3)]),
    }[name]
    places = tuple(range(len(shapes)))
    given, along, step = ([rng.standard_normal(s) for s in shapes] for _ in range(3))

    def slope(*tensors):
        slopes = strata.grad(lambda *x: f(*x).square().sum(), places)(*tensors)
        return sum((g * Tensor(a)).sum() for g, a in zip(slopes, along))

    found = strata.grad(slope, places)(*(Tensor(x) for x in given))
    h = 1e-5
    near = [slope(*(Tensor(x + sign * h * d) for x, d in zip(given, step))).item() for sign in (1, -1)]
    got = sum((x.numpy() * d).sum() for x, d in zip(found, step))
    assert got == pytest.approx((near[0] - near[1]) / (2 * h), rel=1e-6)


def test_no_matrix_of_queries_by_keys_lies_in_memory():
    q, k, v = (Tensor.empty(2, 1024, 16, 64, dtype="bfloat16") for _ in range(3))
    scores = 2 * 16 * 1024 * 1024 * 2  # bytes
    for how in ({"softcap": 5.0}, {"window": (64, 64)}):
        forward = strata.compile(K.flash_attention(q, k, v, **how), arch="gfx1100", target="asm")
        assert (len(forward.kernels), forward.workspace_size) == (1, 0)
    f = lambda q, k, v: K.flash_attention(q, k, v).cast("float32").sin().sum()  # noqa: E731
    backward = strata.compile(list(strata.grad(f, (0, 1, 2))(q, k, v)), arch="gfx942", target="asm")
    assert (len(backward.kernels), backward.workspace_size < scores / 7) == (6, True)


# Card; lengths of queries and of keys; heads, heads of keys, widths; type; how; kernels.
SEQUENCES = [
    ("gfx1100", [3, 0, 17], [3, 5, 31], (4, 2, 32, 32), "bfloat16", {"causal": True}, 7),
    ("gfx1201", [1, 16], [15, 0], (7, 1, 16, 8), "float32", {}, 7),
    ("gfx942", [2, 1, 1, 4], [65, 1, 33, 4], (2, 2, 64, 64), "float16", {"window": (4, 0), "softcap": 2.0}, 7),
    ("gfx90a", [5], [9], (4, 1, 8, 8), "float32", {"alibi": 1, "sinks": 1, "causal": True}, 7),
]


def apart(q, k, v, of_q, of_k, **how):
    """Each sequence by itself; 0 and -inf beyond them."""
    out, lse = np.zeros((*q.shape[:2], v.shape[-1])), np.full(q.shape[1::-1], -np.inf)
    for (a, b), (c, d) in zip(zip(of_q, of_q[1:]), zip(of_k, of_k[1:])):
        one, of_one = dense(q[None, a:b], k[None, c:d], v[None, c:d], **how)
        out[a:b], lse[:, a:b] = one[0], of_one[0]
    return out, lse


@pytest.mark.parametrize("arch, of_q, of_k, heads, dtype, how, count", SEQUENCES)
def test_sequences_one_after_the_other_are_as_each_alone(arch, of_q, of_k, heads, dtype, how, count, rng):
    (h, kv, d, e), how = heads, made(how, rng, 1, heads[0])
    cu = [np.cumsum([0, *x]).astype(np.int32) for x in (of_q, of_k)]
    most = [max(of_q) + 1, max(of_k)]
    arrays = [rng.standard_normal(s) for s in ((cu[0][-1] + 2, h, d), (cu[1][-1] + 3, kv, d), (cu[1][-1] + 3, kv, e))]
    for x, used in zip(arrays, (cu[0], cu[1], cu[1])):
        x[used[-1] :] = np.nan  # padding
    with strict(arch):
        q, k, v = (of(x, dtype) for x in arrays)
        places = [Tensor(x).realize() for x in cu]
        out, lse = K.flash_attention_varlen(q, k, v, *places, *most, **with_tensors(how), return_lse=True)
        alone = K.flash_attention_varlen(q, k, v, *places, *most, **with_tensors(how))
        assert kernels(alone) == count
        want, of_rows = apart(wide(q), wide(k), wide(v), *cu, **how)
        close(alone, want, dtype)
        close(out, want, dtype)
        close(lse, of_rows, "float32", tolerance=2e-3)


def test_slopes_of_sequences_are_those_of_numpy(rng):
    cu = [np.array(x) for x in ([0, 2, 3, 3], [0, 3, 3, 4])]

    def f(q, k, v):
        return K.flash_attention_varlen(q, k, v, *(Tensor(x) for x in cu), 2, 3, causal=True)

    arrays = [rng.standard_normal(s) for s in ((4, 2, 4), (5, 1, 4), (5, 1, 3))]
    check_slopes(f, lambda q, k, v: apart(q, k, v, *cu, causal=True)[0], arrays, most=8)


@pytest.mark.parametrize("cu, most, named", [([0, 3, 2], 4, -1), ([0, 1, 4], 2, 3), ([0, 2, 40], 50, 6)])
def test_an_offset_or_a_length_out_of_range_is_an_error(cu, most, named):
    x = Tensor.ones(6, 1, 4).contiguous()
    with pytest.raises(strata.MemoryFault, match=f"index {named} is outside of axis 0"):
        K.flash_attention_varlen(x, x, x, Tensor(cu), Tensor([0, 1, 2]), most, 2).numpy()


STATES = [
    ("gfx1100", (2, 5, 3, 16), "float32"),
    ("gfx1201", (7, 4, 8), "bfloat16"),
    ("gfx942", (1, 4, 2, 32), "float16"),
    ("gfx90a", (3, 1, 64), "float32"),
]


@pytest.mark.parametrize("arch, shape, dtype", STATES)
def test_states_of_two_parts_of_the_keys_merge_into_that_of_all(arch, shape, dtype, rng):
    n, h, e = shape[-3:]
    parts = [
        (rng.standard_normal(shape), rng.standard_normal((*shape[:-3], h, n)) * 3) for _ in range(2)
    ]  # fmt: skip
    parts[0][1][..., 0, 0], parts[1][1][..., 0, 0] = -np.inf, -np.inf  # neither saw a key
    parts[0][1][..., -1, -1] = -np.inf
    parts[0][0][..., -1, -1, :] = np.nan  # not read
    with strict(arch):
        tensors = [(of(out, dtype), of(lse)) for out, lse in parts]
        out, lse = K.merge_states(*tensors[0], *tensors[1])
        (a, la), (b, lb) = ((wide(x), wide(y)) for x, y in tensors)
        with np.errstate(all="ignore"):
            want = np.logaddexp(la, lb)
            wa, wb = (np.where(want == -np.inf, 0, np.exp(x - want)).swapaxes(-1, -2)[..., None] for x in (la, lb))
        close(out, np.where(wa, a, 0) * wa + np.where(wb, b, 0) * wb, dtype)
        close(lse, want, "float32")


def test_merged_states_are_attention_to_all_keys_and_so_are_their_slopes(rng):
    def f(q, k, v):
        parts = [K.flash_attention(q, k[:, i], v[:, i], return_lse=True) for i in (slice(0, 2), slice(2, 5))]
        return K.merge_states(*parts[0], *parts[1])[0]

    check_slopes(f, lambda q, k, v: dense(q, k, v)[0], [rng.standard_normal((1, n, 2, 4)) for n in (3, 5, 5)], most=6)


def test_sizes_of_0_launch_nothing():
    strata.reset_stats()
    x, none = Tensor.zeros(2, 3, 4, 8), Tensor.zeros(2, 0, 4, 8)
    for q, k, v in ((none, x, x), (none, none, none), (Tensor.zeros(0, 3, 4, 8),) * 3):
        assert K.flash_attention(q, k, v).numpy().shape == q.shape
    assert strata.stats().kernels == 0


def test_windows_are_numpy_s_integers_too_and_biases_have_fewer_axes(rng):
    q, k, v = (Tensor(rng.standard_normal((1, 3, 2, 4)).astype("float32")) for _ in range(3))
    for window in ([np.int64(1), np.int32(0)], (1, np.uint8(0))):
        given, known = (K.flash_attention(q, k, v, window=w).numpy() for w in (window, (1, 0)))
        np.testing.assert_array_equal(given, known)
    bias = rng.standard_normal((3, 3)).astype("float32")
    given, known = (K.flash_attention(q, k, v, bias=Tensor(b)).numpy() for b in (bias, bias.reshape(1, 1, 3, 3)))
    np.testing.assert_array_equal(given, known)


Q, KV = Tensor.ones(1, 2, 5, 4), Tensor.ones(1, 2, 2, 4)
T, CU = Tensor.ones(2, 1, 4), Tensor([0, 2])
SHAPES = "q (b, n, h, d), k (b, m, kv, d), v (b, m, kv, e)"
ERRORS = [
    (lambda: K.flash_attention(Q, KV, KV), strata.ShapeError,
     "[flash_attention] 5 heads of queries for 2 of keys: they are not a multiple"),
    (lambda: K.flash_attention(Q, KV, Tensor.ones(1, 3, 2, 4)), strata.ShapeError,
     "[flash_attention] q (1, 2, 5, 4), k (1, 2, 2, 4), v (1, 3, 2, 4): " + SHAPES),
    (lambda: K.flash_attention(Q, Q, Q, window=3), strata.UsageError,
     "[flash_attention] window is 3: how many keys left and right of a query it sees, -1 for all"),
    (lambda: K.flash_attention(Q, Q, Q, bias=Tensor.ones(1, 5, 2, 3)), strata.ShapeError,
     "[flash_attention] bias (1, 5, 2, 3): bias broadcasts to (1, 5, 2, 2)"),
    (lambda: K.flash_attention(Q, Q, Q, bias=Tensor.ones(3, 5)), strata.ShapeError,
     "[flash_attention] bias (3, 5): bias broadcasts to (1, 5, 2, 2)"),
    (lambda: K.flash_attention(Q, Q, Q, window=(1, True)), strata.UsageError,
     "[flash_attention] window is (1, True): how many keys left and right of a query it sees, -1 for all"),
    (lambda: K.flash_attention(Q, Q, Q, sinks=Tensor.ones(4)), strata.ShapeError,
     "[flash_attention] sinks (4,): sinks is (5,) or (1, 5)"),
    (lambda: K.flash_attention(Q, Q, Q, alibi_slopes=Tensor.ones(4)), strata.ShapeError,
     "[flash_attention] alibi_slopes (4,): alibi_slopes is (5,) or (1, 5)"),
    (lambda: K.flash_attention(Q, Q, Q, softcap=-1.0), strata.UsageError,
     "[flash_attention] softcap is -1.0: a finite number, at least 0"),
    (lambda: K.flash_attention(Q, Q, Q, scale=float("inf")), strata.UsageError,
     "[flash_attention] scale is inf: a finite number"),
    (lambda: K.flash_attention(Q.cast("int32"), Q, Q), strata.DTypeError,
     "[flash_attention] q is of int32: it takes floats, cast it first"),
    (lambda: K.flash_attention_varlen(T, T, T, CU, Tensor([0, 1, 2]), 2, 2), strata.ShapeError,
     "[flash_attention_varlen] cu_seqlens_q (2,), cu_seqlens_k (3,): both (sequences + 1,)"),
    (lambda: K.flash_attention_varlen(T, T, T, T, CU, 2, 2), strata.DTypeError,
     "[flash_attention_varlen] cu_seqlens_q is of float32: it takes int32 or int64"),
    (lambda: K.flash_attention_varlen(T, T, T, CU, CU, 2, -1), strata.UsageError,
     "[flash_attention_varlen] max_seqlen_k is -1: an integer, 0 or more"),
    (lambda: K.flash_attention_varlen(Q, T, T, CU, CU, 2, 2), strata.ShapeError,
     "[flash_attention_varlen] q (1, 2, 5, 4), k (2, 1, 4), v (2, 1, 4): q (t, h, d), k (u, kv, d), v (u, kv, e)"),
    (lambda: K.merge_states(T, Tensor.ones(2, 1), T, Tensor.ones(1, 2)), strata.ShapeError,
     "[merge_states] out_a (2, 1, 4), lse_a (2, 1), out_b (2, 1, 4), lse_b (1, 2): "
     "out (..., n, h, e), lse (..., h, n)"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
