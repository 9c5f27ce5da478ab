"""Gradients where there are no elements, and at constants that are in no memory."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn

EMPTY = {
    "sum": lambda x: x * x,
    "axis": lambda x: x.sum(0),
    "prod": lambda x: x.prod(0),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "std": lambda x: x.std(),
    "max": lambda x: x.max(1),
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(),
    "softmax": lambda x: x.softmax(1),
    "logsumexp": lambda x: x.logsumexp(0),
    "inner of 0": lambda x: strata.ones((2, 0)) @ x,
    "rows of 0": lambda x: x @ strata.ones((3, 2)),
    "empties": lambda x: strata.concat([x, x]),
    "joined": lambda x: strata.concat([x, strata.ones((2, 3))]),
    "pad": lambda x: x.pad(((1, 1), (0, 0))),
    "expand": lambda x: x[None].expand((2, 0, 3)),
    "slice": lambda x: x[:, 1:],
    "index": lambda x: x[:, Tensor([0, 1])],
    "roll": lambda x: x.roll(1),
    "repeat": lambda x: x.repeat(2, 0),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("make", [strata.zeros, lambda shape: Tensor(np.zeros(shape, np.float32))])
def test_zeros_of_its_shape_arrive_at_a_tensor_without_elements(name, make):
    x = make((0, 3)).requires_grad_()
    EMPTY[name](x).sum().backward()
    assert x.grad.numpy().shape == (0, 3)


def test_zeros_arrive_where_no_element_is_taken():
    for take in (
        lambda x: x.take(Tensor(np.zeros(0, np.int64)), 0),
        lambda x: x[2:2],
        lambda x: x[:, :0] @ strata.ones((0, 2)),
    ):
        x = Tensor(np.ones((5, 3))).requires_grad_()
        take(x).sum().backward()
        assert x.grad.tolist() == np.zeros((5, 3)).tolist()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (2, 0, 4)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_of_no_complex_numbers_are_1_and_leave_zeros(shape, dtype):
    of = [None, *range(len(shape))]
    for axis in of:
        for keepdims in (False, True):
            x, y = strata.zeros(shape, dtype=dtype).requires_grad_(), Tensor(np.array(2 + 1j, dtype)).requires_grad_()
            out = x.prod(axis, keepdims=keepdims)
            np.testing.assert_array_equal(out.numpy(), np.zeros(shape, dtype).prod(axis, keepdims=keepdims))
            (out * y).real.sum().backward()
            assert x.grad.shape == shape and x.grad.dtype == x.dtype
            assert y.grad.item() == out.numel()


def test_what_is_joined_with_nothing_has_its_own_gradient():
    x, none = Tensor(np.arange(6.0).reshape(2, 3)).requires_grad_(), strata.zeros((0, 3)).requires_grad_()
    strata.concat([none, x * x]).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [6, 8, 10]] and none.grad.shape == (0, 3)


def test_a_wish_for_gradients_costs_no_kernel():
    def kernels(x):
        before = strata.stats().kernels
        assert x.item() == 0
        return strata.stats().kernels - before

    constant = kernels(strata.zeros(()))
    assert kernels(strata.zeros((0, 3)).sum()) == kernels(strata.zeros((0, 3)).requires_grad_().sum()) == constant


X = Tensor(np.linspace(-1, 1, 32).reshape(2, 2, 8))
OF_CONSTANTS = {
    "conv1d": ((3, 2, 3), lambda w: nn.functional.conv1d(X, w).square()),
    "matmul": ((4, 4), lambda w: w @ w),
    "transposed": ((4, 4), lambda w: w.T * w),
    "cumsum": ((4, 4), lambda w: w.cumsum(0) * w),
    "pad": ((4, 4), lambda w: w.pad(((1, 1), (0, 0))).square()),
    "slice": ((4, 4), lambda w: w[1:, ::2].square()),
    "concat": ((4, 4), lambda w: strata.concat([w, w * w])),
    "softmax": ((4, 4), lambda w: w.softmax(0) * w),
    "take": ((4, 4), lambda w: w.take(Tensor([0, 1, 1]), 0).square()),
    "prod": ((4, 4), lambda w: w.prod(0)),
}
CONSTANTS = {
    "zeros": lambda shape: strata.zeros(shape, dtype=strata.float64),
    "ones": lambda shape: strata.ones(shape, dtype=strata.float64),
    "full": lambda shape: strata.full(shape, 2.0, dtype=strata.float64),
    "arange": lambda shape: strata.arange(float(np.prod(shape)), dtype=strata.float64).reshape(shape) / 8,
    "rand": lambda shape: Tensor.rand(*shape).cast(strata.float64),
}


@pytest.mark.parametrize("name", OF_CONSTANTS)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_derivatives_at_constants_are_those_at_the_same_values_in_memory(name, constant):
    shape, f = OF_CONSTANTS[name]
    lazy = CONSTANTS[constant](shape)
    stored = Tensor(lazy.numpy()).realize()
    want = strata.grad(lambda w: f(w).sum())(stored).numpy()
    y, back = strata.vjp(f, lazy)
    along = strata.jvp(lambda w: f(w).sum(), (lazy,), (strata.ones(shape, dtype=strata.float64),))[1]
    np.testing.assert_allclose(strata.grad(lambda w: f(w).sum())(lazy).numpy(), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        back(strata.ones(y.shape, dtype=strata.float64))[0].numpy(), want, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(along.item(), want.sum(), rtol=1e-12, atol=1e-12)
