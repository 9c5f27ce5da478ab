"""The namespace of the Python array API: its names, what it says of types, and the functions that are no methods,
against NumPy.
"""

import math

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes

rng = np.random.default_rng(3)
X = rng.integers(-9, 9, (3, 4, 5)).astype(np.float32)


def same(tensor, array):
    array = np.asarray(array)
    assert isinstance(tensor, Tensor) and tensor.shape == array.shape
    np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-6)


ELEMENTWISE = [
    name
    for name in (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or "
        "bitwise_right_shift bitwise_xor ceil copysign cos cosh divide equal exp expm1 floor floor_divide greater "
        "greater_equal hypot isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and "
        "logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow "
        "reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc"
    ).split()
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions_have_the_standards_names(name):
    f = getattr(strata, name)
    x = (
        np.array([1, 2, 3], np.int32)
        if "bitwise" in name
        else np.array([0.25, 0.5, 0.75])
        if name not in ("acosh", "log")
        else np.array([1.0, 1.5, 2.0])
    )
    two = "other" in f.__doc__.split("\n")[0]
    want = getattr(np, name)(x, x[::-1]) if two else getattr(np, name)(x)
    same(f(Tensor(x), Tensor(x[::-1].copy())) if two else f(Tensor(x)), want)
    if two:
        same(
            f(2, Tensor(x)) if "bitwise" in name else f(2.0, Tensor(x)),
            getattr(np, name)(2, x) if "bitwise" in name else getattr(np, name)(2.0, x),
        )


def test_functions_take_numbers_and_lists():
    assert strata.sqrt(2.25).item() == 1.5 and strata.add(1, 2).item() == 3
    same(strata.sum([[1, 2], [3, 4]], axis=0), [4, 6])


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "count_nonzero"]
)
def test_statistics_are_numpys(name):
    for named in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}):
        same(getattr(strata, name)(Tensor(X), **named), getattr(np, name)(X, **named))
    if name in ("var", "std"):
        same(getattr(strata, name)(Tensor(X), correction=1), getattr(np, name)(X, ddof=1))


def test_a_tensor_says_its_namespace():
    x = Tensor([1.0])
    assert x.__array_namespace__() is strata and x.__array_namespace__(api_version="2024.12") is strata
    with pytest.raises(strata.UsageError, match="2024.12"):
        x.__array_namespace__(api_version="2100.01")
    assert (
        strata.__array_api_version__ == "2024.12"
        and (strata.pi, strata.e, strata.inf, strata.newaxis) == (math.pi, math.e, math.inf, None)
        and math.isnan(strata.nan)
    )
    info = strata.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] == strata.float32 and set(info.dtypes(kind="unsigned integer")) == {
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    }
    assert x.to_device(x.device).tolist() == [1.0]


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_is_numpys(name):
    got, want = strata.finfo(name), np.finfo(name)
    assert (got.bits, got.eps, got.max, got.min, got.smallest_normal) == (
        want.bits,
        want.eps,
        want.max,
        want.min,
        want.smallest_normal,
    ) and got.dtype == name


@pytest.mark.parametrize("dtype", [d for d in dtypes.all if d.is_float], ids=lambda d: d.name)
def test_finfo_says_what_a_type_holds(dtype):
    info = strata.finfo(dtype)
    held = Tensor([info.max, info.min, info.smallest_normal, 1 + info.eps], dtype="float64").cast(dtype).cast("float64")
    assert held.tolist() == [info.max, info.min, info.smallest_normal, 1 + info.eps]
    assert Tensor([1 + info.eps / 2], dtype="float64").cast(dtype).cast("float64").item() == 1


def test_iinfo_isdtype_and_can_cast():
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        got, want = strata.iinfo(Tensor.zeros(1, dtype=name)), np.iinfo(name)
        assert (got.bits, got.max, got.min) == (want.bits, want.max, want.min)
    for dtype in ("bool", "int8", "uint16", "float32", "float64"):
        for kind in (
            "bool",
            "signed integer",
            "unsigned integer",
            "integral",
            "real floating",
            "complex floating",
            "numeric",
            ("bool", "integral"),
        ):
            assert strata.isdtype(dtype, kind) == np.isdtype(np.dtype(dtype), kind), (dtype, kind)
    for a in ("bool", "int8", "int64", "uint8", "uint32", "float32", "float64"):
        for b in ("int8", "int16", "int64", "uint8", "float32", "float64"):
            if np.dtype(a).kind == np.dtype(b).kind:
                assert strata.can_cast(a, b) == np.can_cast(a, b), (a, b)
    assert not strata.can_cast(Tensor([1.0]), "int64")
    with pytest.raises(strata.DTypeError, match="finfo"):
        strata.iinfo("float32")
    with pytest.raises(strata.DTypeError, match="iinfo"):
        strata.finfo("int32")


def test_result_type_takes_tensors_types_and_numbers():
    assert strata.result_type("int8", "uint8", Tensor([1], dtype="int16")) == "int16"
    assert (
        strata.result_type(Tensor([1], dtype="int8"), 3) == "int8"
        and strata.result_type("int8", 0.5) == "float32"
        and strata.result_type("bool", 1) == "int64"
    )
    assert (
        strata.result_type(1, 0.5) == "float32" and strata.result_type(strata.float32, strata.float64, 1) == "float64"
    )
    with pytest.raises(strata.UsageError, match="result_type"):
        strata.result_type()


def test_asarray_copies_when_it_must():
    x = Tensor([1.0, 2.0])
    assert strata.asarray(x) is x and strata.asarray(x, copy=False) is x
    copied = strata.asarray(x, copy=True)
    copied[0] = 5
    assert x.tolist() == [1.0, 2.0] and copied.tolist() == [5.0, 2.0]
    assert strata.asarray(x, dtype="int32").dtype == "int32" and strata.asarray(3).shape == ()
    for data in (x.cast("int32"), [1.0]):
        with pytest.raises(ValueError, match="copy=False"):
            strata.asarray(data, dtype="float32", copy=False)
    same(strata.from_dlpack(X), X)
    assert strata.from_dlpack(x) is x
    with pytest.raises(BufferError, match="copy=False"):
        strata.from_dlpack(X.T, copy=False)


def test_creation_is_numpys():
    for got, want in [
        (strata.arange(5), np.arange(5)),
        (strata.arange(1, 9, 2), np.arange(1, 9, 2)),
        (strata.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (strata.linspace(0, 1, num=4, endpoint=False), np.linspace(0, 1, 4, endpoint=False)),
        (strata.eye(3, 4, k=1), np.eye(3, 4, 1)),
        (strata.zeros((2, 3)), np.zeros((2, 3))),
        (strata.ones(4, dtype="int8"), np.ones(4)),
        (strata.full((2,), 7), np.full(2, 7)),
        (strata.full_like(Tensor(X), 2), np.full_like(X, 2)),
        (strata.zeros_like(Tensor(X), dtype="int8"), np.zeros_like(X)),
        (strata.ones_like(Tensor(X)), np.ones_like(X)),
        (strata.tril(Tensor(X), k=-1), np.tril(X, -1)),
        (strata.triu(Tensor(X), k=1), np.triu(X, 1)),
    ]:
        same(got, want)
    assert strata.empty((2, 3), dtype="int16").shape == (2, 3) and strata.empty_like(Tensor(X)).dtype == "float32"
    for indexing in ("xy", "ij"):
        for got, want in zip(
            strata.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5]), Tensor([6]), indexing=indexing),
            np.meshgrid([1, 2], [3, 4, 5], [6], indexing=indexing),
        ):
            same(got, want)
    with pytest.raises(strata.UsageError, match="'xy' or 'ij'"):
        strata.meshgrid(Tensor([1]), indexing="yx")


def test_movement_is_numpys():
    t = Tensor(X)
    for got, want in [
        (strata.concat([t, t], axis=1), np.concat([X, X], axis=1)),
        (strata.concat([t, t], axis=None), np.concat([X, X], axis=None)),
        (strata.roll(t, (1, -2), axis=(0, 2)), np.roll(X, (1, -2), (0, 2))),
        (strata.roll(t, 7), np.roll(X, 7)),
        (strata.moveaxis(t, (0, 1), (-1, 0)), np.moveaxis(X, (0, 1), (-1, 0))),
        (strata.expand_dims(t, axis=-2), np.expand_dims(X, -2)),
        (strata.expand_dims(t, (0, -1)), np.expand_dims(X, (0, -1))),
        (strata.squeeze(t[:, :1], axis=1), X[:, 0]),
        (strata.permute_dims(t, (2, 0, 1)), X.transpose(2, 0, 1)),
        (strata.matrix_transpose(t), X.swapaxes(1, 2)),
        (strata.reshape(t, (4, -1)), X.reshape(4, -1)),
        (strata.tile(t, (2, 1, 3)), np.tile(X, (2, 1, 3))),
        (strata.repeat(t, 2, axis=1), np.repeat(X, 2, 1)),
        (strata.broadcast_to(t, (2, 3, 4, 5)), np.broadcast_to(X, (2, 3, 4, 5))),
        (strata.flip(t, axis=1), np.flip(X, 1)),
        (strata.take_along_axis(t, t.argsort(), axis=-1), np.sort(X)),
        (strata.unstack(t, axis=1)[2], X[:, 2]),
        (strata.broadcast_arrays(t, Tensor([[1.0]]))[1], np.ones_like(X)),
    ]:
        same(got, want)
    assert len(strata.unstack(t, axis=2)) == 5
    for wrong in (lambda: strata.expand_dims(t, 5), lambda: strata.expand_dims(t, (0, 0))):
        with pytest.raises(strata.ShapeError, match="expand_dims"):
            wrong()
    with pytest.raises(IndexError):
        strata.expand_dims(t, axis=-5)


def test_products_and_running_values_are_numpys():
    t = Tensor(X)
    for got, want in [
        (strata.tensordot(t, t.permute(2, 1, 0), axes=1), np.tensordot(X, X.transpose(2, 1, 0), 1)),
        (strata.tensordot(t, t, axes=((0, 1), (0, 1))), np.tensordot(X, X, ((0, 1), (0, 1)))),
        (strata.tensordot(t, t, axes=0), np.tensordot(X, X, 0)),
        (strata.vecdot(t, t[0], axis=-1), np.vecdot(X, X[0])),
        (strata.matmul(t, t.mT), X @ X.swapaxes(1, 2)),
        (strata.cumulative_sum(t, axis=1, include_initial=True), np.cumulative_sum(X, axis=1, include_initial=True)),
        (strata.cumulative_prod(t, axis=-1), np.cumulative_prod(X, axis=-1)),
        (strata.diff(t, axis=0), np.diff(X, axis=0)),
        (strata.diff(t, n=3, prepend=t, axis=1), np.diff(X, 3, 1, X)),
        (strata.diff(t, n=9), np.diff(X, 9)),
        (strata.clip(t, -1, Tensor([0.0, 1.0, 2.0, 3.0, 4.0])), np.clip(X, -1, [0, 1, 2, 3, 4])),
        (strata.clip(t, max=2.0), np.clip(X, None, 2)),
        (strata.where(t > 0, t, -1.0), np.where(X > 0, X, -1)),
    ]:
        same(got, want)
    assert strata.clip(Tensor([1, 300], dtype="int16"), Tensor([0, 0], dtype="int64")).dtype == "int16"
    for wrong in (
        lambda: strata.vecdot(t, t, axis=5),
        lambda: strata.tensordot(t, t, axes=2),
        lambda: strata.diff(t, axis=3),
        lambda: strata.diff(t, n=-1),
    ):
        with pytest.raises(strata.Error):
            wrong()
