"""Operands of two types or shapes meet: promotion, numbers of Python, broadcasting, strides."""

import numpy as np
import pytest
import strata
from formats import ALL, FLOATS, SIGNED, UNSIGNED, dtype_of, native
from strata import Tensor


def expected_promotion(a, b):
    """Array API 2024.12, its mixed kinds filled in: a float wins over an integer, 8-bit floats meet in float16."""
    if a == b:
        return a
    if a in FLOATS and b in FLOATS:
        width = {n: 8 * (2 if n == "bfloat16" else native(n).itemsize if native(n) else 1) for n in (a, b)}
        if width[a] != width[b]:
            return max(a, b, key=lambda n: width[n])
        return "float16" if width[a] == 8 else "float32"
    if a in FLOATS or b in FLOATS:
        return a if a in FLOATS else b
    out = np.result_type(native(a), native(b)).name
    return "boolean" if out == "bool" else out


def test_every_pair_of_types_promotes_as_the_standard_says():
    for a in ALL:
        for b in ALL:
            if {a, b} & {"uint64"} and {a, b} & set(SIGNED):
                with pytest.raises(strata.DTypeError, match="cast"):
                    strata.promote(dtype_of(a), dtype_of(b))
                continue
            assert strata.promote(dtype_of(a), dtype_of(b)).name == expected_promotion(a, b), (a, b)
            assert strata.result_type(Tensor.zeros(1, dtype=a), Tensor.ones(2, dtype=b)).name == expected_promotion(
                a, b
            )


def test_python_numbers_are_weak():
    for name in ALL:
        x = Tensor.ones(3, dtype=name)
        whole = "int64" if name == "boolean" else name
        assert (x + 1).dtype.name == whole and (1 + x).dtype.name == whole
        assert (x * 2.5).dtype.name == (name if name in FLOATS else "float32")
        assert (x == 1).dtype.name == "boolean"
        assert strata.where(x == 1, x, 0).dtype.name == whole
        assert (x | True).dtype.name == name if name not in FLOATS else True
    assert (Tensor([250], dtype="uint8") + 10).tolist() == [4]
    assert (Tensor([True, False]) + 1).tolist() == [2, 1]
    assert (2 - Tensor([1, 2])).tolist() == [1, 0] and (7 // Tensor([2, -2])).tolist() == [3, -4]
    assert (2.0 ** Tensor([1.0, 3.0])).tolist() == [2.0, 8.0] and (1 / Tensor([4])).tolist() == [0.25]
    assert (1 << Tensor([3])).tolist() == [8] and (-8 >> Tensor([1])).tolist() == [-4]
    with pytest.raises(strata.DTypeError):
        Tensor([1], dtype="int8") + 300


SHAPES = [
    ((), ()),
    ((0,), ()),
    ((0, 3), (1, 3)),
    ((1,), (7,)),
    ((13,), (13,)),
    ((3, 1), (1, 5)),
    ((2, 3, 1, 5), (4, 1)),
    ((2, 1, 3, 1, 2), (1, 5, 1, 7, 2)),
    ((4, 1), (4, 6)),
    ((11, 17), ()),
]


@pytest.mark.parametrize("a, b", SHAPES)
def test_broadcasting(a, b, rng):
    x, y = rng.standard_normal(a).astype(np.float32), rng.integers(-9, 9, b).astype(np.int32)
    got = (Tensor(x) + Tensor(y)) * Tensor(x)  # a product before a sum would be fused into one rounding
    expected = (x + y.astype(np.float32)) * x
    assert got.shape == expected.shape and (got.numpy() == expected).all()
    assert strata.broadcast_shapes(a, b) == expected.shape


def test_strided_operands(rng):
    x = rng.standard_normal((5, 6, 7)).astype(np.float32)
    t = Tensor(x)
    assert (t.permute(2, 0, 1)[::2].numpy() == x.transpose(2, 0, 1)[::2]).all()
    assert ((t[1:4].flip(1) + t[::2, 1:2]).numpy() == x[1:4, ::-1] + x[::2, 1:2]).all()


def test_unsigned_types_stay_unsigned():
    for name in UNSIGNED:
        assert (-Tensor([1], dtype=name)).item() == np.iinfo(name).max
