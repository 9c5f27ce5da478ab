"""Tensors from numbers, lists, arrays and formulas."""

import numpy as np
import pytest
import strata
from formats import ALL, BOOL, FLOATS, INTEGERS, LISTED, NATIVE_FLOATS, array, dtype_of, native
from strata import Tensor, dtypes


def same(t, expected, dtype=None):
    expected = np.asarray(expected)
    got = array(t)
    assert t.shape == expected.shape and got.shape == expected.shape
    if dtype:
        assert t.dtype == dtype
    np.testing.assert_array_equal(got, expected)


def test_from_lists_and_numbers():
    same(Tensor([1, 2, 3]), [1, 2, 3], dtypes.int64)
    same(Tensor([[1.5, 2], [3, 4]]), [[1.5, 2], [3, 4]], dtypes.float32)
    same(Tensor([True, False]), [True, False], dtypes.bool)
    same(Tensor(3), 3, dtypes.int64)
    same(Tensor(2.5), 2.5, dtypes.float32)
    same(Tensor([]), np.zeros((0,)), dtypes.float32)
    same(Tensor([[], []]), np.zeros((2, 0)), dtypes.float32)
    same(Tensor([[[[[7]]]]]), [[[[[7]]]]], dtypes.int64)
    same(Tensor([1.1], dtype=dtypes.float64), np.array([1.1]), dtypes.float64)
    same(Tensor([1, 2], dtype="float16"), np.array([1, 2], np.float16), dtypes.float16)
    same(Tensor([1.0, 300.0, -2.5], dtype="bfloat16"), [1.0, 300.0, -2.5], dtypes.bfloat16)
    same(Tensor((1, 2)), [1, 2])


def test_ragged_lists_are_an_error():
    with pytest.raises(strata.ShapeError, match="lists differ in length"):
        Tensor([[1, 2], [3]])
    with pytest.raises(strata.Error):
        Tensor("text")


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *NATIVE_FLOATS])
def test_numpy_arrays_round_trip(name, rng):
    x = (rng.standard_normal((3, 5)) * 50).astype(name)
    t = Tensor(x)
    assert t.dtype.numpy_name == name
    np.testing.assert_array_equal(t.numpy(), x)
    np.testing.assert_array_equal(Tensor(x.T).numpy(), x.T)
    np.testing.assert_array_equal(Tensor(x[::2, ::-2]).numpy(), x[::2, ::-2])
    np.testing.assert_array_equal(Tensor(x[0, 0]).numpy(), x[0, 0])
    np.testing.assert_array_equal(Tensor(np.zeros((0, 4), name)).numpy(), np.zeros((0, 4), name))


def test_a_tensor_copies_the_array():
    x = np.arange(4.0)
    t = Tensor(x)
    x[:] = -1
    assert t.tolist() == [0, 1, 2, 3]


def test_an_array_in_another_byte_order_or_of_objects():
    same(Tensor(np.array([1.5, 2.5], ">f4")), np.array([1.5, 2.5], np.float32), dtypes.float32)
    same(Tensor(np.array([[1, 2]], ">i2")), np.array([[1, 2]], np.int16), dtypes.int16)
    with pytest.raises(strata.Error):
        Tensor(np.array([object()]))
    with pytest.raises(strata.Error):
        Tensor(np.array([1 + 2j], np.clongdouble))


@pytest.mark.parametrize("name", ALL)
def test_full_zeros_ones(name):
    for shape in [(), (0,), (1,), (3, 5), (2, 1, 3, 1, 2)]:
        same(Tensor.zeros(shape, dtype=name), np.zeros(shape), dtype_of(name))
        same(Tensor.ones(shape, dtype=name), np.ones(shape), dtype_of(name))
    same(Tensor.full((2, 3), 1, dtype=name), np.full((2, 3), 1), dtype_of(name))
    x = Tensor.zeros(2, 2, dtype=name)
    same(x.ones_like(), np.ones((2, 2)), dtype_of(name))
    same(x.full_like(1, dtype="float32"), np.ones((2, 2)), dtypes.float32)


def test_full_takes_the_type_of_its_value():
    assert Tensor.full((2,), 3).dtype == dtypes.int64
    assert Tensor.full((2,), 3.0).dtype == dtypes.float32
    assert Tensor.full((2,), True).dtype == dtypes.bool
    assert Tensor.full(4, 7).tolist() == [7] * 4
    assert Tensor.full((2,), float("nan")).isnan().all().item()
    assert Tensor.full((1,), 2**63, dtype="uint64").item() == 2**63
    with pytest.raises(strata.DTypeError):
        Tensor.full((2,), 300, dtype="uint8")


@pytest.mark.parametrize(
    "arguments", [(5,), (0,), (2, 9), (9, 2), (2, 11, 3), (10, -1, -3), (0.0, 1.0, 0.25), (1.0, 0.0, -0.125), (3.0,)]
)
def test_arange(arguments):
    expected = np.arange(*arguments)
    kind = dtypes.float32 if any(isinstance(a, float) for a in arguments) else dtypes.int64
    same(Tensor.arange(*arguments), expected, kind)
    same(Tensor.arange(*arguments, dtype="float64"), expected.astype(np.float64), dtypes.float64)


def test_arange_types_and_errors():
    for name in INTEGERS + NATIVE_FLOATS:
        same(Tensor.arange(3, 40, 5, dtype=name), np.arange(3, 40, 5).astype(name), dtype_of(name))
    assert Tensor.arange(1 << 20)[-1].item() == (1 << 20) - 1
    with pytest.raises(strata.Error, match="step"):
        Tensor.arange(0, 5, 0)


def test_linspace_and_eye():
    for arguments in [(0, 1, 5), (-2, 3, 11), (1, 1, 3), (5, -5, 7), (0, 1, 1), (0, 1, 0)]:
        got = Tensor.linspace(*arguments)
        expected = np.linspace(*arguments)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected, rtol=3e-7, atol=3e-7)  # two roundings of float32
        np.testing.assert_allclose(
            Tensor.linspace(*arguments, dtype="float64").numpy(), expected, rtol=5e-16, atol=5e-16
        )
    np.testing.assert_allclose(
        Tensor.linspace(0, 1, 4, endpoint=False).numpy(), np.linspace(0, 1, 4, endpoint=False), rtol=3e-7
    )
    ends = Tensor.linspace(0.1, 0.7, 100).numpy()
    assert ends[0] == np.float32(0.1) and ends[-1] == np.float32(0.7)
    for arguments in [(3,), (3, 5), (5, 3), (4, 4, 1), (4, 4, -2), (0,), (2, 3, 9)]:
        same(Tensor.eye(*arguments), np.eye(*arguments), dtypes.float32)
    same(Tensor.eye(3, dtype="int16"), np.eye(3, dtype="int16"), dtypes.int16)


def test_tril_and_triu(rng):
    x = rng.integers(1, 9, (2, 4, 5))
    for k in (-5, -1, 0, 2, 7):
        same(Tensor(x).tril(k), np.tril(x, k))
        same(Tensor(x).triu(k), np.triu(x, k))


def test_empty_has_memory_and_a_shape():
    t = Tensor.empty(3, 4, dtype="int16")
    assert t.shape == (3, 4) and t.dtype == dtypes.int16 and t.nbytes == 24 and t.is_realized
    assert Tensor.empty(0).numpy().shape == (0,)


@pytest.mark.parametrize("name", LISTED)
def test_lists_of_types_that_numpy_lacks(name):
    t = Tensor([[1.0, -2.0], [0.5, 4.0]], dtype=name)
    assert t.tolist() == [[1.0, -2.0], [0.5, 4.0]]
    assert t.numpy().astype(np.float64).tolist() == t.tolist()


def test_bad_shapes():
    with pytest.raises(strata.ShapeError):
        Tensor.zeros(2, -3)
    with pytest.raises(strata.Error):
        Tensor.zeros("abc")


def test_names_of_types():
    for name in BOOL + INTEGERS + FLOATS:
        assert dtype_of(name).name == name and repr(dtype_of(name)) == f"dtypes.{name}"
        if native(name):
            assert dtype_of(name).itemsize == native(name).itemsize
