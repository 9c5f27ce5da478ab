"""Functions of neural networks against float64 compositions in NumPy."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x, axis=-1):
    y = x - x.max(axis, keepdims=True)
    return y - np.log(np.exp(y).sum(axis, keepdims=True))


def close(t, expected, rtol=2e-6, atol=1e-6):
    """float32: a few ulp of values near 1."""
    assert t.shape == expected.shape
    np.testing.assert_allclose(t.numpy().astype(np.float64), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize(
    "shape, axis", [((7,), -1), ((1,), 0), ((5, 11), 0), ((5, 11), 1), ((2, 3, 13), 1), ((4, 1000), -1)]
)
def test_softmax_family(shape, axis, rng):
    x = rng.standard_normal(shape).astype(np.float32) * 4
    t, y = Tensor(x).realize(), x.astype(np.float64)
    parts = [t.softmax(axis), t.log_softmax(axis), t.logsumexp(axis)]
    strata.realize(parts)
    close(parts[0], softmax(y, axis))
    close(parts[1], log_softmax(y, axis), atol=4e-6)
    close(parts[2], np.log(np.exp(y).sum(axis)), atol=4e-6)


def test_softmax_of_extreme_values():
    x = np.array([[1e4, 1e4 - 1, -1e4], [-np.inf, 0, 0], [-200, -201, -199]])
    close(Tensor(x.astype(np.float32)).softmax(), softmax(x))
    np.testing.assert_allclose(Tensor([1000.0, 1000.0]).logsumexp().item(), 1000 + np.log(2), rtol=1e-6)
    assert Tensor([-np.inf, -np.inf]).logsumexp().item() == -np.inf
    assert Tensor([1, 2, 3]).softmax().dtype.name == "float32"
    half = Tensor([1.0, 2.0, 3.0], dtype="float16").softmax()
    assert half.dtype.name == "float16"
    close(half, softmax(np.array([1.0, 2.0, 3.0])), rtol=2.0**-10)
    double = Tensor(x[2]).softmax()
    close(double, softmax(x[2]), rtol=1e-15, atol=0)


def test_layernorm(rng):
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((3, 5, 33), (33,), (33,)))
    y = x.astype(np.float64)
    normal = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)
    close(nn.layernorm(Tensor(x)), normal)
    close(nn.layernorm(Tensor(x), weight=Tensor(w), bias=Tensor(b)), normal * w + b, atol=2e-6)
    close(
        nn.layernorm(Tensor(x), axes=2, eps=0.1),
        (y - y.mean((1, 2), keepdims=True)) / np.sqrt(y.var((1, 2), keepdims=True) + 0.1),
    )
    with pytest.raises(strata.Error, match="layernorm"):
        nn.layernorm(Tensor(x), axes=5)


def test_rmsnorm(rng):
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((4, 65), (65,)))
    y = x.astype(np.float64)
    close(nn.rmsnorm(Tensor(x)), y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-6))
    close(nn.rmsnorm(Tensor(x), weight=Tensor(w)), y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-6) * w)


def test_linear_and_embedding(rng):
    x, w, b = (rng.integers(-5, 6, s).astype(np.float32) for s in ((2, 3, 8), (5, 8), (5,)))
    close(nn.linear(Tensor(x), Tensor(w)), x @ w.T, 0, 0)
    close(nn.linear(Tensor(x), Tensor(w), Tensor(b)), x @ w.T + b, 0, 0)
    ids = rng.integers(0, 5, (4, 3))
    close(nn.embedding(Tensor(ids), Tensor(w)), w[ids], 0, 0)
    with pytest.raises(strata.Error, match="embedding"):
        nn.embedding(Tensor([0.5]), Tensor(w))


def attention(q, k, v, mask=None, causal=False, scale=None):
    s = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    return softmax(s) @ v


@pytest.mark.parametrize(
    "lead, n, m, d, e", [((), 5, 5, 8, 8), ((2, 3), 7, 11, 16, 5), ((1,), 1, 33, 4, 4), ((2,), 32, 32, 32, 32)]
)
def test_attention(lead, n, m, d, e, rng):
    q, k, v = (rng.standard_normal((*lead, *s)).astype(np.float32) for s in ((n, d), (m, d), (m, e)))
    tq, tk, tv = Tensor(q), Tensor(k), Tensor(v)
    wide = [x.astype(np.float64) for x in (q, k, v)]
    seen = rng.integers(0, 2, (n, m)).astype(bool)
    seen[:, 0] = True
    added = rng.standard_normal((n, m)).astype(np.float32)
    run = nn.scaled_dot_product_attention
    results = [
        (run(tq, tk, tv), attention(*wide)),
        (run(tq, tk, tv, mask=Tensor(seen)), attention(*wide, seen)),
        (run(tq, tk, tv, mask=Tensor(added), scale=0.3), attention(*wide, added, scale=0.3)),
    ]
    if n == m:
        results.append((run(tq, tk, tv, causal=True), attention(*wide, causal=True)))
    strata.realize([r[0] for r in results])
    for got, expected in results:
        close(got, expected, rtol=1e-5, atol=4e-6)
    with pytest.raises(strata.ShapeError):
        run(tq, Tensor.zeros(*lead, m, d + 1), tv)


def test_attention_of_half_precision(rng):
    q, k, v = (rng.standard_normal((2, 9, 16)).astype(np.float16) for _ in range(3))
    got = nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v))
    assert got.dtype.name == "float16"
    close(got, attention(*(x.astype(np.float64) for x in (q, k, v))), rtol=2.0**-10, atol=2.0**-11)


def test_cross_entropy(rng):
    x, target = rng.standard_normal((6, 10)).astype(np.float32), rng.integers(0, 10, 6)
    losses = -log_softmax(x.astype(np.float64))[np.arange(6), target]
    close(nn.cross_entropy(Tensor(x), Tensor(target)), np.asarray(losses.mean()))
    close(nn.cross_entropy(Tensor(x), Tensor(target), reduction="sum"), np.asarray(losses.sum()), rtol=3e-6)
    close(nn.cross_entropy(Tensor(x), Tensor(target), reduction="none"), losses, rtol=3e-6)
    with pytest.raises(strata.UsageError, match="mean, sum or none"):
        nn.cross_entropy(Tensor(x), Tensor(target), reduction="max")
    with pytest.raises(strata.ShapeError):
        nn.cross_entropy(Tensor(x), Tensor(target[:3]))


def test_a_small_network_as_a_whole(rng):
    x, w1, w2 = (rng.standard_normal(s).astype(np.float32) * 0.3 for s in ((9, 20), (20, 31), (31, 4)))
    got = (nn.layernorm((Tensor(x) @ Tensor(w1)).gelu()) @ Tensor(w2)).softmax()
    h = x.astype(np.float64) @ w1
    h = h * 0.5 * (1 + np.vectorize(__import__("math").erf)(h * np.sqrt(0.5)))
    h = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-5)
    close(got, softmax(h @ w2), rtol=2e-5)
