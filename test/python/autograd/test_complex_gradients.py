"""Gradients of and through complex tensors."""

import numpy as np
import pytest
import strata
from strata import Tensor
from test_complex import numbers


def central(f, z):
    """d/d real + i d/d imag of f, a real number, by each element."""
    out, step = np.zeros_like(z), 1e-6
    for i in np.ndindex(z.shape):
        for unit in (1, 1j):
            up, down = z.copy(), z.copy()
            up[i] += unit * step
            down[i] -= unit * step
            out[i] += unit * (f(Tensor(up)).item() - f(Tensor(down)).item()) / (2 * step)
    return out


LOSSES = {
    "product": lambda z: (z * z * (2 - 1j)).real.sum(), "abs": lambda z: z.abs().sum(),
    "quotient": lambda z: (1 / (z + 3j)).imag.sum(), "exp": lambda z: z.exp().real.sum(),
    "log": lambda z: z.log().imag.sum(), "sqrt": lambda z: z.sqrt().real.sum(),
    "tanh": lambda z: (z * 0.3).tanh().imag.sum(), "matmul": lambda z: (z @ z.mT.conj()).abs().sum(),
    "power": lambda z: (z**2.5).real.sum(), "prod": lambda z: z.prod().real,
    "cumprod": lambda z: z.flatten().cumprod().imag.sum(), "angle": lambda z: z.angle().sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_a_real_loss(name, rng):
    z = numbers(rng, (2, 3), np.complex128) + 0.1
    got = strata.grad(LOSSES[name])(Tensor(z))
    assert got.dtype == "complex128"
    np.testing.assert_allclose(got.numpy(), central(LOSSES[name], z), rtol=1e-6, atol=1e-7)


def test_gradients_left_at_complex_tensors():
    z, w = Tensor([1 + 2j, -1j]).requires_grad_(), Tensor([2.0, 3.0]).requires_grad_()
    assert z.requires_grad and z.grad is None
    (z * w).abs().square().sum().backward()  # |z|^2 w^2: 2 z w^2 and 2 |z|^2 w
    np.testing.assert_allclose(z.grad.numpy(), [8 + 16j, -18j], rtol=1e-6)
    np.testing.assert_allclose(w.grad.numpy(), [20, 6], rtol=1e-6)
    z.assign(z - 0.5 * z.grad)
    z.grad = None
    assert z.requires_grad and z.grad is None
    z.imag.sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [1j, 1j])
    np.testing.assert_allclose(z.detach().numpy(), [-3 - 6j, 8j], rtol=1e-6)


def test_gradients_of_a_complex_result_need_a_seed():
    z = Tensor([1 + 2j])
    with pytest.raises(strata.UsageError, match="complex result"):
        strata.gradients(z * z, [z])
    y, back = strata.vjp(lambda z: z * (1 + 1j), z)
    np.testing.assert_allclose(back(Tensor([1j]))[0].numpy(), [np.conj(1 + 1j) * 1j])
    y, along = strata.jvp(lambda z: z * z, [z], [Tensor([1j])])
    np.testing.assert_allclose(along.numpy(), [2 * (1 + 2j) * 1j])
