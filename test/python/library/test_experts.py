"""Mixtures of experts against NumPy: weights of all kinds, ids that are left out, and nothing read of the others."""

import numpy as np
import pytest
import strata
from by_numpy import ARCHS, check_slopes, close, kernels, of, strict, wide
from formats import values_of
from strata import Tensor, kernels as K
from test_norms_and_activations import ACTIVATIONS

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def moe(x, w1, w2, weights, ids, b1=None, b2=None, activation="silu", expert_map=None, on_input=False):
    out = np.zeros_like(x)
    for t, j in np.ndindex(ids.shape):
        e = ids[t, j] if expert_map is None or ids[t, j] == -1 else expert_map[ids[t, j]]
        if e == -1:
            continue
        inner = w1[e] @ (x[t] * (weights[t, j] if on_input else 1)) + (0 if b1 is None else b1[e])
        gate, up = np.split(inner, 2)
        made = w2[e] @ (ACTIVATIONS[f"{activation}_and_mul"](gate) * up) + (0 if b2 is None else b2[e])
        out[t] += made * (1 if on_input else weights[t, j])
    return out


def operands(rng, t, h, i, experts, k):
    x, w1, w2 = (rng.standard_normal(s) for s in ((t, h), (experts, 2 * i, h), (experts, h, i)))
    return x, w1 / np.sqrt(h), w2 / np.sqrt(i), rng.random((t, k))


# Card, (tokens, h, i, experts, k), type, how, kernels.
CASES = [
    ("gfx1100", (7, 64, 48, 8, 2), "bfloat16", {}, 2),
    ("gfx1201", (1, 33, 17, 4, 1), "float16", {"activation": "gelu", "on_input": True}, 2),
    ("gfx942", (3, 16, 8, 257, 9), "float32", {"activation": "gelu_tanh", "biased": True}, 2),
    ("gfx90a", (5, 32, 16, 32, 3), "bfloat16", {"mapped": True}, 4),
    # More choices than twice the experts: in blocks of one expert each.
    ("gfx1100", (300, 64, 48, 8, 2), "bfloat16", {"biased": True}, 9),
    ("gfx1201", (33, 33, 17, 4, 3), "float16", {"activation": "gelu", "on_input": True}, 9),
    ("gfx942", (70, 16, 8, 5, 1), "float32", {"activation": "gelu_tanh", "biased": True}, 9),
    ("gfx90a", (41, 32, 16, 9, 2), "bfloat16", {"mapped": True}, 10),
]


@pytest.mark.parametrize("arch, shape, dtype, how, count", CASES)
def test_a_token_gets_the_weighted_sum_of_its_experts(arch, shape, dtype, how, count, rng):
    (t, h, i, experts, k), how = shape, dict(how)
    x, w1, w2, weights = operands(rng, *shape)
    ids = rng.integers(-1, experts, (t, k))
    ids[0] = ids[0, 0] = 2  # one expert several times
    expert_map = None
    if how.pop("mapped", False):
        expert_map = np.where(rng.random(experts) < 0.4, -1, rng.permutation(experts))
    used = {e if expert_map is None else expert_map[e] for e in ids.flat if e != -1}
    for e in {*range(experts)} - used:
        w1[e], w2[e] = np.nan, np.nan  # not read
    biases = [rng.standard_normal((experts, n)) for n in (2 * i, h)] if how.pop("biased", False) else [None, None]
    with strict(arch):
        given = [of(a, dtype) for a in (x, w1, w2)] + [of(weights)]
        b = [None if a is None else of(a) for a in biases]
        by_map = None if expert_map is None else Tensor(expert_map).realize()
        y = K.fused_moe(*given, Tensor(ids.astype(np.int32)).realize(), w1_bias=b[0], w2_bias=b[1], expert_map=by_map,
                        activation=how.get("activation", "silu"),
                        apply_router_weight_on_input=how.get("on_input", False))  # fmt: skip
        assert kernels(y) == count
        b = [None if a is None else wide(a) for a in b]
        close(y, moe(*(wide(a) for a in given), ids, *b, expert_map=expert_map, **how), dtype)


def quantised(rng, kind, experts, rows, columns):
    """(stored weights, their scales, the float64 numbers that both stand for)."""
    if kind == "fp8e4m3":
        codes = rng.integers(0, 0x70, (experts, rows, columns), np.uint8) | rng.choice(
            [0, 0x80], (experts, rows, columns)
        )
        scale = rng.uniform(0.001, 0.01, (experts, -(-rows // 16), -(-columns // 16)))
        stored = Tensor(codes.astype(np.uint8)).bitcast(kind).realize()
        return stored, of(scale), values_of(kind)[codes] * scale.repeat(16, 1).repeat(16, 2)[:, :rows, :columns]
    if kind == "int8":
        codes, scale = rng.integers(-127, 128, (experts, rows, columns)), rng.uniform(0.001, 0.01, (experts, rows))
        return of(codes, "int8"), of(scale), codes * scale[..., None]
    codes = rng.integers(0, 256, (experts, rows, columns // 2), np.uint8)
    nibbles = np.stack([codes & 15, codes >> 4], -1).reshape(experts, rows, columns)
    if kind == "int4":
        scale = rng.uniform(0.01, 0.1, (experts, rows, columns // 16))
        return Tensor(codes).realize(), of(scale), np.where(nibbles > 7, nibbles - 16.0, nibbles) * scale.repeat(16, 2)
    scale = rng.integers(122, 127, (experts, rows, columns // 32)).astype(np.uint8)
    return Tensor(codes).realize(), Tensor(scale).realize(), FP4[nibbles] * (2.0 ** (scale - 127.0)).repeat(32, 2)


@pytest.mark.parametrize("arch, kind", [*zip(ARCHS, ["int8", "fp8e4m3", "int4", "mxfp4"])])
@pytest.mark.parametrize("t, count", [(3, 2), (21, 11)])
def test_weights_of_8_and_4_bits_are_unpacked_by_their_scales(arch, kind, t, count, rng):
    h, i, experts, k = 72 if kind == "fp8e4m3" else 64, 32, 4, 2  # 72: the last block covers half
    ids = rng.integers(0, experts, (t, k))
    with strict(arch):
        (w1, s1, v1), (w2, s2, v2) = quantised(rng, kind, experts, 2 * i, h), quantised(rng, kind, experts, h, i)
        x, weights = of(rng.standard_normal((t, h)), "bfloat16"), of(rng.random((t, k)))
        y = K.fused_moe(x, w1, w2, weights, Tensor(ids).realize(), w1_scale=s1, w2_scale=s2)
        assert kernels(y) == count  # of many tokens: weights are unpacked once for all blocks
        close(y, moe(wide(x), v1, v2, wide(weights), ids), "bfloat16")


@pytest.mark.parametrize("ids", [[[1, 3], [-1, 1], [3, 3]], [[1, 3], [-1, 1], [3, 3], [2, 0], [0, 1], [1, 1]]])
def test_slopes_are_those_of_numpy(ids, rng):
    x, w1, w2, weights = operands(rng, len(ids), 4, 3, 4, 2)
    ids, biases = np.array(ids), [rng.standard_normal((4, n)) for n in (6, 4)]

    def f(x, w1, w2, weights, b1, b2):
        return K.fused_moe(x, w1, w2, weights, Tensor(ids), w1_bias=b1, w2_bias=b2)

    check_slopes(f, lambda x, w1, w2, weights, *b: moe(x, w1, w2, weights, ids, *b), [x, w1, w2, weights, *biases])
    mask = rng.random((3, 2)) < 0.5
    check_slopes(lambda x: K.moe_sum(x, Tensor(mask)), lambda x: (x * mask[..., None]).sum(1),
                 [rng.standard_normal((3, 2, 5))])  # fmt: skip


@pytest.mark.parametrize("arch, dtype", [*zip(ARCHS, ["float32", "bfloat16", "float16", "bfloat16"])])
def test_results_of_choices_are_summed_and_rounded_once(arch, dtype, rng):
    x, mask = rng.standard_normal((5, 9, 33)), rng.random((5, 9)) < 0.7
    x[~mask] = np.nan  # not read
    with strict(arch):
        given = of(x, dtype)
        y = K.moe_sum(given, Tensor(mask).realize())
        assert kernels(y) == 1
        close(y, np.where(mask[..., None], wide(given), 0).sum(1), dtype)
        close(K.moe_sum(of(np.ones((2, 3, 4)), dtype)), np.full((2, 4), 3), dtype)


def test_weights_of_chosen_experts_are_read_where_they_lie():
    x, w1 = Tensor.empty(4, 1024, dtype="bfloat16"), Tensor.empty(8, 4096, 1024, dtype="bfloat16")
    w2, weights, ids = (
        Tensor.empty(8, 1024, 2048, dtype="bfloat16"),
        Tensor.empty(4, 2),
        Tensor.empty(4, 2, dtype="int32"),
    )
    made = strata.compile(K.fused_moe(x, w1, w2, weights, ids), arch="gfx1100", target="asm")
    assert (len(made.kernels), made.workspace_size < 1 << 20) == (2, True)


@pytest.mark.parametrize("bad", [4, -2])
def test_an_id_out_of_range_is_an_error(bad):
    x, w1, w2 = Tensor.ones(1, 4).contiguous(), Tensor.ones(4, 4, 4).contiguous(), Tensor.ones(4, 4, 2).contiguous()
    with pytest.raises(strata.MemoryFault, match=f"index {bad} is outside of axis 0"):
        K.fused_moe(x, w1, w2, Tensor([[1.0, 1.0]]), Tensor([[0, bad]])).numpy()


def test_sizes_of_0_launch_nothing():
    strata.reset_stats()
    w1, w2 = Tensor.ones(4, 4, 4), Tensor.ones(4, 4, 2)
    y = K.fused_moe(Tensor.zeros(0, 4), w1, w2, Tensor.zeros(0, 2), Tensor.zeros(0, 2, dtype="int32"))
    assert y.numpy().shape == K.moe_sum(Tensor.zeros(0, 2, 4)).numpy().shape == (0, 4)
    assert strata.stats().kernels == 0


X, W1, W2, S, IDS = Tensor.ones(2, 4), Tensor.ones(3, 4, 4), Tensor.ones(3, 4, 2), Tensor.ones(2, 1), Tensor([[0], [1]])
WORDS = "x (t, h), w1 (E, 2 i, h), w2 (E, h, i), biases (E, 2 i) and (E, h), topk_weights and topk_ids (t, k)"
I8 = [w.cast("int8") for w in (W1, W2)]
ERRORS = [
    (lambda: K.fused_moe(X, W2, W1, S, IDS), strata.ShapeError,
     "[fused_moe] x (2, 4), w1 (3, 4, 2), w2 (3, 4, 4), topk_weights (2, 1), topk_ids (2, 1): " + WORDS),
    (lambda: K.fused_moe(X, W1, W2, S, IDS, w1_bias=Tensor.ones(3, 2)), strata.ShapeError, "w1_bias (3, 2): " + WORDS),
    (lambda: K.fused_moe(X, W1, W2, S, S), strata.DTypeError,
     "[fused_moe] topk_ids is of float32: it takes int32 or int64"),
    (lambda: K.fused_moe(X, W1, W2, S, IDS, activation="relu"), strata.UsageError,
     "[fused_moe] activation 'relu': it is one of silu, gelu, gelu_tanh"),
    (lambda: K.fused_moe(X, *I8, S, IDS), strata.UsageError, "[fused_moe] w1 is of int8: give w1_scale"),
    (lambda: K.fused_moe(X, W1.cast("int32"), W2, S, IDS), strata.DTypeError,
     "[fused_moe] w1 is of int32: it takes floats, int8, or uint8 of 4-bit numbers"),
    (lambda: K.fused_moe(X, *I8, S, IDS, w1_scale=Tensor.ones(2), w2_scale=Tensor.ones(3)), strata.ShapeError,
     "[fused_moe] w1 (3, 4, 4), w1_scale (2,): w1_scale is (E,), (E, rows) or (E, rows / a, columns / b)"),
    (lambda: K.moe_sum(X), strata.ShapeError, "[moe_sum] x (2, 4): x (tokens, k, h), mask (tokens, k)"),
    (lambda: K.moe_sum(W1, X), strata.ShapeError,
     "[moe_sum] x (3, 4, 4), mask (2, 4): x (tokens, k, h), mask (tokens, k)"),
    (lambda: K.moe_sum(W1, Tensor.ones(3, 4)), strata.DTypeError, "[moe_sum] mask is of float32: it takes bool"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
