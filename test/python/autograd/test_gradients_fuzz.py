"""Gradients of random graphs of several operations, over shapes with axes of 0 and 1, views and constants, against
central differences in float64.
"""

import numpy as np
import pytest
import strata
from strata import Tensor

STEP = 1e-5


def other(rng, x):
    """A tensor of a shape that broadcasts to x's: in memory, or a constant that is in none."""
    shape = tuple(n if rng.random() < 0.7 else 1 for n in x.shape)[rng.integers(0, x.ndim + 1) :]
    if rng.random() < 0.3:
        return [strata.zeros, strata.ones][rng.integers(2)](shape, dtype=strata.float64)
    return Tensor(rng.uniform(0.5, 1.5, shape))


def axis(rng, x):
    return int(rng.integers(x.ndim)) if x.ndim else None


# Smooth everywhere, and bounded, so that differences are exact enough.
STEPS = [
    lambda rng, x: x + other(rng, x),
    lambda rng, x: x * other(rng, x),
    lambda rng, x: x / (other(rng, x) + 1),
    lambda rng, x: x.sin() * x,
    lambda rng, x: x.tanh(),
    lambda rng, x: (x * x + 1).sqrt(),
    lambda rng, x: x.sigmoid(),
    lambda rng, x: x.sum(axis(rng, x), keepdims=bool(rng.integers(2))),
    lambda rng, x: (x.tanh() + 2).prod(axis(rng, x), keepdims=True) / 8 if x.ndim else x,
    lambda rng, x: x.softmax(axis(rng, x)) if x.ndim and 0 not in x.shape else x.exp() / 4,
    lambda rng, x: x.cumsum(axis(rng, x)) if x.ndim else x * 2,
    lambda rng, x: x.T if x.ndim == 2 else x[None],
    lambda rng, x: x.flip(axis(rng, x)) if x.ndim else x,
    lambda rng, x: x[: int(rng.integers(0, x.shape[0] + 1))] if x.ndim else x,
    lambda rng, x: x[::2] if x.ndim else x,
    lambda rng, x: x.reshape((x.size,)),
    lambda rng, x: x.pad(((1, 0),) * x.ndim) if x.ndim else x,
    lambda rng, x: strata.concat([x, x * 0.5], axis=axis(rng, x)) if x.ndim else x,
    lambda rng, x: x @ Tensor(rng.uniform(-1, 1, (x.shape[-1], int(rng.integers(0, 3))))) if x.ndim else x,
    lambda rng, x: x @ x.mT if x.ndim >= 2 else x * x,
    lambda rng, x: strata.where(x * 0 + other(rng, x) > 0.9, x, x * x),
    lambda rng, x: (
        x.take(Tensor(rng.integers(0, x.shape[0], int(rng.integers(0, 4)))), 0) if x.ndim and x.shape[0] else x
    ),
]


def graph(seed, x):
    rng = np.random.default_rng(seed)
    y = x
    for _ in range(rng.integers(3, 9)):
        y = STEPS[rng.integers(len(STEPS))](rng, y)
        if y.size > 64:
            y = y.reshape((y.size,))[:8]
    return (y.tanh() * Tensor(np.linspace(0.5, 1.5, y.size)).reshape(y.shape)).sum()


@pytest.mark.parametrize("seed", range(40))
def test_gradients_of_random_graphs_are_central_differences(seed):
    rng = np.random.default_rng(1000 + seed)
    shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3], rng.integers(0, 4), p=[0.1, 0.2, 0.4, 0.3]))
    at = np.zeros(shape) if rng.random() < 0.2 else rng.uniform(-1, 1, shape)
    x = strata.zeros(shape, dtype=strata.float64) if not at.any() else Tensor(at)
    got = strata.grad(lambda x: graph(seed, x))(x).numpy()
    want = np.zeros(shape)
    for i in np.ndindex(shape):
        up, down = at.copy(), at.copy()
        up[i] += STEP
        down[i] -= STEP
        want[i] = (graph(seed, Tensor(up)).item() - graph(seed, Tensor(down)).item()) / (2 * STEP)
    assert got.shape == shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)
    leaf = Tensor(at).requires_grad_()
    graph(seed, leaf).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), got, rtol=1e-12, atol=1e-12)
