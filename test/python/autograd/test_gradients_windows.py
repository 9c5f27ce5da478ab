"""Gradients of convolutions, pooling and windows. First and second order are compared with central differences, and
with torch where it is installed. The bytes that they move are counted.
"""

import numpy as np
import pytest
import strata
from strata import Tensor, functional
from test_gradients import check
from tested import QUICK_TARGET

try:
    import torch
except ImportError:
    torch = None

# stride, padding, dilation, groups: with rests, padding beyond the window's reach, and strides beyond the window.
CASES = [(1, 0, 1, 1), (2, 1, 1, 1), (3, 2, 2, 1), (1, 1, 1, 2), (2, 1, 2, 2), (4, 0, 1, 1), (1, 4, 1, 1)]
SIZES = {1: (7,), 2: (6, 5), 3: (5, 4, 5)}
WINDOW = (2, 3, 2)


@pytest.fixture(autouse=True)
def compiled_fast():
    with strata.config(target=QUICK_TARGET):
        yield


def arrays_of_conv(axes, groups, rng):
    return rng.uniform(-1, 1, (2, 4, *SIZES[axes])), rng.uniform(-1, 1, (6, 4 // groups, *WINDOW[:axes]))


def compared(function, theirs, arrays):
    """With torch: gradients of first order, and of the sum of their squares."""
    own = [Tensor(a) for a in arrays]
    y = function(*own)
    weights = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
    first = strata.grad(lambda *t: (function(*t).square() * Tensor(weights)).sum(), tuple(range(len(arrays))))
    second = strata.grad(
        lambda *t: sum((g.square().sum() for g in first(*t)), Tensor(0.0, dtype="float64")), tuple(range(len(arrays)))
    )
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    want = torch.autograd.grad((theirs(*leaves).square() * torch.tensor(weights)).sum(), leaves, create_graph=True)
    for g, w in zip(first(*own), want):
        np.testing.assert_allclose(g.numpy(), w.detach().numpy(), rtol=1e-9, atol=1e-9)
    again = torch.autograd.grad(sum(w.square().sum() for w in want), leaves)
    for g, w in zip(second(*own), again):
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("stride, padding, dilation, groups", CASES)
@pytest.mark.parametrize("axes", SIZES)
def test_convolutions_have_torchs_gradients_of_two_orders(axes, stride, padding, dilation, groups, rng):
    theirs = getattr(torch.nn.functional, f"conv{axes}d")
    compared(
        lambda x, w: functional.conv(x, w, None, stride, padding, dilation, groups),
        lambda x, w: theirs(x, w, None, stride, padding, dilation, groups),
        arrays_of_conv(axes, groups, rng),
    )


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize(
    "stride, padding, dilation, groups, beyond",
    [(1, 0, 1, 1, 0), (2, 1, 1, 1, 1), (3, 1, 2, 1, 2), (2, 1, 1, 2, 0), (4, 0, 1, 2, 3)],
)
@pytest.mark.parametrize("axes", SIZES)
def test_transposed_convolutions_have_torchs_gradients_of_two_orders(
    axes, stride, padding, dilation, groups, beyond, rng
):
    x, w = rng.uniform(-1, 1, (2, 4, *SIZES[axes])), rng.uniform(-1, 1, (4, 3, *WINDOW[:axes]))
    theirs = getattr(torch.nn.functional, f"conv_transpose{axes}d")
    compared(
        lambda x, w: functional.conv_transpose(x, w, None, stride, padding, beyond, dilation, groups),
        lambda x, w: theirs(x, w, None, stride, padding, beyond, groups, dilation),
        [x, w],
    )


@pytest.mark.parametrize("stride, padding, dilation, groups", CASES)
def test_convolutions_against_central_differences(stride, padding, dilation, groups, rng):
    x, w = rng.uniform(-1, 1, (1, 2, 6)), rng.uniform(-1, 1, (2, 2 // groups, 3))
    f = lambda x, w: functional.conv(x, w, None, stride, padding, dilation, groups)  # noqa: E731
    check(f, x, w)
    check(strata.grad(lambda x, w: f(x, w).square().sum()), x, w)
    check(strata.grad(lambda x, w: f(x, w).square().sum(), 1), x, w)


@pytest.mark.parametrize(
    "window, stride, dilation", [((2,), 1, 1), ((3,), 2, 2), ((2,), 3, 1), ((2, 3), (2, 1), (1, 2)), ((2, 1, 2), 2, 1)]
)
def test_windows_against_central_differences(window, stride, dilation, rng):
    x = rng.uniform(-1, 1, (2, *(7, 6, 5)[: max(len(window), 2)]))
    f = lambda x: functional.windows(x, window, stride, dilation)  # noqa: E731
    check(f, x)
    check(strata.grad(lambda x: (f(x).square() * f(x.exp())).sum()), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_over_windows_of_narrow_types_are_formed_wide(dtype):
    """2048 + 1 is 2048 in float16, and 256 + 1 in bfloat16."""
    top = {"float16": 2048, "bfloat16": 256}[dtype]
    _, back = strata.vjp(lambda x: functional.windows(x, (3,)), Tensor(np.ones(5), dtype=dtype))
    seed = np.zeros((3, 3))
    seed[2, 0], seed[1, 1], seed[0, 2] = top, 1, 1
    assert back(Tensor(seed, dtype=dtype))[0].cast("float32").numpy()[2] == top + 2


def test_one_convolution_made_twice_is_one():
    """A rule makes no names that each call adds to."""
    x, w = Tensor(np.ones((1, 1, 5), np.float32)).realize(), Tensor(np.ones((1, 1, 3), np.float32)).realize()
    first, second = functional.conv(x, w), functional.conv(x, w)
    assert hash(first.uop) == hash(second.uop)


@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_of_convolutions_read_what_they_need_once(transposed, by):
    x = Tensor(np.ones((2, 8, 16, 16), np.float32)).realize()
    w = Tensor(np.ones((8, 8, 3, 3), np.float32)).realize()
    f = (
        (lambda x, w: functional.conv_transpose(x, w, None, 2, 1))
        if transposed
        else (lambda x, w: functional.conv(x, w, None, 1, 1))
    )
    y, back = strata.vjp(f, x, w)
    seed = Tensor(np.ones(y.shape, np.float32)).realize()
    got = back(seed)[by]
    strata.reset_stats()
    got.realize()
    read = seed.size + (w.size if by == 0 else x.size)
    assert strata.stats().kernels == 1 and strata.stats().bytes <= 4 * (read + got.size)
