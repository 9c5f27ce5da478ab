"""Attention of few queries over many keys is computed by parts of the keys, as many as fill the card. Its values are
those of NumPy in float64.
"""

import numpy as np
import pytest
import strata
from strata import Tensor, nn

# Batch, heads, groups of keys, queries, keys, width.
CASES = [
    ((1, 4, 2, 1, 1025, 64), "float16"),
    ((1, 4, 1, 3, 2048, 128), "bfloat16"),
    ((2, 4, 4, 1, 4001, 32), "float32"),
    ((1, 2, 2, 1, 2501, 65), "float32"),
]


def grouped(q, k, v, scores_of):
    """Heads share the keys of their group: scores of rows (b, g, h / g * t, d), values, the shape of the result."""
    b, h, t, d = q.shape
    g = k.shape[1]
    rows = q.reshape(b, g, h // g * t, d)
    columns = k.transpose(-1, -2) if isinstance(k, Tensor) else k.swapaxes(-1, -2)
    return scores_of(rows @ columns), v, (b, h, t, v.shape[-1])


def expected(q, k, v, seen):
    scores, v, shape = grouped(q, k, v, lambda s: s / np.sqrt(q.shape[-1]))
    e = np.exp(scores[..., :seen] - scores[..., :seen].max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ v[..., :seen, :]).reshape(shape)


def by_hand(q, k, v, see, never):
    """As programs write it: weights are rounded to the type of the values."""
    scores, v, shape = grouped(q, k, v, lambda s: see.where(s.cast("float32") * float(1 / np.sqrt(q.shape[-1])), never))
    return (scores.softmax(-1).cast(v.dtype) @ v).reshape(*shape)


def operands(shape, dtype, rng):
    b, h, g, t, n, d = shape
    arrays = [rng.standard_normal(s).astype(np.float32) for s in ((b, h, t, d), (b, g, n, d), (b, g, n, d))]
    tensors = [Tensor(a).cast(dtype).realize() for a in arrays]
    return tensors, [x.cast("float32").numpy().astype(np.float64) for x in tensors]


@pytest.mark.usual_schedules
@pytest.mark.parametrize("target, arch", [("asm", "gfx1100"), ("asm", "gfx942"), ("hip", "gfx942")])
@pytest.mark.parametrize("shape, dtype", CASES)
def test_pieces_of_keys_have_the_values_of_all(shape, dtype, target, arch, rng):
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        (q, k, v), wide = operands(shape, dtype, rng)
        places = Tensor(np.arange(shape[4], dtype=np.int32)).realize()
        tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6}[dtype]
        for position in (0, shape[4] // 3, shape[4] - 1):
            see = places <= Tensor(np.array([position], np.int32)).realize()
            whole = nn.functional.scaled_dot_product_attention(q, k, v, see.reshape(1, 1, 1, -1), enable_gqa=True)
            for y in (whole, by_hand(q, k, v, see, -1e30), by_hand(q, k, v, see, -np.inf)):
                assert len(strata.compile(y).kernels) == 2
                got = y.cast("float32").numpy()
                np.testing.assert_allclose(got, expected(*wide, position + 1), rtol=0, atol=tolerance)


def test_a_captured_step_takes_any_position(rng):
    with strata.config(device="emu:gfx942", target="asm"):
        (q, k, v), wide = operands((1, 4, 2, 1, 600, 32), "float16", rng)
        places = Tensor(np.arange(600, dtype=np.int32)).realize()
        step = strata.jit(lambda q, k, v, position: by_hand(q, k, v, places <= position, -1e30))
        for position in (3, 599, 0, 64, 301):
            got = step(q, k, v, Tensor(np.array([position], np.int32)).realize())
            np.testing.assert_allclose(got.cast("float32").numpy(), expected(*wide, position + 1), rtol=0, atol=2e-3)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx90a", "gfx942", "sm_80", "sm_90"])
def test_pieces_fill_the_card(arch):
    q, k = Tensor.empty(1, 32, 1, 128, dtype="bfloat16"), Tensor.empty(1, 8, 32768, 128, dtype="bfloat16")
    y = nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)
    parts, sum_ = strata.compile(y, arch=arch, target="hip").kernels
    assert np.prod(parts.grid) >= 132
    assert np.prod(sum_.grid) > 1
