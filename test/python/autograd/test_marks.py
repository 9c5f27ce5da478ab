"""detach: no gradient goes through, kernels do not have it, and recognisers of schedules look through it."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn

FLOATS = ["float16", "bfloat16", "float32", "float64"]


def programs(make):
    before = strata.stats().programs
    value = make().cast("float64").numpy()
    return strata.stats().programs - before, value


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("times", [1, 2, 3, 4, 5])
def test_kernels_do_not_see_that_a_value_is_detached(dtype, times):
    x = Tensor(np.linspace(-2, 2, 35).reshape(5, 7)).cast(dtype).realize()

    def detached(t):
        for _ in range(times):
            t = t.detach()
        return t

    for make in (lambda t: (t * 1.5 + 2).sum(1), lambda t: t.softmax(1), lambda t: (t - t.mean(1, True)) @ t.mT):
        _, plain = programs(lambda make=make: make(x))
        made, value = programs(lambda make=make: make(detached(x)))
        assert made == 0 and (value == plain).all()
        made, value = programs(lambda make=make: detached(make(x)))
        assert made == 0 and (value == plain).all()


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 6])
def test_no_gradient_goes_through_however_often_a_value_is_detached(times):
    def product(x):
        y = x
        for _ in range(times):
            y = y.detach()
        return (x * x * y).sum()

    x = Tensor([1.0, -2.0, 3.0])
    np.testing.assert_allclose(strata.grad(product)(x).numpy(), 2 * np.array([1.0, 4.0, 9.0]))


def test_attention_takes_as_many_kernels_below_marks():
    q, k, v = (Tensor(np.random.default_rng(i).standard_normal((1, 2, 64, 32)), dtype="float32") for i in range(3))
    strata.realize(q, k, v)
    counts = []
    for mark in (lambda t: t, lambda t: t.detach(), lambda t: t.detach().detach().detach()):
        strata.reset_stats()
        nn.scaled_dot_product_attention(mark(q), mark(k), mark(v)).realize()
        counts.append(strata.stats().kernels)
    assert counts[0] == counts[1] == counts[2]
