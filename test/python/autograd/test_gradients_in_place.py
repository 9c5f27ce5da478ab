"""Derivatives by an argument that the function gives another value: by what was given, whatever way it is changed and
whichever function differentiates. The same function without changes in place is the reference.
"""

import numpy as np
import pytest
import strata
from strata import Tensor

GIVEN, TANGENT = np.array([1.5, -2.0, 0.5]), np.array([1.0, 0.5, -3.0])


def assigned(x):
    return x.assign(x * x * x)


def added(x):
    y = x
    y += x * x
    return y


def set_by_number(x):
    x[0] = x[1] * 3
    return x


def set_by_slice(x):
    x[1:] = x[:2] * x[0]
    return x


def set_by_mask(x):
    x[x > 0] = x[0] * x[0]
    return x


def set_by_list(x):
    x[[2, 0]] = x[:2] * x[1]
    return x


def set_whole(x):
    x[...] = x.sin()
    return x


def set_twice(x):
    kept = x * 2
    x[0] = x[2]
    x[2] = x[0] * x[1]
    return x * kept.realize()


def set_through_another_name(x):
    y = x
    y[1] = 0.0
    return x * x + y


def realized(x):
    y = x * x
    x.realize()
    return x * y


# Each way, and what it computes.
WAYS = {
    assigned: lambda x: x * x * x,
    added: lambda x: x + x * x,
    set_by_number: lambda x: strata.stack([x[1] * 3, x[1], x[2]]),
    set_by_slice: lambda x: strata.stack([x[0], x[0] * x[0], x[1] * x[0]]),
    set_by_mask: lambda x: (x > 0).where(x[0] * x[0], x),
    set_by_list: lambda x: strata.stack([x[1] * x[1], x[1], x[0] * x[1]]),
    set_whole: lambda x: x.sin(),
    set_twice: lambda x: strata.stack([x[2], x[1], x[2] * x[1]]) * x * 2,
    realized: lambda x: x * x * x,
    set_through_another_name: lambda x: strata.stack([x[0] * x[0] + x[0], x[1] * 0, x[2] * x[2] + x[2]]),
}


def summed(f):
    return lambda x: (f(x) * Tensor([1.0, 2.0, 3.0], dtype="float64")).sum()


def by_backward(f, x):
    """The gradient of a function that makes the tensor it changes."""
    w = x.clone().requires_grad_()
    summed(f)(w * 1).backward()
    return w.grad


TRANSFORMS = {
    "grad": lambda f, x: strata.grad(summed(f))(x),
    "value_and_grad": lambda f, x: strata.value_and_grad(summed(f))(x),
    "vjp": lambda f, x: (lambda y, back: (y, *back(Tensor(TANGENT)), *back(Tensor(GIVEN))))(*strata.vjp(f, x)),
    "jvp": lambda f, x: strata.jvp(f, [x], [Tensor(TANGENT)]),
    "hessian": lambda f, x: strata.grad(lambda x: (strata.grad(summed(f))(x) * Tensor(TANGENT)).sum())(x),
    "jvp of grad": lambda f, x: strata.jvp(strata.grad(summed(f)), [x], [Tensor(TANGENT)]),
    "grad of a captured function": lambda f, x: strata.grad(strata.jit(summed(f)))(x),
    "captured gradient": lambda f, x: [strata.jit(strata.grad(summed(f)))(x) for _ in range(3)],
    "grad of checkpoint": lambda f, x: strata.grad(summed(lambda x: strata.checkpoint(f)(x * 1)))(x),
    "grad of custom_gradient": lambda f, x: strata.grad(
        summed(lambda x: strata.custom_gradient(lambda y: (f(y), lambda g: g * 2))(x * 1))
    )(x),
    "backward": by_backward,
}


def values(found):
    return np.concatenate([values(one) for one in found]) if isinstance(found, (list, tuple)) else found.numpy().ravel()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_are_by_what_was_given(name):
    for way, plain in WAYS.items():
        x = Tensor(GIVEN)
        got, want = values(TRANSFORMS[name](way, x)), values(TRANSFORMS[name](plain, Tensor(GIVEN)))
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=way.__name__)
        np.testing.assert_array_equal(x.numpy(), GIVEN)


def test_changes_after_the_call_do_not_reach_what_pulls_back():
    x = Tensor(GIVEN)
    y, back = strata.vjp(lambda x: x * x, x)
    x[...] = 7.0
    y[...] = 0.0
    np.testing.assert_allclose(back(Tensor(TANGENT))[0].numpy(), 2 * GIVEN * TANGENT)


def test_values_in_memory_keep_their_past_where_they_are_made_again():
    def f(x):
        kept = (x * 2).realize()
        return (kept * x).sum()

    for times, g in [
        (1, f),
        (1, strata.checkpoint(f)),
        (2, lambda x: strata.checkpoint(f)(x) + strata.checkpoint(f)(x)),
        (1, strata.checkpoint(strata.checkpoint(f))),
    ]:
        np.testing.assert_allclose(strata.grad(g)(Tensor(GIVEN)).numpy(), 4 * times * GIVEN)


def test_complex_arguments_too():
    given = np.array([1 + 2j, -0.5 + 1j])

    def changed(z):
        z[0] = z[1] * z[1]
        return (z * z.conj()).real.sum()

    def plain(z):
        return sum((part * part.conj()).real for part in (z[1] * z[1], z[1]))

    z = Tensor(given)
    np.testing.assert_allclose(strata.grad(changed)(z).numpy(), strata.grad(plain)(Tensor(given)).numpy())
    np.testing.assert_array_equal(z.numpy(), given)


def test_tangents_have_the_shapes_of_their_arguments():
    f = lambda a, b: a * b.sum()  # noqa: E731
    a, b = Tensor([1.0, 2.0]), Tensor([[3.0]])
    for tangents, error, said in [
        ([Tensor([1.0]), b], strata.ShapeError, r"tangent 0 has shape \(1,\), the argument \(2,\)"),
        ([a, Tensor(1.0)], strata.ShapeError, r"tangent 1 has shape \(\)"),
        ([a, Tensor([1.0])], strata.ShapeError, r"tangent 1 has shape \(1,\)"),
        ([a], strata.UsageError, "1 tangents for 2 arguments"),
        (a, strata.UsageError, "tangents are a list or tuple"),
        ([Tensor([1, 2]), b], strata.DTypeError, "cast it to float32"),
    ]:
        with pytest.raises(error, match=said):
            strata.jvp(f, [a, b], tangents)
    assert strata.jvp(f, [a, b], [a, b])[1].tolist() == [6.0, 12.0]
