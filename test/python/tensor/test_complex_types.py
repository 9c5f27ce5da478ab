"""Which types meet complex ones, what comes of it, and casts between them."""

import pickle

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes

PROMOTED = [
    ("complex64", "float32", "complex64"), ("complex64", "float64", "complex128"),
    ("complex128", "complex64", "complex128"), ("float64", "complex64", "complex128"),
    ("int64", "complex64", "complex64"), ("bool", "complex128", "complex128"), ("float16", "complex64", "complex64"),
    ("bfloat16", "complex64", "complex64"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "result"), PROMOTED)
def test_types_of_results(a, b, result):
    assert strata.promote(dtypes.__dict__[a], dtypes.__dict__[b]) == result
    assert (Tensor([1], dtype=a) + Tensor([1], dtype=b)).dtype == result
    assert strata.cat([Tensor([1], dtype=a), Tensor([1], dtype=b)]).dtype == result


def test_numbers_take_the_type_of_the_tensor_they_meet():
    assert (Tensor([1j]) + 1.5).dtype == "complex64" and (Tensor(np.array([1j])) + 1).dtype == "complex128"
    assert (Tensor([1.5]) + 1j).dtype == "complex64" and (Tensor(np.array([1.5])) * 1j).dtype == "complex128"
    assert (Tensor([1]) * 1j).tolist() == [1j] and (1j - Tensor([True])).tolist() == [-1 + 1j]
    assert strata.result_type(1j, Tensor([1])) == "complex64" == strata.DType(complex)
    assert Tensor.full((2,), 1 + 2j).tolist() == [1 + 2j] * 2
    assert Tensor([1j]).zeros_like().dtype == "complex64" and Tensor([2.0]).ones_like("complex128").tolist() == [1 + 0j]


def test_types_know_themselves():
    for name, part, size in (("complex64", "float32", 8), ("complex128", "float64", 16)):
        type_ = getattr(dtypes, name)
        assert (type_.name, type_.numpy_name, type_.part, type_.itemsize, type_.bits) == (
            name,
            name,
            part,
            size,
            8 * size,
        )
        assert type_.is_complex and not (type_.is_float or type_.is_integer or type_.is_bool or type_.is_unsigned)
        assert type_ == np.dtype(name) and type_ not in dtypes.all and pickle.loads(pickle.dumps(type_)) == type_
        assert Tensor.zeros(3, dtype=name).nbytes == 3 * size


def test_casts():
    x = np.array([1 + 2j, 0, 1e-3j], np.complex64)
    assert Tensor(x).cast("complex128").numpy().dtype == np.complex128
    assert Tensor(x).cast("bool").tolist() == [True, False, True]
    np.testing.assert_array_equal(Tensor([1, -2]).cast("complex64").numpy(), [1, -2])
    for real in ("float32", "float64", "int32"):
        with pytest.raises(strata.DTypeError, match="x.real"):
            Tensor(x).cast(real)
    np.testing.assert_array_equal(Tensor.eye(2, dtype="complex64").numpy(), np.eye(2))
