"""Complex tensors: values, special values, types and errors against NumPy, gradients by central differences over both
parts.
"""

import itertools
import math
import pickle

import numpy as np
import pytest
import strata
from strata import Tensor

TYPES = [np.complex64, np.complex128]
UNARY = {
    "neg": np.negative, "positive": np.positive, "conj": np.conj, "abs": np.abs, "sign": np.sign, "square": np.square,
    "reciprocal": np.reciprocal, "sqrt": np.sqrt,
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": lambda z: log1p(z),
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "round": np.round,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not, "angle": np.angle,
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "eq": np.equal, "ne": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "pow": np.power,
}  # fmt: skip
ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.5, 30.0, -1e15]


def numbers(rng, shape, dtype):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def spread(rng, dtype):
    """Numbers of all angles and of sizes from 1e-6 to 1e6."""
    far = 10.0 ** rng.uniform(-6, 6, 1000) * np.exp(2j * np.pi * rng.uniform(size=1000))
    return np.concatenate(
        [numbers(rng, 1000, dtype), far, rng.uniform(-8, 8, 1000) + 1j * rng.uniform(-8, 8, 1000)]
    ).astype(dtype)


def log1p(z):
    """NumPy's adds 1 first, and loses what is small beside it."""
    re = np.where(np.abs(z) < 0.5, np.log1p(z.real * (2 + z.real) + z.imag**2) / 2, np.log(np.abs(1 + z)))
    return re + 1j * np.arctan2(z.imag, 1 + z.real)


def assert_near(got, want, ulps):
    """Within `ulps` epsilons of the whole number's size."""
    near = want.astype(got.dtype)
    if got.dtype == bool:
        return np.testing.assert_array_equal(got, want)
    same = (got == near) | (np.isnan(got) & np.isnan(near)) | (np.isinf(got) & np.isinf(near))
    apart = np.abs(got - want) / np.maximum(np.abs(want), np.finfo(got.dtype).tiny) / np.finfo(got.dtype).eps
    bad = ~same & ~(apart <= ulps)
    assert not bad.any(), (got[bad][:4], near[bad][:4], np.nonzero(bad)[0][:4])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name, dtype, rng):
    x = spread(rng, dtype)
    got = getattr(Tensor(x), name)
    got = (got() if callable(got) else got).numpy()
    want = UNARY[name](x.astype(np.clongdouble))
    assert got.dtype == UNARY[name](x).dtype
    assert_near(got, want, 12)


# The standard leaves these signs open.
OPEN_SIGNS = {
    "sinh",
    "cosh",
    "tanh",
    "sin",
    "cos",
    "tan",
    "exp",
    "expm1",
    "acosh",
    "asinh",
    "atanh",
    "asin",
    "acos",
    "atan",
    "sqrt",
}


@pytest.mark.parametrize("name", sorted(set(UNARY) - {"square", "reciprocal", "sign", "angle", "log1p", "expm1"}))
def test_special_values_are_those_of_the_standard(name):
    x = np.array([complex(a, b) for a, b in itertools.product(ENDS, ENDS)])
    got, want = np.asarray(getattr(Tensor(x), name)().numpy()), UNARY[name](x)
    parts = [(got.real, want.real), (got.imag, want.imag)] if np.iscomplexobj(want) else [(got, want)]
    for g, w in parts:
        if name in OPEN_SIGNS:
            unsure = ~(np.isfinite(x.real) & np.isfinite(x.imag)) & ((w == 0) | np.isinf(w))
            g, w = np.where(unsure, np.abs(g), g), np.where(unsure, np.abs(w), w)
        np.testing.assert_allclose(g, w, rtol=1e-13)
        np.testing.assert_array_equal(np.signbit(g[w == 0]), np.signbit(w[w == 0]))


def test_special_values_of_expm1_and_log1p():
    """As the standard lists them, which NumPy's do not all follow."""
    inf, nan = math.inf, math.nan
    expm1 = {
        (0, 0): (0, 0),
        (1, inf): (nan, nan),
        (inf, 0): (inf, 0),
        (-inf, 2.0): (-1, 0),
        (inf, inf): (inf, nan),
        (-inf, inf): (-1, 0),
        (-inf, nan): (-1, 0),
        (inf, nan): (inf, nan),
        (nan, 0): (nan, 0),
        (nan, 1): (nan, nan),
    }
    log1p = {
        (-1, 0): (-inf, 0),
        (1, inf): (inf, math.pi / 2),
        (1, nan): (nan, nan),
        (-inf, 1): (inf, math.pi),
        (inf, 1): (inf, 0),
        (-inf, inf): (inf, 3 * math.pi / 4),
        (inf, inf): (inf, math.pi / 4),
        (inf, nan): (inf, nan),
        (nan, 1): (nan, nan),
        (nan, inf): (inf, nan),
    }
    for name, table in (("expm1", expm1), ("log1p", log1p)):
        got = getattr(Tensor(np.array([complex(*z) for z in table])), name)().numpy()
        for z, value, want in zip(table, got, table.values()):
            np.testing.assert_allclose([value.real, abs(value.imag)], want, rtol=1e-14, err_msg=f"{name}{z}")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name, dtype, rng):
    x, y = numbers(rng, (40, 30), dtype), numbers(rng, (30,), dtype)
    x[3] = y
    got, want = (
        getattr(Tensor(x), name)(Tensor(y)).numpy(),
        BINARY[name](x.astype(np.complex128), y.astype(np.complex128)),
    )
    assert got.dtype == (want.dtype if want.dtype == bool else dtype)
    assert_near(got, want, 30)


def test_a_quotient_neither_overflows_nor_underflows_on_the_way():
    x = np.array([1e200 + 1e200j, 1e-200 - 3e-200j, 3 + 4j, 1e300 + 1j])
    y = np.array([2e200 - 1e200j, 1e-200 + 1e-200j, 1e-300 + 1e-300j, 1e300 + 1e-300j])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose((Tensor(x) / Tensor(y)).numpy(), x / y, rtol=1e-14)
    assert Tensor(np.array([1 + 1j])).div(Tensor(np.array([0j]))).isfinite().numpy().tolist() == [False]


def test_a_real_operand_has_no_imaginary_part():
    z = Tensor([complex(np.inf, 2), complex(1, np.inf)])
    assert repr((z * 2.0).tolist()) == "[(inf+4j), (2+infj)]"
    assert repr((z / 2).tolist()) == "[(inf+1j), (0.5+infj)]"
    assert repr((Tensor([2.0, 4.0]) * z).tolist()) == "[(inf+4j), (4+infj)]"
    assert repr((1 - Tensor([1 + 2j])).tolist()) == "[-2j]"


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -3, 0.5, 2.5, 1 + 2j, 40])
def test_powers_of_numbers(exponent, rng):
    x = numbers(rng, 50, np.complex128)
    np.testing.assert_allclose((Tensor(x) ** exponent).numpy(), x**exponent, rtol=1e-12)
    np.testing.assert_allclose((Tensor(x) ** Tensor(np.array(exponent))).numpy(), x**exponent, rtol=1e-12)
    np.testing.assert_allclose((exponent ** Tensor(x)).numpy(), np.asarray(exponent + 0j) ** x, rtol=1e-12)


def test_powers_of_zero():
    zero = Tensor([0j, 0j, 0j])
    assert (zero ** Tensor([0.0, 2.0, 0.5])).tolist() == [1, 0, 0]
    assert (zero ** Tensor([-1.0, -1, -1])).isnan().all().item()


def test_parts():
    x = np.array([1 + 2j, -3 - 0.0j])
    z = Tensor(x)
    np.testing.assert_array_equal(z.real.numpy(), x.real)
    np.testing.assert_array_equal(z.imag.numpy(), x.imag)
    assert z.real.dtype == "float64" and Tensor([1.5]).real.tolist() == [1.5] and Tensor([1.5]).imag.tolist() == [0.0]
    np.testing.assert_array_equal(strata.complex(z.real, z.imag).numpy(), x)
    assert strata.complex(Tensor([1, 2]), 0.5).tolist() == [1 + 0.5j, 2 + 0.5j]
    assert strata.complex(Tensor([1.0, 2.0]), Tensor([[3.0], [4.0]])).shape == (2, 2)
    np.testing.assert_allclose(Tensor([-1.0, 2.0]).angle().numpy(), [np.pi, 0], rtol=1e-6)
    with pytest.raises(strata.DTypeError, match="a part is complex"):
        strata.complex(z, 1)


MOVED = [
    lambda x: x.reshape(4, 6), lambda x: x.T, lambda x: x[1], lambda x: x[:, ::-2], lambda x: x[..., None, 1:3],
    lambda x: x.reshape(-1)[5:20:3],
]  # fmt: skip


@pytest.mark.parametrize("move", MOVED)
@pytest.mark.parametrize("dtype", TYPES)
def test_movement_is_of_both_parts(move, dtype, rng):
    x = numbers(rng, (2, 3, 4), dtype)
    np.testing.assert_array_equal(move(Tensor(x)).numpy(), move(x))


def test_movement_of_other_names(rng):
    x = numbers(rng, (2, 3, 4), np.complex64)
    z = Tensor(x)
    for got, want in (
        (z.permute(2, 0, 1), x.transpose(2, 0, 1)), (z.flip(1), np.flip(x, 1)), (z.roll(1, 2), np.roll(x, 1, 2)),
        (z.unsqueeze(0).squeeze(0), x),
        (z[:, :1].expand(2, 3, 4), np.broadcast_to(x[:, :1], (2, 3, 4))),
        (z.pad([(0, 0), (1, 0), (0, 2)], 2 - 1j), np.pad(x, [(0, 0), (1, 0), (0, 2)], constant_values=2 - 1j)),
        (z.tile(2, 1, 1), np.tile(x, (2, 1, 1))), (z.repeat(2, 1), np.repeat(x, 2, 1)),
        (strata.cat([z, z], 1), np.concatenate([x, x], 1)), (strata.stack([z, z], 1), np.stack([x, x], 1)),
        (z.split(2, 1)[1], x[:, 2:]), (z.take(Tensor([2, 0]), 1), x[:, [2, 0]]),
        (z[Tensor([1, 0]), Tensor([2, 1])], x[[1, 0], [2, 1]]), (z.tril(), np.tril(x)), (z.triu(1), np.triu(x, 1)),
        (z.gather(2, Tensor(np.zeros((2, 3, 1), int))), x[:, :, :1]),
        (strata.where(Tensor(x.real > 0), z, 0), np.where(x.real > 0, x, 0)),
        (strata.where(z, 1.5, 2j), np.full_like(x, 1.5)),
    ):  # fmt: skip
        assert got.dtype == "complex64"
        np.testing.assert_array_equal(got.numpy(), want)


def test_elements_are_given_other_values(rng):
    x = numbers(rng, (3, 4), np.complex64)
    for key, value in (
        ((1, 2), 5j),
        (slice(0, 2), 1.5),
        ((Tensor([2, 0]), 1), Tensor([1j, 2.0])),
        (Tensor(x.real > 0), -1j),
        (slice(None, None, 2), Tensor(x[:2] * 2)),
    ):
        got, want = Tensor(x), x.copy()
        got[key] = value
        at = (
            tuple(k.numpy() if isinstance(k, Tensor) else k for k in key)
            if isinstance(key, tuple)
            else key.numpy()
            if isinstance(key, Tensor)
            else key
        )
        want[at] = value.numpy() if isinstance(value, Tensor) else value
        np.testing.assert_array_equal(got.numpy(), want)
    real = Tensor([1.0, 2.0])
    with pytest.raises(strata.DTypeError, match="complex"):
        real[0] = 1j
    indices, added = Tensor([[0], [1], [1]]), Tensor(x[:, :1])
    want = x.copy()
    np.put_along_axis(want, indices.numpy(), x[:, :1], 1)
    np.testing.assert_array_equal(Tensor(x).scatter(1, indices, added).numpy(), want)
    want = x.copy()
    np.add.at(want, (np.arange(3), [0, 1, 1]), x[:, 0])
    np.testing.assert_array_equal(Tensor(x).scatter_add(1, indices, added).numpy(), want)


def test_elements_that_are_looked_for():
    x = np.array([1 + 2j, 0, 1 - 1j, 1 + 2j, 0, 3], np.complex64)
    z = Tensor(x)
    np.testing.assert_array_equal(z[z.real > 0].numpy(), x[x.real > 0])
    assert strata.nonzero(z)[0].tolist() == [0, 2, 3, 5] and strata.count_nonzero(z).item() == 4
    for got, want in zip(
        strata.unique_all(z), np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    ):
        np.testing.assert_array_equal(got.numpy(), want)


def test_functions_of_the_namespace():
    z = Tensor([1 + 2j, 3])
    assert (
        strata.real(z).tolist() == [1, 3]
        and strata.imag(z).tolist() == [2, 0]
        and strata.imag(Tensor([5])).tolist() == [0]
    )
    assert strata.conj(z).tolist() == [1 - 2j, 3] and strata.abs(z * 1j).tolist() == z.abs().tolist()
    assert (
        strata.isdtype(strata.complex64, "complex floating")
        and strata.isdtype("complex128", "numeric")
        and not strata.isdtype("float32", "complex floating")
    )
    assert (
        strata.finfo("complex128").dtype == "float64"
        and strata.can_cast("float64", "complex128")
        and not strata.can_cast("complex64", "float64")
    )
    assert strata.result_type(z, 1.5, 2j) == "complex64" == strata.result_type(Tensor([1.0]), 1j)
    np.testing.assert_allclose(strata.linspace(0, 1 + 2j, 5, dtype="complex128").numpy(), np.linspace(0, 1 + 2j, 5))
    np.testing.assert_array_equal(strata.asarray([1j, 2]).numpy(), np.array([1j, 2], np.complex64))
    assert strata.vecdot(z, z).item() == 14


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std"])
def test_reductions(name, axis, rng):
    x = numbers(rng, (3, 5, 4), np.complex128)
    for keep in (False, True):
        got = getattr(Tensor(x), name)(axis, keepdims=keep)
        want = getattr(np, name)(x, axis=axis, keepdims=keep)
        assert got.dtype.name == want.dtype.name and got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


def test_reductions_of_many_none_and_other_types(rng):
    x = numbers(rng, 1000, np.complex128) * 0.9
    np.testing.assert_allclose(Tensor(x).prod().numpy(), x.prod(), rtol=1e-10)
    np.testing.assert_allclose(Tensor(x)[:37].prod().numpy(), x[:37].prod(), rtol=1e-12)
    empty = Tensor.zeros(0, 3, dtype="complex64")
    assert (
        empty.sum(0).tolist() == [0j] * 3 and empty.prod(0).tolist() == [1 + 0j] * 3 and empty.numpy().shape == (0, 3)
    )
    assert (
        Tensor([1, 2]).sum(dtype="complex64").tolist() == 3 + 0j
        and Tensor([2, 3]).prod(dtype="complex128").item() == 6 + 0j
    )
    assert Tensor([0j, 1j]).any().item() is True and Tensor([0j, 1j]).all().item() is False


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_and_products(axis, rng):
    x = numbers(rng, (6, 11), np.complex128)
    np.testing.assert_allclose(Tensor(x).cumsum(axis).numpy(), x.cumsum(axis), rtol=1e-12)
    np.testing.assert_allclose(Tensor(x).cumprod(axis).numpy(), x.cumprod(axis), rtol=1e-11)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((5, 7), (7, 3)),
        ((2, 5, 7), (7, 3)),
        ((7,), (7, 3)),
        ((5, 7), (7,)),
        ((2, 1, 4, 3), (3, 3, 2)),
        ((4, 0), (0, 3)),
    ],
)
@pytest.mark.parametrize("dtype", TYPES)
def test_products_of_matrices(a, b, dtype, rng):
    x, y = numbers(rng, a, dtype), numbers(rng, b, dtype)
    for left, right in ((x, y), (x.real, y), (x, y.real.astype(np.float32))):
        got, want = (Tensor(left) @ Tensor(right)).numpy(), left @ right
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(
            got, want, rtol=1e-4 if dtype == np.complex64 else 1e-12, atol=1e-5 if dtype == np.complex64 else 1e-12
        )


def test_values_of_python_and_numpy(rng):
    assert Tensor(1 + 2j).item() == 1 + 2j and complex(Tensor([3j])) == 3j and complex(Tensor(2)) == 2
    assert (
        Tensor([[1j, 2]]).tolist() == [[1j, 2]]
        and Tensor([1j]).dtype == "complex64"
        and Tensor(np.complex64(1j)).dtype == "complex64"
    )
    assert bool(Tensor(1e-3j)) and not bool(Tensor(0j)) and 2j in Tensor([1, 2j])
    assert "1.+2.j" in str(Tensor([1 + 2j])) and "complex64" in repr(Tensor([1j]))
    x = numbers(rng, (3, 4), np.complex128)
    z = Tensor(x)
    np.testing.assert_array_equal(np.asarray(z), x)
    np.testing.assert_array_equal(np.from_dlpack(z, device="cpu"), x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(z.T)).numpy(), x.T)
    np.testing.assert_array_equal(Tensor(x.T[::-1]).numpy(), x.T[::-1])
    np.testing.assert_array_equal((z * 2).to("emu:gfx942").numpy(), x * 2)
    assert (
        not (z * 2).is_realized and (z * 2).realize().is_realized and Tensor.empty(2, dtype="complex64").shape == (2,)
    )
    with pytest.raises(strata.DTypeError, match="complex128"):
        Tensor(np.array([1j], np.clongdouble))
    with pytest.raises(TypeError):
        float(Tensor(1j))


def test_both_parts_are_computed_by_one_kernel(rng):
    x, y = Tensor(numbers(rng, 64, np.complex64)).realize(), Tensor(numbers(rng, 64, np.complex64)).realize()
    for value in (x * y, (x * y + x).exp(), x / y):
        strata.reset_stats()
        value.realize()
        assert strata.stats().kernels == 1


ERRORS = [
    (lambda z: z < z, "lt"), (lambda z: z.maximum(z), "maximum"), (lambda z: z.max(), "order"),
    (lambda z: z.argmin(), "order"), (lambda z: z.cummax(), "order"),
    (lambda z: z.floor(), "floor"), (lambda z: z // 2, "floor_divide"), (lambda z: z & z, "bitwise_and"),
    (lambda z: ~z, "bitwise_invert"), (lambda z: z % 1j, "remainder"),
    (lambda z: z.clamp(0), "maximum"), (lambda z: z.relu(), "relu"), (lambda z: z.atan2(z), "atan2"),
    (lambda z: z.softmax(), "order"), (lambda z: z.uop, "x.real"),
    (lambda z: z.bitcast("int64"), "x.real"), (lambda z: Tensor([1, 2]) + Tensor.full((2,), 1j, "float32"), "complex"),
    (lambda z: Tensor.arange(1j), "complex"),
    (lambda z: strata.uop.const(1.0, "complex64"), "complex64"), (lambda z: strata.uop.const(1j, "float32"), "complex"),
    (lambda z: strata.uop.placeholder(4, "complex64"), "real types"),
    (lambda z: Tensor.empty(2).custom_kernel(z, kernel=lambda out, x: out), "its real and imag"),
    (lambda z: z.take(z), "indices are complex64"), (lambda z: z.sort(), "order"), (lambda z: z.topk(1), "order"),
    (lambda z: z.searchsorted(z), "order"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said"), ERRORS)
def test_what_has_no_complex_form_says_so(wrong, said):
    with pytest.raises(strata.DTypeError, match=said):
        wrong(Tensor([1 + 2j, 3j]))


def test_expm1_of_nothing_is_nothing_with_a_plus():
    """Python array API 2024.12, expm1: of -0 + 0j too it is 0 + 0j; of the conjugate it is the conjugate."""
    z = np.array([complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0)])
    for dtype in (np.complex64, np.complex128):
        got = strata.expm1(Tensor(z.astype(dtype))).numpy()
        assert not got.any() and not np.signbit(got.real).any()
        np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(z.imag))
